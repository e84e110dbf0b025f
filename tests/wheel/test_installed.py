"""The wheel in empty environments of every Python at hand, in an empty folder, without a compiler."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.clients.test_build_systems import PRINTS, SOURCE
from tests.examples.blocks import PAGES
from tests.examples.pages import failures, has_code, not_tested, sessions
from tests.shape.tree import ROOT

MINUTES = 600


class Installed:
    """One environment with the wheel and pytest, and an empty home and working folder beside it."""

    def __init__(self, place: Path, python: Path, wheel: Path) -> None:
        self.bin = place / "environment" / "bin"
        self.folder, home = place / "folder", place / "home"
        self.folder.mkdir()
        home.mkdir()
        pip = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        self.variables = {**pip, "PATH": str(self.bin), "HOME": str(home), "LANG": "C.UTF-8"}
        subprocess.run([python, "-m", "venv", place / "environment"], check=True, timeout=MINUTES)
        self.run("pip", "install", "--quiet", "--disable-pip-version-check", str(wheel), "pytest")

    def run(self, *command: str, given: str = "") -> str:
        command = (str(self.bin / command[0]), *command[1:])
        done = subprocess.run(
            command, cwd=self.folder, env=self.variables, input=given, capture_output=True, text=True, timeout=MINUTES
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout


@pytest.fixture(scope="module")
def installed(wheel: Path, python: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(tmp_path_factory.mktemp("installed"), python, wheel)


def test_info(installed: Installed) -> None:
    assert "anyzero CPU" in installed.run("anyzero", "info")


def test_doctor(installed: Installed) -> None:
    assert "Everything that is needed works." in installed.run("anyzero", "doctor")


def test_the_first_lines_of_the_readme(installed: Installed) -> None:
    ((block, *_), *_) = sessions(ROOT / "README.md")
    assert block.expected
    (installed.folder / "ten.py").write_text(block.text)
    assert installed.run("python", "ten.py").split() == block.expected.split()


@pytest.mark.parametrize("page", [*filter(has_code, PAGES)], ids=lambda page: page.name)
def test_the_code_of_a_page(installed: Installed, page: Path) -> None:
    python = str(installed.bin / "python")
    for line in not_tested(page, python):
        print(f"NOT TESTED: {line}")
    wrong = failures(page, python)
    assert not wrong, "\n".join(wrong)


def test_a_program_in_c(installed: Installed, tmp_path: Path) -> None:
    if not shutil.which("gcc"):
        pytest.skip("NOT TESTED: no gcc; on Debian: apt install gcc")
    (tmp_path / "program.c").write_text(SOURCE)
    flags = installed.run("anyzero", "config", "--cflags", "--libs", "--rpath").split()
    program = installed.bin / "program"
    subprocess.run(["gcc", tmp_path / "program.c", *flags, "-o", program], check=True, timeout=MINUTES)
    assert installed.run("program") == PRINTS


def test_pytest_finds_the_plugin(installed: Installed) -> None:
    ((block, *_), *_) = sessions(ROOT / "docs" / "ci.md")
    (installed.folder / "test_example.py").write_text(block.text)
    told = installed.run("pytest", "-p", "no:cacheprovider")
    assert "3 passed" in told
    assert "strict, kernels stop after 60 s" in told


@pytest.mark.parametrize(("extra", "package"), [("npu", "openvino"), ("opencl", "pyopencl"), ("clang", "ziglang")])
def test_what_an_extra_asks_for_exists(installed: Installed, wheel: Path, extra: str, package: str) -> None:
    """Resolved only: together they take a gigabyte."""
    told = installed.run("pip", "install", "--dry-run", "--disable-pip-version-check", f"{wheel}[{extra}]")
    assert re.search(rf"^Would install .*\b{package}-", told, re.MULTILINE)


def test_nothing_was_written_into_the_folder(installed: Installed) -> None:
    assert {path.name for path in installed.folder.iterdir()} <= {"ten.py", "test_example.py", "__pycache__"}
