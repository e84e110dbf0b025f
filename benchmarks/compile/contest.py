"""Starts the processes that measure, and lets them take turns."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks import machine, sources
from benchmarks.compile.items import Beginning, Compilation
from benchmarks.kernels.peers import PEERS, Command, Unavailable
from benchmarks.kernels.suites import program
from benchmarks.process import Failed, Process
from benchmarks.sources import fresh

__all__ = ["CACHED", "COMPILED", "FULL", "INTEL", "QUICK", "Contest", "Pace"]

FOLDER: Final = sources.BUILD / "compile"
BYTECODE: Final = {"PYTHONDONTWRITEBYTECODE": ""}
"""Installed programs have theirs; without it every start would measure Python's compiler."""
COMPILED, CACHED, INTEL = "compiled", "cached", "Intel"

Pace = tuple[int, int]
"""Rounds of compilations, and of first kernels."""
FULL: Final[Pace] = (7, 9)
QUICK: Final[Pace] = (2, 2)

Record = dict[str, Any]
Tell = Callable[[str, Mapping[str, Record]], None]


def _record(key: str, samples: list[float], others: float) -> Record:
    return {"item": key, "best": min(samples), "median": median(samples), "samples": samples, "others": others}


class Worker(Process):
    """A process that makes kernels on demand."""

    def __init__(self, name: str, kind: str, command: Command) -> None:
        start, variables = command
        super().__init__(f"compile-{name}", [*start, "-m", "benchmarks.compile.worker", kind], BYTECODE | variables)
        self.name = name
        self._answer()

    def _answer(self) -> Record:
        try:
            answer: Record = json.loads(self.read())
        except Failed as error:
            answer = {"error": error}
        if "error" in answer:
            raise Failed(f"{self.name}: {answer['error']}")
        return answer

    def make(self, spv: Path, kernel: str) -> float:
        self.write(json.dumps([str(spv), kernel]))
        return float(self._answer()["ns"])


@dataclass(slots=True)
class Contest:
    """Who takes part, and why others do not."""

    install: bool
    skipped: dict[str, str] = field(default_factory=dict)
    _intel: Command | None = None

    def __post_init__(self) -> None:
        try:
            self._intel = next(peer for peer in PEERS if peer.name == INTEL).start(self.install)
        except Unavailable as error:
            self.skipped[INTEL] = str(error)

    @contextmanager
    def _workers(self) -> Iterator[list[Worker]]:
        ways: dict[str, tuple[str, Command]] = {
            COMPILED: ("anyzero", ([sys.executable], {"ANYZERO_CACHE": "off"})),
            CACHED: ("anyzero", ([sys.executable], {"ANYZERO_CACHE_DIR": str(fresh(FOLDER / "cache"))})),
        }
        if self._intel:
            ways[INTEL] = ("spirv", self._intel)
        made: list[Worker] = []
        try:
            made += (Worker(name, kind, command) for name, (kind, command) in ways.items())
            yield made
        finally:
            for each in made:
                each.close()

    def compilations(self, items: Sequence[Compilation], pace: Pace, tell: Tell) -> dict[str, dict[str, Record]]:
        """Key → way → record."""
        found: dict[str, dict[str, Record]] = {}
        with self._workers() as workers:
            for item in items:
                case = program(item.program).case("test")
                shuffle = random.Random(item.key)
                taken: dict[str, list[float]] = {each.name: [] for each in workers}
                for each in workers:
                    # Loads what the first use loads, and fills the cache.
                    each.make(case.spv, case.kernel)
                others = machine.Others(workers)
                for _ in range(pace[0]):
                    for each in shuffle.sample(workers, len(workers)):
                        taken[each.name].append(each.make(case.spv, case.kernel))
                busy = others.cores()
                found[item.key] = {name: _record(item.key, samples, busy) for name, samples in taken.items()}
                tell(item.title, found[item.key])
        return found

    def beginnings(self, items: Sequence[Beginning], pace: Pace, tell: Tell) -> dict[str, dict[str, Record]]:
        """Key → way → record; in each round one process for each way, in another order each time."""
        chosen = [item for item in items if item.key != "first_Intel" or self._intel]
        warm = fresh(FOLDER / "first-warm")
        taken: dict[str, list[float]] = {item.key: [] for item in chosen}
        for key in taken:
            self._first(key, warm)
        shuffle = random.Random(0)
        others = machine.Others()
        for _ in range(pace[1]):
            for key in shuffle.sample(list(taken), len(taken)):
                taken[key].append(self._first(key, warm))
        busy = others.cores()
        found: dict[str, dict[str, Record]] = {}
        for item in chosen:
            name = INTEL if item.key == "first_Intel" else "anyzero"
            found[item.key] = {name: _record(item.key, taken[item.key], busy)}
            tell(item.title, found[item.key])
        return found

    def _first(self, key: str, warm: Path) -> float:
        cache = fresh(FOLDER / "first") if key in ("first_cold", "python_warm") else warm
        start, variables = [sys.executable], {"ANYZERO_CACHE_DIR": str(cache)}
        if key == "first_Intel" and self._intel:
            start, variables = self._intel
        command = [*start, "-m", "benchmarks.compile.first", key, str(program("saxpy").case("test").spv)]
        try:
            *_, line = Process(f"compile-{key}", command, BYTECODE | variables).lines()
        except Failed as error:
            raise Failed(f"{key}: {error}") from None
        return float(json.loads(line)["ns"])
