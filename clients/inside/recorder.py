"""A pytest plugin for suites of other packages: records each test as it begins and ends, so that a run can be resumed.

It is loaded in the client's own environment and imports nothing of this repository. RECORD names the file of results,
SAMPLE the number of tests to keep (0: all). Which ones is decided by their names alone, so that it is the same on any
machine and for any driver.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

RECORD = Path(os.environ["RECORD"])
SAMPLE = int(os.environ.get("SAMPLE", "0"))


def name_of(item: pytest.Item) -> str:
    """From the package's name on, wherever it is installed."""
    return item.nodeid.rpartition("site-packages/")[2]


def note(**entry: object) -> None:
    with RECORD.open("a") as file:
        file.write(json.dumps(entry) + "\n")


def done() -> set[str]:
    found = (json.loads(line) for line in RECORD.read_text().splitlines()) if RECORD.exists() else ()
    return {entry["id"] for entry in found if "outcome" in entry}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if SAMPLE:
        order = sorted(items, key=lambda item: hashlib.sha256(name_of(item).encode()).digest())
        kept = set(map(id, order[:SAMPLE]))
        items[:] = [item for item in items if id(item) in kept]
    note(total=len(items))
    before = done()
    items[:] = [item for item in items if name_of(item) not in before]


_outcomes: dict[str, tuple[str, str]] = {}


def pytest_runtest_logstart(nodeid: str, location: object) -> None:
    note(begin=nodeid.rpartition("site-packages/")[2])


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    # The worst of set-up, call and tear-down.
    if report.failed or report.skipped or report.nodeid not in _outcomes:
        detail = "" if report.passed else str(report.longrepr)[-600:]
        before = _outcomes.get(report.nodeid)
        if before is None or before[0] != "failed":
            _outcomes[report.nodeid] = (report.outcome, detail)


def pytest_runtest_logfinish(nodeid: str, location: object) -> None:
    outcome, detail = _outcomes.pop(nodeid, ("failed", "no report"))
    note(id=nodeid.rpartition("site-packages/")[2], outcome=outcome, detail=detail)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED):
        note(end=True)
