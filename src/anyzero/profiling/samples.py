"""A profile as the engine wrote it: samples of each code of a kernel, with their source lines.

`spec/layouts.toml` describes the file. It is read after its process wrote it, and may be damaged: a file that is no
profile is refused, and samples that make no sense are left out.
"""

from __future__ import annotations

import mmap
import struct
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from anyzero.compiler.line_table import NO_LINES, LineTable, Place
from anyzero.driver.modules.lines import decode
from anyzero.layouts.profile import (
    PROFILE_CALLED,
    PROFILE_CODE_BYTES,
    PROFILE_HEAD_BYTES,
    PROFILE_HEAD_ROOM,
    PROFILE_MAGIC,
    PROFILE_THREAD_BYTES,
    ProfileClock,
    ProfileCode,
    ProfileHead,
    ProfileThread,
)

__all__ = ["Code", "DamagedProfileError", "Samples", "read", "read_folder"]


class DamagedProfileError(ValueError):
    """A file is no profile, or was cut off."""


@dataclass(slots=True)
class Code:
    """One piece of machine code of a kernel: a kernel may have several, for its stages and for sizes of groups."""

    kernel: str
    lanes: int
    """Work-items that one vector holds."""
    machine_code: bytes = field(repr=False)
    lines: LineTable = field(default=NO_LINES, repr=False)
    samples: Counter[int] = field(default_factory=Counter, repr=False)
    """Samples by offset in the machine code."""
    called: int = 0
    """Samples in functions that the kernel called."""

    def place(self, offset: int) -> Place | None:
        """The source place of an instruction; None where it is not known."""
        row = bisect_right(self.lines.rows, (offset, 1 << 32)) - 1
        number = self.lines.rows[row][1] if row >= 0 else 0
        return self.lines.places[number - 1] if number else None


@dataclass(slots=True)
class Samples:
    """The samples of one process."""

    process: int
    clock: str
    """"perf" or "timer"; empty where no kernel ran."""
    codes: list[Code] = field(default_factory=list)
    outside: int = 0
    """Samples of threads between kernels: submitting, waiting, and other work of the program."""
    lost: int = 0
    """Samples that newer ones have replaced."""
    busy_ns: int = 0
    """Processor time of the threads while they were sampled."""

    @property
    def total(self) -> int:
        """All samples that are there."""
        return self.outside + sum(code.called + code.samples.total() for code in self.codes)


def read(path: Path) -> Samples:
    """Read the file of a profile; raise :class:`DamagedProfileError` where it is none."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _read(data)
    except (ValueError, struct.error) as error:
        raise DamagedProfileError(f"{path} is not a profile of anyzero: {error}") from None


def _read(data: mmap.mmap) -> Samples:
    head = ProfileHead.unpack(data[:PROFILE_HEAD_BYTES])
    if head.magic != PROFILE_MAGIC:
        raise ValueError("it begins with other bytes")
    codes_at = PROFILE_HEAD_ROOM + head.thread_capacity * PROFILE_THREAD_BYTES
    rings_at = codes_at + head.code_capacity
    if rings_at + head.thread_capacity * head.sample_capacity * 8 > len(data) or head.code_bytes > head.code_capacity:
        raise ValueError("it was cut off")
    clock = ProfileClock(head.clock).name.lower() if head.clock in list(ProfileClock) else ""
    made = Samples(head.process, clock, _codes(data[codes_at : codes_at + head.code_bytes]))
    for index in range(min(head.threads, head.thread_capacity)):
        at = PROFILE_HEAD_ROOM + index * PROFILE_THREAD_BYTES
        thread = ProfileThread.unpack(data[at : at + PROFILE_THREAD_BYTES])
        kept = min(thread.samples, head.sample_capacity)
        made.lost += thread.samples - kept
        made.busy_ns += max(thread.last_ns - thread.first_ns, 0)
        ring = rings_at + index * head.sample_capacity * 8
        for sample in struct.unpack(f"<{kept}Q", data[ring : ring + kept * 8]):
            _add(made, sample >> 32, sample & 0xFFFFFFFF)
    return made


def _codes(data: bytes) -> list[Code]:
    found: list[Code] = []
    at = 0
    while at < len(data):
        facts = ProfileCode.unpack(data[at : at + PROFILE_CODE_BYTES])
        at += PROFILE_CODE_BYTES
        parts = []
        for size in (facts.name_bytes, facts.line_bytes, facts.code_bytes):
            parts.append(data[at : at + size])
            at += size
        if at > len(data):
            raise ValueError("a code of it was cut off")
        name, lines, code = parts
        found.append(Code(name.decode(errors="replace"), facts.lanes, code, decode(lines)))
        at = (at + 7) // 8 * 8
    return found


def _add(to: Samples, number: int, offset: int) -> None:
    if not 1 <= number <= len(to.codes):
        to.outside += 1
        return
    code = to.codes[number - 1]
    if offset == PROFILE_CALLED:
        code.called += 1
    elif offset < len(code.machine_code):
        code.samples[offset] += 1


def read_folder(folder: Path) -> list[Samples]:
    """The profiles in a folder, one for each process that used the driver."""
    return [read(path) for path in sorted(folder.glob("*.azprofile"))]
