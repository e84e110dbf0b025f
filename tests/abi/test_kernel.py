"""Kernels: creation, arguments, group sizes, properties."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator
from ctypes import byref, c_char_p, c_double, c_size_t, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from typing import Any

import pytest

from anyzero import ze
from tests.abi.appends import image
from tests.abi.calls import (
    INVALID_ARGUMENT,
    INVALID_ENUMERATION,
    INVALID_NULL_POINTER,
    OK,
    OUT_OF_DEVICE_MEMORY,
    Calls,
    read,
)
from tests.abi.kernels_in_c import Local, Planner, build, kernel, launch, planner, set_arguments

SOURCE = """
//kernel {"name": "plain", "args": [["global", 8], ["value", 4]], "lanes": 16, "private": 48, "spill": 12, "local": 300}
KERNEL(plain) {}
//kernel {"name": "fixed", "required": [8, 4, 2], "sub_groups": 4, "sub_group_size": 16, "attributes": "a(1) b(8,4,2)"}
KERNEL(fixed) {}
//kernel {"name": "small", "max_items": 32}
KERNEL(small) {}
//kernel {"name": "all", "args": [["global", 8], ["value", 1], ["value", 2], ["value", 8], ["value", 24], ["constant", 8], ["local", 8], ["local", 8], ["image", 8], ["sampler", 8]], "local": 100}
KERNEL(all) {
  u8* to = ARG(u8*, 0);
  for (u32 i = 0; i < 88; ++i) to[i] = ((const u8*)args)[i];
}
"""  # noqa: E501

ALL_SIZES = (8, 1, 2, 8, 24, 8, None, None, 8, 8)


@pytest.fixture
def plan() -> Iterator[Planner]:
    with planner() as made:
        yield made


@pytest.fixture
def module(az: Calls, context: c_void_p, plan: Planner) -> Iterator[c_void_p]:
    made, log = build(az, context, SOURCE)
    az.ok("zeModuleBuildLogDestroy", log)
    yield made
    az.ok("zeModuleDestroy", made)


def suggestion(az: Calls, made: c_void_p, *size: int) -> tuple[int, int, int]:
    x, y, z = c_uint32(), c_uint32(), c_uint32()
    az.ok("zeKernelSuggestGroupSize", made, *(*size, 1, 1)[:3], byref(x), byref(y), byref(z))
    return x.value, y.value, z.value


def test_names(az: Calls, module: c_void_p) -> None:
    made = kernel(az, module, "plain")
    size = c_size_t()
    az.ok("zeKernelGetName", made, byref(size), None)
    assert size.value == 6
    text = ctypes.create_string_buffer(size.value)
    az.ok("zeKernelGetName", made, byref(size), text)
    assert text.value == b"plain"
    desc = ze.ze_kernel_desc_t(pKernelName=b"plane")
    az.error(ze.ZE_RESULT_ERROR_INVALID_KERNEL_NAME, "zeKernelCreate", module, byref(desc), byref(c_void_p()))
    assert "plane" in az.last_error()
    desc.pKernelName = None
    az.error(INVALID_NULL_POINTER, "zeKernelCreate", module, byref(desc), byref(c_void_p()))


def test_properties(az: Calls, module: c_void_p) -> None:
    most = az.query("zeDeviceGetComputeProperties", ze.ze_device_compute_properties_t, az.device).maxTotalGroupSize
    plain, fixed, small = (kernel(az, module, name) for name in ("plain", "fixed", "small"))
    largest = ze.ze_kernel_max_group_size_properties_ext_t()
    preferred = ze.ze_kernel_preferred_group_size_properties_t(pNext=ctypes.addressof(largest))
    found = ze.ze_kernel_properties_t(pNext=ctypes.addressof(preferred))
    az.ok("zeKernelGetProperties", plain, byref(found))
    assert (found.numKernelArgs, found.localMemSize, found.privateMemSize, found.spillMemSize) == (2, 300, 48, 12)
    assert (found.requiredGroupSizeX, found.requiredNumSubGroups, found.requiredSubgroupSize) == (0, 0, 0)
    assert (found.maxSubgroupSize, found.maxNumSubgroups) == (16, most // 16)
    assert (preferred.preferredMultiple, largest.maxGroupSize) == (16, most)
    assert bytes(found.uuid.kid) == b"k" * 16
    assert bytes(found.uuid.mid) == b"m" * 16
    az.ok("zeKernelGetProperties", fixed, byref(found))
    assert (found.requiredGroupSizeX, found.requiredGroupSizeY, found.requiredGroupSizeZ) == (8, 4, 2)
    assert (found.requiredNumSubGroups, found.requiredSubgroupSize) == (4, 16)
    az.ok("zeKernelGetProperties", small, byref(found))
    assert largest.maxGroupSize == 32


def test_source_attributes(az: Calls, module: c_void_p) -> None:
    made = kernel(az, module, "fixed")
    size = c_uint32()
    az.ok("zeKernelGetSourceAttributes", made, byref(size), None)
    assert size.value == 14
    room = ctypes.create_string_buffer(size.value)
    az.ok("zeKernelGetSourceAttributes", made, byref(size), byref(ctypes.cast(room, c_char_p)))
    assert room.value == b"a(1) b(8,4,2)"


def test_group_sizes(az: Calls, module: c_void_p) -> None:
    code = ze.ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION
    plain, fixed, small = (kernel(az, module, name) for name in ("plain", "fixed", "small"))
    for size in ((1, 1, 1), (1024, 1, 1), (16, 8, 4), (1, 1, 64)):
        az.ok("zeKernelSetGroupSize", plain, *size)
    for size in ((0, 1, 1), (1, 0, 1), (1, 1, 0), (1025, 1, 1), (2**31, 2**31, 2**31), (2**32 - 1, 1, 1), (32, 32, 2)):
        az.error(code, "zeKernelSetGroupSize", plain, *size)
    az.ok("zeKernelSetGroupSize", fixed, 8, 4, 2)
    az.error(code, "zeKernelSetGroupSize", fixed, 64, 1, 1)
    assert "8 x 4 x 2" in az.last_error()
    az.ok("zeKernelSetGroupSize", small, 32, 1, 1)
    az.error(code, "zeKernelSetGroupSize", small, 33, 1, 1)


def test_suggestions_divide_the_global_size(az: Calls, module: c_void_p) -> None:
    plain, fixed, small = (kernel(az, module, name) for name in ("plain", "fixed", "small"))
    sizes = [(n,) for n in (1, 2, 7, 16, 100, 256, 1000, 1024, 4096, 999983, 2**31, 2**32 - 1)]
    shapes = [*sizes, (512, 512), (7, 512), (1, 1, 4096), (17, 19, 23), (3, 1024, 5), (1920, 1080), (13, 4)]
    for made, most in ((plain, 1024), (small, 32)):
        for shape in shapes:
            found = suggestion(az, made, *shape)
            assert all(size % part == 0 for size, part in zip((*shape, 1, 1), found, strict=False)), (shape, found)
            assert 1 <= found[0] * found[1] * found[2] <= most
            az.ok("zeKernelSetGroupSize", made, *found)
    # Whole vectors where that is possible, and enough of them to be worth a group.
    assert suggestion(az, plain, 1024)[0] % 16 == 0
    assert suggestion(az, plain, 1008)[0] % 16 == 0
    for shape in ((4096,), (8, 4096), (2, 2, 4096), (1 << 20,)):
        found = suggestion(az, plain, *shape)
        assert found[0] * found[1] * found[2] >= 64
    assert suggestion(az, fixed, 100, 100, 100) == (8, 4, 2)
    out = [byref(c_uint32()) for _ in range(3)]
    code = ze.ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION
    for shape in ((0, 1, 1), (1, 0, 1), (1, 1, 0)):
        az.error(code, "zeKernelSuggestGroupSize", plain, *shape, *out)


def test_arguments_arrive(az: Calls, context: c_void_p, module: c_void_p) -> None:
    to, other = az.memory(context, 256), az.memory(context, 64)
    picture = image(az, context)
    sampler = az.new("zeSamplerCreate", context, az.device, byref(ze.ze_sampler_desc_t()))
    struct24 = (c_uint8 * 24)(*range(24))
    made = kernel(az, module, "all")
    immediate = az.immediate(context, mode=ze.ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS)

    def seen() -> tuple[Any, ...]:
        launch(az, immediate, made, 1)
        return struct.unpack("<QBxHxxxxQ24sQQQQQ", read(to, 88))

    set_arguments(az, made, to, c_uint8(7), c_uint16(8), c_double(0.5), struct24, other, Local(5), Local(300))
    az.ok("zeKernelSetArgumentValue", made, 8, 8, byref(picture))
    az.ok("zeKernelSetArgumentValue", made, 9, 8, byref(sampler))
    half = struct.unpack("<Q", struct.pack("<d", 0.5))[0]
    *head, view, state = seen()
    # Local memory: behind the kernel's own 100 bytes, each on a boundary of 128.
    assert head == [to, 7, 8, half, bytes(range(24)), other, 128, 256]
    assert view
    assert state
    # Null means zero, wherever it is not local memory.
    for index in range(1, 10):
        az.ok("zeKernelSetArgumentValue", made, index, ALL_SIZES[index] or 1024, None)
    assert seen() == (to, 0, 0, 0, bytes(24), 0, 128, 1152, 0, 0)


def test_wrong_arguments(az: Calls, context: c_void_p, module: c_void_p) -> None:
    made = kernel(az, module, "all")
    room = (c_uint8 * 64)()
    for index in (10, 11, 2**32 - 1):
        az.error(
            ze.ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX, "zeKernelSetArgumentValue", made, index, 8, byref(room)
        )
    size = ze.ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE
    az.error(size, "zeKernelSetArgumentValue", made, 6, 2**40, None)
    for index in (8, 9):
        for handle in (c_uint64(12345), made, context):
            az.error(INVALID_ARGUMENT, "zeKernelSetArgumentValue", made, index, 8, byref(handle))


def test_sizes_that_differ_from_the_kernels_own(az: Calls, context: c_void_p, module: c_void_p) -> None:
    """As hardware drivers do: the low bytes of what is larger, zeros behind what is smaller."""
    to, other = az.memory(context, 256), az.memory(context, 64)
    made = kernel(az, module, "all", to)
    immediate = az.immediate(context, mode=ze.ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS)

    def seen() -> tuple[Any, ...]:
        launch(az, immediate, made, 1)
        return struct.unpack("<QBxHxxxxQ24sQQQQQ", read(to, 88))

    def give(index: int, size: int, value: Any) -> None:
        az.ok("zeKernelSetArgumentValue", made, index, size, byref(value))

    ones = (c_uint8 * 64)(*[0xFF] * 64)
    for index, size in ((1, 1), (2, 2), (3, 8), (4, 24)):
        give(index, size, ones)
    assert seen()[1:5] == (0xFF, 0xFFFF, 2**64 - 1, b"\xff" * 24)
    # Smaller: the previous value is cleared, and the sign is not extended.
    for index, size in ((1, 0), (2, 1), (3, 4), (4, 23)):
        give(index, size, ones)
    assert seen()[1:5] == (0, 0xFF, 2**32 - 1, b"\xff" * 23 + b"\0")
    # Larger: bytes after the argument in the argument block are not written.
    value = c_uint64(0x1122334455667788)
    give(1, 8, value)
    give(2, 8, value)
    assert seen()[1:5] == (0x88, 0x7788, 2**32 - 1, b"\xff" * 23 + b"\0")
    give(4, 64, ones)
    give(3, 2**64 - 1, value)
    assert seen()[3:6] == (value.value, b"\xff" * 24, 0)
    # Addresses and handles have one size only.
    picture = image(az, context)
    sampler = az.new("zeSamplerCreate", context, az.device, byref(ze.ze_sampler_desc_t()))
    for size in (4, 16):
        for index, held in ((5, c_void_p(other)), (8, picture), (9, sampler)):
            give(index, size, held)
        address, _, _, view, state = seen()[5:]
        assert address == other
        assert view
        assert state
        for index in (5, 8, 9):
            az.ok("zeKernelSetArgumentValue", made, index, size, None)
        assert seen()[5:] == (0, 128, 128, 0, 0)


def test_images_and_samplers_live_as_long_as_they_are_arguments(az: Calls, context: c_void_p, module: c_void_p) -> None:
    to = az.memory(context, 256)
    picture = image(az, context)
    made = kernel(az, module, "all", to)
    az.ok("zeKernelSetArgumentValue", made, 8, 8, byref(picture))
    az.ok("zeImageDestroy", picture)
    immediate = az.immediate(context, mode=ze.ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS)
    launch(az, immediate, made, 1)
    assert struct.unpack("<Q", read(to + 72, 8))[0]
    az.error(INVALID_ARGUMENT, "zeKernelSetArgumentValue", made, 8, 8, byref(picture))


def test_flags_and_hints(az: Calls, module: c_void_p) -> None:
    for flags in (0, ze.ZE_KERNEL_FLAG_FORCE_RESIDENCY, ze.ZE_KERNEL_FLAG_EXPLICIT_RESIDENCY):
        made = kernel(az, module, "plain", flags=flags)
        az.ok("zeKernelDestroy", made)
    made = kernel(az, module, "plain")
    assert az.query("zeKernelGetIndirectAccess", c_uint32, made) == 0
    az.ok("zeKernelSetIndirectAccess", made, 7)
    assert az.query("zeKernelGetIndirectAccess", c_uint32, made) == 7
    az.ok("zeKernelSetCacheConfig", made, ze.ZE_CACHE_CONFIG_FLAG_LARGE_SLM)
    az.ok("zeKernelSchedulingHintExp", made, byref(ze.ze_scheduling_hint_exp_desc_t(flags=1)))
    az.ok("zeKernelSetGlobalOffsetExp", made, 1, 2, 3)


def test_a_kernel_may_prefer_local_memory(az: Calls, context: c_void_p, module: c_void_p) -> None:
    """Then its groups have four times as much, from the next launch on."""
    limits = az.query("zeDeviceGetComputeProperties", ze.ze_device_compute_properties_t, az.device)
    usual, most = limits.maxSharedLocalMemory, 4 * limits.maxSharedLocalMemory
    made, lst, one = kernel(az, module, "all"), az.list(context), ze.ze_group_count_t(1, 1, 1)

    def append(local: int) -> int:
        # The kernel's own 100 bytes are rounded up to 128.
        az.ok("zeKernelSetArgumentValue", made, 6, local - 128, None)
        return az.call("zeCommandListAppendLaunchKernel", lst, made, byref(one), None, 0, None)

    large = ze.ZE_CACHE_CONFIG_FLAG_LARGE_SLM
    assert [append(usual), append(usual + 128)] == [OK, OUT_OF_DEVICE_MEMORY]
    assert "ZE_CACHE_CONFIG_FLAG_LARGE_SLM" in az.last_error()
    az.ok("zeKernelSetCacheConfig", made, large)
    assert [append(usual + 128), append(most), append(most + 128)] == [OK, OK, OUT_OF_DEVICE_MEMORY]
    for other in (0, ze.ZE_CACHE_CONFIG_FLAG_LARGE_DATA):
        az.ok("zeKernelSetCacheConfig", made, large)
        az.ok("zeKernelSetCacheConfig", made, other)
        assert [append(usual), append(usual + 128)] == [OK, OUT_OF_DEVICE_MEMORY]
    az.error(INVALID_ENUMERATION, "zeKernelSetCacheConfig", made, 4)


def test_the_binary_is_an_object(az: Calls, module: c_void_p) -> None:
    made = kernel(az, module, "plain")
    size = c_size_t()
    az.ok("zeKernelGetBinaryExp", made, byref(size), None)
    assert size.value > 100
    binary = (c_uint8 * size.value)()
    az.ok("zeKernelGetBinaryExp", made, byref(size), binary)
    assert bytes(binary)[:4] == b"\x7fELF"


def test_allocations_of_a_kernel(az: Calls, context: c_void_p, plan: Planner) -> None:
    module, _ = build(az, context, SOURCE + '//global {"name": "g", "size": 32}\n')
    device, shared = az.memory(context, 100, "device"), az.memory(context, 200, "shared")
    made = kernel(az, module, "all", device + 10)
    az.ok("zeKernelSetArgumentValue", made, 5, 8, byref(c_void_p(shared)))
    count = c_uint32()
    az.ok("zeKernelGetAllocationPropertiesExp", made, byref(count), None)
    assert count.value == 3
    found = (ze.ze_kernel_allocation_exp_properties_t * 4)()
    count.value = 4
    az.ok("zeKernelGetAllocationPropertiesExp", made, byref(count), found)
    assert count.value == 3
    rows = [(each.base, each.size, each.type, each.argIndex) for each in found[:3]]
    assert rows[0] == (device, 100, ze.ZE_MEMORY_TYPE_DEVICE, 0)
    assert rows[1] == (shared, 200, ze.ZE_MEMORY_TYPE_SHARED, 5)
    assert rows[2][1:] == (32, ze.ZE_MEMORY_TYPE_DEVICE, 2**32 - 1)


def test_a_kernel_keeps_its_module(az: Calls, context: c_void_p, plan: Planner) -> None:
    module, _ = build(az, context, SOURCE)
    made = kernel(az, module, "plain")
    az.ok("zeModuleDestroy", module)
    az.ok("zeKernelGetProperties", made, byref(ze.ze_kernel_properties_t()))
    az.ok("zeKernelDestroy", made)
    az.error(ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE, "zeKernelDestroy", made)
