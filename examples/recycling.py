"""One command list for many batches. An event signals that the list has completed, and may be reset."""

import threading

import numpy as np

import anyzero as az

with az.device().context() as ctx, ctx.queue() as queue:
    memory = ctx.zeros(4096, np.uint8, kind="shared")
    go, done = ctx.events(2)
    cl = ctx.command_list()

    for batch in (1, 2, 3):
        cl.fill(memory, batch, wait=go, signal=done)
        cl.end()
        queue.submit(cl)
        threading.Timer(0.05, go.signal).start()  # until then the list is in use
        done.wait()
        assert (np.asarray(memory) == batch).all()
        print(f"ok: batch {batch} filled the memory")
        go.reset()
        done.reset()
        cl.reset()
