"""What every test runs under."""

from __future__ import annotations

import fcntl
import gc
import os
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import settings

ONE_BY_ONE = "tests/compiler/agreement/"
"""Many short tests that share nothing."""
TOGETHER = ("tests/clients/", "tests/cluster/", "tests/compiler/builtins/", "tests/shape/")
"""Tests of such a folder fetch, start, compile or read the same things."""

# Most processes of the tests import numpy, whose library of linear algebra would start a thread for each processor.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# The same examples on every machine, and no verdict by the clock: a shared machine may stall in any of them.
settings.register_profile("anyzero", derandomize=True, deadline=None)
settings.load_profile("anyzero")


def share(test: str) -> str:
    """Where several processes share the tests, a file stays with one of them, so that its fixtures are made once."""
    if test.startswith(ONE_BY_ONE):
        return test
    return next((folder for folder in TOGETHER if test.startswith(folder)), test.split("::", 1)[0])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Shares with many tests come first, so that the tests without a share fill the processes at the end.

    Not by the marker `xdist_group`, which pytest 9.2 and pytest-xdist 3.8 together ignore without a word.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByShare(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return share(nodeid)

    return ByShare(config, log)


CHECKED_FROM_OUTSIDE = os.environ.get("ANYZERO_CHECK", "off") not in ("", "off", "0")
CHECKS_ARE_ON = "the test switches checks on itself, and ANYZERO_CHECK has done so for the whole run"


def _skipping_if_checks_are_on() -> Generator[None, object, object]:
    """Check mode cannot be on twice: `az.check` refuses that, which is no failure of the test."""
    if not CHECKED_FROM_OUTSIDE:
        return (yield)
    from anyzero import errors

    try:
        return (yield)
    except errors.Unavailable as error:
        if "checks are on already" not in str(error):
            raise
        pytest.skip(CHECKS_ARE_ON)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, object, object]:
    return (yield from _skipping_if_checks_are_on())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    return (yield from _skipping_if_checks_are_on())


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Names what was left out: such a run is no substitute for one without the variable."""
    skipped = [each for each in terminalreporter.stats.get("skipped", []) if CHECKS_ARE_ON in str(each.longrepr)]
    if skipped:
        terminalreporter.write_line(
            f"ANYZERO_CHECK is set: {len(skipped)} tests of check mode did not run; run them without it.", yellow=True
        )


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Python's collector leaves out what collection has made, here and in forked children.

    It lives to the end, and searching it again and again took an eighth of the time of tests that run in this process.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A module is imported by one process at a time.

    The first one rewrites its assertions, which takes longer than all the rest, and the others read the result.
    """
    if not isinstance(collector, pytest.Module):
        return (yield)
    with collector.path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        return (yield)
