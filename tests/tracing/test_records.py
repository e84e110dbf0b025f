"""What a record of one cache line holds, and what does not fit into it."""

from __future__ import annotations

import ctypes
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.api.library import LIBRARY_PATH
from anyzero.layouts.trace import (
    TRACE_HEAD_BYTES,
    TRACE_HEAD_ROOM,
    TRACE_THREAD_BYTES,
    TraceHead,
    TraceQueue,
)
from anyzero.tracing.recording import Call, Recording, read
from tests.patience import PATIENCE


@az.kernel
def double(x: az.ptr[az.f32]) -> None:
    i = az.global_id(0)
    x[i] = x[i] + x[i]


@pytest.fixture
def ctx() -> Any:
    with az.device().context() as made:
        yield made


def calls(recording: Recording, name: str) -> list[Call]:
    return [each for each in recording.calls if each.name == name]


def traced(name: bytes, *types: Any) -> Any:
    """A function of the driver as the Python API calls it."""
    library = ctypes.CDLL(str(LIBRARY_PATH))
    library.zexTracedFunction.restype = ctypes.c_void_p
    return ctypes.CFUNCTYPE(*types)(library.zexTracedFunction(name))


@pytest.mark.parametrize("lines", [False, True])
def test_arguments_behind_the_fourth_are_recorded_where_they_are_not_zero(ctx: Any, lines: bool) -> None:
    pointer, number = ctypes.c_void_p, ctypes.c_uint32
    types = (number, *(pointer,) * 3, ctypes.c_size_t, pointer, number, pointer)
    copy = traced(b"zeCommandListAppendMemoryCopy", *types)
    x, y = (ctx.zeros(16, np.float32) for _ in range(2))
    before, after = ctx.event(), ctx.event()
    before.signal()
    waits = (pointer * 1)(before.handle)
    at = ctypes.addressof(waits)
    with ctx.immediate() as lst, az.trace(lines=lines) as recorded:
        for events in ((None, 0, None), (after.handle, 1, at), (None, 0, None)):
            assert copy(lst.handle, x.pointer, y.pointer, 64, *events) == 0
        lst.synchronize()
    found = calls(recorded.recording, "zeCommandListAppendMemoryCopy")
    names = ("size", "hSignalEvent", "numWaitEvents", "phWaitEvents")
    assert [tuple(each.arguments[name] for name in names) for each in found] == [
        (64, 0, 0, 0),
        (64, int(after.handle), 1, at),
        (64, 0, 0, 0),
    ]


def test_a_result_that_is_no_ze_result_is_recorded_whole() -> None:
    default_context = traced(b"zerGetDefaultContext", ctypes.c_void_p)
    with az.trace() as recorded:
        context = default_context()
    assert context is not None
    assert context > 1 << 32
    assert [each.result for each in calls(recorded.recording, "zerGetDefaultContext")] == [context]


def test_a_wait_that_finds_everything_done_is_an_instant(ctx: Any) -> None:
    event = ctx.event()
    event.signal()
    with az.trace(lines=False) as recorded:
        assert event.done  # as the first call of the thread, it prepares its ring, too
        event.wait()
        assert event.done
    assert [each.start == each.end for each in calls(recorded.recording, "zeEventHostSynchronize")] == [True]
    assert [each.start == each.end for each in calls(recorded.recording, "zeEventQueryStatus")] == [False, True]


def test_a_wait_that_waits_has_its_time(ctx: Any) -> None:
    event = ctx.event()
    with az.trace(lines=False) as recorded:
        waiting = threading.Thread(target=lambda: event.done or event.wait(PATIENCE))
        waiting.start()
        time.sleep(0.02)
        event.signal()
        waiting.join()
    waits = calls(recorded.recording, "zeEventHostSynchronize")
    assert waits[-1].result == 0
    assert max(each.end - each.start for each in waits) > 0


def test_a_wait_that_runs_commands_itself_has_their_time(ctx: Any) -> None:
    event = ctx.event()
    x = ctx.zeros(1 << 16, np.float32)
    with az.trace(lines=False) as recorded, ctx.immediate() as lst:
        lst.fill(x, 1, wait=event)  # cannot run within its own call
        event.signal()
        lst.synchronize()
    (fill,) = (each for each in recorded.recording.commands if each.kind == "fill")
    inside = [
        each
        for each in recorded.recording.calls
        if "Synchronize" in each.name and each.thread == fill.thread and each.start <= fill.start
    ]
    if fill.thread == threading.get_native_id():  # else the engine's thread was faster
        assert inside[-1].end >= fill.end


def test_a_refused_call_has_its_result(ctx: Any) -> None:
    types = (ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint64)
    synchronize = traced(b"zeCommandListHostSynchronize", *types)
    with az.trace(lines=False) as recorded:
        result = synchronize(None, 0)
    assert result
    assert [each.result for each in calls(recorded.recording, "zeCommandListHostSynchronize")] == [result]


def test_sizes_of_a_launch_keep_their_order(ctx: Any) -> None:
    x = ctx.zeros(10, np.float32)
    with az.trace() as recorded, ctx.immediate() as lst:
        double[10, 9, 4](x, on=lst, group=(5, 3, 2))
    (launch,) = (each for each in recorded.recording.commands if each.kind == "launch")
    assert (launch.groups, launch.group_size) == ((2, 3, 2), (5, 3, 2))


def test_a_queue_whose_row_another_has_taken_has_no_engine(ctx: Any, tmp_path: Path) -> None:
    library = ctypes.CDLL(str(LIBRARY_PATH))
    library.zexTraceStart.argtypes = ctypes.c_char_p, ctypes.c_uint64
    path = tmp_path / "recording"
    x = ctx.zeros(16, np.float32)
    assert library.zexTraceStart(str(path).encode(), 64) == 0
    try:
        with ctx.immediate() as lst:
            lst.fill(x, 0)
    finally:
        library.zexTraceStop()
    (fill,) = read(path).commands
    assert fill.device
    data = bytearray(path.read_bytes()[: 1 << 24])
    head = TraceHead.unpack(data[:TRACE_HEAD_BYTES])
    row = TRACE_HEAD_ROOM + head.thread_capacity * TRACE_THREAD_BYTES + fill.queue % head.queue_capacity * 32
    other = TraceQueue(fill.queue + head.queue_capacity, 7, 7, 0).pack()
    with path.open("r+b") as file:
        file.seek(row)
        file.write(other)
    (fill,) = read(path).commands
    assert (fill.engine, fill.device) == ((0, 0), 0)
