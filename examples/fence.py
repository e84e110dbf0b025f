"""A fence signals to the host that a submission has completed: submit, query, wait, reset."""

import threading

import numpy as np

import anyzero as az

with az.device().context() as ctx, ctx.queue() as queue:
    memory = ctx.zeros(1, np.uint32, kind="shared")
    go = ctx.event()  # the list waits for it, so that the fence can be queried before the work is done
    with ctx.command_list() as cl:
        cl.fill(memory, 42, wait=go)

    fence = queue.fence()
    queue.submit(cl, fence=fence)
    assert not fence.done
    print("ok: the fence is not signalled while the list waits")
    try:
        fence.wait(timeout=0.001)
    except az.TimeoutError:
        print("ok: a wait of one millisecond times out")
    else:
        raise AssertionError("the fence came too early")

    threading.Timer(0.05, go.signal).start()
    fence.wait()
    assert np.asarray(memory)[0] == 42
    print("ok: after the fence the result is visible")

    fence.reset()
    assert not fence.done
    queue.submit(cl, fence=fence).wait()
    print("ok: a reset fence serves the next submission")
