"""Setuid programs: no variable of the caller decides which files are read, loaded, started or cached."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from anyzero import cache_folder, config
from anyzero.trust import process
from tests.clients.test_c_hosts import LIBRARY, ROOT, SAXPY, host
from tests.patience import PATIENCE

CALLER = 54321
"""A user that no machine has."""

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a setuid program: run the tests as root")


@pytest.fixture
def place() -> Iterator[Path]:
    """A world-accessible folder."""
    made = ROOT / "build" / "clients" / f"secure.{os.getpid()}"
    made.mkdir(parents=True)
    yield made
    shutil.rmtree(made)


def setuid_copy(name: str, place: Path, library: str) -> Path:
    """A setuid-root program."""
    copy = place / name
    shutil.copy(host(name, library), copy)
    copy.chmod(0o4755)
    return copy


def run(program: Path, *arguments: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    if Path(program).stat().st_mode & 0o4000 and os.statvfs(program).f_flag & os.ST_NOSUID:
        pytest.skip(f"{program.parent} is on a file system that gives no rights to programs (nosuid)")
    return subprocess.run(
        [program, *arguments],
        env=variables,
        user=CALLER,
        group=CALLER,
        extra_groups=[],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


EVIL = "#!/bin/sh\n: > '{mark}'\nexit 1\n"


def hostile(place: Path) -> dict[str, str]:
    """Variables that leave a mark if anything obeys them; those that name places do it by what is found there."""
    (place / "bin").mkdir()
    for name in (Path(sys.executable).name, "python3", f"python3.{sys.version_info.minor}", "python"):
        (place / "bin" / name).write_text(EVIL.format(mark=place / "marks" / "python"))
        (place / "bin" / name).chmod(0o755)
    (place / "marks").mkdir()
    (place / "marks").chmod(0o777)
    (place / "modules").mkdir()
    for name in ("struct", "sitecustomize", "anyzero"):
        (place / "modules" / f"{name}.py").write_text(f"open({str(place / 'marks' / name)!r}, 'w')\n")
    return {
        "ANYZERO_CACHE_DIR": str(place / "marks"),
        "ANYZERO_CHECK_REPORT": str(place / "marks"),
        "ANYZERO_DESCRIPTION": "/dev/zero",
        "ANYZERO_DUMP": str(place / "marks"),
        "ANYZERO_SAMPLES": f"100:any:none:{place / 'marks'}",
        "ANYZERO_TRACE": str(place / "marks"),
        "ANYZERO_LOADER": str(place / "bin" / "python"),
        "ANYZERO_PYTHON": str(place / "bin" / "python"),
        "XDG_CACHE_HOME": str(place / "marks"),
        "HOME": str(place / "marks"),
        "PATH": str(place / "bin"),
        "PYTHONPATH": str(place / "modules"),
        "PYTHONSTARTUP": str(place / "modules" / "struct.py"),
    }


@as_root
def test_a_setuid_program_obeys_no_path_of_its_caller(place: Path) -> None:
    variables = hostile(place)
    assert {row.name for _, row in config.variables() if row.names_path} <= variables.keys()
    done = run(setuid_copy("start", place, "libze_anyzero.so.1"), SAXPY, **variables)
    assert "ok: the kernel ran" in done.stdout, done.stderr
    assert [each.name for each in (place / "marks").iterdir()] == []
    # Variables without paths take effect.
    done = run(place / "start", SAXPY, **variables, ANYZERO_DEVICES="gpu")
    assert "ANYZERO_DEVICES='gpu'" in done.stderr
    # And without the rights it is the caller's own business.
    (place / "start").chmod(0o755)
    assert "ANYZERO_DESCRIPTION=/dev/zero" in run(place / "start", SAXPY, **variables).stderr


@as_root
def test_the_loader_loads_nothing_for_the_caller_of_a_setuid_program(place: Path) -> None:
    variables = hostile(place)
    leave_mark = f'open("{place}/marks/library", O_CREAT, 0600);'
    (place / "evil.c").write_text(
        f"#include <fcntl.h>\n__attribute__((constructor)) static void run() {{ {leave_mark} }}\n"
    )
    evil = place / "evil.so"
    subprocess.run(["gcc", "-shared", "-fPIC", place / "evil.c", "-o", evil], check=True, timeout=PATIENCE)
    done = run(setuid_copy("start", place, "libze_loader.so.1"), SAXPY, **variables, ZE_ENABLE_ALT_DRIVERS=str(evil))
    assert "ok: the kernel ran" in done.stdout, done.stderr
    assert [each.name for each in (place / "marks").iterdir()] == []
    (place / "start").chmod(0o755)
    plain = {"ZE_ENABLE_ALT_DRIVERS": str(evil), "ANYZERO_DESCRIPTION": str(LIBRARY / "description")}
    run(place / "start", SAXPY, **plain)
    assert [each.name for each in (place / "marks").iterdir()] == ["library"]


@pytest.fixture
def secure(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(os, "getuid", lambda: os.geteuid() + 1)
    process.is_secure.cache_clear()
    yield
    process.is_secure.cache_clear()


@pytest.mark.usefixtures("secure")
def test_a_python_with_other_rights_obeys_no_path() -> None:
    paths = {row.name: "/some/where" for _, row in config.variables() if row.names_path}
    assert len(paths) == 8
    assert config.read({**paths, "ANYZERO_SPIN_US": "7"}) == config.Config(spin_us=7)
    assert cache_folder.of(config.Config(), {"XDG_CACHE_HOME": "/some/where"}) is None


def test_this_process_has_no_other_rights() -> None:
    process.is_secure.cache_clear()
    assert not process.is_secure()
    assert config.read({"ANYZERO_DUMP": "/some/where"}).dump == "/some/where"


def test_the_engine_knows_the_same_variables() -> None:
    """All variables that name paths, including future ones."""
    text = (ROOT / "engine" / "planning" / "environment.cpp").read_text()
    for _, row in config.variables():
        assert (f'"{row.name}"' in text.partition("kPaths")[2].partition("};")[0]) == row.names_path, row.name
