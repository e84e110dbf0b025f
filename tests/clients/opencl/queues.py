"""OpenCL queues that take turns with Level Zero: one order, without host waits."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

import anyzero as az
from anyzero.interop import opencl
from tests.asleep import await_sleep_of_others
from tests.patience import PATIENCE

COMPLETE = cl.command_execution_status.COMPLETE
SIZE = 1000


class Both:
    """A buffer that both sides have, and a kernel of each that makes x * factor + term of it."""

    def __init__(self, ctx: az.Context, queue: Any, program: Any, advance: az.Kernel) -> None:
        cl_ctx = queue.context
        self.theirs = cl.Buffer(cl_ctx, cl.mem_flags.READ_WRITE, 4 * SIZE)
        self.mine = opencl.buffer(ctx, self.theirs, dtype=np.uint32)
        self.mine.fill(1)
        self.expected = np.uint32(1)
        self._queue = queue
        self._kernel = cl.Kernel(program, "advance")
        self._advance = advance

    def in_opencl(self, factor: int, term: int) -> Any:
        self._expect(factor, term)
        args = (self.theirs, np.uint32(factor), np.uint32(term))
        return self._kernel(self._queue, (SIZE,), None, *args)

    def in_level_zero(self, lst: Any, factor: int, term: int) -> None:
        self._expect(factor, term)
        self._advance[SIZE](self.mine, factor, term, on=lst)

    def _expect(self, factor: int, term: int) -> None:
        with np.errstate(over="ignore"):
            self.expected = self.expected * np.uint32(factor) + np.uint32(term)

    @property
    def right(self) -> bool:
        return bool((np.asarray(self.mine) == self.expected).all())


@pytest.fixture
def both(ctx: az.Context, cl_queue: Any, program: Any, advance: az.Kernel) -> Both:
    return Both(ctx, cl_queue, program, advance)


def threads() -> int:
    """Of the whole process, not only Python's."""
    return sum(1 for _ in Path("/proc/self/task").iterdir())


def finish(queue: Any, timeout: float = PATIENCE) -> None:
    """OpenCL has no wait with an end, and a wrong order may well be a deadlock."""
    thread = threading.Thread(target=queue.finish, daemon=True)
    thread.start()
    thread.join(timeout)
    assert not thread.is_alive(), "the OpenCL queue hangs"


@pytest.mark.parametrize("mode", ["asynchronous", "synchronous"])
def test_ping_pong(ctx: az.Context, cl_queue: Any, both: Both, mode: Any) -> None:
    with opencl.queue(ctx, cl_queue, mode=mode) as shared:
        for turn in range(100):
            both.in_opencl(3, turn)
            with shared.turn() as lst:
                both.in_level_zero(lst, 5, turn + 1)
        finish(cl_queue)
        assert both.right


def test_a_read_of_opencl_sees_what_level_zero_wrote(ctx: az.Context, cl_queue: Any, both: Both) -> None:
    shared = opencl.queue(ctx, cl_queue)
    seen = np.empty(SIZE, np.uint32)
    for turn in range(20):
        with shared.turn() as lst:
            both.in_level_zero(lst, 7, turn)
            both.in_level_zero(lst, 3, turn)
        cl.enqueue_copy(cl_queue, seen, both.theirs)
        assert (seen == both.expected).all()
    shared.close()


def test_out_of_order_queues(ctx: az.Context, cl_ctx: Any, program: Any, advance: az.Kernel) -> None:
    mode = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
    queue = cl.CommandQueue(cl_ctx, properties=mode)
    both = Both(ctx, queue, program, advance)
    with opencl.queue(ctx, queue) as shared:
        for turn in range(50):
            both.in_opencl(3, turn)
            with shared.turn() as lst:
                both.in_level_zero(lst, 5, turn)
        finish(queue)
    assert both.right


def test_handing_over_waits_for_nothing(ctx: az.Context, cl_ctx: Any, cl_queue: Any, both: Both) -> None:
    begin = cl.UserEvent(cl_ctx)
    cl.enqueue_barrier(cl_queue, wait_for=[begin])
    shared = opencl.queue(ctx, cl_queue)
    before = threads()
    for turn in range(200):
        both.in_opencl(3, turn)
        with shared.turn() as lst:
            both.in_level_zero(lst, 5, turn)
    await_sleep_of_others()
    # Far ahead does not mean a thread for every turn.
    assert threads() < before + 10
    assert (np.asarray(both.mine) == 1).all()
    begin.set_status(COMPLETE)
    finish(cl_queue)
    assert both.right
    shared.close()


def test_a_synchronous_turn_is_done_when_it_ends(ctx: az.Context, cl_queue: Any, both: Both) -> None:
    shared = opencl.queue(ctx, cl_queue, mode="synchronous")
    both.in_opencl(3, 1)
    with shared.turn() as lst:
        assert both.right
        both.in_level_zero(lst, 3, 1)
    assert both.right
    shared.close()


def test_recorded_lists_take_part(ctx: az.Context, cl_queue: Any, both: Both) -> None:
    with ctx.command_list() as recorded:
        recorded.fill(both.mine, 6)
    with opencl.queue(ctx, cl_queue) as shared:
        both.in_opencl(3, 9)
        with shared.turn() as lst:
            lst.submit(recorded)
        both.expected = np.uint32(6)
        both.in_opencl(2, 1)
        finish(cl_queue)
        assert both.right


def test_two_shared_queues_in_two_threads(ctx: az.Context, cl_ctx: Any, program: Any, spirv: bytes) -> None:
    made = []
    for _ in range(2):
        queue = cl.CommandQueue(cl_ctx)
        made.append((queue, Both(ctx, queue, program, ctx.module(spirv)["advance"])))

    def play(queue: Any, both: Both) -> None:
        with opencl.queue(ctx, queue) as shared:
            for turn in range(50):
                both.in_opencl(3, turn)
                with shared.turn() as lst:
                    both.in_level_zero(lst, 5, turn)

    players = [threading.Thread(target=play, args=pair, daemon=True) for pair in made]
    for player in players:
        player.start()
    for player in players:
        player.join(PATIENCE)
    assert not any(player.is_alive() for player in players)
    for queue, both in made:
        finish(queue)
        assert both.right


def test_an_exception_ends_the_turn(ctx: az.Context, cl_queue: Any, both: Both) -> None:
    shared = opencl.queue(ctx, cl_queue)

    def fail() -> None:
        with shared.turn() as lst:
            both.in_level_zero(lst, 3, 1)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    both.in_opencl(5, 2)
    with shared.turn() as lst:
        both.in_level_zero(lst, 3, 1)
    finish(cl_queue)
    assert both.right
    shared.synchronize(timeout=PATIENCE)


def test_a_lost_device_fails_what_comes_after(cl_ctx: Any, spirv: bytes) -> None:
    """And hangs nothing."""
    ctx, queue = az.device().context(), cl.CommandQueue(cl_ctx)
    shared = opencl.queue(ctx, queue)
    begin = cl.UserEvent(cl_ctx)
    cl.enqueue_barrier(queue, wait_for=[begin])
    with shared.turn() as lst:
        ctx.module(spirv)["advance"][1 << 16](None, 1, 1, on=lst)
    last = cl.enqueue_marker(queue)
    queue.flush()
    begin.set_status(COMPLETE)
    deadline = time.monotonic() + PATIENCE
    while int(last.command_execution_status) > 0 and time.monotonic() < deadline:
        time.sleep(0.001)
    assert int(last.command_execution_status) <= 0
    with pytest.raises(az.DeviceLost):
        shared.synchronize(timeout=PATIENCE)
    with pytest.raises(az.DeviceLost), shared.turn():
        pass
    finish(queue)


def test_turns_are_taken_in_turn(ctx: az.Context, cl_queue: Any) -> None:
    shared = opencl.queue(ctx, cl_queue)
    with pytest.raises(az.InvalidArgument, match="not Level Zero's turn"):
        shared.release()
    assert shared.acquire() is shared.list
    with pytest.raises(az.InvalidArgument, match="turn already"):
        shared.acquire()
    shared.release()
    finish(cl_queue)
    shared.close()
    shared.close()
    assert shared.closed
    assert repr(shared) == "<SharedQueue, closed>"
    with pytest.raises(az.ClosedError):
        shared.acquire()


def test_refusals(ctx: az.Context, cl_ctx: Any, cl_queue: Any) -> None:
    for wrong in (None, cl_ctx, ctx.queue()):
        with pytest.raises(TypeError, match=r"pyopencl\.CommandQueue"):
            opencl.queue(ctx, wrong)
    with pytest.raises(TypeError, match=r"anyzero\.Context"):
        opencl.queue(cl_ctx, cl_queue)
    with pytest.raises(ValueError, match="one of asynchronous, synchronous"):
        opencl.queue(ctx, cl_queue, mode="lazy")
    closed = az.device().context()
    closed.close()
    with pytest.raises(az.ClosedError):
        opencl.queue(closed, cl_queue)
