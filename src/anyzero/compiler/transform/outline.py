"""Outlining: splits a long body into pieces, each a function of its own that ends with a call of the next.

Several of LLVM's passes take time that grows with the square of a function's length, or of the number of its values. A
body is cut where all that follows is reached in no other way and leads nowhere else, which loops never are. What a
piece hands on to the next lies in memory, as it does across barriers.
"""

from __future__ import annotations

from anyzero.compiler.dominators import dominators
from anyzero.compiler.ir import Block, Body, Op

__all__ = ["PIECE", "outline"]

PIECE = 600
"""Operations that a piece has at least. What a body of fewer than twice as many takes LLVM is nearly in proportion."""


def outline(body: Body) -> bool:
    """Marks where pieces end, as barriers of the kind "piece"; was there any place?"""
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
            # Parts stay with what they are parts of.
            if length >= PIECE and op.name != "part":
                ops.append(Op("barrier", "", [], "piece", block=block))
                cut, length = True, 0
            ops.append(op)
            length += 1
        block.ops = ops
    return cut


def _closed(body: Body) -> set[Block]:
    """Blocks from which no way leads to blocks that can be reached without them."""
    immediate = dominators(body.blocks[0], lambda block: block.successors)
    depth = {body.blocks[0]: 0}
    for block, above in immediate.items():
        depth[block] = depth[above] + 1
    highest = {block: min((depth[target] for target in block.successors), default=len(depth)) for block in body.blocks}
    """Of a block and what it dominates: the least depth that an edge leads to."""
    for block, above in reversed(immediate.items()):
        highest[above] = min(highest[above], highest[block])
    return {block for block in body.blocks if highest[block] > depth[block]}
