"""Commands without a queue: an immediate list submits each command as it is appended.

First asynchronous, with two copies chained by events; then synchronous, where a call returns when its command is done.
"""

import numpy as np

import anyzero as az

with az.device().context() as ctx:
    host = ctx.full(4096, 0x5A, np.uint8, kind="host")
    device = ctx.buffer(4096)
    ours = np.zeros(4096, np.uint8)

    uploaded, back = ctx.events(2)
    lst = ctx.immediate(mode="asynchronous")
    lst.copy(device, host, signal=uploaded)
    lst.copy(ours, device, signal=back, wait=uploaded)
    back.wait()
    assert (ours == 0x5A).all()
    assert uploaded.done
    print("ok: asynchronous: host -> device -> our array, chained by events")

    # Each command also has a completion of its own, which other commands can wait for.
    first = lst.fill(device, 1)
    lst.copy(ours, device, wait=first).wait(timeout=5)
    assert (ours == 1).all()
    print("ok: asynchronous: the same with the completions that the calls return")
    lst.close()

    lst = ctx.immediate(mode="synchronous")
    lst.copy(ours, host)
    assert (ours == 0x5A).all()
    print("ok: synchronous: the copy is done when the call returns")
    lst.close()
