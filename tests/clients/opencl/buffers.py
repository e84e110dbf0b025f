"""OpenCL buffers as buffers of Level Zero: the same memory, released in any order."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyopencl as cl
import pyopencl.array
import pytest

import anyzero as az
from anyzero.interop import opencl
from tests.patience import PATIENCE

FLAGS = cl.mem_flags
Bytes = npt.NDArray[np.uint8]


def pages(count: int, skip: int = 0) -> Bytes:
    """Memory of the program's own that begins `skip` bytes behind a page."""
    room = np.zeros((count + 2) * 4096, np.uint8)
    start = -room.ctypes.data % 4096 + skip
    return room[start : start + count * 4096]


def plain(cl_ctx: Any) -> Any:
    return cl.Buffer(cl_ctx, FLAGS.READ_WRITE, 1 << 16)


def odd(cl_ctx: Any) -> Any:
    return cl.Buffer(cl_ctx, FLAGS.READ_WRITE, 20)


def copied(cl_ctx: Any) -> Any:
    return cl.Buffer(cl_ctx, FLAGS.READ_WRITE | FLAGS.COPY_HOST_PTR, hostbuf=np.arange(300, dtype=np.uint32))


def of_the_host(cl_ctx: Any) -> Any:
    return cl.Buffer(cl_ctx, FLAGS.READ_WRITE | FLAGS.ALLOC_HOST_PTR, 4096)


def on_pages(cl_ctx: Any) -> Any:
    return cl.Buffer(cl_ctx, FLAGS.READ_WRITE | FLAGS.USE_HOST_PTR, hostbuf=pages(2))


def beside_pages(cl_ctx: Any) -> Any:
    return cl.Buffer(cl_ctx, FLAGS.READ_WRITE | FLAGS.USE_HOST_PTR, hostbuf=pages(2, skip=64))


def a_part(cl_ctx: Any) -> Any:
    align = cl_ctx.devices[0].mem_base_addr_align // 8
    return cl.Buffer(cl_ctx, FLAGS.READ_WRITE, 4 * align).get_sub_region(align, 2 * align)


KINDS = [plain, odd, copied, of_the_host, on_pages, beside_pages, a_part]
each_kind = pytest.mark.parametrize("create", KINDS, ids=lambda create: create.__name__)
Create = Callable[[Any], Any]


@each_kind
def test_both_have_one_address(
    ctx: az.Context, cl_ctx: Any, create: Create, address_in_opencl: Callable[[Any], int]
) -> None:
    theirs = create(cl_ctx)
    mine = opencl.buffer(ctx, theirs)
    assert mine.nbytes == theirs.size
    assert address_in_opencl(theirs) == mine.pointer
    assert np.asarray(mine).ctypes.data == mine.pointer


@each_kind
def test_what_one_writes_the_other_reads(ctx: az.Context, cl_ctx: Any, cl_queue: Any, create: Create) -> None:
    theirs = create(cl_ctx)
    mine = opencl.buffer(ctx, theirs, dtype=np.uint32)
    cl.enqueue_fill_buffer(cl_queue, theirs, np.uint32(11), 0, theirs.size)
    cl_queue.finish()
    assert (mine.copy_to() == 11).all()
    mine.fill(12)
    seen = np.empty(mine.shape, np.uint32)
    cl.enqueue_copy(cl_queue, seen, theirs)
    assert (seen == 12).all()
    np.asarray(mine)[0] = 13
    cl.enqueue_copy(cl_queue, seen, theirs)
    assert list(seen[:2]) == [13, 12]


@each_kind
def test_kernels_of_both_work_on_it(
    ctx: az.Context, cl_ctx: Any, cl_queue: Any, program: Any, advance: az.Kernel, create: Create
) -> None:
    theirs = create(cl_ctx)
    mine = opencl.buffer(ctx, theirs, dtype=np.uint32)
    mine.fill(1)
    cl.Kernel(program, "advance")(cl_queue, mine.shape, None, theirs, np.uint32(3), np.uint32(4))
    cl_queue.finish()
    with ctx.immediate() as lst:
        advance[mine.size](mine, 10, 5, on=lst)
    assert (np.asarray(mine) == 75).all()


def test_whole_pages_are_an_allocation(ctx: az.Context, cl_ctx: Any) -> None:
    mine = opencl.buffer(ctx, on_pages(cl_ctx))
    assert mine.address_range == (mine.pointer, 8192)
    assert mine.kind == "host"


@each_kind
def test_the_opencl_buffer_may_go_first(ctx: az.Context, cl_ctx: Any, create: Create) -> None:
    theirs = create(cl_ctx)
    mine = opencl.buffer(ctx, theirs)
    mine.fill(3)
    theirs.release()
    del theirs
    gc.collect()
    # Whoever gets freed memory next would write over it.
    others = [create(cl_ctx) for _ in range(4)]
    for other in others:
        opencl.buffer(ctx, other).fill(9)
    assert (mine.copy_to() == 3).all()
    mine.fill(4)
    assert (np.asarray(mine) == 4).all()


@each_kind
def test_the_level_zero_buffer_may_go_first(ctx: az.Context, cl_ctx: Any, cl_queue: Any, create: Create) -> None:
    theirs = create(cl_ctx)
    before = theirs.reference_count
    mine = opencl.buffer(ctx, theirs)
    assert theirs.reference_count > before
    mine.fill(3)
    array = np.asarray(mine)
    mine.close()
    array[0] = 5
    seen = np.empty(theirs.size, np.uint8)
    cl.enqueue_copy(cl_queue, seen, theirs)
    assert list(seen[:2]) == [5, 3]
    del array
    gc.collect()
    cl_queue.finish()
    # PoCL's own thread lets go of a command's buffers after it has told that the command is done.
    deadline = time.monotonic() + PATIENCE
    while theirs.reference_count > before and time.monotonic() < deadline:
        time.sleep(0.001)
    assert theirs.reference_count == before
    cl.enqueue_fill_buffer(cl_queue, theirs, np.uint8(6), 0, theirs.size)
    cl.enqueue_copy(cl_queue, seen, theirs)
    assert (seen == 6).all()


def test_commands_keep_it(ctx: az.Context, cl_ctx: Any) -> None:
    memory = pages(1)
    theirs = cl.Buffer(cl_ctx, FLAGS.READ_WRITE | FLAGS.USE_HOST_PTR, hostbuf=memory)
    mine, begin = opencl.buffer(ctx, theirs), ctx.event()
    with ctx.immediate() as lst:
        lst.fill(mine, 8, wait=begin)
        mine.close()
        theirs.release()
        del theirs, mine
        gc.collect()
        begin.signal()
    assert (memory == 8).all()


def test_several_buffers_on_one(ctx: az.Context, cl_ctx: Any) -> None:
    theirs = on_pages(cl_ctx)
    first, second = opencl.buffer(ctx, theirs), opencl.buffer(ctx, theirs, dtype=np.uint16)
    with az.device().context() as other:
        third = opencl.buffer(other, theirs)
        assert first.pointer == second.pointer == third.pointer
        third.fill(1)
        third.close()
    first.close()
    assert (second.copy_to() == 0x101).all()


def test_opencl_on_memory_of_level_zero(ctx: az.Context, cl_ctx: Any, cl_queue: Any) -> None:
    """The other way round: OpenCL is given the memory, and what it makes of it finds back."""
    given = ctx.zeros(100, np.int32, kind="host")
    theirs = cl.Buffer(cl_ctx, FLAGS.READ_WRITE | FLAGS.USE_HOST_PTR, hostbuf=np.asarray(given))
    mine = opencl.buffer(ctx, theirs, dtype=np.int32)
    assert mine.pointer == given.pointer
    pointer = given.pointer
    given.close()
    del given
    gc.collect()
    mine.fill(7)
    assert mine.address_range[0] == pointer
    seen = np.empty(100, np.int32)
    cl.enqueue_copy(cl_queue, seen, theirs)
    assert (seen == 7).all()


def test_arrays_of_pyopencl(ctx: az.Context, cl_queue: Any) -> None:
    theirs = cl.array.to_device(cl_queue, np.arange(6, dtype=np.float32).reshape(2, 3))
    mine = opencl.buffer(ctx, theirs)
    assert (mine.shape, mine.dtype) == ((2, 3), np.float32)
    assert (mine.copy_to() == theirs.get()).all()
    second = opencl.buffer(ctx, theirs[1])
    assert second.pointer == mine.pointer + 12
    second.fill(9)
    assert theirs.get().tolist() == [[0, 1, 2], [9, 9, 9]]
    with pytest.raises(az.InvalidArgument, match="not contiguous"):
        opencl.buffer(ctx, theirs.T)


def test_shapes(ctx: az.Context, cl_ctx: Any) -> None:
    theirs = odd(cl_ctx)
    assert opencl.buffer(ctx, theirs).shape == (20,)
    assert opencl.buffer(ctx, theirs, dtype=np.float64).shape == (2,)
    assert opencl.buffer(ctx, theirs, (2, 2), np.float32).shape == (2, 2)
    with pytest.raises(az.InvalidArgument, match="takes 24 bytes; the OpenCL buffer has 20"):
        opencl.buffer(ctx, theirs, 3, np.float64)
    with pytest.raises(az.InvalidArgument, match="holds numbers"):
        opencl.buffer(ctx, theirs, dtype=object)


def test_a_copy_when_asked_for(ctx: az.Context, cl_ctx: Any, cl_queue: Any) -> None:
    theirs = copied(cl_ctx)
    mine = opencl.buffer(ctx, theirs, dtype=np.uint32, copy=True, queue=cl_queue)
    mine[:1].fill(99)
    seen = np.empty(300, np.uint32)
    cl.enqueue_copy(cl_queue, seen, theirs)
    assert (seen == np.arange(300)).all()
    assert (np.asarray(mine)[1:] == seen[1:]).all()


def test_memory_of_other_devices_is_refused(ctx: az.Context, cl_ctx: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no other device here, so the one there is gets taken for one."""
    from anyzero.interop.opencl import _buffer

    seen = types.SimpleNamespace(**vars(cl))
    seen.device_type = types.SimpleNamespace(CPU=cl.device_type.GPU)
    monkeypatch.setattr(_buffer, "cl", seen)
    theirs = copied(cl_ctx)
    with pytest.raises(az.UnsupportedFeature, match="is not host memory") as caught:
        opencl.buffer(ctx, theirs)
    assert "copy=True" in str(caught.value)
    mine = opencl.buffer(ctx, theirs, dtype=np.uint32, copy=True)
    assert (mine.copy_to() == np.arange(300)).all()


def test_what_cannot_be_shared(ctx: az.Context, cl_ctx: Any, cl_queue: Any) -> None:
    theirs = plain(cl_ctx)
    for wrong in (None, 7, np.zeros(4), ctx.zeros(4)):
        with pytest.raises(TypeError, match=r"pyopencl\.Buffer"):
            opencl.buffer(ctx, wrong)
    with pytest.raises(TypeError, match=r"anyzero\.Context is expected"):
        opencl.buffer(cl_ctx, theirs)
    with pytest.raises(TypeError, match=r"pyopencl\.CommandQueue is expected"):
        opencl.buffer(ctx, theirs, queue=ctx)
    other = cl.Context(cl_ctx.devices)
    with pytest.raises(az.InvalidHandle, match="different contexts"):
        opencl.buffer(ctx, theirs, queue=cl.CommandQueue(other))
    hidden = cl.Buffer(cl_ctx, FLAGS.READ_WRITE | FLAGS.HOST_NO_ACCESS, 4096)
    with pytest.raises(az.Error, match="without access for the host"):
        opencl.buffer(ctx, hidden)
    closed = az.device().context()
    closed.close()
    with pytest.raises(az.ClosedError):
        opencl.buffer(closed, odd(cl_ctx))


def test_images_are_no_buffers(ctx: az.Context, cl_ctx: Any) -> None:
    form = cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.FLOAT)
    image = cl.create_image(cl_ctx, FLAGS.READ_WRITE, form, shape=(4, 4))
    with pytest.raises(TypeError, match="IMAGE2D"):
        opencl.buffer(ctx, image)


WITHOUT_PAGING = """
import numpy as np, pyopencl as cl, anyzero as az
from anyzero.interop import opencl
cl_ctx = cl.create_some_context(interactive=False)
room = np.zeros(4 * 4096, np.uint8)
room = room[-room.ctypes.data % 4096:][:2 * 4096]
def share(start, stop):
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
    return opencl.buffer(ctx, cl.Buffer(cl_ctx, flags, hostbuf=room[start:stop]))
with az.device().context() as ctx:
    assert not ctx.device.on_demand_paging
    whole = share(0, 8192)
    whole.fill(1)
    assert (room == 1).all()
    whole.close()
    part = share(1024, 1088)
    assert part.pointer == room.ctypes.data + 1024 and part.address_range == (room.ctypes.data, 4096)
    part.fill(2)
    assert (room[1024:1088] == 2).all() and room.sum(dtype=int) == 8192 + 64
    neighbour = share(2048, 2112)
    neighbour.fill(3)
    assert (room[2048:2112] == 3).all()
    try:
        share(4000, 4200)
    except az.UnsupportedFeature as error:
        print(error)
"""


def test_a_device_without_paging_takes_pages_only() -> None:
    """It needs to know memory beforehand, and a page cannot belong to two."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_PAGING],
        env={**os.environ, "ANYZERO_DEVICES": "cpu:paging=off"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert "are not pages that the device could use" in done.stdout
    assert "alignment=4096" in done.stdout
