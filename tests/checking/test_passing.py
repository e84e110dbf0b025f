"""A mistake is found behind right calls of the same function, most of which go past the checks (passing.h)."""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import byref, c_int32, c_uint8, c_void_p
from itertools import pairwise

import numpy as np
import pytest

import anyzero
from anyzero import ze
from tests.abi.calls import ASYNCHRONOUS, FOREVER, NOT_READY, OK, SYNCHRONOUS, Calls
from tests.checking.programs import checked, expect

SIZE = 64
HOST = ze.ZE_EVENT_SCOPE_FLAG_HOST
USUAL = ("memory", "sync", "strict")


@pytest.fixture
def lst(az: Calls, context: c_void_p) -> c_void_p:
    return az.immediate(context, mode=SYNCHRONOUS)


@pytest.fixture
def other(az: Calls) -> Iterator[c_void_p]:
    made = az.context()
    yield made
    az.ok("zeContextDestroy", made)


def fill(az: Calls, lst: c_void_p, memory: int, size: int = SIZE, signal: c_void_p | None = None) -> None:
    for _ in range(3):
        assert az.lib.zeCommandListAppendMemoryFill(lst, memory, byref(c_uint8(1)), 1, size, signal, 0, None) == OK


@pytest.mark.parametrize("place", ["target", "source"])
def test_a_copy_leaves_its_memory(az: Calls, context: c_void_p, lst: c_void_p, place: str) -> None:
    small, large = az.memory(context, SIZE), az.memory(context, 2 * SIZE)
    to, source = (small, large) if place == "target" else (large, small)
    copy = az.lib.zeCommandListAppendMemoryCopy
    with checked(*USUAL) as found:
        for at in (0, 0, 8):
            assert copy(lst, to + at, source, SIZE - at, None, 0, None) == OK
        copy(lst, to + 8, source + 8, SIZE, None, 0, None)  # mistake
    expect("command-out-of-bounds", found)


def test_freed_memory_is_filled(az: Calls, context: c_void_p, lst: c_void_p) -> None:
    memory = az.memory(context, SIZE)
    with checked(*USUAL) as found:
        fill(az, lst, memory)
        az.ok("zeMemFree", context, memory)
        az.lib.zeCommandListAppendMemoryFill(lst, memory, byref(c_uint8(1)), 1, SIZE, None, 0, None)  # mistake
    expect("use-after-free", found)


def test_memory_of_another_context_is_filled(az: Calls, context: c_void_p, lst: c_void_p, other: c_void_p) -> None:
    own, foreign, list_of_other = (
        az.memory(context, SIZE),
        az.memory(other, SIZE),
        az.immediate(other, mode=SYNCHRONOUS),
    )
    with checked(*USUAL) as found:
        fill(az, lst, own)
        fill(az, list_of_other, foreign)
        az.lib.zeCommandListAppendMemoryFill(lst, foreign, byref(c_uint8(1)), 1, SIZE, None, 0, None)  # mistake
    expect("other-context", found)
    az.ok("zeCommandListDestroy", list_of_other)
    az.ok("zeMemFree", other, foreign)


def test_an_event_of_another_context_is_signalled(az: Calls, context: c_void_p, lst: c_void_p, other: c_void_p) -> None:
    memory, pool, foreign = az.memory(context, SIZE), az.pool(context, 1), az.pool(other, 1)
    right, wrong = az.event(pool, 0, HOST), az.event(foreign, 0, HOST)
    with checked(*USUAL) as found:
        fill(az, lst, memory, signal=right)
        az.lib.zeCommandListAppendMemoryFill(lst, memory, byref(c_uint8(1)), 1, SIZE, wrong, 0, None)  # mistake
    expect("other-context", found)
    az.ok("zeEventDestroy", wrong)
    az.ok("zeEventPoolDestroy", foreign)


def test_a_command_waits_for_an_event_of_another_context(
    az: Calls, context: c_void_p, lst: c_void_p, other: c_void_p
) -> None:
    right, foreign = az.events(context, 1)[0], az.pool(other, 1)
    wrong = az.event(foreign, 0)
    for event in (right, wrong):
        az.ok("zeEventHostSignal", event)
    with checked(*USUAL) as found:
        for _ in range(3):
            az.ok("zeCommandListAppendBarrier", lst, None, 1, byref(right))
        az.lib.zeCommandListAppendBarrier(lst, None, 1, byref(wrong))  # mistake
    expect("other-context", found)
    az.ok("zeEventDestroy", wrong)
    az.ok("zeEventPoolDestroy", foreign)


def test_a_command_is_appended_to_a_closed_list(az: Calls, context: c_void_p) -> None:
    lst, memory = az.list(context), az.memory(context, SIZE)
    with checked(*USUAL) as found:
        fill(az, lst, memory)
        az.close(lst)
        az.lib.zeCommandListAppendMemoryFill(lst, memory, byref(c_uint8(1)), 1, SIZE, None, 0, None)  # mistake
    expect("closed-list", found)


def test_the_host_awaits_a_result_by_an_event_without_host_scope(az: Calls, context: c_void_p, lst: c_void_p) -> None:
    memory, pool = az.memory(context, SIZE), az.pool(context, 2)
    right, wrong = az.event(pool, 0, HOST), az.event(pool, 1)
    with checked(*USUAL) as found:
        fill(az, lst, memory, signal=right)
        for _ in range(3):
            az.ok("zeEventHostSynchronize", right, FOREVER)
        fill(az, lst, memory, signal=wrong)
        az.lib.zeEventHostSynchronize(wrong, FOREVER)  # mistake
    expect("missing-host-scope", found)


def test_a_wait_never_ends(az: Calls, context: c_void_p) -> None:
    lst, event = az.immediate(context, mode=ASYNCHRONOUS), az.events(context, 1)[0]
    with checked(*USUAL) as found:
        for _ in range(3):
            az.barrier(lst)
            az.ok("zeCommandListHostSynchronize", lst, FOREVER)
        az.barrier(lst, waits=[event])
        assert az.lib.zeCommandListHostSynchronize(lst, FOREVER) == NOT_READY  # mistake
    expect("wait-never-ends", found)
    az.ok("zeEventHostSignal", event)
    az.ok("zeCommandListHostSynchronize", lst, FOREVER)


def test_a_wait_with_a_time_limit_takes_no_longer_in_pieces(az: Calls, context: c_void_p) -> None:
    lst, event = az.immediate(context, mode=ASYNCHRONOUS), az.events(context, 1)[0]
    az.barrier(lst, waits=[event])
    with checked(*USUAL) as found:
        for timeout in (0, 1000, 60_000_000):
            assert az.lib.zeCommandListHostSynchronize(lst, timeout) == NOT_READY
    assert not found
    az.ok("zeEventHostSignal", event)


@anyzero.kernel
def store(to: anyzero.ptr[anyzero.i32], value: anyzero.i32):  # type: ignore[no-untyped-def]
    to[0] = value


def test_a_kernel_is_launched_with_memory_of_another_context(az: Calls) -> None:
    own, other = (anyzero.device().context() for _ in range(2))
    right, wrong = (each.zeros(1, np.int32) for each in (own, other))
    made, commands = store.on(own), own.immediate(mode="synchronous")
    kernel, lst = made.handle, commands.handle
    one = byref(ze.ze_group_count_t(1, 1, 1))
    az.ok("zeKernelSetGroupSize", kernel, 1, 1, 1)
    az.ok("zeKernelSetArgumentValue", kernel, 1, 4, byref(c_int32(7)))
    with checked(*USUAL) as found:
        az.ok("zeKernelSetArgumentValue", kernel, 0, 8, byref(c_void_p(right.pointer)))
        for _ in range(3):
            az.ok("zeCommandListAppendLaunchKernel", lst, kernel, one, None, 0, None)
        az.ok("zeKernelSetArgumentValue", kernel, 0, 8, byref(c_void_p(wrong.pointer)))
        az.lib.zeCommandListAppendLaunchKernel(lst, kernel, one, None, 0, None)  # mistake
    expect("other-context", found)


def test_a_kernel_writes_memory_that_was_freed_after_earlier_launches(az: Calls) -> None:
    ctx = anyzero.device().context()
    memory, lst = az.memory(c_void_p(ctx.handle), SIZE, "device"), ctx.immediate(mode="synchronous")
    with checked("memory") as found:
        kernel = store.on(ctx)
        for _ in range(3):
            lst.launch(kernel, 1, (memory, 7))
        az.ok("zeMemFree", c_void_p(ctx.handle), memory)
        lst.launch(kernel, 1, (memory, 7))
    assert found.the_only().rule.name == "use-after-free"


def test_an_event_is_reset_while_a_command_waits_for_it(az: Calls, context: c_void_p) -> None:
    lst, (event, start) = az.immediate(context, mode=ASYNCHRONOUS), az.events(context, 2)
    with checked(*USUAL) as found:
        for _ in range(3):
            az.barrier(lst, signal=event)
            az.ok("zeCommandListHostSynchronize", lst, FOREVER)
            az.ok("zeEventHostReset", event)
        az.barrier(lst, waits=[start, event])
        az.lib.zeEventHostReset(event)  # mistake
    expect("event-reset-in-use", found)
    for each in (start, event):
        az.ok("zeEventHostSignal", each)
    az.ok("zeCommandListHostSynchronize", lst, FOREVER)


def test_an_event_is_destroyed_while_a_command_is_to_signal_it(az: Calls, context: c_void_p) -> None:
    lst, start, pool = az.immediate(context, mode=ASYNCHRONOUS), az.events(context, 1)[0], az.pool(context, 2)
    with checked(*USUAL) as found:
        for _ in range(3):
            az.ok("zeEventDestroy", az.event(pool, 0, HOST))
        event = az.event(pool, 1, HOST)
        az.barrier(lst, signal=event, waits=[start])
        az.lib.zeEventDestroy(event)  # mistake
    expect("event-destroyed-in-use", found)
    az.ok("zeEventHostSignal", start)
    az.ok("zeCommandListHostSynchronize", lst, FOREVER)


def test_a_list_is_reset_while_a_queue_executes_it(az: Calls, context: c_void_p) -> None:
    lst, queue, event = az.list(context), az.queue(context), az.events(context, 1)[0]
    with checked(*USUAL) as found:
        for _ in range(3):
            az.barrier(lst)
            az.close(lst)
            az.execute(queue, lst)
            az.ok("zeCommandQueueSynchronize", queue, FOREVER)
            az.ok("zeCommandListReset", lst)
        az.barrier(lst, waits=[event])
        az.close(lst)
        az.execute(queue, lst)
        az.lib.zeCommandListReset(lst)  # mistake
    expect("list-in-use", found)
    az.ok("zeEventHostSignal", event)
    az.ok("zeCommandQueueSynchronize", queue, FOREVER)


def test_copies_between_more_buffers_than_a_thread_remembers(az: Calls, context: c_void_p, lst: c_void_p) -> None:
    buffers = [az.memory(context, SIZE) for _ in range(300)]
    copy = az.lib.zeCommandListAppendMemoryCopy
    with checked(*USUAL) as found:
        for _ in range(2):
            for to, source in pairwise(buffers):
                assert copy(lst, to, source, SIZE, None, 0, None) == OK
        copy(lst, buffers[0], buffers[-1] + 1, SIZE, None, 0, None)  # mistake
    expect("command-out-of-bounds", found)


def test_contexts_take_turns(az: Calls, context: c_void_p, lst: c_void_p, other: c_void_p) -> None:
    own, foreign = az.memory(context, SIZE), az.memory(other, SIZE)
    list_of_other = az.immediate(other, mode=SYNCHRONOUS)
    with checked(*USUAL) as found:
        for _ in range(3):
            fill(az, lst, own)
            fill(az, list_of_other, foreign)
        az.lib.zeCommandListAppendMemoryFill(list_of_other, own, byref(c_uint8(1)), 1, SIZE, None, 0, None)  # mistake
    expect("other-context", found)
    az.ok("zeCommandListDestroy", list_of_other)
    az.ok("zeMemFree", other, foreign)
