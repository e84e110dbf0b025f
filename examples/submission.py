"""Record commands, submit the list, wait, submit it again, and reset it for the next commands."""

import threading

import numpy as np

import anyzero as az

with az.device().context() as ctx, ctx.queue() as queue:
    source = np.arange(1024, dtype=np.uint32) ** 2
    back = np.zeros_like(source)
    device = ctx.buffer(source.shape, source.dtype)
    go = ctx.event()  # signalled later, so that the list is still pending when `submit` returns

    with ctx.command_list() as cl:
        cl.copy(device, source, wait=go)
        cl.barrier()
        cl.copy(back, device)
    assert not back.any()
    print("ok: nothing has run yet")

    queue.submit(cl)
    threading.Timer(0.05, go.signal).start()
    queue.synchronize()
    assert np.array_equal(back, source)
    print("ok: the data was copied to the device and back")

    # The same list again: it reads the new contents of `source`.
    source[0] = 7
    queue.submit(cl).wait()
    assert back[0] == 7
    print("ok: the list ran a second time without being recorded again")

    cl.reset()
    cl.end()
    source[0] = 8
    queue.submit(cl).wait()
    assert back[0] == 7
    print("ok: after a reset the list is empty")
