"""The graph planner and OpenVINO itself: what is planned is read by it, and computes what the model computed."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

for needed in ("openvino", "onnx"):
    pytest.importorskip(needed, reason=f"NOT TESTED: what is planned was not computed; pip install {needed}")

# ruff: noqa: E402 (what follows needs them)
import numpy as np
import openvino as ov
from openvino import opset13 as op

from anyzero.driver.graphs.ir.element_types import NUMBERS
from anyzero.layouts.graph import ArgumentRecord
from tests.npu import models
from tests.npu.planned import DATA, DYNAMIC, SHAPE, STATE, Planned, plan
from tests.npu.planner_models import ODD, STATEFUL, image, serialized, shared

Array = np.ndarray[Any, Any]
BUILDS: dict[str, Callable[[], ov.Model]] = {**ODD, **{case.name: case.build for case in models.CASES}}
INPUT, OUTPUT = 0, 1


def core() -> ov.Core:
    return models.core()


def drawn(port: Any, random: np.random.Generator) -> Array:
    """Something for an input: small numbers, which no precision and no operation here has trouble with."""
    shape = [dim.get_max_length() for dim in port.partial_shape]
    kind = port.get_element_type()
    numbers = random.integers(0, 2, shape) if kind == ov.Type.boolean else random.integers(0, 5, shape)
    return np.asarray(numbers).astype(kind.to_dtype() if kind != ov.Type.bf16 else np.float32)


def tensor(port: Any, array: Array) -> ov.Tensor:
    """In the type of the port, which numpy may not have."""
    made = ov.Tensor(port.get_element_type(), ov.Shape(array.shape))
    if port.get_element_type() == ov.Type.bf16:
        made.data[...] = (array.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view(made.data.dtype)
    else:
        made.data[...] = array
    return made


def results(model: ov.Model, inputs: list[Array]) -> list[Array]:
    request = core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}).create_infer_request()
    for index, (port, array) in enumerate(zip(model.inputs, inputs, strict=True)):
        request.set_input_tensor(index, tensor(port, array))
    request.infer()
    return [found.data.copy() for found in request.output_tensors]


def described(port: Any, argument: ArgumentRecord) -> None:
    """An argument is what OpenVINO says of a port."""
    assert argument.element_type == NUMBERS[port.get_element_type().get_type_name()]
    assert set(argument.tensor_names) == port.get_names()
    assert argument.friendly_name == argument.name == port.node.friendly_name
    bounds = port.partial_shape
    assert list(argument.shape) == [dim.get_length() if dim.is_static else DYNAMIC for dim in bounds]
    unknown = [0 if argument.type == OUTPUT else dim.get_max_length() for dim in bounds]
    wanted = [dim.get_length() if dim.is_static else most for dim, most in zip(bounds, unknown, strict=True)]
    assert list(argument.dims) == wanted


@pytest.mark.parametrize("name", BUILDS)
def test_a_model_goes_through_unchanged_and_is_described_as_it_is(name: str, tmp_path: Path) -> None:
    xml, weights = serialized(BUILDS[name](), tmp_path)
    planned = plan(xml, weights_size=len(weights))
    assert planned.xml == xml
    assert planned.log == ""
    model = core().read_model(xml, weights)
    assert planned.name == model.friendly_name
    for direction, ports in ((INPUT, model.inputs), (OUTPUT, model.outputs)):
        data = planned.of(direction)
        assert [argument.port for argument in data] == list(range(len(ports)))
        for port, argument in zip(ports, data, strict=True):
            described(port, argument)
        dynamic = [argument for argument in data if DYNAMIC in argument.shape]
        shapes = planned.of(direction, SHAPE)
        assert [planned.arguments[shape.port] for shape in shapes] == dynamic
        assert [shape.name for shape in shapes] == [f"vpux_ie_shape_{argument.name}" for argument in dynamic]
        assert [shape.dims for shape in shapes] == [(len(argument.dims),) for argument in dynamic]


def flags_for(**given: str) -> str:
    return " ".join(f'--{flag}="{value}"' for flag, value in given.items())


@pytest.mark.parametrize("name", [name for name in BUILDS if name not in ("bounded", "condition")])
def test_other_precisions_convert_at_the_boundary(name: str, tmp_path: Path) -> None:
    model = BUILDS[name]()
    xml, weights = serialized(model, tmp_path)
    model = core().read_model(xml, weights)
    given = {
        "inputs_precisions": " ".join(f"{index}:I32" for index in range(len(model.inputs))),
        "outputs_precisions": " ".join(f"{index}:FP64" for index in range(len(model.outputs))),
    }
    planned = plan(xml, flags_for(**given), weights_size=len(weights))
    changed = core().read_model(planned.xml, weights)
    assert {port.get_element_type() for port in changed.inputs} == {ov.Type.i32}
    assert {port.get_element_type() for port in changed.outputs} == {ov.Type.f64}
    random = np.random.default_rng(5)
    inputs = [drawn(port, random) for port in model.inputs]
    before, after = results(model, inputs), results(changed, [array.astype(np.int32) for array in inputs])
    for ours, theirs, port in zip(after, before, model.outputs, strict=True):
        if port.get_element_type() == ov.Type.bf16:
            theirs = (theirs.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
        # The CPU plugin removes a conversion to f16 and back.
        room = 1e-3 if port.get_element_type() == ov.Type.f16 else 1e-4
        np.testing.assert_allclose(ours, theirs.astype(np.float64), rtol=room, atol=room)


def test_other_layouts_transpose_at_the_boundary(tmp_path: Path) -> None:
    xml, weights = serialized(image(), tmp_path)
    flags = (
        '--inputs_layouts="0:NHWC 1:CN" --outputs_layouts="map:NHWC flipped:CN" '
        '--inputs_precisions="0:U8" --outputs_precisions="0:FP16"'
    )
    planned = plan(xml, flags, weights_size=len(weights))
    assert [argument.dims for argument in planned.arguments] == [(1, 6, 5, 3), (3, 2), (1, 6, 5, 4), (3, 2)]
    changed = core().read_model(planned.xml, weights)
    for port, argument in zip([*changed.inputs, *changed.outputs], planned.arguments, strict=True):
        assert tuple(port.shape) == argument.shape
        assert NUMBERS[port.get_element_type().get_type_name()] == argument.element_type
    random = np.random.default_rng(6)
    picture, flat = random.integers(0, 9, (1, 3, 6, 5)), random.standard_normal((2, 3)).astype(np.float32)
    before = results(core().read_model(xml, weights), [picture.astype(np.float32), flat])
    after = results(changed, [picture.transpose(0, 2, 3, 1).astype(np.uint8), flat.T.copy()])
    np.testing.assert_allclose(after[0].transpose(0, 3, 1, 2), before[0], rtol=2e-3, atol=2e-3)
    np.testing.assert_array_equal(after[1].T, before[1])


@pytest.mark.parametrize("kind", ["boolean", "u8", "f16", "f64", "i64", "u32"])
def test_every_type_can_be_transposed(kind: str, tmp_path: Path) -> None:
    x = op.parameter([2, 3, 1, 2], getattr(ov.Type, kind), name="x")
    xml, weights = serialized(ov.Model([op.result(x)], [x], "same"), tmp_path)
    planned = plan(xml, '--inputs_layouts="0:NHWC" --outputs_layouts="0:NHWC"', weights_size=len(weights))
    changed = core().read_model(planned.xml, weights)
    array = drawn(changed.inputs[0], np.random.default_rng(7))
    np.testing.assert_array_equal(results(changed, [array])[0], array)
    assert planned.of(INPUT)[0].dims == planned.of(OUTPUT)[0].dims == (2, 1, 2, 3)


def test_an_input_that_is_an_output_can_have_two_precisions(tmp_path: Path) -> None:
    xml, weights = serialized(shared(), tmp_path)
    planned = plan(xml, '--inputs_precisions="1:U8" --outputs_precisions="1:I64 2:FP16"', weights_size=len(weights))
    changed = core().read_model(planned.xml, weights)
    x, y = np.ones((2, 3), np.float32), np.arange(6, dtype=np.uint8).reshape(2, 3)
    first, passed, second, again = results(changed, [x, y])
    assert [array.dtype for array in (first, passed, second, again)] == [np.float32, np.int64, np.float16, np.float32]
    np.testing.assert_array_equal(passed, y)
    np.testing.assert_array_equal(again, y)
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("name", [*STATEFUL, "stateful"])
def test_states_become_inputs_and_outputs(name: str, tmp_path: Path) -> None:
    build = {**STATEFUL, "stateful": models.stateful}[name]
    xml, weights = serialized(build(), tmp_path)
    planned = plan(xml, weights_size=len(weights))
    changed = core().read_model(planned.xml, weights)
    assert changed.get_sinks() == []
    reads, writes = planned.of(INPUT, STATE), planned.of(OUTPUT, STATE)
    assert [read.name.removeprefix("vpux_ie_read_value_") for read in reads] == [
        write.name.removeprefix("vpux_ie_assign_") for write in writes
    ]
    compiled = core().compile_model(changed, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    states = [np.zeros(read.dims, changed.inputs[read.port].get_element_type().to_dtype()) for read in reads]
    stateful = core().compile_model(core().read_model(xml, weights), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    request = stateful.create_infer_request()
    random = np.random.default_rng(8)
    for _ in range(4):
        inputs = [random.standard_normal(list(port.shape)).astype(np.float32) for port in stateful.inputs]
        request.infer(inputs)
        found = compiled([*inputs, *states])
        for index, port in enumerate(stateful.outputs):
            np.testing.assert_allclose(found[index], request.get_tensor(port).data, rtol=1e-4, atol=1e-4)
        states = [found[write.port].copy() for write in writes]
    held = {state.name: state.state.data for state in request.query_state()}
    for read, state in zip(reads, states, strict=True):
        [theirs] = [data for key, data in held.items() if key == read.name.removeprefix("vpux_ie_read_value_")]
        np.testing.assert_allclose(state, theirs, rtol=1e-4, atol=1e-4)


def test_states_and_conversions_go_together(tmp_path: Path) -> None:
    xml, weights = serialized(STATEFUL["two_states"](), tmp_path)
    flags = '--inputs_precisions="0:I32" --outputs_precisions="counted:FP32"'
    planned = plan(xml, flags, weights_size=len(weights))
    compiled = core().compile_model(core().read_model(planned.xml, weights), "CPU")
    states = [np.zeros(read.dims, [np.float32, np.int32][read.element_type == 9]) for read in planned.of(INPUT, STATE)]
    found = compiled([np.ones((1, 4), np.int32), np.ones((1, 4), np.float32), *states])
    assert found[1].dtype == np.float32
    assert found[1] == 1
    np.testing.assert_array_equal(found[0], np.ones((1, 4)))


def pointing(xml: bytes, weights: bytes) -> tuple[bytes, list[Array]]:
    """The same IR with constants that tell where in this process they are, and what must stay alive for that."""
    kept: dict[tuple[int, int], Array] = {}

    def point(found: re.Match[bytes]) -> bytes:
        offset, size = int(found[2]), int(found[3])
        memory = kept.setdefault((offset, size), np.frombuffer(weights[offset : offset + size], np.uint8).copy())
        place = f'name="WeightsPointerAttribute" version="0" mp="{memory.ctypes.data}" ms="{size}"'
        return b'%soffset="0" size="0" /><rt_info><attribute %s/></rt_info>' % (found[1], place.encode())

    changed = re.sub(rb'(<data element_type="[^"]*" shape="[^"]*" )offset="(\d+)" size="(\d+)" />', point, xml)
    return changed, list(kept.values())


def gathered(planned: Planned) -> bytes:
    """The weights, as the engine puts them together."""
    memory = bytearray(planned.weights_size)
    for address, size, offset in planned.pieces:
        memory[offset : offset + size] = ctypes.string_at(address, size)
    return bytes(memory)


@pytest.mark.parametrize("name", ["residual", "transformer", "loop", "condition", "half", "lstm"])
def test_constants_in_the_clients_memory_find_their_place(name: str, tmp_path: Path) -> None:
    xml, weights = serialized(BUILDS[name](), tmp_path)
    changed, kept = pointing(xml, weights)
    planned = plan(changed, serializer=2)
    assert len(planned.pieces) == len(kept)
    assert b"WeightsPointerAttribute" not in planned.xml
    assert all(offset % 64 == 0 for _, _, offset in planned.pieces)
    random = np.random.default_rng(9)
    before = core().read_model(xml, weights)
    after = core().read_model(planned.xml, gathered(planned))
    inputs = [drawn(port, random) for port in before.inputs]
    for ours, theirs in zip(results(after, inputs), results(before, inputs), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)


def test_element_types_are_numbered_as_in_the_c_library() -> None:
    header = Path(ov.__file__).parent / "include" / "openvino" / "c" / "ov_common.h"
    if not header.exists():
        pytest.skip(f"NOT TESTED: this openvino comes without {header.name}")
    [listed] = re.findall(r"typedef enum \{([^}]*)\} ov_element_type_e;", header.read_text())
    names = re.findall(r"^\s*(\w+)(?: = 0U)?,", listed, re.MULTILINE)
    # The header has another name for f8e5m2.
    theirs = [{"f8e5m3": "f8e5m2"}.get(name.lower(), name.lower()) for name in names]
    assert list(NUMBERS) == theirs
    assert list(NUMBERS.values()) == list(range(len(theirs)))


def test_shapes_are_told_for_what_is_dynamic_only(tmp_path: Path) -> None:
    xml, weights = serialized(BUILDS["bounded"](), tmp_path)
    planned = plan(xml, weights_size=len(weights))
    roles = [(argument.type, argument.role) for argument in planned.arguments]
    assert roles == [(INPUT, DATA), (INPUT, SHAPE), (OUTPUT, DATA), (OUTPUT, DATA), (OUTPUT, SHAPE), (OUTPUT, SHAPE)]
    assert planned.arguments[0].dims == (4, 3, 6)
