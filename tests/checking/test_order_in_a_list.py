"""Commands of one list that touch the same memory: the list only begins them in their order."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import byref, c_size_t, c_uint8, c_uint64, c_void_p, sizeof

import numpy as np
import pytest

import anyzero
from anyzero import ze
from tests.abi.calls import ASYNCHRONOUS, FOREVER, SYNCHRONOUS, Calls, HostFunction, handles
from tests.checking.programs import checked, expect

SIZE = 64
LIST_IN_ORDER = ze.ZE_COMMAND_LIST_FLAG_IN_ORDER
IMMEDIATE_IN_ORDER = ze.ZE_COMMAND_QUEUE_FLAG_IN_ORDER


@anyzero.kernel
def raise_all(values: anyzero.ptr[anyzero.i32]):  # type: ignore[no-untyped-def]
    i = anyzero.global_id(0)
    values[i] = values[i] + 1


@anyzero.kernel
def double(to: anyzero.ptr[anyzero.i32], values: anyzero.ptr[anyzero.i32]):  # type: ignore[no-untyped-def]
    i = anyzero.global_id(0)
    to[i] = values[i] * 2


class Program:
    """An immediate list, a list for a queue, and memory that commands of both use."""

    def __init__(self, az: Calls) -> None:
        self.az, self.owner = az, anyzero.device().context()
        self.context = c_void_p(self.owner.handle)
        self.lst = self.immediate()
        self.queue, self.recorded = az.queue(self.context, mode=ASYNCHRONOUS), az.list(self.context)
        self.buffers = [self.owner.zeros(SIZE // 4, np.int32, kind="host") for _ in range(3)]
        self.memory, self.other, self.third = (each.pointer for each in self.buffers)
        self.kernels: list[anyzero.Kernel] = []

    def immediate(self, flags: int = 0, mode: int = ASYNCHRONOUS) -> c_void_p:
        return self.az.immediate(self.context, mode=mode, flags=flags)

    def events(self, count: int) -> list[c_void_p]:
        return self.az.events(self.context, count)

    def kernel(self, function: anyzero.Kernel, *pointers: int) -> c_void_p:
        made = function.on(self.owner)
        self.kernels.append(made)
        for index, pointer in enumerate(pointers):
            self.az.ok("zeKernelSetArgumentValue", made.handle, index, 8, byref(c_void_p(pointer)))
        self.az.ok("zeKernelSetGroupSize", made.handle, SIZE // 4, 1, 1)
        return c_void_p(made.handle)

    def execute(self, *lists: c_void_p) -> None:
        self.az.close(*lists)
        self.az.execute(self.queue, *lists)

    def finish(self) -> None:
        self.az.ok("zeCommandListHostSynchronize", self.lst, FOREVER)
        self.az.finish(self.queue)


@pytest.fixture
def p(az: Calls) -> Program:
    return Program(az)


ONE_GROUP = byref(ze.ze_group_count_t(1, 1, 1))


def test_a_fill_and_a_kernel_that_reads_it(az: Calls, p: Program) -> None:
    kernel = p.kernel(double, p.other, p.memory)
    with checked("races") as found:
        az.fill(p.recorded, p.memory, 1, SIZE)
        az.lib.zeCommandListAppendLaunchKernel(p.recorded, kernel, ONE_GROUP, None, 0, None)  # mistake
        p.execute(p.recorded)
        p.finish()
    finding = expect("missing-barrier", found)
    assert "kernel double" in finding.message
    assert "a memory fill of 64 bytes" in finding.other
    assert "zeCommandListAppendMemoryFill" in finding.other
    assert "only begin in order" in finding.rule.says
    for remedy in ("barrier", "event", "ZE_COMMAND_LIST_FLAG_IN_ORDER", "ZE_COMMAND_QUEUE_FLAG_IN_ORDER"):
        assert remedy in finding.rule.fix


def test_a_kernel_and_a_copy_of_its_result(az: Calls, p: Program) -> None:
    kernel = p.kernel(double, p.other, p.memory)
    with checked("races") as found:
        az.ok("zeCommandListAppendLaunchKernel", p.lst, kernel, ONE_GROUP, None, 0, None)
        az.lib.zeCommandListAppendMemoryCopy(p.lst, p.third, p.other, SIZE, None, 0, None)  # mistake
        p.finish()
    assert "kernel double" in expect("missing-barrier", found).other


def test_a_copy_from_the_target_of_a_copy(az: Calls, p: Program) -> None:
    with checked("races") as found:
        az.copy(p.recorded, p.other, p.memory, SIZE)
        az.lib.zeCommandListAppendMemoryCopy(p.recorded, p.third, p.other, SIZE, None, 0, None)  # mistake
        p.execute(p.recorded)
        p.finish()
    expect("missing-barrier", found)


def test_two_kernels_on_an_immediate_list(az: Calls, p: Program) -> None:
    raised, doubled = p.kernel(raise_all, p.memory), p.kernel(double, p.other, p.memory)
    with checked("races") as found:
        az.ok("zeCommandListAppendLaunchKernel", p.lst, raised, ONE_GROUP, None, 0, None)
        az.lib.zeCommandListAppendLaunchKernel(p.lst, doubled, ONE_GROUP, None, 0, None)  # mistake
        p.finish()
    finding = expect("missing-barrier", found)
    assert ("kernel double" in finding.message, "kernel raise_all" in finding.other) == (True, True)


def test_a_fill_of_memory_that_a_copy_reads(az: Calls, p: Program) -> None:
    with checked("races") as found:
        az.copy(p.lst, p.other, p.memory, SIZE)
        pattern = byref(c_uint8(1))
        az.lib.zeCommandListAppendMemoryFill(p.lst, p.memory, pattern, 1, SIZE, None, 0, None)  # mistake
        p.finish()
    assert expect("missing-barrier", found).other.split(" (")[0].endswith("reads")


def test_two_lists_of_one_execution(az: Calls, p: Program) -> None:
    """The second is behind the first, but its own commands are not in order."""
    second = az.list(p.context)
    with checked("races") as found:
        az.fill(p.recorded, p.memory, 1, SIZE)
        az.copy(second, p.other, p.memory, SIZE)
        az.lib.zeCommandListAppendMemoryCopy(second, p.third, p.other, SIZE, None, 0, None)  # mistake
        p.execute(p.recorded, second)
        p.finish()
    expect("missing-barrier", found)


def test_a_timestamp_and_a_copy_of_it(az: Calls, p: Program) -> None:
    with checked("races") as found:
        az.ok("zeCommandListAppendWriteGlobalTimestamp", p.lst, c_void_p(p.memory), None, 0, None)
        az.lib.zeCommandListAppendMemoryCopy(p.lst, p.other, p.memory, sizeof(c_uint64), None, 0, None)  # mistake
        p.finish()
    expect("missing-barrier", found)


def test_a_wait_for_another_command(az: Calls, p: Program) -> None:
    """The event is of the second fill; the copy reads what the first one writes."""
    (filled,) = p.events(1)
    copy = az.lib.zeCommandListAppendMemoryCopy
    with checked("races") as found:
        az.fill(p.lst, p.memory, 1, SIZE)
        az.fill(p.lst, p.other, 1, SIZE, filled)
        copy(p.lst, p.third, p.memory, SIZE, None, 1, byref(filled))  # mistake
        p.finish()
    expect("missing-barrier", found)


def test_a_barrier_that_waits_for_events_alone(az: Calls, p: Program) -> None:
    (gate,) = p.events(1)
    with checked("races") as found:
        az.fill(p.lst, p.memory, 1, SIZE)
        az.barrier(p.lst, waits=[gate])
        az.lib.zeCommandListAppendMemoryCopy(p.lst, p.other, p.memory, SIZE, None, 0, None)  # mistake
        az.ok("zeEventHostSignal", gate)
        az.ok("zeCommandListHostSynchronize", p.lst, FOREVER)
    finding = found.the_only()
    assert finding.rule.name == "missing-barrier"
    assert "the barrier between them waits for its events alone" in finding.message


def test_the_event_of_a_command_says_nothing_about_the_one_before(az: Calls, p: Program) -> None:
    """On another queue."""
    (filled,) = p.events(1)
    second = p.immediate()
    copy = az.lib.zeCommandListAppendMemoryCopy
    with checked("races") as found:
        az.fill(p.lst, p.memory, 1, SIZE)
        az.fill(p.lst, p.other, 1, SIZE, filled)
        copy(second, p.third, p.memory, SIZE, None, 1, byref(filled))  # mistake
        az.ok("zeCommandListHostSynchronize", second, FOREVER)
        p.finish()
    expect("command-race", found)


def test_memory_is_freed_after_a_wait_for_a_later_command(az: Calls, p: Program) -> None:
    (filled,) = p.events(1)
    memory = az.memory(p.context, SIZE)
    with checked("races") as found:
        az.fill(p.lst, memory, 1, SIZE)
        az.fill(p.lst, p.other, 1, SIZE, filled)
        az.ok("zeEventHostSynchronize", filled, FOREVER)
        az.lib.zeMemFree(p.context, memory)  # mistake
        p.finish()
    assert "memory fill" in expect("memory-freed-in-use", found).other


def test_many_commands_in_a_row_are_one_mistake_each(az: Calls, p: Program) -> None:
    """Each is named with the one right before it, as barriers between these order all of them."""
    with checked("races") as found:
        for _ in range(300):
            az.fill(p.lst, p.memory, 1, SIZE)
        p.finish()
    assert [each.rule.name for each in found] == ["missing-barrier"]
    assert "command 2 of queue" in found[0].message


def in_order(az: Calls, p: Program) -> None:
    for lst in (p.immediate(IMMEDIATE_IN_ORDER), made := az.list(p.context, flags=LIST_IN_ORDER)):
        az.fill(lst, p.memory, 1, SIZE)
        az.copy(lst, p.other, p.memory, SIZE)
        if lst is not made:
            az.ok("zeCommandListHostSynchronize", lst, FOREVER)
    p.execute(made)


def barrier(az: Calls, p: Program) -> None:
    for lst in (p.lst, p.recorded):
        az.fill(lst, p.memory, 1, SIZE)
        az.barrier(lst)
        az.copy(lst, p.other, p.memory, SIZE)
        az.ok("zeCommandListHostSynchronize", p.lst, FOREVER)
    p.execute(p.recorded)


def ranges_barrier(az: Calls, p: Program) -> None:
    az.fill(p.lst, p.memory, 1, SIZE)
    size, memory = byref(c_size_t(SIZE)), byref(c_void_p(p.memory))
    az.ok("zeCommandListAppendMemoryRangesBarrier", p.lst, 1, size, memory, None, 0, None)
    az.copy(p.lst, p.other, p.memory, SIZE)


def event(az: Calls, p: Program) -> None:
    (filled,) = p.events(1)
    az.fill(p.lst, p.memory, 1, SIZE, filled)
    az.copy(p.lst, p.other, p.memory, SIZE, waits=[filled])


def chain_of_events(az: Calls, p: Program) -> None:
    *events, last = p.events(101)
    az.fill(p.lst, p.memory, 1, SIZE, events[0])
    for before, after in zip(events, [*events[1:], last], strict=True):
        az.copy(p.lst, p.other, p.memory, SIZE, after, [before])
    az.copy(p.lst, p.third, p.other, SIZE, waits=[last])


def counting_event(az: Calls, p: Program) -> None:
    lst, counter = p.immediate(IMMEDIATE_IN_ORDER), az.counter(p.context)
    az.fill(lst, p.memory, 1, SIZE)
    az.copy(lst, p.other, p.memory, SIZE, counter)
    az.copy(p.lst, p.third, p.other, SIZE, waits=[counter])


def wait_of_a_command_between(az: Calls, p: Program) -> None:
    """Commands begin in their order: behind one that waits, others find the same memory ready."""
    (filled,) = p.events(1)
    az.fill(p.lst, p.memory, 1, SIZE, filled)
    az.copy(p.lst, p.other, p.memory, SIZE, waits=[filled])
    az.copy(p.lst, p.third, p.memory, SIZE)


def waiting_for_events(az: Calls, p: Program) -> None:
    (filled,) = p.events(1)
    az.fill(p.lst, p.memory, 1, SIZE, filled)
    az.ok("zeCommandListAppendWaitOnEvents", p.lst, 1, byref(filled))
    az.copy(p.lst, p.other, p.memory, SIZE)


def signal_of_all_before(az: Calls, p: Program) -> None:
    (done,) = p.events(1)
    second = p.immediate()
    az.fill(p.lst, p.memory, 1, SIZE)
    az.fill(p.lst, p.other, 1, SIZE)
    az.ok("zeCommandListAppendSignalEvent", p.lst, done)
    az.copy(second, p.third, p.memory, SIZE, waits=[done])
    az.ok("zeCommandListHostSynchronize", second, FOREVER)


def barrier_with_the_events_of_all(az: Calls, p: Program) -> None:
    first, second = p.events(2)
    az.fill(p.lst, p.memory, 1, SIZE, first)
    az.fill(p.lst, p.other, 1, SIZE, second)
    az.barrier(p.lst, waits=[first, second])
    az.copy(p.lst, p.memory, p.other, SIZE)


def reset_event(az: Calls, p: Program) -> None:
    (done,) = p.events(1)
    for value in range(3):
        az.fill(p.lst, p.memory, value, SIZE, done)
        az.copy(p.lst, p.other, p.memory, SIZE, waits=[done])
        az.ok("zeCommandListAppendEventReset", p.lst, done)
        az.barrier(p.lst)


def synchronous_list(az: Calls, p: Program) -> None:
    lst = p.immediate(mode=SYNCHRONOUS)
    az.fill(lst, p.memory, 1, SIZE)
    az.copy(lst, p.other, p.memory, SIZE)


def wait_of_the_host(az: Calls, p: Program) -> None:
    (filled,) = p.events(1)
    az.fill(p.lst, p.memory, 1, SIZE)
    az.ok("zeCommandListHostSynchronize", p.lst, FOREVER)
    az.copy(p.lst, p.other, p.memory, SIZE, filled)
    az.ok("zeEventHostSynchronize", filled, FOREVER)
    az.copy(p.lst, p.third, p.other, SIZE)


def host_function(az: Calls, p: Program) -> None:
    p.function = HostFunction(lambda _: None)  # type: ignore[attr-defined]
    az.fill(p.lst, p.memory, 1, SIZE)
    az.ok("zeCommandListAppendHostFunction", p.lst, p.function, None, None, None, 0, None)  # type: ignore[attr-defined]
    az.copy(p.lst, p.other, p.memory, SIZE)


def executions_of_one_queue(az: Calls, p: Program) -> None:
    second = az.list(p.context)
    az.fill(p.recorded, p.memory, 1, SIZE)
    az.copy(second, p.other, p.memory, SIZE)
    p.execute(p.recorded, second)
    az.execute(p.queue, p.recorded)


def lists_on_an_immediate_list(az: Calls, p: Program) -> None:
    az.copy(p.recorded, p.other, p.memory, SIZE)
    az.close(p.recorded)
    az.fill(p.lst, p.memory, 1, SIZE)
    lists = handles([p.recorded])
    az.ok("zeCommandListImmediateAppendCommandListsExp", p.lst, 1, lists, None, 0, None)
    az.copy(p.lst, p.third, p.other, SIZE)


def other_bytes(az: Calls, p: Program) -> None:
    az.fill(p.lst, p.memory, 1, SIZE // 2)
    az.fill(p.lst, p.memory + SIZE // 2, 1, SIZE // 2)
    az.copy(p.lst, p.other, p.third, SIZE)


def reading_only(az: Calls, p: Program) -> None:
    for _ in range(300):
        az.copy(p.lst, p.other, p.memory, SIZE)
        az.barrier(p.lst)
    for offset in range(0, SIZE, 4):
        az.copy(p.lst, p.third + offset, p.memory, 4)


def kernels_with_barriers(az: Calls, p: Program) -> None:
    az.fill(p.recorded, p.memory, 1, SIZE)
    az.barrier(p.recorded)
    for kernel in (p.kernel(raise_all, p.memory), p.kernel(double, p.other, p.memory)):
        az.ok("zeCommandListAppendLaunchKernel", p.recorded, kernel, ONE_GROUP, None, 0, None)
        az.barrier(p.recorded)
    az.copy(p.recorded, p.third, p.other, SIZE)
    p.execute(p.recorded)


@pytest.mark.parametrize(
    "ordered",
    [
        in_order,
        barrier,
        ranges_barrier,
        event,
        chain_of_events,
        counting_event,
        wait_of_a_command_between,
        waiting_for_events,
        signal_of_all_before,
        barrier_with_the_events_of_all,
        reset_event,
        synchronous_list,
        wait_of_the_host,
        host_function,
        executions_of_one_queue,
        lists_on_an_immediate_list,
        other_bytes,
        reading_only,
        kernels_with_barriers,
    ],
)
def test_no_mistake(az: Calls, p: Program, ordered: Callable[[Calls, Program], None]) -> None:
    with checked("races") as found:
        ordered(az, p)
        p.finish()
    assert list(map(str, found)) == []
