"""Contexts: for all devices, for some, and what they refuse."""

from __future__ import annotations

from ctypes import byref, c_void_p

from anyzero import ze
from tests.abi.calls import (
    INVALID_ENUMERATION,
    INVALID_NULL_HANDLE,
    INVALID_SIZE,
    OK,
    SYNCHRONOUS,
    Calls,
    handles,
    read,
    run_python,
)


def test_context_lives_and_dies(az: Calls) -> None:
    context = az.context()
    az.ok("zeContextGetStatus", context)
    az.ok("zeContextSystemBarrier", context, az.device)
    az.ok("zeContextDestroy", context)
    az.error(INVALID_NULL_HANDLE, "zeContextGetStatus", context)
    az.error(INVALID_NULL_HANDLE, "zeContextDestroy", context)


def test_device_lists(az: Calls) -> None:
    made, desc = c_void_p(), ze.ze_context_desc_t()
    az.ok("zeContextCreateEx", az.driver, byref(desc), 0, None, byref(made))
    az.ok("zeContextDestroy", made)
    az.ok("zeContextCreateEx", az.driver, byref(desc), 1, handles([az.device]), byref(made))
    az.ok("zeContextDestroy", made)
    # The same device twice is the same context.
    az.ok("zeContextCreateEx", az.driver, byref(desc), 2, handles([az.device] * 2), byref(made))
    az.ok("zeContextDestroy", made)
    az.error(INVALID_SIZE, "zeContextCreateEx", az.driver, byref(desc), 1, None, byref(made))
    az.error(
        INVALID_NULL_HANDLE,
        "zeContextCreateEx",
        az.driver,
        byref(desc),
        2,
        handles([az.device, c_void_p()]),
        byref(made),
    )
    az.error(INVALID_NULL_HANDLE, "zeContextCreateEx", az.driver, byref(desc), 1, handles([az.driver]), byref(made))
    az.error(INVALID_ENUMERATION, "zeContextCreate", az.driver, byref(ze.ze_context_desc_t(flags=0x10)), byref(made))


def test_children_outlive_their_context(az: Calls) -> None:
    context = az.context()
    immediate = az.immediate(context, mode=SYNCHRONOUS)
    (event,) = az.events(context, 1)
    queue, recorded = az.queue(context), az.list(context)
    az.ok("zeContextDestroy", context)
    az.barrier(immediate, event)
    az.ok("zeEventQueryStatus", event)
    az.close(recorded)
    az.execute(queue, recorded)
    az.finish(queue)
    for name, handle in (
        ("zeCommandListDestroy", immediate),
        ("zeCommandListDestroy", recorded),
        ("zeCommandQueueDestroy", queue),
        ("zeEventDestroy", event),
    ):
        az.ok(name, handle)


def test_many_contexts_come_and_go(az: Calls) -> None:
    made = [az.context() for _ in range(300)]
    assert len({context.value for context in made}) == 300
    addresses = [az.memory(context, 64) for context in made]
    assert len(set(addresses)) == 300
    for context, address in zip(made, addresses, strict=True):
        az.ok("zeMemFree", context, address)
        az.ok("zeContextDestroy", context)


def test_a_subset_refuses_the_others() -> None:
    run_python(
        """
        az = Calls()
        one, two = az.devices
        tiles = az.several("zeDeviceGetSubDevices", one)
        desc, made = ze.ze_context_desc_t(), c_void_p()
        subset = az.new("zeContextCreateEx", az.driver, byref(desc), 1, handles([one]))
        # A device of the context and its tiles are welcome.
        for device in (one, *tiles):
            az.memory(subset, 64, "device", device=device)
            az.queue(subset, device)
            az.immediate(subset, device)
            az.list(subset, device)
            az.ok("zeContextSystemBarrier", subset, device)
        q, d, l = ze.ze_command_queue_desc_t(), ze.ze_device_mem_alloc_desc_t(), ze.ze_command_list_desc_t()
        h, address = ze.ze_host_mem_alloc_desc_t(), c_void_p()
        s, i = ze.ze_sampler_desc_t(), ze.ze_image_desc_t(width=4, height=1, depth=1)
        p = ze.ze_physical_mem_desc_t(size=1 << 16)
        mine = az.memory(subset, 4096, "device", device=one)
        cb, pool = ze.ze_event_counter_based_desc_t(flags=3), ze.ze_event_pool_desc_t(count=1)
        foreign = [
            ("zeCommandQueueCreate", subset, two, byref(q), byref(made)),
            ("zeCommandListCreateImmediate", subset, two, byref(q), byref(made)),
            ("zeCommandListCreate", subset, two, byref(l), byref(made)),
            ("zeMemAllocDevice", subset, byref(d), 64, 0, two, byref(address)),
            ("zeMemAllocShared", subset, byref(d), byref(h), 64, 0, two, byref(address)),
            ("zeContextSystemBarrier", subset, two),
            ("zeContextMakeMemoryResident", subset, two, mine, 4096),
            ("zeContextEvictMemory", subset, two, mine, 4096),
            ("zeSamplerCreate", subset, two, byref(s), byref(made)),
            ("zeImageCreate", subset, two, byref(i), byref(made)),
            ("zePhysicalMemCreate", subset, two, byref(p), byref(made)),
            ("zeEventCounterBasedCreate", subset, two, byref(cb), byref(made)),
            ("zeEventPoolCreate", subset, byref(pool), 1, handles([two]), byref(made)),
            ("zeVirtualMemQueryPageSize", subset, two, 4096, byref(c_uint64())),
        ]
        for name, *args in foreign:
            r = az.call(name, *args)
            assert r == INVALID_ARGUMENT, f"{name}: {r:#x} {az.last_error()}"
        assert made.value is None and address.value is None
        az.ok("zeContextGetStatus", subset)
        # One tile alone.
        tile = az.new("zeContextCreateEx", az.driver, byref(desc), 1, handles([tiles[1]]))
        az.queue(tile, tiles[1])
        az.error(INVALID_ARGUMENT, "zeCommandQueueCreate", tile, two, byref(q), byref(made))
        """,
        ANYZERO_DEVICES="cpu:tiles=2,memory=64M,cpu:memory=64M",
    )


def test_copy_between_contexts(az: Calls) -> None:
    one, two = az.context(), az.context()
    source, target = az.memory(one, 1000, "device"), az.memory(two, 1000, "host")
    first, second = az.immediate(one, mode=SYNCHRONOUS), az.immediate(two, mode=SYNCHRONOUS)
    az.fill(first, source, 0x37, 1000)
    az.ok("zeCommandListAppendMemoryCopyFromContext", second, target, one, source, 1000, None, 0, None)
    assert read(target, 1000) == b"\x37" * 1000
    assert az.call("zeCommandListAppendMemoryCopyFromContext", second, target, None, source, 1000, None, 0, None) != OK
