"""A barrier that names the memory it is about: only these buffers need to be coherent for what follows."""

import numpy as np

import anyzero as az

with az.device().context() as ctx, ctx.queue() as queue:
    one, other = ctx.buffer(4096, np.uint32), ctx.buffer(4096, np.uint32)
    back = np.zeros((2, 4096), np.uint32)
    with ctx.command_list(in_order=False) as cl:
        cl.fill(one, 1)
        cl.fill(other, 2)
        cl.barrier(one, other)
        cl.copy(back[0], one)
        cl.copy(back[1], other)
    queue.submit(cl).wait()
    assert (back[0] == 1).all()
    assert (back[1] == 2).all()
    print("ok: both buffers were coherent behind the barrier")
