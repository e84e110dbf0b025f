"""Counting events: re-armed by every signal, captured by every wait, and never reset."""

from __future__ import annotations

from ctypes import addressof, byref, c_uint32, c_uint64, c_void_p

import pytest

from anyzero import ze
from tests.abi.calls import COPY, INVALID_SYNC, NOT_READY, OK, SECOND, SOON, SYNCHRONOUS, Calls, handles, read, write
from tests.abi.test_events import VISIBLE, stamps


def counter_pool(az: Calls, context: c_void_p, count: int) -> c_void_p:
    extra = ze.ze_event_pool_counter_based_exp_desc_t(flags=ze.ZE_EVENT_POOL_COUNTER_BASED_EXP_FLAG_IMMEDIATE)
    desc = ze.ze_event_pool_desc_t(flags=VISIBLE, count=count, pNext=addressof(extra))
    return az.new("zeEventPoolCreate", context, byref(desc), 0, None)


@pytest.mark.parametrize("made", ["pool", "standalone"])
def test_counting_event_is_reused_without_reset(az: Calls, context: c_void_p, made: str) -> None:
    event = az.event(counter_pool(az, context, 1)) if made == "pool" else az.counter(context)
    immediate = az.immediate(context, flags=ze.ZE_COMMAND_QUEUE_FLAG_IN_ORDER)
    row = az.memory(context, 64)
    for step in range(1, 50):
        gate = az.events(context, 1)[0]
        az.fill(immediate, row, step, 64, event, [gate])
        # The append re-armed the event: what it was before does not count.
        az.error(NOT_READY, "zeEventQueryStatus", event)
        az.ok("zeEventHostSignal", gate)
        az.ok("zeEventHostSynchronize", event, SOON)
        assert read(row, 64) == bytes([step]) * 64


def test_wait_captures_the_value_of_a_counting_event(az: Calls, context: c_void_p) -> None:
    """B waits for A's first signal; A's second append must not make B wait for the second."""
    event, gates = az.counter(context), az.events(context, 2)
    flags = ze.ZE_COMMAND_QUEUE_FLAG_IN_ORDER
    first, second, copy = (az.immediate(context, flags=flags, ordinal=ordinal) for ordinal in (0, 0, COPY))
    done = az.events(context, 1)[0]
    az.barrier(first, event, [gates[0]])
    az.barrier(copy, done, [event])
    az.barrier(first, event, [gates[1]])
    az.error(NOT_READY, "zeEventHostSynchronize", done, SECOND // 50)
    az.ok("zeEventHostSignal", gates[0])
    az.ok("zeEventHostSynchronize", done, SOON)
    az.error(NOT_READY, "zeEventQueryStatus", event)
    az.ok("zeEventHostSignal", gates[1])
    az.ok("zeEventHostSynchronize", event, SOON)
    az.barrier(second, None, [event])
    az.ok("zeCommandListHostSynchronize", second, SOON)


def test_counting_event_that_nothing_will_signal_is_complete(az: Calls, context: c_void_p) -> None:
    event = az.counter(context)
    immediate = az.immediate(context, mode=SYNCHRONOUS)
    az.barrier(immediate, None, [event])
    az.barrier(immediate, event)
    az.ok("zeEventQueryStatus", event)
    az.error(INVALID_SYNC, "zeEventHostSignal", event)
    az.error(INVALID_SYNC, "zeCommandListAppendEventReset", immediate, event)
    assert az.query("zeEventGetCounterBasedFlags", c_uint32, event)
    value, address = c_uint64(), c_uint64()
    az.ok("zeEventCounterBasedGetDeviceAddress", event, byref(value), byref(address))
    assert c_uint64.from_address(address.value).value >= value.value >= 1
    binary = az.events(context, 1)[0]
    assert az.call("zeEventCounterBasedGetDeviceAddress", binary, byref(value), byref(address)) != OK


def test_recorded_list_signals_a_counting_event_each_time(az: Calls, context: c_void_p) -> None:
    event, gate = az.counter(context), az.events(context, 1)[0]
    queue, recorded = az.queue(context), az.list(context, flags=ze.ZE_COMMAND_LIST_FLAG_IN_ORDER)
    az.barrier(recorded, None, [gate])
    az.ok("zeCommandListAppendEventReset", recorded, gate)
    az.barrier(recorded, event)
    az.close(recorded)
    for _ in range(20):
        az.execute(queue, recorded)
        az.error(NOT_READY, "zeEventQueryStatus", event)
        az.ok("zeEventHostSignal", gate)
        az.ok("zeEventHostSynchronize", event, SOON)
    az.finish(queue)


def test_recorded_wait_for_a_recorded_signal(az: Calls, context: c_void_p) -> None:
    """Signal and wait recorded into two lists before either runs; the wait is for the run submitted before it."""
    event, gate, done = az.counter(context), *az.events(context, 2)
    flags = ze.ZE_COMMAND_LIST_FLAG_IN_ORDER
    compute, copy = az.queue(context), az.queue(context, ordinal=COPY)
    signals, waits = az.list(context, flags=flags), az.list(context, flags=flags, commandQueueGroupOrdinal=COPY)
    az.barrier(signals, None, [gate])
    az.ok("zeCommandListAppendEventReset", signals, gate)
    az.barrier(signals, event)
    az.barrier(waits, done, [event])
    az.close(signals, waits)
    for _ in range(5):
        az.execute(compute, signals)
        az.execute(copy, waits)
        az.error(NOT_READY, "zeEventHostSynchronize", done, SECOND // 100)
        az.ok("zeEventHostSignal", gate)
        az.ok("zeEventHostSynchronize", done, SOON)
        az.ok("zeEventHostReset", done)
        az.finish(compute)
        az.finish(copy)


def test_counting_timestamps(az: Calls, context: c_void_p) -> None:
    flags = ze.ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE | ze.ZE_EVENT_COUNTER_BASED_FLAG_HOST_VISIBLE
    event = az.counter(context, flags | ze.ZE_EVENT_COUNTER_BASED_FLAG_DEVICE_TIMESTAMP)
    immediate, last = az.immediate(context, mode=SYNCHRONOUS), 0
    for _ in range(10):
        az.barrier(immediate, event)
        start, end = stamps(az, event)
        assert last <= start <= end
        last = end


@pytest.mark.parametrize("how", ["queue", "immediate", "appended"])
def test_signal_in_the_middle_of_a_list_is_seen_before_its_end(az: Calls, context: c_void_p, how: str) -> None:
    """A counter represents its command, not the submission of the command."""
    event, (gate, done) = az.counter(context), az.events(context, 2)
    lst = az.immediate(context) if how == "immediate" else az.list(context, flags=ze.ZE_COMMAND_LIST_FLAG_IN_ORDER)
    queue, place, copy = az.queue(context), az.immediate(context), az.immediate(context, ordinal=COPY)
    for _ in range(4):
        if how == "immediate" or az.call("zeCommandListAppendBarrier", lst, None, 0, None) == OK:
            az.barrier(lst)
            az.barrier(lst, event)
            az.barrier(lst, None, [gate])
            az.ok("zeCommandListAppendEventReset", lst, gate)
        if how != "immediate":
            az.close(lst)
        if how == "queue":
            az.execute(queue, lst)
        elif how == "appended":
            az.ok("zeCommandListImmediateAppendCommandListsExp", place, 1, handles([lst]), None, 0, None)
        az.barrier(copy, done, [event])
        az.ok("zeEventHostSynchronize", event, SOON)
        az.ok("zeEventHostSynchronize", done, SOON)
        az.ok("zeEventHostReset", done)
        az.error(NOT_READY, "zeEventQueryStatus", gate)
        az.ok("zeEventHostSignal", gate)
        az.finish(queue)
        az.ok("zeCommandListHostSynchronize", place, SOON)
        if how == "immediate":
            az.ok("zeCommandListHostSynchronize", lst, SOON)


def test_counters_of_lists_that_are_gone(az: Calls, context: c_void_p) -> None:
    """A counter's completion outlives the list, the queue and the fence of its command."""
    event, gate, done = az.counter(context), *az.events(context, 2)
    for ordinal in (0, COPY):
        lst = az.immediate(context, ordinal=ordinal)
        az.barrier(lst, event, [gate])
        az.ok("zeCommandListDestroy", lst)
        waiting_list = az.immediate(context, ordinal=COPY - ordinal)
        az.barrier(waiting_list, done, [event])
        az.error(NOT_READY, "zeEventHostSynchronize", event, SECOND // 100)
        az.ok("zeEventHostSignal", gate)
        az.ok("zeEventHostSynchronize", event, SOON)
        az.ok("zeEventHostSynchronize", done, SOON)
        for each in (gate, done):
            az.ok("zeEventHostReset", each)
    # The event itself may go too, while others wait for what it stood for.
    lst, waiting_list = az.immediate(context), az.immediate(context, ordinal=COPY)
    az.barrier(lst, event, [gate])
    az.barrier(waiting_list, done, [event])
    az.ok("zeEventDestroy", event)
    az.ok("zeCommandListDestroy", lst)
    az.ok("zeEventHostSignal", gate)
    az.ok("zeEventHostSynchronize", done, SOON)


def test_counter_moves_from_queue_to_queue(az: Calls, context: c_void_p) -> None:
    """Signalled last by a queue that is held, it is not complete although an earlier queue is through."""
    event, gates = az.counter(context), az.events(context, 2)
    first, second = az.immediate(context), az.immediate(context, ordinal=COPY)
    az.barrier(first, event)
    az.ok("zeEventHostSynchronize", event, SOON)
    az.barrier(second, event, [gates[0]])
    az.error(NOT_READY, "zeEventQueryStatus", event)
    az.barrier(first, event)
    az.ok("zeEventHostSignal", gates[0])
    az.ok("zeEventHostSynchronize", event, SOON)
    az.ok("zeCommandListHostSynchronize", first, SOON)
    az.ok("zeCommandListHostSynchronize", second, SOON)


def test_counters_in_a_ring_of_lists(az: Calls, context: c_void_p) -> None:
    """Each list waits for the one before it, round and round, appended ahead of a gate."""
    number, rounds = 6, 30
    counters = [az.counter(context) for _ in range(number)]
    lists = [az.immediate(context, ordinal=index % 2) for index in range(number)]
    (gate,) = az.events(context, 1)
    row = az.memory(context, number * rounds + 1)
    write(row, b"\x05" + bytes(number * rounds))
    az.barrier(lists[0], counters[-1], [gate])
    for step in range(number * rounds):
        index = step % number
        az.copy(lists[index], row + step + 1, row + step, 1, counters[index], [counters[index - 1]])
    az.ok("zeEventHostSignal", gate)
    az.ok("zeEventHostSynchronize", counters[-1], SOON)
    assert read(row, number * rounds + 1) == b"\x05" * (number * rounds + 1)
