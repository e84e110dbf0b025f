"""Two lists on two queues are unordered; an event orders them: the second starts after the first."""

import numpy as np

import anyzero as az

with az.device().context() as ctx, ctx.queue() as one, ctx.queue() as two:
    stamps = ctx.zeros(2, np.uint64, kind="shared")
    first_done = ctx.event()
    with ctx.command_list() as first:
        first.timestamp(stamps[:1], signal=first_done)
    with ctx.command_list() as second:
        second.timestamp(stamps[1:], wait=first_done)

    waiting = two.submit(second)
    try:
        waiting.wait(timeout=0.001)
    except az.TimeoutError:
        print("ok: the second command waits for the first")
    else:
        raise AssertionError("the second command did not wait")
    one.submit(first)
    waiting.wait()
    begin, end = np.asarray(stamps)
    assert begin <= end
    print("ok: they ran in the order of the event, not of submission")
