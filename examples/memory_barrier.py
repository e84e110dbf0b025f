"""An event between two commands also orders memory: what the first wrote is visible to the second.

Events of the Python API reach as far as the host, so it sees the result as well. examples/c/memory_barrier.cpp narrows
that to the device.
"""

import numpy as np

import anyzero as az

with az.device().context() as ctx, ctx.queue() as queue:
    written = ctx.buffer(4096, np.uint32)
    read = ctx.zeros(4096, np.uint32, kind="shared")
    coherent, finished = ctx.events(2)
    with ctx.command_list(in_order=False) as cl:
        cl.fill(written, 5, signal=coherent)
        cl.copy(read, written, wait=coherent, signal=finished)
    queue.submit(cl)
    finished.wait()
    assert (np.asarray(read) == 5).all()
    print("ok: the second command read what the first had written, and the host sees what the second wrote")
