"""Two devices that access each other's memory: by copies, by kernels, and by concurrent atomics."""

import os

os.environ.setdefault("ANYZERO_DEVICES", "cpu,cpu")

from pathlib import Path

import numpy as np

import anyzero as az

KERNELS = Path(__file__).parent / "kernels"
N = 1 << 16

assert len(az.devices()) >= 2, "this takes two devices; unset ANYZERO_DEVICES"
one, two = az.devices()[:2]
assert one.can_access(two)
assert one.peer(two).access
assert one.peer(two).atomics
print("ok: device 0 can access the memory of device 1, also with atomics")

with az.Context(one, two) as ctx:
    here, there = ctx.zeros(N, np.uint32, device=one), ctx.zeros(N, np.uint32, device=two)
    values = np.arange(N, dtype=np.uint32)
    back = np.zeros(N, np.uint32)
    with ctx.command_list(device=one) as cl:
        cl.copy(here, values)
        cl.copy(there, here)
        cl.copy(back, there)
    with ctx.queue(device=one) as queue:
        queue.submit(cl).wait()
    assert (back == values).all()
    print("ok: copies: host -> device 0 -> device 1 -> host")

    # A module is built for one device; its kernels also accept memory of the other.
    kernels = {device: ctx.module(KERNELS / "peer_to_peer.spv", device=device) for device in (one, two)}
    lists = {device: ctx.immediate(device=device) for device in (one, two)}
    here.fill(0)
    go = ctx.event()
    exchanged = kernels[one]["exchange"][N](here, there, on=lists[one], wait=go)
    # Device 1 waits for device 0, and then does the same in the other direction.
    both = kernels[two]["exchange"][N](there, here, on=lists[two], wait=exchanged)
    go.signal()
    both.wait(timeout=30)
    assert (here.copy_to() == values + 1000).all()
    assert (there.copy_to() == values).all()
    print("ok: kernels: each device read and wrote the memory of the other, in turn")

    places = ctx.zeros(4, np.uint32, device=two)
    go.reset()  # both devices wait for it, so that they begin at the same time
    counted = [kernels[device]["count"][N](places, on=lists[device], wait=go) for device in (one, two)]
    go.signal()
    for each in counted:
        each.wait(timeout=30)
    assert places.copy_to().tolist() == [2 * N // 4] * 4
    print("ok: atomics: both devices counted in the memory of device 1, and no count was lost")
