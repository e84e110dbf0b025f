"""Outlining: splits a long body into pieces, each a function of its own that ends with a call of the next.

Several of LLVM's passes take time quadratic in a function's length, or in the number of its values. A body is cut at
blocks that dominate all blocks that follow, outside of loops; `outline_branches` cuts what is still long then. Values
that are live across a cut are passed in memory, as across barriers.
"""

from __future__ import annotations

from anyzero.compiler.analysis.uniformity import Shapes
from anyzero.compiler.dominators import dominators
from anyzero.compiler.ir import Block, Body, Masks, Op
from anyzero.compiler.transform.outline_branches import outline_branches

__all__ = ["PIECE", "outline"]

PIECE = 600
"""The fewest operations of a piece. LLVM's time for bodies below twice as many is nearly linear."""

LONG = 20
"""Times the length of a piece: code without a block that dominates the rest is cut from there on.

Pieces of it have many ways from one to the other.
"""
LOOP = 8
"""Times the length of a piece: longer loops are cut. Values that a loop carries are in memory then."""


def outline(body: Body, shapes: Shapes, masks: Masks) -> bool:
    """Marks the ends of pieces, as barriers of the kind "piece"; False without a place to cut."""
    if sum(len(block.ops) for block in body.blocks) < 2 * PIECE:
        return False
    closed = _closed(body)
    cut, length = False, 0
    for block in body.blocks:
        if block not in closed:
            length += len(block.ops)
            continue
        ops: list[Op] = []
        for op in block.ops:
            # Parts stay with their operation, and accesses with their checks.
            if length >= PIECE and op.name != "part" and not (ops and ops[-1].name == "check"):
                ops.append(Op("barrier", "", [], "piece", block=block))
                cut, length = True, 0
            ops.append(op)
            length += 1
        block.ops = ops
    return outline_branches(body, shapes, masks, PIECE, LONG * PIECE, LOOP * PIECE) or cut


def _closed(body: Body) -> set[Block]:
    """Blocks whose dominated region has no edge to blocks outside of it."""
    immediate = dominators(body.blocks[0], lambda block: block.successors)
    depth = {body.blocks[0]: 0}
    for block, above in immediate.items():
        depth[block] = depth[above] + 1
    highest = {block: min((depth[target] for target in block.successors), default=len(depth)) for block in body.blocks}
    """The least depth in the dominator tree that an edge of a block's dominated region leads to."""
    for block, above in reversed(immediate.items()):
        highest[above] = min(highest[above], highest[block])
    return {block for block in body.blocks if highest[block] > depth[block]}
