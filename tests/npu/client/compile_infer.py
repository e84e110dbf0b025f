"""Compiling and inferring: every model, every way to hand tensors over, every hint."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest
from openvino.preprocess import ColorFormat, PrePostProcessor, ResizeAlgorithm

from tests.npu import models
from tests.npu.client.conftest import DEVICE, infer, outputs

Compiled = Callable[[str], ov.CompiledModel]


def test_the_device_is_there(core: ov.Core) -> None:
    assert "NPU" in core.available_devices
    assert core.get_property(DEVICE, "AVAILABLE_DEVICES")
    assert core.get_property(DEVICE, "FULL_DEVICE_NAME")
    assert core.get_property(DEVICE, "NPU_DRIVER_VERSION") > 0
    assert core.get_property(DEVICE, "OPTIMAL_NUMBER_OF_INFER_REQUESTS") >= 1


def test_every_property_can_be_read(core: ov.Core) -> None:
    failed = {}
    for name in core.get_property(DEVICE, "SUPPORTED_PROPERTIES"):
        try:
            core.get_property(DEVICE, name)
        except TypeError:
            pass  # it has a value, which OpenVINO's own Python binding does not know
        except RuntimeError as error:
            failed[name] = str(error)
    assert not failed


@pytest.mark.parametrize("name", [case.name for case in models.CASES])
def test_results_are_those_of_the_cpu(compiled: Compiled, name: str) -> None:
    case = models.case(name)
    request = compiled(name).create_infer_request()
    for seed in range(3):
        inputs = case.inputs(seed)
        case.check(infer(request, inputs), inputs)


def test_ports_are_those_of_the_model(compiled: Compiled) -> None:
    for case in models.CASES:
        model, made = case.build(), compiled(case.name)
        for ours, theirs in zip([*made.inputs, *made.outputs], [*model.inputs, *model.outputs], strict=True):
            assert ours.get_partial_shape() == theirs.get_partial_shape(), case.name
            assert ours.get_element_type() == theirs.get_element_type(), case.name
            assert theirs.get_names() <= ours.get_names(), case.name


def test_inputs_by_name_and_outputs_by_name(compiled: Compiled) -> None:
    case = models.case("outputs")
    inputs = case.inputs()
    request = compiled("outputs").create_infer_request()
    found = request.infer({"y": inputs[1], "x": inputs[0]})
    case.check([found[name] for name in ("sum", "product", "mean")], inputs)
    case.check([request.get_tensor(name).data for name in ("sum", "product", "mean")], inputs)


def test_tensors_written_in_place(compiled: Compiled) -> None:
    case = models.case("mlp")
    request = compiled("mlp").create_infer_request()
    for seed in range(4):
        inputs = case.inputs(seed)
        request.get_input_tensor().data[...] = inputs[0]
        request.infer()
        case.check(outputs(request), inputs)


@pytest.mark.parametrize("place", [models.aligned, np.copy], ids=["pages", "anywhere"])
def test_tensors_of_the_program(compiled: Compiled, place: Callable[[Any], Any]) -> None:
    """Page-aligned ones are used in place, others are copied."""
    case = models.case("residual")
    request = compiled("residual").create_infer_request()
    for seed in range(4):
        inputs = case.inputs(seed)
        source, target = place(inputs[0]), place(np.zeros((1, 10), np.float32))
        request.set_input_tensor(ov.Tensor(source, shared_memory=True))
        request.set_output_tensor(ov.Tensor(target, shared_memory=True))
        request.infer()
        case.check([target], inputs)
        inputs = case.inputs(seed + 10)
        source[...] = inputs[0]
        request.infer()
        case.check([target], inputs)


def test_parts_of_tensors(compiled: Compiled) -> None:
    """Strided rows as input and output; the gaps stay unchanged."""
    case = models.case("integers_i32")
    request = compiled("integers_i32").create_infer_request()
    wide = {name: ov.Tensor(np.full((3, 20), 77, np.int32)) for name in ("x", "y", "least")}
    for seed in range(3):
        first = 4 * seed
        inputs = case.inputs(seed)
        part = {name: ov.Tensor(wide[name], [1, first], [3, first + 8]) for name in wide}
        for name, values in zip(("x", "y"), inputs, strict=True):
            part[name].data[...] = values
        part["least"].data[...] = 0
        for name, tensor in part.items():
            request.set_tensor(name, tensor)
        request.infer()
        case.check([part["least"].data.copy(), request.get_tensor("most").data], inputs)
        assert (wide["least"].data[0] == 77).all()
        assert (wide["least"].data[:, first + 8 :] == 77).all()


def test_arrays_shared_both_ways(compiled: Compiled) -> None:
    case = models.case("outputs")
    inputs = case.inputs()
    found = compiled("outputs")(list(inputs), share_inputs=True, share_outputs=True)
    case.check([found[name] for name in ("sum", "product", "mean")], inputs)


def test_tensors_of_the_devices_context(core: ov.Core, compiled: Compiled) -> None:
    case = models.case("mlp")
    inputs = case.inputs()
    tensor = core.get_default_context(DEVICE).create_host_tensor(ov.Type.f32, ov.Shape([1, 64]))
    tensor.data[...] = inputs[0]
    request = compiled("mlp").create_infer_request()
    request.set_input_tensor(tensor)
    request.infer()
    case.check(outputs(request), inputs)


def test_memory_of_the_device(core: ov.Core, compiled: Compiled) -> None:
    """A tensor that the device's context allocates; it is filled and read by copying."""
    case = models.case("mlp")
    inputs = case.inputs()
    context = core.get_default_context(DEVICE)
    tensor = context.create_tensor(ov.Type.f32, ov.Shape([1, 64]), {"MEM_TYPE": "L0_INTERNAL_BUF"})
    tensor.copy_from(ov.Tensor(inputs[0]))
    request = compiled("mlp").create_infer_request()
    request.set_tensor("x", tensor)
    request.infer()
    case.check(outputs(request), inputs)


def test_one_request_feeds_another(core: ov.Core) -> None:
    """The output tensor of one is the input tensor of the next."""
    first, second = (core.compile_model(models.tiny(), DEVICE).create_infer_request() for _ in range(2))
    second.set_input_tensor(first.get_output_tensor())
    x = np.linspace(-2, 2, 16, dtype=np.float32).reshape(1, 16)
    first.infer([x])
    second.infer()
    np.testing.assert_allclose(outputs(second)[0], np.maximum(np.maximum(x - 0.25, 0) - 0.25, 0), atol=0.05)


def test_tensors_outlive_everything_else(core: ov.Core) -> None:
    case = models.case("tiny")
    inputs = case.inputs()
    request = core.compile_model(case.build(), DEVICE).create_infer_request()
    request.infer(list(inputs))
    tensor = request.get_output_tensor()
    del request
    gc.collect()
    case.check([tensor.data], inputs)


def test_many_models_and_requests_at_a_time(compiled: Compiled) -> None:
    cases = [models.case(name) for name in ("mlp", "residual", "transformer", "integers_i64")]
    requests = [(case, compiled(case.name).create_infer_request()) for case in cases for _ in range(3)]
    drawn = [case.inputs(seed) for seed, (case, _) in enumerate(requests)]
    for (_, request), inputs in zip(requests, drawn, strict=True):
        request.start_async(list(inputs))
    for (case, request), inputs in zip(requests, drawn, strict=True):
        request.wait()
        case.check(outputs(request), inputs)


def test_another_core_in_the_same_process(core: ov.Core) -> None:
    case = models.case("mlp")
    inputs = case.inputs()
    for _ in range(3):
        other = ov.Core()
        case.check(infer(other.compile_model(case.build(), DEVICE).create_infer_request(), inputs), inputs)
        del other
    case.check(infer(core.compile_model(case.build(), DEVICE).create_infer_request(), inputs), inputs)


def test_models_from_files(core: ov.Core, tmp_path: Path) -> None:
    """Saved as OpenVINO does by default, with weights rounded to 16 bits: the CPU has to read the same file."""
    case = models.case("residual")
    path = tmp_path / "model.xml"
    ov.save_model(case.build(), path)
    inputs = case.inputs()
    ours, theirs = (infer(core.compile_model(path, on).create_infer_request(), inputs) for on in (DEVICE, "CPU"))
    case.compare(ours, theirs)


@pytest.mark.parametrize(
    "config",
    [
        {"PERFORMANCE_HINT": "LATENCY"},
        {"PERFORMANCE_HINT": "THROUGHPUT"},
        {"PERFORMANCE_HINT": "THROUGHPUT", "PERFORMANCE_HINT_NUM_REQUESTS": 2},
        {"PERFORMANCE_HINT": "CUMULATIVE_THROUGHPUT"},
        {"NUM_STREAMS": 1},
        {"INFERENCE_PRECISION_HINT": "f16"},
        {"EXECUTION_MODE_HINT": "ACCURACY"},
        {"MODEL_PRIORITY": "HIGH"},
        {"NPU_TURBO": True},
        {"NPU_RUN_INFERENCES_SEQUENTIALLY": True},
        {"NPU_BYPASS_UMD_CACHING": True},
        {"NPU_DEFER_WEIGHTS_LOAD": True},
        {"COMPILATION_NUM_THREADS": 1},
        {"NPU_COMPILATION_MODE": "DefaultHW", "NPU_COMPILATION_MODE_PARAMS": "optimization-level=1"},
        {"NPU_TILES": 2, "NPU_DMA_ENGINES": 1},
        {"NPU_QDQ_OPTIMIZATION": True, "NPU_QDQ_OPTIMIZATION_AGGRESSIVE": True},
        {"NPU_COMPILER_DYNAMIC_QUANTIZATION": False},
        {"NPU_ENABLE_STRIDES_FOR": "x"},
        {"CACHE_MODE": "OPTIMIZE_SPEED"},
        {"ENABLE_WEIGHTLESS": False},
    ],
    ids=lambda config: ",".join(f"{name}={value}" for name, value in config.items()),
)
def test_hints_and_options(core: ov.Core, config: dict[str, Any]) -> None:
    case = models.case("mlp")
    made = core.compile_model(case.build(), DEVICE, config)
    for name, value in config.items():
        if name in made.get_property("SUPPORTED_PROPERTIES"):
            assert str(made.get_property(name)).upper().rpartition(".")[2] in (str(value).upper(), "<TYPE: 'FLOAT16'>")
    assert made.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS") >= 1
    requests = [made.create_infer_request() for _ in range(2)]
    inputs = case.inputs()
    for request in requests:
        request.start_async(list(inputs))
    for request in requests:
        request.wait()
        case.check(outputs(request), inputs)


def test_settings_may_change_later(core: ov.Core) -> None:
    case = models.case("mlp")
    made = core.compile_model(case.build(), DEVICE)
    request = made.create_infer_request()
    inputs = case.inputs()
    for settings in ({"MODEL_PRIORITY": "LOW"}, {"WORKLOAD_TYPE": "EFFICIENT"}, {"WORKLOAD_TYPE": "DEFAULT"}):
        made.set_property(settings)
        case.check(infer(request, inputs), inputs)
        case.check(infer(made.create_infer_request(), inputs), inputs)


def test_memory_may_be_released_in_between(core: ov.Core) -> None:
    case = models.case("mlp")
    made = core.compile_model(case.build(), DEVICE)
    request = made.create_infer_request()
    inputs = case.inputs()
    case.check(infer(request, inputs), inputs)
    made.release_memory()
    case.check(infer(request, inputs), inputs)


def test_preprocessing_in_the_model(core: ov.Core) -> None:
    """Bytes in another order and of another size, as cameras give them."""
    made = PrePostProcessor(models.residual())
    made.input().tensor().set_element_type(ov.Type.u8).set_layout(ov.Layout("NHWC"))
    made.input().tensor().set_color_format(ColorFormat.BGR).set_spatial_static_shape(24, 20)
    made.input().preprocess().convert_element_type(ov.Type.f32).convert_color(ColorFormat.RGB)
    made.input().preprocess().resize(ResizeAlgorithm.RESIZE_LINEAR).mean([100.0, 110.0, 120.0]).scale(60.0)
    made.input().model().set_layout(ov.Layout("NCHW"))
    model = made.build()
    picture = np.random.default_rng(5).integers(0, 256, (1, 24, 20, 3), np.uint8)
    ours, theirs = (infer(core.compile_model(model, on).create_infer_request(), [picture])[0] for on in (DEVICE, "CPU"))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=models.tolerance() * float(np.abs(theirs).max()))


@pytest.mark.parametrize("mode", ["AUTO", "COMPILER", "PLUGIN"])
def test_batches(core: ov.Core, mode: str) -> None:
    case = models.case("batched")
    config = {} if mode == "AUTO" else {"NPU_BATCH_MODE": mode}
    made = core.compile_model(case.build(), DEVICE, config)
    assert list(made.input().shape) == [4, 3, 8, 8]
    request = made.create_infer_request()
    for seed in range(2):
        inputs = case.inputs(seed)
        case.check(infer(request, inputs), inputs)


def test_batch_of_tensors(core: ov.Core) -> None:
    """One tensor for each picture."""
    case = models.case("batched")
    request = core.compile_model(case.build(), DEVICE).create_infer_request()
    inputs = case.inputs()
    request.set_input_tensors([ov.Tensor(models.aligned(inputs[0][index : index + 1])) for index in range(4)])
    request.infer()
    case.check(outputs(request), inputs)
