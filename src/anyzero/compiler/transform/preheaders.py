"""Preheaders for loops behind a branch: a block between the test whether there is any iteration and the loop.

Compilers rotate loops into this form. Whatever is done once before a loop has a place there.
"""

from __future__ import annotations

from anyzero.compiler.analysis.loops import Loops
from anyzero.compiler.ir import Block, Body
from anyzero.compiler.transform.block_order import number, redirect


def preheaders(body: Body, loops: Loops) -> bool:
    """Adds preheaders; True if there are new blocks. Loops that are entered from several blocks have none."""
    changed = False
    for loop in loops.all:
        header = loop.header
        outside = [block for block in header.predecessors if block not in loop]
        if len(outside) != 1 or len(outside[0].successors) == 1:
            continue
        changed = True
        between = Block(len(body.blocks), predecessors=outside, successors=[header])
        header.predecessors[header.predecessors.index(outside[0])] = between
        redirect(outside[0], header, between)
        body.blocks.append(between)
    if changed:
        number(body)
    return changed
