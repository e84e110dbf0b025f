"""Tests in another process, because the driver reads its variables once, when it starts.

All tests with the same variables share a process. It writes one line of JSON for each report of pytest, and the first
process hands the reports on as its own.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import pytest

from anyzero.testing.settings import REPORTS

__all__ = ["Processes", "Writer"]

_SHOWN: Final = 4000
"""Number of characters shown of the output of a process that died."""


class Processes:
    """The reports of tests that ran in other processes."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._reports: dict[str, list[Any]] = {}

    def reports(self, item: pytest.Item, variables: dict[str, str], others: list[pytest.Item]) -> list[Any]:
        """The reports of one test; `others` need the same variables and run with it."""
        if item.nodeid not in self._reports:
            # A worker of pytest-xdist knows all tests and is given some of them, one after another.
            together = [] if hasattr(self._config, "workerinput") else others
            known = self._reports.keys()
            died = self._run(
                [item, *(each for each in together if each.nodeid not in known and each != item)], variables
            )
            self._reports.setdefault(item.nodeid, [])
            if died and not any(report.when == "teardown" for report in self._reports[item.nodeid]):
                self._reports[item.nodeid].append(_failed(item, died))
        return self._reports[item.nodeid]

    def _run(self, items: list[pytest.Item], variables: dict[str, str]) -> str:
        """Run tests and keep their reports; returns a message if the process did not report them all."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "reports")
            file.touch()
            done = subprocess.run(
                self._command(items),
                cwd=self._config.invocation_params.dir,
                env={**os.environ, **variables, REPORTS: str(file)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            )
            for line in file.read_text().splitlines():
                data = json.loads(line)
                report = self._config.hook.pytest_report_from_serializable(config=self._config, data=data)
                self._reports.setdefault(report.nodeid, []).append(report)
        how = f"status {done.returncode}" if done.returncode >= 0 else signal.Signals(-done.returncode).name
        settings = " ".join(f"{name}={value}" for name, value in variables.items())
        return f"the process with {settings} ended with {how}:\n{done.stdout[-_SHOWN:]}"

    def _command(self, items: list[pytest.Item]) -> list[str]:
        config = self._config
        options = ["--quiet", "--rootdir", str(config.rootpath), "-o", "addopts=", "-p", "no:cacheprovider"]
        options += ["--import-mode", str(config.getoption("importmode"))]
        if config.inipath is not None:
            options += ["-c", str(config.inipath)]
        for plugin in config.getoption("plugins"):
            options += ["-p", plugin]
        names = [f"{item.path}::{item.nodeid.partition('::')[2]}" for item in items]
        return [sys.executable, "-m", "pytest", *options, *names]


class Writer:
    """Writes the reports, in the other process."""

    def __init__(self, config: pytest.Config, path: str) -> None:
        self._config = config
        self._path = Path(path)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        # Written at once, so that a process that dies has reported the tests before.
        with self._path.open("a") as file:
            file.write(json.dumps(data) + "\n")


def _failed(item: pytest.Item, reason: str) -> pytest.TestReport:
    return pytest.TestReport(
        nodeid=item.nodeid,
        location=item.location,
        keywords=dict.fromkeys(item.keywords, 1),
        outcome="failed",
        longrepr=reason,
        when="call",
    )
