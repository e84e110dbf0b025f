"""Block numbers in reverse postorder, with loops contiguous, which the other passes rely on."""

from __future__ import annotations

from anyzero.compiler.dominators import order
from anyzero.compiler.ir import Block, Body


def number(body: Body) -> None:
    """Reverse post-order: a block comes after its dominators; unreachable blocks are dropped."""
    body.blocks = order(body.blocks[0], lambda block: block.successors)
    for index, block in enumerate(body.blocks):
        block.number = index
    kept = set(body.blocks)
    for block in body.blocks:
        if any(each not in kept for each in block.predecessors):
            places = [place for place, each in enumerate(block.predecessors) if each in kept]
            block.predecessors = [block.predecessors[place] for place in places]
            for phi in block.phis:
                phi.args = [phi.args[place] for place in places]


def split_edge(body: Body, source: Block, target: Block) -> Block:
    """An empty block between two. Phis of the target stay as they are; blocks have to be numbered again."""
    between = Block(len(body.blocks), predecessors=[source], successors=[target])
    target.predecessors[target.predecessors.index(source)] = between
    redirect(source, target, between)
    body.blocks.append(between)
    return between


def redirect(source: Block, old: Block, new: Block) -> None:
    """Retargets an edge; the caller updates phis."""
    source.successors = [new if each is old else each for each in source.successors]
