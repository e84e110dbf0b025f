"""The sixth table of `python -m benchmarks`: measures it, prints it, returns it for the JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, Final

from benchmarks import sources
from benchmarks.compile import contest, report
from benchmarks.compile.items import SUITE, Beginning, Compilation, select
from benchmarks.table import QUIET, time_text

__all__ = ["NAME", "measure", "select"]

NAME: Final = "compile"

Say = Callable[[str], None]


def measure(text: str, quick: bool, install: bool, say: Say, problems: list[str]) -> list[dict[str, Any]]:
    """Measure what `text` selects and print the table; what came before a failure stays."""
    items = select(text)
    compilations = [item for item in items if isinstance(item, Compilation) and item.program]
    beginnings = [item for item in items if isinstance(item, Beginning)]
    pace = contest.QUICK if quick else contest.FULL

    numbers = count(1)

    def tell(title: str, records: Mapping[str, Mapping[str, Any]]) -> None:
        shown = ", ".join(f"{way} {time_text(record['best'])}" for way, record in records.items())
        say(f"{NAME}: {next(numbers):2}/{len(compilations) + len(beginnings)}  {title}: {shown}")

    say(f"{NAME}: preparing")
    running = contest.Contest(install)
    rows: list[report.Row] = []
    try:
        if compilations:
            found = running.compilations(compilations, pace, tell)
            rows += report.rows([*compilations, SUITE], found | {SUITE.key: report.suite(found)})
        if beginnings:
            rows += report.rows(beginnings, running.beginnings(beginnings, pace, tell))
    except sources.Failed as error:
        problems.append(f"{NAME}: {error}")
    notes = [f"SKIPPED {name}: {reason}" for name, reason in running.skipped.items()]
    for line in notes:
        say(line)
    if any(row.disturbed for row in rows):
        notes.append(f"? others used more than {QUIET:g} cores meanwhile; run again on a quiet machine")
    if rows:
        print("\n" + report.as_text(rows, notes), end="")
    return report.as_json(rows)
