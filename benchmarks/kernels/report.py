"""From what the peers did to tables and JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import exp, log
from statistics import median
from typing import Any, Final

from benchmarks.kernels.contest import Found, Results
from benchmarks.kernels.goals import AT_MOST, MEAN, MEAN_TO_NATIVE, TO_NATIVE, mark, to_opencl
from benchmarks.kernels.peers import PEERS
from benchmarks.kernels.program import LAUNCH
from benchmarks.table import QUIET, laid_out

__all__ = [
    "BEST",
    "BUILDS",
    "NATIVE",
    "OURS",
    "RIVALS",
    "apart",
    "as_json",
    "as_text",
    "disturbed",
    "duration",
    "geometric_mean",
    "mean",
    "ratios",
]

OURS: Final = "anyzero"
RIVALS: Final = tuple(peer.name for peer in PEERS if peer.opencl)
BEST: Final = "best OpenCL"
NATIVE: Final = "best C++"
BUILDS: Final = tuple(peer.name for peer in PEERS if peer.kind.startswith("native"))
JUDGED: Final[Mapping[str, Callable[[str], float | None]]] = {BEST: to_opencl, NATIVE: TO_NATIVE.get}
"""The columns with goals, each by a program's key."""


def duration(ns: float) -> str:
    """Three digits and a unit.

    >>> duration(0.5), duration(2345), duration(12_345_678), duration(1_759_000_000)
    ('0.50 ns', '2.35 µs', '12.3 ms', '1.76 s')
    """
    for unit, size in (("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)):
        value = ns / size
        if value < 999.5 or unit == "s":
            return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f} {unit}"
    raise AssertionError


def ratios(found: Mapping[str, Found]) -> dict[str, float]:
    """Our time divided by each peer's, round by round: below 1 we are faster.

    The best of several is the one that comes closest to us.
    """
    ours = found.get(OURS, Found())
    others = {name: ours.against(each) for name, each in found.items() if name != OURS}
    values = {name: value for name, value in others.items() if value is not None}
    for title, names in ((BEST, RIVALS), (NATIVE, BUILDS)):
        if known := [values[name] for name in names if name in values]:
            values[title] = max(known)
    return values


def mean(values: Sequence[float]) -> float:
    return exp(sum(map(log, values)) / len(values))


def _cell(found: Found | None) -> str:
    if found is None or found.missing:
        return "–"
    return "failed" if found.best is None else duration(found.best)


def disturbed(found: Mapping[str, Found]) -> bool:
    """Others were so busy meanwhile that there is no verdict."""
    return any(each.others > QUIET for each in found.values())


def as_text(results: Results, peers: Sequence[str], notes: Sequence[str]) -> str:
    """Two tables: best times, and ours divided by the others', round by round."""
    times = [["best time", *peers]]
    times += [[program.title, *(_cell(found.get(peer)) for peer in peers)] for program, found in results]
    text = laid_out(times)
    if any(ratios(found) for _, found in results):
        text += ["", *laid_out(_compared(results, peers))]
    text += ["", *own_goals(results), *notes]
    return "\n".join(text) + "\n"


def _compared(results: Results, peers: Sequence[str]) -> list[list[str]]:
    columns = [BEST, *([NATIVE] if set(peers) & set(BUILDS) else []), *(peer for peer in peers if peer != OURS)]
    heads = [each for name in columns for each in ((name, "goal") if name in JUDGED else (name,))]
    rows = [[f"{OURS} ÷", *heads]]
    for program, found in results:
        values, row = ratios(found), [program.title]
        for name in columns:
            row.append(f"{values[name]:.2f}" if name in values else "–")
            if name in JUDGED:
                row.append(mark(values.get(name), JUDGED[name](program.key), disturbed(found)))
        rows.append(row)
    row, doubtful = ["geometric mean"], any(disturbed(found) for _, found in results)
    for name in columns:
        value = geometric_mean(results, name)
        row.append("–" if value is None else f"{value:.2f}")
        if name in JUDGED:
            row.append(mark(value, MEAN if name == BEST else MEAN_TO_NATIVE, doubtful))
    return [*rows, row]


def geometric_mean(results: Results, name: str) -> float | None:
    """Of our time divided by theirs, over what kernels do; launching them is another matter."""
    found = [ratios(found).get(name) for program, found in results if program.limit != LAUNCH]
    values = [each for each in found if each is not None]
    return mean(values) if values else None


def apart(runs: Sequence[Results]) -> list[str]:
    """A note on how well several runs agree."""
    means = [value for run in runs if (value := geometric_mean(run, BEST)) is not None]
    if len(means) < 2:
        return []
    shown = ", ".join(f"{value:.3f}" for value in means)
    return [f"geometric mean against the {BEST}, run by run: {shown}; {max(means) / min(means) - 1:.1%} apart"]


def own_goals(results: Results) -> list[str]:
    """A line for every goal that has nothing to do with others."""
    lines = []
    for program, found in results:
        goal, best = AT_MOST.get(program.key), found.get(OURS, Found()).best
        if goal is not None and best is not None:
            lines.append(f"{program.title}: {duration(best)}, goal ≤ {duration(goal)} {'✓' if best <= goal else '✗'}")
    return lines


def as_json(results: Results, about: Mapping[str, Any]) -> dict[str, Any]:
    """Everything, for a program to read: times in nanoseconds, every sample included."""
    return {
        **about,
        "geometric_mean": {name: geometric_mean(results, name) for name in (BEST, NATIVE)},
        "programs": [
            {
                "key": program.key,
                "title": program.title,
                "limit": program.limit,
                "goals": {name: goal(program.key) for name, goal in JUDGED.items()},
                "ours_divided_by": ratios(found),
                "disturbed": disturbed(found),
                "found": {
                    name: {
                        "best": each.best,
                        "median": median(each.samples) if each.samples else None,
                        "samples": each.samples,
                        "first": each.first,
                        "trouble": each.trouble,
                        "missing": each.missing,
                    }
                    for name, each in found.items()
                },
            }
            for program, found in results
        ],
    }
