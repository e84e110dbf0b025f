"""What the doctor finds, and what it prescribes."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from anyzero.api.calls import loaders
from anyzero.api.calls.loaders import Loader
from anyzero.installed import OpenVINO
from anyzero.tools import checks, doctor
from anyzero.tools.checks import Check

HEALTHY: dict[str, Any] = {
    "python": {"executable": "/usr/bin/python3", "version": "3.12.1", "package": "/site/anyzero"},
    "compiler": {"llvmlite": "0.50", "llvm": "22.1", "processor": "znver4", "lanes": 16, "milliseconds": 99},
    "cache": {
        "on": True,
        "folder": "/c/kernels",
        "limit": 1 << 30,
        "trouble": "",
        "writable": True,
        "entries": 7,
        "bytes": 2048,
    },
}


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in checks.os.environ if name.startswith(("ANYZERO_", "ZE"))]:
        monkeypatch.delenv(name)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let the process that looks at the compiler say something."""

    def say(found: dict[str, Any] | None, error: str = "") -> None:
        monkeypatch.setattr(checks, "_checkup", lambda python: (found, error))

    return say


def only(check: Iterator[Check]) -> Check:
    (found,) = check
    return found


def test_a_healthy_compiler_and_cache(told: Callable[..., None]) -> None:
    told(HEALTHY)
    assert only(checks.compiler()) == Check(
        "compiler", "good", "llvmlite 0.50 with LLVM 22.1: a kernel for znver4 in 99 ms, 16 lanes"
    )
    assert only(checks.kept_kernels()) == Check("cache", "good", "/c/kernels, 7 kernels, 2.0 KiB of 1.0 GiB")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (({"compiler": {"error": "ModuleNotFoundError: No module named 'llvmlite'"}}, ""), "llvmlite"),
        ((None, "Illegal instruction"), "Illegal"),
    ],
)
def test_a_broken_compiler_has_to_be_mended(told: Callable[..., None], answer: tuple[Any, str], said: str) -> None:
    told(*answer)
    found = only(checks.compiler())
    assert (found.state, said in found.finding) == ("bad", True)
    assert "pip install" in found.remedy


@pytest.mark.parametrize(
    ("changed", "state", "said"),
    [
        ({"on": False}, "note", "off"),
        ({"folder": None}, "warning", "no home"),
        ({"trouble": "others may write to /home: chmod go-w /home"}, "warning", "chmod go-w /home"),
        ({"writable": False}, "warning", "read-only"),
        ({"error": "OSError: disk"}, "warning", "disk"),
    ],
)
def test_a_cache_that_is_no_use_is_told(
    told: Callable[..., None], changed: dict[str, Any], state: str, said: str
) -> None:
    told({**HEALTHY, "cache": {**HEALTHY["cache"], **changed}})
    found = only(checks.kept_kernels())
    assert (found.state, said in found.finding) == (state, True)
    assert bool(found.remedy) == (state == "warning")


def test_a_package_that_is_missing_is_installed_where_it_is_missing(
    told: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = {**HEALTHY, "compiler": {"error": "ModuleNotFoundError: No module named 'llvmlite'"}}
    told(missing)
    monkeypatch.setenv("ANYZERO_PYTHON", sys.executable)
    # Another Python is no way out where this one is the same.
    assert only(checks.python()).remedy == f"{sys.executable} -m pip install llvmlite"
    monkeypatch.setenv("ANYZERO_PYTHON", "/bin/sh")
    assert only(checks.python()).remedy.startswith("/bin/sh -m pip install llvmlite, or export ANYZERO_PYTHON=")


def test_the_python_of_c_programs(told: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    told(HEALTHY)
    monkeypatch.setenv("ANYZERO_PYTHON", "/bin/sh")
    found = only(checks.python())
    assert (found.state, found.finding) == ("good", "/bin/sh, Python 3.12.1, ANYZERO_PYTHON")
    told({**HEALTHY, "compiler": {"error": "no llvmlite"}})
    found = only(checks.python())
    assert (found.state, found.finding) == ("bad", "/bin/sh (ANYZERO_PYTHON): no llvmlite")
    monkeypatch.setenv("ANYZERO_PYTHON", "/nowhere/python")
    found = only(checks.python())
    assert (found.state, "is not a program" in found.finding) == ("bad", True)
    assert "anyzero run" in found.remedy


@pytest.mark.parametrize(
    ("loader", "wanted", "state", "said"),
    [
        (None, "", "note", "gives programs ours"),
        (None, "system", "bad", "asks for it"),
        (Loader("l", "1.8.0", (1, 4)), "", "note", "older than 1.10"),
        (Loader("l", error="bad ELF"), "", "note", "bad ELF"),
        (Loader("l", error="bad ELF"), "system", "bad", "bad ELF"),
        (Loader("l", "1.32.0", (1, 17)), "system", "good", "version 1.32.0"),
    ],
)
def test_the_loader_of_the_system(
    monkeypatch: pytest.MonkeyPatch, loader: Loader | None, wanted: str, state: str, said: str
) -> None:
    monkeypatch.setattr(loaders, "system_loader", lambda environ: loader)
    monkeypatch.setenv("ANYZERO_LOADER", wanted)
    found = only(checks.system_loader())
    assert (found.state, said in found.finding) == (state, True)
    assert bool(found.remedy) == (state == "bad")


@pytest.mark.parametrize(("installed", "state"), [("", "note"), ("0.1.3", "warning")])
def test_pyzes_without_a_loader_where_it_looks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, installed: str, state: str
) -> None:
    """It has a path of its own, where the linker's way to a loader does not lead."""
    wanted = tmp_path / "libze_loader.so.1"
    monkeypatch.setattr(checks, "_PYZES", wanted)
    monkeypatch.setattr(checks, "_installed", lambda package: {"pyzes": installed}[package])
    found = only(checks.pyzes())
    assert (found.state, f"no loader at {wanted}" in found.finding) == (state, True)
    assert (f"ln -s {loaders.OURS} {wanted}" in found.remedy) == bool(installed)
    wanted.write_bytes(b"no library")
    found = only(checks.pyzes())
    assert (found.state, f"cannot use {wanted}" in found.finding) == (state, True)
    old = tmp_path / "old.c"
    old.write_text("int zeInit(void) { return 0; }\n")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", wanted, old], check=True)
    found = only(checks.pyzes())
    assert (found.state, "no zesInit there" in found.finding) == (state, True)


def test_pyzes_does_with_a_link_to_our_loader(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wanted = tmp_path / "libze_loader.so.1"
    wanted.symlink_to(loaders.OURS)
    monkeypatch.setattr(checks, "_PYZES", wanted)
    assert only(checks.pyzes()) == Check("pyzes", "good", f"finds its loader, {wanted}")


def test_a_driver_that_is_missing_or_does_not_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(checks, "_asked", lambda command, environ: (None, "anyzero: error: no luck"))
    monkeypatch.setattr(loaders, "DRIVER", tmp_path / "driver.so")
    loaders.DRIVER.touch()
    found = only(checks.driver())
    assert (found.state, found.finding) == ("bad", "no luck")
    loaders.DRIVER.unlink()
    found = only(checks.driver())
    assert (found.state, "is missing" in found.finding, "make build" in found.remedy) == ("bad", True, True)


def test_variables_that_nobody_reads_or_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANYZERO_DEVISES", "cpu")
    monkeypatch.setenv("ANYZERO_XYZZY", "1")
    monkeypatch.setenv("ANYZERO_LOG", "loud")
    monkeypatch.setenv("ANYZERO_LANES", "3")
    monkeypatch.setenv("ZE_ENABLE_ALT_DRIVERS", "/nowhere/driver.so,byname.so")
    found = {check.finding.split(",")[0]: check for check in checks.variables()}
    assert found["nothing reads ANYZERO_DEVISES"].remedy == "Did you mean ANYZERO_DEVICES?"
    assert found["nothing reads ANYZERO_DEVISES"].state == "warning"
    assert "anyzero docs environment" in found["nothing reads ANYZERO_XYZZY"].remedy
    loud = found["ANYZERO_LOG='loud': not one of the accepted values"]
    assert (loud.state, loud.remedy) == ("bad", "It takes off, error, warning.")
    assert found["ANYZERO_LANES='3': not one of the accepted values"].state == "bad"
    assert found["ZE_ENABLE_ALT_DRIVERS names /nowhere/driver.so"].state == "warning"
    assert len(found) == 5


def test_devices_that_the_driver_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANYZERO_DEVICES", "toaster")
    found = only(checks.variables())
    assert (found.state, "'toaster' is not a device" in found.finding) == ("bad", True)


def test_variables_that_are_fine_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert only(checks.variables()) == Check("variables", "good", "none are set")
    monkeypatch.setenv("ANYZERO_THREADS", "2")
    assert only(checks.variables()).finding == "ANYZERO_THREADS=2"


def test_limits_that_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    granted = {resource.RLIMIT_NOFILE: (1024, 4096), resource.RLIMIT_AS: (resource.RLIM_INFINITY,) * 2}
    monkeypatch.setattr(checks.resource, "getrlimit", granted.__getitem__)
    assert {check.state for check in checks.limits()} <= {"good", "warning"}
    granted[resource.RLIMIT_NOFILE] = (64, 64)
    granted[resource.RLIMIT_AS] = (1 << 30, 1 << 30)
    found = [check.finding for check in checks.limits()]
    assert any("only 64 open files" in each for each in found)
    assert any("1.0 GiB of address space" in each for each in found)


def examples() -> Iterator[Check]:
    yield Check("driver", "good", "there")
    yield Check("cache", "warning", "word " * 40, "fix it " * 20)
    yield Check("loader", "bad", "not there", "build it")


def test_the_report_is_a_table_with_remedies(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "CHECKS", (examples,))
    assert doctor.run(as_json=False) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "✓ driver  there"
    assert lines[1].startswith("! cache   word word")
    assert lines[2].startswith("          word")
    assert any(line.startswith("          → fix it") for line in lines)
    assert lines[-4:] == ["✗ loader  not there", "          → build it", "", "1 problem to fix."]
    assert max(map(len, lines)) <= 120


def test_json_has_the_same(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(doctor, "CHECKS", (examples,))
    assert doctor.run(as_json=True) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["ok"] is False
    assert found["checks"][2] == {"name": "loader", "state": "bad", "finding": "not there", "remedy": "build it"}


def test_warnings_and_notes_are_no_failure(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(doctor, "CHECKS", (lambda: iter([Check("a", "note", "b"), Check("c", "warning", "d", "e")]),))
    assert doctor.run(as_json=False) == 0
    assert "Everything that is needed works." in capsys.readouterr().out


def test_a_check_that_fails_itself_hides_no_other(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> Iterator[Check]:
        raise RuntimeError("oh")
        yield

    monkeypatch.setattr(doctor, "CHECKS", (broken, examples))
    assert doctor.run(as_json=False) == 1
    out = capsys.readouterr().out
    assert "✗ broken  this check raised an exception: RuntimeError: oh" in out
    assert "✓ driver" in out


OPENVINO = OpenVINO("2026.4.1", "/site/openvino", "/site/openvino/libs/libopenvino_c.so.2641")


@pytest.mark.parametrize(
    ("found", "state", "said"),
    [
        (None, "note", "not installed"),
        (OpenVINO("2025.1.0", "/o", "/o/libs/libopenvino_c.so"), "warning", "older than 2026.4, so there is no NPU"),
        (OpenVINO("2026.4.1", "/o", ""), "warning", "has no C library"),
        (OPENVINO, "good", "2026.4.1, /site/openvino; its NPU plugin finds this driver with"),
    ],
)
def test_openvino(monkeypatch: pytest.MonkeyPatch, found: OpenVINO | None, state: str, said: str) -> None:
    monkeypatch.setattr(checks.installed, "openvino", lambda: found)
    monkeypatch.setattr(loaders, "system_loader", lambda environ: None)
    seen = only(checks.openvino())
    assert (seen.state, said in seen.finding) == (state, True), seen


@pytest.mark.parametrize(
    ("loader", "drivers", "said"),
    [
        (Loader(str(loaders.OURS), None, (1, 17)), "", "finds this driver by itself"),
        (
            Loader("/usr/lib/libze_loader.so.1", "1.8.12", (1, 7)),
            "",
            "cannot use the loader /usr/lib/libze_loader.so.1",
        ),
        (
            Loader("/usr/lib/libze_loader.so.1", "1.28.2", (1, 15)),
            "",
            "uses the loader /usr/lib/libze_loader.so.1, and",
        ),
        (
            Loader("/usr/lib/libze_loader.so.1", "1.28.2", (1, 15)),
            f"/else.so,{loaders.DRIVER}",
            "by itself, through /usr/lib/libze_loader.so.1",
        ),
    ],
)
def test_whose_loader_openvino_s_plugin_takes(
    monkeypatch: pytest.MonkeyPatch, loader: Loader, drivers: str, said: str
) -> None:
    monkeypatch.setenv("ZE_ENABLE_ALT_DRIVERS", drivers)
    monkeypatch.setattr(checks.installed, "openvino", lambda: OPENVINO)
    monkeypatch.setattr(loaders, "system_loader", lambda environ: loader)
    assert said in only(checks.openvino()).finding
