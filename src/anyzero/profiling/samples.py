"""A profile as the engine wrote it: samples of each code of a kernel, with their source lines.

`spec/layouts.toml` describes the file. It is read after its process wrote it, and may be damaged: a file that is no
profile is refused, and samples that make no sense are left out.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from anyzero import mapped_files
from anyzero.compiler.line_table import NO_LINES, LineTable, Place
from anyzero.driver.modules.lines import decode, decode_counters
from anyzero.layouts.container import CounterKind, CounterPlace
from anyzero.layouts.kernel import COUNTER_BYTES
from anyzero.layouts.profile import (
    PROFILE_CALLED,
    PROFILE_CODE_BYTES,
    PROFILE_COUNTS_BYTES,
    PROFILE_HEAD_BYTES,
    PROFILE_HEAD_ROOM,
    PROFILE_MAGIC,
    PROFILE_THREAD_BYTES,
    ProfileClock,
    ProfileCode,
    ProfileCounts,
    ProfileHead,
    ProfileThread,
)
from anyzero.mapped_files import FileBytes

__all__ = ["Code", "LaneCount", "Samples", "read", "read_folder"]


@dataclass(slots=True)
class LaneCount:
    """A counter of a kernel: executions of a block, or of an access, by vectors."""

    kind: CounterKind
    places: tuple[Place | None, ...]
    """The source places that it belongs to."""
    executions: int = 0
    lanes: int = 0
    """Active lanes, summed over all executions: so many work-items were there."""


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
    counts: list[LaneCount] = field(default_factory=list, repr=False)
    """Of all threads together; empty for code that counts nothing."""

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
    """Read the file of a profile; raise :class:`anyzero.mapped_files.DamagedFileError` where it is none."""
    return mapped_files.read(path, "profile", _read)


def _read(data: FileBytes) -> Samples:
    head = ProfileHead.unpack(data[:PROFILE_HEAD_BYTES])
    if head.magic != PROFILE_MAGIC:
        raise ValueError("it begins with other bytes")
    codes_at = PROFILE_HEAD_ROOM + head.thread_capacity * PROFILE_THREAD_BYTES
    counts_at = codes_at + head.code_capacity
    rings_at = counts_at + head.count_capacity
    too_long = head.code_bytes > head.code_capacity or head.count_bytes > head.count_capacity
    if rings_at + head.thread_capacity * head.sample_capacity * 8 > len(data) or too_long:
        raise ValueError("it was cut off")
    clock = ProfileClock(head.clock).name.lower() if head.clock in list(ProfileClock) else ""
    made = Samples(head.process, clock, _codes(data[codes_at : codes_at + head.code_bytes]))
    _count(made.codes, data[counts_at : counts_at + head.count_bytes])
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
        for size in (facts.name_bytes, facts.line_bytes, facts.counter_bytes, facts.code_bytes):
            parts.append(data[at : at + size])
            at += size
        if at > len(data):
            raise ValueError("a code of it was cut off")
        name, lines, counters, code = parts
        table = decode(lines)
        counts = _counters(decode_counters(counters), table)
        found.append(Code(name.decode(errors="replace"), facts.lanes, code, table, counts=counts))
        at = (at + 7) // 8 * 8
    return found


def _counters(rows: Sequence[CounterPlace], table: LineTable) -> list[LaneCount]:
    """The counters by their number, all at zero. Each has a row for each of its places, and at least one."""
    found = [LaneCount(CounterKind.BLOCK, ()) for _ in {row.counter for row in rows}]
    for row in rows:
        if row.counter >= len(found) or row.kind not in list(CounterKind) or row.place > len(table.places):
            raise ValueError("a counter of it is of no known number, kind or place")
        place = table.places[row.place - 1] if row.place else None
        found[row.counter].kind = CounterKind(row.kind)
        found[row.counter].places += (place,)
    return found


def _count(codes: list[Code], data: bytes) -> None:
    """Adds the counts of all threads to their codes."""
    at = 0
    while at < len(data):
        facts = ProfileCounts.unpack(data[at : at + PROFILE_COUNTS_BYTES])
        at += PROFILE_COUNTS_BYTES
        if facts.counters * COUNTER_BYTES > len(data) - at:
            raise ValueError("the counts of it were cut off")
        counts = codes[facts.code - 1].counts if 1 <= facts.code <= len(codes) else []
        numbers = struct.iter_unpack("<2Q", data[at : at + facts.counters * COUNTER_BYTES])
        for each, (executions, lanes) in zip(counts, numbers, strict=False):
            each.executions += executions
            each.lanes += lanes
        at += facts.counters * COUNTER_BYTES


def _add(to: Samples, number: int, offset: int) -> None:
    if not 1 <= number <= len(to.codes):
        to.outside += 1
        return
    code = to.codes[number - 1]
    if offset == PROFILE_CALLED:
        code.called += 1
    elif offset < len(code.machine_code):
        code.samples[offset] += 1


def read_folder(folder: Path, damaged: Callable[[str], None]) -> list[Samples]:
    """The profiles in a folder, one for each process that used the driver."""
    return mapped_files.read_all(folder.glob("*.azprofile"), read, damaged)
