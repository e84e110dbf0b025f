"""Handles that are sent as most programs do: the descriptor they begin with through a socket, and the rest as bytes."""

from __future__ import annotations

import os
import pwd
import socket
import struct
from collections.abc import Iterator
from ctypes import byref, c_uint64, c_void_p
from pathlib import Path

import pytest

from anyzero import ze
from tests.abi.calls import INVALID_ARGUMENT, SOON, Calls, descriptors, read, run_python, write
from tests.abi.peers import IPC, Peer, from_hex, memory_handle, peer, pool_handle

SENDER = """
import socket, struct
line = socket.socket(socket.AF_UNIX)
line.connect(receive())
def send_handle(handle):
    socket.send_fds(line, [bytes(handle)], [struct.unpack_from("i", bytes(handle))[0]])
"""


class Line:
    """The socket for a peer's descriptors."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "line"
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(str(self.path))
        self.listening.listen()

    def accept(self, other: Peer) -> None:
        other.send(str(self.path))
        self.connection, _ = self.listening.accept()

    def receive(self) -> tuple[bytes, int]:
        """A handle with the number under which its descriptor arrived, as programs put it there, and that number."""
        data, fds, _, _ = socket.recv_fds(self.connection, 64, 1)
        return struct.pack("i", fds[0]) + data[4:], fds[0]


@pytest.fixture
def line(tmp_path: Path) -> Iterator[Line]:
    made = Line(tmp_path)
    yield made
    made.connection.close()
    made.listening.close()


def test_descriptor_opens_what_the_bytes_alone_no_longer_can(az: Calls, context: c_void_p, line: Line) -> None:
    """The exporting process has exited with its table; only holders of the descriptors can open the memory."""
    with peer(
        SENDER
        + """
        memory, other = az.memory(context, 4096, "device"), az.memory(context, 4096, "device")
        write(memory, b"of a process that has ended")
        write(other, b"other")
        for address in (memory, other):
            handle = ze.ze_ipc_mem_handle_t()
            az.ok("zeMemGetIpcHandle", context, address, byref(handle))
            send_handle(handle)
        pool = az.pool(context, 4, 3)
        handle = ze.ze_ipc_event_pool_handle_t()
        az.ok("zeEventPoolGetIpcHandle", pool, byref(handle))
        send_handle(handle)
        event = az.event(pool, 2)
        az.ok("zeEventHostSignal", event)
        send("signalled")
        receive()
        """.replace("\n        ", "\n")
    ) as other:
        line.accept(other)
        (memory, fd), (another, another_fd), (pool, pool_fd) = (line.receive() for _ in range(3))
        other.receive()
        other.kill()
    out, kind = c_void_p(), ze.ze_ipc_mem_handle_t
    az.ok("zeMemOpenIpcHandle", context, az.device, kind.from_buffer_copy(memory), 0, byref(out))
    assert read(out.value, 27) == b"of a process that has ended"
    # Neither the bytes alone, nor with a descriptor of something else, be it another handle's.
    own = os.memfd_create("anyzero")
    os.truncate(own, 1 << 20)
    wrong = c_void_p()
    for number in (-1, 2**30, 0, own, another_fd, pool_fd):
        forged = kind.from_buffer_copy(struct.pack("i", number) + memory[4:])
        az.error(INVALID_ARGUMENT, "zeMemOpenIpcHandle", context, az.device, forged, 0, byref(wrong))
    forged = kind.from_buffer_copy(struct.pack("i", fd) + another[4:])
    az.error(INVALID_ARGUMENT, "zeMemOpenIpcHandle", context, az.device, forged, 0, byref(wrong))
    opened = az.new("zeEventPoolOpenIpcHandle", context, ze.ze_ipc_event_pool_handle_t.from_buffer_copy(pool))
    az.ok("zeEventHostSynchronize", az.event(opened, 2), SOON)
    # The program's own descriptors are its own to close; what was opened stays.
    for number in (fd, another_fd, pool_fd, own):
        os.close(number)
    assert read(out.value, 27) == b"of a process that has ended"
    az.ok("zeMemCloseIpcHandle", context, out)
    az.ok("zeEventPoolCloseIpcHandle", opened)


def test_handle_begins_with_a_descriptor_until_it_is_put_back(az: Calls, context: c_void_p) -> None:
    memory_handle(az, context, az.memory(context, 64))  # the table itself has one, too
    before = descriptors()
    address = az.memory(context, 4096)
    handle = bytes.fromhex(memory_handle(az, context, address))
    (fd,) = struct.unpack_from("i", handle)
    assert os.fstat(fd).st_size >= 4096
    assert bytes.fromhex(memory_handle(az, context, address)) == handle
    found = c_uint64()
    kind = ze.ze_ipc_mem_handle_t.from_buffer_copy(handle)
    az.ok("zeMemGetFileDescriptorFromIpcHandleExp", context, kind, byref(found))
    assert found.value == fd
    for left in (1, 0):
        az.ok("zeMemPutIpcHandle", context, kind)
        assert (descriptors() > before) == bool(left)
    # One that is never put back goes with its memory, and with its pool.
    memory_handle(az, context, address)
    az.ok("zeMemFree", context, address)
    pool = az.pool(context, 1, IPC)
    pool_handle(az, pool)
    az.ok("zeEventPoolDestroy", pool)
    assert descriptors() <= before


def test_freed_memory_waits_for_a_descriptor_that_is_under_way(az: Calls, context: c_void_p) -> None:
    """The handle is not open yet, but another process holds its descriptor: the memory is not reused."""
    address = az.memory(context, 4096)
    handle = bytes.fromhex(memory_handle(az, context, address))
    kept = os.dup(struct.unpack_from("i", handle)[0])
    write(address, b"mine")
    az.ok("zeMemFree", context, address)
    for _ in range(64):
        write(az.memory(context, 4096), b"next")
    out = c_void_p()
    kind = ze.ze_ipc_mem_handle_t.from_buffer_copy(struct.pack("i", kept) + handle[4:])
    az.ok("zeMemOpenIpcHandle", context, az.device, kind, 0, byref(out))
    assert read(out.value, 4) == b"mine"
    az.ok("zeMemCloseIpcHandle", context, out)
    os.close(kept)


def test_running_out_of_descriptors_is_said(az: Calls) -> None:
    run_python(
        """
        import resource
        az = Calls()
        context = az.context()
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        rooms, handle = [az.memory(context, 64) for _ in range(100)], ze.ze_ipc_mem_handle_t()
        made = []
        for room in rooms:
            result = az.call("zeMemGetIpcHandle", context, room, byref(handle))
            if result:
                break
            made.append(ze.ze_ipc_mem_handle_t.from_buffer_copy(bytes(handle)))
        assert result == ze.ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY and "put back" in az.last_error(), az.last_error()
        az.ok("zeMemPutIpcHandle", context, made.pop())
        az.ok("zeMemGetIpcHandle", context, room, byref(handle))
        """
    )


def test_counting_event_with_its_descriptor(az: Calls, context: c_void_p, line: Line) -> None:
    with peer(
        SENDER
        + """
flags = ze.ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE | ze.ZE_EVENT_COUNTER_BASED_FLAG_IPC
event, lst = az.counter(context, flags), az.immediate(context)
for _ in range(2):
    az.barrier(lst, event)
    handle = ze.ze_ipc_event_counter_based_handle_t()
    az.ok("zeEventCounterBasedGetIpcHandle", event, byref(handle))
send_handle(handle)
az.ok("zeCommandListHostSynchronize", lst, SOON)
send("done")
receive()
"""
    ) as other:
        line.accept(other)
        data, fd = line.receive()
        other.receive()
        other.kill()
    kind = ze.ze_ipc_event_counter_based_handle_t.from_buffer_copy(data)
    event = az.new("zeEventCounterBasedOpenIpcHandle", context, kind)
    az.ok("zeEventHostSynchronize", event, SOON)
    az.ok("zeEventCounterBasedCloseIpcHandle", event)
    os.close(fd)


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT CHECKED: only root can become another user")
def test_another_user_who_was_given_the_descriptor_may_open() -> None:
    nobody = pwd.getpwnam("nobody").pw_uid
    run_python(
        f"""
        import socket, struct
        az = Calls()
        context = az.context()
        room, handle = az.memory(context, 4096, "device"), ze.ze_ipc_mem_handle_t()
        write(room, b"for you")
        az.ok("zeMemGetIpcHandle", context, room, byref(handle))
        here, there = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            os.setgroups([])
            os.setgid({nobody})
            os.setuid({nobody})
            data, fds, _, _ = socket.recv_fds(there, 64, 1)
            mine, out = az.context(), c_void_p()
            kind = ze.ze_ipc_mem_handle_t.from_buffer_copy(struct.pack("i", fds[0]) + data[4:])
            az.ok("zeMemOpenIpcHandle", mine, az.device, kind, 0, byref(out))
            os._exit(0 if read(out.value, 7) == b"for you" else 1)
        socket.send_fds(here, [bytes(handle)], [struct.unpack_from("i", bytes(handle))[0]])
        assert os.waitpid(pid, 0)[1] == 0
        """
    )


def test_handles_of_other_kinds_are_refused(az: Calls, context: c_void_p) -> None:
    handle = memory_handle(az, context, az.memory(context, 4096))
    pool = from_hex(ze.ze_ipc_event_pool_handle_t, handle)
    az.error(INVALID_ARGUMENT, "zeEventPoolOpenIpcHandle", context, pool, byref(c_void_p()))
