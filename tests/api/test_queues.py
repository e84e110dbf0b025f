"""Queues and fences."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest

import anyzero as az
from tests.patience import PATIENCE


@pytest.fixture
def fill_one(ctx: az.Context) -> tuple[az.CommandList, az.Buffer]:
    x = ctx.zeros(16, np.uint8)
    with ctx.command_list() as cl:
        cl.fill(x, 1)
    return cl, x


def test_submit_returns_a_fence(ctx: az.Context, fill_one: tuple[az.CommandList, az.Buffer]) -> None:
    cl, x = fill_one
    queue = ctx.queue()
    fence = queue.submit(cl)
    assert isinstance(fence, az.Fence)
    assert fence.queue is queue
    fence.wait(timeout=PATIENCE)
    assert fence.done
    assert x.copy_to().all()


def test_a_fence_serves_many_submissions(ctx: az.Context, fill_one: tuple[az.CommandList, az.Buffer]) -> None:
    cl, _ = fill_one
    queue = ctx.queue()
    fence = queue.fence()
    for _ in range(5):
        assert not fence.done
        assert queue.submit(cl, fence=fence) is fence
        fence.wait(timeout=PATIENCE)
        fence.reset()
    assert queue.fence(signalled=True).done


def test_fences_of_their_own_are_not_mixed_up(ctx: az.Context) -> None:
    go = ctx.event()
    with ctx.command_list() as blocked:
        blocked.wait(go)
    with ctx.command_list() as empty:
        empty.barrier()
    queue = ctx.queue()
    for _ in range(10):
        queue.submit(empty).wait(timeout=PATIENCE)
    pending = [queue.submit(blocked) for _ in range(3)]
    queue.submit(empty)
    last = queue.submit(empty)
    assert not any(fence.done for fence in pending)
    assert not last.done
    with pytest.raises(az.TimeoutError, match="the submission was not done after 0 seconds"):
        last.wait(timeout=0)
    go.signal()
    last.wait(timeout=PATIENCE)
    assert all(fence.done for fence in pending)


def test_lists_of_one_submission_run_in_order(ctx: az.Context) -> None:
    x = ctx.zeros(4, np.int32)
    lists = []
    for value in range(4):
        with ctx.command_list() as cl:
            cl.fill(x[value:], value + 1)
        lists.append(cl)
    ctx.queue().submit(*lists).wait(timeout=PATIENCE)
    assert x.copy_to().tolist() == [1, 2, 3, 4]


def test_wrong_submissions_are_refused(ctx: az.Context, fill_one: tuple[az.CommandList, az.Buffer]) -> None:
    cl, _ = fill_one
    queue = ctx.queue()
    with pytest.raises(az.InvalidArgument, match="no command list"):
        queue.submit()
    with pytest.raises(az.InvalidHandle, match="another command queue"):
        queue.submit(cl, fence=ctx.queue().fence())
    cl.close()
    with pytest.raises(az.ClosedError, match="this CommandList is closed"):
        queue.submit(cl)
    queue.close()
    with pytest.raises(az.ClosedError, match="this CommandQueue is closed"):
        queue.fence()


@pytest.mark.parametrize("priority", ["low", "normal", "high"])
@pytest.mark.parametrize("mode", ["asynchronous", "synchronous"])
@pytest.mark.parametrize("kind", ["compute", "copy"])
def test_queues_of_every_sort(ctx: az.Context, kind: str, mode: str, priority: str) -> None:
    x = ctx.zeros(4, np.uint8)
    with ctx.command_list(kind=kind) as cl:  # type: ignore[arg-type]
        cl.fill(x, 3)
    with ctx.queue(kind=kind, mode=mode, priority=priority) as queue:  # type: ignore[arg-type]
        fence = queue.submit(cl)
        if mode == "synchronous":
            assert fence.done
    assert queue.closed
    assert x.copy_to().tolist() == [3] * 4


def test_wrong_words_are_refused(ctx: az.Context) -> None:
    with pytest.raises(ValueError, match="mode='async' is not one of asynchronous, synchronous"):
        ctx.queue(mode="async")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="priority='urgent'"):
        ctx.immediate(priority="urgent")  # type: ignore[arg-type]
    with pytest.raises(az.InvalidArgument, match="queue index 9"):
        ctx.queue(index=9)
    with pytest.raises(az.InvalidArgument, match="'render'"):
        ctx.queue(kind="render")  # type: ignore[arg-type]


def test_a_queue_group_names_the_queue(ctx: az.Context) -> None:
    group = ctx.device.queue_groups[1]
    assert ctx.queue(kind=group).group is group


def test_synchronize_times_out_and_goes_on(ctx: az.Context) -> None:
    go = ctx.event()
    with ctx.command_list() as cl:
        cl.wait(go)
    queue = ctx.queue()
    queue.submit(cl)
    with pytest.raises(az.TimeoutError, match=r"the queue was not done after 0\.01 seconds"):
        queue.synchronize(timeout=0.01)
    go.signal()
    queue.synchronize(timeout=PATIENCE)


def test_queues_keep_what_runs(ctx: az.Context) -> None:
    go = ctx.event()
    x = ctx.zeros(1 << 14, np.uint8)
    array = np.full(1 << 14, 4, np.uint8)
    gone = weakref.ref(array)
    with ctx.command_list() as cl:
        cl.copy(x, array, wait=go)
    del array
    queue = ctx.queue()
    fence = queue.submit(cl)
    cl.reset()
    cl.close()
    queue.close()
    del cl, queue
    gc.collect()
    assert gone() is not None
    go.signal()
    fence.wait(timeout=PATIENCE)
    assert (x.copy_to() == 4).all()
    del fence
    ctx.device.synchronize()
    ctx.queue()
    assert gone() is None


def test_many_threads_submit_to_one_queue(ctx: az.Context) -> None:
    x = ctx.zeros((8, 32), np.int32)
    queue = ctx.queue()
    failures: list[BaseException] = []

    def work(row: int) -> None:
        try:
            with ctx.command_list() as cl:
                cl.fill(x[row], row + 1)
            for _ in range(100):
                queue.submit(cl).wait(timeout=PATIENCE)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(row,)) for row in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert x.copy_to()[:, 0].tolist() == list(range(1, 9))


def test_two_threads_never_get_the_same_used_fence(
    ctx: az.Context, fill_one: tuple[az.CommandList, az.Buffer], monkeypatch: pytest.MonkeyPatch
) -> None:
    cl, _ = fill_one
    queue = ctx.queue()
    used = queue.submit(cl).handle  # a fence that only the queue holds
    queue.synchronize()
    query, other = type(queue)._query_mark, []

    def query_while_another_thread_submits(_: object, handle: int) -> int:
        monkeypatch.undo()
        other.append(queue.submit(cl))
        return int(query(handle))

    monkeypatch.setattr(type(queue), "_query_mark", query_while_another_thread_submits)
    mine = queue.submit(cl)
    assert other
    assert mine.handle == used != other[0].handle
    for each in (mine, *other):
        each.wait(timeout=PATIENCE)
