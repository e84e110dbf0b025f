"""A device without on-demand paging touches only what is resident on it."""

from __future__ import annotations

import pytest

from tests.abi.calls import run_python

OFF = {"ANYZERO_DEVICES": "cpu:paging=off,memory=64M"}


def test_evicted_between_append_and_execute() -> None:
    run_python(
        """
        az = Calls()
        def prepare():
            context = az.context()
            queue, l = az.queue(context), az.list(context)
            one, two = az.memory(context, 1 << 16, "device"), az.memory(context, 1 << 16)
            az.fill(l, one, 5, 1 << 16)
            az.copy(l, two, one, 1 << 16)
            az.close(l)
            return context, queue, l, one, two
        # Named by a command: resident without asking.
        context, queue, l, one, two = prepare()
        az.execute(queue, l)
        az.finish(queue)
        assert read(two, 16) == bytes([5]) * 16
        # Evicted afterwards: the device must not touch it.
        for victim in (3, 4):
            context, queue, l, one, two = made = prepare()
            az.ok("zeContextEvictMemory", context, az.device, made[victim], 1 << 16)
            az.call("zeCommandQueueExecuteCommandLists", queue, 1, handles([l]), None)
            az.error(DEVICE_LOST, "zeCommandQueueSynchronize", queue, SOON)
            text = az.last_error()
            assert "not resident" in text and hex(made[victim])[2:] in text and "alloc" in text, text
            assert read(two, 16) != bytes([5]) * 16
            # Another context on the same device is not concerned.
            other = az.context()
            fine, room = az.immediate(other, mode=SYNCHRONOUS), az.memory(other, 64)
            az.fill(fine, room, 9, 64)
            assert read(room, 64) == bytes([9]) * 64
        # Evicted and made resident again: fine.
        context, queue, l, one, two = prepare()
        az.ok("zeContextEvictMemory", context, az.device, one, 1 << 16)
        az.ok("zeContextMakeMemoryResident", context, az.device, one, 1 << 16)
        for _ in range(3):
            az.execute(queue, l)
        az.finish(queue)
        assert read(two, 16) == bytes([5]) * 16
        """,
        **OFF,
    )


def test_parts_and_bad_ranges() -> None:
    run_python(
        """
        az = Calls()
        context = az.context()
        room = az.memory(context, 1 << 16, "device")
        resident, evict = "zeContextMakeMemoryResident", "zeContextEvictMemory"
        az.ok(resident, context, az.device, room + 100, 10)
        az.ok(evict, context, az.device, room + 60000, 10)
        az.ok(evict, context, az.device, room, 1 << 16)
        for bad in (0x1000, room + (1 << 30), 2**64 - 4096):
            az.error(INVALID_ARGUMENT, resident, context, az.device, bad, 4096)
            assert az.call(evict, context, az.device, bad, 4096) == INVALID_ARGUMENT
        other = az.context()
        az.error(INVALID_ARGUMENT, resident, other, az.device, room, 64)
        az.error(INVALID_NULL_POINTER, resident, context, az.device, None, 64)
        az.ok("zeMemFree", context, room)
        az.error(INVALID_ARGUMENT, resident, context, az.device, room, 64)
        """,
        **OFF,
    )


@pytest.mark.parametrize("what", ["to", "from"])
def test_images_and_regions(what: str) -> None:
    run_python(
        f"""
        az = Calls()
        from tests.abi.appends import image
        what = {what!r}
        """
        """
        for evict in (False, True):
            context = az.context()
            picture, room = image(az, context), az.memory(context, 4096)
            queue, l = az.queue(context), az.list(context)
            if what == "to":
                az.ok("zeCommandListAppendImageCopyFromMemory", l, picture, room, None, None, 0, None)
            else:
                az.ok("zeCommandListAppendImageCopyToMemory", l, room, picture, None, None, 0, None)
            az.close(l)
            if evict:
                az.ok("zeContextEvictImage", context, az.device, picture)
            az.call("zeCommandQueueExecuteCommandLists", queue, 1, handles([l]), None)
            r = az.call("zeCommandQueueSynchronize", queue, SOON)
            assert r == (DEVICE_LOST if evict else OK), hex(r)
            context = az.context()
            a, b = az.memory(context, 4096, "device"), az.memory(context, 4096)
            queue, l = az.queue(context), az.list(context)
            region = ze.ze_copy_region_t(width=16, height=16, depth=1)
            args = (a, byref(region), 64, 0, b, byref(region), 64, 0, None, 0, None)
            az.ok("zeCommandListAppendMemoryCopyRegion", l, *args)
            az.close(l)
            if evict:
                az.ok("zeContextEvictMemory", context, az.device, a if what == "to" else b, 4096)
            az.call("zeCommandQueueExecuteCommandLists", queue, 1, handles([l]), None)
            r = az.call("zeCommandQueueSynchronize", queue, SOON)
            assert r == (DEVICE_LOST if evict else OK), hex(r)
        """,
        **OFF,
    )


def test_commands_that_write_timestamps_are_policed_too() -> None:
    run_python(
        """
        az = Calls()
        for kind in ("write", "query"):
            context = az.context()
            room = az.memory(context, 4096, "device")
            event, = az.events(context, 1, 1 | ze.ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP)
            az.ok("zeEventHostSignal", event)
            queue, l = az.queue(context), az.list(context)
            if kind == "write":
                az.ok("zeCommandListAppendWriteGlobalTimestamp", l, room, None, 0, None)
            else:
                az.ok("zeCommandListAppendQueryKernelTimestamps", l, 1, handles([event]), room, None, None, 0, None)
            az.close(l)
            az.execute(queue, l)
            az.finish(queue)
            assert read(room, 8) != bytes(8)
            az.ok("zeContextEvictMemory", context, az.device, room, 4096)
            az.call("zeCommandQueueExecuteCommandLists", queue, 1, handles([l]), None)
            az.error(DEVICE_LOST, "zeCommandQueueSynchronize", queue, SOON)
            assert "not resident" in az.last_error(), az.last_error()
        """,
        **OFF,
    )


def test_memory_of_the_system_is_out_of_reach() -> None:
    """The properties say so (no shared system allocations), so a copy from a plain pointer must not silently work."""
    run_python(
        """
        az = Calls()
        context = az.context()
        room, plain = az.memory(context, 4096), ctypes.create_string_buffer(b"secret", 4096)
        l = az.immediate(context)
        r = az.call("zeCommandListAppendMemoryCopy", l, room, ctypes.addressof(plain), 4096, None, 0, None)
        r = r or az.call("zeCommandListHostSynchronize", l, SOON)
        # Copies between host and device are the exception every driver makes: they stage. Either answer is consistent,
        # a hang or a crash is not.
        assert r in (OK, DEVICE_LOST), hex(r)
        """,
        **OFF,
    )


def test_residency_is_per_device_and_a_root_speaks_for_its_tiles() -> None:
    run_python(
        """
        az = Calls()
        one, two = az.devices
        tiles = az.several("zeDeviceGetSubDevices", one)
        context = az.context()
        def run(device, evict=None, resident=None):
            context = az.context()
            room = az.memory(context, 4096, "device", device=one)
            queue, l = az.queue(context, device), az.list(context, device)
            az.fill(l, room, 1, 64)
            az.close(l)
            if evict:
                az.ok("zeContextEvictMemory", context, evict, room, 4096)
            if resident:
                az.ok("zeContextMakeMemoryResident", context, resident, room, 4096)
            az.call("zeCommandQueueExecuteCommandLists", queue, 1, handles([l]), None)
            return az.call("zeCommandQueueSynchronize", queue, SOON)
        assert run(one) == OK
        assert run(one, evict=one) == DEVICE_LOST
        assert run(one, evict=two) == OK
        assert run(two, evict=two) == DEVICE_LOST
        assert run(two, evict=one) == OK
        assert run(tiles[0], evict=one) == DEVICE_LOST
        assert run(tiles[0], evict=one, resident=one) == OK
        assert run(tiles[0], evict=tiles[0], resident=one) == OK
        assert run(tiles[0], evict=tiles[0]) == DEVICE_LOST
        assert run(tiles[0], evict=tiles[1]) == OK
        """,
        ANYZERO_DEVICES="cpu:paging=off,tiles=2,memory=64M,cpu:paging=off,memory=64M",
    )


def test_eviction_means_nothing_on_a_device_that_pages() -> None:
    run_python(
        """
        az = Calls()
        context = az.context()
        queue, l, room = az.queue(context), az.list(context), az.memory(context, 4096, "device")
        az.fill(l, room, 1, 4096)
        az.close(l)
        az.ok("zeContextEvictMemory", context, az.device, room, 4096)
        az.execute(queue, l)
        az.finish(queue)
        assert read(room, 4096) == bytes([1]) * 4096
        """
    )
