"""Loops without an exit get a virtual one, which no work-item takes, so that postdominators exist.

A vector comes to a loop also when none of its lanes has; it must be able to go on from there. So the loop asks each
time around who is still there, as other loops do that lanes leave one by one.
"""

from __future__ import annotations

from anyzero.compiler.analysis.loops import Loop, Loops
from anyzero.compiler.ir import Block, Body, Op
from anyzero.compiler.transform.block_order import number, redirect


def virtual_exits(body: Body, loops: Loops) -> bool:
    """Are there new blocks? Then loops and dominators have to be found again. Each loop has one latch."""
    endless = [loop for loop in loops.all if not loop.exits and not _has_barrier(loop)]
    if not endless or any(op.name == "result" for op in body.ops):
        # A function that is called by its address must not end without its result.
        return False
    for loop in endless:
        header, latch = loop.header, loop.latches[0]
        last = Block(len(body.blocks))
        asking = Block(len(body.blocks) + 1, predecessors=[latch], successors=[header, last])
        last.predecessors = [asking]
        # True, but not the same for all lanes as far as anybody here knows.
        item = asking.append(Op("builtin", "i64", [], ("global_id", 0)))
        asking.condition = asking.append(Op("icmp", "i1", [item, body.const("i64", 0)], "uge"))
        redirect(latch, header, asking)
        header.predecessors = [asking if each is latch else each for each in header.predecessors]
        body.blocks += [asking, last]
    number(body)
    return True


def _has_barrier(loop: Loop) -> bool:
    """Then all work-items are there, or none."""
    return any(op.name == "barrier" for block in loop.blocks for op in block.ops)
