"""Widening of sums: `sext(a + b)` becomes `sext(a) + sext(b)` where the sum of 32 bits does not wrap around (`nsw`).

The neighbours `a[i - 1]`, `a[i]` and `a[i + 1]` then share one widened index, and their distances are displacements of
the instructions' addresses. A sum of a row and an id is strided exactly, as the id is.
"""

from __future__ import annotations

from anyzero.compiler.analysis.uniformity import UNIFORM, Shape, Shapes, cannot_wrap
from anyzero.compiler.folding import signed
from anyzero.compiler.ir import Block, Body, Op
from anyzero.compiler.transform.blocks import substitute
from anyzero.compiler.transform.dce import dce
from anyzero.lazy_dataclass import dataclass

DEPTH = 8
TERMS = 4
"""Each term is widened by itself."""


def widen_sums(body: Body, shapes: Shapes, flat: bool) -> None:
    """Varying sums are left alone: gathers take indices of 32 bits."""
    by: dict[Op, Op] = {}
    for block in body.blocks:
        widening = _Widening(body, block, shapes, flat)
        old, block.ops = block.ops, []
        for op in old:
            narrow = op.name == "cast" and op.info == "sext" and op.type == "i64" and op.args[0].type == "i32"
            wide = widening.replacement(op) if narrow and not shapes[op].varying else None
            if wide is not None:
                by[op] = wide
            else:
                block.ops.append(op)
    if by:
        substitute(body, by)
        dce(body)
        _propagate(body, shapes)


def _propagate(body: Body, shapes: Shapes) -> None:
    """What is computed from sums that are strided exactly now is so, too."""
    for op in body.ops:
        shape = shapes[op]
        plain = op.name in ("add", "sub", "mul", "shl", "offset")
        if plain and not shape.exact and all(shapes[arg].exact for arg in op.args):
            shapes.of[op] = Shape(shape.stride)


@dataclass(slots=True, eq=False)
class _Sum:
    factors: dict[Op, int]
    constant: int = 0

    def plus(self, other: _Sum, times: int = 1) -> _Sum:
        factors = dict(self.factors)
        for term, factor in other.factors.items():
            factors[term] = factors.get(term, 0) + times * factor
        factors = {term: factor for term, factor in factors.items() if factor}
        return _Sum(factors, self.constant + times * other.constant)


class _Widening:
    """The sums of one block. New operations are in the same block, so that they cross no barrier."""

    def __init__(self, body: Body, block: Block, shapes: Shapes, flat: bool) -> None:
        self.body, self.block, self.shapes, self.flat = body, block, shapes, flat
        self.made: dict[tuple[object, ...], Op] = {}

    def replacement(self, index: Op) -> Op | None:
        """The widened sum, or an operation that computes the same; None where the index stays."""
        found = self._wide(index)
        if found is None and self.made.setdefault(("cast", index.args[0]), index) is not index:
            return self.made["cast", index.args[0]]
        return found

    def _wide(self, index: Op) -> Op | None:
        narrow, shape = index.args[0], self.shapes[index]
        found = self._sum(narrow, DEPTH)
        if narrow in found.factors or not 0 < len(found.factors) <= TERMS:
            return None
        parts = [self._shape(term, factor) for term, factor in found.factors.items()]
        exact = all(part.exact for part in parts)
        if sum(part.stride or 0 for part in parts) != shape.stride or not (found.constant or exact > shape.exact):
            return None
        if not exact and not shape.stride:
            return None
        word = index.word
        uniform, strided = (
            self._total([each for each in found.factors.items() if self.shapes[each[0]].uniform == same], word)
            for same in (True, False)
        )
        core = self._add(uniform, strided, word)
        constant = self.body.const("i64", found.constant) if found.constant else None
        return self._add(core, constant, word)

    def _sum(self, op: Op, depth: int) -> _Sum:
        """The terms of a sum that does not wrap around. A uniform sum without a constant is one term."""
        found = self._parts(op, depth) if depth else None
        if found is None or (self.shapes[op].uniform and not found.constant):
            return _Sum({op: 1})
        return found

    def _parts(self, op: Op, depth: int) -> _Sum | None:
        if op.name == "const":
            return _Sum({}, signed(op.info, 32))
        if "nsw" not in op.flags:
            return None
        if op.name in ("add", "sub"):
            first, second = (self._sum(each, depth - 1) for each in op.args)
            return first.plus(second, 1 if op.name == "add" else -1)
        if op.name == "mul" and op.args[1].name == "const":
            return _Sum({}).plus(self._sum(op.args[0], depth - 1), signed(op.args[1].info, 32))
        return None

    def _shape(self, term: Op, factor: int) -> Shape:
        shape = self.shapes[term]
        stride = (shape.stride or 0) * factor
        return Shape(stride, not stride or (shape.exact and cannot_wrap(term, self.flat)))

    def _total(self, terms: list[tuple[Op, int]], word: int) -> Op | None:
        found: Op | None = None
        # Terms are added before others are subtracted.
        for term, factor in sorted(terms, key=lambda each: each[1] < 0):
            wide = self._put(Op("cast", "i64", [term], "sext"), word, self._shape(term, 1))
            if found is not None and factor == -1:
                found = self._put(Op("sub", "i64", [found, wide]), word, _apart(self.shapes, found, wide, -1))
                continue
            if factor != 1:
                wide = self._put(
                    Op("mul", "i64", [wide, self.body.const("i64", factor)]), word, self._shape(term, factor)
                )
            found = self._add(found, wide, word)
        return found

    def _add(self, first: Op | None, second: Op | None, word: int) -> Op:
        if first is None or second is None:
            found = first if second is None else second
            assert found is not None
            return found
        return self._put(Op("add", "i64", [first, second]), word, _apart(self.shapes, first, second, 1))

    def _put(self, op: Op, word: int, shape: Shape) -> Op:
        """The operation, or one before it that computes the same."""
        key = (op.name, *op.args)
        if key not in self.made:
            op.word = word
            self.made[key] = self.block.append(op)
            if shape != UNIFORM:
                self.shapes.of[op] = shape
        return self.made[key]


def _apart(shapes: Shapes, first: Op, second: Op, times: int) -> Shape:
    one, other = shapes[first], shapes[second]
    return Shape((one.stride or 0) + times * (other.stride or 0), one.exact and other.exact)
