"""One command list for many batches. An event tells when the device has left the list, so that it may be emptied."""

import numpy as np

import anyzero as az

with az.device().context() as ctx, ctx.queue() as queue:
    memory = ctx.zeros(4096, np.uint8, kind="shared")
    done = ctx.event()
    cl = ctx.command_list()

    for batch in (1, 2, 3):
        cl.fill(memory, batch, signal=done)
        cl.end()
        queue.submit(cl)
        done.wait()
        assert (np.asarray(memory) == batch).all()
        print(f"ok: batch {batch} filled the memory")
        done.reset()
        cl.reset()
