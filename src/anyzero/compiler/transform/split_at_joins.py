"""Splits regions where control flow from several barriers joins, so that the code behind the join is emitted once.

A loop with a barrier in it is entered from in front of it, and again from behind its barrier: its body would be part of
both regions. What comes before the joint must be nothing but what the whole group agrees on. It is a region by itself
then, which runs once for all vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass

from anyzero.compiler.analysis.uniformity import Shapes
from anyzero.compiler.ir import Block, Body, Masks, Op, Slot
from anyzero.compiler.transform.linearise import connect
from anyzero.compiler.transform.regions import Region, alive, ends_in_barrier, is_cheap, start_from

MOST = 64
"""Regions of a kernel that is looked at so closely."""


@dataclass(slots=True, eq=False)
class Known:
    """What a group agrees on."""

    values: Callable[[Op], bool]
    slots: Container[Slot]
    apart: Container[Block]
    """Blocks that some vectors come to and others do not."""
    idle: Container[Block]
    """Blocks that do nothing for a single vector."""


def split_at_joins(body: Body, regions: list[Region], shapes: Shapes, masks: Masks, known: Known) -> list[Region]:
    """The same regions come back where there is nothing to cut."""
    starts = [region.start for region in regions]
    if len(regions) > MOST:
        return regions
    joints: dict[Block, None] = {}
    for block in _shared(regions):
        together = _with_siblings(block)
        if not any(each in starts for each in together) and all(
            _may_cut(each, body, masks, known) for each in together
        ):
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
    """Blocks that lead to it without a barrier in between."""
    return [each for each in block.predecessors if ends_in_barrier(each) is None]


def _shared(regions: list[Region]) -> list[Block]:
    """Where what several regions have in common begins."""
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
    """All that comes before without a barrier in between, in the same order each time: regions are numbered by it."""
    found: dict[Block, None] = {}
    waiting = [joint]
    while waiting:
        new = [each for each in _before(waiting.pop()) if each not in found]
        found |= dict.fromkeys(new)
        waiting += new
    return found


def _with_siblings(joint: Block) -> list[Block]:
    """With the other blocks that the same ways may lead to: cut at all of them, what is in front does nothing else."""
    found = {joint: None}
    waiting = [joint]
    while waiting:
        leading = _leading(waiting.pop())
        ends = [each for block in leading for each in block.successors if each not in leading and each not in found]
        found |= dict.fromkeys(ends)
        waiting += ends
    return list(found)


def _may_cut(joint: Block, body: Body, masks: Masks, known: Known) -> bool:
    """Does all that comes before do nothing but what the group agrees on, and leave nothing else?"""
    leading = _leading(joint)
    if joint in known.apart or any(block not in known.idle for block in leading):
        return False
    values, slots = alive(body, masks, [joint])
    if any(value.block in leading and not known.values(value) and not is_cheap(value) for value in values):
        return False
    written = {op.info for block in leading for op in block.ops if op.name == "write"}
    return all(slot in known.slots for slot in slots & written)
