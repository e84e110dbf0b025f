"""A device without on-demand paging accesses only resident memory.

Arguments of a command become resident with it; memory that a kernel reaches through pointers must be named.
"""

import os

os.environ.setdefault("ANYZERO_DEVICES", "cpu:paging=off")

from pathlib import Path

import numpy as np

import anyzero as az

KERNELS = Path(__file__).parent / "kernels"
NODE = np.dtype([("next", np.uint64), ("value", np.uint64)])

device = az.device()
assert not device.on_demand_paging, "this device pages on demand; unset ANYZERO_DEVICES"
print("ok: the device has no on-demand paging")

with device.context() as ctx, ctx.queue() as queue:
    # begin -> middle -> end
    begin, middle, end = (ctx.zeros(1, NODE, kind="host") for _ in range(3))
    np.asarray(begin)[0] = (middle.pointer, 1)
    np.asarray(middle)[0] = (end.pointer, 10)
    np.asarray(end)[0] = (0, 100)
    add_up = ctx.module(KERNELS / "residency.spv")["add_up"]
    total = ctx.zeros(1, np.uint64, kind="shared")

    # Coarse: the kernel may follow pointers to any memory of the host, so all of it is resident while it runs.
    add_up.set_indirect_access("host")
    with ctx.command_list() as cl:
        cl.launch(add_up, 1, (begin, total))
    queue.submit(cl).wait()
    assert np.asarray(total)[0] == 111
    print("ok: the kernel could access all host memory")

    # Fine: exactly the nodes that it will reach are made resident before, and evicted after it.
    add_up.set_indirect_access()
    with ctx.command_list() as cl:
        cl.launch(add_up, 1, (begin, total))
    for node in (middle, end):
        ctx.make_resident(node)
    np.asarray(end)["value"] = 200
    queue.submit(cl).wait()
    for node in (middle, end):
        ctx.evict(node)
    assert np.asarray(total)[0] == 211
    print("ok: the linked nodes were resident during the work")
