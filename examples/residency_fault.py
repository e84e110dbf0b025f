"""What happens when a device without on-demand paging meets memory that was evicted.

The queue is lost, with a report; the program goes on.
"""

import os

os.environ.setdefault("ANYZERO_DEVICES", "cpu:paging=off")

import numpy as np

import anyzero as az

with az.device().context() as ctx:
    memory = ctx.buffer(1024, np.uint32)
    with ctx.command_list() as cl:
        cl.fill(memory, 1)
    ctx.evict(memory)
    queue = ctx.queue()
    try:
        queue.submit(cl).wait()
    except az.DeviceLost as error:
        print(f"ok: the fault is reported:\n{error}")
    else:
        raise AssertionError("the device reached memory that is not resident")
    assert ctx.status == "lost"
    print("ok: the context knows that it lost a queue")
    queue.close()

with az.device().context() as other:
    assert other.status == "ok"
    fresh = other.full(4, 1, np.uint32, kind="shared")
    assert (np.asarray(fresh) == 1).all()
    print("ok: other contexts keep working")
