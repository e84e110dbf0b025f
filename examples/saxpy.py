"""The first kernel: y = a x + y, on memory shared with numpy."""

from pathlib import Path

import numpy as np

import anyzero as az

KERNELS = Path(__file__).parent / "kernels"

with az.device().context() as ctx:
    saxpy = ctx.module(KERNELS / "saxpy.spv")["saxpy"]
    x = ctx.to_device(np.arange(1 << 20, dtype=np.float32))
    y = ctx.full(x.shape, 1, np.float32, kind="shared")

    # Without a list, the call is synchronous.
    saxpy[x.size](y, x, 2.0)
    assert np.array_equal(np.asarray(y), 2 * np.arange(1 << 20, dtype=np.float32) + 1)
    print("ok: a million elements, in groups of a size that the driver chose")

    # On an immediate list it is asynchronous.
    with ctx.immediate() as lst:
        done = saxpy[x.size](y, x, -2.0, group=64, on=lst)
        done.wait(timeout=5)
    assert (np.asarray(y) == 1).all()
    print("ok: and back again, on a list, in groups of 64")

    # Recorded once, replayed often.
    with ctx.command_list() as cl:
        cl.launch(saxpy, x.size, (y, x, 1.0))
    with ctx.queue() as queue:
        for _ in range(3):
            queue.submit(cl)
    assert np.array_equal(np.asarray(y), 3 * np.arange(1 << 20, dtype=np.float32) + 1)
    print("ok: a recorded launch ran three times")
