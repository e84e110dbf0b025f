"""Property queries: every structure, chains with strangers in them, and topologies that differ."""

from __future__ import annotations

import ctypes
from ctypes import Structure, addressof, byref, c_uint8, c_uint32, c_uint64, c_void_p
from typing import Any

import pytest

from anyzero import ze
from tests.abi.calls import OK, Calls, run_python

SINGLE = {
    "zeDeviceGetProperties": ze.ze_device_properties_t,
    "zeDeviceGetComputeProperties": ze.ze_device_compute_properties_t,
    "zeDeviceGetModuleProperties": ze.ze_device_module_properties_t,
    "zeDeviceGetMemoryAccessProperties": ze.ze_device_memory_access_properties_t,
    "zeDeviceGetImageProperties": ze.ze_device_image_properties_t,
    "zeDeviceGetExternalMemoryProperties": ze.ze_device_external_memory_properties_t,
    "zeDevicePciGetPropertiesExt": ze.ze_pci_ext_properties_t,
}
ARRAYS = {
    "zeDeviceGetCommandQueueGroupProperties": ze.ze_command_queue_group_properties_t,
    "zeDeviceGetMemoryProperties": ze.ze_device_memory_properties_t,
    "zeDeviceGetCacheProperties": ze.ze_device_cache_properties_t,
    "zeDeviceGetVectorWidthPropertiesExt": ze.ze_device_vector_width_properties_ext_t,
}
CHAINS = [
    ("zeDeviceGetProperties", ze.ze_device_ip_version_ext_t),
    ("zeDeviceGetProperties", ze.ze_eu_count_ext_t),
    ("zeDeviceGetProperties", ze.ze_device_event_properties_t),
    ("zeDeviceGetProperties", ze.ze_event_query_kernel_timestamps_ext_properties_t),
    ("zeDeviceGetProperties", ze.ze_device_readonly_memory_ext_properties_t),
    ("zeDeviceGetProperties", ze.ze_mutable_command_list_exp_properties_t),
    ("zeDeviceGetModuleProperties", ze.ze_float_atomic_ext_properties_t),
    ("zeDeviceGetImageProperties", ze.ze_device_pitched_alloc_exp_properties_t),
]


class Stranger(Structure):
    """An unknown extension, followed by data that must stay unchanged."""

    _fields_ = [("stype", c_uint32), ("pNext", c_void_p), ("body", c_uint8 * 64)]

    def __init__(self, stype: int, following: int | None) -> None:
        super().__init__(stype, following, (c_uint8 * 64)(*[0xA5] * 64))

    def untouched(self) -> bool:
        return bytes(self.body) == b"\xa5" * 64


class Guarded:
    """A structure with bytes before and behind it that a query must not touch."""

    def __init__(self, kind: Any) -> None:
        self.size = ctypes.sizeof(kind)
        self.room = (c_uint8 * (self.size + 128))(*[0x5A] * (self.size + 128))
        self.structure = kind.from_buffer(self.room, 64)
        ctypes.memset(addressof(self.structure), 0, self.size)
        if hasattr(kind, "_stype_"):
            self.structure.stype = kind._stype_

    def intact(self) -> bool:
        room = bytes(self.room)
        return room[:64] == b"\x5a" * 64 == room[64 + self.size :]


@pytest.mark.parametrize("name", SINGLE)
def test_query_fills_its_structure_and_nothing_else(az: Calls, name: str) -> None:
    guarded = Guarded(SINGLE[name])
    az.ok(name, az.device, byref(guarded.structure))
    assert guarded.intact()
    assert guarded.structure.stype == SINGLE[name]._stype_
    assert guarded.structure.pNext is None
    assert any(bytes(guarded.structure)[16:])


@pytest.mark.parametrize("name", SINGLE)
def test_head_without_a_type_is_filled_all_the_same(az: Calls, name: str) -> None:
    """Older programs leave stype zero; a wrong type must not make us write another structure's length."""
    expected = az.query(name, SINGLE[name], az.device)
    for stype in (0, 0x12345678, ze.ZE_STRUCTURE_TYPE_DEVICE_CACHE_PROPERTIES, ze.ZE_STRUCTURE_TYPE_EVENT_DESC):
        guarded = Guarded(SINGLE[name])
        guarded.structure.stype = stype
        az.ok(name, az.device, byref(guarded.structure))
        assert guarded.intact()
        assert bytes(guarded.structure)[16:] == bytes(expected)[16:]
        assert guarded.structure.stype == stype


@pytest.mark.parametrize("name", ARRAYS)
def test_array_queries(az: Calls, name: str) -> None:
    kind = ARRAYS[name]
    count = c_uint32(0)
    az.ok(name, az.device, byref(count), None)
    total = count.value
    assert total >= 1
    room = kind.array(total + 2)
    ctypes.memset(addressof(room) + ctypes.sizeof(kind) * total, 0xEE, ctypes.sizeof(kind) * 2)
    count = c_uint32(total + 2)
    az.ok(name, az.device, byref(count), room)
    assert count.value == total
    assert bytes(room)[ctypes.sizeof(kind) * total :] == b"\xee" * (ctypes.sizeof(kind) * 2)
    if total > 1:
        fewer = kind.array(total)
        ctypes.memset(addressof(fewer[1]), 0xEE, ctypes.sizeof(kind))
        count = c_uint32(1)
        az.ok(name, az.device, byref(count), fewer)
        assert count.value == 1
        assert bytes(fewer[0]) == bytes(room[0])
        assert bytes(fewer[1]) == b"\xee" * ctypes.sizeof(kind)


@pytest.mark.parametrize(("name", "kind"), CHAINS)
def test_extensions_in_a_chain_with_strangers(az: Calls, name: str, kind: Any) -> None:
    """unknown → known → unknown → known again: known ones are filled, unknown ones and links unchanged."""
    last = Guarded(kind)
    second = Stranger(0x7FFF0001, addressof(last.structure))
    first = Guarded(kind)
    first.structure.pNext = addressof(second)
    zeroth = Stranger(0, addressof(first.structure))
    head = SINGLE[name](pNext=addressof(zeroth))
    az.ok(name, az.device, byref(head))
    assert zeroth.untouched()
    assert second.untouched()
    assert first.intact()
    assert last.intact()
    assert bytes(first.structure)[16:] == bytes(last.structure)[16:]
    assert first.structure.pNext == addressof(second)
    assert zeroth.pNext == addressof(first.structure)
    assert bytes(head)[16:] == bytes(az.query(name, SINGLE[name], az.device))[16:]


def test_chains_on_every_element_of_an_array(az: Calls) -> None:
    count = c_uint32(0)
    az.ok("zeDeviceGetCacheProperties", az.device, byref(count), None)
    caches = ze.ze_device_cache_properties_t.array(count.value)
    lines = ze.ze_device_cache_line_size_ext_t.array(count.value)
    for cache, line in zip(caches, lines, strict=True):
        cache.pNext = addressof(line)
    az.ok("zeDeviceGetCacheProperties", az.device, byref(count), caches)
    assert all(line.cacheLineSize in (32, 64, 128) for line in lines)


def test_timer_units_differ_on_purpose(az: Calls) -> None:
    old = az.query("zeDeviceGetProperties", ze.ze_device_properties_t, az.device)
    new = ze.ze_device_properties_t(stype=ze.ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2)
    az.ok("zeDeviceGetProperties", az.device, byref(new))
    assert old.timerResolution * new.timerResolution == 10**9
    assert new.timerResolution >= 1_000_000
    assert bytes(old.uuid.id) == bytes(new.uuid.id)
    assert old.name == new.name


def test_device_makes_sense(az: Calls) -> None:
    device = az.query("zeDeviceGetProperties", ze.ze_device_properties_t, az.device)
    assert device.type == ze.ZE_DEVICE_TYPE_GPU
    assert device.name
    assert device.numSlices * device.numSubslicesPerSlice * device.numEUsPerSubslice * device.numThreadsPerEU >= 1
    assert device.maxMemAllocSize > 0
    assert device.timestampValidBits == 64
    assert device.kernelTimestampValidBits > 0
    assert not device.flags & ze.ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE
    compute = az.query("zeDeviceGetComputeProperties", ze.ze_device_compute_properties_t, az.device)
    assert compute.maxTotalGroupSize >= max(compute.maxGroupSizeX, 64)
    assert 1 <= compute.numSubGroupSizes <= 8
    assert all(compute.subGroupSizes[i] for i in range(compute.numSubGroupSizes))
    eus = ze.ze_eu_count_ext_t()
    az.ok("zeDeviceGetProperties", az.device, byref(ze.ze_device_properties_t(pNext=addressof(eus))))
    assert eus.numTotalEUs == device.numSlices * device.numSubslicesPerSlice * device.numEUsPerSubslice


def test_every_kind_of_memory_is_for_everything(az: Calls) -> None:
    """Access, atomics, and both from several sides at a time."""
    access = az.query("zeDeviceGetMemoryAccessProperties", ze.ze_device_memory_access_properties_t, az.device)
    everything = (
        ze.ZE_MEMORY_ACCESS_CAP_FLAG_RW
        | ze.ZE_MEMORY_ACCESS_CAP_FLAG_ATOMIC
        | ze.ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT
        | ze.ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT_ATOMIC
    )
    kinds = ("host", "device", "sharedSingleDevice", "sharedCrossDevice", "sharedSystem")
    assert {getattr(access, f"{kind}AllocCapabilities") for kind in kinds} == {everything}


def test_queue_groups_make_sense(az: Calls) -> None:
    count = c_uint32(2)
    groups = ze.ze_command_queue_group_properties_t.array(2)
    az.ok("zeDeviceGetCommandQueueGroupProperties", az.device, byref(count), groups)
    assert count.value == 2
    compute, copy = (group.flags for group in groups)
    assert compute & ze.ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE
    assert compute & ze.ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY
    assert copy == ze.ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY
    assert all(group.numQueues >= 1 and group.maxMemoryFillPatternSize >= 16 for group in groups)


def test_usable_memory_follows_allocations(az: Calls, context: c_void_p) -> None:
    def usable() -> int:
        extra = ze.ze_device_usablemem_size_ext_properties_t()
        az.ok("zeDeviceGetProperties", az.device, byref(ze.ze_device_properties_t(pNext=addressof(extra))))
        return extra.currUsableMemSize

    before = usable()
    address = az.memory(context, 3 << 20, "device")
    assert before - usable() >= 3 << 20
    az.ok("zeMemFree", context, address)
    assert usable() == before


def test_global_timestamps_are_monotone_and_one_clock(az: Calls) -> None:
    before = az.timestamp()
    host, device = c_uint64(), c_uint64()
    for _ in range(1000):
        az.ok("zeDeviceGetGlobalTimestamps", az.device, byref(host), byref(device))
        assert device.value >= before
        before = device.value


def test_peers_of_oneself(az: Calls) -> None:
    value = c_uint8(7)
    az.ok("zeDeviceCanAccessPeer", az.device, az.device, byref(value))
    assert value.value in (0, 1)
    p2p = ze.ze_device_p2p_properties_t()
    az.ok("zeDeviceGetP2PProperties", az.device, az.device, byref(p2p))
    az.ok("zeDeviceGetStatus", az.device)


def test_root_of_a_root_is_null_and_it_has_no_tiles(az: Calls) -> None:
    root = c_void_p(0x1234)
    az.ok("zeDeviceGetRootDevice", az.device, byref(root))
    assert root.value is None
    count = c_uint32(5)
    az.ok("zeDeviceGetSubDevices", az.device, byref(count), None)
    assert count.value == 0


def test_two_devices_with_two_tiles_each() -> None:
    run_python(
        """
        az = Calls()
        assert len(az.devices) == 2
        uuids, parts = set(), []
        for device in az.devices:
            root = az.query("zeDeviceGetProperties", ze.ze_device_properties_t, device)
            tiles = az.several("zeDeviceGetSubDevices", device)
            assert len(tiles) == 2
            one, count = c_void_p(), c_uint32(1)
            az.ok("zeDeviceGetSubDevices", device, byref(count), byref(one))
            assert count.value == 1 and one.value == tiles[0].value
            memory = 0
            for index, tile in enumerate(tiles):
                p = az.query("zeDeviceGetProperties", ze.ze_device_properties_t, tile)
                assert p.flags & ze.ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE and p.subdeviceId == index
                back = c_void_p()
                az.ok("zeDeviceGetRootDevice", tile, byref(back))
                assert back.value == device.value
                assert az.several("zeDeviceGetSubDevices", tile) == []
                uuids.add(bytes(p.uuid.id))
                count, m = c_uint32(1), ze.ze_device_memory_properties_t()
                az.ok("zeDeviceGetMemoryProperties", tile, byref(count), byref(m))
                memory += m.totalSize
            count, m = c_uint32(1), ze.ze_device_memory_properties_t()
            az.ok("zeDeviceGetMemoryProperties", device, byref(count), byref(m))
            assert 0 < memory <= m.totalSize
            uuids.add(bytes(root.uuid.id))
            parts += [device, *tiles]
        assert len(uuids) == 6
        addresses = set()
        for device in az.devices:
            pci = az.query("zeDevicePciGetPropertiesExt", ze.ze_pci_ext_properties_t, device)
            a = pci.address
            addresses.add((a.domain, a.bus, a.device, a.function))
        assert len(addresses) == 2
        for a in parts:
            for b in parts:
                value, p2p = c_uint8(9), ze.ze_device_p2p_properties_t()
                az.ok("zeDeviceCanAccessPeer", a, b, byref(value))
                az.ok("zeDeviceGetP2PProperties", a, b, byref(p2p))
                assert value.value == 1
                assert p2p.flags & ze.ZE_DEVICE_P2P_PROPERTY_FLAG_ACCESS
        # A peer copy: memory of one device, command list of another, and tiles in between.
        context = az.context()
        one = az.memory(context, 4096, "device", device=parts[0])
        two = az.memory(context, 4096, "device", device=parts[5])
        host = az.memory(context, 4096)
        for part in parts:
            l = az.immediate(context, part, mode=SYNCHRONOUS)
            az.fill(l, one, 0x21, 4096)
            az.copy(l, two, one, 4096)
            az.copy(l, host, two, 4096)
            assert read(host, 4096) == bytes([0x21]) * 4096
            az.fill(l, host, 0, 4096)
            az.ok("zeCommandListDestroy", l)
        """,
        ANYZERO_DEVICES="cpu:tiles=2,memory=64M,cpu:tiles=2,memory=64M",
    )


def test_no_copy_group_and_many_queues() -> None:
    run_python(
        """
        az = Calls()
        count = c_uint32(0)
        az.ok("zeDeviceGetCommandQueueGroupProperties", az.device, byref(count), None)
        assert count.value == 1
        groups = ze.ze_command_queue_group_properties_t.array(1)
        az.ok("zeDeviceGetCommandQueueGroupProperties", az.device, byref(count), groups)
        assert groups[0].numQueues == 3
        context, made = az.context(), c_void_p()
        for index in range(3):
            q = az.queue(context, index=index)
            assert az.query("zeCommandQueueGetIndex", c_uint32, q) == index
        for fields in ({"index": 3}, {"ordinal": 1}, {"index": 2**32 - 1}, {"ordinal": 2**32 - 1}):
            desc = ze.ze_command_queue_desc_t(**fields)
            az.error(INVALID_ARGUMENT, "zeCommandQueueCreate", context, az.device, byref(desc), byref(made))
            az.error(INVALID_ARGUMENT, "zeCommandListCreateImmediate", context, az.device, byref(desc), byref(made))
        desc = ze.ze_command_list_desc_t(commandQueueGroupOrdinal=1)
        az.error(INVALID_ARGUMENT, "zeCommandListCreate", context, az.device, byref(desc), byref(made))
        assert made.value is None
        p = az.query("zeDeviceGetProperties", ze.ze_device_properties_t, az.device)
        assert not p.flags & ze.ZE_DEVICE_PROPERTY_FLAG_ONDEMANDPAGING
        access = az.query("zeDeviceGetMemoryAccessProperties", ze.ze_device_memory_access_properties_t, az.device)
        assert access.sharedSystemAllocCapabilities == 0 and access.hostAllocCapabilities
        """,
        ANYZERO_DEVICES="cpu:copy=0,queues=3,paging=off",
    )


def test_caches_tell_what_can_be_asked_of_them(az: Calls) -> None:
    count = c_uint32()
    az.ok("zeDeviceGetCacheProperties", az.device, byref(count), None)
    rooms = [ze.ze_cache_reservation_ext_desc_t(maxCacheReservationSize=1) for _ in range(count.value)]
    caches = (ze.ze_device_cache_properties_t * count.value)()
    for cache, room in zip(caches, rooms, strict=True):
        cache.stype, cache.pNext = ze.ZE_STRUCTURE_TYPE_DEVICE_CACHE_PROPERTIES, addressof(room)
    az.ok("zeDeviceGetCacheProperties", az.device, byref(count), caches)
    assert [room.maxCacheReservationSize for room in rooms] == [0] * count.value
    control = [cache.flags & ze.ZE_DEVICE_CACHE_PROPERTY_FLAG_USER_CONTROL for cache in caches]
    assert [bool(each) for each in control] == [level == 1 for level in range(count.value)]


def test_cache_configuration_is_refused_not_ignored(az: Calls) -> None:
    assert az.call("zeDeviceReserveCacheExt", az.device, 3, 1 << 20) != OK
    assert az.call("zeDeviceReserveCacheExt", az.device, 99, 0) != OK
    assert az.call("zeDeviceReserveCacheExt", az.device, 0, 0) == OK
    assert az.call("zeDeviceSetCacheAdviceExt", az.device, addressof(c_uint32()), 64, 1) != OK
    assert az.call("zeDeviceSetCacheAdviceExt", az.device, addressof(c_uint32()), 64, 0) == OK
    increment = az.query("zeDeviceGetAggregatedCopyOffloadIncrementValue", c_uint32, az.device)
    assert increment >= 1
    assert az.query("zeDeviceGetCounterBasedEventMaxValue", c_uint64, az.device) >= 2**32
