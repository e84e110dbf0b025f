"""Create command lists, and show which queue accepts which list."""

import numpy as np

import anyzero as az

with az.device().context() as ctx, ctx.queue() as queue:
    x = ctx.zeros(4, np.uint8, kind="shared")
    cl = ctx.command_list()
    cl.fill(x, 9)
    assert not np.asarray(x).any()
    print("ok: a command list records; nothing runs until a queue executes it")
    try:
        queue.submit(cl)
    except az.InvalidArgument as error:
        print(f"ok: an open list is refused: {error.detail}")
    else:
        raise AssertionError("an open list was executed")
    cl.end()
    queue.submit(cl).wait()
    assert (np.asarray(x) == 9).all()
    print("ok: once its recording has ended, it runs")

    # Commands of this list may be reordered between barriers.
    with ctx.command_list(in_order=False) as relaxed:
        relaxed.fill(x[:2], 1)
        relaxed.fill(x[2:], 2)
    assert "relaxed_ordering" in relaxed.flags
    queue.submit(relaxed).wait()
    assert np.asarray(x).tolist() == [1, 1, 2, 2]
    print("ok: a list with relaxed ordering ran")

    with ctx.command_list(kind="copy") as copies:
        copies.fill(x, 0)
    try:
        queue.submit(copies)
    except az.Error as error:
        print(f"ok: the wrong kind of queue is refused: {error.detail}")
    else:
        raise AssertionError("a copy-only list ran on a compute queue")
