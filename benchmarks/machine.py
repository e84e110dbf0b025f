"""What a reader must know about the machine to judge the numbers."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path

__all__ = ["busy", "cores", "describe", "load", "spent"]


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


def busy() -> float:
    """Seconds that all cores together have worked."""
    fields = Path("/proc/stat").read_text().partition("\n")[0].split()[1:9]
    return _ticks([*fields[:3], *fields[5:]])


def spent(pid: int | str) -> float:
    """Seconds that a process has worked; 0 when there is none."""
    try:
        return _ticks(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13])
    except OSError:
        return 0.0


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
    }
