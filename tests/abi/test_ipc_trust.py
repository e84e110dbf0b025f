"""Forged and stale handles, and those of another user."""

from __future__ import annotations

import os
import pwd
import random
from ctypes import byref, c_uint64, c_void_p

import pytest

from anyzero import ze
from tests.abi.calls import (
    INVALID_ARGUMENT,
    OK,
    Calls,
    descriptors,
    read,
    run_python,
    write,
)
from tests.abi.peers import from_hex, memory_handle, peer
from tests.patience import PATIENCE

DENIED = ze.ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS


def test_bad_exports(az: Calls, context: c_void_p) -> None:
    address, other, handle = az.memory(context, 4096), az.context(), ze.ze_ipc_mem_handle_t()
    az.error(INVALID_ARGUMENT, "zeMemGetIpcHandle", context, address + 64, byref(handle))
    az.error(INVALID_ARGUMENT, "zeMemGetIpcHandle", other, address, byref(handle))
    pool = az.pool(context, 1)
    az.error(INVALID_ARGUMENT, "zeEventPoolGetIpcHandle", pool, byref(ze.ze_ipc_event_pool_handle_t()))
    az.error(INVALID_ARGUMENT, "zeEventPoolCloseIpcHandle", pool)
    az.error(INVALID_ARGUMENT, "zeMemCloseIpcHandle", context, address)
    az.ok("zeMemFree", context, address)


def test_forged_and_stale_handles(az: Calls, context: c_void_p) -> None:
    address, out = az.memory(context, 4096, "device"), c_void_p()
    good = bytes.fromhex(memory_handle(az, context, address))
    before = descriptors()

    def open_(data: bytes) -> int:
        handle = ze.ze_ipc_mem_handle_t.from_buffer_copy(data)
        return az.call("zeMemOpenIpcHandle", context, az.device, handle, 0, byref(out))

    chance = random.Random(11)
    for data in (bytes(64), b"\xff" * 64, b"\x01" * 64, chance.randbytes(64)):
        assert open_(data) == INVALID_ARGUMENT
        az.error(INVALID_ARGUMENT, "zeMemPutIpcHandle", context, ze.ze_ipc_mem_handle_t.from_buffer_copy(data))
        az.error(
            INVALID_ARGUMENT,
            "zeEventPoolOpenIpcHandle",
            context,
            ze.ze_ipc_event_pool_handle_t.from_buffer_copy(data),
            byref(out),
        )
        az.error(
            INVALID_ARGUMENT,
            "zeEventCounterBasedOpenIpcHandle",
            context,
            ze.ze_ipc_event_counter_based_handle_t.from_buffer_copy(data),
            byref(out),
        )
        az.error(
            INVALID_ARGUMENT,
            "zeMemGetFileDescriptorFromIpcHandleExp",
            context,
            ze.ze_ipc_mem_handle_t.from_buffer_copy(data),
            byref(c_uint64()),
        )
    # Every bit matters, or is ignored; none crashes, and none opens other memory.
    for bit in range(512):
        data = bytearray(good)
        data[bit // 8] ^= 1 << bit % 8
        if open_(bytes(data)) == OK:
            base = out.value
            write(address, bit.to_bytes(2, "little"))
            assert read(base, 2) == bit.to_bytes(2, "little"), f"bit {bit} opened other memory"
            az.ok("zeMemCloseIpcHandle", context, base)
    # A handle of one kind does not open as another.
    pool = ze.ze_ipc_event_pool_handle_t.from_buffer_copy(good)
    az.error(INVALID_ARGUMENT, "zeEventPoolOpenIpcHandle", context, pool, byref(out))
    # Put back, it opens no more; freed neither.
    az.ok("zeMemPutIpcHandle", context, ze.ze_ipc_mem_handle_t.from_buffer_copy(good))
    assert open_(good) == INVALID_ARGUMENT
    again = bytes.fromhex(memory_handle(az, context, address))
    assert again != good
    az.ok("zeMemFree", context, address)
    assert open_(again) == INVALID_ARGUMENT
    assert descriptors() <= before


def test_handle_of_a_process_that_has_ended(az: Calls, context: c_void_p) -> None:
    with peer(
        """
        handle = ze.ze_ipc_mem_handle_t()
        az.ok("zeMemGetIpcHandle", context, az.memory(context, 4096, "device"), byref(handle))
        send(bytes(handle).hex())
        pool = az.pool(context, 4, 3)
        handle = ze.ze_ipc_event_pool_handle_t()
        az.ok("zeEventPoolGetIpcHandle", pool, byref(handle))
        send(bytes(handle).hex())
        receive()
        """
    ) as other:
        memory, events, out = other.receive(), other.receive(), c_void_p()
        az.ok("zeMemOpenIpcHandle", context, az.device, from_hex(ze.ze_ipc_mem_handle_t, memory), 0, byref(out))
        other.kill()
    # Open handles stay usable; new ones cannot be opened.
    write(out.value, b"survives")
    assert read(out.value, 8) == b"survives"
    again = c_void_p()
    open_ = "zeMemOpenIpcHandle"
    az.error(INVALID_ARGUMENT, open_, context, az.device, from_hex(ze.ze_ipc_mem_handle_t, memory), 0, byref(again))
    pool = from_hex(ze.ze_ipc_event_pool_handle_t, events)
    az.error(INVALID_ARGUMENT, "zeEventPoolOpenIpcHandle", context, pool, byref(again))
    az.ok("zeMemCloseIpcHandle", context, out)


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT CHECKED: only root can become another user to be refused")
def test_another_user_is_refused() -> None:
    """The child drops to the user `nobody` after it has loaded everything; then it tries every function."""
    nobody = pwd.getpwnam("nobody").pw_uid
    run_python(
        f"""
        az = Calls()
        context = az.context()
        room, handle = az.memory(context, 4096, "device"), ze.ze_ipc_mem_handle_t()
        az.ok("zeMemGetIpcHandle", context, room, byref(handle))
        pool, events = az.pool(context, 1, 3), ze.ze_ipc_event_pool_handle_t()
        az.ok("zeEventPoolGetIpcHandle", pool, byref(events))
        pid = os.fork()
        if pid == 0:
            os.setgroups([])
            os.setgid({nobody})
            os.setuid({nobody})
            mine, out = az.context(), c_void_p()
            codes = [
                az.call("zeMemOpenIpcHandle", mine, az.device, handle, 0, byref(out)),
                az.call("zeEventPoolOpenIpcHandle", mine, events, byref(out)),
                az.call("zeMemGetFileDescriptorFromIpcHandleExp", mine, handle, byref(c_uint64())),
            ]
            os._exit(0 if codes == [{DENIED}] * 3 and out.value is None else 1)
        assert os.waitpid(pid, 0)[1] == 0
        out = c_void_p()
        az.ok("zeMemOpenIpcHandle", context, az.device, handle, 0, byref(out))
        """,
        timeout=PATIENCE,
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT CHECKED: only root can become another user")
def test_another_users_handle_is_refused_also_by_root() -> None:
    """Root could access it through the kernel; the driver still separates users."""
    nobody = pwd.getpwnam("nobody").pw_uid
    run_python(
        f"""
        az = Calls()
        reader, writer = os.pipe()
        stay, leave = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(leave)
            os.setgroups([])
            os.setgid({nobody})
            os.setuid({nobody})
            mine, handle = az.context(), ze.ze_ipc_mem_handle_t()
            az.ok("zeMemGetIpcHandle", mine, az.memory(mine, 4096), byref(handle))
            os.write(writer, bytes(handle))
            os.read(stay, 1)
            os._exit(0)
        data = os.read(reader, 64)
        handle, out = ze.ze_ipc_mem_handle_t.from_buffer_copy(data), c_void_p()
        az.error({DENIED}, "zeMemOpenIpcHandle", az.context(), az.device, handle, 0, byref(out))
        os.close(leave)
        os.waitpid(pid, 0)
        """,
        timeout=PATIENCE,
    )
