"""Induction variable widening: addresses with 32-bit indices get 64-bit induction variables.

In `a[row * n + k]` the sum is widened in every iteration, because it might wrap around from one iteration to the next.
If it did, two accesses of the same lane would lie 4 GiB apart or more, and not both in a buffer of less than that, see
docs/compiler.md#shapes. So the first index is widened before the loop, and each iteration adds to that.
"""

from __future__ import annotations

from anyzero.compiler.analysis.induction import step_of
from anyzero.compiler.analysis.loops import Loop
from anyzero.compiler.analysis.uniformity import Flow, Shape, Shapes
from anyzero.compiler.folding import signed
from anyzero.compiler.ir import SIZES, Block, Body, Op
from anyzero.compiler.transform.blocks import substitute

DEPTH = 8
SHORT = 1 << 16
"""The longest step in elements for which a sum that wraps around jumps by nearly 4 GiB."""


def widen_induction(body: Body, flow: Flow, shapes: Shapes) -> None:
    for loop in flow.loops.all:
        if len(loop.latches) == 1 and len(loop.header.predecessors) == 2 and not _waits(loop):
            _Widening(body, flow, shapes, loop).run()


def _waits(loop: Loop) -> bool:
    """Loops with barriers are left alone: iterations are few and long, and every vector would keep one more counter."""
    return any(op.name == "barrier" and op.info != "joint" for block in loop.blocks for op in block.ops)


class _Widening:
    def __init__(self, body: Body, flow: Flow, shapes: Shapes, loop: Loop) -> None:
        self.body, self.flow, self.shapes, self.loop = body, flow, shapes, loop
        self.latch = loop.latches[0]
        (self.outside,) = (each for each in loop.header.predecessors if each is not self.latch)
        self.first: dict[Op, Op] = {}
        """Copies in the preheader, by the original."""

    def run(self) -> None:
        by: dict[Op, Op] = {}
        for block in self.loop.blocks:
            # Each iteration must execute it, or two accesses might lie far from each other after all.
            if self.flow.loops.innermost[block] is self.loop and self.flow.immediate.dominates(block, self.latch):
                for op in block.ops:
                    if op.name in ("load", "store"):
                        for index in _indices(op.args[0], block, DEPTH):
                            if index not in by and (wide := self._wide(index, op)) is not None:
                                by[index] = wide
        substitute(self.body, by)

    def _wide(self, index: Op, access: Op) -> Op | None:
        narrow = index.args[0]
        if narrow.name == "phi" or self.shapes[index].varying:
            return None
        step = step_of(narrow, self.loop, narrow=True)
        if step is None or not step.factor:
            return None
        # The step itself may wrap around, as the sum does. An access of single bytes with a long step may lie on both
        # sides of the wrap.
        factor = signed(step.factor & 0xFFFFFFFF, 32)
        if _bytes(access) < 2 and (step.of is not None or abs(factor) > SHORT):
            return None
        by = self.body.const("i64", factor)
        if step.of is not None:
            short = self._at_first(step.of)
            if factor != 1:
                short = self._put(self.outside, Op("mul", "i32", [short, self.body.const("i32", factor)]), step.of)
            by = self._put(self.outside, Op("cast", "i64", [short], "sext"), step.of)
        start = self._put(self.outside, Op("cast", "i64", [self._at_first(narrow)], "sext"), index)
        phi = self.loop.header.add_phi(Op("phi", "i64", word=index.word))
        following = self._put(self.latch, Op("add", "i64", [phi, by]), index)
        phi.args = [start if each is self.outside else following for each in self.loop.header.predecessors]
        # The users of an address need only lane 0's and the stride.
        self.shapes.of[phi] = self.shapes.of[following] = Shape(self.shapes[index].stride)
        return phi

    def _put(self, block: Block, op: Op, like: Op) -> Op:
        self.shapes.of[op] = self.shapes[like]
        op.word = like.word
        return block.append(op)

    def _still(self, op: Op) -> bool:
        return op.block is None or op.block not in self.loop

    def _at_first(self, op: Op) -> Op:
        if self._still(op):
            return op
        if op not in self.first:
            if op.name == "phi":
                self.first[op] = op.args[self.loop.header.predecessors.index(self.outside)]
            else:
                made = Op(op.name, op.type, [self._at_first(each) for each in op.args], op.info)
                self.first[op] = self._put(self.outside, made, op)
        return self.first[op]


def _indices(op: Op, block: Block, depth: int) -> list[Op]:
    """Widened sums of a block that are part of an address."""
    if op.block is not block or not depth:
        return []
    if op.name == "cast":
        return [op] if op.info == "sext" and op.args[0].type == "i32" and op.type == "i64" else []
    if op.name in ("offset", "add", "mul", "shl"):
        return [found for each in op.args for found in _indices(each, block, depth - 1)]
    return []


def _bytes(access: Op) -> int:
    return SIZES[access.type or access.args[1].type]
