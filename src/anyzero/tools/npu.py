"""`anyzero npu`: latency of first inferences, with cold and warm caches, and latency and throughput of later ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np

from anyzero import errors
from anyzero.tools.npu_probe import model_with, settings_of, shapes_of
from anyzero.tools.terminal import progress

__all__ = ["bench", "latency"]

_ROWS: Final = {
    "first_ever": "FEIL, nothing cached",
    "driver_cache": "FIL, driver's cache warm",
    "cache_dir": "FIL, CACHE_DIR warm",
}


def latency(model: str, *, config: Sequence[str], shape: str, repeat: int, as_json: bool) -> int:
    """Measure first inferences in fresh processes, with empty and with warm caches."""
    settings = settings_of(list(config))
    if not Path(model).exists():
        raise errors.InvalidArgument(f"the model {model} does not exist")
    shapes_of(shape)  # before anything takes long
    rounds: dict[str, list[dict[str, Any]]] = {name: [] for name in _ROWS}
    with tempfile.TemporaryDirectory(prefix="anyzero-npu-") as place:
        for number in range(repeat):
            empty = str(Path(place, f"driver{number}"))
            blobs = str(Path(place, f"blobs{number}"))
            own = {**settings, "CACHE_DIR": blobs}
            with progress(f"round {number + 1} of {repeat}"):
                rounds["first_ever"].append(_probe(model, shape, settings, empty))
                rounds["driver_cache"].append(_probe(model, shape, settings, empty))
                # The first of the two fills the folder; the driver's cache stays empty.
                _probe(model, shape, own, str(Path(place, f"none{number}")))
                rounds["cache_dir"].append(_probe(model, shape, own, str(Path(place, f"none{number}"))))
    found = {name: _middle(each) for name, each in rounds.items()}
    first = found["first_ever"]["latency"]
    for each in found.values():
        each["of_first_ever"] = each["latency"] / first
    if as_json:
        print(json.dumps({"model": model, "repeat": repeat, **found}, indent=2))
        return 0
    rows: list[tuple[str, ...]] = [("", "load", "first", "latency", "÷ FEIL", "second", "cached")]
    for name, title in _ROWS.items():
        each = found[name]
        times = (_time(each[part]) for part in ("load", "first", "latency"))
        rows.append((title, *times, f"{each['of_first_ever']:.2f}", _time(each["second"]), _yes(each["from_cache"])))
    print(_table(rows))
    print("\nFEIL: first ever inference latency. FIL: first inference latency. Both are from")
    print(f"compile_model() to the first result, in a fresh process; the median of {repeat}.")
    return 0


def bench(
    model: str, *, config: Sequence[str], shape: str, seconds: float, requests: int, compare: bool, as_json: bool
) -> int:
    """Measure sequential inferences and many in flight, optionally on OpenVINO's CPU device, too."""
    from anyzero.npu import AsyncInferQueue, Core

    source = model_with(model, shapes_of(shape))
    with progress("compiling the model"):
        compiled = Core().compile_model(source, settings_of(list(config)))
    with progress(f"measuring on the NPU, {2 * seconds:g} s"):
        found = {"NPU": _measured(compiled, AsyncInferQueue, seconds, requests)}
    if compare:
        try:
            import openvino
        except ImportError as error:
            raise errors.Unavailable(f"--compare needs OpenVINO: {error}", remedy="pip install openvino") from None
        with progress("compiling the model for the CPU device"):
            other = openvino.Core().compile_model(source, "CPU")
        with progress(f"measuring on the CPU, {2 * seconds:g} s"):
            found["CPU"] = _measured(other, openvino.AsyncInferQueue, seconds, requests)
    if as_json:
        print(json.dumps({"model": model, **found}, indent=2))
        return 0
    rows: list[tuple[str, ...]] = [("device", "median", "99 %", "per second", f"with {requests or 'optimal'} requests")]
    for name, each in found.items():
        times = (_time(each["median"]), _time(each["percentile99"]))
        rows.append((name, *times, f"{each['sequential']:.1f}", f"{each['throughput']:.1f}"))
    print(_table(rows))
    return 0


def _probe(model: str, shape: str, settings: dict[str, str], cache: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "anyzero.tools.npu_probe", model, shape]
    command += [f"{key}={value}" for key, value in settings.items()]
    done = subprocess.run(
        command, env={**os.environ, "ANYZERO_CACHE_DIR": cache}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = [line for line in done.stderr.strip().splitlines() if line.strip()]
        raise errors.Error(f"a first inference failed: {' '.join(said[-2:]) or f'exit {done.returncode}'}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _middle(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """The round of median latency, so that its parts add up."""
    return dict(sorted(rounds, key=lambda each: float(each["latency"]))[len(rounds) // 2])


def _measured(compiled: Any, queue: Callable[..., Any], seconds: float, requests: int) -> dict[str, float]:
    request = compiled.create_infer_request()
    random = np.random.default_rng(0)
    for tensor in request.input_tensors:
        # Integers are often indices into a table, and every table has index zero.
        if tensor.data.dtype.kind == "f":
            tensor.data[...] = random.standard_normal(tensor.data.shape)
    request.start_async()
    request.wait()
    taken: list[float] = []
    end = time.perf_counter() + seconds
    while (before := time.perf_counter()) < end:
        request.start_async()
        request.wait()
        taken.append(time.perf_counter() - before)
    jobs = queue(compiled, requests)
    count, begun = 0, time.perf_counter()
    while time.perf_counter() - begun < seconds:
        jobs.start_async()
        count += 1
    jobs.wait_all()
    elapsed = time.perf_counter() - begun
    return {
        "median": median(taken),
        "percentile99": float(np.percentile(taken, 99)),
        "sequential": len(taken) / sum(taken),
        "throughput": count / elapsed,
    }


def _time(value: float) -> str:
    return f"{value * 1e6:.0f} µs" if value < 1e-3 else f"{value * 1e3:.1f} ms" if value < 1 else f"{value:.2f} s"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
