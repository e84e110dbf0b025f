"""Events order commands with each other and with the host: device to host, host to device, and between two queues."""

import numpy as np

import anyzero as az

with az.device().context() as ctx, ctx.queue() as compute, ctx.queue(kind="copy") as copier:
    memory = ctx.zeros(2, np.uint32, kind="shared")
    go, filled, copied = ctx.events(3, timing=True)

    with ctx.command_list() as fill:
        fill.fill(memory[:1], 11, wait=go, signal=filled)
    with ctx.command_list(kind="copy") as copy:
        copy.copy(memory[1:], memory[:1], wait=filled, signal=copied)

    # Submitted in the wrong order on purpose.
    copier.submit(copy)
    compute.submit(fill)
    assert not copied.done
    print("ok: both queues wait: one for the host, one for the other queue")
    go.signal()
    copied.wait(timeout=10)
    assert np.asarray(memory)[1] == 11
    print("ok: host -> compute queue -> copy queue -> host")
    assert copied.timestamps.start >= filled.timestamps.end
    print(f"ok: the copy began after the fill had ended, and took {copied.kernel_ns} ns")

    assert go.done
    go.reset()
    assert not go.done
    print("ok: an event stays signalled until somebody resets it")
