"""Commands that touch the same memory without an order, and programs that order them."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import byref, c_uint8, c_void_p

import numpy as np
import pytest

import anyzero
from anyzero import ze
from tests.abi.calls import ASYNCHRONOUS, DEVICE_LOST, FOREVER, SYNCHRONOUS, Calls, HostFunction, handles
from tests.checking.programs import Found, checked, expect

SIZE = 64
IMMEDIATE_IN_ORDER = ze.ZE_COMMAND_QUEUE_FLAG_IN_ORDER


class Program:
    """Two queues and the memory that both use."""

    def __init__(self, az: Calls, context: c_void_p, mode: int = ASYNCHRONOUS) -> None:
        self.az, self.context = az, context
        self.one, self.two = (az.immediate(context, mode=mode) for _ in range(2))
        self.memory, self.other, self.third = (az.memory(context, SIZE) for _ in range(3))

    def finish(self) -> None:
        for each in (self.one, self.two):
            self.az.ok("zeCommandListHostSynchronize", each, FOREVER)


@pytest.fixture
def two(az: Calls, context: c_void_p) -> Program:
    return Program(az, context)


def clean(found: Found) -> None:
    assert list(map(str, found)) == []


def test_a_fill_beside_a_copy_from_the_same_memory(az: Calls, two: Program) -> None:
    with checked("races") as found:
        az.fill(two.one, two.memory, 1, SIZE)
        az.lib.zeCommandListAppendMemoryCopy(two.two, two.other, two.memory, SIZE, None, 0, None)  # mistake
        two.finish()
    finding = expect("command-race", found)
    assert "a memory copy of 64 bytes" in finding.message
    assert "a memory fill of 64 bytes" in finding.other
    assert "zeCommandListAppendMemoryFill" in finding.other
    assert "calls.py" in finding.other
    assert "64 bytes" in finding.memory


def test_two_copies_to_the_same_memory(az: Calls, two: Program) -> None:
    with checked("races") as found:
        az.copy(two.one, two.memory, two.other, SIZE)
        az.lib.zeCommandListAppendMemoryCopy(two.two, two.memory + 60, two.third, 4, None, 0, None)  # mistake
        two.finish()
    assert expect("command-race", found).message.count("writes") == 2


def test_a_wait_for_another_event_orders_nothing(az: Calls, context: c_void_p, two: Program) -> None:
    early, late = az.events(context, 2)
    with checked("races") as found:
        az.barrier(two.one, early)
        az.fill(two.one, two.memory, 1, SIZE, late)
        az.lib.zeCommandListAppendMemoryCopy(two.two, two.other, two.memory, SIZE, None, 1, byref(early))  # mistake
        two.finish()
    expect("command-race", found)


def test_a_wait_for_an_event_that_was_not_reset(az: Calls, context: c_void_p, two: Program) -> None:
    (done,) = az.events(context, 1)
    copy = az.lib.zeCommandListAppendMemoryCopy
    with checked("races") as found:
        az.fill(two.one, two.memory, 1, SIZE, done)
        az.copy(two.two, two.other, two.memory, SIZE, waits=[done])
        two.finish()
        az.fill(two.one, two.memory, 2, SIZE, done)
        copy(two.two, two.other, two.memory, SIZE, None, 1, byref(done))  # mistake
        two.finish()
    assert "was signalled before, and not reset since" in expect("command-race", found).message


def test_an_event_is_used_again_after_its_reset(az: Calls, context: c_void_p, two: Program) -> None:
    done, read = az.events(context, 2)
    with checked("races") as found:
        for value in range(3):
            az.fill(two.one, two.memory, value, SIZE, done)
            az.copy(two.two, two.other, two.memory, SIZE, read, waits=[done])
            az.ok("zeEventHostSynchronize", read, FOREVER)
            for event in (done, read):
                az.ok("zeEventHostReset", event)
    clean(found)


def test_recorded_lists_on_two_queues(az: Calls, context: c_void_p) -> None:
    memory, other = az.memory(context, SIZE), az.memory(context, SIZE)
    queues = [az.queue(context, mode=ASYNCHRONOUS) for _ in range(2)]
    first, second = az.list(context), az.list(context)
    with checked("races") as found:
        az.fill(first, memory, 1, SIZE)
        az.lib.zeCommandListAppendMemoryCopy(second, other, memory, SIZE, None, 0, None)  # mistake
        az.close(first, second)
        az.execute(queues[0], first)
        az.execute(queues[1], second)
        for queue in queues:
            az.finish(queue)
    expect("command-race", found)


def test_a_list_of_relaxed_ordering(az: Calls, context: c_void_p) -> None:
    memory, other = az.memory(context, SIZE), az.memory(context, SIZE)
    queue = az.queue(context, mode=ASYNCHRONOUS)
    made = az.list(context, flags=ze.ZE_COMMAND_LIST_FLAG_RELAXED_ORDERING)
    with checked("races") as found:
        az.fill(made, memory, 1, SIZE)
        az.lib.zeCommandListAppendMemoryCopy(made, other, memory, SIZE, None, 0, None)  # mistake
        az.barrier(made)
        az.copy(made, memory, other, SIZE)
        az.close(made)
        az.execute(queue, made)
        az.finish(queue)
    expect("missing-barrier", found)


def test_a_region_beside_a_fill(az: Calls, two: Program) -> None:
    left, right = (ze.ze_copy_region_t(x, 0, 0, 4, 8, 1) for x in (0, 4))
    copy = az.lib.zeCommandListAppendMemoryCopyRegion
    with checked("races") as found:
        copy(two.one, two.memory, byref(left), 8, 0, two.other, byref(left), 8, 0, None, 0, None)
        copy(two.two, two.memory, byref(right), 8, 0, two.other, byref(right), 8, 0, None, 0, None)
        copy(two.two, two.memory, byref(left), 8, 0, two.third, byref(left), 8, 0, None, 0, None)  # mistake
        two.finish()
    expect("command-race", found)


def test_a_timestamp_beside_a_copy(az: Calls, two: Program) -> None:
    with checked("races") as found:
        az.copy(two.one, two.other, two.memory, SIZE)
        az.lib.zeCommandListAppendWriteGlobalTimestamp(two.two, c_void_p(two.memory), None, 0, None)  # mistake
        two.finish()
    expect("command-race", found)


def test_a_race_that_a_later_signal_shows(az: Calls, context: c_void_p, two: Program) -> None:
    """Commands wait until the host signals; then the two that waited are without an order."""
    gate = az.events(context, 1)[0]
    with checked("races") as found:
        az.fill(two.one, two.memory, 1, SIZE, waits=[gate])
        fill, pattern = az.lib.zeCommandListAppendMemoryFill, byref(c_uint8(2))
        fill(two.two, two.memory, pattern, 1, SIZE, None, 1, byref(gate))
        az.ok("zeEventHostSignal", gate)
        two.finish()
    # Either of them may be taken for the second.
    finding = found.the_only()
    assert (finding.rule.name, finding.call) == ("command-race", "zeCommandListAppendMemoryFill")


def captured(az: Calls, two: Program) -> c_void_p:
    """A graph of one branch, made of commands of the first list: a fill, and a copy from there."""
    az.ok("zeCommandListBeginGraphCaptureExt", two.one, None)
    az.fill(two.one, two.memory, 1, SIZE)
    az.copy(two.one, two.other, two.memory, SIZE)
    return az.new("zeGraphInstantiateExt", az.new("zeCommandListEndGraphCaptureExt", two.one, None), None)


def test_a_graph_beside_a_copy(az: Calls, two: Program) -> None:
    graph = captured(az, two)
    with checked("races") as found:
        az.ok("zeCommandListAppendGraphExt", two.one, graph, None, None, 0, None)
        az.lib.zeCommandListAppendMemoryCopy(two.two, two.third, two.other, SIZE, None, 0, None)  # mistake
        two.finish()
    finding = expect("command-race", found)
    assert "a memory copy of 64 bytes" in finding.other
    assert finding.other.endswith("writes")


def by_event(az: Calls, two: Program) -> None:
    event = az.events(two.context, 1)[0]
    az.fill(two.one, two.memory, 1, SIZE, event)
    az.copy(two.two, two.other, two.memory, SIZE, waits=[event])


def by_counting_event(az: Calls, two: Program) -> None:
    event = az.counter(two.context)
    for _ in range(3):
        az.fill(two.one, two.memory, 1, SIZE, event)
        az.copy(two.two, two.other, two.memory, SIZE, event, [event])
        az.barrier(two.one, waits=[event])


def by_an_event_that_is_signalled_later(az: Calls, two: Program) -> None:
    event = az.events(two.context, 1)[0]
    az.copy(two.two, two.other, two.memory, SIZE, waits=[event])
    az.copy(two.two, two.third, two.memory, SIZE)
    az.fill(two.one, two.memory, 1, SIZE, event)


def by_a_chain_of_events(az: Calls, two: Program) -> None:
    third = az.immediate(two.context, mode=ASYNCHRONOUS)
    one, other = az.events(two.context, 2)
    az.fill(two.one, two.memory, 1, SIZE, one)
    az.barrier(third, other, [one])
    az.copy(two.two, two.other, two.memory, SIZE, waits=[other])
    az.ok("zeCommandListHostSynchronize", third, FOREVER)


def by_the_host(az: Calls, two: Program) -> None:
    az.fill(two.one, two.memory, 1, SIZE)
    az.ok("zeCommandListHostSynchronize", two.one, FOREVER)
    az.copy(two.two, two.other, two.memory, SIZE)


def by_a_query(az: Calls, two: Program) -> None:
    event = az.events(two.context, 1)[0]
    az.fill(two.one, two.memory, 1, SIZE, event)
    while az.call("zeEventQueryStatus", event):
        pass
    az.copy(two.two, two.other, two.memory, SIZE)


def by_a_fence(az: Calls, two: Program) -> None:
    queue, made = az.queue(two.context, mode=ASYNCHRONOUS), az.list(two.context)
    fence = az.fence(queue)
    az.fill(made, two.memory, 1, SIZE)
    az.close(made)
    for _ in range(2):
        az.execute(queue, made, fence=fence)
        az.ok("zeFenceHostSynchronize", fence, FOREVER)
        az.ok("zeFenceReset", fence)
        az.copy(two.two, two.other, two.memory, SIZE)
        az.ok("zeCommandListHostSynchronize", two.two, FOREVER)


def by_a_synchronous_list(az: Calls, two: Program) -> None:
    synchronous = az.immediate(two.context, mode=SYNCHRONOUS)
    az.fill(synchronous, two.memory, 1, SIZE)
    az.copy(two.two, two.other, two.memory, SIZE)


def by_lists_of_one_queue(az: Calls, two: Program) -> None:
    queue, lists = az.queue(two.context, mode=ASYNCHRONOUS), [az.list(two.context) for _ in range(2)]
    az.fill(lists[0], two.memory, 1, SIZE)
    az.copy(lists[1], two.other, two.memory, SIZE)
    az.close(*lists)
    for _ in range(3):
        az.execute(queue, *lists)
    az.finish(queue)


def by_the_device(az: Calls, two: Program) -> None:
    """Also of a list that is gone."""
    gone = az.immediate(two.context, mode=ASYNCHRONOUS)
    az.fill(gone, two.memory, 1, SIZE)
    az.ok("zeCommandListDestroy", gone)
    az.fill(two.one, two.third, 1, SIZE)
    az.ok("zeDeviceSynchronize", az.device)
    az.copy(two.two, two.third, two.memory, SIZE)


def by_a_graph(az: Calls, two: Program) -> None:
    graph = captured(az, two)
    for _ in range(2):
        az.ok("zeCommandListAppendGraphExt", two.one, graph, None, None, 0, None)
    az.copy(two.one, two.third, two.other, SIZE)


def by_the_loss_of_a_queue(az: Calls, two: Program) -> None:
    other = az.context()
    lost = az.immediate(other, mode=ASYNCHRONOUS)
    az.call("zeCommandListAppendMemoryCopy", lost, 0x700000001000, two.memory, SIZE, None, 0, None)
    az.error(DEVICE_LOST, "zeCommandListHostSynchronize", lost, FOREVER)
    az.fill(two.one, two.memory, 1, SIZE)
    az.ok("zeCommandListDestroy", lost)
    az.ok("zeContextDestroy", other)


def by_the_loss_of_a_queue_that_an_event_tells(az: Calls, two: Program) -> None:
    other = az.context()
    lost, done = az.immediate(other, mode=ASYNCHRONOUS, flags=IMMEDIATE_IN_ORDER), az.events(other, 1)[0]
    az.copy(lost, two.memory, two.other, SIZE, waits=[gate := az.events(other, 1)[0]])
    az.call("zeCommandListAppendMemoryCopy", lost, 0x700000001000, two.memory, SIZE, done, 0, None)
    az.ok("zeEventHostSignal", gate)
    az.error(DEVICE_LOST, "zeEventHostSynchronize", done, FOREVER)
    az.fill(two.one, two.memory, 1, SIZE)
    az.ok("zeCommandListDestroy", lost)
    az.ok("zeContextDestroy", other)


def by_the_loss_of_a_queue_that_a_fence_tells(az: Calls, two: Program) -> None:
    other = az.context()
    lost, commands = az.queue(other, mode=ASYNCHRONOUS), az.list(other, flags=ze.ZE_COMMAND_LIST_FLAG_IN_ORDER)
    az.call("zeCommandListAppendMemoryCopy", commands, 0x700000001000, two.memory, SIZE, None, 0, None)
    az.copy(commands, two.memory, two.other, SIZE)
    az.close(commands)
    az.execute(lost, commands, fence=(fence := az.fence(lost)))
    az.error(DEVICE_LOST, "zeFenceHostSynchronize", fence, FOREVER)
    az.fill(two.one, two.memory, 1, SIZE)
    az.ok("zeContextDestroy", other)


def by_reading_only(az: Calls, two: Program) -> None:
    az.copy(two.one, two.other, two.memory, SIZE)
    az.copy(two.two, two.third, two.memory, SIZE)


def by_other_bytes(az: Calls, two: Program) -> None:
    az.fill(two.one, two.memory, 1, SIZE // 2)
    az.fill(two.two, two.memory + SIZE // 2, 1, SIZE // 2)


def by_new_memory_at_the_same_address(az: Calls, two: Program) -> None:
    az.fill(two.one, two.third, 1, SIZE)
    az.ok("zeMemFreeExt", two.context, byref(ze.ze_memory_free_ext_desc_t(freePolicy=1)), two.third)
    az.fill(two.two, az.memory(two.context, SIZE), 1, SIZE)


def by_a_host_function(az: Calls, two: Program) -> None:
    event = az.events(two.context, 1)[0]
    two.done = HostFunction(lambda _: az.ok("zeEventHostSignal", event))  # type: ignore[attr-defined]
    az.fill(two.one, two.memory, 1, SIZE)
    az.ok("zeCommandListAppendHostFunction", two.one, two.done, None, None, None, 0, None)  # type: ignore[attr-defined]
    az.copy(two.two, two.other, two.memory, SIZE, waits=[event])


def by_the_waits_of_an_execution(az: Calls, two: Program) -> None:
    made, event = az.list(two.context), az.events(two.context, 1)[0]
    az.copy(made, two.other, two.memory, SIZE)
    az.close(made)
    az.fill(two.one, two.memory, 1, SIZE, event)
    az.ok("zeCommandListImmediateAppendCommandListsExp", two.two, 1, handles([made]), None, 1, byref(event))


@pytest.mark.parametrize(
    "ordered",
    [
        by_event,
        by_counting_event,
        by_an_event_that_is_signalled_later,
        by_a_chain_of_events,
        by_the_host,
        by_a_query,
        by_a_fence,
        by_a_synchronous_list,
        by_lists_of_one_queue,
        by_the_device,
        by_a_graph,
        by_the_loss_of_a_queue,
        by_the_loss_of_a_queue_that_an_event_tells,
        by_the_loss_of_a_queue_that_a_fence_tells,
        by_reading_only,
        by_other_bytes,
        by_new_memory_at_the_same_address,
        by_a_host_function,
        by_the_waits_of_an_execution,
    ],
)
def test_no_race(az: Calls, two: Program, ordered: Callable[[Calls, Program], None]) -> None:
    with checked("races") as found:
        ordered(az, two)
        two.finish()
    clean(found)


@anyzero.kernel
def raise_all(values: anyzero.ptr[anyzero.i32], n: anyzero.i32):  # type: ignore[no-untyped-def]
    i = anyzero.i32(anyzero.global_id(0))
    if i < n:
        values[i] = values[i] + 1


@anyzero.kernel
def double(to: anyzero.ptr[anyzero.i32], values: anyzero.ptr[anyzero.i32]):  # type: ignore[no-untyped-def]
    i = anyzero.global_id(0)
    to[i] = values[i] * 2


@anyzero.kernel
def from_on(values: anyzero.ptr[anyzero.i32], first: anyzero.i32):  # type: ignore[no-untyped-def]
    values[first + anyzero.i32(anyzero.global_id(0))] = 1


class Launches:
    """Two lists of the Python API, and a buffer that kernels change."""

    def __init__(self) -> None:
        self.context = anyzero.device().context()
        self.one, self.two = self.context.immediate(), self.context.immediate()
        self.values, self.to = (self.context.zeros(16, np.int32) for _ in range(2))

    def finish(self) -> None:
        self.one.synchronize()
        self.two.synchronize()


@pytest.fixture
def launches() -> Launches:
    return Launches()


def test_two_kernels_on_two_queues(launches: Launches) -> None:
    p = launches
    with checked("races") as found:
        p.one.launch(raise_all.on(p.context), 16, (p.values, 16))
        p.two.launch(double.on(p.context), 16, (p.to, p.values))  # mistake
        p.finish()
    finding = expect("command-race", found)
    assert "kernel double" in finding.message
    assert "kernel raise_all" in finding.other
    assert "test_races_of_commands.py" in finding.other


def test_a_kernel_beside_a_copy(launches: Launches) -> None:
    p = launches
    with checked("races") as found:
        p.one.launch(raise_all.on(p.context), 16, (p.values, 16))
        p.two.copy(p.to, p.values)  # mistake
        p.finish()
    expect("command-race", found)


def test_a_copy_from_the_middle_of_what_a_kernel_writes(launches: Launches) -> None:
    p = launches
    with checked("races") as found:
        p.one.launch(raise_all.on(p.context), 16, (p.values, 12))
        p.two.copy(p.to[:2], p.values[10:12])  # mistake
        p.finish()
    assert "offset 40" in expect("command-race", found).memory


def test_a_copy_from_behind_what_a_kernel_writes(launches: Launches) -> None:
    p = launches
    with checked("races") as found:
        p.one.launch(raise_all.on(p.context), 16, (p.values, 12))
        p.two.copy(p.to[:4], p.values[12:])
        p.finish()
    clean(found)


def test_kernels_that_may_touch_other_elements_are_not_reported(launches: Launches) -> None:
    p = launches
    with checked("races") as found:
        p.one.launch(from_on.on(p.context), 8, (p.values, 0))
        p.two.launch(from_on.on(p.context), 8, (p.values, 8))
        p.two.launch(raise_all.on(p.context), 8, (p.to, 0))
        p.one.launch(raise_all.on(p.context), 8, (p.to, 0))
        p.finish()
    clean(found)


def test_kernels_in_order(launches: Launches) -> None:
    p = launches
    with checked("races") as found:
        for _ in range(3):
            done = p.one.launch(raise_all.on(p.context), 16, (p.values, 16))
            read = p.two.launch(double.on(p.context), 16, (p.to, p.values), wait=[done])
            p.one.barrier(wait=[read])
        p.finish()
    clean(found)


def test_a_launch_of_no_kernels(az: Calls, launches: Launches) -> None:
    p = launches
    kernel, number, counts = raise_all.on(p.context), p.values.pointer, p.to.pointer
    with checked("races") as found:
        name, many = "zeCommandListAppendLaunchMultipleKernelsIndirect", handles([c_void_p(kernel.handle)])
        az.ok(name, p.one.handle, 0, many, number, counts, None, 0, None)
        p.finish()
    clean(found)
