"""What a report makes of samples: lines, shares, and what limits a kernel."""

from __future__ import annotations

import contextlib
import json
import struct
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyzero.compiler.line_table import LineTable, Place
from anyzero.driver.modules.lines import encode
from anyzero.layouts import profile as layout
from anyzero.layouts.container import CounterKind, CounterPlace
from anyzero.mapped_files import DamagedFileError
from anyzero.profiling import report
from anyzero.profiling.samples import Code, LaneCount, Samples, read

LOAD, ADD, GATHER = (bytes.fromhex(text) for text in ("c5 fc 28 06", "c5 fc 58 c1", "c4 e2 6d 92 04 8e"))
LINES = LineTable(
    ((0, 1), (16, 2)), (Place("work", "k.py", 7, 1, "y = a + b", 0), Place("work", "k.py", 9, 1, "x = t[i]", 0))
)


def samples(code: bytes, counts: dict[int, int], *, called: int = 0) -> list[Samples]:
    held = Code("work", 8, code, LINES, Counter(counts), called)
    return [Samples(1, "perf", [held], outside=10, busy_ns=10**9)]


def test_lines_with_their_share_and_text() -> None:
    cost = report.kernels(samples(ADD * 4 + GATHER, {0: 30, 4: 30, 16: 40}))[0]
    assert [(line.line, line.samples, line.text) for line in cost.lines] == [
        (7, 60, "y = a + b"),
        (9, 40, "x = t[i]"),
    ]
    assert (cost.lines[0].gathers, cost.lines[1].gathers) == (0, 1)
    assert cost.seconds == pytest.approx(100 / 110)
    text = "\n".join(report.tables(samples(ADD * 4 + GATHER, {0: 30, 4: 30, 16: 40})))
    assert "60.0%  k.py:7  y = a + b" in text
    assert "[1 gathers]" in text


@pytest.mark.parametrize(
    ("code", "counts", "limit"),
    [
        (ADD * 8, dict.fromkeys(range(0, 32, 4), 20), "compute"),
        (LOAD + ADD * 9, {4: 95, 20: 5, 36: 5}, "memory"),  # the instruction behind the load waits for it
        (LOAD * 3 + ADD, {0: 30, 4: 30, 8: 30, 12: 30}, "memory"),  # nothing but moving data
        (GATHER + ADD * 4, {0: 60, 6: 60}, "gathers"),
        (LOAD + ADD + LOAD + ADD, {0: 30, 4: 30, 8: 30, 12: 30}, "not known"),  # loads everywhere, as in any loop
        (ADD * 8, {0: 5}, "not known"),
        (bytes.fromhex("c5 fc 5e c1") + ADD * 8, {4: 100}, "divisions"),
    ],
)
def test_what_limits_a_kernel(code: bytes, counts: dict[int, int], limit: str) -> None:
    assert report.kernels(samples(code, counts))[0].limit == limit


def counted(active: int) -> list[Samples]:
    """Eight lanes, of which so many are active at line 9, where the samples fall; all are at line 7."""
    profile = samples(ADD * 8, {16: 90, 0: 10})
    profile[0].codes[0].counts = [
        LaneCount(CounterKind.BLOCK, LINES.places[:1], 100, 800),
        LaneCount(CounterKind.BLOCK, LINES.places[1:], 1000, 1000 * active),
        LaneCount(CounterKind.GATHER, LINES.places[1:], 500, 500 * active),
    ]
    return profile


def test_active_lanes_of_lines() -> None:
    cost = report.kernels(counted(2))[0]
    assert [(line.line, line.active) for line in cost.lines] == [(9, 0.25), (7, 1.0)]
    assert cost.lines[0].executed == {"block": 1000, "gather": 500}
    assert (cost.active, cost.limit) == (pytest.approx(0.9 * 0.25 + 0.1), "divergence")
    assert "x = t[i]  [25% of lanes active, 500 gathers executed]" in "\n".join(report.tables(counted(2)))
    assert report.kernels(counted(7))[0].limit == "not known"


def test_lines_that_no_sample_fell_on_show_their_lanes() -> None:
    profile = counted(4)
    profile[0].codes[0].samples = Counter({16: 90})
    assert [(line.line, line.samples, line.active) for line in report.kernels(profile)[0].lines] == [
        (9, 90, 0.5),
        (7, 0, 1.0),
    ]


def test_a_sample_behind_a_slow_instruction_belongs_to_that() -> None:
    """As the increment of a loop behind a division: the processor reports the one or the other."""
    division = bytes.fromhex("c5 fc 5e c1")
    cost = report.kernels(samples(ADD * 3 + division + ADD * 4, {12: 20, 16: 70, 20: 10}))[0]
    assert [(line.line, line.samples) for line in cost.lines] == [(7, 90), (9, 10)]


def test_calls_limit_a_kernel_that_does_little_else() -> None:
    assert report.kernels(samples(ADD * 4, {0: 40}, called=60))[0].limit == "calls"


def test_code_without_lines_is_shown_by_its_offset() -> None:
    profile = Samples(1, "timer", [Code("bare", 4, ADD * 40, samples=Counter({0: 3, 100: 9}))])
    assert [(line.function, line.samples) for line in report.kernels([profile])[0].lines] == [
        ("code + 0x40", 9),
        ("code + 0x0", 3),
    ]


def test_a_kernel_without_samples_is_told_from_a_program_without() -> None:
    profile = Samples(1, "perf", [Code(name, 4, ADD, samples=Counter({0: 3})) for name in ("a", "b")])
    (text,) = report.tables([profile], only="c")
    assert text == "no samples in a kernel 'c'; there are some in a, b"


def test_one_kernel_only_and_json() -> None:
    profile = Samples(1, "perf", [Code(name, 4, ADD, samples=Counter({0: 3})) for name in ("a", "b")])
    assert [cost.name for cost in report.kernels([profile], "b")] == ["b"]
    made = json.loads(json.dumps(report.as_json([profile])))
    assert made["samples"] == 6
    assert {kernel["name"] for kernel in made["kernels"]} == {"a", "b"}


def whole() -> bytearray:
    """A profile with one code, one thread, and a ring that has wrapped around."""
    lines, code = encode(LINES), ADD * 8
    counters = b"".join(CounterPlace(*each).pack() for each in ((0, CounterKind.BLOCK, 1), (1, CounterKind.GATHER, 2)))
    packed = layout.ProfileCode(4, len(lines), len(counters), len(code), 8).pack() + b"work" + lines + counters + code
    packed += bytes(-len(packed) % 8)
    # Two threads have counted.
    counts = (layout.ProfileCounts(1, 2).pack() + struct.pack("<4Q", 10, 40, 3, 6)) * 2
    capacity, room, most = 4, 4096, 256
    sizes = room, len(packed), 0, most, len(counts), 0
    head = layout.ProfileHead(layout.PROFILE_MAGIC, 3, 1000, 1, capacity, 1, 1, *sizes)
    data = bytearray(layout.PROFILE_HEAD_ROOM + layout.PROFILE_THREAD_BYTES + room + most + capacity * 8)
    data[: layout.PROFILE_HEAD_BYTES] = head.pack()
    at = layout.PROFILE_HEAD_ROOM
    data[at : at + layout.PROFILE_THREAD_BYTES] = layout.ProfileThread(9, 6, 100, 900, b"t", b"").pack()
    at += layout.PROFILE_THREAD_BYTES
    data[at : at + len(packed)] = packed
    data[at + room : at + room + len(counts)] = counts
    at += most
    for index, sample in enumerate((1 << 32 | 4, 1 << 32 | layout.PROFILE_CALLED, 0, 7 << 32 | 4)):
        data[at + room + index * 8 : at + room + index * 8 + 8] = sample.to_bytes(8, "little")
    return data


def test_a_profile_is_read(tmp_path: Path) -> None:
    (tmp_path / "p").write_bytes(whole())
    found = read(tmp_path / "p")
    assert (found.process, found.clock, found.outside, found.lost, found.busy_ns) == (3, "perf", 2, 2, 800)
    assert (found.codes[0].kernel, found.codes[0].samples, found.codes[0].called) == ("work", {4: 1}, 1)
    block, gather = found.codes[0].counts
    assert (block.kind, block.places, block.executions, block.lanes) == (CounterKind.BLOCK, LINES.places[:1], 20, 80)
    assert (gather.kind, gather.places) == (CounterKind.GATHER, LINES.places[1:])
    assert (gather.executions, gather.lanes) == (6, 12)


@pytest.mark.parametrize("data", [b"", layout.PROFILE_MAGIC, b"{}" * 9000, bytes(whole())[:-1]])
def test_what_is_no_profile_is_refused(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "p").write_bytes(data)
    with pytest.raises(DamagedFileError):
        read(tmp_path / "p")


@given(at=st.integers(0, len(whole()) - 1), value=st.integers(0, 255))
def test_a_damaged_profile_is_read_or_refused(at: int, value: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    data = whole()
    data[at] = value
    path = tmp_path_factory.getbasetemp() / "damaged.azprofile"
    path.write_bytes(data)
    with contextlib.suppress(DamagedFileError):
        assert isinstance(read(path), Samples)
