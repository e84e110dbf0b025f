"""Waiting on the host: deadlines, many waiters, many queues that wait, and the order of service."""

from __future__ import annotations

import threading
import time
from ctypes import c_void_p

import pytest

from anyzero import ze
from tests.abi.appends import TIMED, stamps
from tests.abi.calls import COPY, FOREVER, NOT_READY, OK, SECOND, SOON, Calls, read, write
from tests.asleep import await_sleep, await_sleep_of_others
from tests.patience import PATIENCE


def test_timeouts_are_kept(az: Calls, context: c_void_p) -> None:
    """0 only looks; a short one and a long one are over when they say, whatever waits."""
    (gate,) = az.events(context, 1)
    queue, recorded, immediate = az.queue(context), az.list(context), az.immediate(context)
    az.barrier(recorded, None, [gate])
    az.close(recorded)
    fence = az.fence(queue)
    az.execute(queue, recorded, fence=fence)
    az.barrier(immediate, None, [gate])
    waits = (
        ("zeCommandQueueSynchronize", queue),
        ("zeFenceHostSynchronize", fence),
        ("zeCommandListHostSynchronize", immediate),
        ("zeEventHostSynchronize", gate),
    )
    for name, handle in waits:
        for timeout in (0, 1, 1_000_000, 100_000_000):
            began = time.monotonic()
            az.error(NOT_READY, name, handle, timeout)
            assert time.monotonic() - began >= timeout / SECOND, f"{name} {timeout}"
    az.ok("zeEventHostSignal", gate)
    for name, handle in waits:
        az.ok(name, handle, SOON)
        az.ok(name, handle, 0)


@pytest.mark.parametrize("timeout", [FOREVER, FOREVER - 1, 2**63, 2**63 - 1, 2**62])
def test_enormous_timeouts_neither_overflow_nor_return(az: Calls, context: c_void_p, timeout: int) -> None:
    (gate,) = az.events(context, 1)
    immediate = az.immediate(context)
    az.barrier(immediate, None, [gate])
    results = {}

    def wait(name: str, handle: c_void_p) -> None:
        results[name] = az.call(name, handle, timeout)

    threads = [
        threading.Thread(target=wait, args=("zeEventHostSynchronize", gate)),
        threading.Thread(target=wait, args=("zeCommandListHostSynchronize", immediate)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        await_sleep(thread)
    assert results == {}
    az.ok("zeEventHostSignal", gate)
    for thread in threads:
        thread.join(PATIENCE)
    assert set(results.values()) == {OK}


def test_a_long_wait_returns_in_time_although_the_queue_is_full(az: Calls, context: c_void_p) -> None:
    """A waiter lends itself to the work; it must not forget its own deadline over it."""
    queue, recorded = az.queue(context), az.list(context)
    (gate,) = az.events(context, 1)
    size = 64 << 20
    one, two = az.memory(context, size, "device"), az.memory(context, size, "device")
    for _ in range(50):
        az.copy(recorded, one, two, size)
    az.barrier(recorded, None, [gate])
    az.close(recorded)
    began = time.process_time()
    az.execute(queue, recorded)
    helped = time.thread_time()
    az.error(NOT_READY, "zeCommandQueueSynchronize", queue, SECOND // 1000)
    helped = time.thread_time() - helped
    az.ok("zeEventHostSignal", gate)
    az.ok("zeCommandQueueSynchronize", queue, FOREVER)
    # Processor time, so that it does not matter who else keeps the machine busy.
    assert helped < (time.process_time() - began) / 2
    for address in (one, two):
        az.ok("zeMemFree", context, address)


def test_waiting_for_the_first_does_not_mean_working_for_the_last(az: Calls, context: c_void_p) -> None:
    queue, recorded = az.queue(context), az.list(context)
    size = 32 << 20
    one, two = az.memory(context, size, "device"), az.memory(context, size, "device")
    for _ in range(4):
        az.copy(recorded, one, two, size)
    az.close(recorded)
    fence = az.fence(queue)
    busy, stop = threading.Event(), threading.Event()

    def keep_it_busy() -> None:
        last = az.fence(queue)
        while not stop.is_set():
            az.ok("zeFenceReset", last)
            for _ in range(4):
                az.execute(queue, recorded)
            az.execute(queue, recorded, fence=last)
            busy.set()
            while not stop.is_set() and az.call("zeFenceHostSynchronize", last, SECOND // 1000) == NOT_READY:
                az.execute(queue, recorded)

    az.execute(queue, recorded, fence=fence)
    thread = threading.Thread(target=keep_it_busy)
    thread.start()
    assert busy.wait(PATIENCE)
    timer = threading.Timer(PATIENCE / 4, stop.set)
    timer.start()
    az.ok("zeFenceHostSynchronize", fence, FOREVER)
    still_busy = not stop.is_set()
    stop.set()
    timer.cancel()
    thread.join()
    az.ok("zeCommandQueueSynchronize", queue, FOREVER)
    assert still_busy
    for address in (one, two):
        az.ok("zeMemFree", context, address)


def test_copy_queue_runs_beside_a_blocked_compute_queue(az: Calls, context: c_void_p) -> None:
    (gate,) = az.events(context, 1)
    compute, copy = az.immediate(context), az.immediate(context, ordinal=COPY)
    address = az.memory(context, 1 << 20)
    az.barrier(compute, None, [gate])
    az.fill(copy, address, 3, 1 << 20)
    az.ok("zeCommandListHostSynchronize", copy, SOON)
    assert read(address, 1 << 20) == b"\x03" * (1 << 20)
    az.error(NOT_READY, "zeCommandListHostSynchronize", compute, 0)
    # Another queue of the very same engine runs too: a wait parks the queue, not the engine.
    beside = az.immediate(context)
    az.fill(beside, address, 4, 1 << 20)
    az.ok("zeCommandListHostSynchronize", beside, SOON)
    az.ok("zeEventHostSignal", gate)
    az.ok("zeCommandListHostSynchronize", compute, SOON)


def test_device_synchronize_waits_for_everything(az: Calls, context: c_void_p) -> None:
    (gate,) = az.events(context, 1)
    queue, recorded = az.queue(context, ordinal=COPY), az.list(context, commandQueueGroupOrdinal=COPY)
    immediate, address = az.immediate(context), az.memory(context, 16)
    az.fill(recorded, address, 1, 8, None, [gate])
    az.close(recorded)
    az.execute(queue, recorded)
    az.fill(immediate, address + 8, 1, 8, None, [gate])
    done = threading.Event()

    def wait() -> None:
        az.ok("zeDeviceSynchronize", az.device)
        done.set()

    thread = threading.Thread(target=wait)
    thread.start()
    await_sleep(thread)
    assert not done.is_set()
    az.ok("zeEventHostSignal", gate)
    assert done.wait(PATIENCE)
    thread.join()
    assert read(address, 16) == b"\x01" * 16


def test_high_priority_overtakes(az: Calls, context: c_void_p) -> None:
    """The urgent list is submitted while most of the other is still to come, and is done before the other is."""
    low = az.queue(context, priority=ze.ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW)
    high = az.queue(context, priority=ze.ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH)
    size = 16 << 20
    one, two = az.memory(context, size, "device"), az.memory(context, size, "device")
    number, beginning = 50, OK
    # Where this thread stands still for as long as the copies take, more of them are needed.
    while beginning != NOT_READY:
        number *= 2
        early, last, urgent = az.events(context, 3, TIMED)
        slow, quick = az.list(context), az.list(context)
        for index in range(number):
            az.copy(slow, one, two, size, {number // 2: early, number - 1: last}.get(index))
        az.copy(quick, one, two, 1 << 20, urgent)
        az.close(slow, quick)
        az.execute(low, slow)
        az.execute(high, quick)
        beginning = az.call("zeEventQueryStatus", early)
        az.ok("zeCommandQueueSynchronize", low, SOON)
        az.ok("zeCommandQueueSynchronize", high, SOON)
    assert stamps(az, urgent)[1] < stamps(az, last)[1]
    for address in (one, two):
        az.ok("zeMemFree", context, address)


def test_many_blocked_queues_wake_up(az: Calls, context: c_void_p) -> None:
    """More than one sleep of the engine can watch."""
    number = 150
    gates, done = az.events(context, number), az.events(context, number)
    lists = [az.immediate(context, ordinal=index % 2) for index in range(number)]
    address = az.memory(context, number)
    write(address, bytes(number))
    for index, immediate in enumerate(lists):
        az.fill(immediate, address + index, 1, 1, done[index], [gates[index]])
    await_sleep_of_others()
    for index in reversed(range(number)):
        az.error(NOT_READY, "zeEventQueryStatus", done[index])
        az.ok("zeEventHostSignal", gates[index])
        az.ok("zeEventHostSynchronize", done[index], SOON)
    assert read(address, number) == b"\x01" * number
