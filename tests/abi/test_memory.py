"""Host, device and shared memory: allocating, asking, freeing, importing."""

from __future__ import annotations

import ctypes
import threading
from ctypes import addressof, byref, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from itertools import pairwise
from typing import Any

import pytest

from anyzero import ze
from tests.abi.calls import (
    COPY,
    INVALID_ARGUMENT,
    INVALID_ENUMERATION,
    NOT_READY,
    OK,
    SECOND,
    SOON,
    SYNCHRONOUS,
    UNSUPPORTED_ALIGNMENT,
    UNSUPPORTED_SIZE,
    Calls,
    read,
    run_python,
    write,
)
from tests.patience import PATIENCE

KINDS = {"host": ze.ZE_MEMORY_TYPE_HOST, "device": ze.ZE_MEMORY_TYPE_DEVICE, "shared": ze.ZE_MEMORY_TYPE_SHARED}
BLOCKING = ze.ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE
DEFER = ze.ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE


def properties(az: Calls, context: c_void_p, address: int) -> tuple[Any, int | None]:
    found, device = ze.ze_memory_allocation_properties_t(), c_void_p(0x99)
    az.ok("zeMemGetAllocProperties", context, address, byref(found), byref(device))
    return found, device.value


def address_range(az: Calls, context: c_void_p, address: int) -> tuple[int | None, int]:
    base, size = c_void_p(), c_size_t()
    az.ok("zeMemGetAddressRange", context, address, byref(base), byref(size))
    return base.value, size.value


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, 63, 64, 65, 4095, 4096, 4097, 8192, 8193, 65536, 1 << 20, (1 << 20) + 1, 5 << 20])
def test_kinds_and_sizes(az: Calls, context: c_void_p, kind: str, size: int) -> None:
    address = az.memory(context, size, kind)
    found, device = properties(az, context, address)
    assert found.type == KINDS[kind]
    assert device == (None if kind == "host" else az.device.value)
    assert found.pageSize % 4096 == 0
    assert address_range(az, context, address) == (address, size)
    # Interior pointers, up to the last byte and not one further.
    assert address_range(az, context, address + size - 1) == (address, size)
    assert properties(az, context, address + size // 2)[0].id == found.id
    assert properties(az, context, address + size)[0].id != found.id
    ctypes.memset(address, 0x42, size)
    assert read(address + size - 1, 1) == b"\x42"
    az.ok("zeMemFree", context, address)
    assert properties(az, context, address)[0].type == ze.ZE_MEMORY_TYPE_UNKNOWN


@pytest.mark.parametrize("kind", KINDS)
def test_alignments(az: Calls, context: c_void_p, kind: str) -> None:
    made = []
    for shift in range(22):
        for size in (1, 100, 5000, (1 << 20) + 1):
            address = az.memory(context, size, kind, 1 << shift)
            assert address % (1 << shift) == 0, f"{size} bytes at {1 << shift}"
            made.append((address, size))
    made.sort()
    assert all(a + size <= b for (a, size), (b, _) in pairwise(made))
    for address, _ in made:
        az.ok("zeMemFree", context, address)


def test_bad_alignments_and_sizes(az: Calls, context: c_void_p) -> None:
    device, host, out = byref(ze.ze_device_mem_alloc_desc_t()), byref(ze.ze_host_mem_alloc_desc_t()), c_void_p(0x5)
    for alignment in (3, 5, 6, 7, 48, 100, 4097, (1 << 21) + 1, 2**64 - 1):
        az.error(UNSUPPORTED_ALIGNMENT, "zeMemAllocHost", context, host, 64, alignment, byref(out))
        az.error(UNSUPPORTED_ALIGNMENT, "zeMemAllocDevice", context, device, 64, alignment, az.device, byref(out))
        az.error(UNSUPPORTED_ALIGNMENT, "zeMemAllocShared", context, device, host, 64, alignment, az.device, byref(out))
    az.error(UNSUPPORTED_SIZE, "zeMemAllocHost", context, host, 0, 0, byref(out))
    az.error(UNSUPPORTED_SIZE, "zeMemAllocDevice", context, device, 0, 0, az.device, byref(out))
    az.error(UNSUPPORTED_SIZE, "zeMemAllocShared", context, device, host, 0, 0, az.device, byref(out))
    for size in (2**64 - 1, 2**64 - 4096, 2**63, 2**48, 2**47 - 4096):
        for alignment in (0, 1 << 21, 1 << 40, 1 << 63):
            for name, args in (
                ("zeMemAllocHost", (context, host, size, alignment)),
                ("zeMemAllocDevice", (context, device, size, alignment, az.device)),
                ("zeMemAllocShared", (context, device, host, size, alignment, None)),
            ):
                assert az.call(name, *args, byref(out)) != OK
    # A huge alignment alone must fail or succeed, never break the account.
    for alignment in (1 << 40, 1 << 46, 1 << 47, 1 << 63):
        if az.call("zeMemAllocHost", context, host, 64, alignment, byref(out)) == OK:
            assert out.value % alignment == 0
            az.ok("zeMemFree", context, out)
    az.ok("zeMemFree", context, az.memory(context, 64))


def test_shared_without_a_device(az: Calls, context: c_void_p) -> None:
    address, desc, host = c_void_p(), ze.ze_device_mem_alloc_desc_t(), ze.ze_host_mem_alloc_desc_t()
    az.ok("zeMemAllocShared", context, byref(desc), byref(host), 100, 0, None, byref(address))
    found, device = properties(az, context, address.value)
    assert found.type == ze.ZE_MEMORY_TYPE_SHARED
    assert device is None
    az.ok("zeMemFree", context, address)


def test_flags(az: Calls, context: c_void_p) -> None:
    out = c_void_p()
    host = ze.ze_host_mem_alloc_desc_t()
    for flags in (1, 2, 4, 7):
        desc = ze.ze_device_mem_alloc_desc_t(flags=flags)
        az.ok("zeMemAllocDevice", context, byref(desc), 64, 0, az.device, byref(out))
        az.ok("zeMemFree", context, out)
    for flags in (8, 0x80000000, 0xFFFFFFFF):
        desc = ze.ze_device_mem_alloc_desc_t(flags=flags)
        az.error(INVALID_ENUMERATION, "zeMemAllocDevice", context, byref(desc), 64, 0, az.device, byref(out))
        az.error(INVALID_ENUMERATION, "zeMemAllocShared", context, byref(desc), byref(host), 64, 0, None, byref(out))
    for flags in (0x20, 0x80000000):
        desc = ze.ze_host_mem_alloc_desc_t(flags=flags)
        az.error(INVALID_ENUMERATION, "zeMemAllocHost", context, byref(desc), 64, 0, byref(out))
    for ordinal in (1, 2**32 - 1):
        desc = ze.ze_device_mem_alloc_desc_t(ordinal=ordinal)
        az.error(INVALID_ARGUMENT, "zeMemAllocDevice", context, byref(desc), 64, 0, az.device, byref(out))


def test_strangers_are_unknown(az: Calls, context: c_void_p) -> None:
    ordinary = ctypes.create_string_buffer(64)
    for address in (1, 0xDEADBEEF, addressof(ordinary), 2**64 - 1, 2**47, id(az)):
        found, device = properties(az, context, address)
        assert found.type == ze.ZE_MEMORY_TYPE_UNKNOWN
        assert device is None
        base, size = c_void_p(), c_size_t()
        az.error(
            ze.ZE_RESULT_ERROR_ADDRESS_NOT_FOUND, "zeMemGetAddressRange", context, address, byref(base), byref(size)
        )
        az.error(INVALID_ARGUMENT, "zeMemFree", context, address)
        handle = ze.ze_ipc_mem_handle_t()
        az.error(INVALID_ARGUMENT, "zeMemGetIpcHandle", context, address, byref(handle))
        assert az.call("zeMemCloseIpcHandle", context, address) != OK
        assert az.call("zeContextMakeMemoryResident", context, az.device, address, 64) == INVALID_ARGUMENT
    az.ok("zeMemGetAddressRange", context, az.memory(context, 64), None, None)


def test_bad_frees_say_why_and_change_nothing(az: Calls, context: c_void_p) -> None:
    address, other = az.memory(context, 4096), az.context()
    az.error(INVALID_ARGUMENT, "zeMemFree", context, address + 1)
    assert "inside" in az.last_error()
    az.error(INVALID_ARGUMENT, "zeMemFree", context, address + 4095)
    az.error(INVALID_ARGUMENT, "zeMemFree", other, address)
    assert "another context" in az.last_error()
    desc = ze.ze_memory_free_ext_desc_t()
    for policy in (0, BLOCKING, DEFER):
        desc.freePolicy = policy
        az.error(INVALID_ARGUMENT, "zeMemFreeExt", context, byref(desc), address + 64)
        az.error(INVALID_ARGUMENT, "zeMemFreeExt", other, byref(desc), address)
    write(address, b"still here")
    assert address_range(az, context, address) == (address, 4096)
    az.ok("zeMemFree", context, address)
    az.error(INVALID_ARGUMENT, "zeMemFree", context, address)
    assert properties(az, other, address)[0].type == ze.ZE_MEMORY_TYPE_UNKNOWN
    az.error(ze.ZE_RESULT_ERROR_INVALID_NULL_POINTER, "zeMemFree", context, None)


def test_identities_are_never_reused(az: Calls, context: c_void_p) -> None:
    seen = set()
    for _ in range(200):
        address = az.memory(context, 256, "device")
        seen.add(properties(az, context, address)[0].id)
        az.ok("zeMemFree", context, address)
    assert len(seen) == 200


def test_free_with_a_bad_policy(az: Calls, context: c_void_p) -> None:
    address = az.memory(context, 64)
    for policy in (4, 0x80000000):
        desc = ze.ze_memory_free_ext_desc_t(freePolicy=policy)
        az.error(INVALID_ENUMERATION, "zeMemFreeExt", context, byref(desc), address)
    both = ze.ze_memory_free_ext_desc_t(freePolicy=BLOCKING | DEFER)
    az.error(INVALID_ARGUMENT, "zeMemFreeExt", context, byref(both), address)
    az.ok("zeMemFreeExt", context, byref(ze.ze_memory_free_ext_desc_t()), address)


@pytest.mark.parametrize("ordinal", [0, COPY])
def test_blocking_free_waits_for_the_queue(az: Calls, context: c_void_p, ordinal: int) -> None:
    """The queue is held by an event; the free returns after the copy that uses the memory, not before."""
    (gate,) = az.events(context, 1)
    immediate = az.immediate(context, ordinal=ordinal)
    source, target = az.memory(context, 4096, "device"), az.memory(context, 4096)
    fill = az.immediate(context, mode=SYNCHRONOUS)
    az.fill(fill, source, 7, 4096)
    az.copy(immediate, target, source, 4096, None, [gate])
    freed = threading.Event()

    def free() -> None:
        az.ok("zeMemFreeExt", context, byref(ze.ze_memory_free_ext_desc_t(freePolicy=BLOCKING)), source)
        freed.set()

    thread = threading.Thread(target=free)
    thread.start()
    assert not freed.wait(0.2)
    assert properties(az, context, source)[0].type == ze.ZE_MEMORY_TYPE_DEVICE
    az.ok("zeEventHostSignal", gate)
    assert freed.wait(PATIENCE)
    thread.join()
    assert read(target, 4096) == b"\x07" * 4096
    assert properties(az, context, source)[0].type == ze.ZE_MEMORY_TYPE_UNKNOWN


def test_blocking_free_ignores_other_contexts(az: Calls, context: c_void_p) -> None:
    other = az.context()
    (gate,) = az.events(other, 1)
    held = az.immediate(other)
    az.barrier(held, None, [gate])
    address = az.memory(context, 64)
    az.ok("zeMemFreeExt", context, byref(ze.ze_memory_free_ext_desc_t(freePolicy=BLOCKING)), address)
    az.ok("zeEventHostSignal", gate)
    az.ok("zeCommandListHostSynchronize", held, SOON)


def test_deferred_free_returns_at_once_and_the_copy_still_works(az: Calls, context: c_void_p) -> None:
    (gate,) = az.events(context, 1)
    immediate = az.immediate(context)
    size = 8 << 20
    source, target = az.memory(context, size, "device"), az.memory(context, size)
    fill = az.immediate(context, mode=SYNCHRONOUS)
    az.fill(fill, source, 0x6B, size)
    az.copy(immediate, target, source, size, None, [gate])
    az.ok("zeMemFreeExt", context, byref(ze.ze_memory_free_ext_desc_t(freePolicy=DEFER)), source)
    az.error(INVALID_ARGUMENT, "zeMemFree", context, source)
    # New allocations must not get the memory that the held copy will read.
    fresh = [az.memory(context, size, "device") for _ in range(3)]
    for address in fresh:
        az.fill(fill, address, 0, size)
    az.ok("zeEventHostSignal", gate)
    az.ok("zeCommandListHostSynchronize", immediate, SOON)
    assert read(target, size) == b"\x6b" * size
    for address in (*fresh, target):
        az.ok("zeMemFree", context, address)


def test_exhaustion_and_accounting() -> None:
    run_python(
        """
        az = Calls()
        context, out = az.context(), c_void_p()
        def usable():
            extra = ze.ze_device_usablemem_size_ext_properties_t()
            az.ok("zeDeviceGetProperties", az.device, byref(ze.ze_device_properties_t(pNext=ctypes.addressof(extra))))
            return extra.currUsableMemSize
        total = usable()
        assert total == 64 << 20
        d, h = ze.ze_device_mem_alloc_desc_t(), ze.ze_host_mem_alloc_desc_t()
        made = []
        while True:
            r = az.call("zeMemAllocDevice", context, byref(d), 1 << 20, 0, az.device, byref(out))
            if r != OK:
                break
            made.append(out.value)
        assert r == OUT_OF_DEVICE_MEMORY, hex(r)
        assert len(made) == 64 and usable() == 0, (len(made), usable())
        assert "64" in az.last_error() or "67108864" in az.last_error(), az.last_error()
        az.error(OUT_OF_DEVICE_MEMORY, "zeMemAllocDevice", context, byref(d), 1, 0, az.device, byref(out))
        # Shared memory may be on the host, and goes back there.
        az.ok("zeMemAllocShared", context, byref(d), byref(h), 1, 0, az.device, byref(out))
        az.ok("zeMemFree", context, out)
        p = ze.ze_physical_mem_desc_t(size=1 << 16)
        az.error(OUT_OF_DEVICE_MEMORY, "zePhysicalMemCreate", context, az.device, byref(p), byref(out))
        i = ze.ze_image_desc_t(width=64, height=64, depth=1)
        i.type = ze.ZE_IMAGE_TYPE_2D
        az.error(OUT_OF_DEVICE_MEMORY, "zeImageCreate", context, az.device, byref(i), byref(out))
        # The host has separate memory, and freed memory can be allocated again.
        az.memory(context, 1 << 20, "host")
        for address in made[::2]:
            az.ok("zeMemFree", context, address)
        assert usable() == 32 << 20
        az.memory(context, 32 << 20, "device")
        assert usable() == 0
        az.ok("zeContextDestroy", context)
        # A larger piece than the device allows, with and without asking for it.
        context = az.context()
        az.error(UNSUPPORTED_SIZE, "zeMemAllocDevice", context, byref(d), (64 << 20) + 1, 0, az.device, byref(out))
        relaxed = ze.ze_relaxed_allocation_limits_ext_desc_t(flags=ze.ZE_RELAXED_ALLOCATION_LIMITS_EXT_FLAG_MAX_SIZE)
        d.pNext = ctypes.addressof(relaxed)
        r = az.call("zeMemAllocDevice", context, byref(d), (64 << 20) + 1, 0, az.device, byref(out))
        assert r == OUT_OF_DEVICE_MEMORY, hex(r)
        exp = ze.ze_relaxed_allocation_limits_exp_desc_t(flags=ze.ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE)
        d.pNext = ctypes.addressof(exp)
        r = az.call("zeMemAllocDevice", context, byref(d), (64 << 20) + 1, 0, az.device, byref(out))
        assert r == OUT_OF_DEVICE_MEMORY, hex(r)
        assert usable() == total
        """,
        ANYZERO_MEMORY="64M",
    )


def test_tiles_have_accounts_of_their_own() -> None:
    run_python(
        """
        az = Calls()
        one, two = az.several("zeDeviceGetSubDevices", az.device)
        context, out, d = az.context(), c_void_p(), ze.ze_device_mem_alloc_desc_t()
        first = az.memory(context, 32 << 20, "device", device=one)
        az.error(OUT_OF_DEVICE_MEMORY, "zeMemAllocDevice", context, byref(d), 64, 0, one, byref(out))
        az.memory(context, 16 << 20, "device", device=two)
        az.memory(context, 16 << 20, "device")
        # The root is full now, so its other tile is too.
        az.error(OUT_OF_DEVICE_MEMORY, "zeMemAllocDevice", context, byref(d), 64, 0, az.device, byref(out))
        az.error(OUT_OF_DEVICE_MEMORY, "zeMemAllocDevice", context, byref(d), 64, 0, two, byref(out))
        az.ok("zeMemFree", context, first)
        az.memory(context, 32 << 20, "device")
        """,
        ANYZERO_DEVICES="cpu:tiles=2,memory=64M",
    )


def test_deferred_memory_comes_back_under_pressure() -> None:
    run_python(
        """
        az = Calls()
        context, d, out = az.context(), ze.ze_device_mem_alloc_desc_t(), c_void_p()
        gate, = az.events(context, 1)
        l = az.immediate(context)
        one = az.memory(context, 32 << 20, "device")
        host = az.memory(context, 4096)
        az.copy(l, host, one, 4096, None, [gate])
        az.ok("zeMemFreeExt", context, byref(ze.ze_memory_free_ext_desc_t(freePolicy=2)), one)
        # Held back while the copy is held back ...
        az.error(OUT_OF_DEVICE_MEMORY, "zeMemAllocDevice", context, byref(d), 32 << 20, 0, az.device, byref(out))
        az.ok("zeEventHostSignal", gate)
        az.ok("zeCommandListHostSynchronize", l, SOON)
        # ... and there again afterwards.
        az.ok("zeMemAllocDevice", context, byref(d), 32 << 20, 0, az.device, byref(out))
        """,
        ANYZERO_MEMORY="32M",
    )


def test_sub_allocations_and_pitch(az: Calls, context: c_void_p) -> None:
    address = az.memory(context, 12345, "device")
    count, part = c_uint32(0), ze.ze_sub_allocation_t()
    parts = ze.ze_memory_sub_allocations_exp_properties_t(pCount=addressof(count))
    found = ze.ze_memory_allocation_properties_t(pNext=addressof(parts))
    az.ok("zeMemGetAllocProperties", context, address, byref(found), None)
    assert count.value == 1
    parts.pSubAllocations = addressof(part)
    az.ok("zeMemGetAllocProperties", context, address, byref(found), None)
    assert (part.base, part.size) == (address, 12345)
    pitch = c_size_t()
    for width, element in ((1, 1), (100, 4), (4097, 16), (16384, 4)):
        az.ok("zeMemGetPitchFor2dImage", context, az.device, width, 10, element, byref(pitch))
        assert pitch.value >= width * element
    for width, height, element in ((2**63, 1, 4), (2**64 - 1, 1, 1), (2**40, 2**40, 16), (2**62, 4, 4)):
        result = az.call("zeMemGetPitchFor2dImage", context, az.device, width, height, element, byref(pitch))
        assert result != OK or pitch.value >= width * element


def test_atomic_attributes(az: Calls, context: c_void_p) -> None:
    address, attributes = az.memory(context, 8192, "shared"), c_uint32()
    flags = ze.ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_HOST_ATOMICS
    az.ok("zeMemSetAtomicAccessAttributeExp", context, az.device, address, 8192, flags)
    az.ok("zeMemGetAtomicAccessAttributeExp", context, az.device, address, 8192, byref(attributes))
    assert attributes.value == flags
    az.error(INVALID_ENUMERATION, "zeMemSetAtomicAccessAttributeExp", context, az.device, address, 8192, 0x100)
    assert az.call("zeMemSetAtomicAccessAttributeExp", context, az.device, 0x1000, 8192, flags) != OK


def test_atomic_attributes_of_memory_of_the_system(az: Calls, context: c_void_p) -> None:
    """Memory of malloc is shared memory to a device with on-demand paging."""
    usual, wanted = ze.ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_DEVICE_ATOMICS, ze.ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_SYSTEM_ATOMICS
    room = (c_uint8 * 65536)()
    begin, found = addressof(room), c_uint32()

    def told(offset: int) -> int:
        az.ok("zeMemGetAtomicAccessAttributeExp", context, az.device, begin + offset, 64, byref(found))
        return found.value

    assert told(0) == usual
    az.ok("zeMemSetAtomicAccessAttributeExp", context, az.device, begin + 4096, 8192, wanted)
    az.ok("zeMemSetAtomicAccessAttributeExp", context, az.device, begin + 8192, 4096, 0)
    assert [told(offset) for offset in (0, 4095, 4096, 8191, 8192, 12287, 12288)] == [
        usual, usual, wanted, wanted, 0, 0, usual
    ]  # fmt: skip
    other = az.context()
    az.ok("zeMemGetAtomicAccessAttributeExp", other, az.device, begin + 4096, 64, byref(found))
    assert found.value == usual
    for pointer, size in ((0x1000, 64), (begin, 2**64 - 1), (2**64 - 4096, 4096)):
        az.error(INVALID_ARGUMENT, "zeMemSetAtomicAccessAttributeExp", context, az.device, pointer, size, wanted)
    # An allocation of another context is not the system's.
    foreign = az.memory(other, 64)
    az.error(INVALID_ARGUMENT, "zeMemSetAtomicAccessAttributeExp", context, az.device, foreign, 64, wanted)
    az.ok("zeContextDestroy", other)


def test_hints_are_commands(az: Calls, context: c_void_p) -> None:
    address = az.memory(context, 1 << 20, "shared")
    immediate = az.immediate(context, mode=SYNCHRONOUS)
    az.ok("zeCommandListAppendMemoryPrefetch", immediate, address, 1 << 20)
    for advice in range(ze.ZE_MEMORY_ADVICE_CLEAR_SYSTEM_MEMORY_PREFERRED_LOCATION + 1):
        az.ok("zeCommandListAppendMemAdvise", immediate, az.device, address, 1 << 20, advice)
    for advice in (99, 2**32 - 1, 0x7FFFFFFF):
        az.error(INVALID_ENUMERATION, "zeCommandListAppendMemAdvise", immediate, az.device, address, 1 << 20, advice)
    ordinary = (ctypes.c_char * 65536)()
    az.ok("zeCommandListAppendMemoryPrefetch", immediate, addressof(ordinary), 65536)
    # An invalid hint is ignored.
    az.ok("zeCommandListAppendMemoryPrefetch", immediate, 0x1000, 1 << 40)
    az.ok("zeContextGetStatus", context)
    assert az.call("zeCommandListHostSynchronize", immediate, SECOND) == OK


def test_many_threads_allocate_and_free(az: Calls, context: c_void_p) -> None:
    errors: list[str] = []

    def work(seed: int) -> None:
        mine: dict[int, tuple[int, int]] = {}
        state = seed
        for step in range(400):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            if len(mine) > 20 or (state >> 60 < 6 and mine):
                address = next(iter(mine))
                size, value = mine.pop(address)
                if read(address, 1) + read(address + size - 1, 1) != bytes([value, value]):
                    errors.append(f"thread {seed}: {size} bytes changed")
                az.ok("zeMemFree", context, address)
            else:
                size = 1 + (state >> 20) % (1 << ((state >> 50) % 22))
                address = az.memory(context, size, ("host", "device", "shared")[step % 3])
                if address in mine:
                    errors.append("given out twice")
                value = (seed * 31 + step) % 256
                ctypes.memset(address, value, size)
                mine[address] = size, value
        for address in mine:
            az.ok("zeMemFree", context, address)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_lookups_while_others_free(az: Calls, context: c_void_p) -> None:
    begun, stop = threading.Event(), threading.Event()

    def churn() -> None:
        while not stop.is_set():
            az.ok("zeMemFree", context, az.memory(context, 2 << 20, "device"))
            begun.set()

    thread = threading.Thread(target=churn)
    thread.start()
    assert begun.wait(PATIENCE)
    address = az.memory(context, 100, "device")
    for _ in range(5000):
        assert properties(az, context, address + 50)[0].type == ze.ZE_MEMORY_TYPE_DEVICE
        assert address_range(az, context, address + 99) == (address, 100)
    stop.set()
    thread.join()


def test_event_wait_does_not_block_memory(az: Calls, context: c_void_p) -> None:
    """No lock is held while something waits."""
    (gate,) = az.events(context, 1)
    waiter = threading.Thread(target=lambda: az.call("zeEventHostSynchronize", gate, SOON))
    waiter.start()
    for _ in range(100):
        az.ok("zeMemFree", context, az.memory(context, 4096))
    assert az.call("zeEventQueryStatus", gate) == NOT_READY
    az.ok("zeEventHostSignal", gate)
    waiter.join()


def test_address_range_needs_no_result(az: Calls, context: c_void_p) -> None:
    address, size = az.memory(context, 77), c_uint64()
    az.ok("zeMemGetAddressRange", context, address, None, byref(size))
    assert size.value == 77
