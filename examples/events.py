"""Events order commands with each other and with the host: device to host, host to device, and between two queues."""

import threading

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
    try:
        copied.wait(timeout=0.05)
    except az.TimeoutError:
        print("ok: both queues wait: one for the host, one for the other queue")
    else:
        raise AssertionError("nothing waited for the host")
    threading.Timer(0.05, go.signal).start()  # by another thread, while this one waits
    copied.wait(timeout=30)
    assert np.asarray(memory)[1] == 11
    print("ok: host -> compute queue -> copy queue -> host")
    assert copied.timestamps.start >= filled.timestamps.end
    print(f"ok: the copy began after the fill had ended, and took {copied.kernel_ns} ns")

    assert go.done
    go.reset()
    assert not go.done
    with ctx.command_list() as reset:
        reset.reset_event(filled)
    assert filled.done
    compute.submit(reset).wait()
    assert not filled.done
    print("ok: an event stays signalled until it is reset, by the host or by a command")
