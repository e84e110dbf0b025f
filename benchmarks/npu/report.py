"""From records to a table and to JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.npu.items import Beginning, Inference
from benchmarks.paired import quotient
from benchmarks.table import QUIET, grouped, time_text

__all__ = ["Row", "as_json", "as_text", "beginning_rows", "inference_rows"]

Record = Mapping[str, Any]
COPIED: Final = 0.2
"""The share of the weights from which on they count as copied, in memory beyond what the CPU device takes by itself."""


@dataclass(frozen=True, slots=True)
class Row:
    """One item with what was found, and the verdict."""

    item: Inference | Beginning
    found: Mapping[str, Record]
    ratio: float | None
    """How many times as fast as what it is compared with."""
    shown: str
    target: str
    met: bool | None
    disturbed: bool = False


def inference_rows(items: Sequence[Inference], records: Mapping[str, Mapping[str, Record]]) -> list[Row]:
    made = []
    for item in items:
        found = records.get(item.key, {})
        if not {"NPU", "CPU"} <= found.keys():
            made.append(Row(item, found, None, "failed", "", None))
            continue
        ours, theirs = found["NPU"]["median"], found["CPU"]["median"]
        ratio, more = theirs / ours, ours - theirs
        disturbed = found["NPU"]["others"] > QUIET
        if item.overhead is not None:
            shown, target = f"+{time_text(max(0.0, more))}", f"≤ +{time_text(item.overhead)}"
            met = more <= item.overhead
        else:
            assert item.at_least is not None
            shown, target, met = f"{ratio:.2f}", f"≥ {item.at_least}", ratio >= item.at_least
        made.append(Row(item, found, ratio, shown, target, None if disturbed else met, disturbed))
    return made


def beginning_rows(items: Sequence[Beginning], records: Mapping[str, Record]) -> list[Row]:
    first, bare = records.get("npu_feil"), records.get("npu_first_cpu")
    made = []
    for item in items:
        record = records.get(item.key)
        if record is None:
            made.append(Row(item, {}, None, "failed", "", None))
            continue
        ratio = quotient(first["samples"], record["samples"]) if first else None
        met = None if item.at_least is None or ratio is None else ratio >= item.at_least
        if item.weightless and met and bare:
            met = record["anonymous_after"] - bare["anonymous_after"] < COPIED * record["weights"]
        target = "" if item.at_least is None else f"≥ {item.at_least:g}" + (", no copy" if item.weightless else "")
        made.append(Row(item, {"NPU": record}, ratio, "" if ratio is None else f"{ratio:.1f}", target, met))
    return made


def _time(record: Record | None) -> str:
    return f"{time_text(record['best'])} ({time_text(record['median'])})" if record else "–"


def _memory(record: Record) -> str:
    return f"+{record['anonymous'] / 2**20:.0f}, +{record['anonymous_after'] / 2**20:.0f} MB"


def _cells(row: Row) -> list[str]:
    second = _memory(row.found["NPU"]) if isinstance(row.item, Beginning) and row.found else _time(row.found.get("CPU"))
    verdict = row.target if row.met is None else f"{row.target} {'✓' if row.met else '✗'}"
    return [f"  {row.item.title}", _time(row.found.get("NPU")), second, row.shown + "?" * row.disturbed, verdict]


def _heads(item: Inference | Beginning) -> list[str]:
    if isinstance(item, Beginning):
        return [item.group, "best (median)", "memory: compiled, inferred", "FEIL ÷", "target"]
    return [item.group, "NPU: best (median)", "CPU device", "÷", "target"]


def as_text(rows: Sequence[Row], notes: Sequence[str]) -> str:
    """The table that a person reads."""
    lines: list[list[str]] = []
    group = ""
    for row in rows:
        if row.item.group != group:
            group = row.item.group
            lines.append(_heads(row.item))
        lines.append(_cells(row))
    return grouped(lines, notes)


def as_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """One object for each row, as the other items have them."""
    return [
        {
            "key": row.item.key,
            "group": row.item.group,
            "title": row.item.title,
            "at_most_ns": row.item.overhead if isinstance(row.item, Inference) else None,
            "against": "CPU device" if isinstance(row.item, Inference) else "npu_feil",
            "at_least_ratio": row.item.at_least,
            "ratio": row.ratio,
            "disturbed": row.disturbed,
            "met": row.met,
            "found": {name: dict(record) for name, record in row.found.items()},
        }
        for row in rows
    ]
