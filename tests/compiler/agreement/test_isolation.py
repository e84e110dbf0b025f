"""What a piece of a test does to its process is found, and is its own affair."""

from __future__ import annotations

import os
import signal

from tests.compiler.agreement.isolation import apart


def _ended_by(number: int) -> None:
    os.kill(os.getpid(), number)


def _hangs() -> None:
    signal.pause()


def test_pieces_share_a_process() -> None:
    assert apart(os.getpid) == apart(os.getpid)
    assert apart(os.getpid).value != os.getpid()


def test_an_exception_is_told_with_its_place_and_the_process_goes_on() -> None:
    process = apart(os.getpid)
    assert "ValueError" in apart(int, "seven").trouble
    assert apart(os.getpid) == process


def test_a_crash_is_told_and_another_process_goes_on() -> None:
    process = apart(os.getpid)
    assert "ended by SIGKILL" in apart(_ended_by, signal.SIGKILL).trouble
    assert apart(os.getpid) != process


def test_a_hang_is_told_with_its_place() -> None:
    assert "_hangs" in apart(_hangs, timeout=0.1).trouble
