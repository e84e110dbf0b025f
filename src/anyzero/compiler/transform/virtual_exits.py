"""Loops without an exit get a virtual one, which no work-item takes, so that postdominators exist.

Linearised code enters a loop also under an empty mask, and must be able to leave it. So the loop tests its mask in each
iteration, as divergent loops do.
"""

from __future__ import annotations

from anyzero.compiler.analysis.loops import Loop, Loops
from anyzero.compiler.ir import Block, Body, Op
from anyzero.compiler.transform.block_order import number, redirect


def virtual_exits(body: Body, loops: Loops) -> bool:
    """Adds exits; True if there are new blocks, and loops and dominators have to be computed again. Loops have one
    latch.
    """
    endless = [loop for loop in loops.all if not loop.exits and not _has_barrier(loop)]
    if not endless or any(op.name == "result" for op in body.ops):
        # A function that is called through a pointer must not return without its result.
        return False
    for loop in endless:
        header, latch = loop.header, loop.latches[0]
        last = Block(len(body.blocks))
        asking = Block(len(body.blocks) + 1, predecessors=[latch], successors=[header, last])
        last.predecessors = [asking]
        # Always true, but varying as far as the analysis knows.
        item = asking.append(Op("builtin", "i64", [], ("global_id", 0)))
        asking.condition = asking.append(Op("icmp", "i1", [item, body.const("i64", 0)], "uge"))
        redirect(latch, header, asking)
        header.predecessors = [asking if each is latch else each for each in header.predecessors]
        body.blocks += [asking, last]
    number(body)
    return True


def _has_barrier(loop: Loop) -> bool:
    """Barriers are uniform: all work-items of a group are in such a loop, or none."""
    return any(op.name == "barrier" for block in loop.blocks for op in block.ops)
