"""Cuts a body at the barriers of a work-group.

A region is the code between barriers. All vectors of a group run a region before any of them enters the next; values
that are live across a barrier are kept in memory of each vector, or rematerialised where that is cheap.
"""

from __future__ import annotations

from collections.abc import Iterator

from anyzero.compiler.analysis.liveness import live_in
from anyzero.compiler.analysis.uniformity import Shapes
from anyzero.compiler.dominators import Dominators, dominators
from anyzero.compiler.ir import Block, Body, Combine, Masks, Op, Slot
from anyzero.compiler.operations import CHEAP, SAME
from anyzero.compiler.transform.linearise import connect
from anyzero.compiler.transform.ssa_repair import demote
from anyzero.lazy_dataclass import dataclass

_STEPS = 6
"""The longest chain of operations that is rematerialised."""


@dataclass(slots=True, eq=False)
class Region:
    start: Block
    blocks: list[Block]
    """In the order of their numbers."""
    descending: bool = False
    """Do the vectors of a group run from the last to the first?"""


def split(body: Body, shapes: Shapes, masks: Masks, unrolled: bool = False) -> list[Region]:
    """The first region starts at the kernel's entry. `unrolled` says that each vector of a group has code of its own,
    where local ids are constants.
    """
    starts = [body.blocks[0]]
    for block in list(body.blocks):
        starts += _cut(block, body, masks)
    connect(body)
    return start_from(list(dict.fromkeys(starts)), body, shapes, masks, unrolled)


def start_from(starts: list[Block], body: Body, shapes: Shapes, masks: Masks, unrolled: bool = False) -> list[Region]:
    """Regions that start at these blocks, whose predecessors all end in barriers; live values are kept across these."""
    if len(starts) > 1:
        _keep(body, shapes, masks, starts[1:], unrolled)
    return [Region(start, _reached(start)) for start in starts]


def ends_in_barrier(block: Block) -> Op | None:
    last = block.ops[-1] if block.ops else None
    return last if last is not None and _is_barrier(last) else None


def _is_barrier(op: Op) -> bool:
    return op.name == "barrier" and op.info != "sub_group"


def _cut(block: Block, body: Body, masks: Masks) -> list[Block]:
    made: list[Block] = []
    places = [index + 1 for index, op in enumerate(block.ops) if _is_barrier(op)]
    if places and places[-1] == len(block.ops) and block.ops[-1].info == "piece":
        # Several pieces may lead to the same one.
        made += block.successors
        places.pop()
    if not places:
        return made
    ops, condition, successors = block.ops, block.condition, block.successors
    for place, end in zip(places, [*places[1:], len(ops)], strict=True):
        rest = Block(len(body.blocks), ops=ops[place:end], condition=condition, successors=successors)
        for op in rest.ops:
            op.block = rest
        block.condition, block.successors = None, [rest]
        if block in masks.of:
            masks.of[rest] = masks.of[block]
        body.blocks.append(rest)
        made.append(rest)
        block = rest
    del ops[places[0] :]
    return made


def _reached(start: Block) -> list[Block]:
    found, waiting = {start}, [start]
    while waiting:
        block = waiting.pop()
        if ends_in_barrier(block) is None:
            for target in block.successors:
                if target not in found:
                    found.add(target)
                    waiting.append(target)
    return sorted(found, key=lambda block: block.number)


def _keep(body: Body, shapes: Shapes, masks: Masks, starts: list[Block], unrolled: bool) -> None:
    _recompute(body, shapes, masks, starts, unrolled)
    demote(values_across(body, masks, starts), body, shapes, masks)
    slots = slots_across(body, starts)
    for slot in slots:
        slot.across = True


def live_values(body: Body, masks: Masks) -> dict[Block, set[object]]:
    """Values and slots that are live where each block begins."""
    uses: dict[Block, set[object]] = {}
    makes: dict[Block, set[object]] = {}
    for block in body.blocks:
        used: set[object] = set()
        made: set[object] = set()
        for op in block.ops:
            used.update(arg for arg in op.args if arg.block is not None and arg not in made)
            if op.name == "read" and op.info not in made:
                used.add(op.info)
            if op.name == "write":
                made.add(op.info)
            made.add(op)
        for each in (block.condition, masks.of.get(block)):
            if each is not None and each.block is not None and each not in made:
                used.add(each)
        uses[block], makes[block] = used, made
    needed: dict[Block, set[object]] = {block: set() for block in body.blocks}
    changed = True
    while changed:
        changed = False
        for block in reversed(body.blocks):
            found = set(uses[block])
            for target in block.successors:
                found |= needed[target] - makes[block]
            if len(found) != len(needed[block]):
                needed[block] = found
                changed = True
    return needed


def values_across(body: Body, masks: Masks, starts: list[Block]) -> set[Op]:
    """Values that are live across a barrier. Found use by use: live sets would hold all values at all starts."""
    found: set[Op] = set()
    inside = {start: _within(start) for start in [body.blocks[0], *starts]}
    owners: dict[Block, list[Block]] = {}
    for start, blocks in inside.items():
        for block in (start, *blocks):
            owners.setdefault(block, []).append(start)
    behind = set(starts)
    for block in body.blocks:
        for value in _used(block, masks):
            home = value.block
            if home is None or home is block or value in found:
                continue
            # Is there a path from a region's start that does not pass the definition?
            if any(each in behind and not inside[each].dominates(home, block) for each in owners.get(block, ())):
                found.add(value)
    return found


def _within(start: Block) -> Dominators[Block]:
    """Blocks of the region that starts at a block."""
    return dominators(start, lambda block: [] if ends_in_barrier(block) is not None else block.successors)


def _used(block: Block, masks: Masks) -> Iterator[Op]:
    for op in block.ops:
        yield from op.args
    for each in (block.condition, masks.of.get(block)):
        if each is not None:
            yield each


def slots_across(body: Body, starts: list[Block]) -> set[Slot]:
    """Slots that are live across a barrier, or that a collective of the group uses there."""
    if not starts:
        return set()
    bits: dict[Slot, int] = {}
    reads: dict[Block, int] = {}
    writes: dict[Block, int] = {}
    for block in body.blocks:
        read = written = 0
        for op in block.ops:
            if op.name == "read":
                read |= bits.setdefault(op.info, 1 << len(bits)) & ~written
            elif op.name == "write":
                written |= bits.setdefault(op.info, 1 << len(bits))
        if read:
            reads[block] = read
        if written:
            writes[block] = written
    live, across = live_in(body.blocks, reads, writes), 0
    for start in starts:
        across |= live.get(start, 0)
    found = {slot for slot, bit in bits.items() if across & bit}
    for block in body.blocks:
        barrier = ends_in_barrier(block)
        if barrier is not None and isinstance(barrier.info, Combine):
            found |= {barrier.info.slot, *barrier.info.places}
            found |= {barrier.info.source} if barrier.info.source is not None else set()
    return found


def _recompute(body: Body, shapes: Shapes, masks: Masks, starts: list[Block], unrolled: bool) -> None:
    """Rematerialises ids, arguments and short computations of them in every block that uses them; in unrolled code also
    long ones that give a constant there.
    """
    cheap: dict[Op, int] = {}
    fixed: dict[Op, bool] = {}
    across = values_across(body, masks, starts)
    again = {value for value in across if _steps(value, cheap) <= _STEPS or (unrolled and _is_fixed(value, fixed))}
    if not again:
        return
    for block in body.blocks:
        copies: dict[Op, Op] = {}
        new: list[Op] = []

        def copied(value: Op, block: Block = block, copies: dict[Op, Op] = copies, new: list[Op] = new) -> Op:
            if value.block is None:
                return value
            found = copies.get(value)
            if found is None:
                found = Op(
                    value.name, value.type, [copied(each) for each in value.args], value.info, value.flags, value.word
                )
                found.block = block
                shapes.of[found] = shapes[value]
                copies[value] = found
                new.append(found)
            return found

        def seen(value: Op, block: Block = block, copied: object = copied) -> Op:
            return copied(value) if value in again and value.block is not block else value  # type: ignore[operator]

        for op in block.ops:
            op.args = [seen(each) for each in op.args]
        if block.condition is not None:
            block.condition = seen(block.condition)
        if block in masks.of:
            masks.of[block] = seen(masks.of[block])
        block.ops[:0] = new


def is_cheap(value: Op) -> bool:
    """Is it rematerialised?"""
    return _steps(value, {}) <= _STEPS


def _is_fixed(value: Op, known: dict[Op, bool]) -> bool:
    """Is it computed from local ids, constants and the begin of local memory alone?"""
    if value.block is None:
        return True
    found = known.get(value)
    if found is None:
        if value.name == "builtin":
            found = value.info[0] == "local_id"
        else:
            found = value.name in SAME and value.name not in ("argument", "argument_address", "undef")
            found = found and all(_is_fixed(each, known) for each in value.args)
        known[value] = found
    return found


def _steps(value: Op, known: dict[Op, int], room: int = _STEPS) -> int:
    """Operations that rematerialise a value; counting stops beyond `room`."""
    if value.block is None:
        return 0
    found = known.get(value)
    if found is not None:
        return found
    cheap = value.name in CHEAP
    found = 1 if cheap else _STEPS + 1
    for each in value.args if cheap else ():
        if found > room:
            break
        found += _steps(each, known, room - found)
    if found <= room or room == _STEPS or found > _STEPS:
        known[value] = found
    return found
