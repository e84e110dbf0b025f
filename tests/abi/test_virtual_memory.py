"""Reservations, physical memory and the mappings between them; read-only is enforced as a device fault."""

from __future__ import annotations

from ctypes import byref, c_size_t, c_uint32, c_void_p

import pytest

from anyzero import ze
from tests.abi.calls import (
    DEVICE_LOST,
    INVALID_ARGUMENT,
    INVALID_ENUMERATION,
    INVALID_NULL_HANDLE,
    OK,
    SYNCHRONOUS,
    UNSUPPORTED_ALIGNMENT,
    UNSUPPORTED_SIZE,
    Calls,
    read,
    run_python,
    write,
)

NONE = ze.ZE_MEMORY_ACCESS_ATTRIBUTE_NONE
WRITE = ze.ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE
READ = ze.ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY
IN_USE = ze.ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE
PAGE = 4096


def reserve(az: Calls, context: c_void_p, size: int, start: int | None = None) -> int:
    address = c_void_p()
    az.ok("zeVirtualMemReserve", context, start, size, byref(address))
    return address.value


def physical(az: Calls, context: c_void_p, size: int, flags: int = 0) -> c_void_p:
    desc = ze.ze_physical_mem_desc_t(size=size, flags=flags)
    return az.new("zePhysicalMemCreate", context, az.device, byref(desc))


def access(az: Calls, context: c_void_p, address: int, size: int) -> tuple[int, int]:
    found, run = c_uint32(), c_size_t()
    az.ok("zeVirtualMemGetAccessAttribute", context, address, size, byref(found), byref(run))
    return found.value, run.value


def test_page_size_and_reservation(az: Calls, context: c_void_p) -> None:
    page = c_size_t()
    for size in (1, PAGE, 1 << 30):
        az.ok("zeVirtualMemQueryPageSize", context, az.device, size, byref(page))
        assert page.value >= PAGE
        assert page.value & (page.value - 1) == 0
    address = reserve(az, context, 16 * PAGE)
    assert access(az, context, address, 16 * PAGE) == (NONE, 16 * PAGE)
    # The same start is taken; the driver finds another place.
    second = reserve(az, context, 16 * PAGE, address)
    assert second != address
    az.ok("zeVirtualMemFree", context, second, 16 * PAGE)
    az.ok("zeVirtualMemFree", context, address, 16 * PAGE)
    again = reserve(az, context, 16 * PAGE, address)
    assert again == address
    az.ok("zeVirtualMemFree", context, again, 16 * PAGE)


def test_bad_reservations(az: Calls, context: c_void_p) -> None:
    out = c_void_p()
    az.error(UNSUPPORTED_SIZE, "zeVirtualMemReserve", context, None, 0, byref(out))
    az.error(UNSUPPORTED_SIZE, "zeVirtualMemReserve", context, None, PAGE + 1, byref(out))
    for size in (2**64 - PAGE, 2**63, 2**60):
        assert az.call("zeVirtualMemReserve", context, None, size, byref(out)) != OK
    address, other = reserve(az, context, 4 * PAGE), az.context()
    for start, size in (
        (address, PAGE),
        (address + PAGE, 3 * PAGE),
        (address, 8 * PAGE),
        (address, 2**64 - PAGE),
        (0x10000, PAGE),
    ):
        az.error(INVALID_ARGUMENT, "zeVirtualMemFree", context, start, size)
    az.error(INVALID_ARGUMENT, "zeVirtualMemFree", other, address, 4 * PAGE)
    az.error(UNSUPPORTED_ALIGNMENT, "zeVirtualMemFree", context, address + 1, 4 * PAGE)
    az.error(UNSUPPORTED_SIZE, "zeVirtualMemFree", context, address, 0)
    az.ok("zeVirtualMemFree", context, address, 4 * PAGE)
    az.error(INVALID_ARGUMENT, "zeVirtualMemFree", context, address, 4 * PAGE)


@pytest.mark.parametrize("flags", [0, 1, 2])
def test_map_use_unmap(az: Calls, context: c_void_p, flags: int) -> None:
    base, memory = reserve(az, context, 64 * PAGE), physical(az, context, 16 * PAGE, flags)
    az.ok("zeVirtualMemMap", context, base + PAGE, 16 * PAGE, memory, 0, WRITE)
    # A second window on the same memory, out of order.
    az.ok("zeVirtualMemMap", context, base + 32 * PAGE, 4 * PAGE, memory, 8 * PAGE, WRITE)
    immediate = az.immediate(context, mode=SYNCHRONOUS)
    az.fill(immediate, base + PAGE, 0x11, 16 * PAGE)
    az.fill(immediate, base + 32 * PAGE, 0x22, 4 * PAGE)
    assert read(base + PAGE, 16 * PAGE) == b"\x11" * 8 * PAGE + b"\x22" * 4 * PAGE + b"\x11" * 4 * PAGE
    found, device = ze.ze_memory_allocation_properties_t(), c_void_p()
    az.ok("zeMemGetAllocProperties", context, base + 5 * PAGE, byref(found), byref(device))
    assert found.type == (ze.ZE_MEMORY_TYPE_HOST if flags == 2 else ze.ZE_MEMORY_TYPE_DEVICE)
    az.error(IN_USE, "zePhysicalMemDestroy", context, memory)
    az.error(INVALID_ARGUMENT, "zeMemFree", context, base + PAGE)
    az.ok("zeVirtualMemUnmap", context, base + PAGE, 16 * PAGE)
    az.error(IN_USE, "zePhysicalMemDestroy", context, memory)
    # The data is in the physical memory, not in the mapping.
    az.ok("zeVirtualMemMap", context, base, 16 * PAGE, memory, 0, READ)
    assert read(base, 16 * PAGE) == b"\x11" * 8 * PAGE + b"\x22" * 4 * PAGE + b"\x11" * 4 * PAGE
    az.ok("zeVirtualMemUnmap", context, base, 16 * PAGE)
    az.ok("zeVirtualMemUnmap", context, base + 32 * PAGE, 4 * PAGE)
    az.ok("zePhysicalMemDestroy", context, memory)
    az.ok("zeVirtualMemFree", context, base, 64 * PAGE)


def test_bad_mappings(az: Calls, context: c_void_p) -> None:
    base, memory, other = reserve(az, context, 8 * PAGE), physical(az, context, 4 * PAGE), az.context()
    foreign = physical(az, other, 4 * PAGE)
    bad = [
        (base + 1, PAGE, memory, 0, UNSUPPORTED_ALIGNMENT),
        (base, PAGE + 1, memory, 0, UNSUPPORTED_SIZE),
        (base, 0, memory, 0, UNSUPPORTED_SIZE),
        (base, PAGE, memory, 1, UNSUPPORTED_ALIGNMENT),
        (base, 5 * PAGE, memory, 0, INVALID_ARGUMENT),
        (base, PAGE, memory, 4 * PAGE, INVALID_ARGUMENT),
        (base, 2 * PAGE, memory, 2**64 - PAGE, INVALID_ARGUMENT),
        (base + 6 * PAGE, 4 * PAGE, memory, 0, INVALID_ARGUMENT),
        (0x10000, PAGE, memory, 0, INVALID_ARGUMENT),
        (base, PAGE, foreign, 0, INVALID_ARGUMENT),
    ]
    for address, size, what, offset, expected in bad:
        az.error(expected, "zeVirtualMemMap", context, address, size, what, offset, WRITE)
    for attribute in (3, 2**31, 2**32 - 1):
        az.error(INVALID_ENUMERATION, "zeVirtualMemMap", context, base, PAGE, memory, 0, attribute)
    az.error(INVALID_ARGUMENT, "zeVirtualMemMap", other, base, PAGE, foreign, 0, WRITE)
    az.ok("zeVirtualMemMap", context, base, 2 * PAGE, memory, 0, WRITE)
    az.error(INVALID_ARGUMENT, "zeVirtualMemMap", context, base + PAGE, 2 * PAGE, memory, 0, WRITE)
    az.error(INVALID_ARGUMENT, "zeVirtualMemUnmap", context, base + 4 * PAGE, PAGE)
    az.error(INVALID_ARGUMENT, "zeVirtualMemSetAccessAttribute", context, base, 9 * PAGE, READ)
    az.error(UNSUPPORTED_ALIGNMENT, "zeVirtualMemUnmap", context, base + 1, PAGE)
    az.error(UNSUPPORTED_SIZE, "zeVirtualMemUnmap", context, base, PAGE - 1)
    az.error(INVALID_ARGUMENT, "zePhysicalMemDestroy", other, memory)
    write(base, b"alive")
    az.ok("zeVirtualMemFree", context, base, 8 * PAGE)
    az.ok("zePhysicalMemDestroy", context, memory)


def test_physical_sizes(az: Calls, context: c_void_p) -> None:
    out = c_void_p()
    for size, expected in ((0, UNSUPPORTED_SIZE), (1, UNSUPPORTED_SIZE), (PAGE + 1, UNSUPPORTED_SIZE)):
        desc = ze.ze_physical_mem_desc_t(size=size)
        az.error(expected, "zePhysicalMemCreate", context, az.device, byref(desc), byref(out))
    for size in (2**63, 2**64 - PAGE, 2**50):
        assert az.call(
            "zePhysicalMemCreate", context, az.device, byref(ze.ze_physical_mem_desc_t(size=size)), byref(out)
        )
    both = ze.ze_physical_mem_desc_t(size=PAGE, flags=3)
    az.error(INVALID_ARGUMENT, "zePhysicalMemCreate", context, az.device, byref(both), byref(out))
    memory = physical(az, context, 3 * PAGE)
    found = ze.ze_physical_mem_properties_t()
    az.ok("zePhysicalMemGetProperties", context, memory, byref(found))
    assert found.size == 3 * PAGE
    az.ok("zePhysicalMemDestroy", context, memory)
    az.error(ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE, "zePhysicalMemDestroy", context, memory)


def test_attributes_page_by_page(az: Calls, context: c_void_p) -> None:
    base, memory = reserve(az, context, 8 * PAGE), physical(az, context, 8 * PAGE)
    az.ok("zeVirtualMemMap", context, base, 8 * PAGE, memory, 0, WRITE)
    az.ok("zeVirtualMemSetAccessAttribute", context, base + 2 * PAGE, 2 * PAGE, READ)
    az.ok("zeVirtualMemSetAccessAttribute", context, base + 3 * PAGE, PAGE, NONE)
    expected = [WRITE, WRITE, READ, NONE, WRITE, WRITE, WRITE, WRITE]
    assert [access(az, context, base + i * PAGE, PAGE)[0] for i in range(8)] == expected
    assert access(az, context, base, 8 * PAGE) == (WRITE, 2 * PAGE)
    assert access(az, context, base + 4 * PAGE, 4 * PAGE) == (WRITE, 4 * PAGE)
    # Unmap the middle: holes on both sides of what stays.
    az.ok("zeVirtualMemUnmap", context, base + PAGE, 4 * PAGE)
    expected = [WRITE, NONE, NONE, NONE, NONE, WRITE, WRITE, WRITE]
    assert [access(az, context, base + i * PAGE, PAGE)[0] for i in range(8)] == expected
    assert access(az, context, base + PAGE, 7 * PAGE) == (NONE, 4 * PAGE)
    az.ok("zeVirtualMemMap", context, base + 2 * PAGE, PAGE, memory, 0, READ)
    write(base, b"page zero")
    assert read(base + 2 * PAGE, 9) == b"page zero"
    az.ok("zeVirtualMemFree", context, base, 8 * PAGE)
    az.ok("zePhysicalMemDestroy", context, memory)


def test_attributes_of_pages_that_are_only_reserved(az: Calls, context: c_void_p) -> None:
    base, memory = reserve(az, context, 4 * PAGE), physical(az, context, 2 * PAGE)
    for attribute in (READ, NONE, WRITE):
        az.ok("zeVirtualMemSetAccessAttribute", context, base, 4 * PAGE, attribute)
        assert access(az, context, base, 4 * PAGE) == (attribute, 4 * PAGE)
    # A mapping brings its own attribute, and only what is mapped can be accessed.
    az.ok("zeVirtualMemMap", context, base + PAGE, 2 * PAGE, memory, 0, READ)
    assert [access(az, context, base + i * PAGE, PAGE)[0] for i in range(4)] == [WRITE, READ, READ, WRITE]
    az.ok("zeVirtualMemSetAccessAttribute", context, base, 4 * PAGE, WRITE)
    assert access(az, context, base, 4 * PAGE) == (WRITE, 4 * PAGE)
    write(base + PAGE, b"both pages" * 800)
    az.ok("zeVirtualMemUnmap", context, base + PAGE, PAGE)
    az.error(INVALID_ARGUMENT, "zeVirtualMemSetAccessAttribute", context, base, 5 * PAGE, WRITE)
    az.ok("zeVirtualMemFree", context, base, 4 * PAGE)
    az.ok("zePhysicalMemDestroy", context, memory)


def test_physical_host_memory_needs_no_device(az: Calls, context: c_void_p) -> None:
    desc = ze.ze_physical_mem_desc_t(size=PAGE, flags=ze.ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST)
    base, memory = reserve(az, context, PAGE), az.new("zePhysicalMemCreate", context, None, byref(desc))
    az.ok("zeVirtualMemMap", context, base, PAGE, memory, 0, WRITE)
    write(base, b"on the host")
    found, device = ze.ze_memory_allocation_properties_t(), c_void_p(1)
    az.ok("zeMemGetAllocProperties", context, base, byref(found), byref(device))
    assert (found.type, device.value) == (ze.ZE_MEMORY_TYPE_HOST, None)
    az.ok("zeVirtualMemFree", context, base, PAGE)
    az.ok("zePhysicalMemDestroy", context, memory)
    desc.flags = ze.ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_DEVICE
    made = c_void_p()
    for flags in (0, ze.ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_DEVICE):
        desc.flags = flags
        az.error(INVALID_NULL_HANDLE, "zePhysicalMemCreate", context, None, byref(desc), byref(made))
    az.error(INVALID_NULL_HANDLE, "zePhysicalMemCreate", context, context, byref(desc), byref(made))


def test_read_only_is_a_device_fault(az: Calls) -> None:
    context = az.context()
    base, memory = reserve(az, context, 4 * PAGE), physical(az, context, 4 * PAGE)
    az.ok("zeVirtualMemMap", context, base, 4 * PAGE, memory, 0, WRITE)
    write(base, b"before")
    az.ok("zeVirtualMemSetAccessAttribute", context, base, 4 * PAGE, READ)
    immediate, target = az.immediate(context, mode=SYNCHRONOUS), az.memory(context, PAGE)
    az.copy(immediate, target, base, PAGE)
    assert read(target, 6) == b"before"
    pattern = c_uint32(7)
    result = az.call("zeCommandListAppendMemoryFill", immediate, base, byref(pattern), 4, PAGE, None, 0, None)
    assert result == DEVICE_LOST
    assert "read-only" in az.last_error()
    assert hex(base) in az.last_error()
    assert read(base, 6) == b"before"
    az.error(DEVICE_LOST, "zeContextGetStatus", context)


def test_no_access_and_unmapped_are_device_faults(az: Calls) -> None:
    for prepare in ("unmapped", "none", "reserved"):
        context = az.context()
        base, memory = reserve(az, context, 4 * PAGE), physical(az, context, 4 * PAGE)
        if prepare == "none":
            az.ok("zeVirtualMemMap", context, base, 4 * PAGE, memory, 0, NONE)
        if prepare == "reserved":
            az.ok("zeVirtualMemSetAccessAttribute", context, base, 4 * PAGE, WRITE)
        immediate, target = az.immediate(context, mode=SYNCHRONOUS), az.memory(context, PAGE)
        result = az.call("zeCommandListAppendMemoryCopy", immediate, target, base + PAGE, PAGE, None, 0, None)
        assert result == DEVICE_LOST, prepare
        assert hex(base + PAGE) in az.last_error()


def test_many_mappings_of_one_memory(az: Calls, context: c_void_p) -> None:
    memory, base = physical(az, context, PAGE), reserve(az, context, 512 * PAGE)
    for index in range(0, 512, 2):
        az.ok("zeVirtualMemMap", context, base + index * PAGE, PAGE, memory, 0, WRITE)
    write(base, b"everywhere")
    assert all(read(base + index * PAGE, 10) == b"everywhere" for index in range(0, 512, 2))
    az.ok("zeVirtualMemUnmap", context, base + PAGE, 510 * PAGE)
    assert read(base, 10) == b"everywhere"
    az.error(IN_USE, "zePhysicalMemDestroy", context, memory)
    az.ok("zeVirtualMemUnmap", context, base, PAGE)
    az.ok("zePhysicalMemDestroy", context, memory)
    az.ok("zeVirtualMemFree", context, base, 512 * PAGE)


def test_account_comes_back() -> None:
    run_python(
        """
        az = Calls()
        context, out = az.context(), c_void_p()
        desc = ze.ze_physical_mem_desc_t(size=32 << 20)
        for _ in range(20):
            memory = az.new("zePhysicalMemCreate", context, az.device, byref(desc))
            az.error(OUT_OF_DEVICE_MEMORY, "zePhysicalMemCreate", context, az.device, byref(desc), byref(out))
            base = c_void_p()
            az.ok("zeVirtualMemReserve", context, None, 64 << 20, byref(base))
            az.ok("zeVirtualMemMap", context, base, 32 << 20, memory, 0, 1)
            l = az.immediate(context, mode=SYNCHRONOUS)
            az.fill(l, base.value, 1, 32 << 20)
            az.ok("zeCommandListDestroy", l)
            az.ok("zeVirtualMemFree", context, base, 64 << 20)
            az.ok("zePhysicalMemDestroy", context, memory)
        """,
        ANYZERO_MEMORY="33M",
    )
