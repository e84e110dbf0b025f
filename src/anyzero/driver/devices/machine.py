"""The machine: processor, caches, memory and a stable identity, read from ``/proc``, ``/sys`` and ``/etc``.

Containers, virtual machines and other architectures leave parts of these out, so every fact has a fallback that keeps
programs working, which divide by clock rates and cache line sizes unchecked.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from anyzero.config import parse_size
from anyzero.lazy_dataclass import dataclass

__all__ = ["Cache", "Machine", "read"]

ROOT: Final = Path("/")
PAGE: Final = os.sysconf("SC_PAGE_SIZE")

FALLBACK_CLOCK_MHZ: Final = 1000
FALLBACK_MEMORY: Final = 1 << 30
FALLBACK_LINE: Final = 64


@dataclass(frozen=True, slots=True)
class Cache:
    """A data or unified cache."""

    level: int
    size: int


FALLBACK_CACHES: Final = (Cache(1, 32 << 10), Cache(2, 512 << 10))


@dataclass(frozen=True, slots=True)
class Machine:
    """The facts that properties are made of. Sizes are in bytes."""

    model: str
    clock_mhz: int
    vector_bits: int
    fused_multiply_add: bool
    native_half: bool
    caches: tuple[Cache, ...]
    cache_line: int
    memory: int
    identity: str


def read(root: Path = ROOT) -> Machine:
    """Read the machine whose file system starts at `root`."""
    facts = _processor(root)
    flags = set((facts.get("flags") or facts.get("Features") or "").split())
    arm = "asimd" in flags
    model = facts.get("model name") or facts.get("Model") or os.uname().machine
    return Machine(
        model=" ".join(model.replace("(R)", "").replace("(TM)", "").split()),
        clock_mhz=_clock_mhz(root, facts),
        vector_bits=512 if "avx512f" in flags else 256 if "avx2" in flags else 128,
        fused_multiply_add=arm or "fma" in flags,
        native_half="avx512_fp16" in flags or "asimdhp" in flags,
        caches=_caches(root),
        cache_line=_number(root / "sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size") or FALLBACK_LINE,
        memory=_memory(root),
        identity=_first_line(root / "etc/machine-id")
        or _first_line(root / "var/lib/dbus/machine-id")
        or f"{os.uname().nodename} {model}",
    )


def _first_line(path: Path) -> str:
    try:
        return path.read_text(errors="replace").partition("\n")[0].strip()
    except OSError:
        return ""


def _number(path: Path) -> int:
    text = _first_line(path)
    return int(text) if text.isascii() and text.isdigit() else 0


def _processor(root: Path) -> dict[str, str]:
    """The first value of each key of ``/proc/cpuinfo``; on big machines the file is long, and the rest repeats it."""
    facts: dict[str, str] = {}
    try:
        with (root / "proc/cpuinfo").open(errors="replace") as lines:
            for line in lines:
                key, colon, value = (part.strip() for part in line.partition(":"))
                if key == "processor" and key in facts:
                    break
                if colon:
                    facts.setdefault(key, value)
    except OSError:
        pass
    return facts


def _clock_mhz(root: Path, facts: dict[str, str]) -> int:
    rated = _number(root / "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq") // 1000
    if rated:
        return rated
    current = re.match(r"\d+", facts.get("cpu MHz", ""))
    return (int(current[0]) if current else 0) or FALLBACK_CLOCK_MHZ


def _caches(root: Path) -> tuple[Cache, ...]:
    found = []
    for index in sorted((root / "sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level = _number(index / "level")
        try:
            size = parse_size(_first_line(index / "size"))
        except ValueError:
            continue
        if level and size and _first_line(index / "type") != "Instruction":
            found.append(Cache(level, size))
    return tuple(sorted(found, key=lambda cache: cache.level)) or FALLBACK_CACHES


def _memory(root: Path) -> int:
    """Physical memory, or the container's limit when that is less; whole pages."""
    total = 0
    try:
        match = re.search(r"^MemTotal:\s*(\d+) kB", (root / "proc/meminfo").read_text(), re.MULTILINE)
        total = int(match[1]) << 10 if match else 0
    except OSError:
        pass
    total = total or FALLBACK_MEMORY
    for limit_file in ("sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes"):
        total = min(total, _number(root / limit_file) or total)
    return total // PAGE * PAGE
