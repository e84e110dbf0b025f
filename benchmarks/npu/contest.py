"""Starts the processes that measure, and gathers what they say."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks import sources
from benchmarks.npu.items import Beginning, Inference

__all__ = ["FULL", "QUICK", "Pace", "beginnings", "inferences", "unavailable"]

FOLDER: Final = sources.BUILD / "npu"
PATIENCE: Final = 120.0

Pace = tuple[int, float, int]
"""Rounds of inferences, milliseconds of a turn, and rounds of beginnings."""
FULL: Final[Pace] = (32, 25.0, 7)
QUICK: Final[Pace] = (5, 10.0, 1)

ORDERS: Final = ("NPU,CPU", "CPU,NPU") * 2
"""Who compiles first, a process each: where memory is the limit, the second one is up to a fifth faster."""

Record = dict[str, Any]


def unavailable() -> str | None:
    """Why nothing can be measured."""
    if importlib.util.find_spec("openvino") is None:
        return "openvino cannot be imported; pip install anyzero[npu]"
    return None


def _environment(cache: Path) -> dict[str, str]:
    return {**os.environ, "ANYZERO_CACHE_DIR": str(cache)}


def _fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)
    return folder


def _lines(module: str, arguments: Sequence[str], cache: Path) -> Iterator[str]:
    command = [sys.executable, "-m", f"benchmarks.npu.{module}", *arguments]
    log = FOLDER / f"{module}.log"
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            command, cwd=sources.ROOT, env=_environment(cache), stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        watch = threading.Timer(PATIENCE, process.kill)
        watch.start()
        try:
            assert process.stdout is not None
            yield from process.stdout
            code = process.wait()
        finally:
            watch.cancel()
            if process.poll() is None:
                process.kill()
    if code:
        said = log.read_text(errors="replace").strip().splitlines()[-1:]
        raise sources.Failed(f"the program that measures ended with {code}: {' '.join(said) or 'it did not say why'}")


def _joined(parts: Sequence[Record]) -> Record:
    """One record of several of the same item and device."""
    samples = [sample for part in parts for sample in part["samples"]]
    others = max(part["others"] for part in parts)
    return {**parts[0], "best": min(samples), "median": median(samples), "others": others, "samples": samples}


def inferences(items: Sequence[Inference], pace: Pace, tell: Callable[[Record], None]) -> dict[str, dict[str, Record]]:
    """Key → device → record."""
    rounds, round_ms, _ = pace
    found: dict[str, dict[str, Record]] = {}
    for item in items:
        parts: dict[str, list[Record]] = {}
        for order in ORDERS:
            arguments = [str(max(2, rounds // len(ORDERS))), str(round_ms), order, item.key]
            for line in _lines("inferences", arguments, _fresh(FOLDER / "cache")):
                record = json.loads(line)
                parts.setdefault(record["device"], []).append(record)
        found[item.key] = {device: _joined(parts[device]) for device in ("NPU", "CPU")}
        for record in found[item.key].values():
            tell(record)
    return found


def beginnings(items: Sequence[Beginning], pace: Pace, tell: Callable[[Record], None]) -> dict[str, Record]:
    """Key → record; in each round one process for each way, in another order each time."""
    _, _, rounds = pace
    folder = _fresh(FOLDER / "beginnings")
    warm = _fresh(folder / "warm")
    for _ in _lines("beginnings", ["prepare", str(folder)], warm):
        pass
    taken: dict[str, list[Record]] = {item.key: [] for item in items}
    shuffle = random.Random(0)
    for _ in range(rounds):
        for key in shuffle.sample(list(taken), len(taken)):
            cache = _fresh(folder / "cold") if key == "npu_feil" else warm
            (line,) = _lines("beginnings", [key, str(folder)], cache)
            taken[key].append(json.loads(line))
    found = {}
    for key, records in taken.items():
        times = [record["ns"] for record in records]
        found[key] = {
            "item": key,
            "best": min(times),
            "median": median(times),
            "compiled": median(record["compiled_ns"] for record in records),
            "anonymous": median(record["anonymous"] for record in records),
            "anonymous_after": median(record["anonymous_after"] for record in records),
            "weights": records[0]["weights"],
            "samples": times,
        }
        tell(found[key])
    # The model and its blob are 100 MB that nobody needs anymore.
    shutil.rmtree(folder)
    return found
