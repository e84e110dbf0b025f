"""Asynchronous requests."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import openvino as ov
import pytest

from tests.npu import models
from tests.npu.client.conftest import DEVICE, outputs
from tests.patience import PATIENCE

Compiled = Callable[[str], ov.CompiledModel]


def test_start_and_wait(compiled: Compiled) -> None:
    case = models.case("residual")
    request = compiled("residual").create_infer_request()
    for seed in range(5):
        inputs = case.inputs(seed)
        request.start_async(list(inputs))
        assert request.wait_for(200_000)
        case.check(outputs(request), inputs)


def test_callback(compiled: Compiled) -> None:
    case = models.case("mlp")
    request = compiled("mlp").create_infer_request()
    done, seen = threading.Event(), []

    def arrived(given: Any) -> None:
        seen.append(given)
        done.set()

    request.set_callback(arrived, "mine")
    inputs = case.inputs()
    request.start_async(list(inputs), "mine")
    assert done.wait(PATIENCE)
    request.wait()
    assert seen == ["mine"]
    case.check(outputs(request), inputs)


def test_queue(compiled: Compiled) -> None:
    case = models.case("mlp")
    queue = ov.AsyncInferQueue(compiled("mlp"), 4)
    found: dict[int, list[models.Array]] = {}
    queue.set_callback(lambda request, number: found.update({number: outputs(request)}))
    inputs = [case.inputs(seed) for seed in range(40)]
    for number, given in enumerate(inputs):
        queue.start_async(list(given), number)
    queue.wait_all()
    assert sorted(found) == list(range(40))
    for number, given in enumerate(inputs):
        case.check(found[number], given)


def test_queue_of_its_own_size(compiled: Compiled) -> None:
    """As many requests as the device advises."""
    case = models.case("tiny")
    queue = ov.AsyncInferQueue(compiled("tiny"))
    assert len(queue) >= 1
    inputs = case.inputs()
    for _ in range(20):
        queue.start_async(list(inputs))
    queue.wait_all()
    for request in queue:
        case.check(outputs(request), inputs)


def test_an_error_in_a_callback_reaches_the_program(compiled: Compiled) -> None:
    queue = ov.AsyncInferQueue(compiled("tiny"), 2)

    def fails(_: Any, number: int) -> None:
        if number == 3:
            raise ValueError("three is too many")

    queue.set_callback(fails)
    inputs = models.case("tiny").inputs()

    def start_all() -> None:
        for number in range(6):
            queue.start_async(list(inputs), number)
        queue.wait_all()

    with pytest.raises((RuntimeError, ValueError), match="three is too many"):
        start_all()


def test_two_queues_on_two_models(compiled: Compiled) -> None:
    cases = [models.case(name) for name in ("mlp", "lstm")]
    queues = [ov.AsyncInferQueue(compiled(case.name), 2) for case in cases]
    found: list[tuple[int, int, list[models.Array]]] = []
    for which, queue in enumerate(queues):
        queue.set_callback(lambda request, seed, which=which: found.append((which, seed, outputs(request))))
    for seed in range(10):
        for case, queue in zip(cases, queues, strict=True):
            queue.start_async(case.inputs(seed), seed)
    for queue in queues:
        queue.wait_all()
    assert len(found) == 20
    for which, seed, results in found:
        cases[which].check(results, cases[which].inputs(seed))


def test_a_busy_request_says_so(compiled: Compiled) -> None:
    request = compiled("residual").create_infer_request()
    refused = []
    for _ in range(200):
        request.start_async()
        try:
            request.start_async()
        except RuntimeError as error:
            refused.append(str(error).lower())
        request.wait()
    assert refused
    assert all("busy" in text for text in refused)


def test_cancel_leaves_the_request_usable(compiled: Compiled) -> None:
    case = models.case("residual")
    request = compiled("residual").create_infer_request()
    for _ in range(20):
        request.start_async()
        # The inference may already have completed before the cancel.
        with contextlib.suppress(RuntimeError):
            request.cancel()
        with contextlib.suppress(RuntimeError):
            request.wait()
    inputs = case.inputs()
    request.infer(list(inputs))
    case.check(outputs(request), inputs)


def test_requests_on_threads(compiled: Compiled) -> None:
    """Each thread has its own request of one model."""
    case = models.case("transformer")
    wrong: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            request = compiled("transformer").create_infer_request()
            for number in range(10):
                inputs = case.inputs(seed + number % 2)
                request.infer(list(inputs))
                if number % 5 == 0:
                    case.check(outputs(request), inputs)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(10 * number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not wrong
    assert not any(thread.is_alive() for thread in threads)


def test_compiling_on_threads(core: ov.Core) -> None:
    case = models.case("mlp")
    inputs = case.inputs()
    found: list[list[models.Array]] = []

    def work() -> None:
        request = core.compile_model(case.build(), DEVICE).create_infer_request()
        request.infer(list(inputs))
        found.append(outputs(request))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(found) == 4
    for results in found:
        case.check(results, inputs)
        np.testing.assert_array_equal(results[0], found[0][0])
