"""From what the peers did to tables and JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log
from statistics import median
from typing import Any, Final

from benchmarks.kernels.contest import Found
from benchmarks.kernels.peers import PEERS
from benchmarks.kernels.programs import Program

__all__ = ["OURS", "as_json", "as_text", "duration", "laid_out", "mean"]

OURS: Final = "anyzero"
RIVALS: Final = tuple(peer.name for peer in PEERS if peer.opencl)
BEST: Final = "best OpenCL"

Results = Sequence[tuple[Program, Mapping[str, Found]]]


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


def _times(found: Mapping[str, Found]) -> dict[str, float]:
    """The best time of everybody who has one; the best of the OpenCL implementations, too."""
    times = {name: each.best for name, each in found.items() if each.best is not None}
    rivals = [times[name] for name in RIVALS if name in times]
    return times | ({BEST: min(rivals)} if rivals else {})


def _ratios(found: Mapping[str, Found]) -> dict[str, float]:
    """Our time divided by each peer's: below 1 we are faster."""
    times = _times(found)
    if OURS not in times:
        return {}
    return {name: times[OURS] / other for name, other in times.items() if name != OURS}


def mean(values: Sequence[float]) -> float:
    return exp(sum(map(log, values)) / len(values))


def _cell(found: Found | None) -> str:
    if found is None or found.missing:
        return "–"
    return "failed" if found.best is None else duration(found.best)


def laid_out(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for number, row in enumerate(rows):
        padded = [text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join([row[0].ljust(widths[0]), *padded]).rstrip())
        if number == 0:
            lines.append("─" * (sum(widths) + 2 * len(widths) - 2))
    return lines


def as_text(results: Results, peers: Sequence[str], notes: Sequence[str]) -> str:
    """Two tables: best times, and ours divided by the others'."""
    times = [["best time", *peers]]
    times += [[program.title, *(_cell(found.get(peer)) for peer in peers)] for program, found in results]
    text = laid_out(times)
    all_ratios = [(program.title, _ratios(found)) for program, found in results]
    if any(ratios for _, ratios in all_ratios):
        columns = [BEST, *(peer for peer in peers if peer != OURS)]
        rows = [[f"{OURS} ÷", *columns]]
        for title, ratios in all_ratios:
            rows.append([title, *(f"{ratios[name]:.2f}" if name in ratios else "–" for name in columns)])
        means = []
        for name in columns:
            values = [ratios[name] for _, ratios in all_ratios if name in ratios]
            means.append(f"{mean(values):.2f}" if values else "–")
        text += ["", *laid_out([*rows, ["geometric mean", *means]])]
    return "\n".join([*text, "", *notes]) + "\n"


def as_json(results: Results, about: Mapping[str, Any]) -> dict[str, Any]:
    """Everything, for a program to read: times in nanoseconds, every sample included."""
    return {
        **about,
        "programs": [
            {
                "key": program.key,
                "title": program.title,
                "ours_divided_by": _ratios(found),
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
