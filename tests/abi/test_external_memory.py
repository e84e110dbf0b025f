"""Memory from elsewhere: the system's own pages, and descriptors that come and go."""

from __future__ import annotations

import ctypes
import mmap
import os
from ctypes import addressof, byref, c_void_p

import pytest

from anyzero import ze
from tests.abi.calls import (
    INVALID_ARGUMENT,
    SYNCHRONOUS,
    UNSUPPORTED_ALIGNMENT,
    UNSUPPORTED_SIZE,
    Calls,
    descriptors,
    read,
    write,
)
from tests.abi.test_memory import address_range, properties


def test_import_of_system_memory(az: Calls, context: c_void_p) -> None:
    with mmap.mmap(-1, 16384) as pages:
        anchor = (ctypes.c_char * 16384).from_buffer(pages)
        base, out = addressof(anchor), c_void_p()
        ext = ze.ze_external_memmap_sysmem_ext_desc_t(pSystemMemory=base, size=16384)
        desc = ze.ze_host_mem_alloc_desc_t(pNext=addressof(ext))
        az.ok("zeMemAllocHost", context, byref(desc), 16384, 4096, byref(out))
        assert out.value == base
        found, _ = properties(az, context, base + 100)
        assert found.type == ze.ZE_MEMORY_TYPE_HOST_IMPORTED
        assert address_range(az, context, base + 100) == (base, 16384)
        immediate = az.immediate(context, mode=SYNCHRONOUS)
        az.fill(immediate, base, 0x11, 16384)
        assert pages[:] == b"\x11" * 16384
        # Imported twice, freed twice; a part or another range that overlaps is refused.
        az.ok("zeMemAllocHost", context, byref(desc), 16384, 4096, byref(out))
        for start, size in ((base + 4096, 4096), (base, 8192), (base - 4096, 8192)):
            part = ze.ze_external_memmap_sysmem_ext_desc_t(pSystemMemory=start, size=size)
            other = ze.ze_host_mem_alloc_desc_t(pNext=addressof(part))
            az.error(INVALID_ARGUMENT, "zeMemAllocHost", context, byref(other), 4096, 0, byref(out))
        az.ok("zeMemFree", context, base)
        assert properties(az, context, base)[0].type == ze.ZE_MEMORY_TYPE_HOST_IMPORTED
        az.ok("zeMemFree", context, base)
        az.error(INVALID_ARGUMENT, "zeMemFree", context, base)
        assert pages[:] == b"\x11" * 16384
        bad = [
            (base + 1, 4096, 4096, UNSUPPORTED_ALIGNMENT),
            (base, 4095, 4095, UNSUPPORTED_SIZE),
            (base, 0, 4096, UNSUPPORTED_SIZE),
            (base, 4096, 8192, UNSUPPORTED_SIZE),
            (0x10000, 4096, 4096, INVALID_ARGUMENT),
            (2**64 - 4096, 4096, 4096, INVALID_ARGUMENT),
            (2**63, 4096, 4096, INVALID_ARGUMENT),
        ]
        for start, size, asked, expected in bad:
            ext = ze.ze_external_memmap_sysmem_ext_desc_t(pSystemMemory=start, size=size)
            desc = ze.ze_host_mem_alloc_desc_t(pNext=addressof(ext))
            az.error(expected, "zeMemAllocHost", context, byref(desc), asked, 0, byref(out))
        ours = az.memory(context, 8192, "host", 4096)
        ext = ze.ze_external_memmap_sysmem_ext_desc_t(pSystemMemory=ours, size=4096)
        desc = ze.ze_host_mem_alloc_desc_t(pNext=addressof(ext))
        az.error(INVALID_ARGUMENT, "zeMemAllocHost", context, byref(desc), 4096, 0, byref(out))
        az.ok("zeMemFree", context, ours)
        del anchor


@pytest.mark.parametrize("size", [5000, 3 << 20])
def test_export_and_import_of_a_descriptor(az: Calls, context: c_void_p, size: int) -> None:
    wish = ze.ze_external_memory_export_desc_t(flags=ze.ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD)
    desc, out = ze.ze_device_mem_alloc_desc_t(pNext=addressof(wish)), c_void_p()
    az.ok("zeMemAllocDevice", context, byref(desc), size, 0, az.device, byref(out))
    ctypes.memset(out.value, 0x3C, size)
    export = ze.ze_external_memory_export_fd_t(flags=ze.ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD, fd=-1)
    found = ze.ze_memory_allocation_properties_t(pNext=addressof(export))
    az.ok("zeMemGetAllocProperties", context, out, byref(found), None)
    assert export.fd >= 0
    imported = ze.ze_external_memory_import_fd_t(flags=ze.ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD, fd=export.fd)
    again = ze.ze_device_mem_alloc_desc_t(pNext=addressof(imported))
    twin = c_void_p()
    az.ok("zeMemAllocDevice", context, byref(again), size, 0, az.device, byref(twin))
    os.close(export.fd)
    assert twin.value != out.value
    assert read(twin.value, size) == b"\x3c" * size
    write(twin.value + size - 1, b"!")
    assert read(out.value + size - 1, 1) == b"!"
    # The first may go; the second lives on what both name.
    az.ok("zeMemFree", context, out)
    filler = [az.memory(context, size, "device") for _ in range(4)]
    for address in filler:
        ctypes.memset(address, 0, size)
    assert read(twin.value, size) == b"\x3c" * (size - 1) + b"!"
    for address in (twin, *filler):
        az.ok("zeMemFree", context, address)
    for fd in (-1, 9999, 2**31 - 1):
        imported.fd = fd
        az.error(INVALID_ARGUMENT, "zeMemAllocDevice", context, byref(again), size, 0, az.device, byref(twin))
    reader, writer = os.pipe()
    imported.fd = reader
    az.error(INVALID_ARGUMENT, "zeMemAllocDevice", context, byref(again), 64, 0, az.device, byref(twin))
    os.close(reader)
    os.close(writer)


def test_import_of_a_strangers_file(az: Calls, context: c_void_p) -> None:
    fd = os.memfd_create("stranger")
    os.truncate(fd, 8192)
    os.pwrite(fd, b"hello", 4096)
    imported = ze.ze_external_memory_import_fd_t(flags=ze.ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD, fd=fd)
    desc, out = ze.ze_device_mem_alloc_desc_t(pNext=addressof(imported)), c_void_p()
    az.ok("zeMemAllocDevice", context, byref(desc), 8192, 0, az.device, byref(out))
    assert read(out.value + 4096, 5) == b"hello"
    az.error(UNSUPPORTED_SIZE, "zeMemAllocDevice", context, byref(desc), 8193, 0, az.device, byref(c_void_p()))
    os.close(fd)
    az.ok("zeMemFree", context, out)


def test_descriptors_do_not_leak(az: Calls, context: c_void_p) -> None:
    wish = ze.ze_external_memory_export_desc_t(flags=ze.ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD)
    desc, out = ze.ze_device_mem_alloc_desc_t(pNext=addressof(wish)), c_void_p()
    az.ok("zeMemAllocDevice", context, byref(desc), 4096, 0, az.device, byref(out))
    before = descriptors()
    for _ in range(50):
        export = ze.ze_external_memory_export_fd_t(flags=ze.ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD)
        found = ze.ze_memory_allocation_properties_t(pNext=addressof(export))
        az.ok("zeMemGetAllocProperties", context, out, byref(found), None)
        imported = ze.ze_external_memory_import_fd_t(flags=ze.ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD, fd=export.fd)
        again, twin = ze.ze_device_mem_alloc_desc_t(pNext=addressof(imported)), c_void_p()
        az.ok("zeMemAllocDevice", context, byref(again), 4096, 0, az.device, byref(twin))
        os.close(export.fd)
        az.ok("zeMemFree", context, twin)
        az.ok("zeMemAllocDevice", context, byref(desc), 3 << 20, 0, az.device, byref(twin))
        az.ok("zeMemFree", context, twin)
    assert descriptors() == before


def test_export_as_a_dma_buffer_where_the_kernel_makes_them(az: Calls, context: c_void_p) -> None:
    flag = ze.ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF
    offered = az.query("zeDeviceGetExternalMemoryProperties", ze.ze_device_external_memory_properties_t, az.device)
    possible = os.access("/dev/udmabuf", os.R_OK | os.W_OK)
    assert bool(offered.memoryAllocationExportTypes & flag) == possible
    wish = ze.ze_external_memory_export_desc_t(flags=flag)
    desc, address = ze.ze_host_mem_alloc_desc_t(pNext=addressof(wish)), c_void_p()
    if not possible:
        az.error(
            ze.ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION, "zeMemAllocHost", context, byref(desc), 8192, 0, byref(address)
        )
        assert "/dev/udmabuf" in az.last_error()
        return
    az.ok("zeMemAllocHost", context, byref(desc), 8192, 0, byref(address))
    export = ze.ze_external_memory_export_fd_t(flags=flag, fd=-1)
    found = ze.ze_memory_allocation_properties_t(pNext=addressof(export))
    az.ok("zeMemGetAllocProperties", context, address, byref(found), None)
    write(address.value, b"shared with devices")
    with mmap.mmap(export.fd, 8192) as mapped:
        assert mapped[:19] == b"shared with devices"
    os.close(export.fd)
