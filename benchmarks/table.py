"""From records to rows, and from rows to a table or JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.items import Item
from benchmarks.paired import quotient

__all__ = ["Row", "as_json", "as_text", "grouped", "laid_out", "rows", "time_text"]

Records = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Source → key → record."""

FIRST = "C"
"""The source that targets and ratios speak of."""

QUIET = 0.1
"""Cores that others may use before a comparison means nothing; `submission.cpp` measures again above it."""


def time_text(ns: float) -> str:
    """A time with three digits and a unit.

    >>> time_text(3.25), time_text(1234), time_text(56_700_000)
    ('3.2 ns', '1.23 µs', '56.7 ms')
    """
    for unit, size in (("ns", 1.0), ("µs", 1e3), ("ms", 1e6)):
        value = ns / size
        if value < 999.5 or unit == "ms":
            digits = 0 if value >= 99.95 else 1 if value >= 9.995 or unit == "ns" else 2
            return f"{value:.{digits}f} {unit}"
    raise AssertionError


def _padded(lines: Sequence[Sequence[str]]) -> tuple[list[str], str]:
    """Each line with its cells in columns, and a rule as long as the longest; a line of one cell is a title."""
    columns = zip(*(cells for cells in lines if len(cells) > 1), strict=True)
    first, *rest = [max(map(len, column)) for column in columns]
    padded = [
        "  ".join([cells[0].ljust(first), *(text.rjust(width) for text, width in zip(cells[1:], rest, strict=False))])
        for cells in lines
    ]
    return [line.rstrip() for line in padded], "─" * (first + sum(rest) + 2 * len(rest))


def laid_out(lines: Sequence[Sequence[str]]) -> list[str]:
    """Cells in columns, with a rule below the first line."""
    (head, *body), rule = _padded(lines)
    return [head, rule, *body]


def grouped(lines: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
    """Cells in columns. Lines that do not begin indented are heads, with a rule below them, or a title alone."""
    body: list[str] = []
    padded, rule = _padded(lines)
    for cells, line in zip(lines, padded, strict=True):
        heading = not cells[0].startswith(" ")
        if heading and body and body[-1] != rule:
            body.append("")
        body.append(line)
        if heading and len(cells) > 1:
            body.append(rule)
    return "\n".join([*body, "", *notes]) + "\n"


@dataclass(frozen=True, slots=True)
class Row:
    """One item with what each source found."""

    item: Item
    found: Mapping[str, Mapping[str, Any]]
    ratio: float | None
    disturbed: bool
    """Others were so busy meanwhile that neither ratio nor verdict can be trusted."""
    met: bool | None
    """Whether the target is reached; None without a target, without a number or when disturbed."""


def _share(record: Mapping[str, Any], parts: int) -> dict[str, Any]:
    return {
        "best": record["best"] / parts,
        "median": record["median"] / parts,
        "operations": record["operations"] * parts,
        "samples": [sample / parts for sample in record["samples"]],
    }


def rows(items: Sequence[Item], records: Records) -> list[Row]:
    """One row for each item, whatever was measured of it."""
    made = []
    for item in items:
        found: dict[str, Mapping[str, Any]] = {}
        for source, by_key in records.items():
            record = by_key.get(item.part_of or item.key)
            if record is not None and "error" in record:
                found[source] = record
            elif record is not None:
                found[source] = _share(record, item.parts) if item.part_of else record
        ours = found.get(FIRST, {})
        yardstick = records.get(FIRST, {}).get(item.against or "", {})
        ratio = quotient(yardstick.get("samples", ()), ours.get("samples", ()))
        disturbed = (ratio is not None or item.crowded) and ours.get("others", 0.0) > QUIET
        met = None
        if item.at_most is not None and "best" in ours:
            met = ours["best"] <= item.at_most
        elif item.at_least is not None and ratio is not None and not disturbed:
            met = ratio >= item.at_least
        made.append(Row(item, found, ratio, disturbed, met))
    return made


def _cell(row: Row, source: str) -> str:
    record = row.found.get(source)
    if record is None:
        return "–"
    if "error" in record:
        return "failed"
    if row.item.bandwidth:
        best, median = (record["bytes"] / record[name] for name in ("best", "median"))
        return f"{best:.1f} GB/s ({median:.1f})"
    return f"{time_text(record['best'])} ({time_text(record['median'])})"


def _target(row: Row) -> str:
    item = row.item
    if item.at_most is not None:
        text = f"≤ {item.at_most:g} ns" if item.at_most < 1000 else f"≤ {item.at_most / 1000:g} µs"
    elif item.at_least is not None:
        text = f"ratio ≥ {item.at_least}"
    else:
        return ""
    return text if row.met is None else f"{text} {'✓' if row.met else '✗'}"


def _ratio(row: Row) -> str:
    text = "" if row.ratio is None else f"{row.ratio:.2f}"
    return f"{text}?" if row.disturbed else text


def as_text(made: Sequence[Row], sources: Sequence[str], notes: Sequence[str]) -> str:
    """The table that a person reads."""
    lines = [["", *(f"{source}: best (median)" for source in sources), "target", "ratio"]]
    group = ""
    for row in made:
        if row.item.group != group:
            group = row.item.group
            lines.append([group])
        lines.append([f"  {row.item.title}", *(_cell(row, source) for source in sources), _target(row), _ratio(row)])
    return grouped(lines, notes)


def as_json(made: Sequence[Row], machine: Mapping[str, Any]) -> dict[str, Any]:
    """Everything, for a program to read: times in nanoseconds, every round's sample included."""
    return {
        "machine": dict(machine),
        "items": [
            {
                "key": row.item.key,
                "group": row.item.group,
                "title": row.item.title,
                "at_most_ns": row.item.at_most,
                "against": row.item.against,
                "at_least_ratio": row.item.at_least,
                "ratio": row.ratio,
                "disturbed": row.disturbed,
                "met": row.met,
                "found": {source: dict(record) for source, record in row.found.items()},
            }
            for row in made
        ],
    }
