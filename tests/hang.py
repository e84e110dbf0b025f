"""What a program that does not end is doing: its signals, where its threads wait, and the processes it has started."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

__all__ = ["LISTENING", "describe"]

LISTENING = "import faulthandler, signal; faulthandler.register(signal.SIGUSR1)\n"
"""A program in Python that begins with this writes the stacks of its threads to standard error when asked to."""

PROC = Path("/proc")
MOMENT = 1.0
"""Seconds for those stacks; a program that is too stuck for it is described from outside all the same."""
LIMIT = 60
TOLD = ("State", "PPid", "Sig", "Shd")


def describe(process: int, mark: str) -> str:
    """A report on the process and on all others with `mark` in their environment."""
    if _listens(process):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGUSR1)
        time.sleep(MOMENT)
    return "\n".join(_one(each) for each in dict.fromkeys([process, *_marked(mark)]))


def _listens(process: int) -> bool:
    """Without a handler the signal would end it."""
    lines = _text(process, "status").splitlines()
    return any(line.startswith("SigCgt:") and int(line[7:], 16) >> (signal.SIGUSR1 - 1) & 1 for line in lines)


def _marked(mark: str) -> Iterator[int]:
    for folder in PROC.iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit() and mark.encode() in (folder / "environ").read_bytes():
                yield int(folder.name)


def _text(process: int, name: str) -> str:
    try:
        return (PROC / str(process) / name).read_text(errors="replace").strip()
    except OSError as error:
        return f"({error.strerror})"


def _one(process: int) -> str:
    command = _text(process, "cmdline").replace("\0", " ")[:120]
    status = _text(process, "status").splitlines()
    lines = [f"process {process}: {command}", *(line for line in status if line.startswith(TOLD))]
    for task in sorted(PROC.joinpath(str(process), "task").glob("*")):
        inside = f"{process}/task/{task.name}"
        told = (_text(process, f"task/{task.name}/{name}") for name in ("comm", "wchan", "syscall"))
        lines.append(f"  {inside}: {', '.join(told)}")
    return "\n".join([*lines, _native_stacks(process)])


def _native_stacks(process: int) -> str:
    if not shutil.which("gdb"):
        return "(native stacks: install gdb)"
    command = ["gdb", "-batch", "-nx", "-ex", "thread apply all backtrace 24", "-p", str(process)]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return "(native stacks: gdb takes too long)"
    return done.stdout
