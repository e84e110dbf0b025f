"""Removes grid-stride loops: `for (i = global_id; i < n; i += global_size)` around all that a kernel does.

A vector that runs all of its iterations reads memory far apart. Without the loop, the kernel is that of one element,
and the loops over blocks run it again for elements one global size further on: neighbours of a block first. Every
work-item still runs its iterations one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator

from anyzero.compiler.analysis.loops import Loop
from anyzero.compiler.analysis.uniformity import Flow
from anyzero.compiler.ir import Block, Body, Op
from anyzero.compiler.operations import DIVISIONS, OPPOSITE, PURE, SWAPPED
from anyzero.compiler.transform.blocks import arrange, join, substitute
from anyzero.compiler.transform.dce import dce
from anyzero.lazy_dataclass import dataclass

_HARMLESS = PURE | DIVISIONS


@dataclass(frozen=True, slots=True)
class Bound:
    """The number of elements: an argument."""

    offset: int
    type: str
    extension: str
    """`sext` or `zext`."""
    predicate: str
    """Elements are those whose index is less: `slt` or `ult`."""


@dataclass(frozen=True, slots=True)
class GridStride:
    """The loop."""

    phi: Op
    start: Op
    latch: Block
    exit: Block
    bound: Bound

    def remove(self, body: Body) -> None:
        """Leaves its first iteration."""
        header, latch = self.phi.block, self.latch
        assert header is not None
        if self.exit not in latch.successors:
            self.exit.predecessors.append(latch)
        latch.condition, latch.successors = None, [self.exit]
        header.predecessors.remove(latch)
        header.phis = []
        substitute(body, {self.phi: self.start})
        arrange(body, body.blocks[0])
        join(body)
        dce(body)


def find_grid_stride(body: Body, flow: Flow) -> GridStride | None:
    """None where there is no such loop, or where more depends on the ids than its index."""
    outer = [loop for loop in flow.loops.all if loop.parent is None]
    if len(outer) != 1 or any(each.space == "private" for each in body.variables):
        return None
    loop = outer[0]
    header, latches, exits = loop.header, loop.latches, loop.exits
    if len(latches) != 1 or len(exits) != 1 or len(header.phis) != 1 or len(header.predecessors) != 2:
        return None
    latch, (source, target), phi = latches[0], exits[0], header.phis[0]
    place = header.predecessors.index(latch)
    start, following = phi.args[1 - place], phi.args[place]
    if not _is_builtin(start, "global_id") or not _is_step(following, phi):
        return None
    bound = _bound(source, loop, following if source is latch else phi)
    if bound is None or target.phis:
        return None
    tests = {source.condition}
    if source is latch:
        # Tested at its end: a branch before the loop tests the first element.
        guard = _guard(header.predecessors[1 - place])
        if guard is None or _bound(guard, loop, start) != bound:
            return None
        tests.add(guard.condition)
    return GridStride(phi, start, latch, target, bound) if _is_alone(body, loop, phi, tests) else None


def _low(op: Op) -> Op:
    """The operation behind conversions between 32 and 64 bits."""
    while op.name == "cast" and op.info in ("trunc", "sext", "zext") and {op.type, op.args[0].type} == {"i32", "i64"}:
        op = op.args[0]
    return op


def _is_builtin(op: Op, name: str) -> bool:
    low = _low(op)
    return low.name == "builtin" and low.info == (name, 0)


def _is_step(op: Op, phi: Op) -> bool:
    total = _low(op)
    return total.name == "add" and any(
        _low(one) is phi and _is_builtin(other, "global_size") for one, other in (total.args, total.args[::-1])
    )


def _bound(block: Block, loop: Loop, index: Op) -> Bound | None:
    """The bound that a branch compares the index with, to enter the loop or to stay in it."""
    condition = block.condition
    if condition is None or condition.name != "icmp":
        return None
    (other, bound), predicate = condition.args, condition.info
    if _low(other) is not _low(index):
        other, bound, predicate = bound, other, SWAPPED[predicate]
    less = predicate if _leads(block.successors[0], loop) else OPPOSITE[predicate]
    argument, widened = _low(bound), bound.info if bound.name == "cast" else ""
    if (
        _low(other) is not _low(index)
        or less not in ("slt", "ult")
        or argument.name != "argument"
        or widened == "trunc"
    ):
        return None
    return Bound(argument.info, argument.type, widened or ("sext" if less == "slt" else "zext"), less)


def _leads(block: Block, loop: Loop) -> bool:
    """Does this side of a branch lead into the loop, or stay in it?"""
    while block not in loop and len(block.successors) == 1 and len(block.predecessors) == 1:
        block = block.successors[0]
    return block in loop


def _guard(block: Block) -> Block | None:
    """The branch in front of the loop."""
    while block.condition is None and len(block.predecessors) == 1:
        block = block.predecessors[0]
    return block if block.condition is not None else None


def _is_alone(body: Body, loop: Loop, phi: Op, tests: set[Op | None]) -> bool:
    """Does the kernel do nothing outside of the loop, and use its global id for nothing but the loop's index?"""
    inside = {op for block in loop.blocks for op in block.everything}
    for block, op in _operations(body):
        if block not in loop and (op.name not in _HARMLESS or any(arg in inside for arg in op.args)):
            return False
        index = op is phi or op in tests or _is_builtin(op, "global_id")
        if not index and any(_is_builtin(arg, "global_id") for arg in op.args):
            return False
    return True


def _operations(body: Body) -> Iterator[tuple[Block, Op]]:
    for block in body.blocks:
        for op in block.everything:
            yield block, op
