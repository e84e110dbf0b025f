"""The cost of check mode, for commands and for kernels: the same work with and without it, in turns.

Commands: a C program (`commands.c`) once for each set of checks, each in a process of its own. Kernels: programs of the
kernel suite, in processes that have the checks by ANYZERO_CHECK.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks import machine, sources
from benchmarks.kernels import contest
from benchmarks.kernels.contest import Found
from benchmarks.kernels.peers import Peer, own
from benchmarks.kernels.program import Program
from benchmarks.kernels.programs import PROGRAMS
from benchmarks.kernels.report import duration, mean
from benchmarks.launches.contest import Contestant
from benchmarks.table import QUIET, laid_out, time_text

__all__ = ["NAME", "Command", "measure", "select"]

NAME: Final = "checks"
TITLE: Final = "check mode: commands from C, by checks"
KERNELS_TITLE: Final = "check mode: kernels, by checks"
OFF: Final = "off"
COMMAND_CHECKS: Final = (OFF, "sync", "memory,sync,strict", "races")
KERNEL_CHECKS: Final = (OFF, "memory", "sync", "init", "races")
COMMAND_GOALS: Final = {"memory,sync,strict": 1.1}
KERNEL_GOALS: Final = {"memory": 3.0, "races": 20.0}
"""Times the usual time, in the mean of the kernels; none is written down for the others."""
HERE: Final = Path(__file__).parent
KERNEL: Final = sources.ROOT / "tests" / "kernels" / "saxpy.spv"
ROUNDS: Final = {"quick": 7, "full": 40}
PACE: Final = {"quick": ("quick", 3, 1.0), "full": ("quick", 7, 4.0)}
"""Of kernels: size, rounds at most, and seconds after which no new round begins. Races take up to 200 times as long."""

Say = Callable[[str], None]
Times = Mapping[str, Found]
"""By the checks."""
Goals = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Command:
    """A loop of calls in `commands.c`."""

    key: str
    title: str
    calls: int


Results = Sequence[tuple[Command | Program, Times]]

COMMANDS: Final = (
    Command("record_copy", "lists of 1,000 copies of 64 bytes: append, close, reset", 20_000),
    Command("record_launch", "lists of 1,000 launches: append, close, reset", 20_000),
    Command("execute_copy", "lists of 1,000 copies: append, execute, wait, reset", 20_000),
    Command("short_lists", "lists of 5 copies and 5 launches: append, execute, wait, reset", 10_000),
    Command("queued_copy", "immediate: 1,000 copies queued, wait", 20_000),
    Command("queued_launch", "immediate: 1,000 launches queued, wait", 10_000),
    Command("copy_wait", "immediate: copy, wait", 10_000),
    Command("event_round_trip", "immediate: barrier that signals an event, wait, reset", 10_000),
)


def select(text: str) -> tuple[Command | Program, ...]:
    """The commands and programs that hold `text`."""
    return tuple(each for each in (*COMMANDS, *PROGRAMS) if text.lower() in f"{NAME} {each.key} {each.title}".lower())


def ratio(times: Times, checks: str) -> float | None:
    """Its best time with the checks divided by the best without: other load makes single rounds longer, never shorter.

    >>> ratio({"off": Found(samples=[2.0, 4.0]), "sync": Found(samples=[9.0, 3.0])}, "sync")
    1.5
    """
    usual, checked = (times.get(name, Found()).best for name in (OFF, checks))
    return checked / usual if usual and checked else None


def _program() -> list[str]:
    loader = sources.LIBRARY.with_name("libze_loader.so.1")
    if not loader.exists():
        raise sources.Failed(f"{loader.name} is not built; run `make build` first")
    header = sources.ROOT / "engine" / "abi" / "gen"
    program = sources.BUILD / "checks-commands"
    sources.BUILD.mkdir(parents=True, exist_ok=True)
    flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-D_GNU_SOURCE", f"-I{header}"]
    link = [str(loader), f"-Wl,-rpath,{loader.parent}"]
    sources.call([os.environ.get("CC", "cc"), *flags, str(HERE / "commands.c"), *link, "-o", str(program)])
    return [str(program), str(KERNEL)]


def _commands(chosen: Sequence[Command], rounds: int, say: Say) -> list[tuple[Command, dict[str, Found]]]:
    command = _program()
    processes: dict[str, Contestant] = {}
    results = []
    try:
        for checks in COMMAND_CHECKS:
            variables = {"ANYZERO_PYTHON": sys.executable, "ANYZERO_CHECK": checks}
            processes[checks] = Contestant(f"{NAME}-{checks}", command, variables)
        for item in chosen:
            times = {checks: Found() for checks in COMMAND_CHECKS}
            shuffle, others = random.Random(item.key), machine.Others(processes.values())
            for _ in range(rounds):
                for checks in shuffle.sample(COMMAND_CHECKS, len(COMMAND_CHECKS)):
                    times[checks].samples.append(processes[checks].turn(item.key, item.calls))
            for each in times.values():
                each.others = others.cores()
            results.append((item, times))
            say(f"{NAME}: {item.title}: {_ratios_text(times, COMMAND_CHECKS)}")
    finally:
        for process in processes.values():
            process.close()
    return results


def _kernels(
    chosen: Sequence[Program], pace: tuple[str, int, float], say: Say
) -> list[tuple[Program, dict[str, Found]]]:
    peers = [Peer(checks, "anyzero", own, variables={"ANYZERO_CHECK": checks}) for checks in KERNEL_CHECKS]
    skipped: dict[str, str] = {}
    contestants, _ = contest.enter(peers, False, skipped)
    if skipped:
        raise sources.Failed("; ".join(skipped.values()))
    results = []
    try:
        for program in chosen:
            results.append((program, dict(contest.compete(contestants, program, *pace))))
            say(f"{NAME}: {program.title}: {_ratios_text(results[-1][1], KERNEL_CHECKS)}")
    finally:
        for contestant in contestants:
            contestant.close()
    return results


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _ratios_text(times: Times, checks: Sequence[str]) -> str:
    return ", ".join(f"{name} {_shown(ratio(times, name))}" for name in checks[1:])


def _head(checks: str, goals: Goals) -> str:
    goal = goals.get(checks)
    return f"÷ {checks}" + (f" (goal {goal:g})" if goal else "")


def as_text(title: str, results: Results, checks: Sequence[str], goals: Goals, shown: Callable[[float], str]) -> str:
    """The table that a person reads, with the geometric mean of each column."""
    rows = [[title, OFF, *(_head(name, goals) for name in checks[1:])]]
    for item, times in results:
        usual = times.get(OFF, Found()).best
        ratios = [_shown(ratio(times, name)) for name in checks[1:]]
        rows.append([item.title, "failed" if usual is None else shown(usual), *ratios])
    means = []
    for name in checks[1:]:
        values = [each for _, times in results if (each := ratio(times, name)) is not None]
        means.append(_shown(mean(values) if values else None))
    rows.append(["geometric mean", "", *means])
    notes = []
    if any(each.others > QUIET for _, times in results for each in times.values()):
        notes.append(f"others used more than {QUIET:g} cores meanwhile; best times suffer least from that")
    return "\n".join([*laid_out(rows), "", *notes]) + "\n"


def _json(title: str, results: Results, goals: Goals) -> list[dict[str, Any]]:
    return [
        {
            "key": f"{NAME}_{item.key}",
            "group": title,
            "title": item.title,
            "ratio": {name: ratio(times, name) for name in times if name != OFF},
            "at_most": dict(goals),
            "found": {name: {"best": each.best, "samples": each.samples} for name, each in times.items()},
        }
        for item, times in results
    ]


def measure(text: str, quick: bool, say: Say, problems: list[str]) -> list[dict[str, Any]]:
    """Measure what `text` selects and print the tables; what came before a failure stays."""
    chosen, pace = select(text), "quick" if quick else "full"
    made: list[dict[str, Any]] = []
    say(f"{NAME}: preparing")
    try:
        if commands := [each for each in chosen if isinstance(each, Command)]:
            found = _commands(commands, ROUNDS[pace], say)
            print("\n" + as_text(TITLE, found, COMMAND_CHECKS, COMMAND_GOALS, time_text), end="")
            made += _json(TITLE, found, COMMAND_GOALS)
        if programs := [each for each in chosen if isinstance(each, Program)]:
            ran = _kernels(programs, PACE[pace], say)
            print("\n" + as_text(KERNELS_TITLE, ran, KERNEL_CHECKS, KERNEL_GOALS, duration), end="")
            made += _json(KERNELS_TITLE, ran, KERNEL_GOALS)
    except sources.Failed as error:
        problems.append(f"{NAME}: {error}")
    return made
