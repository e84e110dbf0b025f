"""A program that does not end is described: its signals, its threads, and where in Python it is."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys

import pytest

from tests import hang

PROGRAM = "signal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('there', flush=True)\ninput()\n"


def test_a_program_that_does_not_end_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)  # attaching a debugger takes long
    monkeypatch.setattr(hang, "MOMENT", 0)
    mark = f"no-other-process-has-this-{os.getpid()}"
    with subprocess.Popen(
        [sys.executable, "-c", hang.LISTENING + PROGRAM],
        env={"MARK": mark},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "there\n"
        report = hang.describe(process.pid, mark)
        _, said = process.communicate("\n")
    ignored = next(line for line in report.splitlines() if line.startswith("SigIgn:"))
    assert int(ignored[7:], 16) >> (signal.SIGINT - 1) & 1
    assert report.count(f"process {process.pid}: {sys.executable}") == 1
    assert f"{process.pid}/task/{process.pid}: python" in report
    assert 'File "<string>"' in said


def test_a_program_that_would_be_ended_by_the_signal_is_not_sent_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        assert f"process {process.pid}: " in hang.describe(process.pid, "no process has this")
    assert process.returncode == 0
