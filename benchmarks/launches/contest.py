"""Who launches, and how they take turns: each is a C program in a process of its own, and each round asks all of them.

Ours runs twice: linked with our loader, as programs are, and linked with the driver itself. The others run what
`benchmarks/kernels/peers.py` fetches, through the OpenCL loader that comes along with pyopencl.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks import machine, sources
from benchmarks.kernels.peers import PEERS, Unavailable
from benchmarks.process import Process

__all__ = ["DRIVER", "FULL", "ITEMS", "LOADER", "OTHERS", "QUICK", "Contest", "Launch", "select"]

HERE: Final = Path(__file__).parent
KERNELS: Final = sources.ROOT / "tests" / "kernels"
LIBRARIES: Final = sources.LIBRARY.parent
LOADER: Final = "anyzero"
DRIVER: Final = "anyzero without the loader"
OTHERS: Final = tuple(peer.name for peer in PEERS if peer.opencl)
REST: Final = 0.003
"""Seconds between turns, in which the threads of the last one fall asleep."""

FULL: Final = 50
QUICK: Final = 7
"""Rounds."""

GROUP: Final = "an empty kernel from C, beside OpenCL, per launch"


@dataclass(frozen=True, slots=True)
class Launch:
    """One way to launch, measured by everybody who has it."""

    key: str
    title: str
    calls: int
    """What we do in a full run."""
    others: int
    """What the others do, who take longer; 0 where they have nothing like it."""
    group: str = GROUP


ITEMS: Final = (
    Launch("record", "lists of 1,000: append, close, reset", 1_000_000, 0),
    Launch("record_execute", "lists of 1,000: append, execute, wait, reset", 1_000_000, 100_000),
    Launch("launch", "immediate: the call alone", 100_000, 100_000),
    Launch("launch_queued", "immediate: 1,000 queued, wait", 100_000, 100_000),
    Launch("launch_wait", "immediate: launch, wait", 100_000, 100_000),
)


def select(text: str) -> tuple[Launch, ...]:
    """The items whose key, title or group holds `text`."""
    return tuple(item for item in ITEMS if text.lower() in f"{item.key} {item.title} {item.group}".lower())


def _built(name: str, source: str, link: Sequence[str], needs: Sequence[Path] = ()) -> Path:
    header = sources.ROOT / "engine" / "abi" / "gen"
    program = sources.BUILD / name
    inputs = [HERE / source, HERE / "turns.h", header / "ze_api.h", *needs]
    if not program.exists() or program.stat().st_mtime < max(path.stat().st_mtime for path in inputs):
        sources.BUILD.mkdir(parents=True, exist_ok=True)
        flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-D_GNU_SOURCE", f"-I{header}"]
        sources.call([os.environ.get("CC", "cc"), *flags, str(HERE / source), *link, "-o", str(program)])
    return program


def _ours(name: str, library: str) -> tuple[list[str], Mapping[str, str]]:
    path = LIBRARIES / library
    if not path.exists():
        raise sources.Failed(f"{path.name} is not built; run `make build` first")
    program = _built(name, "level_zero.c", [str(path), f"-Wl,-rpath,{LIBRARIES}"], [path])
    return [str(program), str(KERNELS / "empty.spv")], {"ANYZERO_PYTHON": sys.executable}


def _theirs(name: str, install: bool) -> tuple[list[str], Mapping[str, str]]:
    (python, *_), variables = next(peer for peer in PEERS if peer.name == name).start(install)
    found = sorted(Path(python).parents[1].glob("lib/python*/site-packages/pyopencl/.libs/libOpenCL*.so*"))
    if not found:
        raise Unavailable("the pyopencl that was fetched has no OpenCL loader in it")
    program = _built("launches-opencl", "opencl.c", ["-ldl"])
    # Without this variable that loader crashes outside of pyopencl.
    home = {"PYOPENCL_HOME": str(found[0].parents[1])}
    return [str(program), str(found[0]), str(KERNELS / "empty.cl")], {**variables, **home}


class Contestant(Process):
    """A program at work."""

    def __init__(self, name: str, command: list[str], variables: Mapping[str, str]) -> None:
        super().__init__(f"launches-{name}", command, variables)
        self.about = self.read().strip()

    def turn(self, key: str, calls: int) -> float:
        """Nanoseconds per call."""
        self.write(f"{key} {calls}")
        return int(self.read()) / calls


@dataclass
class Contest:
    """All contestants that could be had; `skipped` and `problems` have the reasons for the others."""

    install: bool
    processes: dict[str, Contestant] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)

    def __enter__(self) -> Contest:
        starts: dict[str, Callable[[], tuple[list[str], Mapping[str, str]]]] = {
            LOADER: partial(_ours, "launches-loader", "libze_loader.so.1"),
            DRIVER: partial(_ours, "launches-driver", "libze_anyzero.so.1"),
            **{name: partial(_theirs, name, self.install) for name in OTHERS},
        }
        for name, start in starts.items():
            try:
                self.processes[name] = Contestant(name, *start())
            except (sources.Failed, Unavailable) as error:
                self._without(name, str(error))
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes.values():
            process.close()

    def _without(self, name: str, reason: str) -> None:
        # A peer that cannot be had is worth knowing; only ours is a failure.
        (self.skipped if name in OTHERS else self.problems)[name] = reason
        if process := self.processes.pop(name, None):
            process.close()

    def measure(self, item: Launch, rounds: int) -> dict[str, dict[str, Any]]:
        """Contestant → its record. In a full run its turns add up to the item's calls."""
        each = {
            name: calls // FULL for name in self.processes if (calls := item.others if name in OTHERS else item.calls)
        }
        samples: dict[str, list[float]] = {name: [] for name in each}
        shuffle = random.Random(item.key)
        others = machine.Others(self.processes.values())
        for _ in range(rounds):
            for name in shuffle.sample(list(samples), len(samples)):
                try:
                    samples[name].append(self.processes[name].turn(item.key, each[name]))
                except sources.Failed as error:
                    self._without(name, str(error))
                    del samples[name]
                time.sleep(REST)
        busy = others.cores()
        return {
            name: {
                "item": item.key,
                "best": min(times),
                "median": median(times),
                "operations": each[name],
                "bytes": 0,
                "others": busy,
                "samples": [round(sample, 2) for sample in times],
            }
            for name, times in samples.items()
        }
