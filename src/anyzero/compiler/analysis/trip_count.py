"""Loops with constant trip counts."""

from __future__ import annotations

from anyzero.compiler import folding
from anyzero.compiler.analysis.loops import Loop
from anyzero.compiler.dominators import Dominators
from anyzero.compiler.folding import width
from anyzero.compiler.ir import Block, Op
from anyzero.compiler.operations import INTEGER
from anyzero.lazy_dataclass import dataclass

DEPTH = 64
"""Operations from a loop's phis to its condition."""


@dataclass(slots=True, eq=False)
class Counted:
    loop: Loop
    before: Block
    """The only block that leads into the loop."""
    latch: Block
    leaves: Block
    """The only exiting block; every iteration executes it."""
    exit: Block
    iterations: int
    """The iterations that pass `leaves` without taking the exit; the next one takes it."""


def counted(loop: Loop, immediate: Dominators[Block], most: int) -> Counted | None:
    """The trip count of a loop with a single entry, latch and exit, if it is constant and at most `most`."""
    before = [block for block in loop.header.predecessors if block not in loop.blocks]
    exits = loop.exits
    if len(before) != 1 or len(loop.latches) != 1 or len(exits) != 1:
        return None
    (leaves, exit_), latch = exits[0], loop.latches[0]
    if leaves.condition is None or not immediate.dominates(leaves, latch):
        return None
    found = Counted(loop, before[0], latch, leaves, exit_, 0)
    stays_if = leaves.successors[1] is exit_
    place = loop.header.predecessors.index(before[0])
    carried = loop.header.predecessors.index(latch)
    known = {phi: phi.args[place].info for phi in loop.header.phis if phi.args[place].name == "const"}
    while found.iterations <= most:
        computed: dict[Op, int | None] = dict(known)
        condition = _value(leaves.condition, computed, loop, 0)
        if condition is None:
            return None
        if bool(condition) != stays_if:
            return found
        following = {phi: _value(phi.args[carried], computed, loop, 0) for phi in known}
        known = {phi: value for phi, value in following.items() if value is not None}
        found.iterations += 1
    return None


def _value(op: Op, known: dict[Op, int | None], loop: Loop, depth: int) -> int | None:
    """The bits of a value, where they follow from the known values of the phis."""
    if op.name == "const":
        bits: int = op.info
        return bits
    if op in known:
        return known[op]
    found: int | None = None
    if op.block in loop.blocks and depth < DEPTH and (op.name in INTEGER or op.name in ("cast", "icmp", "select")):
        args = [_value(arg, known, loop, depth + 1) for arg in op.args]
        values = [arg for arg in args if arg is not None]
        if len(values) == len(args):
            found = _computed(op, values)
    known[op] = found
    return found


def _computed(op: Op, values: list[int]) -> int | None:
    source = op.args[0].type
    if op.name == "icmp":
        return folding.compared(op.info, width(source), values[0], values[1])
    if op.name == "select":
        return values[1] if values[0] else values[2]
    if op.name == "cast":
        found = folding.cast(op.info, values[0], source, op.type)
    else:
        found = folding.binary(op.name, width(op.type), values[0], values[1])
    return None if found is None else found & ((1 << width(op.type)) - 1)
