"""Memory between processes: the flow of the specification, and peers that die or free in the middle."""

from __future__ import annotations

import ctypes
import os
import random
from ctypes import byref, c_uint64, c_void_p

import pytest

from anyzero import ze
from tests.abi.calls import (
    COPY,
    INVALID_ARGUMENT,
    SOON,
    SYNCHRONOUS,
    Calls,
    descriptors,
    read,
    write,
)
from tests.abi.peers import IPC, from_hex, memory_handle, peer, pool_handle

DENIED = ze.ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS


@pytest.mark.parametrize("kind", ["device", "host", "shared"])
@pytest.mark.parametrize("size", [100, 5000, 3 << 20])
def test_memory_flow(az: Calls, context: c_void_p, kind: str, size: int) -> None:
    address = az.memory(context, size, kind)
    write(address, b"\x11" * size)
    with peer(
        """
        address = open_memory(receive())
        size = int(receive())
        assert read(address, size) == b"\\x11" * size
        found, device = ze.ze_memory_allocation_properties_t(), c_void_p()
        az.ok("zeMemGetAllocProperties", context, address + size // 2, byref(found), byref(device))
        base, length = c_void_p(), c_uint64()
        az.ok("zeMemGetAddressRange", context, address + size // 2, byref(base), byref(length))
        assert (base.value, length.value) == (address, size)
        l = az.immediate(context, mode=SYNCHRONOUS)
        az.fill(l, address, 0x22, size)
        az.error(INVALID_ARGUMENT, "zeMemFree", context, address)
        send(found.type)
        receive()
        assert read(address, size) == b"\\x33" * size
        az.ok("zeMemCloseIpcHandle", context, address)
        az.error(INVALID_ARGUMENT, "zeMemCloseIpcHandle", context, address)
        send("closed")
        """
    ) as other:
        handle = memory_handle(az, context, address)
        assert memory_handle(az, context, address) == handle
        other.send(handle)
        other.send(str(size))
        types = {"device": ze.ZE_MEMORY_TYPE_DEVICE, "host": ze.ZE_MEMORY_TYPE_HOST, "shared": ze.ZE_MEMORY_TYPE_SHARED}
        assert other.receive() == str(types[kind])
        assert read(address, size) == b"\x22" * size
        write(address, b"\x33" * size)
        other.send("go")
        assert other.receive() == "closed"
        other.finish()
    for _ in range(2):
        az.ok("zeMemPutIpcHandle", context, from_hex(ze.ze_ipc_mem_handle_t, handle))
    az.ok("zeMemFree", context, address)


def test_the_same_process_may_open_its_own_handle(az: Calls, context: c_void_p) -> None:
    address, twin = az.memory(context, 1000, "device"), c_void_p()
    handle = from_hex(ze.ze_ipc_mem_handle_t, memory_handle(az, context, address))
    az.ok("zeMemOpenIpcHandle", context, az.device, handle, 0, byref(twin))
    write(address, b"one memory")
    assert read(twin.value, 10) == b"one memory"
    az.ok("zeMemCloseIpcHandle", context, twin)
    az.ok("zeMemFree", context, address)


def test_flags_of_opening(az: Calls, context: c_void_p) -> None:
    address = az.memory(context, 1000, "device")
    write(address, b"one memory")
    handle = from_hex(ze.ze_ipc_mem_handle_t, memory_handle(az, context, address))
    for flags in (ze.ZE_IPC_MEMORY_FLAG_BIAS_CACHED, ze.ZE_IPC_MEMORY_FLAG_BIAS_UNCACHED):
        twin = c_void_p()
        az.ok("zeMemOpenIpcHandle", context, az.device, handle, flags, byref(twin))
        assert read(twin.value, 10) == b"one memory"
        az.ok("zeMemCloseIpcHandle", context, twin)
    az.error(ze.ZE_RESULT_ERROR_INVALID_ENUMERATION, "zeMemOpenIpcHandle", context, az.device, handle, 4, byref(twin))
    az.ok("zeMemFree", context, address)


def test_a_large_block_keeps_its_contents_when_it_becomes_shareable(az: Calls, context: c_void_p) -> None:
    """Moving it into a file happens under the program's feet: also while a queue writes into it."""
    size = 32 << 20
    address, immediate = az.memory(context, size, "device"), az.immediate(context, ordinal=COPY)
    data = random.Random(3).randbytes(size // 2)
    write(address, data)
    for step in range(40):
        az.fill(immediate, address + size // 2, step, size // 2)
    handle = from_hex(ze.ze_ipc_mem_handle_t, memory_handle(az, context, address))
    az.ok("zeCommandListHostSynchronize", immediate, SOON)
    assert read(address, size // 2) == data
    assert read(address + size // 2, size // 2) == bytes([39]) * (size // 2)
    twin = c_void_p()
    az.ok("zeMemOpenIpcHandle", context, az.device, handle, 0, byref(twin))
    assert read(twin.value, size) == read(address, size)
    az.ok("zeMemCloseIpcHandle", context, twin)
    az.ok("zeMemFree", context, address)


def test_peer_killed_while_it_writes(az: Calls, context: c_void_p) -> None:
    size = 16 << 20
    room = az.memory(context, size, "device")
    with peer(
        """
        room = open_memory(receive())
        send("writing")
        l = az.immediate(context, ordinal=1)
        while True:
            az.fill(l, room, 0xEE, 16 << 20)
            az.ok("zeCommandListHostSynchronize", l, SOON)
            send("written")
        """
    ) as victim:
        victim.send(memory_handle(az, context, room))
        for said in ("writing", *["written"] * 5):
            assert victim.receive() == said
        victim.kill()
    immediate = az.immediate(context, mode=SYNCHRONOUS)
    az.fill(immediate, room, 1, size)
    assert read(room, size) == b"\x01" * size
    az.ok("zeMemFree", context, room)
    az.ok("zeContextGetStatus", context)


def test_freeing_what_another_process_has_open(az: Calls, context: c_void_p) -> None:
    """The other process keeps its mapping; the memory is not reused."""
    for size in (4096, 3 << 20):
        room = az.memory(context, size, "device")
        write(room, b"\x77" * size)
        with peer(
            """
            room, size = open_memory(receive()), int(receive())
            send("open")
            receive()
            assert read(room, size) == b"\\x77" * size
            ctypes.memset(room, 0x99, size)
            send("checked")
            receive()
            """
        ) as other:
            other.send(memory_handle(az, context, room))
            other.send(str(size))
            assert other.receive() == "open"
            az.ok("zeMemFree", context, room)
            fresh = [az.memory(context, size, "device") for _ in range(50)]
            for address in fresh:
                ctypes.memset(address, 0, size)
            other.send("look")
            assert other.receive() == "checked"
            assert all(read(address, size) == bytes(size) for address in fresh)
            other.finish()
        for address in fresh:
            az.ok("zeMemFree", context, address)


def test_many_exports_and_no_leak(az: Calls, context: c_void_p) -> None:
    address = az.memory(context, 100, "device")
    az.ok("zeMemPutIpcHandle", context, from_hex(ze.ze_ipc_mem_handle_t, memory_handle(az, context, address)))
    before = descriptors()
    for _ in range(300):
        handle = ze.ze_ipc_mem_handle_t.from_buffer_copy(bytes.fromhex(memory_handle(az, context, address)))
        twin = c_void_p()
        az.ok("zeMemOpenIpcHandle", context, az.device, handle, 0, byref(twin))
        az.ok("zeMemCloseIpcHandle", context, twin)
        az.ok("zeMemPutIpcHandle", context, handle)
        pool = az.pool(context, 1, IPC)
        opened = az.new(
            "zeEventPoolOpenIpcHandle", context, from_hex(ze.ze_ipc_event_pool_handle_t, pool_handle(az, pool))
        )
        az.ok("zeEventPoolCloseIpcHandle", opened)
        az.ok("zeEventPoolDestroy", pool)
    assert descriptors() == before
    az.ok("zeMemFree", context, address)


def test_descriptors_from_handles(az: Calls, context: c_void_p) -> None:
    address, fd = az.memory(context, 8192, "device"), c_uint64()
    write(address, b"by descriptor")
    handle = from_hex(ze.ze_ipc_mem_handle_t, memory_handle(az, context, address))
    az.ok("zeMemGetFileDescriptorFromIpcHandleExp", context, handle, byref(fd))
    made, twin = ze.ze_ipc_mem_handle_t(), c_void_p()
    az.ok("zeMemGetIpcHandleFromFileDescriptorExp", context, fd.value, byref(made))
    os.close(fd.value)
    az.ok("zeMemOpenIpcHandle", context, az.device, made, 0, byref(twin))
    assert read(twin.value, 13) == b"by descriptor"
    az.ok("zeMemCloseIpcHandle", context, twin)
    az.ok("zeMemPutIpcHandle", context, made)
    for bad in (-1, 2**31, 2**63, 987654, 0):
        result = az.call("zeMemGetIpcHandleFromFileDescriptorExp", context, bad % 2**64, byref(made))
        assert result == INVALID_ARGUMENT or bad == 0
    az.ok("zeMemFree", context, address)
