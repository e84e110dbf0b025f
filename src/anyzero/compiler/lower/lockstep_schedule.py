"""Decides whether all vectors of a group take the same path from barrier to barrier, and which slots they share then.

If they do, vectors need not store their next region, and group-uniform slots are kept once for the group.
"""

from __future__ import annotations

from collections.abc import Iterable

from anyzero.compiler.analysis.group_uniformity import same_for_group
from anyzero.compiler.analysis.prefix_conditions import prefix_condition
from anyzero.compiler.analysis.uniformity import UNIFORM, Shapes
from anyzero.compiler.dominators import dominators
from anyzero.compiler.ir import Block, Combine, Op, Slot
from anyzero.compiler.lower.tile_contents import RegisterTiles
from anyzero.compiler.operations import DIVISIONS, LONG, MASKS, PURE
from anyzero.compiler.transform.regions import Region, ends_in_barrier
from anyzero.compiler.transform.split_at_joins import Known
from anyzero.lazy_dataclass import dataclass, field

MUCH = 64
"""The weight of an operation that becomes much code."""

END = -1
"""Instead of a region's number: the kernel ends."""


def answer(number: int, stop: bool) -> int:
    """A region's results: the next region, and whether later vectors of the row have nothing to do in this one."""
    return (number + 1) * 2 + stop


@dataclass(slots=True, eq=False)
class Step:
    """A region of the schedule."""

    next: list[int]
    """Numbers of the regions that may follow, or END."""
    writes: list[Slot] = field(default_factory=list)
    """Shared slots that it changes."""
    stops: set[Block] = field(default_factory=set)
    """Blocks that skip all work of the region when the mask is empty; then it is empty for all later vectors of the
    row.
    """
    reach: int | None = None
    """The number of work-items at the begin of each row that have something to do, where that is a constant."""
    idle: bool = False
    """Is it group-uniform, so that one vector is enough?"""
    descending: bool = False
    """Do vectors run from the last to the first?"""


@dataclass(slots=True, eq=False)
class Schedule:
    steps: list[Step]
    shared: dict[Slot, int]
    """Group-uniform slots, with their places."""
    known: Known
    straight: bool = False
    """Are there no loops over regions, so that the overhead of starting a group dominates in small groups?"""
    operations: int = 0
    """Of all regions together; those that become much code count several times."""
    tiles: RegisterTiles | None = None
    """Arrays of local memory that are in registers."""


def schedule_lockstep(regions: list[Region], same: set[Op], shapes: Shapes) -> Schedule | None:
    """None where vectors may reach different barriers. `same` holds the group-uniform values."""
    blocks = list(dict.fromkeys(block for region in regions for block in region.blocks))
    agreement = _Agreement(blocks, same)
    numbers = {region.start: number for number, region in enumerate(regions)}
    graphs = [_Graph(region, numbers, agreement) for region in regions]
    if not all(graph.together for graph in graphs):
        return None
    apart = {block for graph in graphs for block in graph.apart}
    slots = [slot for slot in agreement.slots if slot.across and slot.shape == UNIFORM]
    lost = {op.info for block in apart for op in block.ops if op.name == "write"}
    shared = {slot: 8 * place for place, slot in enumerate(slot for slot in slots if slot not in lost)}
    busy = {block for block in blocks if any(_does(op, shared) for op in block.ops)}
    # Inactive lanes may have invalid addresses, and a region that runs once does not test masks.
    idle = {block for block in blocks if block not in busy and not any(_differs(op, shapes) for op in block.ops)}
    steps = [_step(graph, shared, busy, idle, shapes) for graph in graphs]
    onward = all(each == END or each > number for number, step in enumerate(steps) for each in step.next)
    straight = onward and not any(_turns_back(region) for region in regions)
    operations = sum(map(_weight, (op for block in blocks for op in block.ops)))
    return Schedule(steps, shared, Known(agreement.on, agreement.slots, apart, idle), straight, operations)


def _step(graph: _Graph, shared: dict[Slot, int], busy: set[Block], idle: set[Block], shapes: Shapes) -> Step:
    region = graph.region
    stops = set() if region.descending else graph.stops(busy, shapes)
    reaches = [reach for block in stops if (reach := graph.reach(block, shapes)) is not None]
    once = all(block in idle for block in region.blocks)
    return Step(sorted(graph.ends), graph.writes(shared), stops, min(reaches, default=None), once, region.descending)


def _weight(op: Op) -> int:
    return MUCH if op.name in LONG and op.name != "barrier" else 1


def _turns_back(region: Region) -> bool:
    place = {block: number for number, block in enumerate(region.blocks)}
    return any(
        place.get(target, len(place)) <= number
        for number, block in enumerate(region.blocks)
        if ends_in_barrier(block) is None
        for target in block.successors
    )


class _Agreement:
    """Group uniformity, also of operations that were added after the analysis."""

    def __init__(self, blocks: list[Block], same: set[Op]) -> None:
        self.same = same
        ops = [op for block in blocks for op in block.ops]
        combined = {slot for op in ops if isinstance(op.info, Combine) for slot in _slots_of(op.info)}
        reads = {op.info: None for op in ops if op.name == "read" and op in same and op.info not in combined}
        self.slots: dict[Slot, None] = reads
        written: dict[Slot, list[Op]] = {}
        for op in ops:
            if op.name == "write" and op.info.name == "value" and op.info not in combined:
                written.setdefault(op.info, []).append(op.args[0])
        for slot, values in written.items():
            if all(self.on(value) for value in values):
                self.slots[slot] = None

    def on(self, op: Op, depth: int = 8) -> bool:
        if op.block is None or op in self.same:
            return True
        if op.name == "read":
            return op.info in self.slots
        if op.name in ("phi", "load") or not depth:
            return False
        return same_for_group(op) and all(self.on(each, depth - 1) for each in op.args)


def _slots_of(what: Combine) -> Iterable[Slot]:
    return (what.slot, *what.places, *([what.source] if what.source is not None else []))


def _reached(along: dict[Block, list[Block]], starts: Iterable[Block], stop: Block | None = None) -> set[Block]:
    found: set[Block] = set()
    waiting = list(starts)
    while waiting:
        block = waiting.pop()
        if block not in found and block is not stop:
            found.add(block)
            waiting += along.get(block, ())
    return found


class _Graph:
    """The flow graph of a region; all exits lead to one sink."""

    def __init__(self, region: Region, numbers: dict[Block, int], agreement: _Agreement) -> None:
        self.region = region
        self.agreement = agreement
        self.sink = Block(-1)
        self.next = {
            block: [self.sink] if ends_in_barrier(block) or not block.successors else block.successors
            for block in region.blocks
        }
        self.end = {
            block: numbers[block.successors[0]] if ends_in_barrier(block) else END
            for block in region.blocks
            if self.next[block] == [self.sink]
        }
        self.ends = set(self.end.values())
        self.before: dict[Block, list[Block]] = {self.sink: [], **{block: [] for block in region.blocks}}
        for block, targets in self.next.items():
            for target in targets:
                self.before[target].append(block)
        self.after = dominators(self.sink, lambda block: self.before[block])
        """Immediate post-dominators."""
        self.apart: set[Block] = set()
        """Blocks that only some vectors reach."""
        self.together = self._follow()

    def _follow(self) -> bool:
        for block in self.region.blocks:
            if len(self.next[block]) < 2 or block.condition is None or self.agreement.on(block.condition):
                continue
            meet = self.after.get(block)
            if meet is None:
                return False
            found = _reached(self.next, self.next[block], meet) - {self.sink}
            if meet is self.sink and len({self.end[each] for each in found if each in self.end}) > 1:
                return False
            self.apart |= found
        return True

    def writes(self, shared: dict[Slot, int]) -> list[Slot]:
        found = {op.info for block in self.region.blocks for op in block.ops if op.name == "write"}
        return [slot for slot in shared if slot in found]

    # Vectors that have nothing to do

    def stops(self, busy: set[Block], shapes: Shapes) -> set[Block]:
        here = busy.intersection(self.region.blocks)
        return {block for block in self.region.blocks if self._may_stop(block, here, shapes)}

    def _may_stop(self, block: Block, busy: set[Block], shapes: Shapes) -> bool:
        condition = block.condition
        if condition is None or condition.name != "any" or block in self.apart or block in busy:
            return False
        if not self._ends_in_row(condition.args[0], shapes):
            return False
        behind = _reached(self.next, self.next[block])
        inside = _reached(self.next, [self.next[block][0]], self.after[block])
        if block in behind or not busy & inside:
            return False
        return busy & (behind | _reached(self.before, self.before[block])) <= inside

    def reach(self, block: Block, shapes: Shapes) -> int | None:
        """The number of work-items at the begin of a row for which a block does not skip the region's work."""
        assert block.condition is not None
        waiting, found = [block.condition.args[0]], []
        while waiting:
            mask = waiting.pop()
            if mask.name == "mask_and":
                waiting += mask.args
            condition = prefix_condition(mask, shapes, flat=False)
            if condition is not None and _is_local_id(condition.id):
                bound = condition.bound
                if bound is None:
                    found.append(1)
                elif bound.name == "const" and bound.info < 1 << 31:
                    found.append(bound.info + (condition.predicate in ("sle", "ule")))
        return min(found, default=None)

    def _ends_in_row(self, mask: Op, shapes: Shapes) -> bool:
        """If the mask is empty for a vector, is it empty for all later vectors of the row?"""
        if mask.name in ("entry_mask", "mask_and"):
            return all(self._ends_in_row(each, shapes) for each in mask.args)
        found = prefix_condition(mask, shapes, flat=False)
        return found is not None and (found.bound is None or self.agreement.on(found.bound))


def _is_local_id(op: Op) -> bool:
    while op.name == "cast":
        op = op.args[0]
    return op.name == "builtin" and tuple(op.info) == ("local_id", 0)


def _does(op: Op, shared: dict[Slot, int]) -> bool:
    if op.name == "write":
        return op.info.across and op.info not in shared
    if op.name == "load":
        return bool(op.info.volatile)
    if op.name in DIVISIONS and op.args[1].name == "const":
        return not op.args[1].info
    return op.name not in PURE and op.name not in MASKS and op.name not in ("read", "barrier")


def _differs(op: Op, shapes: Shapes) -> bool:
    return op.name == "load" and not shapes[op.args[0]].uniform
