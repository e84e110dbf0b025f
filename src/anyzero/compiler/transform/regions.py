"""Cuts a body at the barriers of a work-group.

A region is what a vector of work-items runs from one barrier to the next. All vectors of a group run a region before
any of them goes on; what a vector still needs then lies in memory of its own, or is computed again where that is cheap.
"""

from __future__ import annotations

from dataclasses import dataclass

from anyzero.compiler.analysis.shapes import Shapes
from anyzero.compiler.ir import Block, Body, Combine, Op, Slot
from anyzero.compiler.transform.linearise import Masks, connect
from anyzero.compiler.transform.reach import demote

_AGAIN = {"argument", "argument_address", "local_argument", "builtin", "variable", "entry_mask", "sampler"}
_AGAIN_FROM = {"add", "sub", "mul", "shl", "and", "or", "cast", "offset", "icmp"}
_STEPS = 6
"""How long a chain of operations is computed again rather than kept."""


@dataclass(slots=True, eq=False)
class Region:
    start: Block
    blocks: list[Block]
    """In the order in which they are numbered; those that end in a barrier, or not at all, are the last of their
    way.
    """


def split(body: Body, shapes: Shapes, masks: Masks) -> list[Region]:
    """The first region is where a kernel begins."""
    starts = [body.blocks[0]]
    for block in list(body.blocks):
        starts += _cut(block, body, masks)
    connect(body)
    return start_from(starts, body, shapes, masks)


def start_from(starts: list[Block], body: Body, shapes: Shapes, masks: Masks) -> list[Region]:
    """Regions that start at these blocks, to which only barriers lead. What is needed there outlives the barriers."""
    if len(starts) > 1:
        _keep(body, shapes, masks, starts[1:])
    return [Region(start, _reached(start)) for start in starts]


def ends_in_barrier(block: Block) -> Op | None:
    last = block.ops[-1] if block.ops else None
    return last if last is not None and _is_barrier(last) else None


def _is_barrier(op: Op) -> bool:
    return op.name == "barrier" and op.info != "sub_group"


def _cut(block: Block, body: Body, masks: Masks) -> list[Block]:
    made = []
    place = next((index for index, op in enumerate(block.ops) if _is_barrier(op)), None)
    while place is not None:
        rest = Block(
            len(body.blocks), ops=block.ops[place + 1 :], condition=block.condition, successors=block.successors
        )
        for op in rest.ops:
            op.block = rest
        block.ops = block.ops[: place + 1]
        block.condition, block.successors = None, [rest]
        if block in masks.of:
            masks.of[rest] = masks.of[block]
        body.blocks.append(rest)
        made.append(rest)
        block = rest
        place = next((index for index, op in enumerate(block.ops) if _is_barrier(op)), None)
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


def _keep(body: Body, shapes: Shapes, masks: Masks, starts: list[Block]) -> None:
    cheap: dict[Op, int] = {}
    _recompute(body, shapes, masks, starts, cheap)
    values, _ = alive(body, masks, starts)
    demote(values, body, shapes, masks)
    _, slots = alive(body, masks, starts)
    for block in body.blocks:
        barrier = ends_in_barrier(block)
        if barrier is not None and isinstance(barrier.info, Combine):
            slots |= {barrier.info.slot, *barrier.info.places}
            slots |= {barrier.info.source} if barrier.info.source is not None else set()
    for slot in slots:
        slot.across = True


def alive(body: Body, masks: Masks, starts: list[Block]) -> tuple[set[Op], set[Slot]]:
    """What is still needed where a region starts."""
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
    across: set[object] = set()
    for start in starts:
        across |= needed[start]
    return {each for each in across if isinstance(each, Op)}, {each for each in across if isinstance(each, Slot)}


def _recompute(body: Body, shapes: Shapes, masks: Masks, starts: list[Block], cheap: dict[Op, int]) -> None:
    """Ids, arguments and what is quickly made of them are computed in every block that needs them."""
    values, _ = alive(body, masks, starts)
    again = {value for value in values if _steps(value, cheap) <= _STEPS}
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
    """Is it computed again rather than kept?"""
    return _steps(value, {}) <= _STEPS


def _steps(value: Op, known: dict[Op, int]) -> int:
    if value.block is None:
        return 0
    found = known.get(value)
    if found is None:
        known[value] = _STEPS + 1
        if value.name in _AGAIN:
            found = 1
        elif value.name in _AGAIN_FROM:
            found = 1 + sum(_steps(each, known) for each in value.args)
        else:
            found = _STEPS + 1
        known[value] = found
    return found
