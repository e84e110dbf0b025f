"""A device that cannot page memory in by itself reaches only what is resident.

What a command names becomes resident with it; nodes that are found by following pointers are the program's to name.
"""

import os

os.environ.setdefault("ANYZERO_DEVICES", "cpu:paging=off")

import numpy as np

import anyzero as az

NODE = np.dtype([("next", np.uint64), ("value", np.uint64)])

device = az.device()
assert not device.on_demand_paging, "this device pages on demand; unset ANYZERO_DEVICES"
print("ok: the device has no on-demand paging")

with device.context() as ctx, ctx.queue() as queue:
    # begin -> middle -> end
    begin, middle, end = (ctx.zeros(1, NODE, kind="host") for _ in range(3))
    np.asarray(begin)["next"] = middle.pointer
    np.asarray(middle)["next"] = end.pointer
    copy = ctx.zeros(1, NODE, kind="host")

    # Coarse: both ends are named by the command, so the driver sees to them.
    with ctx.command_list() as cl:
        cl.copy(copy, begin)
    queue.submit(cl).wait()
    assert np.asarray(copy)["next"] == middle.pointer
    print("ok: a node that the command names was reached without further ado")

    # Fine: the other nodes are made resident before the work that would follow the links, and evicted after it.
    for node in (middle, end):
        ctx.make_resident(node)
    fence = queue.submit(cl)
    fence.wait()
    for node in (middle, end):
        ctx.evict(node)
    print("ok: the linked nodes were resident during the work, and are evicted now")
