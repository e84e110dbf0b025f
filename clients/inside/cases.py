"""The protocol of results for scripts: a sample of cases, each recorded as it begins and ends.

It runs in the client's own environment and imports nothing of this repository. RECORD names the file of results, SAMPLE
the number of cases to keep (0: all).
"""

from __future__ import annotations

import hashlib
import json
import os
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path


class SkipError(Exception):
    """A case that does not apply, and why."""


def run(cases: Mapping[str, Callable[[], None]]) -> None:
    """Run what is in the sample and not done yet."""
    record, sample = Path(os.environ["RECORD"]), int(os.environ.get("SAMPLE", "0"))
    names = sorted(cases)
    if sample:
        names = sorted(sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest())[:sample])
    entries = [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []
    done = {entry["id"] for entry in entries if "outcome" in entry}
    with record.open("a", buffering=1) as file:

        def note(**entry: object) -> None:
            file.write(json.dumps(entry) + "\n")

        note(total=len(names))
        for name in names:
            if name in done:
                continue
            note(begin=name)
            try:
                cases[name]()
            except SkipError as why:
                note(id=name, outcome="skipped", detail=str(why))
            except Exception:
                note(id=name, outcome="failed", detail=traceback.format_exc()[-600:])
            else:
                note(id=name, outcome="passed")
        note(end=True)
