"""Models that OpenVINO folds to output = input, and models without weights: each output is what was computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as op

from tests.npu import models
from tests.npu.client.conftest import DEVICE

SHAPE = [2, 3]
Inputs = list[Any]


def parameter(name: str = "x", kind: Any = np.float32) -> Any:
    return op.parameter(SHAPE, kind, name=name)


def einsum(kind: Any = np.float32) -> ov.Model:
    x = parameter(kind=kind)
    return ov.Model([op.einsum([x], "ab->ab")], [x], "einsum")


def constant_condition() -> ov.Model:
    x = parameter()
    node = op.if_op(op.constant(np.array(True)).output(0))
    bodies = []
    for passes in (True, False):
        inner = parameter()
        bodies.append((inner, op.result(inner if passes else op.relu(inner))))
    node.set_then_body(ov.Model([bodies[0][1]], [bodies[0][0]], "then"))
    node.set_else_body(ov.Model([bodies[1][1]], [bodies[1][0]], "else"))
    node.set_input(x.output(0), bodies[0][0], bodies[1][0])
    return ov.Model([node.set_output(bodies[0][1], bodies[1][1])], [x], "constant_condition")


def passing_loop() -> ov.Model:
    x, inner = parameter(), parameter()
    value, goes_on = op.result(inner), op.result(op.constant(np.array(True)))
    node = op.loop(op.constant(np.int32(3)), op.constant(np.array(True)))
    node.set_function(ov.Model([goes_on, value], [inner], "body"))
    node.set_special_body_ports([-1, 0])
    node.set_merged_input(inner, x.output(0), value.output(0))
    return ov.Model([node.get_iter_value(value.output(0), -1)], [x], "passing_loop")


def exchange() -> ov.Model:
    x, y = parameter("x"), parameter("y")
    return ov.Model([op.result(y), op.result(x)], [x, y], "exchange")


def used_elsewhere() -> ov.Model:
    x = parameter()
    reshaped = op.reshape(x, op.constant(np.array([3, 2])), False)
    return ov.Model([op.einsum([x], "ab->ab"), op.result(x), op.relu(x), reshaped], [x], "used_elsewhere")


def rows() -> ov.Model:
    x = op.parameter(ov.PartialShape([ov.Dimension(1, 4), 3]), np.float32, name="x")
    return ov.Model([op.einsum([x], "ab->ab"), op.relu(x)], [x], "rows")


def empty_constant() -> ov.Model:
    """A constant without elements is all the weights there are: 0 bytes."""
    x = parameter()
    return ov.Model([op.concat([x, op.constant(np.zeros((0, 3), np.float32))], 0)], [x], "empty_constant")


def no_weights() -> ov.Model:
    x = parameter()
    return ov.Model([op.relu(x)], [x], "no_weights")


MODELS: dict[str, tuple[Callable[[], ov.Model], Callable[[Inputs], Inputs]]] = {
    "einsum": (einsum, lambda x: x),
    "einsum_i64": (lambda: einsum(np.int64), lambda x: x),
    "einsum_u8": (lambda: einsum(np.uint8), lambda x: x),
    "condition": (constant_condition, lambda x: x),
    "loop": (passing_loop, lambda x: x),
    "exchange": (exchange, lambda x: x[::-1]),
    "used_elsewhere": (used_elsewhere, lambda x: [x[0], x[0], np.maximum(x[0], 0), x[0].reshape(3, 2)]),
    "rows": (rows, lambda x: [x[0], np.maximum(x[0], 0)]),
    "empty_constant": (empty_constant, lambda x: x),
    "no_weights": (no_weights, lambda x: [np.maximum(x[0], 0)]),
}


def drawn(made: ov.CompiledModel, seed: int) -> Inputs:
    random = np.random.default_rng(seed)
    shapes = [[1 + seed % 4, 3] if port.partial_shape.is_dynamic else list(port.shape) for port in made.inputs]
    types = [port.get_element_type().to_dtype() for port in made.inputs]
    return [(9 * random.standard_normal(shape)).astype(type_) for shape, type_ in zip(shapes, types, strict=True)]


@pytest.mark.parametrize("name", MODELS)
def test_outputs_are_written(core: ov.Core, name: str) -> None:
    build, wanted = MODELS[name]
    made = core.compile_model(build(), DEVICE)
    requests = [made.create_infer_request() for _ in range(2)]
    for seed in range(6):
        inputs = drawn(made, seed)
        requests[seed % 2].infer(inputs)
        for tensor, result in zip(requests[seed % 2].output_tensors, wanted(inputs), strict=True):
            np.testing.assert_array_equal(tensor.data, result)


@pytest.mark.parametrize("place", [models.aligned, np.copy], ids=["pages", "anywhere"])
@pytest.mark.parametrize("name", [name for name in MODELS if name != "rows"])
def test_tensors_of_the_program_are_written_and_inputs_stay(
    core: ov.Core, name: str, place: Callable[[Any], Any]
) -> None:
    build, wanted = MODELS[name]
    made = core.compile_model(build(), DEVICE)
    request = made.create_infer_request()
    for seed in range(3):
        inputs = drawn(made, seed)
        given = [place(each) for each in inputs]
        results = [np.ascontiguousarray(each) for each in wanted(inputs)]
        taken = [place(np.full_like(each, 77)) for each in results]
        for index, array in enumerate(given):
            request.set_input_tensor(index, ov.Tensor(array, shared_memory=True))
        for index, array in enumerate(taken):
            request.set_output_tensor(index, ov.Tensor(array, shared_memory=True))
        request.infer()
        for found, expected in zip([*given, *taken], [*inputs, *results], strict=True):
            np.testing.assert_array_equal(found, expected)


def test_a_state_that_is_never_assigned_to_is_shown_as_it_is(core: ov.Core) -> None:
    x = op.parameter([1, 4], np.float32, name="x")
    held = op.read_value(op.constant(np.zeros((1, 4), np.float32)), "held")
    kept = op.assign(op.add(held, x), "held")
    model = ov.Model([op.result(held)], [kept], [x], "shown")
    request = core.compile_model(model, DEVICE).create_infer_request()
    for before in range(4):
        request.infer([np.ones((1, 4), np.float32)])
        np.testing.assert_array_equal(request.get_output_tensor().data, np.full((1, 4), before))


def test_an_imported_model_is_looked_at_again(core: ov.Core) -> None:
    stream = core.compile_model(einsum(), DEVICE).export_model()
    made = core.import_model(stream if isinstance(stream, bytes) else stream.getvalue(), DEVICE)
    [x] = drawn(made, 5)
    np.testing.assert_array_equal(made([x])[0], x)
