"""OpenCL and Level Zero on the same memory, from the same program, in one order."""

import sys

try:
    import numpy as np
    import pyopencl as cl
except ImportError as error:
    print(f"skipped: {error}; pip install anyzero[opencl]")
    sys.exit()
try:
    cl_ctx = cl.create_some_context(interactive=False)
except cl.Error as error:
    print(f"skipped: there is no OpenCL platform ({error}); on Debian: apt install pocl-opencl-icd")
    sys.exit()

import anyzero as az
from anyzero.interop import opencl

SOURCE = """
kernel void next(global uint *x, uint step) { x[get_global_id(0)] = 3 * x[get_global_id(0)] + step * STRIDE; }
"""
N = 1 << 16

cl_queue = cl.CommandQueue(cl_ctx)
program = cl.Program(cl_ctx, SOURCE).build("-DSTRIDE=10")
theirs = cl.Buffer(cl_ctx, cl.mem_flags.READ_WRITE, 4 * N)
cl.enqueue_fill_buffer(cl_queue, theirs, np.uint32(0), 0, 4 * N)
cl_queue.finish()

with az.device().context() as ctx:
    # A buffer: nothing is copied, because a CPU device uses host memory.
    mine = opencl.buffer(ctx, theirs, dtype=np.uint32)
    np.asarray(mine)[:] = 1
    seen = np.empty(N, np.uint32)
    cl.enqueue_copy(cl_queue, seen, theirs)
    assert (seen == 1).all()
    print(f"ok: {mine} is the memory of the OpenCL buffer, at {mine.pointer:#x}")

    # A program: compiled for Level Zero from its source, with its build options.
    try:
        module = opencl.module(ctx, program)
    except az.Unavailable as error:
        print(f"skipped: {error}")
        sys.exit()
    ours, their_next = module["next"], cl.Kernel(program, "next")
    print(f"ok: the module has the program's kernels: {', '.join(module)}")

    # A queue: commands of both sides run in the order of submission, without blocking the host.
    # Each step depends on the one before: another order has another result.
    expected = 1
    with opencl.queue(ctx, cl_queue) as shared:
        for step in range(10):
            their_next(cl_queue, (N,), None, theirs, np.uint32(step))
            with shared.turn() as lst:
                ours[N](mine, step + 100, on=lst)
                lst.fill(mine[:1], step)
            expected = 3 * (3 * expected + step * 10) + (step + 100) * 10
    assert (np.asarray(mine)[1:] == expected % 2**32).all()
    assert np.asarray(mine)[0] == 9
    print("ok: twenty launches and ten fills, in turns, in order")

    # Single events: OpenCL waits for a command of Level Zero, and vice versa.
    go = ctx.event()
    target = ctx.zeros(N, np.uint32, kind="shared")
    with ctx.immediate() as lst, ctx.immediate(kind="copy") as copies:
        filled = lst.fill(mine, 5, wait=go)
        after = their_next(cl_queue, (N,), None, theirs, np.uint32(1), wait_for=[opencl.user_event(cl_ctx, filled)])
        copied = copies.copy(target, mine, wait=opencl.event(ctx, after))
        go.signal()
        copied.wait(timeout=30)
    assert (np.asarray(target) == 25).all()
    print("ok: a fill here, a kernel there, and a copy here waited for each other")

    # Released in any order, the memory stays valid as long as it is used.
    theirs.release()
    mine.fill(2)
    assert (mine.copy_to() == 2).all()
    print("ok: the memory outlives the OpenCL buffer")
