"""Preheaders for loops behind a branch: a block between the test whether there is any iteration and the loop.

Compilers rotate loops into this form. Whatever is done once before a loop has a place there.
"""

from __future__ import annotations

from anyzero.compiler.analysis.loops import Loop, Loops
from anyzero.compiler.ir import Block, Body, Op
from anyzero.compiler.transform.block_order import number, split_edge


def preheaders(body: Body, loops: Loops) -> bool:
    """Adds preheaders; True if there are new blocks. Loops that are entered from several blocks have none."""
    changed = False
    for loop in loops.all:
        header = loop.header
        outside = [block for block in header.predecessors if block not in loop]
        if len(outside) != 1 or len(outside[0].successors) == 1:
            continue
        changed = True
        split_edge(body, outside[0], header)
    if changed:
        number(body)
    return changed


def computed_before(op: Op, loop: Loop, block: Block, values: dict[Op, Op]) -> Op:
    """A value of the loop, computed again in a block before it. `values` has operations of the loop that are known
    there, such as its phis, and gets the new ones.
    """
    if op in values or op.block not in loop.blocks:
        return values.get(op, op)
    args = [computed_before(arg, loop, block, values) for arg in op.args]
    values[op] = block.append(Op(op.name, op.type, args, op.info, op.flags, op.word))
    return values[op]
