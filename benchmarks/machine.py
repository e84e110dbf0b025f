"""What a reader must know about the machine to judge the numbers."""

from __future__ import annotations

import os
import platform
import resource
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Protocol

__all__ = ["Others", "cores", "describe", "load"]


def _field(path: str, name: str) -> str | None:
    """The value behind `name` in one of the kernel's `name : value` files."""
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.partition(":")[0].strip() == name), None)


def load() -> float:
    """The load average of the last minute: how much others were running."""
    return os.getloadavg()[0]


def _ticks(fields: Sequence[str]) -> float:
    return sum(map(int, fields)) / os.sysconf("SC_CLK_TCK")


def _busy() -> float:
    """Seconds that the processors this process may use have worked."""
    ours = {f"cpu{number}" for number in os.sched_getaffinity(0)}
    rows = [line.split()[:9] for line in Path("/proc/stat").read_text().splitlines()]
    return sum(_ticks([*row[1:4], *row[6:]]) for row in rows if row and row[0] in ours)


def _spent(pid: int) -> float:
    """Seconds that a process has worked; 0 when there is none."""
    try:
        return _ticks(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13])
    except OSError:
        return 0.0


class _Process(Protocol):
    @property
    def pid(self) -> int: ...


class Others:
    """How many of the cores that this process may use are kept busy by processes of others, from now on.

    Not counted are this process, `ours` as far as they run at the moment, and its children that have ended.
    """

    def __init__(self, ours: Collection[_Process] = ()) -> None:
        self._ours = ours
        self._begun, self._busy, self._own = time.monotonic(), _busy(), self._spent()

    def cores(self) -> float:
        others = _busy() - self._busy - (self._spent() - self._own)
        return max(0.0, round(others / max(time.monotonic() - self._begun, 1e-9), 2))

    def _spent(self) -> float:
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(each.ru_utime + each.ru_stime for each in used) + sum(_spent(each.pid) for each in self._ours)


def cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0))


def describe() -> dict[str, str | int | float]:
    """Name and value of each note, in the order shown."""
    memory = int((_field("/proc/meminfo", "MemTotal") or "0 kB").split()[0]) << 10
    return {
        "CPU": _field("/proc/cpuinfo", "model name") or platform.machine(),
        "cores": cores(),
        "memory": f"{memory / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d"),
    }
