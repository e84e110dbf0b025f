"""Software prefetching of what later vectors read, in kernels without loops that compute much with few numbers.

Between the loads of two vectors lie more instructions than a processor has under way at a time, so it waits for memory
where hardware prefetchers are late. Kernels that compute less overlap both by themselves.
"""

from __future__ import annotations

from anyzero.compiler.analysis.streaming_stores import is_busy
from anyzero.compiler.analysis.uniformity import UNIFORM, Flow, Shapes
from anyzero.compiler.ir import SIZES, Body, Op

AHEAD = 1024
"""Bytes: a few vectors."""
MOST = 4
"""Most loads that are prefetched; with more of them, memory bandwidth is the limit anyway."""
BUSY = 20
"""The weight of a mathematical function or a division, which becomes so many instructions."""
WINDOW = 448
"""Instructions that a processor has under way at a time."""


def prefetch_streams(body: Body, flow: Flow, shapes: Shapes, lanes: int, registers: int) -> None:
    """`registers` is how many hold a number of 32 bits for each lane."""
    if flow.loops.all or lanes < 2 or any(_is_planar(op) for op in body.ops):
        return
    work = sum(BUSY if is_busy(op) else 1 for op in body.ops if not shapes[op].uniform)
    if work * registers < WINDOW:
        return
    loads = [op for op in body.ops if _is_stream(op, shapes)]
    if not 0 < len(loads) <= MOST:
        return
    for load in loads:
        place = Op("offset", "ptr", [load.args[0], body.const("i64", AHEAD)])
        made = [place, Op("prefetch", "", [place], SIZES[load.type] * load.info.count)]
        block = load.block
        assert block is not None
        for op in made:
            op.block = block
            shapes.of[op] = UNIFORM
        shapes.of[place] = shapes[load.args[0]]
        index = block.ops.index(load)
        block.ops[index:index] = made


def _is_planar(op: Op) -> bool:
    """Is the launch likely to have rows, at whose ends blocks end?"""
    return op.name == "builtin" and op.info[0] == "global_id" and op.info[1] > 0


def _is_stream(op: Op, shapes: Shapes) -> bool:
    """A load of neighbours from global memory."""
    if op.name != "load" or op.info.space not in ("global", "constant") or op.info.volatile:
        return False
    return bool(shapes[op.args[0]].stride == SIZES[op.type] * op.info.count)
