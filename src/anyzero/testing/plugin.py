"""The hooks and fixtures. pytest imports this module in every run, so it imports next to nothing itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from anyzero.testing.settings import MARKS, hold_for_all, missing, take_reports, uses_anyzero

if TYPE_CHECKING:
    import anyzero as az


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    # pytest rewrites the assertions of every package with a plugin, all modules of it. Ours has none for users to read,
    # and the rewriting would double the start-up time of the first run in a fresh environment.
    getattr(getattr(pluginmanager, "rewrite_hook", None), "_must_rewrite", set()).discard("anyzero")
    parser.addini("anyzero_strict", "refuse what hardware drivers tolerate (ANYZERO_STRICT)", "bool", default=True)
    parser.addini("anyzero_kernel_timeout", "seconds after which a kernel is stopped, 0 for no limit", default="60")

    parser.addini("anyzero_check", "checks for every test that uses anyzero: memory sync strict …", "args", default=[])


def pytest_configure(config: pytest.Config) -> None:
    for mark, meaning in MARKS.items():
        config.addinivalue_line("markers", f"{mark}: {meaning}")
    hold_for_all(config)
    if (reports := take_reports()) is not None:
        from anyzero.testing.process import Writer

        config.pluginmanager.register(Writer(config, reports))


def pytest_report_collectionfinish(items: list[pytest.Item]) -> list[str]:
    """The devices, where a test uses one: a run without such tests starts no driver."""
    if not any(map(uses_anyzero, items)):
        return []
    import anyzero as az

    names = ", ".join(device.name for device in az.devices())
    strict = "strict" if os.environ.get("ANYZERO_STRICT") in ("1", "on") else "not strict"
    return [f"anyzero {az.__version__}: {names}; {strict}, kernels stop after {_limit()}"]


def _limit() -> str:
    limit = os.environ["ANYZERO_KERNEL_TIMEOUT"]
    return "no limit" if limit == "0" else f"{limit} s"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("az_topology")
    if marker is not None:
        if not marker.args:
            raise pytest.UsageError(
                f"{metafunc.definition.nodeid}: az_topology names no devices: az_topology('cpu,cpu')"
            )
        if "az_topology" not in metafunc.fixturenames:
            metafunc.fixturenames.append("az_topology")
        metafunc.parametrize("az_topology", marker.args, indirect=True, ids=str)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """Tests that need other variables than this process has are run by another one."""
    variables = missing(item)
    if not variables:
        return None
    from anyzero.testing.process import Processes

    processes: Processes | None = item.config.stash.get(_PROCESSES, None)
    if processes is None:
        processes = item.config.stash[_PROCESSES] = Processes(item.config)
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    others = [each for each in item.session.items if missing(each) == variables]
    for report in processes.reports(item, variables, others):
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a test if check mode finds mistakes in it, unless it is on already: see `anyzero check`."""
    marker = item.get_closest_marker("az_check")
    for_all = item.config.getini("anyzero_check")
    if marker is None and not (for_all and uses_anyzero(item)):
        return (yield)
    from anyzero import config

    if config.read(only=["check"]).check:
        # The whole process is checked, and its findings are reported at its end.
        return (yield)
    import anyzero as az

    with az.check(*(marker.args if marker is not None else for_all)):
        return (yield)


_PROCESSES = pytest.StashKey[Any]()


@pytest.fixture(scope="session")
def az_devices() -> list[az.Device]:
    """Every device."""
    import anyzero as az

    return list(az.devices())


@pytest.fixture(scope="session")
def az_device() -> az.Device:
    """The default device; `ANYZERO_DEVICE` chooses it."""
    import anyzero as az

    return az.device()


@pytest.fixture
def az_context(az_device: az.Device) -> Iterator[az.Context]:
    """A context on the default device, closed after the test."""
    with az_device.context() as context:
        yield context


@pytest.fixture
def az_topology(request: pytest.FixtureRequest) -> str:
    """The devices that the mark `az_topology` asked for, in the words of `ANYZERO_DEVICES`."""
    return str(getattr(request, "param", os.environ.get("ANYZERO_DEVICES", "")))
