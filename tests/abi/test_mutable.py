"""Lists whose commands change after they were closed: other events to wait for and to signal."""

from __future__ import annotations

from ctypes import addressof, byref, c_uint8, c_uint64, c_void_p
from typing import Any

import pytest

from anyzero import ze
from tests.abi.calls import (
    INVALID_ARGUMENT,
    INVALID_SIZE,
    NOT_READY,
    OK,
    SECOND,
    SOON,
    Calls,
    handles,
    read,
    write,
)

SIGNAL = ze.ZE_MUTABLE_COMMAND_EXP_FLAG_SIGNAL_EVENT
WAITS = ze.ZE_MUTABLE_COMMAND_EXP_FLAG_WAIT_EVENTS


def mutable(az: Calls, context: c_void_p) -> c_void_p:
    extra = ze.ze_mutable_command_list_exp_desc_t()
    desc = ze.ze_command_list_desc_t(pNext=addressof(extra))
    return az.new("zeCommandListCreate", context, az.device, byref(desc))


def name_next(az: Calls, lst: c_void_p, flags: int = 0) -> int:
    number = c_uint64()
    az.ok(
        "zeCommandListGetNextCommandIdExp", lst, byref(ze.ze_mutable_command_id_exp_desc_t(flags=flags)), byref(number)
    )
    return number.value


def change_signal(az: Calls, lst: c_void_p, number: int, event: Any) -> int:
    return az.call("zeCommandListUpdateMutableCommandSignalEventExp", lst, number, event)


def change_waits(az: Calls, lst: c_void_p, number: int, events: list[Any]) -> int:
    return az.call("zeCommandListUpdateMutableCommandWaitEventsExp", lst, number, len(events), handles(events))


def test_only_mutable_lists_change(az: Calls, context: c_void_p) -> None:
    plain, changing, value = az.list(context), mutable(az, context), c_uint8(9)
    az.ok("zeCommandListIsMutableExp", plain, byref(value))
    assert value.value == 0
    az.ok("zeCommandListIsMutableExp", changing, byref(value))
    assert value.value == 1
    desc, number = ze.ze_mutable_command_id_exp_desc_t(), c_uint64()
    az.error(INVALID_ARGUMENT, "zeCommandListGetNextCommandIdExp", plain, byref(desc), byref(number))
    assert change_signal(az, plain, 1, None) == INVALID_ARGUMENT
    az.ok("zeCommandListIsMutableExp", az.immediate(context), byref(value))
    assert value.value == 0


def test_bad_identifiers(az: Calls, context: c_void_p) -> None:
    lst, (event,) = mutable(az, context), az.events(context, 1)
    signal_only = name_next(az, lst, SIGNAL)
    az.barrier(lst, event, [event])
    waits_only = name_next(az, lst, WAITS)
    az.barrier(lst, event, [event])
    dangling = name_next(az, lst)
    az.close(lst)
    for number in (0, 99, 2**64 - 1, dangling):
        assert change_signal(az, lst, number, event) == INVALID_ARGUMENT
        assert change_waits(az, lst, number, [event]) == INVALID_ARGUMENT
    assert change_waits(az, lst, signal_only, [event]) == INVALID_ARGUMENT
    assert change_signal(az, lst, waits_only, event) == INVALID_ARGUMENT
    assert change_waits(az, lst, waits_only, [event, event]) == INVALID_SIZE
    assert change_signal(az, lst, signal_only, event) == OK
    az.ok("zeCommandListReset", lst)
    az.close(lst)
    assert change_signal(az, lst, signal_only, event) == INVALID_ARGUMENT


@pytest.mark.parametrize("kinds", ["binary", "counting", "mixed"])
def test_signals_and_waits_change_from_run_to_run(az: Calls, context: c_void_p, kinds: str) -> None:
    """Binary and counting events take each other's places, and none, between runs of the same list."""
    lst, queue, room = mutable(az, context), az.queue(context), az.memory(context, 64)
    opener = az.immediate(context, ordinal=1)
    gates, done = az.events(context, 8), az.events(context, 8)

    def event(kind: int, index: int) -> c_void_p:
        counting = kinds == "counting" or (kinds == "mixed" and kind % 2)
        return az.counter(context) if counting else done[index]

    first = done[0]
    wait_for = name_next(az, lst, WAITS)
    az.barrier(lst, None, [gates[0], gates[1]])
    az.fill(lst, room, 1, 64)
    signal = name_next(az, lst, SIGNAL)
    az.barrier(lst, first)
    az.close(lst)
    az.ok("zeEventHostSignal", gates[0])
    az.ok("zeEventHostSignal", gates[1])
    az.execute(queue, lst)
    az.finish(queue)
    az.ok("zeEventQueryStatus", first)
    for step in range(1, 6):
        end = event(step, step)
        gate = gates[step + 1]
        counting_gate = az.counter(context)
        az.barrier(opener, counting_gate, [gate])
        # One wait replaced by a pending counter, one removed.
        waits = [counting_gate, c_void_p()] if step % 2 else [c_void_p(), gate]
        assert change_waits(az, lst, wait_for, waits) == OK, az.last_error()
        assert change_signal(az, lst, signal, end) == OK
        az.close(lst)
        write(room, bytes(64))
        az.execute(queue, lst)
        az.error(NOT_READY, "zeEventHostSynchronize", end, SECOND // 100)
        az.ok("zeEventHostSignal", gate)
        az.ok("zeEventHostSynchronize", end, SOON)
        az.finish(queue)
        assert read(room, 64) == b"\x01" * 64
    assert change_waits(az, lst, wait_for, [c_void_p(), c_void_p()]) == OK
    assert change_signal(az, lst, signal, None) == OK
    az.close(lst)
    az.execute(queue, lst)
    az.finish(queue)
    az.ok("zeCommandListReset", lst)
    az.ok("zeCommandListDestroy", lst)


def test_a_running_list_does_not_change(az: Calls, context: c_void_p) -> None:
    lst, queue, (gate, other) = mutable(az, context), az.queue(context), az.events(context, 2)
    number = name_next(az, lst, WAITS)
    az.barrier(lst, None, [gate])
    az.close(lst)
    az.execute(queue, lst)
    assert change_waits(az, lst, number, [other]) == ze.ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE
    az.ok("zeEventHostSignal", gate)
    az.finish(queue)
    assert change_waits(az, lst, number, [other]) == OK
    az.ok("zeEventHostSignal", other)
    az.close(lst)
    az.execute(queue, lst)
    az.finish(queue)


def test_changed_events_are_held_and_let_go(az: Calls, context: c_void_p) -> None:
    """Handles die, objects stay until no command names them: 200 events pass through one slot."""
    lst, queue = mutable(az, context), az.queue(context)
    pool = az.pool(context, 1)
    number = name_next(az, lst, SIGNAL)
    az.barrier(lst, az.event(pool))
    az.close(lst)
    for _ in range(200):
        event = az.event(pool)
        assert change_signal(az, lst, number, event) == OK
        az.close(lst)
        az.ok("zeEventDestroy", event)
        az.execute(queue, lst)
        az.finish(queue)


def test_runtime_requirements(az: Calls) -> None:
    from ctypes import c_char_p

    key = c_char_p()
    az.ok("zeDeviceGetRuntimeRequirementsKey", az.device, byref(key))
    assert key.value
    found = ze.ze_validate_runtime_requirements_output_t()
    az.ok("zeDeviceValidateRuntimeRequirements", az.device, b"somebody else's", byref(found))
    assert found.result != ze.ZE_VALIDATE_RUNTIME_REQUIREMENTS_RESULT_REQUIREMENTS_MET
    size = c_uint64()
    stranger = ze.ze_base_desc_t()
    az.error(INVALID_ARGUMENT, "zeDeviceGetRuntimeRequirements", az.device, byref(stranger), byref(size), None)
