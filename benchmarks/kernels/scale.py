"""How much faster kernels get with more threads: the fourth table of `python -m benchmarks`.

Every number of threads is a process of its own with ANYZERO_THREADS set, and the processes take turns. It needs no
peers; where there is a C++ compiler, plain C++ with OpenMP shows what the machine has to give: two threads of one core
are not two cores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import log2
from typing import Any, Final

from benchmarks.kernels import contest
from benchmarks.kernels.contest import Found, Results
from benchmarks.kernels.peers import PEERS, Peer, own
from benchmarks.kernels.program import COMPUTE, Program
from benchmarks.kernels.programs import PROGRAMS
from benchmarks.kernels.report import disturbed, duration, mean
from benchmarks.table import QUIET, laid_out

__all__ = ["NAME", "as_json", "as_text", "counts", "goal", "measure", "select"]

NAME: Final = "scale"
TITLE: Final = "kernels that compute, with more threads"
NATIVE: Final = "C++"
QUICK: Final = ("quick", 5, 2.0)
PACE: Final = ("full", 11, 6.0)
"""Size of the programs, rounds at most, and seconds after which no new round begins."""
WARM: Final = 4
"""Uncounted runs before each sample: programs that compute much launch one kernel after another. Processors that slept
take a tenth of a millisecond or more to wake up, which is much for a kernel that takes half a millisecond on 16."""

Say = Callable[[str], None]


def select(text: str) -> tuple[Program, ...]:
    """Those that compute, and hold `text`: memory is no faster with more threads than it takes to fill its bus."""
    chosen = (each for each in PROGRAMS if each.limit == COMPUTE)
    return tuple(each for each in chosen if text.lower() in f"{each.key} {each.title} {NAME}".lower())


def goal(threads: int) -> float:
    """How many times as fast as with one thread we want to be.

    >>> goal(2), goal(16)
    (1.8, 12.0)
    """
    return round(threads * (0.95 - 0.05 * log2(threads)), 2)


def counts(threads: int) -> tuple[int, ...]:
    """The numbers of threads that are measured.

    >>> counts(1), counts(2), counts(12)
    ((1,), (1, 2), (1, 2, 4, 8, 12))
    """
    powers = [1 << shift for shift in range(threads.bit_length()) if 1 << shift < threads]
    return (*powers, threads)


def _name(threads: int, who: str = "") -> str:
    return f"{who}{threads} thread{'s' if threads > 1 else ''}"


def _contestants(threads: Sequence[int]) -> list[Peer]:
    ours = [Peer(_name(count), "anyzero", own, variables={"ANYZERO_THREADS": str(count)}) for count in threads]
    native = next(peer for peer in PEERS if peer.name == NATIVE)
    theirs = [
        replace(native, name=_name(count, f"{NATIVE} "), variables={"OMP_NUM_THREADS": str(count)})
        for count in sorted({threads[0], threads[-1]})
    ]
    return [*ours, *theirs]


def gain(found: Mapping[str, Found], threads: int, who: str = "") -> float | None:
    """The time with one thread divided by that with so many, round by round.

    A processor that shares its core with a neighbour is now and then a third faster, alone rather than with all others.
    """
    alone, together = (found.get(_name(count, who), Found()) for count in (1, threads))
    return alone.against(together)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _verdict(found: Mapping[str, Found], threads: int) -> str:
    reached = gain(found, threads)
    text = f"≥ {goal(threads):g}"
    if reached is None:
        return text
    return f"{text} ?" if disturbed(found) else f"{text} {'✓' if reached >= goal(threads) else '✗'}"


def as_text(results: Results, threads: Sequence[int], notes: Sequence[str]) -> str:
    """The table that a person reads."""
    most = threads[-1]
    rows = [
        [TITLE, _name(1), _name(most), *(f"× with {count}" for count in threads[1:]), "goal", f"{NATIVE}: × {most}"]
    ]
    for program, found in results:
        times = [found.get(_name(count), Found()) for count in (1, most)]
        shown = [duration(each.best) if each.best is not None else "failed" for each in times]
        gains = [_number(gain(found, count)) for count in threads[1:]]
        rows.append([program.title, *shown, *gains, _verdict(found, most), _number(gain(found, most, f"{NATIVE} "))])
    means = []
    for count, who in [*((count, "") for count in threads[1:]), (most, f"{NATIVE} ")]:
        values = [each for _, found in results if (each := gain(found, count, who)) is not None]
        means.append(_number(mean(values) if values else None))
    rows.append(["geometric mean", "", "", *means[:-1], "", means[-1]])
    return "\n".join([*laid_out(rows), "", *notes]) + "\n"


def as_json(results: Results, threads: Sequence[int]) -> list[dict[str, Any]]:
    """One object for each row: times in nanoseconds by number of threads."""
    most = threads[-1]
    return [
        {
            "key": f"{NAME}_{program.key}",
            "group": TITLE,
            "title": program.title,
            "threads": most,
            "gain": {str(count): gain(found, count) for count in threads[1:]},
            "gain_native": gain(found, most, f"{NATIVE} "),
            "at_least": goal(most),
            "disturbed": disturbed(found),
            "found": {name: {"best": each.best, "samples": each.samples} for name, each in found.items()},
        }
        for program, found in results
    ]


def measure(text: str, quick: bool, threads: int, say: Say, problems: list[str]) -> list[dict[str, Any]]:
    """Measure what `text` selects and print the table; what came before a failure stays."""
    programs, numbers = select(text), counts(threads)
    if len(numbers) == 1:
        say(f"SKIPPED {NAME}: there is one thread only")
        return []
    say(f"{NAME}: preparing")
    skipped: dict[str, str] = {}
    contestants, names = contest.enter(_contestants(numbers), False, skipped)
    problems += [f"{NAME}: {name}: {why}" for name, why in skipped.items() if not name.startswith(NATIVE)]
    size, rounds, seconds = QUICK if quick else PACE
    results = []
    try:
        for number, program in enumerate(programs, 1):
            found = contest.compete(contestants, program, size, rounds, seconds, WARM)
            results.append((program, found))
            reached = ", ".join(f"× {_number(gain(found, count))} with {count}" for count in numbers[1:])
            say(f"{NAME}: {number}/{len(programs)}  {program.title}: {reached}")
    finally:
        for contestant in contestants:
            contestant.close()
    problems += [
        f"{NAME}: {program.title}: {name}: {each.trouble}"
        for program, found in results
        for name, each in found.items()
        if each.trouble and not name.startswith(NATIVE)
    ]
    notes = [f"{name}: {about}" for name, about in names.items() if name in (_name(1), _name(1, f"{NATIVE} "))]
    notes += [f"SKIPPED {name}: {why}" for name, why in skipped.items()]
    if any(disturbed(found) for _, found in results):
        notes.append(f"? others used more than {QUIET:g} cores meanwhile; run again on a quiet machine")
    print("\n" + as_text(results, numbers, notes), end="")
    return as_json(results, numbers)
