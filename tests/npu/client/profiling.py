"""Layer times."""

from __future__ import annotations

import time
from datetime import timedelta

import openvino as ov

from tests.npu import models
from tests.npu.client.conftest import DEVICE, infer


def test_layers(core: ov.Core) -> None:
    case = models.case("residual")
    request = core.compile_model(case.build(), DEVICE, {"PERF_COUNT": True}).create_infer_request()
    inputs = case.inputs()
    case.check(infer(request, inputs), inputs)
    found = request.profiling_info
    ran = [layer for layer in found if layer.status == ov.ProfilingInfo.Status.EXECUTED]
    assert len(ran) >= 5
    names = {node.get_friendly_name() for node in case.build().get_ops()}
    # A fused layer has the name of one of its nodes.
    assert sum(any(name in layer.node_name for name in names) for layer in ran) >= 4
    assert all(layer.node_type for layer in ran)
    # As an NPU would have it: its array of multipliers, its vector processors, its copy engines.
    executors = {layer.node_type: layer.exec_type for layer in ran if layer.cpu_time > timedelta(0)}
    assert executors["Convolution"] == "DPU"
    wanted = {"Convolution": "DPU", "FullyConnected": "DPU", "MaxPool": "DPU", "ReduceMean": "Shave", "Reorder": "DMA"}
    assert all(wanted.get(type_, executor) == executor for type_, executor in executors.items())
    assert all(layer.real_time >= timedelta(0) for layer in ran)
    assert any(layer.real_time > timedelta(0) for layer in ran)


def test_times_are_measured(core: ov.Core) -> None:
    """Their sum is part of what passed."""
    model = models.residual(channels=16, size=64, blocks=3)
    request = core.compile_model(model, DEVICE, {"PERF_COUNT": True}).create_infer_request()
    slowest = 0.0
    for _ in range(20):
        began = time.perf_counter()
        request.infer()
        slowest = max(slowest, time.perf_counter() - began)
        times = [layer.real_time.total_seconds() for layer in request.profiling_info]
        # They come in whole microseconds, and OpenVINO shows the average over a request's inferences.
        assert 0 < sum(times) <= slowest + 1e-6 * len(times)


def test_without_counters_there_is_nothing(core: ov.Core) -> None:
    request = core.compile_model(models.mlp(), DEVICE).create_infer_request()
    request.infer()
    try:
        found = [str(layer) for layer in request.profiling_info]
    except RuntimeError as error:
        found = [str(error)]
    assert not found or "rofiling" in found[0] or "PERF_COUNT" in found[0]


def test_counters_of_an_imported_model(core: ov.Core) -> None:
    config = {"PERF_COUNT": True}
    stream = core.compile_model(models.residual(), DEVICE, config).export_model()
    made = core.import_model(stream if isinstance(stream, bytes) else stream.getvalue(), DEVICE, config)
    request = made.create_infer_request()
    request.infer()
    assert any(layer.real_time > timedelta(0) for layer in request.profiling_info)


def test_whole_inferences(core: ov.Core) -> None:
    config = {"PERF_COUNT": True, "NPU_PROFILING_TYPE": "INFER"}
    request = core.compile_model(models.residual(), DEVICE, config).create_infer_request()
    began = time.perf_counter()
    for _ in range(3):
        request.infer()
    passed = time.perf_counter() - began
    assert request.profiling_info
    assert all(timedelta(0) < each.real_time < timedelta(seconds=passed) for each in request.profiling_info)


def test_requests_side_by_side_have_their_own(core: ov.Core) -> None:
    case = models.case("residual")
    made = core.compile_model(case.build(), DEVICE, {"PERF_COUNT": True})
    requests = [made.create_infer_request() for _ in range(3)]
    for request in requests:
        request.start_async(case.inputs())
    for request in requests:
        request.wait()
        assert any(layer.real_time > timedelta(0) for layer in request.profiling_info)
