"""The results of one client on one driver: a file with a line for every test that began or ended.

A line is written when a test begins and another when it ends. So the file shows which test was running when a process
died, and an interrupted run resumes after the last test.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["OUTCOMES", "Results", "read", "write"]

OUTCOMES = ("passed", "failed", "crashed", "skipped")


@dataclass(slots=True)
class Results:
    """The results so far. `running` is the test that has started and not ended."""

    outcomes: dict[str, str] = field(default_factory=dict)
    details: dict[str, str] = field(default_factory=dict)
    running: str | None = None
    total: int = 0
    complete: bool = False

    @property
    def counts(self) -> Counter[str]:
        return Counter(self.outcomes.values())

    def __str__(self) -> str:
        said = ", ".join(f"{self.counts[outcome]} {outcome}" for outcome in OUTCOMES if self.counts[outcome])
        return f"{len(self.outcomes)} of {self.total}: {said or 'nothing yet'}"


def read(path: Path) -> Results:
    """The results in that file; none where it is not there."""
    found = Results()
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        return found
    for line in lines:
        try:
            entry = json.loads(line)
        except ValueError:
            continue  # the last line of a process that was killed
        if "outcome" in entry:
            found.outcomes[entry["id"]] = entry["outcome"]
            found.details[entry["id"]] = entry.get("detail", "")
            if entry["id"] == found.running:
                found.running = None
        elif "begin" in entry:
            found.running = entry["begin"]
        found.total = entry.get("total", found.total)
        found.complete = found.complete or bool(entry.get("end"))
    return found


def write(path: Path, **entry: object) -> None:
    with path.open("a") as file:
        file.write(json.dumps(entry) + "\n")
