"""Processes that measure: lines in both directions, and what is said of those that end badly."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks import process
from benchmarks.process import Failed, Process

ECHO = "import os, sys\nfor line in sys.stdin: print(os.environ['GREETING'], line, end='', flush=True)"


@pytest.fixture(autouse=True)
def _logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "BUILD", tmp_path)


def python(code: str) -> Process:
    return Process("a name", [sys.executable, "-c", code], {"GREETING": "hello"})


def test_each_line_has_its_answer() -> None:
    echo = python(ECHO)
    for name in ("one", "two"):
        echo.write(name)
        assert echo.read() == f"hello {name}\n"
    echo.close()


def test_all_lines_until_the_end() -> None:
    assert list(python("print(1)\nprint(2)").lines()) == ["1\n", "2\n"]


def test_the_last_word_is_the_reason(tmp_path: Path) -> None:
    ending = python("import sys\nprint(1, flush=True)\nprint('first', file=sys.stderr)\nsys.exit('no room')")
    said = []
    with pytest.raises(Failed, match="its process ended with 1: no room"):
        said += ending.lines()
    assert (tmp_path / "a-name.log").read_text() == "first\nno room\n"


def test_who_is_gone_may_be_asked_again() -> None:
    gone = python("raise SystemExit(3)")
    for _ in range(3):
        gone.write("are you there?")
        with pytest.raises(Failed, match="ended with 3: it did not say why"):
            gone.read()
    gone.close()


def test_patience_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "PATIENCE", 0.1)
    sleeper = python("import time\ntime.sleep(60)")
    with pytest.raises(Failed, match="ended with -9"):
        sleeper.read()
    sleeper.close()


def test_lines_that_nobody_wants_are_not_waited_for() -> None:
    endless = python("import time\nprint(1, flush=True)\ntime.sleep(60)")
    for _ in endless.lines():
        break
    assert endless._process.poll() == -9
