"""Which Python plans for programs that have none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from anyzero.tools.interpreter import for_c_programs


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the libraries are in a virtual environment."""
    made = tmp_path / "venv/lib/python3.99/site-packages/anyzero/lib"
    made.mkdir(parents=True)
    return made


def test_the_variable_comes_first(folder: Path, tmp_path: Path) -> None:
    (folder / "python").write_text(sys.executable)
    named = program(tmp_path / "here/mypython")
    assert for_c_programs({"ANYZERO_PYTHON": str(named)}, folder) == (str(named), "ANYZERO_PYTHON")
    on_path = {"ANYZERO_PYTHON": "mypython", "PATH": str(named.parent)}
    assert for_c_programs(on_path, folder).path == str(named)


def test_a_variable_that_names_nothing_is_not_passed_over(folder: Path) -> None:
    (folder / "python").write_text(sys.executable)
    found = for_c_programs({"ANYZERO_PYTHON": "/nowhere/python"}, folder)
    assert (found.path, found.reason) == ("", "ANYZERO_PYTHON=/nowhere/python is not a program")


def test_then_what_was_recorded(folder: Path) -> None:
    (folder / "python").write_text(f"{sys.executable}\n")
    found = for_c_programs({}, folder)
    assert (found.path, found.reason) == (sys.executable, f"recorded in {folder / 'python'}")


def test_then_the_environment_of_the_library(folder: Path, tmp_path: Path) -> None:
    (folder / "python").write_text("/gone/python")
    near = program(tmp_path / "venv/bin/python3.99")
    assert for_c_programs({}, folder).path == str(near)


def test_without_any_it_says_why(folder: Path) -> None:
    assert f"no Python belongs to the folder {folder}" in for_c_programs({"PATH": ""}, folder).reason
    (folder / "python").write_text("/gone/python")
    found = for_c_programs({"PATH": ""}, folder)
    assert (found.path, "/gone/python" in found.reason) == ("", True)
