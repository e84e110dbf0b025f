"""A barrier: all earlier commands complete, and their writes are visible, before later ones begin."""

import numpy as np

import anyzero as az

with az.device().context() as ctx, ctx.queue() as queue:
    first = ctx.buffer(1 << 16, np.uint32)
    second = ctx.zeros(first.shape, first.dtype, kind="shared")
    filled, passed, copied = ctx.events(3, timing=True)
    go = ctx.event()
    with ctx.command_list(in_order=False) as cl:
        cl.fill(first, 3, signal=filled)
        # It needs no events; here they make it observable. With events, it waits for these alone.
        cl.barrier(signal=passed, wait=[go, filled])
        cl.copy(second, first, signal=copied)

    done = queue.submit(cl)
    filled.wait(timeout=30)
    try:
        done.wait(timeout=0.05)
    except az.TimeoutError:
        print("ok: the copy waits for the barrier, which waits for the host")
    else:
        raise AssertionError("the copy passed the barrier")
    go.signal()
    done.wait()
    assert (np.asarray(second) == 3).all()
    print("ok: the copy after the barrier read the whole fill")
    assert filled.timestamps.end <= passed.timestamps.start <= passed.timestamps.end <= copied.timestamps.start
    print("ok: by the device's clock the fill had ended before the barrier, and the copy began after it")
