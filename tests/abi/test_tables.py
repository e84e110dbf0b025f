"""A driver's interface to a loader: exports, tables of every version, and dispatchable handles."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_uint8, c_uint32, c_uint64, c_void_p

import pytest

from anyzero import ze
from codegen import gaps
from codegen.model import Table
from tests.abi.calls import INVALID_NULL_POINTER, OK, UNSUPPORTED_FEATURE, UNSUPPORTED_VERSION, Calls
from tests.abi.specification import api, core, implemented

VERSIONS = [(1, 0), (1, 1), (1, 6), (1, 9), (1, 10), (1, 11), (1, 14), (1, 17), (1, 99)]
TABLES = list(api().tables.values())
UNTOUCHED = 0x5A5A5A5A5A5A5A5A


def getter(lib: ctypes.CDLL, table: Table) -> ctypes._CFuncPtr:
    function = getattr(lib, table.getter)
    function.restype = c_uint32
    function.argtypes = [c_uint32, c_void_p]
    return function


@pytest.fixture(scope="module")
def lib(az: Calls) -> ctypes.CDLL:
    return ctypes.CDLL(az.lib.path)


def test_every_function_of_the_specification_is_exported(lib: ctypes.CDLL) -> None:
    missing = [name for name in api().functions if not hasattr(lib, name)]
    assert missing == []
    missing = [table.getter for table in TABLES if not hasattr(lib, table.getter)]
    assert missing == []


@pytest.mark.parametrize("version", VERSIONS)
def test_tables_hold_what_exists_at_a_version_and_nothing_behind_it(lib: ctypes.CDLL, version: tuple[int, int]) -> None:
    number = version[0] << 16 | version[1]
    for table in TABLES:
        room = (c_uint64 * (len(table.slots) + 8))(*[UNTOUCHED] * (len(table.slots) + 8))
        assert getter(lib, table)(number, room) == OK, table.getter
        reordered = gaps.REORDERED.get(table.type)
        for slot, value in zip(table.slots, room, strict=False):
            there = api().functions[slot.function].since <= version and not (reordered and version < reordered)
            expected = ctypes.cast(getattr(lib, slot.function), c_void_p).value if there else UNTOUCHED
            assert value == expected, f"{table.getter} {version}: {slot.name}"
        assert list(room[len(table.slots) :]) == [UNTOUCHED] * 8, table.getter


@pytest.mark.parametrize("number", [0, 1, 0x20000, 0x00FF0000, 0xFFFFFFFF, 17])
def test_tables_of_other_major_versions_are_refused_and_left_alone(lib: ctypes.CDLL, number: int) -> None:
    for table in TABLES:
        room = (c_uint64 * len(table.slots))(*[UNTOUCHED] * len(table.slots))
        assert getter(lib, table)(number, room) == UNSUPPORTED_VERSION, table.getter
        assert list(room) == [UNTOUCHED] * len(table.slots)


def test_tables_need_a_place(lib: ctypes.CDLL) -> None:
    for table in TABLES:
        assert getter(lib, table)(0x10011, None) == INVALID_NULL_POINTER


def test_functions_that_are_not_implemented_say_so(az: Calls) -> None:
    """Whatever is passed: a stub reads none of it."""
    for name, function in core().items():
        if name in implemented() or function.type != "ze_result_t":
            continue
        args = [c_void_p(0x10 + index) for index in range(len(function.params))]
        raw = getattr(ctypes.CDLL(az.lib.path), name)
        raw.restype = c_uint32
        assert raw(*args) == UNSUPPORTED_FEATURE, name
        assert name in az.last_error()


def test_the_issue_is_covered() -> None:
    """Everything outside modules, kernels, graphs, fabric, ray tracing and external semaphores exists."""
    later = ("Module", "Kernel", "Graph", "Fabric", "RTAS", "Semaphore", "RuntimeRequirements")
    missing = [name for name in core() if name not in implemented() and not any(word in name for word in later)]
    assert missing == []


def every_kind_of_handle(az: Calls, context: c_void_p) -> dict[str, c_void_p]:
    queue = az.queue(context)
    pool = az.pool(context, 1)
    image = ze.ze_image_desc_t(width=4, height=4, depth=1)
    image.type = ze.ZE_IMAGE_TYPE_2D
    physical = ze.ze_physical_mem_desc_t(size=1 << 16)
    return {
        "driver": az.driver,
        "device": az.device,
        "context": context,
        "queue": queue,
        "list": az.list(context),
        "immediate": az.immediate(context),
        "fence": az.fence(queue),
        "pool": pool,
        "event": az.event(pool),
        "counter": az.counter(context),
        "image": az.new("zeImageCreate", context, az.device, byref(image)),
        "sampler": az.new("zeSamplerCreate", context, az.device, byref(ze.ze_sampler_desc_t())),
        "physical": az.new("zePhysicalMemCreate", context, az.device, byref(physical)),
    }


def test_every_handle_begins_with_the_loaders_block(az: Calls, context: c_void_p, lib: ctypes.CDLL) -> None:
    offsets = {table.type: index for index, table in enumerate(TABLES)}
    assert offsets
    driver_table = api().table_structs["ze_dditable_driver_t"]
    seen = set()
    for kind, handle in every_kind_of_handle(az, context).items():
        block = (c_uint64 * 4).from_address(handle.value)
        assert all(block), kind
        for word in block:
            head = (c_uint32 * 2).from_address(word)
            version, flag = head[0], c_uint8.from_address(word + 4).value
            assert version == ze.ZE_API_VERSION_CURRENT, kind
            assert flag == 1, kind
        seen.add(tuple(block))
        # Call through the table, as a loader would: find zeContextGetStatus by its place in the facts.
        position = [field.name for field in driver_table].index("Context")
        tables = (c_uint64 * len(driver_table)).from_address(block[0])
        context_table = api().tables[driver_table[position].type.rstrip("*")]
        slots = (c_uint64 * len(context_table.slots)).from_address(tables[position - 1])
        names = [slot.function for slot in context_table.slots]
        status = ctypes.CFUNCTYPE(c_uint32, c_void_p)(slots[names.index("zeContextGetStatus")])
        assert status(context) == OK, kind
        assert status(None) != OK
    assert len(seen) == 1


def test_all_tables_reached_from_a_handle_match_the_exports(az: Calls, lib: ctypes.CDLL) -> None:
    block = (c_uint64 * 4).from_address(az.device.value)
    for word, namespace in zip(block, ("ze", "zet", "zes", "zer"), strict=True):
        fields = api().table_structs[f"{namespace}_dditable_driver_t"]
        assert [field.name for field in fields[:2]] == ["version", "isValidFlag"]
        pointers = (c_uint64 * (len(fields) - 2)).from_address(word + 8)
        for field, pointer in zip(fields[2:], pointers, strict=True):
            table = api().tables[field.type.rstrip("*")]
            slots = (c_uint64 * len(table.slots)).from_address(pointer)
            for slot, value in zip(table.slots, slots, strict=True):
                assert value == ctypes.cast(getattr(lib, slot.function), c_void_p).value, slot.function
