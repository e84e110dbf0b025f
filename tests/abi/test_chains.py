"""pNext chains that programs never set: unreadable, misaligned, cyclic, of no known type."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from ctypes import addressof, byref, c_uint8, c_uint32, c_uint64, c_void_p
from typing import Any

import pytest

from anyzero import ze
from tests.abi.calls import Calls
from tests.abi.test_properties import ARRAYS, SINGLE, Guarded, Stranger

UNREADABLE = (1, 8, 4096, 0xDEADBEEF, 0xDEADBEE8, 0x7FFF_FFFF_FFF8, 2**63, 0xA5A5A5A5A5A5A5A5, 2**64 - 8, 2**64 - 1)

CREATIONS = {
    "zeMemAllocHost": ze.ze_host_mem_alloc_desc_t,
    "zeMemAllocDevice": ze.ze_device_mem_alloc_desc_t,
    "zeImageCreate": ze.ze_image_desc_t,
    "zeCommandListCreate": ze.ze_command_list_desc_t,
    "zeCommandQueueCreate": ze.ze_command_queue_desc_t,
    "zeEventPoolCreate": ze.ze_event_pool_desc_t,
    "zeEventCounterBasedCreate": ze.ze_event_counter_based_desc_t,
}


@pytest.fixture
def page() -> Iterator[int]:
    """The address of the last byte before memory that cannot be read."""
    libc = ctypes.CDLL(None, use_errno=True)
    room = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    start = addressof((c_uint8 * 1).from_buffer(room))
    end = start + mmap.PAGESIZE
    assert libc.mprotect(c_void_p(end), mmap.PAGESIZE, 0) == 0
    yield end
    assert libc.mprotect(c_void_p(end), mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_WRITE) == 0


def create(az: Calls, context: c_void_p, name: str, chain: int) -> None:
    """Make the thing with a descriptor of that chain, and destroy it."""
    desc = CREATIONS[name](pNext=chain)
    made = c_void_p()
    arguments: tuple[Any, ...] = (context, az.device, byref(desc), byref(made))
    if name == "zeMemAllocHost":
        arguments = (context, byref(desc), 64, 0, byref(made))
    elif name == "zeMemAllocDevice":
        arguments = (context, byref(desc), 64, 0, az.device, byref(made))
    elif name == "zeEventPoolCreate":
        desc.count = 1
        arguments = (context, byref(desc), 0, None, byref(made))
    elif name == "zeImageCreate":
        desc.type, desc.width, desc.height, desc.depth = ze.ZE_IMAGE_TYPE_2D, 4, 4, 1
        desc.format.layout = ze.ZE_IMAGE_FORMAT_LAYOUT_8
    elif name == "zeEventCounterBasedCreate":
        desc.flags = ze.ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE
    az.ok(name, *arguments)
    if name.startswith("zeMem"):
        az.ok("zeMemFree", context, made)
    else:
        kind = "zeEvent" if name == "zeEventCounterBasedCreate" else name.removesuffix("Create")
        az.ok(f"{kind}Destroy", made)


def test_queries_with_an_unreadable_chain(az: Calls, page: int) -> None:
    for name, kind in SINGLE.items():
        expected = bytes(az.query(name, kind, az.device))[16:]
        for chain in (*UNREADABLE, page, page - 8, page - 4):
            head = kind(pNext=chain)
            az.ok(name, az.device, byref(head))
            assert bytes(head)[16:] == expected
            assert head.pNext == chain
    for name, kind in ARRAYS.items():
        count = c_uint32(1)
        az.ok(name, az.device, byref(count), byref(kind(pNext=UNREADABLE[-1])))
    for name, kind, handle in (
        ("zeDriverGetProperties", ze.ze_driver_properties_t, az.driver),
        ("zeDriverGetIpcProperties", ze.ze_driver_ipc_properties_t, az.driver),
    ):
        for chain in UNREADABLE:
            az.ok(name, handle, byref(kind(pNext=chain)))


def test_what_stands_before_the_unreadable_is_filled(az: Calls, page: int) -> None:
    count = ze.ze_eu_count_ext_t(pNext=page)
    stranger = Stranger(0xFFFFFFFF, addressof(count))
    az.ok("zeDeviceGetProperties", az.device, byref(ze.ze_device_properties_t(pNext=addressof(stranger))))
    assert count.numTotalEUs > 0
    assert stranger.untouched()


def test_a_cycle_ends(az: Calls) -> None:
    for length in (1, 2, 3, 7, 100):
        ring = [ze.ze_eu_count_ext_t() for _ in range(length)]
        lead = [Stranger(0x7FFF0000 + place, None) for place in range(length % 4)]
        chain: list[Any] = [*lead, *ring]
        for one, following in zip(chain, [*chain[1:], ring[0]], strict=True):
            one.pNext = addressof(following)
        az.ok("zeDeviceGetProperties", az.device, byref(ze.ze_device_properties_t(pNext=addressof(chain[0]))))
        assert all(each.numTotalEUs > 0 for each in ring)
        assert all(each.untouched() for each in lead)


def test_the_chain_of_a_structure_that_nothing_extends_is_not_followed(az: Calls) -> None:
    """An uninitialised pNext may also point to what another query once filled."""
    for name in (
        "zeDeviceGetComputeProperties",
        "zeDeviceGetMemoryAccessProperties",
        "zeDeviceGetExternalMemoryProperties",
        "zeDevicePciGetPropertiesExt",
    ):
        for kind in (*SINGLE.values(), ze.ze_eu_count_ext_t, ze.ze_device_ip_version_ext_t):
            other = Guarded(kind)
            az.ok(name, az.device, byref(SINGLE[name](pNext=addressof(other.structure))))
            assert not any(bytes(other.structure)[16:]), (name, kind)


def test_structures_are_filled_only_behind_what_they_extend(az: Calls) -> None:
    memory, count = Guarded(ze.ze_device_memory_properties_t), ze.ze_eu_count_ext_t()
    memory.structure.pNext = addressof(count)
    az.ok("zeDeviceGetProperties", az.device, byref(ze.ze_device_properties_t(pNext=addressof(memory.structure))))
    assert memory.structure.totalSize == 0
    assert count.numTotalEUs > 0


@pytest.mark.parametrize("name", CREATIONS)
def test_descriptors(az: Calls, context: c_void_p, page: int, name: str) -> None:
    for chain in (*UNREADABLE, page, page - 8):
        create(az, context, name, chain)
    stranger = Stranger(0x89ABCDEF, None)
    stranger.pNext = addressof(stranger)
    create(az, context, name, addressof(stranger))
    assert stranger.untouched()


def test_a_cycle_of_mutable_commands_ends(az: Calls, context: c_void_p) -> None:
    extra = ze.ze_mutable_command_list_exp_desc_t()
    made = az.new("zeCommandListCreate", context, az.device, byref(ze.ze_command_list_desc_t(pNext=addressof(extra))))
    az.ok("zeCommandListGetNextCommandIdExp", made, byref(ze.ze_mutable_command_id_exp_desc_t()), byref(c_uint64()))
    head = ze.ze_mutable_commands_exp_desc_t(pNext=7)
    az.ok("zeCommandListUpdateMutableCommandsExp", made, byref(head))
