"""The record as figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.performance import tables
from benchmarks.performance.chart import Bar, Linear, Log, chart
from benchmarks.performance.record import Record, sets

__all__ = ["figures"]


def _compared(
    part: tables.Part, name: str, peers: Sequence[str], goal: Callable[[str], float | None], title: str
) -> str:
    bars = []
    for program in tables.kernels(part):
        if (value := program["ratios"].get(name)) is not None:
            mark = goal(program["key"])
            who = tables.closest(program, peers) or ""
            bars.append(Bar(program["title"], value, who, None if mark == 1 else mark))
    marks = [bar.mark for bar in bars if bar.mark is not None]
    axis = Log((*(bar.value for bar in bars), *marks, 1.0))
    return chart(
        title,
        "left of 1 anyzero is faster; short lines are goals; behind each number: who it is compared with",
        bars,
        axis,
    )


def figures(record: Record) -> dict[str, str]:
    """Their text by the name of the file."""
    made = {}
    for label, part in sets(record):
        for file, name, peers, goal, whose in tables.COMPARED:
            if tables.average(part, name) is not None:
                title = f"{label}: anyzero's time divided by that of {whose}"
                made[tables.file_of(file, label)] = _compared(part, name, peers, goal, title)
    for each in record.get("scale", []):
        most = str(each["threads"])
        bars = [
            Bar(program["title"], gain, mark=program["gain_native"])
            for program in each["programs"]
            if (gain := program["gain"][most])
        ]
        values = [value for bar in bars for value in (bar.value, bar.mark) if value is not None]
        title = f"How many times as fast with {most} threads as with one"
        subtitle = f"{each['machine']['CPU']}; the long line is the goal, short ones are plain C++ with OpenMP"
        made[f"scale-{most}.svg"] = chart(title, subtitle, bars, Linear(tuple(values), each["at_least"]))
    return made
