"""Lists and queues hold what their commands use while these run, and not much longer, so that loops do not run out."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import anyzero as az
from tests.api.conftest import RunPython
from tests.patience import PATIENCE

ROUNDS = 300
SIZE = 1 << 20
SLACK = 16 * SIZE


@pytest.fixture
def growth() -> Iterator[Callable[[], int]]:
    """Bytes of device memory allocated since the test began. Reference counting must free it, without a collector."""
    gc.collect()
    gc.disable()
    free = az.device().memory_free
    yield lambda: free - az.device().memory_free
    gc.enable()


def big(ctx: az.Context) -> az.Buffer:
    return ctx.buffer(SIZE)


Step = Callable[[az.ImmediateCommandList, az.Buffer, az.Buffer, az.Event], object]

STEPS: dict[str, Step] = {
    "its completion is waited for": lambda lst, to, tmp, _: lst.copy(to, tmp).wait(timeout=PATIENCE),
    "its event is waited for": lambda lst, to, tmp, event: (
        lst.copy(to, tmp, signal=event),
        event.wait(timeout=PATIENCE),
        event.reset(),
    ),
    "the list is synchronized": lambda lst, to, tmp, _: (lst.copy(to, tmp), lst.synchronize(timeout=PATIENCE)),
    "a later command is waited for": lambda lst, to, tmp, _: (
        lst.copy(to, tmp),
        lst.fill(to[:8], 0),
        lst.barrier().wait(timeout=PATIENCE),
    ),
    "its completion is polled": lambda lst, to, tmp, _: until(lst.copy(to, tmp)),
    "a small part is used": lambda lst, to, tmp, _: lst.copy(to[:8], tmp[:8]).wait(timeout=PATIENCE),
}


def until(completion: az.Completion) -> None:
    while not completion.done:
        pass


@pytest.mark.parametrize("how", STEPS)
def test_an_immediate_list_lets_go_when(ctx: az.Context, growth: Callable[[], int], how: str) -> None:
    lst, to, event = ctx.immediate(), big(ctx), ctx.event()
    for _ in range(ROUNDS):
        STEPS[how](lst, to, big(ctx), event)
        assert growth() < SLACK
    assert growth() <= 3 * SIZE


def test_a_list_lets_go_without_any_wait(ctx: az.Context, growth: Callable[[], int]) -> None:
    copies, lst, to = ctx.immediate(kind="copy"), ctx.immediate(), big(ctx)
    for _ in range(ROUNDS):
        copied = copies.copy(to, big(ctx))
        lst.fill(to, 1, wait=copied).wait(timeout=PATIENCE)
        assert growth() < SLACK


def test_a_list_that_is_never_idle_lets_go_too(ctx: az.Context, growth: Callable[[], int]) -> None:
    lst, to = ctx.immediate(), big(ctx)
    before = ctx.event()
    first = lst.copy(to, big(ctx), wait=before)
    for _ in range(ROUNDS):
        gate = ctx.event()
        second = lst.copy(to, big(ctx), wait=gate)
        before.signal()
        first.wait(timeout=PATIENCE)
        with pytest.raises(az.TimeoutError):
            lst.synchronize(timeout=0)
        first, before = second, gate
        assert growth() < SLACK
    before.signal()
    lst.synchronize(timeout=PATIENCE)
    assert growth() <= 3 * SIZE


def recorded(
    ctx: az.Context, to: az.Buffer, wait: az.Event | None = None, signal: az.Event | None = None
) -> az.CommandList:
    with ctx.command_list() as cl:
        cl.copy(to, big(ctx), wait=wait, signal=signal)
    return cl


def test_a_queue_lets_go_when_a_fence_is_waited_for(ctx: az.Context, growth: Callable[[], int]) -> None:
    queue, to = ctx.queue(), big(ctx)
    fence = queue.fence()
    for _ in range(ROUNDS // 2):
        queue.submit(recorded(ctx, to)).wait(timeout=PATIENCE)
        queue.submit(recorded(ctx, to), fence=fence)
        until(fence)
        fence.reset()
        assert growth() < SLACK
    assert growth() <= 3 * SIZE


def test_a_queue_that_is_never_idle_lets_go_too(ctx: az.Context, growth: Callable[[], int]) -> None:
    queue, to = ctx.queue(), big(ctx)
    before, first = ctx.events(2)
    queue.submit(recorded(ctx, to, before, first))
    for _ in range(ROUNDS):
        gate, second = ctx.events(2)
        queue.submit(recorded(ctx, to, gate, second))
        before.signal()
        first.wait(timeout=PATIENCE)
        with pytest.raises(az.TimeoutError):
            queue.synchronize(timeout=0)
        first, before = second, gate
        assert growth() < SLACK
    before.signal()
    queue.synchronize(timeout=PATIENCE)
    assert growth() <= 3 * SIZE


def test_a_fence_that_was_signalled_already_frees_nothing_that_runs(ctx: az.Context) -> None:
    go, to = ctx.event(), ctx.zeros(SIZE, np.uint8)
    array = np.full(SIZE, 6, np.uint8)
    gone = weakref.ref(array)
    with ctx.command_list() as cl:
        cl.copy(to, array, wait=go)
    del array
    queue = ctx.queue()
    queue.submit(cl, fence=queue.fence(signalled=True)).wait(timeout=PATIENCE)
    cl.close()
    del cl
    assert gone() is not None
    go.signal()
    queue.synchronize(timeout=PATIENCE)
    assert gone() is None
    assert (to.copy_to() == 6).all()


def test_an_event_that_the_host_signals_frees_nothing_that_runs(ctx: az.Context) -> None:
    go, done = ctx.events(2)
    to = ctx.zeros(SIZE, np.uint8)
    array = np.full(SIZE, 6, np.uint8)
    gone = weakref.ref(array)
    lst = ctx.immediate()
    lst.copy(to, array, wait=go, signal=done)
    del array
    done.signal()
    done.wait(timeout=PATIENCE)
    assert gone() is not None
    go.signal()
    lst.synchronize(timeout=PATIENCE)
    assert gone() is None
    assert (to.copy_to() == 6).all()


def test_small_things_are_let_go_of_now_and_then(ctx: az.Context) -> None:
    x, lst, queue = ctx.zeros(8, np.uint8), ctx.immediate(), ctx.queue()
    for _ in range(20):
        for _ in range(100):
            lst.copy(x, np.zeros(8, np.uint8))
        lst.barrier().wait(timeout=PATIENCE)
        assert len(lst.held) <= 200
    lst.synchronize()
    assert not lst.held
    with ctx.command_list() as same:
        same.fill(x, 1)
    for _ in range(300):
        queue.submit(same)
        with ctx.command_list() as other:
            other.fill(x, 2)
        queue.submit(other).wait()
        assert len(queue.held) <= 200
    queue.synchronize()
    assert not queue.held


def test_lists_let_go_of_nothing_that_other_threads_still_use(ctx: az.Context) -> None:
    lst, failures = ctx.immediate(), list[BaseException]()

    def work(value: int) -> None:
        try:
            target = np.zeros(SIZE // 4, np.uint8)
            for turn in range(40):
                array = np.full(SIZE // 4, (value + turn) % 256, np.uint8)
                lst.copy(target, array)
                del array
                lst.barrier().wait(timeout=PATIENCE)
                assert (target == (value + turn) % 256).all()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(value,)) for value in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    lst.synchronize()
    assert not lst.held


def test_a_completion_that_outlives_the_module_is_silent(run_python: RunPython) -> None:
    """At the end of an interpreter, names of modules stand for None while objects still go."""
    program = """
        from anyzero.api import immediate

        ctx = az.device().context()
        commands = ctx.immediate()
        done = commands.fill(ctx.zeros(4, np.float32), 1)
        done.wait()
        commands.close()
        vars(immediate).update(dict.fromkeys(name for name in vars(immediate) if not name.startswith("__")))
        del commands, done
    """
    assert run_python(program, stderr=True) == ""
