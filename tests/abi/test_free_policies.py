"""Frees that wait: blocking and deferred, for every kind of command that may still use the memory."""

from __future__ import annotations

import threading
from collections.abc import Callable
from ctypes import byref, c_uint8, c_void_p
from typing import Any

import pytest

from anyzero import ze
from tests.abi.appends import TIMED, image
from tests.abi.calls import COPY, SOON, Calls, handles, read, waiting
from tests.patience import PATIENCE

BLOCKING = ze.ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE
DEFER = ze.ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE
SIZE = 8192


def region() -> Any:
    return byref(ze.ze_copy_region_t(originX=4, originY=2, width=16, height=4, depth=1))


def query(az: Calls, context: c_void_p, lst: c_void_p, at: int, end: tuple[Any, ...]) -> None:
    (event,) = az.events(context, 1, TIMED)
    az.ok("zeEventHostSignal", event)
    az.ok("zeCommandListAppendQueryKernelTimestamps", lst, 1, handles([event]), at, None, *end)


# Each uses the memory from `at` on, inside the allocation, and other memory.
USES: dict[str, Callable[..., None]] = {
    "copy to": lambda az, c, lst, at, other, end: az.ok("zeCommandListAppendMemoryCopy", lst, at, other, 64, *end),
    "copy from": lambda az, c, lst, at, other, end: az.ok("zeCommandListAppendMemoryCopy", lst, other, at, 64, *end),
    "copy from a context": lambda az, c, lst, at, other, end: az.ok(
        "zeCommandListAppendMemoryCopyFromContext", lst, other, c, at, 64, *end
    ),
    "copy that begins before it": lambda az, c, lst, at, other, end: az.ok(
        "zeCommandListAppendMemoryCopy", lst, other, at - 4096, SIZE, *end
    ),
    "fill": lambda az, c, lst, at, other, end: az.ok(
        "zeCommandListAppendMemoryFill", lst, at, byref(c_uint8(1)), 1, 64, *end
    ),
    "region to": lambda az, c, lst, at, other, end: az.ok(
        "zeCommandListAppendMemoryCopyRegion", lst, at, region(), 64, 0, other, region(), 64, 0, *end
    ),
    "region from": lambda az, c, lst, at, other, end: az.ok(
        "zeCommandListAppendMemoryCopyRegion", lst, other, region(), 64, 0, at, region(), 64, 0, *end
    ),
    "image to memory": lambda az, c, lst, at, other, end: az.ok(
        "zeCommandListAppendImageCopyToMemory", lst, at, image(az, c), None, *end
    ),
    "image from memory": lambda az, c, lst, at, other, end: az.ok(
        "zeCommandListAppendImageCopyFromMemory", lst, image(az, c), at, None, *end
    ),
    "timestamp": lambda az, c, lst, at, other, end: az.ok("zeCommandListAppendWriteGlobalTimestamp", lst, at, *end),
    "timestamp query": lambda az, c, lst, at, other, end: query(az, c, lst, at, end),
}


def free(az: Calls, context: c_void_p, address: int, policy: int) -> None:
    az.ok("zeMemFreeExt", context, byref(ze.ze_memory_free_ext_desc_t(freePolicy=policy)), address)


def known(az: Calls, context: c_void_p, address: int) -> bool:
    found = ze.ze_memory_allocation_properties_t()
    az.ok("zeMemGetAllocProperties", context, address, byref(found), None)
    return bool(found.type != ze.ZE_MEMORY_TYPE_UNKNOWN)


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("use", USES)
def test_blocking_free_waits_for_the_command(az: Calls, context: c_void_p, use: str, recorded: bool) -> None:
    (gate,) = az.events(context, 1)
    address, other = az.memory(context, SIZE, "device"), az.memory(context, SIZE)
    end = (None, *waiting([gate]))
    if recorded:
        # The wait is in one command, the use in a later one, in the second list of the submission.
        first, second, queue = az.list(context), az.list(context), az.queue(context)
        az.barrier(first, None, [gate])
        USES[use](az, context, second, address + 4096, other, (None, 0, None))
        az.close(first, second)
        az.execute(queue, first, second)
        for lst in (first, second):
            az.ok("zeCommandListDestroy", lst)
    else:
        USES[use](az, context, az.immediate(context, ordinal=COPY), address + 4096, other, end)
    freed = threading.Event()

    def work() -> None:
        free(az, context, address, BLOCKING)
        freed.set()

    thread = threading.Thread(target=work)
    thread.start()
    assert not freed.wait(0.03)
    assert known(az, context, address)
    az.ok("zeEventHostSignal", gate)
    assert freed.wait(PATIENCE)
    thread.join()
    assert not known(az, context, address)
    az.ok("zeContextGetStatus", context)


@pytest.mark.parametrize("use", USES)
def test_deferred_memory_is_not_given_out_again(az: Calls, context: c_void_p, use: str) -> None:
    """The pending command finds its memory unchanged by later allocations."""
    (gate,) = az.events(context, 1)
    address, other = az.memory(context, SIZE, "device"), az.memory(context, SIZE)
    immediate = az.immediate(context)
    USES[use](az, context, immediate, address + 4096, other, (None, *waiting([gate])))
    free(az, context, address, DEFER)
    fresh = [az.memory(context, SIZE, "device") for _ in range(40)]
    assert not any(one < address + SIZE and address < one + SIZE for one in fresh)
    az.ok("zeEventHostSignal", gate)
    az.ok("zeCommandListHostSynchronize", immediate, SOON)
    az.ok("zeContextGetStatus", context)
    for one in fresh:
        az.ok("zeMemFree", context, one)


def test_blocking_free_does_not_wait_for_strangers(az: Calls, context: c_void_p) -> None:
    """Commands of other memory, and of a neighbour that ends where this begins, are none of its business."""
    (gate,) = az.events(context, 1)
    pair = [az.memory(context, SIZE, "device") for _ in range(8)]
    held = az.immediate(context)
    for address in pair[1:]:
        az.copy(held, address, address + 4096, 4096, None, [gate])
    free(az, context, pair[0], BLOCKING)
    assert not known(az, context, pair[0])
    az.ok("zeEventHostSignal", gate)
    az.ok("zeCommandListHostSynchronize", held, SOON)


def test_frees_of_memory_that_another_context_uses(az: Calls, context: c_void_p) -> None:
    other = az.context()
    (gate,) = az.events(other, 1)
    address, target = az.memory(context, SIZE, "device"), az.memory(other, SIZE)
    az.fill(az.immediate(context, mode=1), address, 9, SIZE)
    held = az.immediate(other)
    args = (target, context, address, SIZE, None, *waiting([gate]))
    az.ok("zeCommandListAppendMemoryCopyFromContext", held, *args)
    free(az, context, address, DEFER)
    fresh = [az.memory(context, SIZE, "device") for _ in range(20)]
    for one in fresh:
        az.fill(az.immediate(context, mode=1), one, 0, SIZE)
    az.ok("zeEventHostSignal", gate)
    az.ok("zeCommandListHostSynchronize", held, SOON)
    assert read(target, SIZE) == b"\x09" * SIZE


def test_destroying_a_context_defers_what_is_in_use(az: Calls) -> None:
    context, other = az.context(), az.context()
    (gate,) = az.events(other, 1)
    size = 3 << 20
    address, target = az.memory(context, size, "device"), az.memory(other, size)
    az.fill(az.immediate(context, mode=1), address, 7, size)
    held = az.immediate(context)
    az.copy(held, target, address, size, None, [gate])
    az.ok("zeContextDestroy", context)
    fresh = [az.memory(other, size, "device") for _ in range(5)]
    for one in fresh:
        az.fill(az.immediate(other, mode=1), one, 0, size)
    az.ok("zeEventHostSignal", gate)
    az.ok("zeCommandListHostSynchronize", held, SOON)
    assert read(target, size) == b"\x07" * size
    for one in (*fresh, target):
        az.ok("zeMemFree", other, one)


def test_many_deferred_frees_behind_one_gate(az: Calls, context: c_void_p) -> None:
    (gate,) = az.events(context, 1)
    held, target = az.immediate(context), az.memory(context, 64)
    for _ in range(500):
        address = az.memory(context, 64, "device")
        az.copy(held, target, address, 64, None, [gate])
        free(az, context, address, DEFER)
    az.ok("zeEventHostSignal", gate)
    az.ok("zeCommandListHostSynchronize", held, SOON)
    # They are reclaimed as others are allocated and freed.
    for _ in range(100):
        az.ok("zeMemFree", context, az.memory(context, 64))
