"""Block clean-up: drops unreachable blocks, orders the others and merges straight lines of them."""

from __future__ import annotations

from anyzero.compiler.dominators import order
from anyzero.compiler.ir import Block, Body, Op


def arrange(body: Body, entry: Block) -> None:
    """Lists the reachable blocks, dominators first and the end last; drops the others."""
    # In reverse, so that a branch's first side comes before its second.
    blocks = order(entry, lambda block: block.successors[::-1])
    ends = [block for block in blocks if not block.successors]
    body.blocks = [*(block for block in blocks if block.successors), *ends]
    reached = set(blocks)
    for block in blocks:
        if all(parent in reached for parent in block.predecessors):
            continue
        kept = [place for place, parent in enumerate(block.predecessors) if parent in reached]
        block.predecessors = [block.predecessors[place] for place in kept]
        for phi in block.phis:
            phi.args = [phi.args[place] for place in kept]
    _number(body)


def join(body: Body) -> None:
    """Merges each block with its only successor, where it is that one's only predecessor."""
    joined: dict[Block, Block] = {}
    for block in body.blocks:
        if block in joined:
            continue
        while len(block.successors) == 1:
            following = block.successors[0]
            if len(following.predecessors) != 1 or following.phis or following is block:
                break
            for op in following.ops:
                op.block = block
            block.ops += following.ops
            block.condition, block.successors = following.condition, following.successors
            joined[following] = block
            for target in block.successors:
                target.predecessors[target.predecessors.index(following)] = block
    body.blocks = [block for block in body.blocks if block not in joined]
    _number(body)


def _number(body: Body) -> None:
    for number, block in enumerate(body.blocks):
        block.number = number


def substitute(body: Body, by: dict[Op, Op]) -> None:
    """Replaces values, also where a replacement is to be replaced itself."""
    if not by:
        return

    def final(op: Op) -> Op:
        path = []
        while op in by:
            path.append(op)
            op = by[op]
        for step in path[:-1]:
            by[step] = op
        return op

    for block in body.blocks:
        for op in block.everything:
            args = op.args
            for place, arg in enumerate(args):
                if arg in by:
                    args[place] = final(arg)
        if block.condition is not None and block.condition in by:
            block.condition = final(block.condition)
