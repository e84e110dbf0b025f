"""Pairs of neighbouring groups: each vector of the first group, then the same vector of the second one.

Where the rows of a matrix lie a power of two apart, those of a group are in a few sets of the first-level cache. They
evict each other before the next group gets to the lines that both groups share.
"""

from __future__ import annotations

from anyzero.compiler.analysis.addresses import root
from anyzero.compiler.lower.entry import Group
from anyzero.compiler.lower.group_batches import Batch
from anyzero.compiler.lower.regions import Ready
from anyzero.lazy_dataclass import replace

WIDEST = 16
"""Work-items of a row: with elements of four bytes, a cache line. Longer rows gain nothing."""


def are_paired(ready: Ready, size: tuple[int, int, int]) -> bool:
    """Groups of one size whose regions always follow each other, and that read the same lines as their neighbours."""
    schedule = ready.schedule
    if schedule is None or schedule.tiles is not None or not schedule.straight or len(schedule.steps) < 2:
        return False
    alike = all(len(step.next) == 1 and not step.stops for step in schedule.steps)
    return alike and size[0] <= WIDEST and size[1] * size[2] > 1 and _reads_margins(ready)


def _reads_margins(ready: Ready) -> bool:
    """Does a work-item read several elements of one argument?"""
    blocks = dict.fromkeys(block for region in ready.regions for block in region.blocks)
    loads = [op for block in blocks for op in block.ops if op.name == "load" and op.info.space == "global"]
    return len({root(op.args[0]) for op in loads}) < len(loads)


def pair_of(batch: Batch, group: Group) -> list[Group]:
    """A group, and its neighbour along the first dimension, which has local memory of its own."""
    e = batch.e
    known = {**group.known, "group_x": group.known["group_x"] + 1}
    start = [group.start[0] + e.size[0], *group.start[1:]]
    return [group, batch.apart(replace(group, known=known, start=start), e.number(1))]
