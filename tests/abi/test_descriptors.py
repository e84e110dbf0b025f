"""Descriptors with unknown extensions: ignored everywhere, and left unchanged."""

from __future__ import annotations

from ctypes import addressof, byref, c_void_p
from typing import Any

import pytest

from anyzero import ze
from tests.abi.calls import INVALID_ENUMERATION, OK, Calls
from tests.abi.test_properties import Stranger


def creations(az: Calls, context: c_void_p) -> dict[str, tuple[Any, tuple[Any, ...], tuple[Any, ...]]]:
    """By name: the descriptor, the parameters before it, and those behind it up to the result."""
    image = ze.ze_image_desc_t(width=4, height=1, depth=1)
    host = byref(ze.ze_host_mem_alloc_desc_t())
    return {
        "zeContextCreate": (ze.ze_context_desc_t(), (az.driver,), ()),
        "zeCommandQueueCreate": (ze.ze_command_queue_desc_t(), (context, az.device), ()),
        "zeCommandListCreate": (ze.ze_command_list_desc_t(), (context, az.device), ()),
        "zeCommandListCreateImmediate": (ze.ze_command_queue_desc_t(), (context, az.device), ()),
        "zeFenceCreate": (ze.ze_fence_desc_t(), (az.queue(context),), ()),
        "zeEventPoolCreate": (ze.ze_event_pool_desc_t(count=1), (context,), (0, None)),
        "zeEventCreate": (ze.ze_event_desc_t(), (az.pool(context, 1),), ()),
        "zeEventCounterBasedCreate": (ze.ze_event_counter_based_desc_t(flags=3), (context, az.device), ()),
        "zeImageCreate": (image, (context, az.device), ()),
        "zeSamplerCreate": (ze.ze_sampler_desc_t(), (context, az.device), ()),
        "zePhysicalMemCreate": (ze.ze_physical_mem_desc_t(size=65536), (context, az.device), ()),
        "zeMemAllocHost": (ze.ze_host_mem_alloc_desc_t(), (context,), (64, 0)),
        "zeMemAllocDevice": (ze.ze_device_mem_alloc_desc_t(), (context,), (64, 0, az.device)),
        "zeMemAllocShared": (ze.ze_device_mem_alloc_desc_t(), (context,), (host, 64, 0, az.device)),
    }


NAMES = [
    "zeContextCreate",
    "zeCommandQueueCreate",
    "zeCommandListCreate",
    "zeCommandListCreateImmediate",
    "zeFenceCreate",
    "zeEventPoolCreate",
    "zeEventCreate",
    "zeEventCounterBasedCreate",
    "zeImageCreate",
    "zeSamplerCreate",
    "zePhysicalMemCreate",
    "zeMemAllocHost",
    "zeMemAllocDevice",
    "zeMemAllocShared",
]


@pytest.mark.parametrize("name", NAMES)
def test_unknown_extensions_are_ignored(az: Calls, context: c_void_p, name: str) -> None:
    desc, before, behind = creations(az, context)[name]
    last = Stranger(0x7FFFFFFF, None)
    first = Stranger(0, addressof(last))
    desc.pNext = addressof(first)
    made = c_void_p()
    az.ok(name, *before, byref(desc), *behind, byref(made))
    assert made.value
    assert first.untouched()
    assert last.untouched()
    assert desc.pNext == addressof(first)


@pytest.mark.parametrize("name", NAMES)
def test_a_descriptor_without_its_type_is_taken_for_what_it_must_be(az: Calls, context: c_void_p, name: str) -> None:
    desc, before, behind = creations(az, context)[name]
    for stype in (0, 0x7FFFFFFF):
        desc.stype = stype
        made = c_void_p()
        result = az.call(name, *before, byref(desc), *behind, byref(made))
        # Some drivers insist on the type; the specified error for that is this one.
        assert result in (OK, INVALID_ENUMERATION)
