"""Starts the processes that measure, and lets them take turns."""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks import machine, sources
from benchmarks.compile.items import Beginning, Compilation
from benchmarks.kernels.peers import PEERS, Command, Unavailable
from benchmarks.kernels.programs import program

__all__ = ["CACHED", "COMPILED", "FULL", "INTEL", "QUICK", "Contest", "Pace"]

FOLDER: Final = sources.BUILD / "compile"
PATIENCE: Final = 120.0
COMPILED, CACHED, INTEL = "compiled", "cached", "Intel"

Pace = tuple[int, int]
"""Rounds of compilations, and of first kernels."""
FULL: Final[Pace] = (7, 9)
QUICK: Final[Pace] = (2, 2)

Record = dict[str, Any]
Tell = Callable[[str, Mapping[str, Record]], None]


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    # Installed programs have their bytecode; without it every start would measure Python's compiler.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    path = os.pathsep.join(filter(None, [str(sources.ROOT), kept.get("PYTHONPATH", "")]))
    return {**kept, "PYTHONPATH": path, **more}


def _fresh(name: str) -> Path:
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)
    return folder


def _record(key: str, samples: list[float], others: float) -> Record:
    return {"item": key, "best": min(samples), "median": median(samples), "samples": samples, "others": others}


class Worker:
    """A process that makes kernels on demand."""

    def __init__(self, name: str, kind: str, command: Command) -> None:
        start, variables = command
        pipe = subprocess.PIPE
        with (FOLDER / f"{name}.log").open("wb") as log:
            self.process = subprocess.Popen(
                [*start, "-m", "benchmarks.compile.worker", kind],
                cwd=sources.ROOT, env=_environment(variables), stdin=pipe, stdout=pipe, stderr=log, text=True,
            )  # fmt: skip
        self.name = name
        self._answer()

    def _answer(self) -> Record:
        assert self.process.stdout is not None
        watch = threading.Timer(PATIENCE, self.process.kill)
        watch.start()
        try:
            line = self.process.stdout.readline()
        finally:
            watch.cancel()
        if not line:
            log = (FOLDER / f"{self.name}.log").read_text(errors="replace").strip().splitlines()[-1:]
            raise sources.Failed(f"{self.name}: its process ended with {self.process.wait()}: {' '.join(log)}")
        answer: Record = json.loads(line)
        if "error" in answer:
            raise sources.Failed(f"{self.name}: {answer['error']}")
        return answer

    def make(self, spv: Path, kernel: str) -> float:
        assert self.process.stdin is not None
        print(json.dumps([str(spv), kernel]), file=self.process.stdin, flush=True)
        return float(self._answer()["ns"])

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


@dataclass(slots=True)
class Contest:
    """Who takes part, and why others do not."""

    install: bool
    skipped: dict[str, str] = field(default_factory=dict)
    _intel: Command | None = None

    def __post_init__(self) -> None:
        FOLDER.mkdir(parents=True, exist_ok=True)
        try:
            self._intel = next(peer for peer in PEERS if peer.name == INTEL).start(self.install)
        except Unavailable as error:
            self.skipped[INTEL] = str(error)

    @contextmanager
    def _workers(self) -> Iterator[list[Worker]]:
        ways: dict[str, tuple[str, Command]] = {
            COMPILED: ("anyzero", ([sys.executable], {"ANYZERO_CACHE": "off"})),
            CACHED: ("anyzero", ([sys.executable], {"ANYZERO_CACHE_DIR": str(_fresh("cache"))})),
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
                busy = _Others([each.process.pid for each in workers])
                for _ in range(pace[0]):
                    for each in shuffle.sample(workers, len(workers)):
                        taken[each.name].append(each.make(case.spv, case.kernel))
                others = busy.cores()
                found[item.key] = {name: _record(item.key, samples, others) for name, samples in taken.items()}
                tell(item.title, found[item.key])
        return found

    def beginnings(self, items: Sequence[Beginning], pace: Pace, tell: Tell) -> dict[str, dict[str, Record]]:
        """Key → way → record; in each round one process for each way, in another order each time."""
        chosen = [item for item in items if item.key != "first_Intel" or self._intel]
        warm = _fresh("first-warm")
        taken: dict[str, list[float]] = {item.key: [] for item in chosen}
        for key in taken:
            self._first(key, warm)
        shuffle = random.Random(0)
        busy = _Others([])
        for _ in range(pace[1]):
            for key in shuffle.sample(list(taken), len(taken)):
                taken[key].append(self._first(key, warm))
        others = busy.cores()
        found: dict[str, dict[str, Record]] = {}
        for item in chosen:
            name = INTEL if item.key == "first_Intel" else "anyzero"
            found[item.key] = {name: _record(item.key, taken[item.key], others)}
            tell(item.title, found[item.key])
        return found

    def _first(self, key: str, warm: Path) -> float:
        cache = _fresh("first") if key == "first_cold" else warm
        start, variables = [sys.executable], {"ANYZERO_CACHE_DIR": str(cache)}
        if key == "first_Intel" and self._intel:
            start, variables = self._intel
        command = [*start, "-m", "benchmarks.compile.first", key, str(program("saxpy").case("test").spv)]
        done = subprocess.run(
            command, cwd=sources.ROOT, env=_environment(variables), capture_output=True, text=True, timeout=PATIENCE,
            check=False,
        )  # fmt: skip
        if done.returncode:
            said = done.stderr.strip().splitlines()[-1:]
            raise sources.Failed(f"{key}: its process ended with {done.returncode}: {' '.join(said)}")
        return float(json.loads(done.stdout.splitlines()[-1])["ns"])


class _Others:
    """How many cores other processes keep busy, from now on."""

    def __init__(self, workers: Sequence[int]) -> None:
        self._workers = workers
        self._wall, self._busy, self._own = time.monotonic(), machine.busy(), self._spent()

    def _spent(self) -> float:
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        own = sum(each.ru_utime + each.ru_stime for each in used)
        return own + sum(machine.spent(pid) for pid in self._workers)

    def cores(self) -> float:
        wall = time.monotonic() - self._wall
        return max(0.0, machine.busy() - self._busy - (self._spent() - self._own)) / max(wall, 1e-9)
