"""Launching kernels: on every kind of list, with events, counts found at execution, cooperation, frees and images."""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Iterator
from ctypes import byref, c_float, c_size_t, c_uint32, c_void_p
from typing import Any

import pytest

from anyzero import ze
from tests.abi.appends import TIMED
from tests.abi.calls import (
    ASYNCHRONOUS,
    COPY,
    DEVICE_LOST,
    INVALID_ARGUMENT,
    INVALID_LIST_TYPE,
    INVALID_NULL_POINTER,
    NOT_READY,
    OK,
    SECOND,
    SOON,
    SYNCHRONOUS,
    UNSUPPORTED_FEATURE,
    Calls,
    handles,
    read,
    run_python,
    write,
)
from tests.abi.kernels_in_c import Local, build, kernel, launch, planner, set_arguments
from tests.patience import PATIENCE

SOURCE = """
//kernel {"name": "saxpy", "args": [["global", 8], ["global", 8], ["value", 4], ["value", 4]]}
KERNEL(saxpy) {
  f32* y = ARG(f32*, 0); const f32* from = ARG(f32*, 8); f32 a = ARG(f32, 16); u32 n = ARG(u32, 20);
  FOR_GROUPS FOR_X { u64 i = GLOBAL_X; if (i < n) y[i] += a * from[i]; }
}
//kernel {"name": "count", "args": [["global", 8]]}
KERNEL(count) { __atomic_fetch_add(ARG(u64*, 0), last - first, __ATOMIC_RELAXED); }
//kernel {"name": "follow", "args": [["global", 8]]}
KERNEL(follow) { **ARG(u32**, 0) = 7; }
//kernel {"name": "shape", "args": [["global", 8]]}
KERNEL(shape) {
  u64* to = ARG(u64*, 0);
  for (u32 i = 0; i < 13; ++i) to[i] = ((u64*)grid)[i];
}
//kernel {"name": "sum", "args": [["global", 8], ["local", 8]], "local": 64}
KERNEL(sum) {
  FOR_GROUPS {
    u32* mine = (u32*)(worker->local + ARG(u64, 8)); u32 all = 0;
    FOR_X mine[x] = x + 1;
    FOR_X all += mine[x];
    __atomic_fetch_add(ARG(u64*, 0), all, __ATOMIC_RELAXED);
  }
}
//kernel {"name": "meet", "args": [["global", 8]]}
KERNEL(meet) {
  u32* here = ARG(u32*, 0);
  __atomic_fetch_add(here, 1, __ATOMIC_ACQ_REL);
  while (__atomic_load_n(here, __ATOMIC_ACQUIRE) < grid->group_count[0]) __builtin_ia32_pause();
}
"""


@pytest.fixture(scope="module")
def module(az: Calls) -> Iterator[c_void_p]:
    """Outlives the contexts of the tests."""
    context = az.context()
    with planner():
        made, _ = build(az, context, SOURCE)
        for name in ("saxpy", "count", "follow", "shape", "sum", "meet"):
            az.ok("zeKernelDestroy", kernel(az, made, name))  # so that all are compiled while the stand-in is active
        yield made
    az.ok("zeModuleDestroy", made)
    az.ok("zeContextDestroy", context)


def floats(az: Calls, context: c_void_p, values: list[float]) -> int:
    address = az.memory(context, 4 * len(values), "shared")
    write(address, struct.pack(f"<{len(values)}f", *values))
    return address


def seen(address: int, count: int) -> list[float]:
    return list(struct.unpack(f"<{count}f", read(address, 4 * count)))


def number(address: int) -> int:
    return int.from_bytes(read(address, 8), "little")


@pytest.mark.parametrize("mode", [ASYNCHRONOUS, SYNCHRONOUS])
@pytest.mark.parametrize("n", [1, 100, 1000, 50_000])
def test_saxpy_on_an_immediate_list(az: Calls, context: c_void_p, module: c_void_p, mode: int, n: int) -> None:
    x, y = floats(az, context, [float(i) for i in range(n)]), floats(az, context, [1.0] * n)
    saxpy = kernel(az, module, "saxpy", y, x, c_float(2), c_uint32(n), group=(64,))
    lst = az.immediate(context, mode=mode)
    for round_ in range(1, 4):
        launch(az, lst, saxpy, -(-n // 64))
        az.ok("zeCommandListHostSynchronize", lst, SOON)
        assert seen(y, n) == [1.0 + 2 * round_ * i for i in range(n)]


def test_saxpy_on_a_queue(az: Calls, context: c_void_p, module: c_void_p) -> None:
    n = 3000
    x, y = floats(az, context, [1.0] * n), floats(az, context, [0.0] * n)
    saxpy = kernel(az, module, "saxpy", y, x, c_float(1), c_uint32(n), group=(64,))
    lst, queue = az.list(context), az.queue(context)
    launch(az, lst, saxpy, 47)
    # Arguments and group size are those of the append.
    set_arguments(az, saxpy, None, None, c_float(9), c_uint32(0))
    az.ok("zeKernelSetGroupSize", saxpy, 1, 1, 1)
    az.ok("zeKernelDestroy", saxpy)
    az.close(lst)
    fence = az.fence(queue)
    for _ in range(5):
        az.execute(queue, lst)
    az.execute(queue, lst, fence=fence)
    az.ok("zeFenceHostSynchronize", fence, SOON)
    assert seen(y, n) == [6.0] * n


def test_events_and_timestamps(az: Calls, context: c_void_p, module: c_void_p) -> None:
    first, second, gate = az.events(context, 3, TIMED)
    counter = az.memory(context, 8)
    write(counter, bytes(8))
    count = kernel(az, module, "count", counter)
    lst = az.immediate(context)
    launch(az, lst, count, 10, signal=first, waits=[gate])
    launch(az, lst, count, 0, signal=second, waits=[first])
    az.error(NOT_READY, "zeEventHostSynchronize", first, 1000)
    assert number(counter) == 0
    az.ok("zeEventHostSignal", gate)
    az.ok("zeEventHostSynchronize", second, SOON)
    assert number(counter) == 10
    kind = ze.ze_kernel_timestamp_result_t
    results = [az.query("zeEventQueryKernelTimestamp", kind, event) for event in (first, second)]
    times = [getattr(result, "global") for result in results]
    assert all(time.kernelStart <= time.kernelEnd for time in times)
    assert times[0].kernelEnd <= times[1].kernelStart


def test_arguments_are_those_of_the_append(az: Calls, context: c_void_p, module: c_void_p) -> None:
    (gate,) = az.events(context, 1)
    counter, other = az.memory(context, 8), az.memory(context, 8)
    write(counter, bytes(8))
    write(other, bytes(8))
    count = kernel(az, module, "count", counter)
    lst = az.immediate(context)
    launch(az, lst, count, 5, waits=[gate])
    set_arguments(az, count, other)
    launch(az, lst, count, 7)
    set_arguments(az, count, None)
    az.ok("zeKernelDestroy", count)
    az.ok("zeEventHostSignal", gate)
    az.ok("zeCommandListHostSynchronize", lst, SOON)
    assert (number(counter), number(other)) == (5, 7)


def test_a_launch_keeps_the_group_size_of_its_append(az: Calls, context: c_void_p, module: c_void_p) -> None:
    """There is a default group size; a set one applies to later appends, and suggestions ignore it."""
    (gate,) = az.events(context, 1)
    rooms = [az.memory(context, 104) for _ in range(3)]
    shape = kernel(az, module, "shape")
    sizes = (c_uint32(), c_uint32(), c_uint32())
    suggest = ("zeKernelSuggestGroupSize", shape, 1000, 1, 1, *map(byref, sizes))
    az.ok(*suggest)
    suggested = [size.value for size in sizes]
    lst = az.immediate(context)
    az.barrier(lst, None, [gate])
    for room, group in zip(rooms, ((), (5, 3, 1), (7, 1, 2)), strict=True):
        set_arguments(az, shape, room)
        if group:
            az.ok("zeKernelSetGroupSize", shape, *group)
        launch(az, lst, shape, 2)
    az.ok(*suggest)
    assert [size.value for size in sizes] == suggested
    az.ok("zeEventHostSignal", gate)
    az.ok("zeCommandListHostSynchronize", lst, SOON)
    found = [struct.unpack("<13Q", read(room, 104))[3:6] for room in rooms]
    assert found == [(1, 1, 1), (5, 3, 1), (7, 1, 2)]


def test_the_grid(az: Calls, context: c_void_p, module: c_void_p) -> None:
    to = az.memory(context, 104)
    shape = kernel(az, module, "shape", to, group=(4, 3, 2))
    az.ok("zeKernelSetGlobalOffsetExp", shape, 100, 200, 300)
    lst = az.immediate(context, mode=SYNCHRONOUS)
    launch(az, lst, shape, 5, 6, 7)
    assert struct.unpack("<13Q", read(to, 104)) == (5, 6, 7, 4, 3, 2, 100, 200, 300, 20, 18, 14, 3)


def test_local_memory(az: Calls, context: c_void_p, module: c_void_p) -> None:
    to = az.memory(context, 8)
    write(to, bytes(8))
    total = kernel(az, module, "sum", to, Local(4 * 100), group=(100,))
    lst = az.immediate(context, mode=SYNCHRONOUS)
    launch(az, lst, total, 1000)
    assert number(to) == 1000 * 5050
    set_arguments(az, total, to, Local(1 << 24))
    code = ze.ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY
    one = byref(ze.ze_group_count_t(1, 1, 1))
    az.error(code, "zeCommandListAppendLaunchKernel", lst, total, one, None, 0, None)
    assert "local memory" in az.last_error()
    code = ze.ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE
    for size in (1 << 32, 1 << 40, (1 << 64) - 1):
        az.error(code, "zeKernelSetArgumentValue", total, 1, c_size_t(size), None)
        assert f"{size} bytes of local memory" in az.last_error()


def test_counts_are_found_at_execution(az: Calls, context: c_void_p, module: c_void_p) -> None:
    counter, counts, enabled = az.memory(context, 8), az.memory(context, 48), az.memory(context, 4)
    write(counter, bytes(8))
    count = kernel(az, module, "count", counter)
    lst, queue = az.list(context), az.queue(context)
    az.ok("zeCommandListAppendLaunchKernelIndirect", lst, count, counts, None, 0, None)
    many = handles([count] * 3)
    az.ok("zeCommandListAppendLaunchMultipleKernelsIndirect", lst, 3, many, enabled, counts + 12, None, 0, None)
    az.close(lst)
    write(counts, struct.pack("<12I", 2, 3, 4, 1, 1, 1, 10, 10, 1, 1000, 1, 1))
    for number_enabled, expected in ((0, 24), (1, 25), (2, 125), (3, 1125), (77, 1125)):
        write(counter, bytes(8))
        write(enabled, struct.pack("<I", number_enabled))
        az.execute(queue, lst)
        az.finish(queue)
        assert number(counter) == expected
    write(counts, bytes(12))
    write(enabled, bytes(4))
    write(counter, bytes(8))
    az.execute(queue, lst)
    az.finish(queue)
    assert number(counter) == 0
    write(counts, bytes([255]) * 12)
    az.execute(queue, lst)
    az.error(DEVICE_LOST, "zeCommandQueueSynchronize", queue, SOON)
    assert "more groups" in az.last_error()


@pytest.mark.parametrize("mode", [ASYNCHRONOUS, SYNCHRONOUS])
def test_a_count_of_no_kernels_and_of_no_groups(az: Calls, context: c_void_p, module: c_void_p, mode: int) -> None:
    """Nothing runs, and commands that wait for it continue."""
    counter, counts, enabled = az.memory(context, 8), az.memory(context, 24), az.memory(context, 4)
    write(counter, bytes(8))
    write(counts, struct.pack("<6I", 5, 0, 1, 0, 0, 0))
    count = kernel(az, module, "count", counter)
    lst, events = az.immediate(context, mode=mode), az.events(context, 3, TIMED)
    name, many = "zeCommandListAppendLaunchMultipleKernelsIndirect", handles([count] * 2)
    for number_enabled, event in zip((0, 2), events, strict=False):
        write(enabled, struct.pack("<I", number_enabled))
        az.ok(name, lst, 2, many, enabled, counts, event, 0, None)
        az.ok("zeEventHostSynchronize", event, SOON)
        time = getattr(az.query("zeEventQueryKernelTimestamp", ze.ze_kernel_timestamp_result_t, event), "global")
        assert 0 < time.kernelStart <= time.kernelEnd
    az.ok(name, lst, 0, many, enabled, counts, events[2], 0, None)
    az.ok("zeEventHostSynchronize", events[2], SOON)
    az.ok("zeCommandListHostSynchronize", lst, SOON)
    assert number(counter) == 0


def test_every_event_has_the_times_of_its_own_launch(az: Calls, context: c_void_p, module: c_void_p) -> None:
    events, counter = az.events(context, 5, TIMED), az.memory(context, 8)
    count = kernel(az, module, "count", counter)
    lst, queue = az.list(context), az.queue(context)
    for turn, event in enumerate(events):
        launch(az, lst, count, 1 + 3000 * turn, signal=event)
    az.close(lst)
    az.execute(queue, lst)
    az.finish(queue)
    kind, end = ze.ze_kernel_timestamp_result_t, 0
    for event in events:
        time = getattr(az.query("zeEventQueryKernelTimestamp", kind, event), "global")
        assert end <= time.kernelStart <= time.kernelEnd
        end = time.kernelEnd


def test_with_arguments(az: Calls, context: c_void_p, module: c_void_p) -> None:
    n = 256
    x, y = floats(az, context, [1.0] * n), floats(az, context, [0.0] * n)
    saxpy, total = kernel(az, module, "saxpy"), kernel(az, module, "sum")
    lst = az.immediate(context, mode=SYNCHRONOUS)

    def pointers(*values: Any) -> Any:
        return (c_void_p * len(values))(*map(ctypes.addressof, values))

    def call(made: c_void_p, groups: int, size: int, values: Any, chain: Any = None) -> int:
        args = (ze.ze_group_count_t(groups, 1, 1), ze.ze_group_size_t(size, 1, 1), values, chain)
        return az.call("zeCommandListAppendLaunchKernelWithArguments", lst, made, *args, None, 0, None)

    values = (c_void_p(y), c_void_p(x), c_float(3), c_uint32(n))
    assert call(saxpy, 4, 64, pointers(*values)) == OK
    assert seen(y, n) == [3.0] * n
    # It changes the kernel as the separate calls would.
    launch(az, lst, saxpy, 4)
    assert seen(y, n) == [6.0] * n
    assert call(saxpy, 4, 0, pointers(*values)) == ze.ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION
    to = az.memory(context, 8)
    write(to, bytes(8))
    local = (c_void_p(to), c_size_t(400))
    assert call(total, 10, 100, pointers(*local)) == OK
    assert number(to) == 50500
    assert call(total, 10, 100, (c_void_p * 2)(ctypes.addressof(local[0]), None)) == INVALID_NULL_POINTER
    chain = ze.ze_command_list_append_launch_kernel_param_cooperative_desc_t(isCooperative=1)
    assert call(total, 10, 100, pointers(*local), byref(chain)) == OK
    assert call(total, 10**6, 100, pointers(*local), byref(chain)) == INVALID_ARGUMENT
    odd = ze.ze_fence_desc_t()
    assert call(total, 1, 1, pointers(*local), byref(odd)) == UNSUPPORTED_FEATURE


def test_with_parameters(az: Calls, context: c_void_p, module: c_void_p) -> None:
    here = az.memory(context, 4)
    write(here, bytes(4))
    meet = kernel(az, module, "meet", here)
    lst = az.immediate(context)
    chain = ze.ze_command_list_append_launch_kernel_param_cooperative_desc_t(isCooperative=1)
    eight = ze.ze_group_count_t(8, 1, 1)
    name = "zeCommandListAppendLaunchKernelWithParameters"
    az.ok(name, lst, meet, byref(eight), byref(chain), None, 0, None)
    az.ok("zeCommandListHostSynchronize", lst, SOON)
    assert struct.unpack("<I", read(here, 4)) == (8,)
    count = kernel(az, module, "count", counter := az.memory(context, 8))
    write(counter, bytes(8))
    az.ok(name, lst, count, byref(eight), None, None, 0, None)
    az.ok("zeCommandListHostSynchronize", lst, SOON)
    assert number(counter) == 8
    az.error(UNSUPPORTED_FEATURE, name, lst, count, byref(eight), byref(ze.ze_fence_desc_t()), None, 0, None)


def test_all_cooperative_groups_run_at_once(az: Calls, context: c_void_p, module: c_void_p) -> None:
    here = az.memory(context, 4)
    meet = kernel(az, module, "meet", here)
    most = az.query("zeKernelSuggestMaxCooperativeGroupCount", c_uint32, meet)
    assert most >= 16
    for lst in (az.immediate(context), az.immediate(context, mode=SYNCHRONOUS)):
        write(here, bytes(4))
        count = ze.ze_group_count_t(most, 1, 1)
        az.ok("zeCommandListAppendLaunchCooperativeKernel", lst, meet, byref(count), None, 0, None)
        az.ok("zeCommandListHostSynchronize", lst, SOON)
        assert struct.unpack("<I", read(here, 4)) == (most,)
        count.groupCountY = 2
        az.error(INVALID_ARGUMENT, "zeCommandListAppendLaunchCooperativeKernel", lst, meet, byref(count), None, 0, None)


def test_where_kernels_cannot_go(az: Calls, context: c_void_p, module: c_void_p) -> None:
    count = kernel(az, module, "count", az.memory(context, 8))
    one = byref(ze.ze_group_count_t(1, 1, 1))
    for lst in (az.list(context, commandQueueGroupOrdinal=COPY), az.immediate(context, ordinal=COPY)):
        az.error(INVALID_LIST_TYPE, "zeCommandListAppendLaunchKernel", lst, count, one, None, 0, None)
        az.error(INVALID_LIST_TYPE, "zeCommandListAppendLaunchKernelIndirect", lst, count, one, None, 0, None)
    lst = az.immediate(context)
    many = byref(ze.ze_group_count_t(2**32 - 1, 2**32 - 1, 2**32 - 1))
    az.error(INVALID_ARGUMENT, "zeCommandListAppendLaunchKernel", lst, count, many, None, 0, None)


@pytest.mark.parametrize("policy", [1, 2], ids=["blocking", "deferred"])
@pytest.mark.parametrize("named", ["argument", "indirect"])
def test_memory_that_a_launch_uses_is_freed_behind_it(
    az: Calls, context: c_void_p, module: c_void_p, policy: int, named: str
) -> None:
    (gate,) = az.events(context, 1)
    target, pointer = az.memory(context, 4096, "device"), az.memory(context, 64)
    write(pointer, struct.pack("<Q", target))
    follow = kernel(az, module, "follow", pointer)
    if named == "indirect":
        az.ok("zeKernelSetIndirectAccess", follow, ze.ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE)
    lst = az.immediate(context)
    launch(az, lst, follow, 1, waits=[gate])
    victim = pointer if named == "argument" else target
    done = threading.Event()

    def free() -> None:
        desc = ze.ze_memory_free_ext_desc_t(freePolicy=policy)
        az.ok("zeMemFreeExt", context, byref(desc), victim)
        done.set()

    other = az.memory(context, 64, "shared")
    az.ok("zeMemFreeExt", context, byref(ze.ze_memory_free_ext_desc_t(freePolicy=1)), other)  # not an argument
    thread = threading.Thread(target=free)
    thread.start()
    assert done.wait(PATIENCE) if policy == 2 else not done.wait(0.05)
    az.ok("zeEventHostSignal", gate)
    thread.join(SOON / SECOND)
    assert done.is_set()
    az.ok("zeCommandListHostSynchronize", lst, SOON)


def test_residency() -> None:
    run_python(
        f"""
        from tests.abi.kernels_in_c import *
        az = Calls()
        SOURCE = {SOURCE!r}
        with planner():
            context = az.context()
            module, _ = build(az, context, SOURCE)
            def evicted(indirect=0, flags=0):
                context = az.context()
                target, pointer = az.memory(context, 4096, "device"), az.memory(context, 64)
                write(pointer, struct.pack("<Q", target))
                made = kernel(az, module, "follow", pointer, flags=flags)
                az.ok("zeKernelSetIndirectAccess", made, indirect)
                return context, target, pointer, made, az.list(context), az.queue(context)
            # What an argument names is resident, until somebody evicts it.
            context, target, pointer, made, lst, queue = evicted()
            launch(az, lst, made, 1)
            az.close(lst)
            az.execute(queue, lst)
            az.finish(queue)
            assert read(target, 1) == bytes([7])
            az.ok("zeContextEvictMemory", context, az.device, pointer, 64)
            az.call("zeCommandQueueExecuteCommandLists", queue, 1, handles([lst]), None)
            az.error(DEVICE_LOST, "zeCommandQueueSynchronize", queue, SOON)
            assert "not resident" in az.last_error() and "follow" in az.last_error(), az.last_error()
            # The program sees to it itself, and has not.
            context, target, pointer, made, lst, queue = evicted(flags=ze.ZE_KERNEL_FLAG_EXPLICIT_RESIDENCY)
            launch(az, lst, made, 1)
            az.close(lst)
            az.call("zeCommandQueueExecuteCommandLists", queue, 1, handles([lst]), None)
            az.error(DEVICE_LOST, "zeCommandQueueSynchronize", queue, SOON)
            # What it says to reach through pointers is resident for the launch, also what came after the append.
            for kind, good in (("DEVICE", True), ("HOST", False), ("SHARED", False)):
                flag = getattr(ze, f"ZE_KERNEL_INDIRECT_ACCESS_FLAG_{{kind}}")
                context, target, _, _, lst, queue = evicted()
                made = kernel(az, module, "follow", pointer := az.memory(context, 64, "device"))
                az.ok("zeKernelSetIndirectAccess", made, flag)
                write(pointer, struct.pack("<Q", target))
                launch(az, lst, made, 1)
                az.close(lst)
                az.ok("zeContextEvictMemory", context, az.device, pointer, 64)
                az.call("zeCommandQueueExecuteCommandLists", queue, 1, handles([lst]), None)
                result = az.call("zeCommandQueueSynchronize", queue, SOON)
                assert result == (0 if good else DEVICE_LOST), (kind, az.last_error())
                assert (read(target, 1) == bytes([7])) is good
            context, target, _, _, lst, queue = evicted()
            flags = ze.ZE_KERNEL_FLAG_EXPLICIT_RESIDENCY
            made = kernel(az, module, "follow", pointer := az.memory(context, 64, "device"), flags=flags)
            az.ok("zeKernelSetIndirectAccess", made, ze.ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE)
            launch(az, lst, made, 1)
            az.close(lst)
            az.call("zeCommandQueueExecuteCommandLists", queue, 1, handles([lst]), None)
            az.error(DEVICE_LOST, "zeCommandQueueSynchronize", queue, SOON)
            # All of it, whatever happened before.
            context, target, pointer, made, lst, queue = evicted(flags=ze.ZE_KERNEL_FLAG_FORCE_RESIDENCY)
            launch(az, lst, made, 1)
            az.close(lst)
            az.ok("zeContextEvictMemory", context, az.device, pointer, 64)
            az.execute(queue, lst)
            az.finish(queue)
        """,
        ANYZERO_DEVICES="cpu:paging=off,memory=64M",
    )


def test_a_tile_runs_the_kernels_of_its_device() -> None:
    run_python(
        f"""
        from tests.abi.kernels_in_c import *
        az = Calls()
        SOURCE = {SOURCE!r}
        with planner():
            context = az.context()
            module, _ = build(az, context, SOURCE)
            counter = az.memory(context, 8)
            write(counter, bytes(8))
            count = kernel(az, module, "count", counter)
            tiles = az.several("zeDeviceGetSubDevices", az.device)
            assert len(tiles) == 2
            for tile in tiles:
                launch(az, az.immediate(context, tile, mode=SYNCHRONOUS), count, 5)
            assert read(counter, 1) == bytes([10])
            stranger = az.immediate(context, az.devices[1])
            one = byref(ze.ze_group_count_t(1, 1, 1))
            az.error(INVALID_ARGUMENT, "zeCommandListAppendLaunchKernel", stranger, count, one, None, 0, None)
        """,
        ANYZERO_DEVICES="cpu:tiles=2,cpu",
    )


def test_a_wait_with_an_end_ends(az: Calls, context: c_void_p) -> None:
    """A kernel waits for its host: a host wait with a timeout returns in time to release it."""
    source = """
    //kernel {"name": "obey", "args": [["global", 8]]}
    KERNEL(obey) { while (!__atomic_load_n(ARG(u32*, 0), __ATOMIC_ACQUIRE)) __builtin_ia32_pause(); }
    """
    with planner():
        module, _ = build(az, context, "\n".join(line.strip() for line in source.splitlines()))
        flag = az.memory(context, 4)
        obey = kernel(az, module, "obey", flag)
    lst, (event,) = az.immediate(context), az.events(context, 1)
    for groups in (1, 100):
        write(flag, bytes(4))
        launch(az, lst, obey, groups, signal=event)
        az.error(NOT_READY, "zeEventHostSynchronize", event, SECOND // 10)
        az.error(NOT_READY, "zeCommandListHostSynchronize", lst, SECOND // 10)
        write(flag, bytes([1, 0, 0, 0]))
        az.ok("zeEventHostSynchronize", event, SOON)
        az.ok("zeEventHostReset", event)


def test_many_threads_launch(az: Calls, context: c_void_p, module: c_void_p) -> None:
    counter = az.memory(context, 8)
    write(counter, bytes(8))
    failures: list[BaseException] = []

    def work() -> None:
        try:
            count = kernel(az, module, "count", counter)
            lst = az.immediate(context)
            for i in range(300):
                launch(az, lst, count, 1 + i % 50)
            az.ok("zeCommandListHostSynchronize", lst, SOON)
            az.ok("zeKernelDestroy", count)
            az.ok("zeCommandListDestroy", lst)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert number(counter) == 4 * sum(1 + i % 50 for i in range(300))


def test_a_launch_after_a_fork(az: Calls, context: c_void_p, module: c_void_p) -> None:
    """A child launches the parent's compiled kernels, and compiles new ones."""
    run_python(
        f"""
        from tests.abi.kernels_in_c import *
        az = Calls()
        SOURCE = {SOURCE!r}
        with planner():
            context = az.context()
            module, _ = build(az, context, SOURCE)
            counter = az.memory(context, 8)
            count = kernel(az, module, "count", counter)
            lst = az.immediate(context)
            launch(az, lst, count, 5)
            az.ok("zeCommandListHostSynchronize", lst, SOON)
            child = os.fork()
            if child == 0:
                write(counter, bytes(8))
                fresh = az.immediate(context)
                launch(az, fresh, count, 100_000)
                launch(az, fresh, kernel(az, module, "count", counter), 7)
                az.ok("zeCommandListHostSynchronize", fresh, SOON)
                assert read(counter, 8) == (100_007).to_bytes(8, "little")
                os._exit(0)
            _, status = os.waitpid(child, 0)
            assert status == 0, status
        """
    )
