"""`python -m benchmarks.npu.inferences ROUNDS MILLISECONDS ORDER KEY`: prints one JSON record for each device.

Both devices compile the model here, in one process, in the order given ("NPU,CPU") and with the same hints; then they
take turns. OpenVINO's CPU device is what computes behind the NPU as well, so a difference is what our driver and
OpenVINO's NPU plugin add.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any, Final

import numpy as np
import openvino as ov

import anyzero
from benchmarks import machine
from benchmarks.npu.items import INFERENCES, MODELS, Inference

REST: Final = 0.002
"""Seconds between turns, in which the threads of the last one fall asleep."""
WARM: Final = 5

Turn = Callable[[int], None]
"""Does that many inferences."""


def _inputs(request: Any) -> None:
    source = np.random.default_rng(0)
    for tensor in request.input_tensors:
        tensor.data[...] = source.standard_normal(tensor.data.shape)


def _one_by_one(compiled: Any) -> Turn:
    request = compiled.create_infer_request()
    _inputs(request)

    def turn(count: int) -> None:
        for _ in range(count):
            request.infer()

    return turn


def _queued(compiled: Any, jobs: int) -> Turn:
    queue = ov.AsyncInferQueue(compiled, jobs)
    for request in queue:
        _inputs(request)

    def turn(count: int) -> None:
        for _ in range(count):
            queue.start_async()
        queue.wait_all()

    return turn


def _contestants(core: Any, item: Inference, devices: list[str]) -> dict[str, Turn]:
    config = {"PERFORMANCE_HINT": "THROUGHPUT" if item.throughput else "LATENCY"}
    compiled = {device: core.compile_model(MODELS[item.model](), device, config) for device in devices}
    if not item.throughput:
        return {device: _one_by_one(model) for device, model in compiled.items()}
    jobs = max(model.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS") for model in compiled.values())
    return {device: _queued(model, jobs) for device, model in compiled.items()}


def _took(turn: Turn, count: int) -> float:
    begun = time.perf_counter_ns()
    turn(count)
    return (time.perf_counter_ns() - begun) / count


def measure(core: Any, item: Inference, devices: list[str], rounds: int, round_ms: float) -> list[dict[str, Any]]:
    """One record for each device, in nanoseconds per inference."""
    turns = _contestants(core, item, devices)
    count = 1
    for turn in turns.values():
        turn(WARM)
        count = max(count, round(round_ms * 1e6 / _took(turn, WARM)))
    samples: dict[str, list[float]] = {device: [] for device in turns}
    shuffle = random.Random(item.key)
    others = machine.Others()
    for _ in range(rounds):
        for device in shuffle.sample(devices, len(devices)):
            # Whoever slept during the other's turn wakes up before the clock runs.
            turns[device](1)
            samples[device].append(_took(turns[device], count))
            time.sleep(REST)
    busy = others.cores()
    return [
        {
            "item": item.key,
            "device": device,
            "best": min(times),
            "median": median(times),
            "operations": count,
            "bytes": 0,
            "others": busy,
            "samples": [round(sample, 1) for sample in times],
        }
        for device, times in samples.items()
    ]


def main(arguments: list[str]) -> int:
    rounds, round_ms, order, key = int(arguments[0]), float(arguments[1]), arguments[2], arguments[3]
    anyzero.enable_openvino()
    item = next(item for item in INFERENCES if item.key == key)
    for record in measure(ov.Core(), item, order.split(","), rounds, round_ms):
        print(json.dumps(record), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
