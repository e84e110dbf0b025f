"""Induction variable widening: addresses that loops make of 32-bit indices are counted with 64 bits.

In `a[row * n + k]` the sum is widened in every turn, because it might wrap around from one turn to the next. If it did,
two accesses of the same lane would lie 4 GiB apart or more, and not both in a buffer of less than that, see
docs/compiler.md#shapes. So the first index is widened in front of the loop, and each turn adds to that.
"""

from __future__ import annotations

from dataclasses import dataclass

from anyzero.compiler.analysis.loops import Loop
from anyzero.compiler.analysis.shapes import Flow, Shape, Shapes
from anyzero.compiler.folding import signed
from anyzero.compiler.ir import SIZES, Block, Body, Op
from anyzero.compiler.transform.blocks import substitute

DEPTH = 8


@dataclass(slots=True, frozen=True)
class _Step:
    """By how much a value grows from turn to turn: so many times a value that does not change, or 1."""

    factor: int
    of: Op | None = None


def widen_induction(body: Body, flow: Flow, shapes: Shapes) -> None:
    for loop in flow.loops.all:
        if len(loop.latches) == 1 and len(loop.header.predecessors) == 2 and not _waits(loop):
            _Widening(body, flow, shapes, loop).run()


def _waits(loop: Loop) -> bool:
    """Then the turns are few and long, and a counter more has to be kept by every vector."""
    return any(op.name == "barrier" and op.info != "joint" for block in loop.blocks for op in block.ops)


class _Widening:
    def __init__(self, body: Body, flow: Flow, shapes: Shapes, loop: Loop) -> None:
        self.body, self.flow, self.shapes, self.loop = body, flow, shapes, loop
        self.latch = loop.latches[0]
        (self.outside,) = (each for each in loop.header.predecessors if each is not self.latch)
        self.first: dict[Op, Op] = {}
        """Values in front of the first turn."""

    def run(self) -> None:
        by: dict[Op, Op] = {}
        for block in self.loop.blocks:
            # Each turn must come here, or two accesses might lie far from each other after all.
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
        step = self._step(narrow, DEPTH)
        # Of single bytes, long steps may well lie on both sides of where it would wrap around.
        if step is None or not step.factor or (step.of is not None and _bytes(access) < 2):
            return None
        by = self.body.const("i64", step.factor)
        if step.of is not None:
            wide = self._put(self.outside, Op("cast", "i64", [step.of], "sext"), step.of)
            by = wide if step.factor == 1 else self._put(self.outside, Op("mul", "i64", [wide, by]), step.of)
        start = self._put(self.outside, Op("cast", "i64", [self._at_first(narrow)], "sext"), index)
        phi = self.loop.header.add_phi(Op("phi", "i64", word=index.word))
        following = self._put(self.latch, Op("add", "i64", [phi, by]), index)
        phi.args = [start if each is self.outside else following for each in self.loop.header.predecessors]
        # An address is that of the first lane and a stride, as far as anybody asks.
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

    def _step(self, op: Op, depth: int) -> _Step | None:
        """None where it is not the same in each turn."""
        if self._still(op):
            return _Step(0)
        if not depth or op.type != "i32":
            return None
        if op.name == "phi":
            return self._of_counter(op)
        if op.name not in ("add", "sub", "mul", "shl"):
            return None
        one, other = (self._step(each, depth - 1) for each in op.args)
        if one is None or other is None:
            return None
        if op.name in ("add", "sub"):
            sign = 1 if op.name == "add" else -1
            if not other.factor:
                return one
            if not one.factor:
                return _Step(sign * other.factor, other.of)
            same = one.of is other.of
            return _Step(one.factor + sign * other.factor, one.of) if same else None
        if other.factor and (one.factor or op.name == "shl"):
            return None
        moving, times = (other, op.args[0]) if other.factor else (one, op.args[1])
        if times.name == "const":
            by = signed(times.info, 32)
            return _Step(moving.factor * (by if op.name == "mul" else 1 << (by % 32)), moving.of)
        return _Step(moving.factor, times) if op.name == "mul" and moving.of is None else None

    def _of_counter(self, phi: Op) -> _Step | None:
        if phi.block is not self.loop.header:
            return None
        again = phi.args[self.loop.header.predecessors.index(self.latch)]
        if again.name != "add" or again.args[0] is not phi or again.args[1].name != "const":
            return None
        return _Step(signed(again.args[1].info, 32))


def _indices(op: Op, block: Block, depth: int) -> list[Op]:
    """Widened sums of a block that an address is made of."""
    if op.block is not block or not depth:
        return []
    if op.name == "cast":
        return [op] if op.info == "sext" and op.args[0].type == "i32" and op.type == "i64" else []
    if op.name in ("offset", "add", "mul", "shl"):
        return [found for each in op.args for found in _indices(each, block, depth - 1)]
    return []


def _bytes(access: Op) -> int:
    return SIZES[access.type or access.args[1].type]
