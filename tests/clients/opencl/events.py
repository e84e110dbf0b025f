"""Events across the two APIs, in both directions, also when something fails or goes away early."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

import anyzero as az
from anyzero.interop import opencl
from tests.asleep import await_sleep_of_others
from tests.patience import PATIENCE

COMPLETE = cl.command_execution_status.COMPLETE
FAILED = -5


def until_complete(event: Any, timeout: float = PATIENCE) -> int:
    """The status of an OpenCL event once it has one; OpenCL itself waits without an end."""
    end = time.monotonic() + timeout
    while (status := int(event.command_execution_status)) > 0 and time.monotonic() < end:
        time.sleep(0.001)
    return status


def test_level_zero_waits_for_opencl(ctx: az.Context, cl_ctx: Any, cl_queue: Any) -> None:
    begin = cl.UserEvent(cl_ctx)
    theirs = cl.Buffer(cl_ctx, cl.mem_flags.READ_WRITE, 4096)
    filled = cl.enqueue_fill_buffer(cl_queue, theirs, np.uint8(3), 0, 4096, wait_for=[begin])
    mine, target = opencl.buffer(ctx, theirs), ctx.zeros(4096, np.uint8, kind="shared")
    event = opencl.event(ctx, filled)
    with ctx.immediate() as lst:
        copied = lst.copy(target, mine, wait=event)
        await_sleep_of_others()
        assert not event.done
        assert not copied.done
        begin.set_status(COMPLETE)
        copied.wait(timeout=PATIENCE)
    assert (np.asarray(target) == 3).all()
    event.wait(timeout=PATIENCE)


def test_what_is_complete_already(ctx: az.Context, cl_ctx: Any, cl_queue: Any) -> None:
    marker = cl.enqueue_marker(cl_queue)
    cl_queue.finish()
    opencl.event(ctx, marker).wait(timeout=PATIENCE)
    done = ctx.event()
    done.signal()
    assert until_complete(opencl.user_event(cl_ctx, done)) == COMPLETE


def test_opencl_waits_for_level_zero(ctx: az.Context, cl_ctx: Any, cl_queue: Any, program: Any) -> None:
    theirs = cl.Buffer(cl_ctx, cl.mem_flags.READ_WRITE, 4096)
    mine = opencl.buffer(ctx, theirs, dtype=np.uint32)
    begin = ctx.event()
    with ctx.immediate() as lst:
        filled = opencl.user_event(cl_ctx, lst.fill(mine, 5, wait=begin))
        args = (theirs, np.uint32(2), np.uint32(1))
        last = cl.Kernel(program, "advance")(cl_queue, (1024,), None, *args, wait_for=[filled])
        cl_queue.flush()
        await_sleep_of_others()
        assert int(last.command_execution_status) > 0
        begin.signal()
        last.wait()
    assert (np.asarray(mine) == 11).all()


def test_every_kind_of_completion(ctx: az.Context, cl_ctx: Any) -> None:
    with ctx.immediate(mode="synchronous") as lst:
        assert until_complete(opencl.user_event(cl_ctx, lst.barrier())) == COMPLETE
    with ctx.immediate() as lst:
        assert until_complete(opencl.user_event(cl_ctx, lst.barrier())) == COMPLETE
    with ctx.command_list() as cl_list:
        cl_list.barrier()
    with ctx.queue() as queue:
        fence = queue.submit(cl_list)
        with pytest.raises(az.InvalidArgument):
            opencl.user_event(cl_ctx, fence)


def test_many_at_a_time(ctx: az.Context, cl_ctx: Any) -> None:
    """Waiting for one does not block others, in any order."""
    events = ctx.events(20)
    theirs = [opencl.user_event(cl_ctx, event) for event in events]
    back = [opencl.event(ctx, event) for event in theirs]
    for event, end in zip(reversed(events), reversed(back), strict=True):
        assert not end.done
        event.signal()
        end.wait(timeout=PATIENCE)
    assert [until_complete(event) for event in theirs] == [COMPLETE] * 20


def test_a_failed_opencl_command(ctx: az.Context, cl_ctx: Any) -> None:
    begin = cl.UserEvent(cl_ctx)
    event = opencl.event(ctx, begin)
    x = ctx.zeros(1, np.int32, kind="shared")
    with ctx.immediate() as lst:
        done = lst.fill(x, 1, wait=event)
        begin.set_status(FAILED)
        done.wait(timeout=PATIENCE)
    with pytest.raises(az.Error, match="OpenCL command failed: OUT_OF_RESOURCES"):
        event.wait(timeout=PATIENCE)


def test_a_lost_device_fails_the_user_event(cl_ctx: Any, spirv: bytes) -> None:
    ctx = az.device().context()
    lst = ctx.immediate()
    bad = lst.launch(ctx.module(spirv)["advance"], 1 << 16, args=(None, 1, 1))
    theirs = opencl.user_event(cl_ctx, bad)
    on_pocl = cl_ctx.devices[0].platform.name == "Portable Computing Language"
    assert until_complete(theirs) == (COMPLETE if on_pocl else FAILED)
    with pytest.raises(az.DeviceLost):
        lst.synchronize()


def test_closed_early(ctx: az.Context, cl_ctx: Any) -> None:
    """The link lives on without the objects that it was made from."""
    begin, mine = cl.UserEvent(cl_ctx), ctx.event()
    for event in [opencl.event(ctx, begin) for _ in range(50)]:
        event.close()
        assert event.closed
    theirs = opencl.user_event(cl_ctx, mine)
    pointer = theirs.int_ptr
    again = cl.Event.from_int_ptr(pointer)
    del theirs
    gc.collect()
    begin.set_status(COMPLETE)
    mine.signal()
    assert until_complete(again) == COMPLETE
    with ctx.immediate() as lst:
        opencl.event(ctx, again).wait(timeout=PATIENCE)
        lst.barrier().wait(timeout=PATIENCE)


def test_links_need_no_interpreter(ctx: az.Context, cl_ctx: Any, cl_queue: Any) -> None:
    """A chain through both APIs completes while the only Python thread holds the GIL."""
    begin = ctx.event()
    last: Any = begin
    for _ in range(5):
        marker = cl.enqueue_marker(cl_queue, wait_for=[opencl.user_event(cl_ctx, last)])
        last = opencl.event(ctx, marker)
    assert not last.done
    sleep = ctypes.PyDLL(None).usleep
    query = ctypes.PyDLL(az.api.library.LIBRARY_PATH).zeEventQueryStatus
    query.argtypes = [ctypes.c_void_p]
    signal = ctypes.PyDLL(az.api.library.LIBRARY_PATH).zeEventHostSignal
    signal.argtypes = [ctypes.c_void_p]
    sys.setswitchinterval(1000)
    try:
        signal(begin.handle)
        for _ in range(100 * PATIENCE):
            if query(last.handle) == 0:
                break
            sleep(10_000)
        assert query(last.handle) == 0
    finally:
        sys.setswitchinterval(0.005)


def test_refusals(ctx: az.Context, cl_ctx: Any, cl_queue: Any) -> None:
    event = opencl.event(ctx, cl.enqueue_marker(cl_queue))
    with pytest.raises(az.InvalidArgument, match="cannot be reset"):
        event.reset()
    event.wait(timeout=PATIENCE)
    for wrong in (None, 3, ctx.event()):
        with pytest.raises(TypeError, match=r"pyopencl\.Event"):
            opencl.event(ctx, wrong)
    for wrong in (None, 3, cl.UserEvent(cl_ctx)):
        with pytest.raises(TypeError, match=r"anyzero\.Completion"):
            opencl.user_event(cl_ctx, wrong)
    with pytest.raises(TypeError, match=r"pyopencl\.Context"):
        opencl.user_event(ctx, ctx.event())
    with pytest.raises(TypeError, match=r"anyzero\.Context"):
        opencl.event(cl_ctx, cl.UserEvent(cl_ctx))
    gone = ctx.event()
    gone.close()
    with pytest.raises(az.ClosedError):
        opencl.user_event(cl_ctx, gone)


def test_foreign_contexts(ctx: az.Context, cl_ctx: Any, cl_queue: Any) -> None:
    """Commands of one OpenCL context cannot wait for events of another; through Level Zero they can."""
    other = cl.Context(cl_ctx.devices)
    elsewhere = cl.UserEvent(other)
    with pytest.raises(cl.Error):
        cl.enqueue_barrier(cl_queue, wait_for=[elsewhere])
    here = opencl.user_event(cl_ctx, opencl.event(ctx, elsewhere))
    marker = cl.enqueue_marker(cl_queue, wait_for=[here])
    cl_queue.flush()
    elsewhere.set_status(COMPLETE)
    assert until_complete(marker) == COMPLETE


PENDING = """
import pyopencl as cl, anyzero as az
from anyzero.interop import opencl
cl_ctx, ctx = cl.create_some_context(interactive=False), az.device().context()
never, nobody = cl.UserEvent(cl_ctx), ctx.event()
event, user_event = opencl.event(ctx, never), opencl.user_event(cl_ctx, nobody)
print("leaving", flush=True)
"""


def test_exit_waits_for_nothing() -> None:
    command = [sys.executable, "-c", PENDING]
    done = subprocess.run(command, env=os.environ, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout, done.stderr) == (0, "leaving\n", "")
