"""Graphs: what immediate lists append while they capture, run later and as often as wanted."""

from __future__ import annotations

import ctypes
from ctypes import addressof, byref, c_uint64, c_void_p
from pathlib import Path
from typing import Any

import pytest

from anyzero import ze
from tests.abi.calls import (
    COPY,
    DEVICE_LOST,
    INVALID_ARGUMENT,
    INVALID_LIST_TYPE,
    INVALID_NULL_HANDLE,
    NOT_READY,
    OK,
    SOON,
    SYNCHRONOUS,
    UNSUPPORTED_FEATURE,
    Calls,
    HostFunction,
    handles,
    read,
    waiting,
    write,
)
from tests.patience import PATIENCE

TRUE, FALSE = ze.ZE_RESULT_QUERY_TRUE, ze.ZE_RESULT_QUERY_FALSE
INVALID_GRAPH = ze.ZE_RESULT_ERROR_INVALID_GRAPH
UNSUPPORTED = ze.ZE_RESULT_ERROR_GRAPH_CAPTURE_UNSUPPORTED
MERGE = ze.ZE_RESULT_ERROR_GRAPH_CAPTURE_MERGE_ATTEMPT
NOT_CAPTURING = ze.ZE_RESULT_ERROR_COMMAND_LIST_NOT_CAPTURING
UNJOINED = ze.ZE_RESULT_ERROR_GRAPH_UNJOINED_FORKS
INTERNAL = ze.ZE_RESULT_ERROR_GRAPH_INTERNAL_EVENT
EXTERNAL_COUNTER = (
    ze.ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE
    | ze.ZE_EVENT_COUNTER_BASED_FLAG_HOST_VISIBLE
    | ze.ZE_EVENT_COUNTER_BASED_FLAG_GRAPH_EXTERNAL
)


def begin(az: Calls, command_list: c_void_p) -> None:
    az.ok("zeCommandListBeginGraphCaptureExt", command_list, None)


def end(az: Calls, command_list: c_void_p) -> c_void_p:
    return az.new("zeCommandListEndGraphCaptureExt", command_list, None)


def instantiate(az: Calls, graph: c_void_p) -> c_void_p:
    return az.new("zeGraphInstantiateExt", graph, None)


def run(az: Calls, command_list: c_void_p, executable: c_void_p, signal: Any = None, waits: Any = ()) -> None:
    az.ok("zeCommandListAppendGraphExt", command_list, executable, None, signal, *waiting(waits))


def finish(az: Calls, command_list: c_void_p) -> None:
    az.ok("zeCommandListHostSynchronize", command_list, SOON)


def test_captured_commands_run_with_the_graph_and_not_before(az: Calls, context: c_void_p) -> None:
    lst, row = az.immediate(context), az.memory(context, 64)
    write(row, bytes(64))
    begin(az, lst)
    az.error(TRUE, "zeCommandListIsGraphCaptureEnabledExt", lst)
    az.fill(lst, row, 7, 64)
    az.copy(lst, row + 32, row, 1)
    graph = end(az, lst)
    az.error(FALSE, "zeCommandListIsGraphCaptureEnabledExt", lst)
    finish(az, lst)
    assert read(row, 64) == bytes(64)
    executable, done = instantiate(az, graph), az.events(context, 1)[0]
    for _ in range(3):
        write(row, bytes(64))
        run(az, lst, executable, done)
        az.ok("zeEventHostSynchronize", done, SOON)
        az.ok("zeEventHostReset", done)
        assert read(row, 64) == b"\7" * 64
    assert az.new("zeExecutableGraphGetSourceGraphExt", executable).value == graph.value
    assert az.new("zeGraphGetPrimaryCommandListExt", graph).value == lst.value
    az.ok("zeExecutableGraphDestroyExt", executable)
    az.ok("zeGraphDestroyExt", graph)
    az.error(INVALID_NULL_HANDLE, "zeGraphIsEmptyExt", graph)


def test_graph_waits_and_its_signal_comes_last(az: Calls, context: c_void_p) -> None:
    lst, row = az.immediate(context), az.memory(context, 64)
    begin(az, lst)
    az.fill(lst, row, 1, 64)
    executable = instantiate(az, end(az, lst))
    gate, done = az.events(context, 2)
    run(az, lst, executable, done, [gate])
    az.error(NOT_READY, "zeEventQueryStatus", done)
    az.ok("zeEventHostSignal", gate)
    az.ok("zeEventHostSynchronize", done, SOON)


@pytest.mark.parametrize("kind", ["binary", "counting"])
def test_fork_and_join_across_lists(az: Calls, context: c_void_p, kind: str) -> None:
    """The child's work is ordered by events, also when the graph runs again and no event was reset."""
    first, second = az.immediate(context), az.immediate(context, ordinal=COPY)
    row = az.memory(context, 48)
    a, b = az.events(context, 2) if kind == "binary" else (az.counter(context), az.counter(context))
    begin(az, first)
    az.copy(first, row + 16, row, 16, a)
    az.copy(second, row + 32, row + 16, 16, b, [a])
    az.error(TRUE, "zeCommandListIsGraphCaptureEnabledExt", second)
    assert az.new("zeCommandListGetGraphExt", second).value == az.new("zeCommandListGetGraphExt", first).value
    az.copy(first, row, row + 32, 16, None, [b])
    executable = instantiate(az, end(az, first))
    az.error(FALSE, "zeCommandListIsGraphCaptureEnabledExt", second)
    for step in range(1, 60):
        write(row, bytes([step]) * 16 + bytes(32))
        run(az, first, executable)
        finish(az, first)
        assert read(row, 48) == bytes([step]) * 48
    # The lists and the events are what they were before.
    az.barrier(second, a)
    az.barrier(first, None, [a])
    finish(az, first)


def test_branches_run_beside_each_other(az: Calls, context: c_void_p) -> None:
    """Two host functions meet: neither returns before both were called."""
    import threading

    meeting = threading.Barrier(2, timeout=PATIENCE)
    called = HostFunction(lambda _: meeting.wait() and None)
    first, second = az.immediate(context), az.immediate(context, ordinal=COPY)
    fork, join = az.counter(context), az.counter(context)
    begin(az, first)
    az.barrier(first, fork)
    for lst, signal, waits in ((first, None, ()), (second, join, (fork,))):
        az.ok("zeCommandListAppendHostFunction", lst, called, None, None, signal, *waiting(waits))
    az.barrier(first, None, [join])
    executable = instantiate(az, end(az, first))
    for _ in range(3):
        run(az, first, executable)
        finish(az, first)
    assert not meeting.broken


def test_tree_of_forks_joins_step_by_step(az: Calls, context: c_void_p) -> None:
    lists = [az.immediate(context) for _ in range(4)]
    events = [az.counter(context) for _ in range(8)]
    row = az.memory(context, 5)
    begin(az, lists[0])
    for i in range(4):
        az.copy(lists[i], row + i + 1, row + i, 1, events[i], [events[i - 1]] if i else ())
    for i in (3, 2, 1):
        az.barrier(lists[i], events[4 + i], [events[5 + i]] if i < 3 else ())
    az.barrier(lists[0], None, [events[5]])
    executable = instantiate(az, end(az, lists[0]))
    for step in (1, 2, 3):
        write(row, bytes([step]))
        run(az, lists[0], executable)
        finish(az, lists[0])
        assert read(row, 5) == bytes([step]) * 5


def test_unjoined_work_makes_the_graph_invalid(az: Calls, context: c_void_p) -> None:
    first, second, row = az.immediate(context), az.immediate(context), az.memory(context, 8)
    fork, join = az.events(context, 2)
    graph = c_void_p()
    for joined_too_early in (False, True):
        begin(az, first)
        az.barrier(first, fork)
        az.fill(second, row, 1, 8, join, [fork])
        if joined_too_early:
            az.barrier(first, None, [join])
            az.fill(second, row, 2, 8)
        az.error(UNJOINED, "zeCommandListEndGraphCaptureExt", first, None, byref(graph))
        az.error(FALSE, "zeCommandListIsGraphCaptureEnabledExt", first)
        az.error(INVALID_GRAPH, "zeGraphIsEmptyExt", graph)
        az.error(INVALID_GRAPH, "zeGraphInstantiateExt", graph, None, byref(c_void_p()))
        az.ok("zeGraphDestroyExt", graph)
    # Waits and signals behind the join are no work.
    begin(az, first)
    az.barrier(first, fork)
    az.fill(second, row, 1, 8, join, [fork])
    az.barrier(first, None, [join])
    az.barrier(second, fork)
    instantiate(az, end(az, first))


def test_two_captures_do_not_merge(az: Calls, context: c_void_p) -> None:
    first, second, third = (az.immediate(context) for _ in range(3))
    a, b = az.counter(context), az.counter(context)
    begin(az, first)
    begin(az, second)
    az.barrier(first, a)
    az.barrier(second, b)
    for lst, waits in ((second, [a]), (first, [b]), (third, [a, b])):
        az.error(MERGE, "zeCommandListAppendBarrier", lst, None, *waiting(waits))
    az.error(FALSE, "zeCommandListIsGraphCaptureEnabledExt", third)
    az.error(INTERNAL, "zeCommandListAppendSignalEvent", third, a)
    recorded = az.list(context)
    az.error(INTERNAL, "zeCommandListAppendWaitOnEvents", recorded, 1, handles([a]))
    for lst in (first, second):
        az.ok("zeGraphDestroyExt", end(az, lst))
    az.ok("zeCommandListAppendWaitOnEvents", recorded, 1, handles([a]))


def test_nothing_waits_for_captured_work(az: Calls, context: c_void_p) -> None:
    lst, synchronous, recorded = az.immediate(context), az.immediate(context, mode=SYNCHRONOUS), az.list(context)
    event = az.events(context, 1)[0]
    begin(az, lst)
    az.barrier(lst, event)
    az.error(UNSUPPORTED, "zeCommandListHostSynchronize", lst, 0)
    az.error(UNSUPPORTED, "zeEventHostSynchronize", event, 0)
    az.error(UNSUPPORTED, "zeEventQueryStatus", event)
    az.error(UNSUPPORTED, "zeCommandListAppendWaitOnEvents", synchronous, 1, handles([event]))
    az.error(INVALID_ARGUMENT, "zeCommandListBeginGraphCaptureExt", lst, None)
    graph = az.new("zeCommandListGetGraphExt", lst)
    az.error(INVALID_GRAPH, "zeGraphInstantiateExt", graph, None, byref(c_void_p()))
    az.error(ze.ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "zeGraphDestroyExt", graph)
    assert end(az, lst).value == graph.value
    az.error(NOT_READY, "zeEventQueryStatus", event)
    az.error(UNSUPPORTED, "zeCommandListBeginGraphCaptureExt", synchronous, None)
    az.error(INVALID_LIST_TYPE, "zeCommandListBeginGraphCaptureExt", recorded, None)
    az.error(NOT_CAPTURING, "zeCommandListEndGraphCaptureExt", lst, None, byref(c_void_p()))
    found = c_void_p(1)
    az.error(NOT_CAPTURING, "zeCommandListGetGraphExt", lst, byref(found))
    assert found.value is None
    executable = instantiate(az, graph)
    for other in (recorded, az.immediate(context, ordinal=COPY)):
        az.error(INVALID_LIST_TYPE, "zeCommandListAppendGraphExt", other, executable, None, None, 0, None)
    extra = ze.ze_device_properties_t()
    az.error(UNSUPPORTED_FEATURE, "zeCommandListBeginGraphCaptureExt", lst, addressof(extra))
    run(az, synchronous, executable)
    az.ok("zeEventQueryStatus", event)


def test_capture_into_a_graph_of_ones_own(az: Calls, context: c_void_p) -> None:
    first, second, row = az.immediate(context), az.immediate(context), az.memory(context, 8)
    graph = az.new("zeGraphCreateExt", context, None)
    az.error(TRUE, "zeGraphIsEmptyExt", graph)
    az.error(INVALID_GRAPH, "zeGraphGetPrimaryCommandListExt", graph, byref(c_void_p()))
    az.ok("zeCommandListBeginCaptureIntoGraphExt", first, graph, None)
    az.error(INVALID_GRAPH, "zeCommandListBeginCaptureIntoGraphExt", second, graph, None)
    event = az.counter(context)
    az.fill(first, row, 3, 8, event)
    az.error(FALSE, "zeGraphIsEmptyExt", graph)
    az.barrier(second, None, [event])
    az.error(INVALID_ARGUMENT, "zeCommandListEndGraphCaptureExt", second, None, byref(c_void_p()))
    assert end(az, first).value == graph.value
    az.error(INVALID_GRAPH, "zeCommandListBeginCaptureIntoGraphExt", first, graph, None)
    empty = az.new("zeGraphCreateExt", context, None)
    run(az, first, instantiate(az, empty))
    finish(az, first)
    az.error(INVALID_GRAPH, "zeCommandListBeginCaptureIntoGraphExt", first, empty, None)


def test_destroying_the_first_list_ends_the_capture(az: Calls, context: c_void_p) -> None:
    first, second, row = az.immediate(context), az.immediate(context), az.memory(context, 8)
    graph, event = az.new("zeGraphCreateExt", context, None), az.events(context, 1)[0]
    az.ok("zeCommandListBeginCaptureIntoGraphExt", first, graph, None)
    az.barrier(first, event)
    az.barrier(second, None, [event])
    az.ok("zeCommandListDestroy", first)
    az.error(INVALID_GRAPH, "zeGraphIsEmptyExt", graph)
    az.error(INVALID_GRAPH, "zeGraphGetPrimaryCommandListExt", graph, byref(c_void_p()))
    az.fill(second, row, 9, 8)
    finish(az, second)
    assert read(row, 8) == b"\x09" * 8
    # Nobody has the handle of a graph that began with its capture; it goes with the list.
    third = az.immediate(context)
    begin(az, third)
    orphan = az.new("zeCommandListGetGraphExt", third)
    az.ok("zeCommandListDestroy", third)
    az.error(INVALID_NULL_HANDLE, "zeGraphIsEmptyExt", orphan)


def test_recorded_lists_and_graphs_are_captured_by_content(az: Calls, context: c_void_p) -> None:
    lst, other = az.immediate(context), az.immediate(context, ordinal=COPY)
    row, fork, join = az.memory(context, 8), az.counter(context), az.counter(context)
    recorded = az.list(context)
    az.copy(recorded, row + 1, row, 1)
    az.close(recorded)
    begin(az, lst)
    az.ok("zeCommandListImmediateAppendCommandListsExp", lst, 1, handles([recorded]), fork, 0, None)
    az.copy(other, row + 2, row + 1, 1, join, [fork])
    az.barrier(lst, None, [join])
    inner = instantiate(az, end(az, lst))
    begin(az, lst)
    event = az.counter(context)
    run(az, lst, inner, event)
    az.copy(other, row + 3, row + 2, 1, join, [event])
    run(az, lst, inner, None, [join])
    az.copy(lst, row + 4, row + 3, 1)
    outer = instantiate(az, end(az, lst))
    az.ok("zeExecutableGraphDestroyExt", inner)
    az.ok("zeCommandListReset", recorded)
    for step in (1, 2):
        write(row, bytes([step]) + bytes(7))
        run(az, lst, outer)
        finish(az, lst)
        assert read(row, 5) == bytes([step]) * 5


def test_executions_of_one_graph_come_one_after_the_other(az: Calls, context: c_void_p) -> None:
    first, second, row = az.immediate(context), az.immediate(context), az.memory(context, 8)
    gate = az.events(context, 1)[0]
    begin(az, first)
    az.fill(first, row, 1, 8)
    executable = instantiate(az, end(az, first))
    run(az, first, executable, None, [gate])
    run(az, second, executable)
    done = az.counter(context)
    az.barrier(second, done)
    az.error(NOT_READY, "zeEventQueryStatus", done)
    az.ok("zeEventHostSignal", gate)
    az.ok("zeEventHostSynchronize", done, SOON)


def test_external_counting_event_is_signalled_by_each_execution(az: Calls, context: c_void_p) -> None:
    lst, row = az.immediate(context), az.memory(context, 8)
    inside, outside = az.counter(context), az.counter(context, EXTERNAL_COUNTER)
    begin(az, lst)
    az.fill(lst, row, 1, 8, inside)
    az.fill(lst, row, 2, 8, outside)
    executable = instantiate(az, end(az, lst))
    gate = az.events(context, 1)[0]
    run(az, lst, executable, None, [gate])
    az.ok("zeEventQueryStatus", inside)  # the graph has released it
    az.error(NOT_READY, "zeEventQueryStatus", outside)
    az.ok("zeEventHostSignal", gate)
    az.ok("zeEventHostSynchronize", outside, SOON)
    assert read(row, 8) == b"\2" * 8


def test_destruction_callbacks_come_when_the_last_user_is_gone(az: Calls, context: c_void_p) -> None:
    lst, called = az.immediate(context), []
    callback = HostFunction(called.append)
    begin(az, lst)
    graph = az.new("zeCommandListGetGraphExt", lst)
    az.ok("zeGraphSetDestructionCallbackExt", graph, callback, 1, None)
    end(az, lst)
    executable = instantiate(az, graph)
    az.ok("zeGraphSetDestructionCallbackExt", graph, callback, 2, None)
    az.ok("zeGraphDestroyExt", graph)
    assert called == []
    source = c_void_p()
    az.error(INVALID_GRAPH, "zeExecutableGraphGetSourceGraphExt", executable, byref(source))
    az.ok("zeExecutableGraphDestroyExt", executable)
    assert called == [1, 2]


def test_fault_in_a_branch_loses_the_list(az: Calls) -> None:
    context = az.context()
    first, second = az.immediate(context), az.immediate(context, ordinal=COPY)
    fork, join = az.counter(context), az.counter(context)
    begin(az, first)
    az.barrier(first, fork)
    az.copy(second, 64, 128, 8, join, [fork])
    az.barrier(first, None, [join])
    executable = instantiate(az, end(az, first))
    run(az, first, executable)
    az.error(DEVICE_LOST, "zeCommandListHostSynchronize", first, SOON)
    az.error(DEVICE_LOST, "zeCommandListAppendGraphExt", first, executable, None, None, 0, None)


def test_dump_is_a_drawing_of_the_graph(az: Calls, context: c_void_p, tmp_path: Path) -> None:
    first, second, row = az.immediate(context), az.immediate(context), az.memory(context, 64)
    fork, join = az.counter(context), az.counter(context)
    begin(az, first)
    az.fill(first, row, 1, 8, fork)
    az.copy(second, row + 8, row, 8, join, [fork])
    az.barrier(first, None, [join])
    graph = end(az, first)
    path = tmp_path / "graph.dot"
    az.ok("zeGraphDumpContentsExt", graph, str(path).encode(), None)
    text = path.read_text()
    assert text.startswith("digraph")
    assert f"{row:#x}" in text
    assert text.count("->") == 3
    assert text.count("dashed") == 2
    assert "memory copy of 8 bytes" in text
    simple = ze.ze_record_replay_graph_ext_dump_desc_t(mode=ze.ZE_RECORD_REPLAY_GRAPH_EXT_DUMP_MODE_SIMPLE)
    az.ok("zeGraphDumpContentsExt", graph, str(path).encode(), addressof(simple))
    az.error(INVALID_ARGUMENT, "zeGraphDumpContentsExt", graph, str(tmp_path / "no" / "way").encode(), None)
    assert "No such file" in az.last_error()


def test_device_tells_what_its_graphs_can_do(az: Calls) -> None:
    extra = ze.ze_record_replay_graph_ext_properties_t()
    found = ze.ze_device_properties_t(pNext=addressof(extra))
    az.ok("zeDeviceGetProperties", az.device, byref(found))
    assert extra.graphFlags & ze.ZE_RECORD_REPLAY_GRAPH_EXT_FLAG_IMMUTABLE_GRAPH
    assert extra.graphFlags & ze.ZE_RECORD_REPLAY_GRAPH_EXT_FLAG_SUBGRAPHS
    assert not extra.graphFlags & ze.ZE_RECORD_REPLAY_GRAPH_EXT_FLAG_MUTABLE_GRAPH


def test_timestamps_and_resets_are_captured(az: Calls, context: c_void_p) -> None:
    lst, row = az.immediate(context), az.memory(context, 8)
    event = az.events(context, 1)[0]
    begin(az, lst)
    az.ok("zeCommandListAppendEventReset", lst, event)
    az.ok("zeCommandListAppendWriteGlobalTimestamp", lst, ctypes.cast(row, ctypes.POINTER(c_uint64)), event, 0, None)
    executable = instantiate(az, end(az, lst))
    for _ in range(2):
        run(az, lst, executable)
        az.ok("zeEventHostSynchronize", event, SOON)
        finish(az, lst)
        assert int.from_bytes(read(row, 8), "little") > 0
    assert az.call("zeEventQueryStatus", event) == OK
