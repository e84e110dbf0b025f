"""Merging of neighbouring accesses: loads of `a[2 * i]` and `a[2 * i + 1]` in a block become one load of two
components, and stores likewise, where that makes the vector's access contiguous.

By itself each would load every second element, and a store would need a mask.
"""

from __future__ import annotations

from anyzero.compiler.analysis.uniformity import VARYING, Shapes
from anyzero.compiler.folding import signed
from anyzero.compiler.ir import SIZES, Access, Block, Body, Op
from anyzero.compiler.transform.blocks import substitute
from anyzero.lazy_dataclass import dataclass

__all__ = ["merge_accesses"]

MOST = 4
"""The most components of an access."""
DEPTH = 64
"""The most operations between an address and its terms."""

_Terms = tuple[tuple[Op, str, int], ...]
"""Operations, how each is widened, and their factors."""


def merge_accesses(body: Body, shapes: Shapes) -> None:
    by: dict[Op, Op] = {}
    for block in body.blocks:
        if sum(op.name in ("load", "store") for op in block.ops) > 1:
            _Merging(body, block, shapes, by).run()
    substitute(body, by)


@dataclass(slots=True, frozen=True, eq=False)
class _Place:
    """An access at a constant distance from a sum of terms."""

    op: Op
    terms: _Terms
    offset: int

    @property
    def size(self) -> int:
        return SIZES[_type(self.op)] * int(self.op.info.count)

    def apart(self, other: _Place) -> bool:
        """Do a work-item's two accesses surely touch different bytes?"""
        return self.terms == other.terms and (
            self.offset + self.size <= other.offset or other.offset + other.size <= self.offset
        )


def _type(op: Op) -> str:
    return op.type if op.name == "load" else op.args[1].type


class _Merging:
    def __init__(self, body: Body, block: Block, shapes: Shapes, by: dict[Op, Op]) -> None:
        self.body, self.block, self.shapes, self.by = body, block, shapes, by

    def run(self) -> None:
        self._merge("load")
        self._merge("store")

    def _merge(self, name: str) -> None:
        """Merges accesses of one kind. Those that move pass none that they might depend on, so no merging hinders
        another.
        """
        ops = self.block.ops
        at = {op: index for index, op in enumerate(ops)}
        places = {op: self._place(op) for op in ops if op.name in ("load", "store")}
        known: dict[tuple[_Terms, str, int], _Place] = {}
        for place in places.values():
            if place.op.name == name and self._plain(place.op):
                known.setdefault((place.terms, _type(place.op), place.offset), place)
        made: dict[int, list[Op]] = {}
        gone: set[Op] = set()
        for (terms, type_, offset), lowest in known.items():
            count = self._components(lowest.op)
            if count == 0 or (terms, type_, offset - lowest.size) in known:
                continue
            found = [known.get((terms, type_, offset + index * lowest.size)) for index in range(count)]
            several = [each for each in found if each is not None]
            if len(several) < count:
                continue
            here = (min if name == "load" else max)(several, key=lambda each: at[each.op])
            if self._movable(several, here, places, at):
                made[at[here.op]] = self._merged(several, here)
                gone |= {each.op for each in several}
        if made:
            self.block.ops = [
                each for index, op in enumerate(ops) for each in made.get(index, () if op in gone else (op,))
            ]

    def _plain(self, op: Op) -> bool:
        access: Access = op.info
        return (
            access.count == 1
            and not access.volatile
            and not access.nontemporal
            and access.space in ("global", "local", "constant")
        )

    def _components(self, op: Op) -> int:
        """Components between a lane's and the next lane's, if the access may have so many; else 0."""
        stride, size = self.shapes[op.args[0]].stride, SIZES[_type(op)]
        count = 0 if stride is None or stride % size else stride // size
        return count if 1 < count <= MOST and _type(op) != "i1" else 0

    def _movable(self, several: list[_Place], here: _Place, places: dict[Op, _Place], at: dict[Op, int]) -> bool:
        """May all be done where one of them is?"""
        loads = here.op.name == "load"
        for each in several:
            first, last = sorted((at[each.op], at[here.op]))
            for op in self.block.ops[first:last]:
                if op is each.op or op.pure or (loads and op.name == "load"):
                    continue
                place = places.get(op)
                if place is None or op.info.volatile or not place.apart(each):
                    return False
        return True

    def _merged(self, several: list[_Place], here: _Place) -> list[Op]:
        """One access instead of several, where one of them is."""
        lowest = several[0].op
        made: list[Op] = []
        pointer = self._at(several[0], here, made)
        access = Access(len(several), lowest.info.alignment, space=lowest.info.space)
        if lowest.name == "load":
            load = Op("load", lowest.type, [pointer], access, lowest.flags, lowest.word)
            parts = [Op("part", lowest.type, [load], index) for index in range(len(several))]
            self.by |= {each.op: part for each, part in zip(several, parts, strict=True)}
            self.shapes.of |= dict.fromkeys([load, *parts], VARYING)
            made += [load, *parts]
        else:
            values = [each.op.args[1] for each in several]
            made.append(Op("store", "", [pointer, *values], access, lowest.flags, lowest.word))
        for op in made:
            op.block = self.block
        return made

    def _at(self, lowest: _Place, here: _Place, made: list[Op]) -> Op:
        """The lowest address, from one that is known here."""
        if lowest is here:
            return here.op.args[0]
        distance = self.body.const("i64", lowest.offset - here.offset)
        pointer = Op("offset", "ptr", [here.op.args[0], distance])
        self.shapes.of[pointer] = self.shapes[here.op.args[0]]
        made.append(pointer)
        return pointer

    def _place(self, op: Op) -> _Place:
        factors: dict[tuple[Op, str], int] = {}
        offset = 0
        pointer = op.args[0]
        while pointer.name == "offset":
            offset += _sum(pointer.args[1], 1, DEPTH, factors)
            pointer = pointer.args[0]
        factors[pointer, ""] = factors.get((pointer, ""), 0) + 1
        terms = tuple(sorted(((*term, by) for term, by in factors.items() if by), key=lambda each: id(each[0])))
        return _Place(op, terms, signed(offset % (1 << 64), 64))


def _sum(value: Op, times: int, depth: int, factors: dict[tuple[Op, str], int]) -> int:
    """Adds the terms of an index of 64 bits, modulo 2^64, and returns its constant."""
    if value.name == "const":
        return times * int(value.info)
    if depth and value.name in ("add", "sub"):
        first = _sum(value.args[0], times, depth - 1, factors)
        return first + _sum(value.args[1], -times if value.name == "sub" else times, depth - 1, factors)
    if depth and value.name in ("mul", "shl") and value.args[1].name == "const":
        by = int(value.args[1].info)
        return _sum(value.args[0], times * (by if value.name == "mul" else 1 << min(by, 64)), depth - 1, factors)
    how = ""
    narrow = value.args[0] if value.name == "cast" and value.info in ("sext", "zext") else value
    if narrow is not value and narrow.type == "i32":
        how = str(value.info)
        flag = "nsw" if how == "sext" else "nuw"
        if narrow.name == "add" and flag in narrow.flags and narrow.args[1].name == "const":
            bits = int(narrow.args[1].info)
            factors[narrow.args[0], how] = factors.get((narrow.args[0], how), 0) + times
            return times * (signed(bits, 32) if how == "sext" else bits)
        value = narrow
    factors[value, how] = factors.get((value, how), 0) + times
    return 0
