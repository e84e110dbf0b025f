"""A barrier for memory ranges: only these buffers need to be coherent for later commands."""

import numpy as np

import anyzero as az

with az.device().context() as ctx, ctx.queue() as queue:
    one, other = ctx.buffer(4096, np.uint32), ctx.buffer(4096, np.uint32)
    back = ctx.zeros((2, 4096), np.uint32, kind="shared")
    go, passed, *filled = ctx.events(4)
    with ctx.command_list(in_order=False) as cl:
        cl.fill(one, 1, signal=filled[0])
        cl.fill(other, 2, signal=filled[1])
        # It needs no events; here they make it observable. With events, it waits for these alone.
        cl.barrier(one, other, signal=passed, wait=[go, *filled])
        cl.copy(back[0], one)
        cl.copy(back[1], other)

    done = queue.submit(cl)
    try:
        done.wait(timeout=0.05)
    except az.TimeoutError:
        print("ok: the copies wait for the barrier, which waits for the host")
    else:
        raise AssertionError("the copies passed the barrier")
    assert not passed.done
    go.signal()
    done.wait()
    assert passed.done
    assert (np.asarray(back) == [[1], [2]]).all()
    print("ok: both buffers were coherent after the barrier")
