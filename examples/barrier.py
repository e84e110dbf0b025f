"""A barrier between two commands: everything before it is done, and visible, before anything after it begins."""

import numpy as np

import anyzero as az

with az.device().context() as ctx, ctx.queue() as queue:
    first = ctx.buffer(1 << 16, np.uint32)
    second = np.zeros(first.shape, first.dtype)
    with ctx.command_list(in_order=False) as cl:
        cl.fill(first, 3)
        cl.barrier()
        cl.copy(second, first)
    queue.submit(cl).wait()
    assert (second == 3).all()
    print("ok: the copy behind the barrier saw the whole fill")
