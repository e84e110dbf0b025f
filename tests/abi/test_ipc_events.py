"""Events between processes: signals and waits across, and peers that die in the middle."""

from __future__ import annotations

from ctypes import byref, c_void_p

import pytest

from anyzero import ze
from tests.abi.calls import (
    NOT_READY,
    OK,
    SECOND,
    SOON,
    Calls,
    descriptors,
    read,
    write,
)
from tests.abi.peers import IPC, from_hex, memory_handle, peer, pool_handle
from tests.asleep import await_sleep_of_others

DENIED = ze.ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS


def test_event_pool_flow_in_both_directions(az: Calls, context: c_void_p) -> None:
    """Device of one process signals, device and host of the other wait, and back; many rounds over the same events."""
    rounds = 200
    pool = az.pool(context, 4, IPC)
    ping, pong, stop = az.event(pool, 0), az.event(pool, 1), az.event(pool, 2)
    room = az.memory(context, 4096)
    write(room, bytes(4096))
    immediate = az.immediate(context)
    with peer(
        """
        pool, room = open_pool(receive()), open_memory(receive())
        rounds = int(receive())
        ping, pong, stop = (az.event(pool, i) for i in range(3))
        l = az.immediate(context)
        send("ready")
        for i in range(rounds):
            if i % 2:
                az.ok("zeEventHostSynchronize", ping, SOON)
                az.ok("zeEventHostReset", ping)
            else:
                az.ok("zeCommandListAppendWaitOnEvents", l, 1, handles([ping]))
                az.ok("zeCommandListAppendEventReset", l, ping)
            az.copy(l, room + 1, room, 1, pong)
            az.ok("zeCommandListHostSynchronize", l, SOON)
        az.ok("zeEventHostSignal", stop)
        for event in (ping, pong, stop):
            az.ok("zeEventDestroy", event)
        az.ok("zeEventPoolCloseIpcHandle", pool)
        send("done")
        """
    ) as other:
        other.send(pool_handle(az, pool))
        other.send(memory_handle(az, context, room))
        other.send(str(rounds))
        assert other.receive() == "ready"
        for step in range(rounds):
            az.fill(immediate, room, step % 251, 1, ping)
            if step % 3:
                az.ok("zeEventHostSynchronize", pong, SOON)
                az.ok("zeEventHostReset", pong)
            else:
                az.ok("zeCommandListAppendWaitOnEvents", immediate, 1, (c_void_p * 1)(pong))
                az.ok("zeCommandListAppendEventReset", immediate, pong)
                az.ok("zeCommandListHostSynchronize", immediate, SOON)
            assert read(room, 2) == bytes([step % 251] * 2)
        az.ok("zeEventHostSynchronize", stop, SOON)
        assert other.receive() == "done"
        other.finish()
    assert az.call("zeEventPoolDestroy", pool) == OK


def test_sleeping_waiters_are_woken_across_processes(az: Calls, context: c_void_p) -> None:
    pool = az.pool(context, 2, IPC)
    there, back = az.event(pool, 0), az.event(pool, 1)
    with peer(
        """
        pool = open_pool(receive())
        there, back = az.event(pool, 0), az.event(pool, 1)
        l = az.immediate(context)
        az.barrier(l, back, [there])
        send("waiting")
        az.ok("zeEventHostSynchronize", there, SOON)
        send("woken")
        receive()
        """
    ) as other:
        other.send(pool_handle(az, pool))
        assert other.receive() == "waiting"
        await_sleep_of_others(other.process.pid)
        az.ok("zeEventHostSignal", there)
        az.ok("zeEventHostSynchronize", back, SOON)
        assert other.receive() == "woken"
        other.finish()


def test_timestamps_and_counters_travel(az: Calls, context: c_void_p) -> None:
    flags = ze.ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE | ze.ZE_EVENT_COUNTER_BASED_FLAG_HOST_VISIBLE
    event = az.counter(context, flags | ze.ZE_EVENT_COUNTER_BASED_FLAG_IPC)
    pool = az.pool(context, 1, IPC | ze.ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP)
    timed, gate = az.event(pool), az.events(context, 1)[0]
    immediate = az.immediate(context)
    az.barrier(immediate, event, [gate])
    az.barrier(immediate, timed)
    handle = ze.ze_ipc_event_counter_based_handle_t()
    az.ok("zeEventCounterBasedGetIpcHandle", event, byref(handle))
    with peer(
        """
        counter = ze.ze_ipc_event_counter_based_handle_t.from_buffer_copy(bytes.fromhex(receive()))
        event = az.new("zeEventCounterBasedOpenIpcHandle", context, counter)
        timed = az.event(open_pool(receive()))
        az.error(NOT_READY, "zeEventQueryStatus", event)
        send("opened")
        az.ok("zeEventHostSynchronize", event, SOON)
        az.ok("zeEventHostSynchronize", timed, SOON)
        found = ze.ze_kernel_timestamp_result_t()
        az.ok("zeEventQueryKernelTimestamp", timed, byref(found))
        send(getattr(found, "global").kernelStart)
        az.ok("zeEventCounterBasedCloseIpcHandle", event)
        az.error(INVALID_NULL_HANDLE, "zeEventQueryStatus", event)
        """
    ) as other:
        other.send(bytes(handle).hex())
        other.send(pool_handle(az, pool))
        assert other.receive() == "opened"
        az.ok("zeEventHostSignal", gate)
        found = ze.ze_kernel_timestamp_result_t()
        az.ok("zeEventHostSynchronize", timed, SOON)
        az.ok("zeEventQueryKernelTimestamp", timed, byref(found))
        assert other.receive() == str(getattr(found, "global").kernelStart)
        other.finish()


@pytest.mark.parametrize("where", ["host", "device"])
def test_peer_killed_while_it_waits(az: Calls, context: c_void_p, where: str) -> None:
    """The dead waiter leaves its trace in the shared signal; the survivor must not care."""
    pool = az.pool(context, 2, IPC)
    event, other_event = az.event(pool, 0), az.event(pool, 1)
    room = az.memory(context, 1 << 20)
    # The first command of a process and its first handle may open what all of them share.
    first = az.immediate(context)
    az.fill(first, room, 1, 1 << 20)
    az.ok("zeCommandListHostSynchronize", first, SOON)
    pool_name, room_name = pool_handle(az, pool), memory_handle(az, context, room)
    before = descriptors()
    for _ in range(3):
        with peer(
            f"""
            where = {where!r}
            """
            """
            pool, room = open_pool(receive()), open_memory(receive())
            event, reply = az.event(pool, 0), az.event(pool, 1)
            l = az.immediate(context)
            az.copy(l, room, room + 4096, 4096, reply, [event])
            send("waiting")
            if where == "host":
                az.call("zeEventHostSynchronize", event, FOREVER)
            receive()
            """
        ) as victim:
            victim.send(pool_name)
            victim.send(room_name)
            assert victim.receive() == "waiting"
            await_sleep_of_others(victim.process.pid)
            victim.kill()
        # The answer will never come: the survivor's wait ends when its time is over.
        az.ok("zeEventHostSignal", event)
        az.error(NOT_READY, "zeEventHostSynchronize", other_event, SECOND // 100)
        # And everything still works here.
        az.ok("zeEventHostReset", event)
        immediate = az.immediate(context)
        az.barrier(immediate, event)
        az.ok("zeEventHostSynchronize", event, SOON)
        az.ok("zeEventHostReset", event)
        az.fill(immediate, room, 7, 1 << 20)
        az.ok("zeCommandListHostSynchronize", immediate, SOON)
        assert read(room, 1 << 20) == b"\x07" * (1 << 20)
    assert descriptors() == before
    az.ok("zeMemFree", context, room)


def test_exporter_killed_while_its_memory_and_events_are_open(az: Calls, context: c_void_p) -> None:
    with peer(
        """
        handle = ze.ze_ipc_mem_handle_t()
        room = az.memory(context, 1 << 20, "device")
        az.ok("zeMemGetIpcHandle", context, room, byref(handle))
        send(bytes(handle).hex())
        pool, handle = az.pool(context, 2, 3), ze.ze_ipc_event_pool_handle_t()
        az.ok("zeEventPoolGetIpcHandle", pool, byref(handle))
        send(bytes(handle).hex())
        receive()
        """
    ) as exporter:
        room = c_void_p()
        memory = from_hex(ze.ze_ipc_mem_handle_t, exporter.receive())
        az.ok("zeMemOpenIpcHandle", context, az.device, memory, 0, byref(room))
        events = from_hex(ze.ze_ipc_event_pool_handle_t, exporter.receive())
        pool = az.new("zeEventPoolOpenIpcHandle", context, events)
        one, two = az.event(pool, 0), az.event(pool, 1)
        immediate = az.immediate(context)
        az.fill(immediate, room.value, 4, 1 << 20, two, [one])
        exporter.kill()
    az.error(NOT_READY, "zeEventHostSynchronize", two, SECOND // 20)
    az.ok("zeEventHostSignal", one)
    az.ok("zeEventHostSynchronize", two, SOON)
    assert read(room.value, 1 << 20) == b"\x04" * (1 << 20)
    az.ok("zeMemCloseIpcHandle", context, room)
    az.ok("zeEventPoolCloseIpcHandle", pool)


def test_a_hostile_peer_cannot_cut_the_files_off(az: Calls, context: c_void_p) -> None:
    """A peer reaches the files behind pools and memory; shrinking one must not kill us with a bus error."""
    pool, room = az.pool(context, 64, IPC), az.memory(context, 3 << 20, "device")
    event, small = az.event(pool, 0), az.memory(context, 64, "device")
    with peer(
        """
        pool, rooms = open_pool(receive()), [open_memory(receive()), open_memory(receive())]
        for fd in os.listdir("/proc/self/fd"):
            try:
                if "anyzero" in os.readlink(f"/proc/self/fd/{fd}"):
                    os.ftruncate(int(fd), 0)
            except OSError:
                pass
        send("tried")
        receive()
        """
    ) as other:
        other.send(pool_handle(az, pool))
        other.send(memory_handle(az, context, room))
        other.send(memory_handle(az, context, small))
        assert other.receive() == "tried"
        immediate = az.immediate(context)
        az.fill(immediate, room, 1, 3 << 20, event)
        az.ok("zeEventHostSynchronize", event, SOON)
        az.fill(immediate, small, 1, 64)
        az.ok("zeCommandListHostSynchronize", immediate, SOON)
        other.finish()
