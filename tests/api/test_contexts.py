"""Contexts: what lives in them, and what outlives them."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import anyzero as az
from tests.api.conftest import RunPython
from tests.patience import PATIENCE


def test_a_context_is_closed_once() -> None:
    ctx = az.device().context()
    assert not ctx.closed
    assert ctx.status == "ok"
    ctx.close()
    ctx.close()
    assert ctx.closed
    assert "closed" in repr(ctx)
    for use in (lambda: ctx.zeros(4), ctx.queue, ctx.immediate, ctx.command_list, ctx.event, lambda: ctx.status):
        with pytest.raises(az.ClosedError, match="this Context is closed"):
            use()


def test_a_context_needs_a_device() -> None:
    with pytest.raises(TypeError, match="devices"):
        az.Context()


def test_what_was_made_outlives_the_context() -> None:
    with az.device().context() as ctx:
        shared = ctx.full(4, 5, np.int32, kind="shared")
        array = np.asarray(shared)
        event = ctx.event()
        lst = ctx.immediate()
        target = np.zeros(4, np.int32)
    assert array.tolist() == [5, 5, 5, 5]
    event.signal()
    assert event.done
    lst.copy(target, shared, wait=event).wait(timeout=PATIENCE)
    assert target.tolist() == [5, 5, 5, 5]


def test_device_memory_is_within_reach_after_its_context_is_closed() -> None:
    with az.device().context() as ctx:
        x, image = ctx.to_device(np.arange(4)), ctx.image((2, 2), np.uint8)
        addresses, memory = ctx.reserve(4096), ctx.physical_memory(4096)
        queue, cl = ctx.queue(), ctx.command_list()
    assert x.copy_to().tolist() == [0, 1, 2, 3]
    x[2:].fill(7)
    x[:1].copy_from([9])
    assert x.copy_to().tolist() == [9, 1, 7, 7]
    image.copy_from(np.full((2, 2), 3, np.uint8))
    assert image.view().copy_to().tolist() == [[3, 3], [3, 3]]
    with cl:
        cl.fill(x, 1)
    for _ in range(200):
        queue.submit(cl)
    queue.synchronize(timeout=PATIENCE)
    assert x.copy_to().tolist() == [1, 1, 1, 1]
    addresses.map(memory)
    mapped = addresses.buffer(4, np.int16)
    mapped.fill(2)
    assert mapped.copy_to().tolist() == [2, 2, 2, 2]
    assert addresses.access() == "read_write"
    addresses.unmap()


def test_the_memory_of_a_closed_context_is_freed_with_its_last_user() -> None:
    gc.collect()
    free = az.device().memory_free
    with az.device().context() as ctx:
        x = ctx.zeros(1 << 20, np.uint8)
    assert not x.copy_to().any()
    assert az.device().memory_free <= free - (1 << 20)
    gone = weakref.ref(ctx)
    del ctx, x
    assert gone() is None
    assert az.device().memory_free >= free


def test_a_faulting_copy_costs_a_buffer_nothing_but_that_copy(run_python: RunPython) -> None:
    source = """
    ctx = az.device().context()
    x, broken = ctx.full(4, 3, np.uint8), ctx.reserve(4096).buffer(4)
    for _ in range(2):
        try:
            broken.copy_to()
        except az.DeviceLost as error:
            assert "a memory copy of 4 bytes" in str(error), error
        else:
            raise AssertionError
        assert x.copy_to().tolist() == [3] * 4
    """
    run_python(source, ANYZERO_LOG="off")


def test_memory_outlives_everything_while_an_array_looks_at_it() -> None:
    ctx = az.device().context()
    array = np.asarray(ctx.full(1 << 16, 9, np.uint8, kind="host"))
    ctx.close()
    del ctx
    gc.collect()
    assert (array == 9).all()


def test_nothing_is_held_in_circles() -> None:
    gc.collect()
    gc.disable()
    try:
        ctx = az.device().context()
        buffer = ctx.zeros(1 << 20, np.uint8)
        lst = ctx.immediate()
        lst.copy(buffer, buffer[:]).wait()
        event, queue, pool = ctx.event(), ctx.queue(), ctx.event_pool(2)
        with ctx.command_list() as cl:
            cl.fill(buffer, 1)
        queue.submit(cl).wait()
        assert pool[0] is pool[0]
        gone = [weakref.ref(each) for each in (ctx, buffer, lst, event, queue, pool, cl)]
        az.device().synchronize()
        free = az.device().memory_free
        del ctx, buffer, lst, event, queue, pool, cl
        assert [each() for each in gone] == [None] * 7
        assert az.device().memory_free >= free + (1 << 20)
    finally:
        gc.enable()


def test_too_much_memory_says_so(run_python: RunPython) -> None:
    source = """
    ctx = az.device().context()
    keep = ctx.buffer(48 << 10)
    try:
        ctx.buffer(32 << 10)
    except az.OutOfDeviceMemory as error:
        assert isinstance(error, MemoryError)
        print(error)
    keep.close()
    ctx.buffer(32 << 10)
    """
    out = run_python(source, ANYZERO_MEMORY="64K")
    assert out.startswith("zeMemAllocDevice OUT_OF_DEVICE_MEMORY: ")
    assert "ANYZERO_MEMORY" in out


def test_virtual_memory_maps_and_protects(ctx: az.Context) -> None:
    page = ctx.page_size()
    with ctx.reserve(4 * page) as addresses, ctx.physical_memory(2 * page) as memory:
        assert (addresses.nbytes, memory.nbytes) == (4 * page, 2 * page)
        assert addresses.access() == "none"
        addresses.map(memory, at=page)
        assert [addresses.access(i * page) for i in range(4)] == ["none", "read_write", "read_write", "none"]
        x = addresses.buffer((2, page // 8), np.uint64, at=page)
        x.fill(11)
        assert (x.copy_to() == 11).all()
        # The same memory at another address.
        addresses.map(memory, at=3 * page, nbytes=page, offset=page)
        assert (addresses.buffer(page, np.uint8, at=3 * page).view(np.uint64).copy_to() == 11).all()
        addresses.set_access("read", at=3 * page, nbytes=page)
        assert addresses.access(3 * page) == "read"
        with pytest.raises(az.InvalidArgument, match="mapped already"):
            addresses.map(memory, at=page)
        with pytest.raises(az.InvalidArgument, match="exceed a reservation"):
            addresses.map(memory, at=3 * page)
        addresses.unmap(at=page, nbytes=2 * page)
        assert addresses.access(page) == "none"
        with pytest.raises(ValueError, match="one of none, read, read_write"):
            addresses.set_access("write")  # type: ignore[arg-type]


def test_residency_calls_take_buffers_and_images(ctx: az.Context) -> None:
    x, image = ctx.zeros(16), ctx.image((4, 4))
    for memory in (x, x[4:8], image):
        ctx.make_resident(memory)
        ctx.evict(memory)
    ctx.system_barrier()


def test_evicted_memory_faults_on_a_device_without_paging(run_python: RunPython) -> None:
    source = """
    device = az.device()
    assert not device.on_demand_paging
    ctx = device.context()
    x, y = ctx.zeros(64), ctx.zeros(64)
    with ctx.command_list() as cl:
        cl.copy(y, x)
    queue = ctx.queue()
    queue.submit(cl).wait(timeout=200)
    ctx.evict(x)
    try:
        queue.submit(cl).wait(timeout=200)
    except az.DeviceLost as error:
        print(error)
    """
    out = run_python(source, ANYZERO_DEVICES="cpu:paging=off", ANYZERO_LOG="off")
    assert "not resident" in out


def test_memory_crosses_processes(ctx: az.Context, run_python: RunPython) -> None:
    mine = ctx.to_device(np.arange(1024, dtype=np.int32))
    pool = ctx.event_pool(2, ipc=True)
    source = """
    memory, events = (bytes.fromhex(each) for each in sys.argv[1:])
    ctx = az.device().context()
    theirs = ctx.open_ipc(memory, (32, 32), np.int32)
    there = ctx.open_event_pool(events, 2)
    assert there[0].done and not there[1].done
    print(int(theirs.copy_to().sum()))
    theirs[1].fill(-1)
    there[1].signal()
    """
    pool[0].signal()
    handle = mine.ipc_handle()
    out = run_python(source, handle.hex(), pool.ipc_handle().hex())
    assert int(out) == sum(range(1024))
    pool[1].wait(timeout=PATIENCE)
    expected = np.arange(1024, dtype=np.int32)
    expected[32:64] = -1
    assert np.array_equal(mine.copy_to(), expected)
    ctx.close_ipc(handle)
    with pytest.raises(az.Error):
        ctx.open_ipc(handle, 1024, np.int32)


def test_ipc_handles_are_checked(ctx: az.Context) -> None:
    with pytest.raises(ValueError, match="64 bytes"):
        ctx.open_ipc(b"short", 4)
    with pytest.raises(ValueError, match="64 bytes"):
        ctx.open_event_pool(b"short", 4)
    with pytest.raises(az.Error):
        ctx.open_ipc(bytes(64), 4)
    x = ctx.zeros(16, np.uint8)
    with pytest.raises(az.InvalidArgument, match="lies inside the allocation"):
        x[4:].ipc_handle()
    with pytest.raises(az.InvalidArgument, match="takes 1048576 bytes"):
        ctx.open_ipc(x.ipc_handle(), 1 << 20)
    with pytest.raises(az.InvalidArgument, match="ipc=True"):
        ctx.event_pool(1).ipc_handle()
