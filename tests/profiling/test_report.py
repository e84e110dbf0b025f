"""What a report makes of samples: lines, shares, and what limits a kernel."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyzero.compiler.line_table import LineTable, Place
from anyzero.driver.modules.lines import encode
from anyzero.layouts import profile as layout
from anyzero.profiling import report
from anyzero.profiling.samples import Code, DamagedProfileError, Samples, read

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


def test_calls_limit_a_kernel_that_does_little_else() -> None:
    assert report.kernels(samples(ADD * 4, {0: 40}, called=60))[0].limit == "calls"


def test_code_without_lines_is_shown_by_its_offset() -> None:
    profile = Samples(1, "timer", [Code("bare", 4, ADD * 40, samples=Counter({0: 3, 100: 9}))])
    assert [(line.function, line.samples) for line in report.kernels([profile])[0].lines] == [
        ("code + 0x40", 9),
        ("code + 0x0", 3),
    ]


def test_one_kernel_only_and_json() -> None:
    profile = Samples(1, "perf", [Code(name, 4, ADD, samples=Counter({0: 3})) for name in ("a", "b")])
    assert [cost.name for cost in report.kernels([profile], "b")] == ["b"]
    made = json.loads(json.dumps(report.as_json([profile])))
    assert made["samples"] == 6
    assert {kernel["name"] for kernel in made["kernels"]} == {"a", "b"}


def whole() -> bytearray:
    """A profile with one code, one thread, and a ring that has wrapped around."""
    lines, code = encode(LINES), ADD * 8
    packed = layout.ProfileCode(4, len(lines), len(code), 8).pack() + b"work" + lines + code
    packed += bytes(-len(packed) % 8)
    capacity, room = 4, 4096
    head = layout.ProfileHead(layout.PROFILE_MAGIC, 3, 1000, 1, capacity, 1, 1, room, len(packed), 0)
    data = bytearray(layout.PROFILE_HEAD_ROOM + layout.PROFILE_THREAD_BYTES + room + capacity * 8)
    data[: layout.PROFILE_HEAD_BYTES] = head.pack()
    at = layout.PROFILE_HEAD_ROOM
    data[at : at + layout.PROFILE_THREAD_BYTES] = layout.ProfileThread(9, 6, 100, 900, b"t", b"").pack()
    at += layout.PROFILE_THREAD_BYTES
    data[at : at + len(packed)] = packed
    for index, sample in enumerate((1 << 32 | 4, 1 << 32 | layout.PROFILE_CALLED, 0, 7 << 32 | 4)):
        data[at + room + index * 8 : at + room + index * 8 + 8] = sample.to_bytes(8, "little")
    return data


def test_a_profile_is_read(tmp_path: Path) -> None:
    (tmp_path / "p").write_bytes(whole())
    found = read(tmp_path / "p")
    assert (found.process, found.clock, found.outside, found.lost, found.busy_ns) == (3, "perf", 2, 2, 800)
    assert (found.codes[0].kernel, found.codes[0].samples, found.codes[0].called) == ("work", {4: 1}, 1)


@pytest.mark.parametrize("data", [b"", layout.PROFILE_MAGIC, b"{}" * 9000, bytes(whole())[:-1]])
def test_what_is_no_profile_is_refused(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "p").write_bytes(data)
    with pytest.raises(DamagedProfileError):
        read(tmp_path / "p")


@given(at=st.integers(0, len(whole()) - 1), value=st.integers(0, 255))
def test_a_damaged_profile_is_read_or_refused(at: int, value: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    data = whole()
    data[at] = value
    path = tmp_path_factory.getbasetemp() / "damaged.azprofile"
    path.write_bytes(data)
    with contextlib.suppress(DamagedProfileError):
        assert isinstance(read(path), Samples)
