"""Files that are no recordings, or were damaged."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyzero.layouts.trace import (
    TRACE_HEAD_BYTES,
    TRACE_HEAD_ROOM,
    TRACE_MAGIC,
    TRACE_QUEUE_BYTES,
    TRACE_RECORD_BYTES,
    TRACE_THREAD_BYTES,
    TraceHead,
    TraceThread,
)
from anyzero.mapped_files import DamagedFileError
from anyzero.tracing.recording import Recording, read, read_folder

RECORDS, THREADS, QUEUES, TEXTS = 8, 2, 4, 64


def whole(records: bytes = b"") -> bytearray:
    head = TraceHead(TRACE_MAGIC, 7, 1, 100, 200, 100, RECORDS, THREADS, 1, TEXTS, 9, 1, QUEUES)
    texts = TRACE_HEAD_ROOM + THREADS * TRACE_THREAD_BYTES + QUEUES * TRACE_QUEUE_BYTES
    data = bytearray(texts + TEXTS + THREADS * RECORDS * TRACE_RECORD_BYTES)
    data[:TRACE_HEAD_BYTES] = head.pack()
    data[TRACE_HEAD_ROOM : TRACE_HEAD_ROOM + TRACE_THREAD_BYTES] = TraceThread(7, RECORDS, b"main", 0, b"").pack()
    data[texts : texts + 9] = b"zeInit(f)"
    data[texts + TEXTS : texts + TEXTS + len(records)] = records
    return data


def attempt(folder: Path, data: bytes) -> Recording | None:
    path = folder / "recording"
    path.write_bytes(data)
    try:
        return read(path)
    except DamagedFileError:
        return None


def test_a_whole_one_is_read(tmp_path: Path) -> None:
    found = attempt(tmp_path, bytes(whole()))
    assert found is not None
    assert found.threads == {7: "main"}


@pytest.mark.parametrize("data", [b"", TRACE_MAGIC, b"{}" * 5000, bytes(whole())[:-1]])
def test_others_are_refused(tmp_path: Path, data: bytes) -> None:
    assert attempt(tmp_path, data) is None


def test_a_damaged_one_leaves_the_others(tmp_path: Path) -> None:
    """Of a process that was killed as it began its recording."""
    (tmp_path / "1.aztrace").write_bytes(bytes(len(whole())))
    (tmp_path / "2.aztrace").write_bytes(bytes(whole()))
    damaged: list[str] = []
    (found,) = read_folder(tmp_path, damaged.append)
    assert found.threads == {7: "main"}
    assert len(damaged) == 1
    assert "1.aztrace is not a recording" in damaged[0]


@given(
    records=st.binary(max_size=RECORDS * TRACE_RECORD_BYTES),
    changes=st.dictionaries(st.integers(8, TRACE_HEAD_BYTES - 1), st.integers(0, 255), max_size=6),
)
def test_damage_does_no_harm(tmp_path_factory: pytest.TempPathFactory, records: bytes, changes: dict[int, int]) -> None:
    data = whole(records)
    for at, value in changes.items():
        data[at] = value
    found = attempt(tmp_path_factory.getbasetemp(), bytes(data))
    assert found is None or len(found.calls) <= THREADS * RECORDS
