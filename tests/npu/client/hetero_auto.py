"""The device beside others: which layers it takes, and OpenVINO's devices that share work out."""

from __future__ import annotations

import openvino as ov
import pytest

from tests.npu import models
from tests.npu.client.conftest import DEVICE, infer, outputs
from tests.npu.client.errors import unknown_operation

PAIR = f"{DEVICE},CPU"
SAMPLE = ("mlp", "residual", "transformer", "integers_i32", "condition", "onnx_convolution")


@pytest.mark.parametrize("name", [case.name for case in models.CASES])
def test_query_takes_all_layers(core: ov.Core, name: str) -> None:
    model = models.case(name).build()
    taken = core.query_model(model, DEVICE)
    assert {node.get_friendly_name() for node in model.get_ops()} <= set(taken)
    assert set(taken.values()) == {DEVICE}


def test_query_leaves_out_what_nobody_knows(core: ov.Core) -> None:
    model = unknown_operation()
    taken = core.query_model(model, DEVICE)
    known = {node.get_friendly_name() for node in model.get_ops() if node.get_type_name() in ("Parameter", "Relu")}
    assert known <= set(taken)
    assert "strange_layer" not in taken


@pytest.mark.parametrize("name", SAMPLE)
@pytest.mark.parametrize("device", [f"HETERO:{PAIR}", f"AUTO:{PAIR}", f"MULTI:{PAIR}"])
def test_shared_out(core: ov.Core, device: str, name: str) -> None:
    case = models.case(name)
    request = core.compile_model(case.build(), device).create_infer_request()
    for seed in range(2):
        inputs = case.inputs(seed)
        case.check(infer(request, inputs), inputs)


def test_layers_by_affinity(core: ov.Core) -> None:
    """Half of the layers here, half there: tensors cross twice."""
    case = models.case("mlp")
    model = case.build()
    for node in model.get_ordered_ops():
        node.rt_info["affinity"] = DEVICE if node.get_friendly_name() == "relu_1" else "CPU"
    request = core.compile_model(model, f"HETERO:{PAIR}").create_infer_request()
    inputs = case.inputs()
    case.check(infer(request, inputs), inputs)


def test_auto_reaches_the_npu(core: ov.Core) -> None:
    """It begins on the CPU and moves over once the other has compiled."""
    case = models.case("mlp")
    made = core.compile_model(case.build(), f"AUTO:{DEVICE}")
    (device,) = made.get_property("EXECUTION_DEVICES")
    assert device.partition(".")[0] == DEVICE
    inputs = case.inputs()
    case.check(infer(made.create_infer_request(), inputs), inputs)


def test_automatic_batches(core: ov.Core) -> None:
    case = models.case("residual")
    made = core.compile_model(case.build(), f"BATCH:{DEVICE}(4)", {"AUTO_BATCH_TIMEOUT": 1})
    requests = [made.create_infer_request() for _ in range(4)]
    drawn = [case.inputs(seed) for seed in range(4)]
    for request, inputs in zip(requests, drawn, strict=True):
        request.start_async(list(inputs))
    for request, inputs in zip(requests, drawn, strict=True):
        request.wait()
        case.check(outputs(request), inputs)
