"""Queues, lists, fences and immediate lists: states, modes, timeouts, and which queue runs which list."""

from __future__ import annotations

from ctypes import byref, c_uint8, c_uint32, c_void_p

import pytest

from anyzero import ze
from tests.abi.calls import (
    ASYNCHRONOUS,
    COMPUTE,
    COPY,
    FOREVER,
    INVALID_ARGUMENT,
    INVALID_ENUMERATION,
    INVALID_LIST_TYPE,
    INVALID_NULL_HANDLE,
    INVALID_SIZE,
    INVALID_SYNC,
    NOT_READY,
    OK,
    SECOND,
    SOON,
    SYNCHRONOUS,
    Calls,
    handles,
    read,
    run_python,
    write,
)

MODES = [0, SYNCHRONOUS, ASYNCHRONOUS]
PRIORITIES = [0, 1, 2]


@pytest.mark.parametrize("ordinal", [COMPUTE, COPY])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("priority", PRIORITIES)
def test_queue_and_immediate_list_remember_what_they_are(
    az: Calls, context: c_void_p, ordinal: int, mode: int, priority: int
) -> None:
    fields = {"ordinal": ordinal, "mode": mode, "priority": priority, "flags": ze.ZE_COMMAND_QUEUE_FLAG_EXPLICIT_ONLY}
    queue, immediate = az.queue(context, **fields), az.immediate(context, **fields)
    for name, handle, expected in (
        ("zeCommandQueueGetOrdinal", queue, ordinal),
        ("zeCommandQueueGetIndex", queue, 0),
        ("zeCommandQueueGetFlags", queue, fields["flags"]),
        ("zeCommandQueueGetMode", queue, mode),
        ("zeCommandQueueGetPriority", queue, priority),
        ("zeCommandListGetOrdinal", immediate, ordinal),
        ("zeCommandListImmediateGetIndex", immediate, 0),
        ("zeCommandListImmediateGetFlags", immediate, fields["flags"]),
        ("zeCommandListImmediateGetMode", immediate, mode),
        ("zeCommandListImmediateGetPriority", immediate, priority),
    ):
        assert az.query(name, c_uint32, handle) == expected, name
    assert az.query("zeCommandListIsImmediate", c_uint8, immediate) == 1
    assert az.query("zeCommandListGetDeviceHandle", c_void_p, immediate) == az.device.value
    assert az.query("zeCommandListGetContextHandle", c_void_p, immediate) == context.value
    address = az.memory(context, 64)
    az.fill(immediate, address, 9, 64)
    az.ok("zeCommandListHostSynchronize", immediate, SOON)
    recorded = az.list(context, commandQueueGroupOrdinal=ordinal)
    az.fill(recorded, address + 32, 8, 32)
    az.close(recorded)
    az.execute(queue, recorded)
    az.finish(queue)
    assert read(address, 64) == b"\x09" * 32 + b"\x08" * 32
    for name, handle in (
        ("zeCommandListDestroy", immediate),
        ("zeCommandListDestroy", recorded),
        ("zeCommandQueueDestroy", queue),
    ):
        az.ok(name, handle)
        az.error(INVALID_NULL_HANDLE, name, handle)


def test_regular_list_remembers_what_it_is(az: Calls, context: c_void_p) -> None:
    flags = ze.ZE_COMMAND_LIST_FLAG_IN_ORDER | ze.ZE_COMMAND_LIST_FLAG_RELAXED_ORDERING
    recorded = az.list(context, flags=flags, commandQueueGroupOrdinal=COPY)
    assert az.query("zeCommandListGetFlags", c_uint32, recorded) == flags
    assert az.query("zeCommandListGetOrdinal", c_uint32, recorded) == COPY
    assert az.query("zeCommandListIsImmediate", c_uint8, recorded) == 0
    for name in (
        "zeCommandListImmediateGetIndex",
        "zeCommandListImmediateGetFlags",
        "zeCommandListImmediateGetMode",
        "zeCommandListImmediateGetPriority",
    ):
        az.error(INVALID_ARGUMENT, name, recorded, byref(c_uint32()))
    az.error(INVALID_ARGUMENT, "zeCommandListHostSynchronize", recorded, 0)


@pytest.mark.parametrize("flags", [1, 2, 4, 8, 16, 32, 63])
def test_every_list_flag_is_accepted(az: Calls, context: c_void_p, flags: int) -> None:
    recorded, queue, address = az.list(context, flags=flags), az.queue(context), az.memory(context, 8)
    az.fill(recorded, address, 3, 8)
    az.close(recorded)
    az.execute(queue, recorded)
    az.finish(queue)
    assert read(address, 8) == b"\x03" * 8


def test_descriptors_out_of_range(az: Calls, context: c_void_p) -> None:
    out = c_void_p()
    for fields in ({"flags": 8}, {"mode": 3}, {"priority": 3}, {"mode": 2**31}, {"priority": 2**32 - 1}):
        desc = ze.ze_command_queue_desc_t(**fields)
        for name in ("zeCommandQueueCreate", "zeCommandListCreateImmediate"):
            az.error(INVALID_ENUMERATION, name, context, az.device, byref(desc), byref(out))
    desc = ze.ze_command_list_desc_t(flags=64)
    az.error(INVALID_ENUMERATION, "zeCommandListCreate", context, az.device, byref(desc), byref(out))


def test_states_of_a_list(az: Calls, context: c_void_p) -> None:
    recorded, queue, address = az.list(context), az.queue(context), az.memory(context, 64)
    pattern = c_uint8(1)
    fill = ("zeCommandListAppendMemoryFill", recorded, address, byref(pattern), 1, 64, None, 0, None)
    az.ok(*fill)
    az.error(INVALID_ARGUMENT, "zeCommandQueueExecuteCommandLists", queue, 1, handles([recorded]), None)
    assert "close" in az.last_error()
    az.close(recorded)
    az.close(recorded)
    pattern.value = 2
    az.ok(*fill)  # accepted, and never run
    assert "reset" in az.last_error()
    az.execute(queue, recorded)
    az.finish(queue)
    assert read(address, 64) == b"\x01" * 64
    az.ok("zeCommandListReset", recorded)
    az.ok(*fill)
    az.ok("zeCommandListReset", recorded)
    az.close(recorded)
    write(address, bytes(64))
    az.execute(queue, recorded)
    az.finish(queue)
    assert read(address, 64) == bytes(64)


def test_what_is_appended_to_a_closed_list_never_runs(az: Calls, context: c_void_p) -> None:
    """As with hardware drivers; a bandwidth program gives memory advice that way."""
    from tests.abi.appends import appends

    recorded = az.list(context)
    az.close(recorded)
    for name, args in appends(az, context):
        assert az.call(name, recorded, *args) == OK, name
    queue = az.queue(context)
    az.execute(queue, recorded)
    az.finish(queue)


def test_wrong_lists_for_a_queue(az: Calls, context: c_void_p) -> None:
    compute, copy = az.queue(context), az.queue(context, ordinal=COPY)
    recorded = {ordinal: az.list(context, commandQueueGroupOrdinal=ordinal) for ordinal in (COMPUTE, COPY)}
    immediate = az.immediate(context)
    az.close(*recorded.values())
    for queue, wrong in ((compute, recorded[COPY]), (copy, recorded[COMPUTE]), (compute, immediate)):
        az.error(INVALID_LIST_TYPE, "zeCommandQueueExecuteCommandLists", queue, 1, handles([wrong]), None)
    # One bad list fails the whole submission, and no part of it runs.
    address = az.memory(context, 8)
    write(address, bytes(8))
    good = az.list(context)
    az.fill(good, address, 1, 8)
    az.close(good)
    for wrong in (recorded[COPY], immediate, az.list(context)):
        assert az.call("zeCommandQueueExecuteCommandLists", compute, 2, handles([good, wrong]), None) != OK
    az.error(INVALID_NULL_HANDLE, "zeCommandQueueExecuteCommandLists", compute, 2, handles([good, c_void_p()]), None)
    az.error(INVALID_SIZE, "zeCommandQueueExecuteCommandLists", compute, 0, handles([good]), None)
    az.finish(compute)
    assert read(address, 8) == bytes(8)


def test_close_and_reset_of_an_immediate_list_are_harmless(az: Calls, context: c_void_p) -> None:
    immediate, address = az.immediate(context), az.memory(context, 8)
    az.close(immediate)
    az.ok("zeCommandListReset", immediate)
    az.fill(immediate, address, 5, 8)
    az.ok("zeCommandListHostSynchronize", immediate, SOON)
    assert read(address, 8) == b"\x05" * 8


def test_fences(az: Calls, context: c_void_p) -> None:
    queue, recorded = az.queue(context), az.list(context)
    az.close(recorded)
    signalled, fresh = az.fence(queue, ze.ZE_FENCE_FLAG_SIGNALED), az.fence(queue)
    az.ok("zeFenceQueryStatus", signalled)
    az.ok("zeFenceHostSynchronize", signalled, 0)
    az.ok("zeFenceReset", signalled)
    az.error(NOT_READY, "zeFenceQueryStatus", signalled)
    az.error(NOT_READY, "zeFenceQueryStatus", fresh)
    az.error(NOT_READY, "zeFenceHostSynchronize", fresh, 1000)
    az.execute(queue, recorded, fence=fresh)
    az.ok("zeFenceHostSynchronize", fresh, SOON)
    az.ok("zeFenceHostSynchronize", fresh, FOREVER)
    az.ok("zeFenceReset", fresh)
    az.error(NOT_READY, "zeFenceQueryStatus", fresh)
    other = az.queue(context)
    az.error(INVALID_SYNC, "zeCommandQueueExecuteCommandLists", other, 1, handles([recorded]), fresh)
    az.error(INVALID_ENUMERATION, "zeFenceCreate", queue, byref(ze.ze_fence_desc_t(flags=2)), byref(c_void_p()))
    az.ok("zeFenceDestroy", fresh)
    az.error(INVALID_SYNC, "zeCommandQueueExecuteCommandLists", queue, 1, handles([recorded]), fresh)
    az.error(INVALID_SYNC, "zeCommandQueueExecuteCommandLists", queue, 1, handles([recorded]), queue)


def test_fence_comes_behind_all_lists_of_its_submission(az: Calls, context: c_void_p) -> None:
    (gate,) = az.events(context, 1)
    queue, first, second = az.queue(context), az.list(context), az.list(context)
    address = az.memory(context, 8)
    az.fill(first, address, 1, 8)
    az.barrier(second, None, [gate])
    az.fill(second, address, 2, 8)
    az.close(first, second)
    fence = az.fence(queue)
    az.execute(queue, first, second, fence=fence)
    az.error(NOT_READY, "zeFenceHostSynchronize", fence, SECOND // 20)
    az.ok("zeEventHostSignal", gate)
    az.ok("zeFenceHostSynchronize", fence, SOON)
    assert read(address, 8) == b"\x02" * 8


def test_one_list_many_times_on_several_queues(az: Calls, context: c_void_p) -> None:
    size, times = 256, 200
    queues = [az.queue(context, mode=mode) for mode in MODES]
    counter, one = az.memory(context, size), az.memory(context, size)
    recorded = az.list(context)
    az.fill(recorded, counter, 1, size)
    az.copy(recorded, one, counter, size)
    az.barrier(recorded)
    az.close(recorded)
    for _ in range(times):
        for queue in queues:
            az.execute(queue, recorded, recorded)
    for queue in queues:
        az.finish(queue)
    assert read(one, size) == b"\x01" * size


def test_order_within_a_queue(az: Calls, context: c_void_p) -> None:
    """Each list shifts a byte along: any two lists out of order would leave another picture."""
    for ordinal in (COMPUTE, COPY):
        queue, row = az.queue(context, ordinal=ordinal), az.memory(context, 256)
        write(row, b"\x2a" + bytes(255))
        lists = []
        for index in range(255):
            recorded = az.list(context, commandQueueGroupOrdinal=ordinal)
            az.copy(recorded, row + index + 1, row + index, 1)
            az.close(recorded)
            lists.append(recorded)
        az.execute(queue, *lists[:100])
        for recorded in lists[100:200]:
            az.execute(queue, recorded)
        az.execute(queue, *lists[200:])
        az.finish(queue)
        assert read(row, 256) == b"\x2a" * 256


def test_synchronous_queue_returns_when_done(az: Calls, context: c_void_p) -> None:
    queue, recorded = az.queue(context, mode=SYNCHRONOUS), az.list(context)
    address = az.memory(context, 4 << 20)
    az.fill(recorded, address, 0x5E, 4 << 20)
    az.close(recorded)
    az.execute(queue, recorded)
    assert read(address, 4 << 20) == b"\x5e" * (4 << 20)
    az.ok("zeCommandQueueSynchronize", queue, 0)


def test_clone(az: Calls, context: c_void_p) -> None:
    address, queue = az.memory(context, 16), az.queue(context)
    plain = az.list(context)
    az.close(plain)
    assert az.call("zeCommandListCreateCloneExp", plain, byref(c_void_p())) != OK
    original = az.list(context, flags=ze.ZE_COMMAND_LIST_FLAG_EXP_CLONEABLE)
    az.fill(original, address, 4, 8)
    az.close(original)
    clone = az.new("zeCommandListCreateCloneExp", original)
    az.ok("zeCommandListReset", original)
    az.fill(original, address + 8, 5, 8)
    az.close(original)
    write(address, bytes(16))
    az.execute(queue, clone)
    az.finish(queue)
    assert read(address, 16) == b"\x04" * 8 + bytes(8)
    az.execute(queue, original)
    az.finish(queue)
    assert read(address, 16) == b"\x04" * 8 + b"\x05" * 8
    az.ok("zeCommandListDestroy", original)
    write(address, bytes(16))
    az.execute(queue, clone)
    az.finish(queue)
    assert read(address, 16) == b"\x04" * 8 + bytes(8)
    az.ok("zeCommandListReset", clone)
    az.fill(clone, address, 6, 16)
    az.close(clone)
    az.execute(queue, clone)
    az.finish(queue)
    assert read(address, 16) == b"\x06" * 16
    assert az.call("zeCommandListCreateCloneExp", az.immediate(context), byref(c_void_p())) != OK


def test_reset_and_destroy_while_running(az: Calls, context: c_void_p) -> None:
    (gate,) = az.events(context, 1)
    queue, recorded, address = az.queue(context), az.list(context), az.memory(context, 16)
    write(address, bytes(16))
    az.barrier(recorded, None, [gate])
    az.fill(recorded, address, 1, 8)
    az.close(recorded)
    fence = az.fence(queue)
    az.execute(queue, recorded, fence=fence)
    az.ok("zeCommandListReset", recorded)
    az.fill(recorded, address + 8, 2, 8)
    az.close(recorded)
    az.execute(queue, recorded)
    az.ok("zeCommandListDestroy", recorded)
    az.ok("zeEventHostSignal", gate)
    az.finish(queue)
    az.ok("zeFenceQueryStatus", fence)
    assert read(address, 16) == b"\x01" * 8 + b"\x02" * 8


def test_destroying_a_busy_queue_lets_its_work_finish(az: Calls, context: c_void_p) -> None:
    gate, done = az.events(context, 2)
    queue, recorded, address = az.queue(context), az.list(context), az.memory(context, 8)
    az.barrier(recorded, None, [gate])
    az.fill(recorded, address, 7, 8, done)
    az.close(recorded)
    az.execute(queue, recorded)
    az.ok("zeCommandQueueDestroy", queue)
    az.ok("zeCommandListDestroy", recorded)
    az.ok("zeEventHostSignal", gate)
    az.ok("zeEventHostSynchronize", done, SOON)
    assert read(address, 8) == b"\x07" * 8
    # The same for an immediate list, and for the event that holds it.
    az.ok("zeEventHostReset", done)
    gate2 = az.events(context, 1)[0]
    immediate = az.immediate(context)
    az.fill(immediate, address, 8, 8, done, [gate2])
    az.ok("zeCommandListDestroy", immediate)
    az.ok("zeEventHostSignal", gate2)
    az.ok("zeEventDestroy", gate2)
    az.ok("zeEventHostSynchronize", done, SOON)
    assert read(address, 8) == b"\x08" * 8


def test_append_of_lists_to_an_immediate_list(az: Calls, context: c_void_p) -> None:
    gate, done = az.events(context, 2)
    immediate, address = az.immediate(context), az.memory(context, 16)
    write(address, bytes(16))
    first, second = az.list(context), az.list(context)
    az.fill(first, address, 1, 16)
    az.fill(second, address, 2, 8)
    az.close(first, second)
    append = "zeCommandListImmediateAppendCommandListsExp"
    az.ok(append, immediate, 2, handles([first, second]), done, 1, handles([gate]))
    az.error(NOT_READY, "zeEventHostSynchronize", done, SECOND // 50)
    assert read(address, 16) == bytes(16)
    az.ok("zeEventHostSignal", gate)
    az.ok("zeEventHostSynchronize", done, SOON)
    assert read(address, 16) == b"\x02" * 8 + b"\x01" * 8
    az.error(INVALID_ARGUMENT, append, first, 1, handles([second]), None, 0, None)
    az.error(INVALID_LIST_TYPE, append, immediate, 1, handles([immediate]), None, 0, None)
    assert az.call(append, immediate, 1, handles([az.list(context)]), None, 0, None) != OK
    copies = az.list(context, commandQueueGroupOrdinal=COPY)
    az.close(copies)
    az.error(INVALID_LIST_TYPE, append, immediate, 1, handles([copies]), None, 0, None)
    with_parameters = "zeCommandListImmediateAppendCommandListsWithParameters"
    az.ok(with_parameters, immediate, 1, handles([second]), None, None, 0, None)
    az.ok("zeCommandListHostSynchronize", immediate, SOON)


def test_append_of_no_lists() -> None:
    """Nothing to run, but something to signal; or an error. Not a look behind the end of an empty array."""
    run_python(
        """
        az = Calls()
        context = az.context()
        for mode in (1, 2):
            l = az.immediate(context, mode=mode)
            closed = az.list(context)
            az.close(closed)
            r = az.call("zeCommandListImmediateAppendCommandListsExp", l, 0, handles([closed]), None, 0, None)
            assert r in (OK, INVALID_SIZE), hex(r)
            az.ok("zeCommandListHostSynchronize", l, SOON)
            az.ok("zeContextGetStatus", context)
        """
    )


def test_a_device_has_so_many_queues_and_runs_no_list_of_another() -> None:
    run_python(
        """
        az = Calls()
        context = az.context()
        here, there = az.devices
        most = az.query("zeDeviceGetProperties", ze.ze_device_properties_t, here).maxHardwareContexts
        desc, out, made = ze.ze_command_queue_desc_t(), c_void_p(), []
        for create in ("zeCommandQueueCreate", "zeCommandListCreateImmediate"):
            while len(made) < most // (2 if "Queue" in create else 1):
                made.append(az.new(create, context, here, byref(desc)))
        for create in ("zeCommandQueueCreate", "zeCommandListCreateImmediate"):
            az.error(ze.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, create, context, here, byref(desc), byref(out))
            assert "maxHardwareContexts" in az.last_error()
        az.ok("zeCommandListDestroy", made.pop())
        az.queue(context, here)
        other = az.queue(context, there)

        recorded = az.list(context, here, flags=ze.ZE_COMMAND_LIST_FLAG_EXP_CLONEABLE)
        az.close(recorded)
        clone = az.new("zeCommandListCreateCloneExp", recorded)
        for each in (recorded, clone):
            az.execute(made[0], each)
            az.error(INVALID_LIST_TYPE, "zeCommandQueueExecuteCommandLists", other, 1, handles([each]), None)
            assert "record its commands into a list of this one" in az.last_error()
        az.ok("zeCommandQueueSynchronize", made[0], SOON)
        """,
        ANYZERO_DEVICES="cpu,cpu",
    )
