"""If-conversion: a side of a branch with at most two cheap operations is computed in any case, and phis become selects.

In a search for the nearest point, `if (d < best) { best = d; at = first + j; }` is a comparison and two selects.
"""

from __future__ import annotations

from anyzero.compiler.ir import Block, Body, Op
from anyzero.compiler.transform.blocks import arrange, join
from anyzero.compiler.transform.phis import remove_trivial_phis

FEW = 2
"""The most operations of a side."""
MOST = 4
"""The most phis behind a branch that become selects."""
_CHEAP = frozenset({"add", "sub", "mul", "and", "or", "xor", "shl", "lshr", "ashr", "cast", "offset", "icmp", "select"})


def if_conversion(body: Body) -> None:
    places = {block: place for place, block in enumerate(body.blocks)}
    changed = False
    for block in list(body.blocks):
        # The way back of a loop stays a block.
        if _is_side(block) and places[block.successors[0]] > places[block]:
            changed = _convert(block) or changed
    if changed:
        arrange(body, body.blocks[0])
        remove_trivial_phis(body)
        join(body)


def _is_side(block: Block) -> bool:
    one_way = len(block.predecessors) == 1 and len(block.successors) == 1 and not block.phis
    return one_way and len(block.ops) <= FEW and all(op.name in _CHEAP for op in block.ops)


def _convert(block: Block) -> bool:
    (source,), (target,) = block.predecessors, block.successors
    straight = target in source.successors
    if source.condition is None or source is target or (straight and len(target.phis) > MOST):
        return False
    for op in block.ops:
        source.append(op)
    here = target.predecessors.index(block)
    if straight:
        _select(source, block, target)
    else:
        target.predecessors[here] = source
        source.successors[source.successors.index(block)] = target
    return True


def _select(source: Block, block: Block, target: Block) -> None:
    """Both ways lead to the same block: there is no branch any more."""
    condition = source.condition
    assert condition is not None
    here, direct = target.predecessors.index(block), target.predecessors.index(source)
    taken = source.successors[0] is block
    for phi in target.phis:
        sides = [phi.args[here], phi.args[direct]]
        if sides[0] is not sides[1]:
            args = [condition, *(sides if taken else sides[::-1])]
            phi.args[direct] = source.append(Op("select", phi.type, args, word=phi.word))
        del phi.args[here]
    del target.predecessors[here]
    source.condition, source.successors = None, [target]
