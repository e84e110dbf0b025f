"""Models that remember, and models whose shapes are known when they run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import openvino as ov
import pytest

from tests.npu import models
from tests.npu.client.conftest import DEVICE, infer, outputs

Compiled = Callable[[str], ov.CompiledModel]


@pytest.fixture(scope="module")
def summing(core: ov.Core) -> ov.CompiledModel:
    return core.compile_model(models.stateful(), DEVICE)


def add(request: ov.InferRequest, value: float) -> float:
    found = infer(request, [np.full((1, 4), value, np.float32)])[0]
    assert (found == found[0, 0]).all()
    return float(found[0, 0])


def test_states_last_from_call_to_call(summing: ov.CompiledModel) -> None:
    request = summing.create_infer_request()
    assert [add(request, value) for value in (1, 2, 4)] == [2, 6, 14]


def test_states_can_be_reset(summing: ov.CompiledModel) -> None:
    request = summing.create_infer_request()
    add(request, 5)
    request.reset_state()
    assert add(request, 1) == 2
    for state in request.query_state():
        state.reset()
    assert add(request, 3) == 6


def test_states_can_be_read_and_written(summing: ov.CompiledModel) -> None:
    request = summing.create_infer_request()
    (state,) = request.query_state()
    assert state.name == "total"
    add(request, 4)
    np.testing.assert_array_equal(state.state.data, np.full((1, 4), 4, np.float32))
    state.state = ov.Tensor(np.full((1, 4), 10, np.float32))
    assert add(request, 1) == 22
    np.testing.assert_array_equal(request.query_state()[0].state.data, np.full((1, 4), 11, np.float32))


def test_each_request_has_its_states(summing: ov.CompiledModel) -> None:
    first, second = (summing.create_infer_request() for _ in range(2))
    assert add(first, 1) == 2
    assert add(second, 10) == 20
    assert add(first, 1) == 4
    assert add(second, 10) == 40


def test_states_and_async_requests(summing: ov.CompiledModel) -> None:
    request = summing.create_infer_request()
    for _ in range(50):
        request.start_async([np.ones((1, 4), np.float32)])
        request.wait()
    np.testing.assert_array_equal(outputs(request)[0], np.full((1, 4), 100, np.float32))


def test_states_of_an_imported_model(core: ov.Core, summing: ov.CompiledModel) -> None:
    stream = summing.export_model()
    request = core.import_model(
        stream if isinstance(stream, bytes) else stream.getvalue(), DEVICE
    ).create_infer_request()
    assert [add(request, value) for value in (1, 2)] == [2, 6]
    assert [state.name for state in request.query_state()] == ["total"]


def test_every_size_within_the_bounds(compiled: Compiled) -> None:
    case = models.case("dynamic")
    request = compiled("dynamic").create_infer_request()
    random = np.random.default_rng(3)
    for rows in (1, 8, 3, 5, 8, 2, 1):
        inputs = [random.standard_normal((rows, 16)).astype(np.float32)]
        found = infer(request, inputs)
        assert found[0].shape == (rows, 4)
        case.check(found, inputs)


def test_sizes_in_an_async_queue(compiled: Compiled) -> None:
    case = models.case("dynamic")
    queue = ov.AsyncInferQueue(compiled("dynamic"), 3)
    found = {}
    queue.set_callback(lambda request, rows: found.update({rows: outputs(request)}))
    random = np.random.default_rng(4)
    inputs = {rows: [random.standard_normal((rows, 16)).astype(np.float32)] for rows in range(1, 9)}
    for rows, given in inputs.items():
        queue.start_async(given, rows)
    queue.wait_all()
    for rows, given in inputs.items():
        case.check(found[rows], given)


def test_a_size_beyond_the_bounds_is_refused(compiled: Compiled) -> None:
    case = models.case("dynamic")
    request = compiled("dynamic").create_infer_request()
    with pytest.raises(RuntimeError):
        request.infer([np.zeros((9, 16), np.float32)])
    inputs = case.inputs()
    case.check(infer(request, inputs), inputs)


def test_sizes_of_an_imported_model(core: ov.Core, compiled: Compiled) -> None:
    case = models.case("dynamic")
    stream = compiled("dynamic").export_model()
    made = core.import_model(stream if isinstance(stream, bytes) else stream.getvalue(), DEVICE)
    assert made.input().get_partial_shape() == case.build().input().get_partial_shape()
    request = made.create_infer_request()
    for seed in range(3):
        inputs = case.inputs(seed)
        case.check(infer(request, inputs), inputs)
