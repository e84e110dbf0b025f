"""Whether threads sleep in the kernel: the cause to wait for where a test needs a waiter that has gone to sleep."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tests.patience import PATIENCE

__all__ = ["await_sleep", "await_sleep_of_others"]


def await_sleep(thread: threading.Thread) -> None:
    """Return when the thread sleeps, or has ended.

    It is the same sleep at two looks. Between them this thread holds no lock of the interpreter's, so that a thread
    that only waits for that lock gets it and is seen to move.
    """
    asked = thread.native_id
    assert asked is not None, "the thread was not started"
    _await(os.getpid(), lambda now, before: now.get(asked) == before.get(asked), lambda each: each == asked)


def await_sleep_of_others(process: int | None = None) -> None:
    """Return when all threads of the process sleep at two looks; of this process, all but the calling one.

    These may be different sleeps: a thread of the engine that watches many things wakes up now and then.
    """
    mine = None if process else threading.get_native_id()
    _await(process or os.getpid(), lambda now, before: True, lambda each: each != mine)


Sleeps = dict[int, int]
"""How often each thread has been put aside so far."""


def _await(process: int, alike: Callable[[Sleeps, Sleeps], bool], asked: Callable[[int], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    before = None
    while True:
        now = _sleeps(process, asked)
        if now is not None and before is not None and alike(now, before):
            return
        assert time.monotonic() < deadline, f"threads of process {process} do not go to sleep"
        before = now
        time.sleep(0.002)


def _sleeps(process: int, asked: Callable[[int], bool]) -> Sleeps | None:
    """None if one of them runs."""
    found = {}
    for folder in Path(f"/proc/{process}/task").iterdir():
        if not asked(int(folder.name)):
            continue
        try:
            lines = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended
        if lines["State"].split()[0] != "S":
            return None
        found[int(folder.name)] = int(lines["voluntary_ctxt_switches"]) + int(lines["nonvoluntary_ctxt_switches"])
    return found
