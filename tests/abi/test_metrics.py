"""Metric groups, queries of them on command lists, and streams of them (`zetMetric…`)."""

from __future__ import annotations

import ctypes
import itertools
import threading
from ctypes import Structure, byref, c_char, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from typing import Any

import pytest

from anyzero import ze
from tests.abi.calls import (
    INVALID_ARGUMENT,
    INVALID_NULL_HANDLE,
    INVALID_SIZE,
    LIBRARY,
    NOT_READY,
    SOON,
    UNSUPPORTED_FEATURE,
    Calls,
)

GROUP_PROPERTIES, METRIC_PROPERTIES, STREAMER_DESC, POOL_DESC = 0x1, 0x2, 0x3, 0x4
EVENT_BASED, TIME_BASED = 1, 2
UINT64 = 1


TOOLS = ctypes.CDLL(str(LIBRARY))


class Tools(Calls):
    """With the functions of the tools API, which the Python package does not bind."""

    def call(self, name: str, *args: Any) -> int:
        return getattr(TOOLS, name)(*args) if name.startswith("zet") else super().call(name, *args)


@pytest.fixture(scope="module")
def az() -> Calls:
    return Tools()


class GroupProperties(Structure):
    _fields_ = [
        ("stype", c_uint32),
        ("pNext", c_void_p),
        ("name", c_char * 256),
        ("description", c_char * 256),
        ("samplingType", c_uint32),
        ("domain", c_uint32),
        ("metricCount", c_uint32),
    ]


class MetricProperties(Structure):
    _fields_ = [
        ("stype", c_uint32),
        ("pNext", c_void_p),
        ("name", c_char * 256),
        ("description", c_char * 256),
        ("component", c_char * 256),
        ("tierNumber", c_uint32),
        ("metricType", c_uint32),
        ("resultType", c_uint32),
        ("resultUnits", c_char * 256),
    ]


class PoolDesc(Structure):
    _fields_ = [("stype", c_uint32), ("pNext", c_void_p), ("type", c_uint32), ("count", c_uint32)]


class TypedValue(Structure):
    _fields_ = [("type", c_uint32), ("value", c_uint64)]


class StreamerDesc(Structure):
    _fields_ = [
        ("stype", c_uint32),
        ("pNext", c_void_p),
        ("notifyEveryNReports", c_uint32),
        ("samplingPeriod", c_uint32),
    ]


def properties_of(az: Calls, group: c_void_p) -> GroupProperties:
    found = GroupProperties(stype=GROUP_PROPERTIES)
    az.ok("zetMetricGroupGetProperties", group, byref(found))
    return found


def group_of(az: Calls, name: bytes = b"Execution") -> c_void_p:
    found = {properties_of(az, each).name: each for each in az.several("zetMetricGroupGet", az.device)}
    if name not in found:
        pytest.skip(f"THE SYSTEM REFUSES COUNTERS: no group {name.decode()}")
    return found[name]


def names(az: Calls, group: c_void_p) -> list[str]:
    found = []
    for metric in az.several("zetMetricGet", group):
        properties = MetricProperties(stype=METRIC_PROPERTIES)
        az.ok("zetMetricGetProperties", metric, byref(properties))
        assert properties.resultType == UINT64
        assert properties.resultUnits in (b"nanoseconds", b"events", b"markers")
        found.append(properties.name.decode())
    return found


def pool_of(az: Calls, context: c_void_p, count: int = 1, group: c_void_p | None = None) -> c_void_p:
    desc = PoolDesc(stype=POOL_DESC, type=0, count=count)
    return az.new("zetMetricQueryPoolCreate", context, az.device, group or group_of(az), byref(desc))


@pytest.fixture
def query(az: Calls, context: c_void_p) -> Any:
    pool = pool_of(az, context)
    made = az.new("zetMetricQueryCreate", pool, 0)
    yield made
    az.ok("zetMetricQueryDestroy", made)
    az.ok("zetMetricQueryPoolDestroy", pool)


def calculated(az: Calls, group: c_void_p, data: Any, size: c_size_t) -> list[dict[str, int]]:
    """The values of all reports."""
    count = c_uint32(0)
    az.ok("zetMetricGroupCalculateMetricValues", group, 0, size, data, byref(count), None)
    found = (TypedValue * count.value)()
    az.ok("zetMetricGroupCalculateMetricValues", group, 0, size, data, byref(count), found)
    titles = names(az, group)
    numbers = [each.value for each in found]
    rows = [numbers[at : at + len(titles)] for at in range(0, len(numbers), len(titles))]
    return [dict(zip(titles, row, strict=True)) for row in rows]


def values(az: Calls, query: c_void_p, group: c_void_p | None = None) -> dict[str, int]:
    size = c_size_t(0)
    az.ok("zetMetricQueryGetData", query, byref(size), None)
    data = (c_uint8 * size.value)()
    az.ok("zetMetricQueryGetData", query, byref(size), data)
    (found,) = calculated(az, group or group_of(az), data, size)
    return found


def test_the_group_and_its_metrics(az: Calls) -> None:
    group = group_of(az)
    properties = properties_of(az, group)
    assert properties.samplingType == EVENT_BASED | TIME_BASED
    assert properties.metricCount == len(names(az, group))
    assert names(az, group) == [
        *("Time", "EngineBusyTime", "ProcessorTime", "PageFaults", "ContextSwitches", "StreamMarker")
    ]
    assert group_of(az).value == group.value


@pytest.mark.parametrize("name", [b"System", b"Processor"])
def test_counters_of_all_threads(az: Calls, context: c_void_p, name: bytes) -> None:
    """By perf_event_open; the system's own are there on most machines, those of the processor on few virtual ones."""
    group = group_of(az, name)
    pool = pool_of(az, context, group=group)
    query = az.new("zetMetricQueryCreate", pool, 0)
    lst, event = az.immediate(context), az.events(context, 1)[0]
    az.ok("zetCommandListAppendMetricQueryBegin", lst, query)
    source, target = az.memory(context, 8 << 20), az.memory(context, 8 << 20)
    az.copy(lst, target, source, 8 << 20)
    az.barrier(lst)
    # Threads that start while it counts are counted as well.
    other = threading.Thread(target=lambda: sum(range(300_000)))
    other.start()
    other.join()
    az.ok("zetCommandListAppendMetricQueryEnd", lst, query, event, 0, None)
    az.ok("zeEventHostSynchronize", event, c_uint64(SOON))
    found = values(az, query, group)
    assert found["Time"] > 0
    if name == b"System":
        assert found["TaskClock"] > 0
        assert found["MinorPageFaults"] > 0
    else:
        assert found["Instructions"] > 300_000
        assert found["Cycles"] > 0
        assert found["CacheMisses"] <= found["CacheReferences"]
    az.ok("zetMetricQueryDestroy", query)
    az.ok("zetMetricQueryPoolDestroy", pool)


class Stream:
    """An open streamer."""

    def __init__(self, az: Calls, context: c_void_p, event: c_void_p | None, every: int = 1, period: int = 200_000):
        self.az, self.group = az, group_of(az)
        self.desc = StreamerDesc(STREAMER_DESC, None, every, period)
        self.handle = az.new("zetMetricStreamerOpen", context, az.device, self.group, byref(self.desc), event)

    def read(self, most: int = 0xFFFFFFFF, room: int | None = None) -> tuple[int, list[dict[str, int]]]:
        size = c_size_t(0)
        self.az.ok("zetMetricStreamerReadData", self.handle, most, byref(size), None)
        size = c_size_t(size.value if room is None else room)
        data = (c_uint8 * max(size.value, 1))()
        result = self.az.call("zetMetricStreamerReadData", self.handle, most, byref(size), data)
        return result, calculated(self.az, self.group, data, size) if size.value else []

    def close(self) -> None:
        self.az.ok("zetMetricStreamerClose", self.handle)


def by_marker(reports: list[dict[str, int]]) -> list[tuple[int, list[dict[str, int]]]]:
    """Reports that follow each other with the same marker: the period may end at any time."""
    return [(marker, list(found)) for marker, found in itertools.groupby(reports, lambda each: each["StreamMarker"])]


def test_a_stream_of_reports(az: Calls, context: c_void_p) -> None:
    event = az.events(context, 1)[0]
    before = az.timestamp()
    stream = Stream(az, context, event, every=5)
    assert (stream.desc.notifyEveryNReports, stream.desc.samplingPeriod) == (5, 200_000)
    az.ok("zeEventHostSynchronize", event, c_uint64(SOON))
    result, reports = stream.read()
    assert result == 0
    assert len(reports) >= 5
    assert all(each["Time"] > 0 and each["StreamMarker"] == 0 for each in reports)
    # Each begins where the one before ends.
    assert 5 * 100_000 <= sum(each["Time"] for each in reports) <= az.timestamp() - before
    az.ok("zeEventHostReset", event)
    az.ok("zeEventHostSynchronize", event, c_uint64(SOON))
    assert len(stream.read(most=3)[1]) == 3
    az.ok("zeEventHostReset", event)
    az.ok("zeEventHostSynchronize", event, c_uint64(SOON))
    size = c_size_t(0)
    az.ok("zetMetricStreamerReadData", stream.handle, 1, byref(size), None)
    assert len(stream.read(room=2 * size.value + 7)[1]) == 2
    assert stream.read(room=size.value - 1)[1] == []
    stream.close()
    az.error(INVALID_NULL_HANDLE, "zetMetricStreamerClose", stream.handle)


def test_markers_separate_reports(az: Calls, context: c_void_p) -> None:
    """Work between two markers is in reports of the first: here in no other, whatever the period."""
    stream = Stream(az, context, None, period=0xFFFFFFFF)
    lst, queue = az.list(context), az.queue(context)
    size = 4 << 20
    source, target = az.memory(context, size), az.memory(context, size)
    az.ok("zetCommandListAppendMetricStreamerMarker", lst, stream.handle, 7)
    for _ in range(3):
        az.copy(lst, target, source, size)
    az.ok("zetCommandListAppendMetricStreamerMarker", lst, stream.handle, 9)
    az.close(lst)
    az.execute(queue, lst)
    az.finish(queue)
    az.execute(queue, lst)
    az.finish(queue)
    parts = by_marker(stream.read()[1])
    assert [marker for marker, _ in parts] == [0, 7, 9, 7]
    assert all(sum(each["EngineBusyTime"] for each in reports) > 0 for marker, reports in parts if marker == 7)
    stream.close()
    # The list's markers are for a stream that is gone.
    az.execute(queue, lst)
    az.finish(queue)


def test_the_newest_reports_are_kept(az: Calls, context: c_void_p) -> None:
    stream = Stream(az, context, None, period=0xFFFFFFFF)
    lst = az.list(context)
    for number in range(9000):
        az.ok("zetCommandListAppendMetricStreamerMarker", lst, stream.handle, number)
    az.close(lst)
    queue = az.queue(context)
    az.execute(queue, lst)
    az.finish(queue)
    result, reports = stream.read()
    assert result == ze.ZE_RESULT_WARNING_DROPPED_DATA
    markers = [marker for marker, _ in by_marker(reports)]
    assert len(markers) > 8000
    assert markers[:-1] == list(range(markers[0], markers[0] + len(markers) - 1))
    assert stream.read()[0] == 0
    stream.close()


def test_a_stream_with_odd_wishes(az: Calls, context: c_void_p) -> None:
    stream = Stream(az, context, None, every=0, period=1)
    assert stream.desc.notifyEveryNReports == 1
    assert 1 < stream.desc.samplingPeriod < 10_000_000
    stream.close()


@pytest.mark.parametrize("immediate", [True, False])
def test_a_query_measures_what_lies_between(az: Calls, context: c_void_p, query: c_void_p, immediate: bool) -> None:
    size = 4 << 20
    source, target = az.memory(context, size), az.memory(context, size)
    lst = az.immediate(context) if immediate else az.list(context)
    event = az.events(context, 1)[0]
    before = az.timestamp()
    az.ok("zetCommandListAppendMetricQueryBegin", lst, query)
    for _ in range(3):
        az.copy(lst, target, source, size)
    az.barrier(lst)
    az.ok("zetCommandListAppendMetricQueryEnd", lst, query, event, 0, None)
    queue = None
    if not immediate:
        assert az.call("zetMetricQueryGetData", query, byref(c_size_t(0)), None) == NOT_READY
        az.close(lst)
        queue = az.queue(context)
        az.execute(queue, lst)
    az.ok("zeEventHostSynchronize", event, c_uint64(SOON))
    passed = az.timestamp() - before
    found = values(az, query)
    assert 0 < found["EngineBusyTime"] <= found["Time"] <= passed
    assert found["ProcessorTime"] > 0
    az.ok("zetMetricQueryReset", query)
    assert az.call("zetMetricQueryGetData", query, byref(c_size_t(0)), None) == NOT_READY
    if queue:
        az.finish(queue)


def test_a_query_that_is_gone_when_its_command_runs(az: Calls, context: c_void_p) -> None:
    pool = pool_of(az, context, 2)
    query = az.new("zetMetricQueryCreate", pool, 1)
    lst, queue = az.list(context), az.queue(context)
    az.ok("zetCommandListAppendMetricQueryBegin", lst, query)
    az.ok("zetCommandListAppendMetricQueryEnd", lst, query, None, 0, None)
    az.ok("zetCommandListAppendMetricMemoryBarrier", lst)
    az.close(lst)
    az.ok("zetMetricQueryDestroy", query)
    az.ok("zetMetricQueryPoolDestroy", pool)
    az.execute(queue, lst)
    az.finish(queue)
    az.error(INVALID_NULL_HANDLE, "zetMetricQueryReset", query)


def test_groups_are_activated(az: Calls, context: c_void_p) -> None:
    group = group_of(az)
    az.ok("zetContextActivateMetricGroups", context, az.device, 1, byref(group))
    az.ok("zetContextActivateMetricGroups", context, az.device, 0, None)
    twice = (c_void_p * 2)(group.value, group.value)
    az.error(INVALID_ARGUMENT, "zetContextActivateMetricGroups", context, az.device, 2, twice)


def test_wrong_use_is_refused(az: Calls, context: c_void_p, query: c_void_p) -> None:
    pool = pool_of(az, context, 2)
    az.error(INVALID_ARGUMENT, "zetMetricQueryCreate", pool, 2, byref(c_void_p()))
    az.ok("zetMetricQueryPoolDestroy", pool)
    group = group_of(az)
    desc = PoolDesc(stype=POOL_DESC, type=1, count=1)
    made = byref(c_void_p())
    az.error(UNSUPPORTED_FEATURE, "zetMetricQueryPoolCreate", context, az.device, group, byref(desc), made)
    desc = PoolDesc(stype=POOL_DESC, type=0, count=0)
    az.error(INVALID_SIZE, "zetMetricQueryPoolCreate", context, az.device, group, byref(desc), made)
    data, count = (c_uint8 * 7)(), c_uint32(0)
    az.error(INVALID_SIZE, "zetMetricGroupCalculateMetricValues", group, 0, c_size_t(7), data, byref(count), None)
    lst = az.immediate(context)
    event = az.events(context, 1)[0]
    az.error(INVALID_ARGUMENT, "zetCommandListAppendMetricQueryEnd", lst, query, None, 1, byref(event))
    az.error(INVALID_NULL_HANDLE, "zetCommandListAppendMetricQueryBegin", lst, group)
    assert ctypes.sizeof(TypedValue) == 16
