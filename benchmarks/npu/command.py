"""The third table of `python -m benchmarks`: measures it, prints it, returns it for the JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from benchmarks import sources
from benchmarks.npu import contest, report
from benchmarks.npu.items import Beginning, Inference, select
from benchmarks.table import QUIET, time_text

__all__ = ["NAME", "measure", "select"]

NAME: Final = "npu"

Say = Callable[[str], None]


def _told(say: Say, titles: Mapping[str, str]) -> Callable[[Mapping[str, Any]], None]:
    def tell(record: Mapping[str, Any]) -> None:
        device = f" on {record['device']}" if "device" in record else ""
        say(f"{NAME}: {titles[record['item']]}{device}: {time_text(record['best'])}")

    return tell


def measure(text: str, quick: bool, say: Say, problems: list[str]) -> list[dict[str, Any]]:
    """Measure what `text` selects and print the table; what came before a failure stays."""
    items = select(text)
    inferences = [item for item in items if isinstance(item, Inference)]
    beginnings = [item for item in items if isinstance(item, Beginning)]
    if reason := contest.unavailable():
        say(f"SKIPPED {NAME}: {reason}")
        return []
    say(f"{NAME}: preparing")
    pace = contest.QUICK if quick else contest.FULL
    tell = _told(say, {item.key: item.title for item in items})
    rows: list[report.Row] = []
    try:
        if inferences:
            rows += report.inference_rows(inferences, contest.inferences(inferences, pace, tell))
        if beginnings:
            rows += report.beginning_rows(beginnings, contest.beginnings(beginnings, pace, tell))
    except sources.Failed as error:
        problems.append(f"{NAME}: {error}")
    if rows:
        notes = []
        if any(row.disturbed for row in rows):
            notes.append(f"? others used more than {QUIET:g} cores meanwhile; run again on a quiet machine")
        print("\n" + report.as_text(rows, notes), end="")
    return report.as_json(rows)
