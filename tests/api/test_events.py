"""Events, pools and waiting."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
import weakref
from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero import ze
from anyzero.api.memory import allocation
from tests.api.conftest import RunPython, child_environment
from tests.asleep import await_sleep, await_sleep_of_others
from tests.patience import PATIENCE


def test_the_host_signals_and_resets(ctx: az.Context) -> None:
    event = ctx.event()
    assert not event.done
    event.signal()
    event.signal()
    assert event.done
    event.wait()
    event.wait(timeout=0)
    event.reset()
    assert not event.done
    assert not event.timing


def test_a_wait_times_out(ctx: az.Context) -> None:
    event = ctx.event()
    for timeout in (0, 0.005, 0.15):
        began = time.monotonic()
        with pytest.raises(az.TimeoutError, match=f"not done after {timeout:g} seconds") as caught:
            event.wait(timeout=timeout)
        assert time.monotonic() - began >= timeout
        assert caught.value.function == "zeEventHostSynchronize"
    with pytest.raises(TimeoutError):
        event.wait(0)
    for wrong in (-1, float("nan")):
        with pytest.raises(ValueError, match="number of seconds"):
            event.wait(timeout=wrong)
    event.signal()
    event.wait(timeout=float("1e30"))


def test_another_thread_ends_a_wait(ctx: az.Context) -> None:
    event = ctx.event()
    waiter = threading.Thread(target=event.wait)
    waiter.start()
    await_sleep(waiter)
    assert not event.done
    event.signal()
    waiter.join(PATIENCE)
    assert not waiter.is_alive()


def test_threads_wait_without_the_gil(ctx: az.Context) -> None:
    event = ctx.event()
    woken: list[int] = []

    def sleep() -> None:
        event.wait()
        woken.append(threading.get_native_id())

    threads = [threading.Thread(target=sleep) for _ in range(4)]
    for thread in threads:
        thread.start()
    # They sleep, and this thread has the interpreter.
    for thread in threads:
        await_sleep(thread)
    assert not woken
    event.signal()
    for thread in threads:
        thread.join(timeout=PATIENCE)
    assert len(woken) == 4


def test_events_of_one_context_are_apart(ctx: az.Context) -> None:
    events = [ctx.event() for _ in range(150)]
    events[3].signal()
    events[149].signal()
    assert [index for index, event in enumerate(events) if event.done] == [3, 149]
    del events
    assert not any(ctx.event().done for _ in range(150))


def test_timing_measures_the_command(ctx: az.Context) -> None:
    event = ctx.event(timing=True)
    x = ctx.buffer(8 << 20)
    assert event.timing
    with pytest.raises(az.NotReady):
        _ = event.timestamps
    with ctx.immediate() as lst:
        before = ctx.device.timestamp().device
        lst.fill(x, 1, signal=event).wait(timeout=PATIENCE)
    times = event.timestamps
    assert before <= times.start < times.end <= ctx.device.timestamp().device
    assert event.kernel_ns == times.end - times.start
    with pytest.raises(az.InvalidHandle, match="carries no timestamps"):
        _ = ctx.event().kernel_ns


def test_a_pool_gives_the_same_event_every_time(ctx: az.Context) -> None:
    pool = ctx.event_pool(3, timing=True)
    assert len(pool) == 3
    assert pool[1] is pool[-2]
    assert pool[0].timing
    assert [event.index for event in pool] == [0, 1, 2]
    with pytest.raises(IndexError):
        pool[3]
    pool[2].signal()
    kept = pool[2]
    pool[1].close()
    assert not pool[1].done
    pool.close()
    assert kept.done
    with pytest.raises(az.ClosedError, match="this EventPool is closed"):
        pool[0]


def test_events_comes_as_several(ctx: az.Context) -> None:
    first, second, third = ctx.events(3)
    second.signal()
    assert [first.done, second.done, third.done] == [False, True, False]
    with pytest.raises(az.InvalidArgument):
        ctx.events(0)


def test_a_closed_event_says_so(ctx: az.Context) -> None:
    with ctx.event() as event:
        pass
    for use in (event.wait, event.signal, event.reset, lambda: event.done):
        with pytest.raises(az.ClosedError, match="this Event is closed"):
            use()


def test_an_event_that_closes_early_is_still_signalled(ctx: az.Context) -> None:
    go, x = ctx.event(), ctx.zeros(4, np.uint8)
    with ctx.immediate() as lst:
        early = ctx.event()
        lst.fill(x, 1, wait=go, signal=early)
        early.close()
        fresh = [ctx.event() for _ in range(70)]
        go.signal()
    assert x.copy_to().all()
    assert not any(event.done for event in fresh)


WAITS = {
    "event": "ctx.event().wait()",
    "event with a timeout": "ctx.event().wait(timeout=200)",
    "completion": "ctx.immediate().barrier(wait=ctx.event()).wait()",
    "list": "lst = ctx.immediate(); lst.barrier(wait=ctx.event()); lst.synchronize()",
    "fence": "ctx.queue().submit(blocked).wait()",
    "queue": "q = ctx.queue(); q.submit(blocked); q.synchronize()",
    "synchronous list": "ctx.immediate(mode='synchronous').wait(ctx.event())",
    "synchronous list, recorded": "ctx.immediate(mode='synchronous').submit(blocked)",
    "synchronous queue": "ctx.queue(mode='synchronous').submit(blocked)",
    "device": "q = ctx.queue(); q.submit(blocked); az.device().synchronize()",
}


def interrupt(program: str) -> str:
    """Run a program, press Ctrl-C when it says that it waits, and return what it says then."""
    # Background processes of a shell, and their children, ignore the signal.
    listening = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    child = subprocess.Popen(
        [sys.executable, "-c", listening + program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=child_environment(),
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "waiting\n"
        await_sleep_of_others(child.pid)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=PATIENCE)
    finally:
        child.kill()
    assert (err, child.returncode) == ("", 0)
    return out


@pytest.mark.parametrize("what", WAITS)
def test_control_c_interrupts_a_wait(what: str) -> None:
    program = f"""
import sys, anyzero as az
ctx = az.device().context()
with ctx.command_list() as blocked:
    blocked.wait(ctx.event())
print("waiting", flush=True)
try:
    {WAITS[what]}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    assert interrupt(program) == "interrupted\n"


@pytest.mark.parametrize("where", ["a list", "a queue"])
def test_what_control_c_leaves_running_keeps_what_it_uses(where: str) -> None:
    program = f"""
import gc, weakref
import numpy as np, anyzero as az
ctx = az.device().context()
go, x = ctx.event(), ctx.zeros(1 << 16, np.uint8)
array = np.full(1 << 16, 5, np.uint8)
gone = weakref.ref(array)
lst, queue = ctx.immediate(mode="synchronous"), ctx.queue(mode="synchronous")
with ctx.command_list() as cl:
    cl.copy(x, array, wait=go)
print("waiting", flush=True)
try:
    if {where == "a list"}:
        lst.copy(x, array, wait=go)
    else:
        queue.submit(cl)
except KeyboardInterrupt:
    pass
cl.close()
del array
gc.collect()
print(gone() is not None)
go.signal()
lst.barrier()
queue.synchronize()
lst.fill(x[:1], 6)
print(gone() is None, x.copy_to()[:2])
"""
    assert interrupt(program) == "True\nTrue [6 5]\n"


def test_a_copy_that_control_c_leaves_behind_keeps_what_it_uses(
    ctx: az.Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, array = ctx.zeros(1 << 16, np.uint8), np.full(1 << 16, 5, np.uint8)
    gone = weakref.ref(array)
    synchronize, calls = allocation._synchronize, list[int]()

    def interrupted(handle: int, timeout: int) -> int:
        calls.append(handle)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return ze.ZE_RESULT_NOT_READY if len(calls) == 2 else synchronize(handle, timeout)

    monkeypatch.setattr(allocation, "_synchronize", interrupted)
    try:
        x.copy_from(array)
    except KeyboardInterrupt:
        del array
    assert gone() is not None
    ctx.device.synchronize()
    ctx.immediate()
    assert gone() is None
    assert (x.copy_to() == 5).all()


def test_device_synchronize_waits_for_all_and_tells_of_faults(run_python: RunPython) -> None:
    source = """
    import threading
    device = az.device()
    ctx = device.context()
    x, go = ctx.zeros(4, np.uint8), ctx.event()
    ctx.immediate().fill(x, 1, wait=go)
    threading.Timer(0.15, go.signal).start()
    device.synchronize()
    assert x.copy_to().all()
    threads = [threading.Thread(target=device.synchronize) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    go.reset()
    lst = ctx.immediate()
    lst.copy(x, ctx.reserve(4096).buffer(4), wait=go)
    threading.Timer(0.15, go.signal).start()
    try:
        device.synchronize()
    except az.DeviceLost as error:
        print(error.function, "memory copy of 4 bytes" in error.detail)
    """
    assert run_python(source, ANYZERO_LOG="off") == "zeDeviceSynchronize True\n"


# How long a command took


@pytest.mark.parametrize("mode", ["asynchronous", "synchronous"])
def test_a_completion_knows_how_long_its_command_took(ctx: az.Context, mode: Any) -> None:
    x, y = ctx.zeros(1 << 16, np.uint8), ctx.zeros(1 << 16, np.uint8)
    with ctx.immediate(mode=mode, timing=True) as lst:
        done = [lst.copy(x, y) for _ in range(10)]
        lst.synchronize()
        assert all(each.kernel_ns > 0 for each in done)
        timed = ctx.event(timing=True)
        assert lst.copy(x, y, signal=timed) is timed
        timed.wait()
        assert timed.kernel_ns > 0


def test_before_its_end_nothing_is_known(ctx: az.Context) -> None:
    gate = ctx.event()
    with ctx.immediate(timing=True) as lst:
        done = lst.barrier(wait=gate)
        with pytest.raises(az.NotReady):
            _ = done.kernel_ns
        gate.signal()


def test_a_completion_without_timing_says_how_to_ask(ctx: az.Context) -> None:
    with ctx.immediate() as lst, ctx.immediate(mode="synchronous") as at_once:
        for done in (lst.barrier(), at_once.barrier(), ctx.queue().fence(signalled=True)):
            with pytest.raises(az.UnsupportedFeature, match="not measured") as caught:
                _ = done.kernel_ns
            assert "ctx.immediate(timing=True)" in caught.value.remedy
