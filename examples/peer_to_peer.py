"""Two devices: ask whether one reaches the other's memory, then copy straight from the one to the other."""

import os

os.environ.setdefault("ANYZERO_DEVICES", "cpu,cpu")

import numpy as np

import anyzero as az

assert len(az.devices()) >= 2, "this takes two devices; unset ANYZERO_DEVICES"
one, two = az.devices()[:2]
assert one.can_access(two)
assert one.peer(two).access
print(f"ok: device 0 reaches the memory of device 1 (with atomics: {one.peer(two).atomics})")

with az.Context(one, two) as ctx, ctx.queue(device=one) as queue:
    here = ctx.buffer(4096, np.uint32, device=one)
    there = ctx.buffer(4096, np.uint32, device=two)
    back = np.zeros(4096, np.uint32)
    with ctx.command_list(device=one) as cl:
        cl.fill(here, 77)
        cl.copy(there, here)
        cl.copy(back, there)
    queue.submit(cl).wait()
    assert (back == 77).all()
    print("ok: device 0 -> device 1 -> host")
