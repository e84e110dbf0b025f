"""From records to a table and to JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.compile.contest import CACHED, COMPILED, INTEL
from benchmarks.compile.items import Beginning, Compilation, Item
from benchmarks.table import QUIET, grouped, time_text

__all__ = ["Row", "as_json", "as_text", "rows", "suite"]

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """One item with what was found, and the verdicts by way."""

    item: Item
    found: Mapping[str, Record]
    met: Mapping[str, bool]
    disturbed: bool

    @property
    def ratio(self) -> float | None:
        """Our time divided by Intel's."""
        if COMPILED not in self.found or INTEL not in self.found:
            return None
        return float(self.found[COMPILED]["best"] / self.found[INTEL]["best"])


def suite(records: Mapping[str, Mapping[str, Record]]) -> dict[str, Record]:
    """Way → the middle one of the programs: of their bests, and of their medians."""
    made: dict[str, Record] = {}
    for way in (COMPILED, CACHED, INTEL):
        found = [each[way] for each in records.values() if way in each]
        if found:
            best, middle = (median(each[name] for each in found) for name in ("best", "median"))
            others = max(each["others"] for each in found)
            made[way] = {"best": best, "median": middle, "others": others, "samples": [each["best"] for each in found]}
    return made


def _limits(item: Item) -> dict[str, float]:
    if isinstance(item, Beginning):
        limits = {"anyzero": item.at_most}
    else:
        limits = {COMPILED: item.compiled, CACHED: item.cached}
    return {way: limit for way, limit in limits.items() if limit is not None}


def rows(items: Sequence[Item], records: Mapping[str, Mapping[str, Record]]) -> list[Row]:
    made = []
    for item in items:
        found = records.get(item.key, {})
        disturbed = any(record["others"] > QUIET for record in found.values())
        met = {way: found[way]["best"] <= limit for way, limit in _limits(item).items() if way in found}
        made.append(Row(item, found, met, disturbed))
    return made


def _time(record: Record | None) -> str:
    return f"{time_text(record['best'])} ({time_text(record['median'])})" if record else "–"


def _target(row: Row) -> str:
    limits = _limits(row.item)
    marks = {way: "" if way not in row.met else " ✓" if row.met[way] else " ✗" for way in limits}
    return ", ".join(f"≤ {time_text(limit)}{marks[way]}" for way, limit in limits.items())


def _cells(row: Row) -> list[str]:
    mark = "?" * row.disturbed
    if isinstance(row.item, Beginning):
        (record,) = row.found.values() or (None,)
        return [f"  {row.item.title}", _time(record) + mark, "", "", "", _target(row)]
    ratio = "–" if row.ratio is None else f"{row.ratio:.2f}"
    times = [_time(row.found.get(way)) for way in (COMPILED, CACHED, INTEL)]
    return [f"  {row.item.title}", times[0] + mark, *times[1:], ratio, _target(row)]


def _heads(item: Item) -> list[str]:
    if isinstance(item, Compilation):
        return [item.group, "compiled: best (median)", "from the disk cache", "Intel", "÷", "target"]
    return [item.group, "best (median)", "", "", "", "target"]


def as_text(made: Sequence[Row], notes: Sequence[str]) -> str:
    """The table that a person reads."""
    lines: list[list[str]] = []
    group = ""
    for row in made:
        if row.item.group != group:
            group = row.item.group
            lines.append(_heads(row.item))
        lines.append(_cells(row))
    return grouped(lines, notes)


def as_json(made: Sequence[Row]) -> list[dict[str, Any]]:
    """One object for each row, as the other items have them."""
    return [
        {
            "key": row.item.key,
            "group": row.item.group,
            "title": row.item.title,
            "at_most_ns": _limits(row.item),
            "against": INTEL,
            "ratio": row.ratio,
            "disturbed": row.disturbed,
            "met": dict(row.met),
            "found": {way: dict(record) for way, record in row.found.items()},
        }
        for row in made
    ]
