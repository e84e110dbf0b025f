"""The variables of anyzero that a test asks for by its marks, and those that hold for all tests."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pytest

__all__ = ["FIXTURES", "MARKS", "REPORTS", "hold_for_all", "missing", "take_reports", "uses_anyzero"]

REPORTS: Final = "ANYZERO_TESTING_REPORTS"
"""The variable that names the file of reports, in the processes that write one."""

FIXTURES: Final = frozenset({"az_context", "az_device", "az_devices", "az_topology"})
MARKS: Final = {
    "az_topology(*devices)": "run the test once for each, a value of ANYZERO_DEVICES, in processes of their own",
    "az_kernel(timeout)": "stop kernels of the test that run for more seconds, in a process of its own",
    "az_check(*kinds)": "fail the test if check mode finds mistakes; without kinds: memory, sync and strict",
    "az_strict(on)": "refuse or tolerate what hardware drivers tolerate, in a process of its own",
}


def hold_for_all(config: pytest.Config) -> None:
    """Set the variables that no user has set. The driver reads them when it starts."""
    if config.getini("anyzero_strict"):
        os.environ.setdefault("ANYZERO_STRICT", "1")
    os.environ.setdefault("ANYZERO_KERNEL_TIMEOUT", str(config.getini("anyzero_kernel_timeout")))


def take_reports() -> str | None:
    """The file of reports. Runs of pytest that a test starts must not write into it."""
    return os.environ.pop(REPORTS, None)


def missing(item: pytest.Item) -> dict[str, str]:
    """The variables that differ from those of this process, for which the test needs another one."""
    wanted = {}
    calls = getattr(item, "callspec", None)
    if item.get_closest_marker("az_topology") and calls is not None:
        wanted["ANYZERO_DEVICES"] = calls.params["az_topology"]
    if (kernel := item.get_closest_marker("az_kernel")) is not None:
        (limit,) = (*kernel.args, *kernel.kwargs.values())
        wanted["ANYZERO_KERNEL_TIMEOUT"] = str(limit)
    if (strict := item.get_closest_marker("az_strict")) is not None:
        (on,) = (*strict.args, *strict.kwargs.values())
        wanted["ANYZERO_STRICT"] = "1" if on else "0"
    return {name: value for name, value in wanted.items() if os.environ.get(name) != value}


def uses_anyzero(item: pytest.Item) -> bool:
    """Whether a test has a fixture or a mark of this plugin."""
    names = {mark.partition("(")[0] for mark in MARKS}
    return not FIXTURES.isdisjoint(getattr(item, "fixturenames", ())) or any(map(item.get_closest_marker, names))
