"""The peers take turns: every round, each runs the program once, in another order each time."""

from __future__ import annotations

import json
import pickle
import random
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from benchmarks import machine
from benchmarks.kernels.peers import Peer, Unavailable, cache
from benchmarks.kernels.program import Program
from benchmarks.kernels.targets import TARGETS, Target
from benchmarks.paired import quotient
from benchmarks.process import ROOT, Failed, Process

__all__ = [
    "REST",
    "SLOW_NS",
    "Contestant",
    "Found",
    "Results",
    "compete",
    "data",
    "enter",
    "merged",
    "take_turns",
]

SHARED: Final = Path("/dev/shm")
REST: Final = 0.02
"""Seconds between turns, in which the threads of the last one fall asleep: those of OpenMP look for work for 5 ms."""
SLOW_NS: Final = 400e6
FEW: Final = 3
"""Samples of what is slow: it will not win by a fourth. What is not slow has as many, however long a round takes."""


@dataclass(slots=True)
class Found:
    """What one peer did with one program."""

    first: float = 0.0
    """Nanoseconds until the first result: arguments placed, compiled and run."""
    samples: list[float] = field(default_factory=list)
    trouble: str = ""
    missing: bool = False
    others: float = 0.0
    """Cores that processes of others kept busy meanwhile."""

    @property
    def best(self) -> float | None:
        return min(self.samples) if self.samples and not self.trouble else None

    def against(self, other: Found) -> float | None:
        """Its time divided by the other's, round by round."""
        return None if self.trouble or other.trouble else quotient(self.samples, other.samples)


Results = Sequence[tuple[Program, Mapping[str, Found]]]


def merged(runs: Sequence[Results]) -> Results:
    """Several runs of the same programs as one, with the samples of all."""
    made = []
    for same in zip(*runs, strict=True):
        found = {name: replace(each, samples=list(each.samples)) for name, each in same[0][1].items()}
        for _, later in same[1:]:
            for name, each in later.items():
                mine = found[name]
                mine.samples += each.samples
                mine.trouble = mine.trouble or each.trouble
                mine.others = max(mine.others, each.others)
        made.append((same[0][0], found))
    return made


class Contestant(Process):
    """A peer's process."""

    def __init__(self, peer: Peer, install: bool, target: Target) -> None:
        self.peer, self._target = peer, target
        self._start(install)

    def _start(self, install: bool) -> None:
        peer, target = self.peer, self._target
        command, variables = peer.start(install)
        worker = [*command, "-m", "benchmarks.kernels.worker", peer.kind, str(cache() / "native")]
        super().__init__(
            f"kernels-{peer.name}",
            worker,
            {"PYTHONPATH": str(ROOT), **peer.hold(target), **peer.variables, **variables},
        )
        greeting = self._answer()
        if "error" in greeting:
            self.close()
            raise Unavailable(greeting["error"])
        self.about: str = greeting["name"]
        if any(word in self.about for word in target.beyond):
            self.close()
            raise Unavailable(f"it cannot be held to {target.about}: {self.about}")

    def revive(self) -> None:
        """Start it anew if a program has ended it."""
        if self.ended:
            self.close()
            self._start(install=False)

    def _answer(self) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = json.loads(self.read())
        except Failed as error:
            return {"error": str(error)}
        return answer

    def ask(self, do: str, **order: Any) -> dict[str, Any]:
        self.write(json.dumps({"do": do, **order}))
        return self._answer()


def enter(
    peers: Sequence[Peer], install: bool, skipped: dict[str, str], target: Target = TARGETS["native"]
) -> tuple[list[Contestant], Mapping[str, str]]:
    """Start those that can be had; `skipped` gets the reasons of the others."""
    made = []
    for peer in peers:
        try:
            made.append(Contestant(peer, install, target))
        except Unavailable as error:
            skipped[peer.name] = str(error)
    return made, {each.peer.name: each.about for each in made}


@contextmanager
def data(program: Program, size: str) -> Iterator[Path]:
    """A folder with arguments and expected results, in memory where that is possible."""
    folder = Path(tempfile.mkdtemp(prefix="anyzero-bench-", dir=SHARED if SHARED.is_dir() else None))
    try:
        case = program.case(size)
        with (folder / "arguments").open("wb") as file:
            pickle.dump(case.arguments(), file, protocol=5)
        with (folder / "expected").open("wb") as file:
            pickle.dump(case.expected(case.arguments()), file, protocol=5)
        yield folder
    finally:
        shutil.rmtree(folder)


def _begin(contestant: Contestant, order: Mapping[str, str]) -> Found:
    prepared = contestant.ask("prepare", **order)
    if "missing" in prepared:
        return Found(missing=True)
    checked = contestant.ask("check") if "error" not in prepared else {}
    trouble = prepared.get("error") or checked.get("error") or checked.get("wrong") or ""
    return Found(first=prepared.get("ns", 0.0) + checked.get("ns", 0.0), trouble=trouble)


def _time(contestant: Contestant, found: Found, warm: int) -> None:
    answer = contestant.ask("time", warm=warm)
    if "error" in answer:
        found.trouble = answer["error"]
    else:
        found.samples.append(answer["ns"])
    time.sleep(REST)


def compete(
    contestants: Sequence[Contestant], program: Program, size: str, rounds: int, seconds: float, warm: int = 0
) -> dict[str, Found]:
    """Peer → what it did; at most `rounds` samples each, and no new round when `seconds` are over.

    Each sample has `warm` uncounted runs before it.
    """
    return take_turns([(each, program) for each in contestants], size, rounds, seconds, warm)


def take_turns(
    entries: Sequence[tuple[Contestant, Program]],
    size: str,
    rounds: int,
    seconds: float,
    warm: int = 0,
) -> dict[str, Found]:
    """The same where each has a program of its own."""
    with ExitStack() as stack:
        programs = {program.key: program for _, program in entries}
        folders = {key: stack.enter_context(data(each, size)) for key, each in programs.items()}
        orders = [{"program": each.key, "size": size, "folder": str(folders[each.key])} for _, each in entries]
        contestants = [each for each, _ in entries]
        for contestant in contestants:
            contestant.revive()
        begun = zip(contestants, orders, strict=True)
        found = {each.peer.name: _begin(each, order) for each, order in begun}
        others = _rounds(contestants, found, "".join(programs), rounds, seconds, warm)
        for contestant in contestants:
            mine = found[contestant.peer.name]
            mine.others = others
            if not mine.missing and not mine.trouble and (mine.best or 0.0) < SLOW_NS:
                # What was measured must still be right; for what is slow, once is enough.
                answer = contestant.ask("check")
                mine.trouble = answer.get("error") or answer.get("wrong") or ""
            contestant.ask("drop")
    return found


def _rounds(
    contestants: Sequence[Contestant],
    found: Mapping[str, Found],
    seed: str,
    rounds: int,
    seconds: float,
    warm: int,
) -> float:
    """Fill in samples; how many cores others kept busy meanwhile."""
    shuffle = random.Random(seed)
    others = machine.Others(contestants)
    begun, slow = time.monotonic(), 0.0
    for turn in range(rounds):
        for contestant in shuffle.sample(contestants, len(contestants)):
            mine = found[contestant.peer.name]
            if mine.missing or mine.trouble or (turn >= FEW and max(mine.samples) > SLOW_NS):
                continue
            _time(contestant, mine, warm)
            if mine.samples and mine.samples[-1] > SLOW_NS:
                slow += mine.samples[-1] / 1e9
        if turn + 1 >= FEW and time.monotonic() > begun + slow + seconds:
            break
    return others.cores()
