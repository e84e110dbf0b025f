"""Events and pools: binary ones, counting ones, and what they remember of time."""

from __future__ import annotations

import threading
from ctypes import addressof, byref, c_uint32, c_uint64, c_void_p

import pytest

from anyzero import ze
from tests.abi.appends import stamps
from tests.abi.calls import (
    COPY,
    INVALID_ARGUMENT,
    INVALID_ENUMERATION,
    INVALID_NULL_HANDLE,
    INVALID_SIZE,
    INVALID_SYNC,
    NOT_READY,
    OK,
    SECOND,
    SOON,
    SYNCHRONOUS,
    Calls,
    handles,
    read,
    write,
)
from tests.asleep import await_sleep
from tests.patience import PATIENCE
from tests.thorough import examples

VISIBLE = ze.ZE_EVENT_POOL_FLAG_HOST_VISIBLE
TIMED = VISIBLE | ze.ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP
MAPPED = VISIBLE | ze.ZE_EVENT_POOL_FLAG_KERNEL_MAPPED_TIMESTAMP


def test_pool_and_event_remember_what_they_are(az: Calls, context: c_void_p) -> None:
    pool = az.pool(context, 3, TIMED)
    assert az.query("zeEventPoolGetFlags", c_uint32, pool) == TIMED
    assert az.query("zeEventPoolGetContextHandle", c_void_p, pool) == context.value
    for signal in range(8):
        event = az.event(pool, 1, signal, 7 - signal)
        assert az.query("zeEventGetSignalScope", c_uint32, event) == signal
        assert az.query("zeEventGetWaitScope", c_uint32, event) == 7 - signal
        assert az.query("zeEventGetEventPool", c_void_p, event) == pool.value
        az.ok("zeEventDestroy", event)
    out = c_void_p()
    for index in (3, 4, 2**32 - 1):
        desc = ze.ze_event_desc_t(index=index)
        az.error(INVALID_ARGUMENT, "zeEventCreate", pool, byref(desc), byref(out))
    for fields in ({"signal": 8}, {"wait": 8}, {"signal": 2**31}):
        az.error(INVALID_ENUMERATION, "zeEventCreate", pool, byref(ze.ze_event_desc_t(**fields)), byref(out))
    az.ok("zeEventPoolDestroy", pool)
    az.error(INVALID_NULL_HANDLE, "zeEventPoolDestroy", pool)


def test_bad_pools(az: Calls, context: c_void_p) -> None:
    out = c_void_p()
    create = "zeEventPoolCreate"
    az.error(INVALID_SIZE, create, context, byref(ze.ze_event_pool_desc_t(count=0)), 0, None, byref(out))
    az.error(INVALID_SIZE, create, context, byref(ze.ze_event_pool_desc_t(count=1)), 1, None, byref(out))
    az.error(
        INVALID_ENUMERATION, create, context, byref(ze.ze_event_pool_desc_t(count=1, flags=16)), 0, None, byref(out)
    )
    assert az.call(create, context, byref(ze.ze_event_pool_desc_t(count=2**32 - 1)), 0, None, byref(out)) != OK
    both = ze.ze_event_pool_desc_t(count=1, flags=TIMED | MAPPED)
    az.error(INVALID_ARGUMENT, create, context, byref(both), 0, None, byref(out))
    az.ok(create, context, byref(ze.ze_event_pool_desc_t(count=1)), 1, handles([az.device]), byref(out))
    big = az.pool(context, 100_000)
    event = az.event(big, 99_999)
    az.ok("zeEventHostSignal", event)
    az.ok("zeEventQueryStatus", event)


def test_host_signals_and_resets(az: Calls, context: c_void_p) -> None:
    one, two = az.events(context, 2)
    az.error(NOT_READY, "zeEventQueryStatus", one)
    az.error(NOT_READY, "zeEventHostSynchronize", one, 0)
    az.ok("zeEventHostSignal", one)
    az.ok("zeEventHostSignal", one)
    az.ok("zeEventQueryStatus", one)
    az.ok("zeEventHostSynchronize", one, 0)
    az.error(NOT_READY, "zeEventQueryStatus", two)
    az.ok("zeEventHostReset", one)
    az.ok("zeEventHostReset", one)
    az.error(NOT_READY, "zeEventQueryStatus", one)
    az.ok("zeEventDestroy", one)
    for name in ("zeEventHostSignal", "zeEventHostReset", "zeEventQueryStatus", "zeEventDestroy"):
        az.error(INVALID_NULL_HANDLE, name, one)


def test_a_new_event_at_an_old_place_is_fresh(az: Calls, context: c_void_p) -> None:
    pool = az.pool(context, 1)
    for _ in range(100):
        event = az.event(pool)
        az.error(NOT_READY, "zeEventQueryStatus", event)
        az.ok("zeEventHostSignal", event)
        az.ok("zeEventDestroy", event)


@pytest.mark.parametrize("flags", [VISIBLE, VISIBLE | ze.ZE_EVENT_POOL_FLAG_IPC])
def test_a_new_event_is_fresh_however_soon(az: Calls, context: c_void_p, flags: int) -> None:
    """Events destroyed when signalled and recreated at the same index, while the engine may still use them."""
    pool = az.pool(context, 1, flags)
    immediate, room = az.immediate(context, ordinal=COPY), az.memory(context, 1 << 16)
    for _ in range(examples(250, 700)):
        event = az.event(pool)
        az.error(NOT_READY, "zeEventQueryStatus", event)
        az.fill(immediate, room, 1, 1 << 16, event)
        while az.call("zeEventQueryStatus", event) == NOT_READY:
            pass
        az.ok("zeEventDestroy", event)


def test_an_event_destroyed_in_use_does_not_signal_the_next_in_its_place(az: Calls, context: c_void_p) -> None:
    (gate,) = az.events(context, 1)
    pool, immediate = az.pool(context, 1), az.immediate(context)
    old = az.event(pool)
    az.barrier(immediate, old, [gate])
    az.ok("zeEventDestroy", old)
    new = az.event(pool)
    az.ok("zeEventHostSignal", gate)
    az.ok("zeCommandListHostSynchronize", immediate, SOON)
    az.error(NOT_READY, "zeEventQueryStatus", new)


def test_events_outlive_their_pool(az: Calls, context: c_void_p) -> None:
    pool = az.pool(context, 2)
    event, immediate = az.event(pool), az.immediate(context)
    az.ok("zeEventPoolDestroy", pool)
    az.barrier(immediate, event)
    az.ok("zeEventHostSynchronize", event, SOON)


def test_device_signals_waits_and_resets(az: Calls, context: c_void_p) -> None:
    for ordinal in (0, COPY):
        one, two, three = az.events(context, 3)
        immediate = az.immediate(context, ordinal=ordinal)
        az.ok("zeCommandListAppendWaitOnEvents", immediate, 2, handles([one, two]))
        az.ok("zeCommandListAppendEventReset", immediate, one)
        az.ok("zeCommandListAppendSignalEvent", immediate, three)
        az.ok("zeEventHostSignal", one)
        az.error(NOT_READY, "zeEventHostSynchronize", three, SECOND // 50)
        az.ok("zeEventHostSignal", two)
        az.ok("zeEventHostSynchronize", three, SOON)
        az.error(NOT_READY, "zeEventQueryStatus", one)
        az.ok("zeEventQueryStatus", two)


def test_ping_pong_between_engines(az: Calls, context: c_void_p) -> None:
    """Recorded once, replayed: each side waits for the other and resets what it waited for."""
    ping, pong = az.events(context, 2)
    compute, copy = az.queue(context), az.queue(context, ordinal=COPY)
    left, right = az.list(context), az.list(context, commandQueueGroupOrdinal=COPY)
    row = az.memory(context, 64)
    write(row, b"\x01" + bytes(63))
    for index in range(0, 62, 2):
        az.copy(left, row + index + 1, row + index, 1, ping)
        az.ok("zeCommandListAppendWaitOnEvents", left, 1, handles([pong]))
        az.ok("zeCommandListAppendEventReset", left, pong)
        az.ok("zeCommandListAppendWaitOnEvents", right, 1, handles([ping]))
        az.ok("zeCommandListAppendEventReset", right, ping)
        az.copy(right, row + index + 2, row + index + 1, 1, pong)
    az.close(left, right)
    for _ in range(20):
        write(row, b"\x01" + bytes(63))
        az.execute(copy, right)
        az.execute(compute, left)
        az.finish(compute)
        az.finish(copy)
        assert read(row, 64) == b"\x01" * 63 + b"\x00"


def test_waits_across_many_lists(az: Calls, context: c_void_p) -> None:
    """A chain through 40 immediate lists on both engines, appended from the end to the beginning."""
    number = 40
    events = az.events(context, number + 1)
    lists = [az.immediate(context, ordinal=index % 2) for index in range(number)]
    row = az.memory(context, number + 1)
    write(row, b"\x09" + bytes(number))
    for index in reversed(range(number)):
        az.copy(lists[index], row + index + 1, row + index, 1, events[index + 1], [events[index]])
    az.error(NOT_READY, "zeEventQueryStatus", events[number])
    az.ok("zeEventHostSignal", events[0])
    az.ok("zeEventHostSynchronize", events[number], SOON)
    assert read(row, number + 1) == b"\x09" * (number + 1)


def test_one_event_in_many_waits_and_one_wait_for_many_events(az: Calls, context: c_void_p) -> None:
    events = az.events(context, 200)
    immediate, done = az.immediate(context), az.events(context, 1)[0]
    az.barrier(immediate, done, [*events, *events])
    for event in events[:-1]:
        az.ok("zeEventHostSignal", event)
    az.error(NOT_READY, "zeEventHostSynchronize", done, SECOND // 100)
    az.ok("zeEventHostSignal", events[-1])
    az.ok("zeEventHostSynchronize", done, SOON)


def test_many_host_threads_wait_for_one_event(az: Calls, context: c_void_p) -> None:
    (event,) = az.events(context, 1)
    results: list[int] = []
    threads = [
        threading.Thread(target=lambda: results.append(az.call("zeEventHostSynchronize", event, SOON)))
        for _ in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        await_sleep(thread)
    assert results == []
    az.ok("zeEventHostSignal", event)
    for thread in threads:
        thread.join(PATIENCE)
    assert results == [OK] * 16


def test_timestamps_are_plausible(az: Calls, context: c_void_p) -> None:
    one, two = az.events(context, 2, TIMED)
    immediate, size = az.immediate(context), 8 << 20
    source, target = az.memory(context, size, "device"), az.memory(context, size, "device")
    az.error(NOT_READY, "zeEventQueryKernelTimestamp", one, byref(ze.ze_kernel_timestamp_result_t()))
    before = az.timestamp()
    az.copy(immediate, target, source, size, one)
    az.copy(immediate, target, source, size, two)
    az.ok("zeCommandListHostSynchronize", immediate, SOON)
    after = az.timestamp()
    (start, end), (start2, end2) = stamps(az, one), stamps(az, two)
    assert before <= start < end <= start2 < end2 <= after
    # A command that waits starts when the wait is over.
    az.ok("zeEventHostReset", one)
    gate = az.events(context, 1)[0]
    az.copy(immediate, target, source, 64, one, [gate])
    opened = az.timestamp()
    az.ok("zeEventHostSignal", gate)
    az.ok("zeEventHostSynchronize", one, SOON)
    assert stamps(az, one)[0] >= opened


def test_untimed_events_have_no_timestamps(az: Calls, context: c_void_p) -> None:
    (event,) = az.events(context, 1)
    az.ok("zeEventHostSignal", event)
    assert az.call("zeEventQueryKernelTimestamp", event, byref(ze.ze_kernel_timestamp_result_t())) not in (
        OK,
        NOT_READY,
    )
    immediate, room = az.immediate(context), az.memory(context, 64)
    append = "zeCommandListAppendQueryKernelTimestamps"
    assert az.call(append, immediate, 1, handles([event]), room, None, None, 0, None) != OK


def test_query_of_timestamps_as_a_command(az: Calls, context: c_void_p) -> None:
    events = az.events(context, 3, TIMED)
    immediate, room = az.immediate(context, mode=SYNCHRONOUS), az.memory(context, 1024)
    for event in events:
        az.barrier(immediate, event)
    append = "zeCommandListAppendQueryKernelTimestamps"
    az.ok(append, immediate, 3, handles(events), room, None, None, 0, None)
    packed = (ze.ze_kernel_timestamp_result_t * 3).from_address(room)
    for event, found in zip(events, packed, strict=True):
        times = getattr(found, "global")
        assert (times.kernelStart, times.kernelEnd) == stamps(az, event)
    offsets = (c_uint64 * 3)(512, 0, 256)
    az.ok(append, immediate, 3, handles(events), room, offsets, None, 0, None)
    for event, offset in zip(events, offsets, strict=True):
        times = getattr(ze.ze_kernel_timestamp_result_t.from_address(room + offset), "global")
        assert (times.kernelStart, times.kernelEnd) == stamps(az, event)


def test_mapped_timestamps_are_host_time(az: Calls, context: c_void_p) -> None:
    (event,) = az.events(context, 1, MAPPED)
    immediate = az.immediate(context, mode=SYNCHRONOUS)
    before = az.timestamp()
    az.barrier(immediate, event)
    after = az.timestamp()
    count = c_uint32(0)
    query = "zeEventQueryKernelTimestampsExt"
    az.ok(query, event, az.device, byref(count), None)
    assert count.value == 1
    kernel, host = ze.ze_kernel_timestamp_result_t(), ze.ze_synchronized_timestamp_result_ext_t()
    results = ze.ze_event_query_kernel_timestamps_results_ext_properties_t(
        pKernelTimestampsBuffer=addressof(kernel), pSynchronizedTimestampsBuffer=addressof(host)
    )
    az.ok(query, event, az.device, byref(count), byref(results))
    mapped = getattr(host, "global")
    assert before <= mapped.kernelStart <= mapped.kernelEnd <= after
    count = c_uint32(5)
    many = (ze.ze_kernel_timestamp_result_t * 5)()
    az.ok("zeEventQueryTimestampsExp", event, az.device, byref(count), many)
    assert count.value == 1
    assert getattr(many[0], "global").kernelStart == getattr(kernel, "global").kernelStart
    assert getattr(many[1], "global").kernelStart == 0


def test_timestamp_command_and_clock(az: Calls, context: c_void_p) -> None:
    immediate, room = az.immediate(context, mode=SYNCHRONOUS), az.memory(context, 16)
    before = az.timestamp()
    az.ok("zeCommandListAppendWriteGlobalTimestamp", immediate, room, None, 0, None)
    # Unaligned on purpose: nothing forbids it.
    az.ok("zeCommandListAppendWriteGlobalTimestamp", immediate, room + 8, None, 0, None)
    first, second = (int.from_bytes(read(room + i, 8), "little") for i in (0, 8))
    assert before <= first <= second <= az.timestamp()


def test_kind_of_events_that_do_not_fit(az: Calls, context: c_void_p) -> None:
    immediate = az.immediate(context)
    (event,) = az.events(context, 1)
    fence = az.fence(az.queue(context))
    for wrong in (context, fence, immediate, c_void_p(0x1234)):
        az.error(INVALID_SYNC, "zeCommandListAppendBarrier", immediate, wrong, 0, None)
        az.error(INVALID_SYNC, "zeCommandListAppendBarrier", immediate, None, 2, handles([event, wrong]))
    az.error(INVALID_NULL_HANDLE, "zeCommandListAppendBarrier", immediate, None, 2, handles([event, c_void_p()]))
    az.error(INVALID_SIZE, "zeCommandListAppendBarrier", immediate, None, 1, None)
    az.ok("zeCommandListHostSynchronize", immediate, 0)


def test_waiting_threads_come_and_go(az: Calls, context: c_void_p) -> None:
    """Waiters with different timeouts on one event: each gets its own answer."""
    (event,) = az.events(context, 1)
    results: dict[int, int] = {}

    def wait(timeout: int) -> None:
        results[timeout] = az.call("zeEventHostSynchronize", event, timeout)

    times = [0, 1000, 1_000_000, 50_000_000, SOON, SOON + 1]
    threads = [threading.Thread(target=wait, args=(timeout,)) for timeout in times]
    for thread in threads:
        thread.start()
    for thread in threads[:4]:
        thread.join(PATIENCE)
    for thread in threads[4:]:
        await_sleep(thread)
    az.ok("zeEventHostSignal", event)
    for thread in threads[4:]:
        thread.join(PATIENCE)
    assert [results[timeout] for timeout in times] == [NOT_READY] * 4 + [OK] * 2
