"""Metric groups, and queries of them on command lists (`zetMetric…`)."""

from __future__ import annotations

import ctypes
from ctypes import Structure, byref, c_char, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from typing import Any

import pytest

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

GROUP_PROPERTIES, METRIC_PROPERTIES, POOL_DESC = 0x1, 0x2, 0x4
EVENT_BASED = 1
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


def group_of(az: Calls) -> c_void_p:
    (found,) = az.several("zetMetricGroupGet", az.device)
    return found


def names(az: Calls) -> list[str]:
    found = []
    for metric in az.several("zetMetricGet", group_of(az)):
        properties = MetricProperties(stype=METRIC_PROPERTIES)
        az.ok("zetMetricGetProperties", metric, byref(properties))
        assert properties.resultType == UINT64
        assert properties.resultUnits in (b"nanoseconds", b"events")
        found.append(properties.name.decode())
    return found


def pool_of(az: Calls, context: c_void_p, count: int = 1) -> c_void_p:
    desc = PoolDesc(stype=POOL_DESC, type=0, count=count)
    return az.new("zetMetricQueryPoolCreate", context, az.device, group_of(az), byref(desc))


@pytest.fixture
def query(az: Calls, context: c_void_p) -> Any:
    pool = pool_of(az, context)
    made = az.new("zetMetricQueryCreate", pool, 0)
    yield made
    az.ok("zetMetricQueryDestroy", made)
    az.ok("zetMetricQueryPoolDestroy", pool)


def values(az: Calls, query: c_void_p) -> dict[str, int]:
    size = c_size_t(0)
    az.ok("zetMetricQueryGetData", query, byref(size), None)
    data = (c_uint8 * size.value)()
    az.ok("zetMetricQueryGetData", query, byref(size), data)
    count = c_uint32(0)
    az.ok("zetMetricGroupCalculateMetricValues", group_of(az), 0, size, data, byref(count), None)
    found = (TypedValue * count.value)()
    az.ok("zetMetricGroupCalculateMetricValues", group_of(az), 0, size, data, byref(count), found)
    return dict(zip(names(az), [each.value for each in found], strict=True))


def test_the_group_and_its_metrics(az: Calls) -> None:
    properties = GroupProperties(stype=GROUP_PROPERTIES)
    az.ok("zetMetricGroupGetProperties", group_of(az), byref(properties))
    assert (properties.name, properties.samplingType) == (b"Execution", EVENT_BASED)
    assert properties.metricCount == len(names(az))
    assert names(az) == ["Time", "EngineBusyTime", "ProcessorTime", "PageFaults", "ContextSwitches"]
    assert group_of(az).value == group_of(az).value


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
    streamer = (context, az.device, group, data, None, byref(c_void_p()))
    az.error(UNSUPPORTED_FEATURE, "zetMetricStreamerOpen", *streamer)
    assert ctypes.sizeof(TypedValue) == 16
