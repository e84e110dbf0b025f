"""Every append: on both kinds of list and in every mode, with waits and signals, and what it does to memory."""

from __future__ import annotations

import ctypes
import random
import threading
from ctypes import byref, c_uint8, c_uint32, c_void_p

import pytest

from anyzero import ze
from tests.abi.appends import appends
from tests.abi.calls import (
    COMPUTE,
    COPY,
    INVALID_SIZE,
    NOT_READY,
    OK,
    OVERLAPPING_REGIONS,
    SECOND,
    SOON,
    SYNCHRONOUS,
    UNSUPPORTED_FEATURE,
    Calls,
    HostFunction,
    read,
    run_python,
    write,
)
from tests.patience import PATIENCE


def test_every_append_on_every_kind_of_list(az: Calls, context: c_void_p) -> None:
    for mode in (0, 1, 2):
        immediate = az.immediate(context, mode=mode)
        for name, args in appends(az, context):
            az.ok(name, immediate, *args)
            az.ok("zeCommandListHostSynchronize", immediate, SOON)
    queue, recorded = az.queue(context), az.list(context)
    for name, args in appends(az, context):
        az.ok(name, recorded, *args)
    az.close(recorded)
    for _ in range(3):
        az.execute(queue, recorded)
        az.finish(queue)


def test_every_append_waits_and_signals(az: Calls, context: c_void_p) -> None:
    gate, done = az.events(context, 2)
    immediate = az.immediate(context)
    for name, args in appends(az, context, done, (gate,)):
        az.ok("zeEventHostReset", gate)
        az.ok("zeEventHostReset", done)
        az.ok(name, immediate, *args)
        assert az.call("zeEventHostSynchronize", done, SECOND // 200) == NOT_READY, name
        az.ok("zeEventHostSignal", gate)
        assert az.call("zeEventHostSynchronize", done, SOON) == OK, name


def test_every_append_on_the_copy_engine_that_only_copies(az: Calls, context: c_void_p) -> None:
    immediate = az.immediate(context, ordinal=COPY)
    for name, args in appends(az, context):
        az.ok(name, immediate, *args)
    az.ok("zeCommandListHostSynchronize", immediate, SOON)


def test_extension_parameters_are_refused(az: Calls, context: c_void_p) -> None:
    immediate, base = az.immediate(context), ze.ze_base_desc_t()
    one, pattern = az.memory(context, 64), c_uint8(1)
    stranger, end = byref(base), (None, 0, None)
    az.error(UNSUPPORTED_FEATURE, "zeCommandListAppendMemoryCopyWithParameters", immediate, one, one, 8, stranger, *end)
    fill = "zeCommandListAppendMemoryFillWithParameters"
    az.error(UNSUPPORTED_FEATURE, fill, immediate, one, byref(pattern), 1, 8, stranger, *end)


def test_parameters_are_read_at_append(az: Calls, context: c_void_p) -> None:
    """Patterns, regions, wait lists and offsets may change as soon as the append returns."""
    (gate,) = az.events(context, 1)
    immediate, room = az.immediate(context), az.memory(context, 4096)
    write(room, bytes(4096))
    pattern, region = (c_uint8 * 4)(1, 2, 3, 4), ze.ze_copy_region_t(width=4, height=2, depth=1)
    waits = (c_void_p * 1)(gate)
    az.ok("zeCommandListAppendMemoryFill", immediate, room, pattern, 4, 64, None, 1, waits)
    copy = "zeCommandListAppendMemoryCopyRegion"
    az.ok(copy, immediate, room + 1024, byref(region), 16, 0, room, byref(region), 4, 0, None, 0, None)
    pattern[:] = [9, 9, 9, 9]
    region.width, region.height, waits[0] = 4000, 4000, 1
    az.ok("zeEventHostSignal", gate)
    az.ok("zeCommandListHostSynchronize", immediate, SOON)
    assert read(room, 64) == b"\x01\x02\x03\x04" * 16
    assert read(room + 1024, 32) == b"\x01\x02\x03\x04" + bytes(12) + b"\x01\x02\x03\x04" + bytes(12)


@pytest.mark.parametrize("size", [0, 1, 7, 4096, 16383, 16384, 16385, 262144, 262145, 5 << 20])
def test_copies_of_all_sizes_and_overlaps(az: Calls, context: c_void_p, size: int) -> None:
    """Sizes on both sides of every threshold; a copy onto itself behaves as memmove."""
    margin = 64
    room = az.memory(context, 2 * size + 4 * margin)
    data = random.Random(size).randbytes(size)
    for mode in (SYNCHRONOUS, 2):
        immediate = az.immediate(context, mode=mode)
        for source, target in (
            (0, size + 2 * margin),
            (3, size + margin + 1),
            (0, 1),
            (1, 0),
            (0, 33),
            (33, 0),
            (0, 0),
        ):
            write(room, bytes(2 * size + 4 * margin))
            write(room + margin + source, data)
            az.copy(immediate, room + margin + target, room + margin + source, size)
            az.ok("zeCommandListHostSynchronize", immediate, SOON)
            assert read(room + margin + target, size) == data
            assert read(room, margin) == bytes(margin)
    az.ok("zeMemFree", context, room)


@pytest.mark.parametrize("pattern_size", [1, 2, 4, 8, 16, 32, 64, 128])
def test_fills_with_all_patterns(az: Calls, context: c_void_p, pattern_size: int) -> None:
    immediate = az.immediate(context, mode=SYNCHRONOUS)
    pattern = bytes(range(1, pattern_size + 1))
    for times in (1, 3, 1000, (300 << 10) // pattern_size, (5 << 20) // pattern_size):
        size = pattern_size * times
        room = az.memory(context, size + 131)
        for shift in (0, 1, 63):
            write(room, bytes(size + 131))
            source = ctypes.create_string_buffer(pattern, pattern_size)
            az.ok("zeCommandListAppendMemoryFill", immediate, room + shift, source, pattern_size, size, None, 0, None)
            assert read(room, size + 131) == bytes(shift) + pattern * times + bytes(131 - shift)
        az.ok("zeMemFree", context, room)


def test_bad_patterns(az: Calls, context: c_void_p) -> None:
    immediate, room = az.immediate(context), az.memory(context, 4096)
    source = ctypes.create_string_buffer(512)
    for pattern_size, size in ((0, 64), (3, 9), (4, 10), (1 << 17, 1 << 18), (2**63, 2**63), (16, 8)):
        result = az.call("zeCommandListAppendMemoryFill", immediate, room, source, pattern_size, size, None, 0, None)
        assert result == INVALID_SIZE, (pattern_size, size)
    az.ok("zeCommandListAppendMemoryFill", immediate, room, source, 16, 0, None, 0, None)
    az.ok("zeCommandListHostSynchronize", immediate, SOON)


def test_the_groups_limits_of_patterns(az: Calls, context: c_void_p) -> None:
    """A compute group takes larger patterns than one that only copies, and the limits hold."""
    groups = ze.ze_command_queue_group_properties_t.array(2)
    az.ok("zeDeviceGetCommandQueueGroupProperties", az.device, byref(c_uint32(2)), groups)
    compute, copy = (group.maxMemoryFillPatternSize for group in groups)
    assert compute > copy >= 16
    source = ctypes.create_string_buffer(bytes(i * 7 % 251 for i in range(compute)) * 2, 2 * compute)
    room = az.memory(context, 4 * compute)
    for ordinal, most in ((COMPUTE, compute), (COPY, copy)):
        immediate = az.immediate(context, ordinal=ordinal, mode=SYNCHRONOUS)
        az.ok("zeCommandListAppendMemoryFill", immediate, room, source, most, 3 * most, None, 0, None)
        assert read(room, 3 * most) == source.raw[:most] * 3
        name = "zeCommandListAppendMemoryFill"
        az.error(INVALID_SIZE, name, immediate, room, source, 2 * most, 2 * most, None, 0, None)


def region(x: int, y: int, z: int, width: int, height: int, depth: int) -> ze.ze_copy_region_t:
    return ze.ze_copy_region_t(originX=x, originY=y, originZ=z, width=width, height=height, depth=depth)


def test_regions_against_a_loop(az: Calls, context: c_void_p) -> None:
    chance = random.Random(7)
    immediate, size = az.immediate(context, mode=SYNCHRONOUS), 1 << 16
    source, target = az.memory(context, size), az.memory(context, size)
    data = chance.randbytes(size)
    write(source, data)
    for _ in range(150):
        width, height, depth = chance.randint(1, 40), chance.randint(1, 12), chance.randint(0, 5)
        picture = bytearray(size)
        write(target, bytes(size))
        places = []
        for _ in range(2):
            row = chance.choice([0, width, width + chance.randint(0, 50)])
            pitch = row or width
            plane = chance.choice([0, pitch * height, pitch * height + chance.randint(0, 60)])
            places.append((row, plane, pitch, plane or pitch * height, [chance.randint(0, 5) for _ in range(3)]))
        (to_row, to_plane, to_pitch, to_slice, to), (row, plane, pitch, slice_, origin) = places
        for z in range(max(depth, 1)):
            for y in range(height):
                a = to[0] + (to[1] + y) * to_pitch + (to[2] + z) * to_slice
                b = origin[0] + (origin[1] + y) * pitch + (origin[2] + z) * slice_
                picture[a : a + width] = data[b : b + width]
        az.ok(
            "zeCommandListAppendMemoryCopyRegion",
            *(immediate, target, byref(region(*to, width, height, depth)), to_row, to_plane),
            *(source, byref(region(*origin, width, height, depth)), row, plane, None, 0, None),
        )
        assert read(target, size) == bytes(picture)


def test_large_region(az: Calls, context: c_void_p) -> None:
    """Large enough to be shared out over threads, with rows that are long and rows that are short."""
    immediate = az.immediate(context, mode=SYNCHRONOUS)
    for width, height in ((100, 60_000), (5000, 1200), (2 << 20, 3)):
        pitch = width + 64
        source, target = az.memory(context, pitch * height), az.memory(context, width * height)
        az.fill(immediate, source, 0xEE, pitch * height)
        az.fill(immediate, target, 0, width * height)
        whole = region(0, 0, 0, width, height, 1)
        args = (immediate, target, byref(whole), width, 0, source, byref(whole), pitch, 0, None, 0, None)
        az.ok("zeCommandListAppendMemoryCopyRegion", *args)
        assert read(target, width * height) == b"\xee" * (width * height)
        az.ok("zeMemFree", context, source)
        az.ok("zeMemFree", context, target)


def test_overlapping_regions(az: Calls, context: c_void_p) -> None:
    immediate, room = az.immediate(context), az.memory(context, 1 << 16)

    def copy(
        to: int, source: int, shape: ze.ze_copy_region_t, pitch: int, plane: int = 0, other: int | None = None
    ) -> int:
        return az.call(
            "zeCommandListAppendMemoryCopyRegion",
            *(immediate, room + to, byref(shape), pitch if other is None else other, plane),
            *(room + source, byref(shape), pitch, plane, None, 0, None),
        )

    square = region(0, 0, 0, 16, 16, 1)
    assert copy(0, 0, square, 64) == OVERLAPPING_REGIONS
    assert copy(15, 0, square, 64) == OVERLAPPING_REGIONS
    assert copy(64 * 15 + 15, 0, square, 64) == OVERLAPPING_REGIONS
    # Side by side in the same rows is no overlap, nor is behind the last row.
    assert copy(16, 0, square, 64) == OK
    assert copy(48, 0, square, 64) == OK
    assert copy(0, 48, square, 64) == OK
    assert copy(64 * 15 + 16, 0, square, 64) == OK
    assert copy(64 * 16, 0, square, 64) == OK
    # Around the end of a row into the next.
    assert copy(63, 0, square, 64) == OVERLAPPING_REGIONS
    cube = region(0, 0, 0, 8, 4, 4)
    assert copy(8, 0, cube, 64, 1024) == OK
    assert copy(256, 0, cube, 64, 1024) == OK
    assert copy(1024 + 7, 0, cube, 64, 1024) == OVERLAPPING_REGIONS
    assert copy(3 * 1024 + 3 * 64 + 7, 0, cube, 64, 1024) == OVERLAPPING_REGIONS
    assert copy(3 * 1024 + 3 * 64 + 8, 0, cube, 64, 1024) == OK
    # One row has no pitch to speak of.
    line = region(0, 0, 0, 100, 1, 1)
    for pitch in (0, 1, 10, 100, 200):
        assert copy(50, 0, line, pitch) == OVERLAPPING_REGIONS, pitch
        assert copy(0, 99, line, pitch) == OVERLAPPING_REGIONS, pitch
        assert copy(100, 0, line, pitch) == OK, pitch
    # Every second row meets one of the other's.
    assert copy(8, 0, square, 64, 0, 128) == OVERLAPPING_REGIONS
    assert copy(4, 0, square, 64, 0, 128) == OVERLAPPING_REGIONS
    az.ok("zeCommandListHostSynchronize", immediate, SOON)


def test_overlap_check_is_quick(az: Calls, context: c_void_p) -> None:
    """The left half of a volume to its right half: a million rows, too many for comparing pairs."""
    recorded, room = az.list(context), az.memory(context, 4 << 20)
    shape = region(0, 0, 0, 2, 1000, 1000)
    args = (recorded, room + 2, byref(shape), 4, 4000, room, byref(shape), 4, 4000, None, 0, None)
    az.ok("zeCommandListAppendMemoryCopyRegion", *args)


def test_bad_regions(az: Calls, context: c_void_p) -> None:
    immediate, room = az.immediate(context), az.memory(context, 1 << 16)
    name = "zeCommandListAppendMemoryCopyRegion"
    one, two = region(0, 0, 0, 8, 8, 1), region(0, 0, 0, 8, 9, 1)
    az.error(INVALID_SIZE, name, immediate, room, byref(one), 8, 0, room + 4096, byref(two), 8, 0, None, 0, None)
    az.error(INVALID_SIZE, name, immediate, room, byref(one), 7, 0, room + 4096, byref(one), 8, 0, None, 0, None)
    cube = region(0, 0, 0, 8, 8, 2)
    az.error(INVALID_SIZE, name, immediate, room, byref(cube), 8, 63, room + 4096, byref(cube), 8, 64, None, 0, None)
    for empty in (region(0, 0, 0, 0, 8, 1), region(0, 0, 0, 8, 0, 1), region(0, 0, 0, 0, 0, 0)):
        az.ok(name, immediate, room, byref(empty), 8, 0, room, byref(empty), 8, 0, None, 0, None)
    az.ok("zeCommandListHostSynchronize", immediate, SOON)


def test_host_functions_run_in_order_on_another_thread(az: Calls, context: c_void_p) -> None:
    seen: list[tuple[int, int]] = []
    callback = HostFunction(lambda argument: seen.append((argument or 0, threading.get_native_id())))
    for make in (lambda: az.immediate(context), lambda: az.immediate(context, mode=SYNCHRONOUS)):
        seen.clear()
        immediate, row = make(), az.memory(context, 8)
        for index in range(50):
            az.fill(immediate, row, index, 8)
            az.ok("zeCommandListAppendHostFunction", immediate, callback, index, None, None, 0, None)
        az.ok("zeCommandListHostSynchronize", immediate, SOON)
        assert [argument for argument, _ in seen] == list(range(50))
        assert threading.get_native_id() not in {thread for _, thread in seen}
    queue, recorded = az.queue(context), az.list(context)
    seen.clear()
    for index in range(3):
        az.ok("zeCommandListAppendHostFunction", recorded, callback, index, None, None, 0, None)
    az.close(recorded)
    for _ in range(4):
        az.execute(queue, recorded)
    az.finish(queue)
    assert [argument for argument, _ in seen] == [0, 1, 2] * 4


def test_host_function_sees_what_came_before_and_is_seen_by_what_comes_after(az: Calls, context: c_void_p) -> None:
    row, seen = az.memory(context, 16), []

    def change(_: int | None) -> None:
        seen.append(read(row, 8))
        write(row, b"\x55" * 8)

    callback, immediate = HostFunction(change), az.immediate(context)
    az.fill(immediate, row, 0x44, 8)
    az.ok("zeCommandListAppendHostFunction", immediate, callback, None, None, None, 0, None)
    az.copy(immediate, row + 8, row, 8)
    az.ok("zeCommandListHostSynchronize", immediate, SOON)
    assert seen == [b"\x44" * 8]
    assert read(row, 16) == b"\x55" * 16


def test_blocking_host_function_does_not_stop_the_other_engine(az: Calls, context: c_void_p) -> None:
    entered, leave = threading.Event(), threading.Event()

    def block(_: int | None) -> None:
        entered.set()
        leave.wait(PATIENCE)

    callback = HostFunction(block)
    compute, copy, row = az.immediate(context), az.immediate(context, ordinal=COPY), az.memory(context, 4 << 20)
    az.ok("zeCommandListAppendHostFunction", compute, callback, None, None, None, 0, None)
    assert entered.wait(PATIENCE)
    az.fill(copy, row, 1, 4 << 20)
    az.ok("zeCommandListHostSynchronize", copy, SOON)
    assert read(row, 4 << 20) == b"\x01" * (4 << 20)
    az.error(NOT_READY, "zeCommandListHostSynchronize", compute, SECOND // 100)
    # Cheap work on the same engine need not wait for it either if its submitter runs it; in any case it completes.
    beside = az.immediate(context)
    az.fill(beside, row, 2, 64)
    leave.set()
    az.ok("zeCommandListHostSynchronize", compute, SOON)
    az.ok("zeCommandListHostSynchronize", beside, SOON)


def test_host_function_may_signal_and_submit(az: Calls, context: c_void_p) -> None:
    gate, done = az.events(context, 2)
    other, row = az.immediate(context, ordinal=COPY), az.memory(context, 8)
    results = []

    def work(_: int | None) -> None:
        results.append(az.call("zeEventHostSignal", gate))
        pattern = c_uint8(0x31)
        fill = "zeCommandListAppendMemoryFill"
        results.append(az.call(fill, other, row, byref(pattern), 1, 8, done, 1, (c_void_p * 1)(gate)))

    callback, immediate = HostFunction(work), az.immediate(context)
    az.ok("zeCommandListAppendHostFunction", immediate, callback, None, None, None, 0, None)
    az.ok("zeEventHostSynchronize", done, SOON)
    assert read(row, 8) == b"\x31" * 8
    # The event is signalled before the host function is done with its results.
    az.ok("zeCommandListHostSynchronize", immediate, SOON)
    assert results == [OK, OK]


def test_relaxed_order_still_honours_events(az: Calls, context: c_void_p) -> None:
    flags = ze.ZE_COMMAND_LIST_FLAG_RELAXED_ORDERING | ze.ZE_COMMAND_LIST_FLAG_MAXIMIZE_THROUGHPUT
    (event,) = az.events(context, 1)
    queue, recorded, row = az.queue(context), az.list(context, flags=flags), az.memory(context, 16)
    az.fill(recorded, row, 1, 8, event)
    az.copy(recorded, row + 8, row, 8, None, [event])
    az.close(recorded)
    az.execute(queue, recorded)
    az.finish(queue)
    assert read(row, 16) == b"\x01" * 16


def test_inline_threshold_and_threads_do_not_change_results() -> None:
    for variables in (
        {"ANYZERO_INLINE_BYTES": "0", "ANYZERO_SPIN_US": "0"},
        {"ANYZERO_THREADS": "1"},
        {"ANYZERO_THREADS": "16", "ANYZERO_INLINE_BYTES": "1G"},
    ):
        run_python(
            """
            az = Calls()
            context = az.context()
            size = 6 << 20
            one, two = az.memory(context, size, "device"), az.memory(context, size)
            for mode in (1, 2):
                for ordinal in (0, 1):
                    l = az.immediate(context, mode=mode, ordinal=ordinal)
                    for step in range(4):
                        az.fill(l, one, step, size)
                        az.copy(l, two, one, size)
                        az.copy(l, two + 7, one, 100)
                        az.ok("zeCommandListHostSynchronize", l, SOON)
                        assert read(two, size) == bytes([step]) * size
            """,
            **variables,
        )


def test_many_threads_on_one_queue_and_one_immediate_list(az: Calls, context: c_void_p) -> None:
    """Threads append and submit to the same queue and the same list; every command runs exactly once."""
    threads, times = 6, 150
    queue, immediate = az.queue(context), az.immediate(context)
    row = az.memory(context, threads * times * 2)
    write(row, bytes(threads * times * 2))

    def work(thread: int) -> None:
        for step in range(times):
            place = row + 2 * (thread * times + step)
            recorded = az.list(context)
            az.fill(recorded, place, 1, 1)
            az.close(recorded)
            az.execute(queue, recorded)
            az.ok("zeCommandListDestroy", recorded)
            az.fill(immediate, place + 1, 1, 1)
            if step % 50 == 0:
                az.finish(queue)
                az.ok("zeCommandListHostSynchronize", immediate, SOON)

    running = [threading.Thread(target=work, args=(index,)) for index in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    az.finish(queue)
    az.ok("zeCommandListHostSynchronize", immediate, SOON)
    assert read(row, threads * times * 2) == b"\x01" * (threads * times * 2)
