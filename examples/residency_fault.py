"""A device without on-demand paging accesses evicted memory.

The queue is lost, with a report; the program continues.
"""

import os

os.environ.setdefault("ANYZERO_DEVICES", "cpu:paging=off")

from collections.abc import Callable
from pathlib import Path

import numpy as np

import anyzero as az

KERNELS = Path(__file__).parent / "kernels"
NODE = np.dtype([("next", np.uint64), ("value", np.uint64)])


def lost(ctx: az.Context, record: Callable[[az.CommandList], object], evicted: az.Buffer) -> str:
    """The report of a list that is submitted while some of its memory is evicted."""
    with ctx.command_list() as cl:
        record(cl)
    ctx.make_resident(evicted)
    ctx.evict(evicted)
    queue = ctx.queue()
    try:
        queue.submit(cl).wait()
    except az.DeviceLost as error:
        return str(error)
    finally:
        queue.close()
    raise AssertionError("the device reached memory that is not resident")


with az.device().context() as ctx:
    memory = ctx.buffer(1024, np.uint32)
    print(f"ok: a command with an evicted argument:\n{lost(ctx, lambda cl: cl.fill(memory, 1), memory)}")

    # begin -> end: the kernel is given the first node and follows the link.
    begin, end = (ctx.zeros(1, NODE, kind="host") for _ in range(2))
    np.asarray(begin)[0] = (end.pointer, 1)
    total = ctx.zeros(1, np.uint64, kind="shared")
    add_up = ctx.module(KERNELS / "residency.spv")["add_up"]
    report = lost(ctx, lambda cl: cl.launch(add_up, 1, (begin, total)), end)
    assert f"{end.pointer:#x}" in report
    print(f"ok: a kernel that reaches evicted memory through a link:\n{report}")

    assert ctx.status == "lost"
    print("ok: the context reports the lost queue")

with az.device().context() as other:
    assert other.status == "ok"
    fresh = other.full(4, 1, np.uint32, kind="shared")
    assert (np.asarray(fresh) == 1).all()
    print("ok: other contexts keep working")
