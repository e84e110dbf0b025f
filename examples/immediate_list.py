"""Commands without a queue: an immediate list submits each command when it is appended.

First asynchronous, with copies and a kernel chained by events; then synchronous, where a call returns when its command
is done.
"""

import threading
from pathlib import Path

import numpy as np

import anyzero as az

KERNELS = Path(__file__).parent / "kernels"
N = 1024

with az.device().context() as ctx:
    host = ctx.full(N, 3, np.float32, kind="host")
    device = ctx.zeros(N, np.float32)
    ours = np.zeros(N, np.float32)
    saxpy = ctx.module(KERNELS / "saxpy.spv")["saxpy"]

    # Lists of both engines, appended to in the wrong order on purpose: the events fix the order.
    go, uploaded, back = ctx.events(3)
    lst, copies = ctx.immediate(mode="asynchronous"), ctx.immediate(kind="copy", mode="asynchronous")
    lst.copy(ours, device, signal=back, wait=uploaded)
    copies.copy(device, host, signal=uploaded, wait=go)
    assert not ours.any()
    threading.Timer(0.05, go.signal).start()
    back.wait(timeout=30)
    assert (ours == 3).all()
    assert uploaded.done
    print("ok: asynchronous: host -> device -> our array, chained by events")

    # Each command also has its own completion, which other commands can wait for.
    go.reset()
    launched = saxpy[N](device, host, 2.0, on=lst, wait=go)
    copied = copies.copy(ours, device, wait=launched)
    threading.Timer(0.05, go.signal).start()
    copied.wait(timeout=30)
    assert (ours == 9).all()
    print("ok: asynchronous: a kernel, and a copy chained by the completion that its launch returned")
    lst.close()
    copies.close()

    go.reset()
    threading.Timer(0.05, go.signal).start()
    lst = ctx.immediate(mode="synchronous")
    saxpy[N](device, host, 1.0, on=lst, wait=go)
    assert go.done
    assert (device.copy_to() == 12).all()
    print("ok: synchronous: the kernel is done when the call returns")
    lst.close()
