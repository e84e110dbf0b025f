"""From the contestants' records to a table and to JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.launches.contest import DRIVER, LOADER, OTHERS, Launch
from benchmarks.paired import quotient
from benchmarks.table import QUIET, grouped, time_text

__all__ = ["as_json", "as_text", "disturbed"]

Records = Mapping[str, Mapping[str, Any]]
"""Contestant → record."""
Found = Sequence[tuple[Launch, Records]]

ROWS = ((LOADER, ""), (DRIVER, " (without the loader)"))


def _ratio(records: Records, ours: str, theirs: str) -> float | None:
    """Ours divided by theirs, round by round."""
    own, other = (records.get(name, {}).get("samples", ()) for name in (ours, theirs))
    return quotient(own, other)


def disturbed(records: Records) -> bool:
    """Others were so busy meanwhile that the comparison cannot be trusted."""
    return any(record["others"] > QUIET for record in records.values())


def _cell(record: Mapping[str, Any] | None) -> str:
    return f"{time_text(record['best'])} ({time_text(record['median'])})" if record else "–"


def _times(ratio: float | None, doubtful: bool) -> str:
    if ratio is None:
        return "–"
    return f"{ratio:.3f}" + ("?" if doubtful else "")


def _lines(found: Found) -> Iterator[list[str]]:
    for item, records in found:
        doubtful = disturbed(records)
        for ours, suffix in ROWS:
            if ours in records:
                yield [
                    f"  {item.title if not suffix else '  … without the loader'}",
                    _cell(records[ours]),
                    *(_cell(records.get(name)) for name in OTHERS),
                    *(_times(_ratio(records, ours, name), doubtful) for name in OTHERS),
                ]


def as_text(found: Found, notes: Sequence[str]) -> str:
    """The table that a person reads."""
    heads = ["", "C: best (median)", *OTHERS, *(f"÷ {name}" for name in OTHERS)]
    return grouped([heads, [found[0][0].group], *_lines(found)], notes)


def as_json(found: Found) -> list[dict[str, Any]]:
    """One object for each row, as the other items have them, and `ratios`: ours divided by theirs."""
    return [
        {
            "key": f"{item.key}{'_driver' if suffix else ''}",
            "group": item.group,
            "title": f"{item.title}{suffix}",
            "at_most_ns": None,
            "against": None,
            "at_least_ratio": None,
            "ratio": None,
            "ratios": {name: _ratio(records, ours, name) for name in OTHERS if name in records},
            "disturbed": disturbed(records),
            "met": None,
            "found": {"C": records[ours], **{name: records[name] for name in OTHERS if name in records}},
        }
        for item, records in found
        for ours, suffix in ROWS
        if ours in records
    ]
