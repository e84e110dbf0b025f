"""An event between two commands also orders memory: the first one's writes are visible to the second.

Scopes say how far that reaches: to the whole device here, and for the last event to the host.
"""

import numpy as np

import anyzero as az

with az.device().context() as ctx, ctx.queue() as writer, ctx.queue() as reader:
    written = ctx.zeros(4096, np.uint32)
    read = ctx.zeros(4096, np.uint32, kind="shared")
    coherent, finished = ctx.event(signal_scope="device", wait_scope="none"), ctx.event()
    assert coherent.signal_scope == "device"
    assert finished.signal_scope == "host"
    print("ok: the first event's signal reaches the whole device, the second one's the host")
    with ctx.command_list() as write:
        write.fill(written, 5, signal=coherent)
    with ctx.command_list() as copy:
        copy.copy(read, written, wait=coherent, signal=finished)

    # Submitted in the wrong order on purpose: without the event the copy would read zeros.
    reader.submit(copy)
    try:
        finished.wait(timeout=0.05)
    except az.TimeoutError:
        print("ok: the second command waits for the memory of the first")
    else:
        raise AssertionError("the second command did not wait")
    writer.submit(write)
    finished.wait()
    assert (np.asarray(read) == 5).all()
    print("ok: the second command read what the first had written, and the host sees what the second wrote")
