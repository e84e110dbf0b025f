"""Starts the processes that measure, and gathers what they say."""

from __future__ import annotations

import importlib.util
import json
import random
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks import sources
from benchmarks.npu.items import Beginning, Inference
from benchmarks.process import Process
from benchmarks.sources import fresh

__all__ = ["FULL", "QUICK", "Pace", "beginnings", "inferences", "unavailable"]

FOLDER: Final = sources.BUILD / "npu"

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


def _records(module: str, arguments: Sequence[str], cache: Path) -> Iterator[Record]:
    command = [sys.executable, "-m", f"benchmarks.npu.{module}", *arguments]
    return map(json.loads, Process(f"npu-{module}", command, {"ANYZERO_CACHE_DIR": str(cache)}).lines())


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
            for record in _records("inferences", arguments, fresh(FOLDER / "cache")):
                parts.setdefault(record["device"], []).append(record)
        found[item.key] = {device: _joined(parts[device]) for device in ("NPU", "CPU")}
        for record in found[item.key].values():
            tell(record)
    return found


def beginnings(items: Sequence[Beginning], pace: Pace, tell: Callable[[Record], None]) -> dict[str, Record]:
    """Key → record; in each round one process for each way, in another order each time."""
    _, _, rounds = pace
    folder = fresh(FOLDER / "beginnings")
    warm = fresh(folder / "warm")
    list(_records("beginnings", ["prepare", str(folder)], warm))
    taken: dict[str, list[Record]] = {item.key: [] for item in items}
    shuffle = random.Random(0)
    for _ in range(rounds):
        for key in shuffle.sample(list(taken), len(taken)):
            cache = fresh(folder / "cold") if key == "npu_feil" else warm
            taken[key] += _records("beginnings", [key, str(folder)], cache)
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
