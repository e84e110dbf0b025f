"""Every append that needs no kernel, with good parameters: for tests that go through all of them."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_size_t, c_uint8, c_uint64, c_void_p
from typing import Any

from anyzero import ze
from tests.abi.calls import Calls, HostFunction, handles

TIMED = ze.ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ze.ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP

nothing = HostFunction(lambda _: None)
"""A host function; a global, because it must outlive the list."""


def image(az: Calls, context: c_void_p) -> c_void_p:
    desc = ze.ze_image_desc_t(width=8, height=8, depth=1)
    desc.type = ze.ZE_IMAGE_TYPE_2D
    desc.format.layout = ze.ZE_IMAGE_FORMAT_LAYOUT_8
    return az.new("zeImageCreate", context, az.device, byref(desc))


def appends(
    az: Calls, context: c_void_p, signal: Any = None, waits: tuple[Any, ...] = ()
) -> list[tuple[str, tuple[Any, ...]]]:
    """Pairs of name and parameters behind the list; those that take them get `signal` and `waits`."""
    one, two = az.memory(context, 4096), az.memory(context, 4096, "device")
    pattern, sizes, ranges = c_uint8(0x42), (c_size_t * 1)(64), (c_void_p * 1)(one)
    region = ze.ze_copy_region_t(width=16, height=4, depth=1)
    first, second = image(az, context), image(az, context)
    (timed,) = az.events(context, 1, TIMED)
    az.ok("zeEventHostSignal", timed)
    number = c_uint64.from_address(one + 2048)
    end = (signal, len(waits), handles(waits) if waits else None)
    keep = (pattern, sizes, ranges, region)
    made = [
        ("zeCommandListAppendWriteGlobalTimestamp", (ctypes.addressof(number), *end)),
        ("zeCommandListAppendBarrier", end),
        ("zeCommandListAppendMemoryRangesBarrier", (1, sizes, ranges, *end)),
        ("zeCommandListAppendMemoryCopy", (one, two, 1024, *end)),
        ("zeCommandListAppendMemoryCopyWithParameters", (one, two, 1024, None, *end)),
        ("zeCommandListAppendMemoryFill", (two, byref(pattern), 1, 1024, *end)),
        ("zeCommandListAppendMemoryFillWithParameters", (two, byref(pattern), 1, 1024, None, *end)),
        ("zeCommandListAppendMemoryCopyRegion", (one, byref(region), 64, 0, two, byref(region), 32, 0, *end)),
        ("zeCommandListAppendMemoryCopyFromContext", (one, context, two, 1024, *end)),
        ("zeCommandListAppendImageCopy", (first, second, *end)),
        ("zeCommandListAppendImageCopyRegion", (first, second, None, None, *end)),
        ("zeCommandListAppendImageCopyToMemory", (one, first, None, *end)),
        ("zeCommandListAppendImageCopyFromMemory", (first, one, None, *end)),
        ("zeCommandListAppendImageCopyToMemoryExt", (one, first, None, 64, 0, *end)),
        ("zeCommandListAppendImageCopyFromMemoryExt", (first, one, None, 64, 0, *end)),
        ("zeCommandListAppendQueryKernelTimestamps", (1, handles([timed]), one, None, *end)),
        ("zeCommandListAppendHostFunction", (nothing, None, None, *end)),
    ]
    if signal is None and not waits:
        made += [
            ("zeCommandListAppendMemoryPrefetch", (one, 4096)),
            ("zeCommandListAppendMemAdvise", (az.device, one, 4096, 0)),
            ("zeCommandListAppendSignalEvent", (timed,)),
            ("zeCommandListAppendWaitOnEvents", (1, handles([timed]))),
            ("zeCommandListAppendEventReset", (timed,)),
        ]
    for _, parameters in made:
        # ctypes keeps no reference from an array or byref to objects that the parameters need later.
        keep += parameters
    _kept.append(keep)
    return made


_kept: list[Any] = []


def stamps(az: Calls, event: c_void_p) -> tuple[int, int]:
    """When the command of a timed event began, and when it ended."""
    found = ze.ze_kernel_timestamp_result_t()
    az.ok("zeEventQueryKernelTimestamp", event, byref(found))
    assert bytes(found.context)
    return getattr(found, "global").kernelStart, getattr(found, "global").kernelEnd
