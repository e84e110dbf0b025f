"""Splits regions where control flow from several barriers joins, so that the code after the join is emitted once.

A loop with a barrier in it is entered from before the loop, and again after its barrier: its body would be part of both
regions. Code before the join must be group-uniform. It is a region of its own then, which runs once for all vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Container

from anyzero.compiler.analysis.uniformity import Shapes
from anyzero.compiler.ir import Block, Body, Masks, Op, Slot
from anyzero.compiler.transform.linearise import connect
from anyzero.compiler.transform.regions import Region, ends_in_barrier, is_cheap, live_values, start_from
from anyzero.lazy_dataclass import dataclass

MOST = 64
"""Kernels of more regions are left as they are."""


@dataclass(slots=True, eq=False)
class Known:
    """Group-uniform values."""

    values: Callable[[Op], bool]
    slots: Container[Slot]
    apart: Container[Block]
    """Blocks that only some vectors of a group reach."""
    idle: Container[Block]
    """Blocks without work of a single vector."""


def split_at_joins(body: Body, regions: list[Region], shapes: Shapes, masks: Masks, known: Known) -> list[Region]:
    """Returns the same regions where there is nothing to split."""
    starts = [region.start for region in regions]
    if len(regions) > MOST:
        return regions
    joints: dict[Block, None] = {}
    shared = _shared(regions)
    live = live_values(body, masks) if shared else {}
    seen: dict[Block, bool] = {}

    def may_cut(block: Block) -> bool:
        if block not in seen:
            seen[block] = _may_cut(block, live[block], known)
        return seen[block]

    for block in shared:
        together = _with_siblings(block)
        if not any(each in starts for each in together) and all(map(may_cut, together)):
            joints |= dict.fromkeys(together)
    if not joints:
        return regions
    for joint in joints:
        for source in _before(joint):
            edge = Block(len(body.blocks), successors=[joint])
            edge.append(Op("barrier", "", [], "joint"))
            body.blocks.append(edge)
            source.successors = [edge if each is joint else each for each in source.successors]
    connect(body)
    return start_from([*starts, *joints], body, shapes, masks)


def _before(block: Block) -> list[Block]:
    """Predecessors, without those that end in a barrier."""
    return [each for each in block.predecessors if ends_in_barrier(each) is None]


def _shared(regions: list[Region]) -> list[Block]:
    """Blocks where the shared code of several regions begins."""
    owners: dict[Block, set[int]] = {}
    for number, region in enumerate(regions):
        for block in region.blocks:
            owners.setdefault(block, set()).add(number)
    starts = {region.start for region in regions}
    return [
        block
        for block, those in owners.items()
        if len(those) > 1 and block not in starts and any(owners[each] != those for each in _before(block))
    ]


def _leading(joint: Block) -> dict[Block, None]:
    """All blocks that reach it without a barrier in between, in a deterministic order: regions are numbered by it."""
    found: dict[Block, None] = {}
    waiting = [joint]
    while waiting:
        new = [each for each in _before(waiting.pop()) if each not in found]
        found |= dict.fromkeys(new)
        waiting += new
    return found


def _with_siblings(joint: Block) -> list[Block]:
    """The joint and the other blocks that the code before it leads to: the split is at all of them, so that the code
    before them is a region without other work.
    """
    found = {joint: None}
    waiting = [joint]
    while waiting:
        leading = _leading(waiting.pop())
        ends = [each for block in leading for each in block.successors if each not in leading and each not in found]
        found |= dict.fromkeys(ends)
        waiting += ends
    return list(found)


def _may_cut(joint: Block, live: set[object], known: Known) -> bool:
    """Is all code before it group-uniform, and are the values that it leaves?"""
    leading = _leading(joint)
    if joint in known.apart or any(block not in known.idle for block in leading):
        return False
    values = (each for each in live if isinstance(each, Op))
    if any(value.block in leading and not known.values(value) and not is_cheap(value) for value in values):
        return False
    written = {op.info for block in leading for op in block.ops if op.name == "write"}
    return all(slot in known.slots for slot in live & written)
