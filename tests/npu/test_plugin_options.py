"""Options of the plugin that concern the device's queues, inferences that are given up, and shapes from outside."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("openvino", reason="NOT TESTED: the inference plugin needs OpenVINO; pip install openvino")

import openvino as ov
from openvino import opset13 as ops

import anyzero as az
from anyzero.npu import Cancelled, CompiledModel, Core, RequestBusy
from anyzero.tools.cli import main
from tests.npu import models

CASE = models.case("mlp")


@pytest.fixture(scope="module")
def core() -> Core:
    made = Core()
    made.set_property({"NPU_BYPASS_UMD_CACHING": True})
    return made


@pytest.fixture(scope="module")
def sequential(core: Core) -> CompiledModel:
    return core.compile_model(CASE.build(), {"RUN_INFERENCES_SEQUENTIALLY": True})


@contextmanager
def held(compiled: CompiledModel) -> Iterator[None]:
    """Until its end nothing on the model's queue begins that was submitted inside of it."""
    gate = compiled.graph.context.event()
    lst = compiled.graph.context.command_list()
    lst.wait(gate)
    lst.end()
    blocked = compiled._executor.queues.compute.submit(lst)
    try:
        yield
    finally:
        gate.signal()
        blocked.wait()


def test_inferences_run_in_the_order_of_submission(sequential: CompiledModel) -> None:
    request = sequential.create_infer_request()
    inputs = CASE.inputs()
    with held(sequential):
        request.start_async(inputs)
        assert not request.wait_for(20)
    request.wait()
    CASE.check([request.get_output_tensor().data], inputs)


def test_by_default_they_need_not(core: Core) -> None:
    compiled = core.compile_model(CASE.build())
    with held(compiled):
        compiled(CASE.inputs())


@pytest.mark.parametrize("callback", [False, True])
def test_a_cancelled_inference_ends_with_an_exception(sequential: CompiledModel, callback: bool) -> None:
    request = sequential.create_infer_request()
    called: list[object] = []
    request.set_callback(called.append if callback else None, "told")
    inputs = CASE.inputs(3)
    with held(sequential):
        request.start_async(inputs)
        request.cancel()
        with pytest.raises(RequestBusy):
            request.start_async(inputs)
    with pytest.raises(Cancelled):
        request.wait()
    assert called == (["told"] if callback else [])
    # The error is raised once, and the request is usable again.
    request.wait()
    request.set_callback(None)
    CASE.check([request.infer(inputs)[0]], inputs)


def test_there_need_be_nothing_to_cancel(sequential: CompiledModel) -> None:
    request = sequential.create_infer_request()
    request.cancel()
    inputs = CASE.inputs()
    CASE.check([request.infer(inputs)[0]], inputs)
    request.cancel()
    request.wait()


def test_tensors_may_be_changed_after_a_cancelled_inference(sequential: CompiledModel) -> None:
    request = sequential.create_infer_request()
    with held(sequential):
        request.start_async(CASE.inputs())
        request.cancel()
    while not request.ready:
        pass
    inputs = CASE.inputs(4)
    request.set_tensor("x", inputs[0])
    request.infer()
    CASE.check([request.get_output_tensor().data], inputs)


def test_the_workload_type_is_told_to_the_queue(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[bool] = []
    original = az.CommandQueue.set_background

    def watched(self: az.CommandQueue, background: bool = True) -> None:
        told.append(background)
        original(self, background)

    monkeypatch.setattr(az.CommandQueue, "set_background", watched)
    compiled = core.compile_model(CASE.build())
    compiled(CASE.inputs())
    assert told == []
    compiled.set_property({"WORKLOAD_TYPE": "EFFICIENT"})
    assert compiled.get_property("WORKLOAD_TYPE") == "EFFICIENT"
    compiled(CASE.inputs())
    assert told == [True]
    with pytest.raises(az.InvalidArgument, match="DEFAULT, EFFICIENT"):
        compiled.set_property({"WORKLOAD_TYPE": "LAZY"})


def open_model() -> ov.Model:
    x = ops.parameter([-1, 8], np.float32, name="x")
    return ov.Model([ops.relu(x)], [x], "open")


def test_the_command_line_gives_open_inputs_a_shape(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "open.xml"
    ov.serialize(open_model(), str(path))
    bench = ["npu", "bench", str(path), "--seconds", "0.01", "--json"]
    for shape in ("[4,8]", "x[4,8]"):
        assert main([*bench, "--shape", shape]) == 0
        assert json.loads(capsys.readouterr().out)["NPU"]["throughput"] > 0
    assert main(["npu", "latency", str(path), "--repeat", "1", "--json", "--shape", "[4,8]"]) == 0
    assert json.loads(capsys.readouterr().out)["driver_cache"]["from_cache"]
    for shape, said in {
        "4,8": "no shape at",
        "y[4,8]": "no input y; it has x",
        "[4,8],x[1,8]": "for all inputs",
    }.items():
        assert main([*bench, "--shape", shape]) == 1
        assert said in capsys.readouterr().err
