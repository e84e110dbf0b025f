"""Memory that calls and commands name: out of bounds, freed, leaked."""

from __future__ import annotations

import json
import mmap
import time
from collections.abc import Callable
from ctypes import CDLL, addressof, byref, c_int, c_long, c_size_t, c_uint8, c_void_p
from pathlib import Path

import pytest

import anyzero
from anyzero import ze
from tests.abi.calls import (
    ASYNCHRONOUS,
    FOREVER,
    INVALID_ARGUMENT,
    INVALID_SIZE,
    OK,
    SYNCHRONOUS,
    Calls,
    read,
    run_python,
    write,
)
from tests.checking.programs import checked, expect
from tests.patience import PATIENCE

SIZE = 64


@pytest.fixture
def lst(az: Calls, context: c_void_p) -> c_void_p:
    return az.immediate(context, mode=SYNCHRONOUS)


def append_copy(az: Calls, lst: c_void_p, to: int, source: int, size: int) -> int:
    return az.call("zeCommandListAppendMemoryCopy", lst, to, source, size, None, 0, None)


def test_a_copy_that_leaves_its_target_is_refused(az: Calls, context: c_void_p, lst: c_void_p) -> None:
    source, to = az.memory(context, 2 * SIZE), az.memory(context, SIZE, "device")
    with checked("memory") as found:
        assert append_copy(az, lst, to + 8, source, SIZE) == INVALID_SIZE
        assert found == []
    finding = found.the_only()
    assert finding.rule.name == "command-out-of-bounds"
    assert "writes 64 bytes, 8 more" in finding.message
    assert f"device allocation of {SIZE} bytes" in finding.memory
    assert finding.call == "zeCommandListAppendMemoryCopy"


def test_a_copy_that_leaves_its_source_names_the_line(az: Calls, context: c_void_p, lst: c_void_p) -> None:
    source, to = az.memory(context, SIZE), az.memory(context, 2 * SIZE)
    with checked("memory") as found:
        az.lib.zeCommandListAppendMemoryCopy(lst, to, source, SIZE + 1, None, 0, None)  # mistake
    assert "reads 65 bytes, 1 more" in expect("command-out-of-bounds", found).message


def test_a_mistake_at_one_place_is_reported_once_and_counted(az: Calls, context: c_void_p, lst: c_void_p) -> None:
    memory = az.memory(context, SIZE)
    with checked("memory") as found:
        for _ in range(7):
            append_copy(az, lst, memory, memory + 1, SIZE)
    assert found.the_only().count == 7


def test_a_fill_that_leaves_its_memory(az: Calls, context: c_void_p, lst: c_void_p) -> None:
    memory = az.memory(context, SIZE)
    az.fill(lst, memory, 7, SIZE)
    with checked("memory") as found:
        az.lib.zeCommandListAppendMemoryFill(lst, memory, byref(c_uint8(1)), 1, 10**6, None, 0, None)  # mistake
    expect("command-out-of-bounds", found)
    assert read(memory, SIZE) == bytes([7]) * SIZE, "the command was carried out"


def test_a_region_that_leaves_its_memory(az: Calls, context: c_void_p, lst: c_void_p) -> None:
    memory, other = az.memory(context, 8 * 8), az.memory(context, 8 * 8)
    inside = byref(ze.ze_copy_region_t(0, 0, 0, 8, 8, 1))
    outside = byref(ze.ze_copy_region_t(0, 1, 0, 8, 8, 1))
    copy = az.lib.zeCommandListAppendMemoryCopyRegion
    with checked("memory") as found:
        assert copy(lst, memory, inside, 8, 0, other, inside, 8, 0, None, 0, None) == OK
        copy(lst, memory, inside, 8, 0, other, outside, 8, 0, None, 0, None)  # mistake
    assert "8 more" in expect("command-out-of-bounds", found).message


def test_a_timestamp_behind_its_memory(az: Calls, context: c_void_p, lst: c_void_p) -> None:
    memory = az.memory(context, 12)
    pointer = c_void_p(memory + 8)
    with checked("memory") as found:
        az.lib.zeCommandListAppendWriteGlobalTimestamp(lst, pointer, None, 0, None)  # mistake
    expect("command-out-of-bounds", found)


def test_memory_is_used_after_it_is_freed(az: Calls, context: c_void_p, lst: c_void_p) -> None:
    memory, other = az.memory(context, SIZE), az.memory(context, SIZE)
    with checked("memory") as found:
        az.ok("zeMemFree", context, memory)
        result = az.lib.zeCommandListAppendMemoryCopy(lst, other, memory, SIZE, None, 0, None)  # mistake
    assert result == INVALID_ARGUMENT
    assert "has been freed" in expect("use-after-free", found).memory


def test_memory_of_the_program_is_used_when_its_import_has_ended(az: Calls, context: c_void_p, lst: c_void_p) -> None:
    with mmap.mmap(-1, mmap.PAGESIZE) as pages:
        base, imported = addressof((c_uint8 * mmap.PAGESIZE).from_buffer(pages)), c_void_p()
        ext = ze.ze_external_memmap_sysmem_ext_desc_t(pSystemMemory=base, size=mmap.PAGESIZE)
        desc = ze.ze_host_mem_alloc_desc_t(pNext=addressof(ext))
        with checked("memory") as found:
            az.ok("zeMemAllocHost", context, byref(desc), mmap.PAGESIZE, 0, byref(imported))
            az.ok("zeMemFree", context, imported)
            az.fill(lst, base, 7, mmap.PAGESIZE)
        assert pages[:] == bytes([7]) * mmap.PAGESIZE
    assert list(map(str, found)) == []


def test_the_program_gets_the_addresses_of_freed_memory(az: Calls, context: c_void_p, lst: c_void_p) -> None:
    libc = CDLL(None)
    libc.mmap.restype = c_void_p
    libc.mmap.argtypes = c_void_p, c_size_t, c_int, c_int, c_int, c_long
    size, fixed_if_free = 600 << 20, 0x100000  # more than the driver keeps; MAP_FIXED_NOREPLACE
    with checked("memory") as found:
        memory = az.memory(context, size)
        az.ok("zeMemFree", context, memory)
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | fixed_if_free
        assert libc.mmap(memory, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0) == memory
        az.fill(lst, memory, 7, mmap.PAGESIZE)
    assert read(memory, 4) == bytes([7]) * 4
    assert list(map(str, found)) == []
    libc.munmap(c_void_p(memory), c_size_t(mmap.PAGESIZE))


def test_freed_memory_is_not_given_out_again_at_once(az: Calls, context: c_void_p) -> None:
    with checked("memory") as found:
        memory = az.memory(context, SIZE)
        az.ok("zeMemFree", context, memory)
        others = [az.memory(context, SIZE) for _ in range(10)]
    assert memory not in others
    assert found == []


@anyzero.kernel
def nothing(to: anyzero.ptr[anyzero.i32]):  # type: ignore[no-untyped-def]
    pass


@pytest.mark.parametrize("what", ["number of groups", "timestamps"])
def test_a_list_is_executed_behind_the_memory_that_it_names(az: Calls, what: str) -> None:
    ctx = anyzero.device().context()
    context, made = c_void_p(ctx.handle), ctx.command_list()
    memory = az.memory(context, SIZE)
    if what == "timestamps":
        pool = az.pool(context, 1, flags=ze.ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP)
        event = az.event(pool, 0)
        az.ok("zeCommandListAppendQueryKernelTimestamps", made.handle, 1, byref(event), memory, None, None, 0, None)
    else:
        write(memory, bytes(SIZE))  # groups: none
        kernel = nothing.on(ctx)
        az.ok("zeKernelSetGroupSize", kernel.handle, 1, 1, 1)
        az.ok("zeCommandListAppendLaunchKernelIndirect", made.handle, kernel.handle, c_void_p(memory), None, 0, None)
    made.end()
    queue, handle = ctx.queue(), c_void_p(made.handle)
    with checked("memory") as found:
        az.ok("zeMemFree", context, memory)
        az.lib.zeCommandQueueExecuteCommandLists(queue.handle, 1, byref(handle), None)  # mistake
    assert "has been freed" in expect("use-after-free", found).memory
    az.finish(c_void_p(queue.handle))
    if what == "timestamps":
        az.ok("zeEventDestroy", event)
        az.ok("zeEventPoolDestroy", pool)


def test_memory_is_freed_twice(az: Calls, context: c_void_p) -> None:
    memory = az.memory(context, SIZE)
    with checked("memory") as found:
        az.ok("zeMemFree", context, memory)
        az.lib.zeMemFree(context, memory)  # mistake
    expect("double-free", found)


def test_memory_is_freed_while_a_command_is_to_use_it(az: Calls, context: c_void_p) -> None:
    lst = az.immediate(context, mode=ASYNCHRONOUS)
    event = az.events(context, 1)[0]
    memory, other = az.memory(context, SIZE), az.memory(context, SIZE)
    az.copy(lst, other, memory, SIZE, waits=[event])
    with checked("sync") as found:
        az.lib.zeMemFree(context, memory)  # mistake
        az.ok("zeEventHostSignal", event)
    # The next test may get the same memory.
    az.ok("zeCommandListHostSynchronize", lst, FOREVER)
    assert "memory copy" in expect("memory-freed-in-use", found).other


def test_memory_is_read_and_freed_without_a_wait(az: Calls, context: c_void_p) -> None:
    """Where the command is done by luck, so that nothing is in use any more."""
    lst, memory = az.immediate(context, mode=ASYNCHRONOUS), az.memory(context, SIZE)
    with checked("races", "sync") as found:
        az.fill(lst, memory, 7, SIZE)
        deadline = time.monotonic() + PATIENCE
        while read(memory, SIZE) != bytes([7]) * SIZE and time.monotonic() < deadline:
            time.sleep(0)
        az.lib.zeMemFree(context, memory)  # mistake
    assert "memory fill" in expect("memory-freed-in-use", found).other


WAITS: dict[str, Callable[[Calls, c_void_p, c_void_p], None]] = {
    "list": lambda az, lst, _: az.ok("zeCommandListHostSynchronize", lst, FOREVER),
    "device": lambda az, *_: az.ok("zeDeviceSynchronize", az.device),
    "event": lambda az, _, event: az.ok("zeEventHostSynchronize", event, FOREVER),
}


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_memory_is_freed_after_a_wait(
    az: Calls, context: c_void_p, wait: Callable[[Calls, c_void_p, c_void_p], None]
) -> None:
    lst = az.immediate(context, mode=ASYNCHRONOUS, flags=ze.ZE_COMMAND_QUEUE_FLAG_IN_ORDER)
    memory, other = az.memory(context, SIZE), az.memory(context, SIZE)
    event = az.events(context, 1)[0]
    with checked("memory", "sync", "races") as found:
        az.fill(lst, memory, 7, SIZE)
        az.copy(lst, other, memory, SIZE, event)
        wait(az, lst, event)
        for each in (memory, other):
            az.ok("zeMemFree", context, each)
    assert list(map(str, found)) == []


def test_memory_that_outlives_its_context_is_a_leak(az: Calls) -> None:
    with checked("memory") as found:
        context = az.context()
        az.ok("zeMemFree", context, az.memory(context, SIZE))
        memory = c_void_p()
        az.ok("zeMemAllocHost", context, byref(ze.ze_host_mem_alloc_desc_t()), 48, 0, byref(memory))
        az.lib.zeContextDestroy(context)  # mistake
    finding = expect("leak", found)
    assert "host allocation of 48 bytes" in finding.message
    assert "zeMemAllocHost" in finding.other
    assert "calls.py" in finding.other


def test_objects_that_outlive_their_context_are_leaks(az: Calls) -> None:
    with checked("memory") as found:
        context = az.context()
        az.list(context)
        az.pool(context, 1)
        az.queue(context)
        az.ok("zeContextDestroy", context)
    assert sorted(each.message.split(" still exists")[0] for each in found) == [
        "a command list",
        "a command queue",
        "an event pool",
    ]


def test_clean_programs_have_no_findings(az: Calls) -> None:
    with checked("memory", "sync", "strict") as found:
        context = az.context()
        lst = az.immediate(context, mode=SYNCHRONOUS)
        memory, other = az.memory(context, SIZE), az.memory(context, SIZE, "device")
        az.copy(lst, other, memory, SIZE)
        az.copy(lst, other + SIZE - 1, memory, 1)
        az.copy(lst, other, memory, 0)
        az.fill(lst, memory, 1, SIZE)
        az.ok("zeMemFree", context, memory)
        az.ok("zeMemFree", context, other)
        az.ok("zeCommandListDestroy", lst)
        az.ok("zeContextDestroy", context)
    assert list(map(str, found)) == []


def test_what_exists_at_the_end_of_the_process_is_a_leak(tmp_path: Path) -> None:
    program = f"""
        az = Calls()
        context = az.context()
        az.ok("zeMemFree", context, az.memory(context, {SIZE}))
        az.memory(context, 48)
        other = az.context()
        az.list(other)
    """
    run_python(program, ANYZERO_CHECK="memory", ANYZERO_CHECK_REPORT=str(tmp_path))
    found = [json.loads(line) for path in tmp_path.iterdir() for line in path.read_text().splitlines()]
    assert sorted((each["rule"], each["message"]) for each in found) == [
        ("leak", "a command list still exists when the process ends"),
        ("leak", "a context still exists when the process ends"),
        ("leak", "the host allocation of 48 bytes still exists when the process ends"),
    ]
