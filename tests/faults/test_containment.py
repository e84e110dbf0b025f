"""A bad pointer in device work: the queue is lost with a report, everything else continues."""

from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Callable
from ctypes import byref, c_uint8, c_void_p
from typing import Any

import pytest

from anyzero import ze
from tests.abi.calls import (
    COMPUTE,
    COPY,
    DEVICE_LOST,
    NOT_READY,
    OK,
    SECOND,
    SOON,
    SYNCHRONOUS,
    Calls,
    handles,
    read,
    waiting,
)
from tests.asleep import await_sleep
from tests.patience import PATIENCE

NOWHERE = 0x7000_0000_1000
"""An address that nothing maps: above what the system gives out from below, below what it gives out from above."""

TIMED = ze.ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ze.ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP


def bad_copy_to(az: Calls, context: c_void_p, lst: c_void_p, end: tuple[Any, ...]) -> int:
    return az.call("zeCommandListAppendMemoryCopy", lst, NOWHERE, az.memory(context, 64), 64, *end)


def bad_copy_from(az: Calls, context: c_void_p, lst: c_void_p, end: tuple[Any, ...]) -> int:
    return az.call("zeCommandListAppendMemoryCopy", lst, az.memory(context, 64), NOWHERE, 64, *end)


def bad_large_copy(az: Calls, context: c_void_p, lst: c_void_p, end: tuple[Any, ...]) -> int:
    """Large enough to be shared out: the fault happens on a worker as often as on the engine."""
    size = 8 << 20
    return az.call("zeCommandListAppendMemoryCopy", lst, az.memory(context, size), NOWHERE, size, *end)


def bad_fill(az: Calls, context: c_void_p, lst: c_void_p, end: tuple[Any, ...]) -> int:
    pattern = c_uint8(1)
    return az.call("zeCommandListAppendMemoryFill", lst, NOWHERE, byref(pattern), 1, 4096, *end)


def bad_large_fill(az: Calls, context: c_void_p, lst: c_void_p, end: tuple[Any, ...]) -> int:
    pattern = c_uint8(1)
    return az.call("zeCommandListAppendMemoryFill", lst, NOWHERE, byref(pattern), 1, 8 << 20, *end)


def bad_region(az: Calls, context: c_void_p, lst: c_void_p, end: tuple[Any, ...]) -> int:
    region = ze.ze_copy_region_t(width=16, height=4, depth=1)
    args = (NOWHERE, byref(region), 64, 0, az.memory(context, 4096), byref(region), 64, 0)
    return az.call("zeCommandListAppendMemoryCopyRegion", lst, *args, *end)


def bad_timestamp(az: Calls, context: c_void_p, lst: c_void_p, end: tuple[Any, ...]) -> int:
    return az.call("zeCommandListAppendWriteGlobalTimestamp", lst, NOWHERE, *end)


def bad_query(az: Calls, context: c_void_p, lst: c_void_p, end: tuple[Any, ...]) -> int:
    (event,) = az.events(context, 1, TIMED)
    az.ok("zeEventHostSignal", event)
    return az.call("zeCommandListAppendQueryKernelTimestamps", lst, 1, handles([event]), NOWHERE, None, *end)


BAD: dict[str, Callable[..., int]] = {
    "memory copy": bad_copy_to,
    "memory copy of 64 bytes": bad_copy_from,
    "memory copy of 8388608 bytes": bad_large_copy,
    "memory fill": bad_fill,
    "memory fill of 8388608 bytes": bad_large_fill,
    "region copy": bad_region,
    "timestamp write": bad_timestamp,
    "timestamp query": bad_query,
}


def check_report(text: str, command: str) -> None:
    assert command in text, text
    address = re.search(r"invalid address at (0x[0-9a-f]+) ", text)
    assert address, text
    assert NOWHERE <= int(address[1], 16) < NOWHERE + (8 << 20), text
    assert "alloc" in text, text


@pytest.mark.parametrize("ordinal", [COMPUTE, COPY])
@pytest.mark.parametrize("how", ["queue", "synchronous queue", "immediate", "synchronous immediate"])
@pytest.mark.parametrize("command", BAD)
def test_a_bad_command_loses_its_queue_and_nothing_else(az: Calls, command: str, how: str, ordinal: int) -> None:
    context, other = az.context(), az.context()
    mode = SYNCHRONOUS if how.startswith("synchronous") else 0
    neighbour, room = az.immediate(other, ordinal=ordinal), az.memory(other, 4096)
    az.fill(neighbour, room, 1, 4096)
    if how.endswith("queue"):
        queue, recorded = (
            az.queue(context, mode=mode, ordinal=ordinal),
            az.list(context, commandQueueGroupOrdinal=ordinal),
        )
        assert BAD[command](az, context, recorded, (None, 0, None)) == OK
        az.close(recorded)
        result = az.call("zeCommandQueueExecuteCommandLists", queue, 1, handles([recorded]), None)
        assert result in ((DEVICE_LOST,) if mode else (OK, DEVICE_LOST))
        az.error(DEVICE_LOST, "zeCommandQueueSynchronize", queue, SOON)
        check_report(az.last_error(), command)
        # It stays lost, and every call returns the same report.
        az.error(DEVICE_LOST, "zeCommandQueueSynchronize", queue, 0)
        az.error(DEVICE_LOST, "zeCommandQueueExecuteCommandLists", queue, 1, handles([recorded]), None)
        check_report(az.last_error(), command)
        az.ok("zeCommandQueueDestroy", queue)
    else:
        immediate = az.immediate(context, mode=mode, ordinal=ordinal)
        result = BAD[command](az, context, immediate, (None, 0, None))
        assert result in ((DEVICE_LOST,) if mode else (OK, DEVICE_LOST))
        az.error(DEVICE_LOST, "zeCommandListHostSynchronize", immediate, SOON)
        check_report(az.last_error(), command)
        az.error(DEVICE_LOST, "zeCommandListAppendBarrier", immediate, None, 0, None)
        check_report(az.last_error(), command)
        az.ok("zeCommandListDestroy", immediate)
    az.error(DEVICE_LOST, "zeContextGetStatus", context)
    # Another queue on the same engine continues.
    az.copy(neighbour, room + 2048, room, 2048)
    az.ok("zeCommandListHostSynchronize", neighbour, SOON)
    assert read(room, 4096) == b"\x01" * 4096
    az.ok("zeContextGetStatus", other)
    az.ok("zeDeviceGetStatus", az.device)
    az.ok("zeContextDestroy", context)


def test_the_report_names_the_nearest_allocation(az: Calls) -> None:
    context = az.context()
    big = az.memory(context, 4 << 20, "device")
    target = az.memory(context, 64)
    immediate = az.immediate(context, mode=SYNCHRONOUS)
    # Just behind the end: how far that reaches is the system's business, so look for the first page that is not there.
    result = az.call("zeCommandListAppendMemoryCopy", immediate, target, NOWHERE, 64, None, 0, None)
    assert result == DEVICE_LOST
    assert "not in or near any allocation" in az.last_error()
    base = c_void_p()
    az.ok("zeVirtualMemReserve", context, None, 1 << 20, byref(base))
    another = az.immediate(context, mode=SYNCHRONOUS)
    result = az.call("zeCommandListAppendMemoryCopy", another, target, base.value + 4096, 64, None, 0, None)
    assert result == DEVICE_LOST
    assert "reservation" in az.last_error() or "alloc" in az.last_error()
    null = az.immediate(context, mode=SYNCHRONOUS)
    result = az.call("zeCommandListAppendMemoryCopy", null, target, 8, 64, None, 0, None)
    assert result == DEVICE_LOST
    assert "null" in az.last_error()
    assert big


def test_free_then_use_is_reported(az: Calls) -> None:
    """Large memory leaves the process's address space or stays harmless; it must never kill the process."""
    context = az.context()
    size = 300 << 20
    address, target = az.memory(context, size, "device"), az.memory(context, 64)
    az.ok("zeMemFree", context, address)
    immediate = az.immediate(context, mode=SYNCHRONOUS)
    result = az.call("zeCommandListAppendMemoryCopy", immediate, target, address, 64, None, 0, None)
    assert result == DEVICE_LOST
    assert hex(address) in az.last_error()


@pytest.mark.parametrize("how", ["queue", "immediate"])
def test_waiters_on_events_of_a_lost_queue_wake_up(az: Calls, how: str) -> None:
    context = az.context()
    gate, early, late, last = az.events(context, 4)
    results: dict[str, int] = {}

    def wait(name: str, event: c_void_p) -> None:
        results[name] = az.call("zeEventHostSynchronize", event, SOON)

    lst = az.list(context) if how == "queue" else az.immediate(context)
    queue = az.queue(context)
    fence = az.fence(queue)
    az.barrier(lst, early, [gate])
    az.call("zeCommandListAppendMemoryCopy", lst, NOWHERE, az.memory(context, 64), 64, late, 0, None)
    az.barrier(lst, last)
    if how == "queue":
        az.close(lst)
        az.execute(queue, lst, fence=fence)
    threads = [threading.Thread(target=wait, args=pair) for pair in (("early", early), ("late", late), ("last", last))]
    if how == "queue":
        threads.append(
            threading.Thread(target=lambda: results.update(fence=az.call("zeFenceHostSynchronize", fence, SOON)))
        )
    for thread in threads:
        thread.start()
    for thread in threads:
        await_sleep(thread)
    assert results == {}
    az.ok("zeEventHostSignal", gate)
    for thread in threads:
        thread.join(PATIENCE)
    # Commands before the fault have completed.
    assert results.pop("early") == OK
    assert set(results.values()) == {DEVICE_LOST}, results
    az.error(DEVICE_LOST, "zeEventQueryStatus", late)
    az.ok("zeEventQueryStatus", early)
    # A lost event can be used again after a reset.
    az.ok("zeEventHostReset", late)
    az.error(NOT_READY, "zeEventQueryStatus", late)
    az.ok("zeEventHostSignal", late)
    az.ok("zeEventQueryStatus", late)


def test_queues_that_depend_on_a_lost_one_do_not_hang(az: Calls) -> None:
    """Compute faults; copy waits for its event, and another context waits for copy's."""
    context, other = az.context(), az.context()
    gate, first, second, third = az.events(context, 4)
    compute, copy = az.immediate(context), az.immediate(context, ordinal=COPY)
    stranger, bystander = az.immediate(other), az.immediate(other, ordinal=COPY)
    room = az.memory(other, 64)
    az.barrier(stranger, third, [second])
    az.barrier(copy, second, [first])
    az.call("zeCommandListAppendMemoryCopy", compute, NOWHERE, az.memory(context, 64), 64, first, *waiting([gate]))
    az.ok("zeEventHostSignal", gate)
    az.error(DEVICE_LOST, "zeEventHostSynchronize", third, SOON)
    for lst in (compute, copy, stranger):
        az.error(DEVICE_LOST, "zeCommandListHostSynchronize", lst, SOON)
    assert "event" in az.last_error()
    az.fill(bystander, room, 7, 64)
    az.ok("zeCommandListHostSynchronize", bystander, SOON)
    assert read(room, 64) == b"\x07" * 64


def test_lost_queue_with_much_behind_it(az: Calls) -> None:
    """Hundreds of commands and lists behind the fault: all forsaken, nothing leaks into memory, nothing hangs."""
    context = az.context()
    (gate,) = az.events(context, 1)
    events = az.events(context, 100)
    queue, room = az.queue(context), az.memory(context, 128)
    az.fill(az.immediate(context, mode=SYNCHRONOUS), room, 0, 128)
    lists = []
    for index in range(100):
        recorded = az.list(context)
        if index == 10:
            az.barrier(recorded, None, [gate])
            assert bad_copy_to(az, context, recorded, (None, 0, None)) == OK
        az.fill(recorded, room + index, 1, 1, events[index])
        az.close(recorded)
        lists.append(recorded)
    fence = az.fence(queue)
    az.execute(queue, *lists, fence=fence)
    for recorded in lists:
        az.ok("zeCommandListDestroy", recorded)
    az.ok("zeEventHostSignal", gate)
    az.error(DEVICE_LOST, "zeFenceHostSynchronize", fence, SOON)
    assert read(room, 128) == b"\x01" * 10 + bytes(118)
    assert [az.call("zeEventQueryStatus", event) for event in events] == [OK] * 10 + [DEVICE_LOST] * 90


def test_counting_event_of_a_lost_queue(az: Calls) -> None:
    context = az.context()
    event = az.counter(context)
    immediate = az.immediate(context)
    az.call("zeCommandListAppendMemoryCopy", immediate, NOWHERE, az.memory(context, 64), 64, event, 0, None)
    az.error(DEVICE_LOST, "zeEventHostSynchronize", event, SOON)


def test_device_synchronize_tells_of_the_loss(az: Calls) -> None:
    context = az.context()
    (gate,) = az.events(context, 1)
    immediate = az.immediate(context)
    az.barrier(immediate, None, [gate])
    az.call("zeCommandListAppendMemoryCopy", immediate, NOWHERE, az.memory(context, 64), 64, None, 0, None)
    threading.Timer(0.05, lambda: az.call("zeEventHostSignal", gate)).start()
    az.error(DEVICE_LOST, "zeDeviceSynchronize", az.device)
    # Later calls have nothing to wait for.
    az.ok("zeDeviceSynchronize", az.device)


def test_blocking_free_on_a_lost_context(az: Calls) -> None:
    context = az.context()
    address = az.memory(context, 64)
    immediate = az.immediate(context)
    az.call("zeCommandListAppendMemoryCopy", immediate, NOWHERE, address, 64, None, 0, None)
    az.error(DEVICE_LOST, "zeCommandListHostSynchronize", immediate, SOON)
    desc = ze.ze_memory_free_ext_desc_t(freePolicy=1)
    az.ok("zeMemFreeExt", context, byref(desc), address)


def test_append_of_lists_that_fault(az: Calls) -> None:
    context = az.context()
    (done,) = az.events(context, 1)
    recorded, immediate = az.list(context), az.immediate(context)
    assert bad_fill(az, context, recorded, (None, 0, None)) == OK
    az.close(recorded)
    az.ok("zeCommandListImmediateAppendCommandListsExp", immediate, 1, handles([recorded]), done, 0, None)
    az.error(DEVICE_LOST, "zeEventHostSynchronize", done, SOON)
    az.error(DEVICE_LOST, "zeCommandListHostSynchronize", immediate, 0)
    check_report(az.last_error(), "memory fill")


def test_many_faults_in_a_row(az: Calls) -> None:
    """Each in a new context, from several threads: traps nest nowhere and leak nothing."""
    errors: list[str] = []

    def work() -> None:
        for index in range(25):
            context = az.context()
            immediate = az.immediate(context, mode=SYNCHRONOUS if index % 2 else 0, ordinal=index % 2)
            name = list(BAD)[index % len(BAD)]
            BAD[name](az, context, immediate, (None, 0, None))
            if az.call("zeCommandListHostSynchronize", immediate, SOON) != DEVICE_LOST:
                errors.append(name)
            az.ok("zeCommandListDestroy", immediate)
            az.ok("zeContextDestroy", context)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_wrapping_addresses(az: Calls) -> None:
    """Sizes that run around the end of the address space, and regions whose last row does."""
    for size in (2**63, 2**64 - 1, 2**48):
        for name, args in (
            ("zeCommandListAppendMemoryCopy", (NOWHERE, NOWHERE * 2, size, None, 0, None)),
            ("zeCommandListAppendMemoryFill", (NOWHERE, byref(c_uint8(1)), 1, size, None, 0, None)),
            ("zeCommandListAppendMemoryCopy", (2**64 - 4096, NOWHERE, size, None, 0, None)),
        ):
            context = az.context()
            immediate = az.immediate(context)
            result = az.call(name, immediate, *args)
            if result == OK:
                result = az.call("zeCommandListHostSynchronize", immediate, SOON)
            assert result not in (OK, NOT_READY), (name, size)
    context = az.context()
    immediate = az.immediate(context, mode=SYNCHRONOUS)
    far = ze.ze_copy_region_t(originY=2**32 - 1, originZ=2**32 - 1, width=64, height=1, depth=1)
    near = ze.ze_copy_region_t(width=64, height=1, depth=1)
    room = az.memory(context, 64)
    args = (room, byref(near), 64, 64, room, byref(far), 2**32 - 1, 2**32 - 1, None, 0, None)
    assert az.call("zeCommandListAppendMemoryCopyRegion", immediate, *args) != OK


def test_timeout_on_a_queue_that_is_about_to_be_lost(az: Calls) -> None:
    context = az.context()
    (gate,) = az.events(context, 1)
    immediate = az.immediate(context)
    pattern = c_uint8(1)
    args = (NOWHERE, byref(pattern), 1, 64, None, *waiting([gate]))
    az.ok("zeCommandListAppendMemoryFill", immediate, *args)
    az.error(NOT_READY, "zeCommandListHostSynchronize", immediate, SECOND // 100)
    az.ok("zeContextGetStatus", context)
    az.ok("zeEventHostSignal", gate)
    az.error(DEVICE_LOST, "zeCommandListHostSynchronize", immediate, SOON)


def test_memory_of_the_program_that_is_gone(az: Calls) -> None:
    import mmap

    context = az.context()
    pages = mmap.mmap(-1, 1 << 16)
    anchor = ctypes.c_char.from_buffer(pages)
    address = ctypes.addressof(anchor)
    immediate, room = az.immediate(context, mode=SYNCHRONOUS), az.memory(context, 64)
    az.copy(immediate, room, address, 64)
    del anchor
    pages.close()
    result = az.call("zeCommandListAppendMemoryCopy", immediate, room, address, 64, None, 0, None)
    assert result == DEVICE_LOST


def test_file_that_was_cut_off_is_a_bus_error_and_contained(az: Calls) -> None:
    import mmap
    import tempfile

    context = az.context()
    with tempfile.TemporaryFile() as file:
        file.truncate(1 << 16)
        pages = mmap.mmap(file.fileno(), 1 << 16)
        anchor = ctypes.c_char.from_buffer(pages)
        file.truncate(0)
        immediate, room = az.immediate(context), az.memory(context, 64)
        az.call("zeCommandListAppendMemoryCopy", immediate, room, ctypes.addressof(anchor) + 8192, 64, None, 0, None)
        az.error(DEVICE_LOST, "zeCommandListHostSynchronize", immediate, SOON)
        assert "no longer exists" in az.last_error()
        del anchor
        pages.close()
