"""Masks of active lanes, as bits or as vectors, and queries of them.

AVX-512 has registers for masks: an `i1` for each lane. Elsewhere a mask that lives longer than a block is a vector of
integers as wide as the data, because LLVM would pack an `i1` into bytes and unpack it at each use.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import TYPE_CHECKING

from anyzero.compiler.analysis.prefix_conditions import prefix_condition
from anyzero.compiler.analysis.uniformity import Shapes
from anyzero.compiler.ir import Block, Masks, Op
from anyzero.compiler.llvm import I1, I64, Builder, Type, Value
from anyzero.compiler.operations import MASKS

if TYPE_CHECKING:
    from anyzero.compiler.lower.emitter import Choices, Frame


class Masking:
    """The part of an emitter that handles masks."""

    choices: Choices
    lanes: int
    shapes: Shapes
    masks: Masks
    frame: Frame
    b: Builder
    block: Block | None
    vectors: MutableMapping[Op, Value]
    crossing: set[Op]
    """Booleans that are used outside of their block."""
    _held: dict[str, Value]
    """Masks in their form between blocks, by the name of their `i1` form."""
    _cache: MutableMapping[object, Value]

    def vector(self, op: Op) -> Value:
        raise NotImplementedError

    @property
    def mask_op(self) -> Op | None:
        assert self.block is not None
        return self.masks.of.get(self.block) if self.lanes else None

    @property
    def mask(self) -> Value | None:
        """The mask of active lanes; None where there is one lane, which is active."""
        op = self.mask_op
        return None if op is None else self.vector(op)

    def bits(self, mask: Value) -> Value:
        """A mask as an integer, lane 0 lowest."""
        key = ("bits", mask.text)
        found = self._cache.get(key)
        if found is None:
            bits = self.b.reinterpret(mask, Type(f"i{self.lanes}"))
            found = bits if self.lanes == 64 else self.b.cast("zext", bits, "i64")
            self._cache[key] = found
        return found

    def any(self, mask: Value) -> Value:
        if not mask.type.lanes:
            return mask
        bits = self._gathered(mask, "or")
        return self.b.op("icmp", I1, f"ne {bits.type} %s, 0", bits)

    def all(self, mask: Value) -> Value:
        bits = self._gathered(mask, "and")
        return self.b.op("icmp", I1, f"eq {bits.type} %s, -1", bits)

    def all_exist(self) -> Value:
        """Does each lane have a work-item? Lanes without one are the last ones."""
        given = self.frame.given["whole"]
        return given if self.frame.mask is None else given & self.b.lane(self.frame.mask, self.lanes - 1)

    def _gathered(self, mask: Value, operation: str) -> Value:
        """Bits to test whether any or all lanes are active: of one register's lanes, where masks are vectors of several
        registers.
        """
        b, held = self.b, self.choices.mask
        lanes = self.choices.target.register * 8 // Type(held).bits
        if held == "i1" or self.lanes <= lanes or self.lanes % lanes:
            bits = Type(f"i{self.lanes}")
            return b.reinterpret(mask, bits)
        wide = self.held(mask)
        parts = [b.shuffle(wide, None, range(at, at + lanes)) for at in range(0, self.lanes, lanes)]
        while len(parts) > 1:
            parts = [b.binary(operation, *pair) if len(pair) > 1 else pair[0] for pair in pairs(parts)]
        return b.reinterpret(b.compare("slt", parts[0], 0), Type(f"i{lanes}"))

    def held(self, mask: Value) -> Value:
        """A mask in its form between blocks."""
        return self._held.get(mask.text) or self.b.cast("sext", mask, self.choices.mask)

    def truth(self, held: Value) -> Value:
        """The mask from its form between blocks. Only the sign counts, as in the processor's blends."""
        if held.type.element == "i1":
            return held
        mask = self.b.compare("slt", held, 0)
        self._held[mask.text] = held
        return mask

    def is_held(self, mask: Value) -> bool:
        """Does it come from the form between blocks?"""
        return mask.text in self._held

    def both(self, mask: Value, condition: Value) -> Value:
        """Lanes of a mask for which a condition holds. An inactive lane may have computed poison, which `select`
        ignores and `freeze` makes some number.
        """
        if self.choices.mask == "i1":
            return self.b.select(mask, condition, self.b.zero(mask.type))
        wide = self.held(condition)
        return self.truth(self.held(mask) & self.b.freeze(wide))

    def hold(self, op: Op) -> None:
        """Hides a value that other blocks use from LLVM, which would keep the `i1` instead."""
        mask = self.vectors.get(op) if op.type == "i1" and op in self.crossing and op.name != "read" else None
        if mask is None or not mask.text.startswith("%") or _by_place(op, self._known_places):
            return
        self.vectors[op] = self.truth(self.b.hidden(self.held(mask)))

    @property
    def _known_places(self) -> frozenset[str]:
        """Numbers of lanes that LLVM knows."""
        row = {"local_id"} if self.choices.straight else set()
        # Of a longer sub-group, a vector is one part or another.
        return frozenset(row if self.choices.sub_group else row | {"sub_group_local_id"})

    def first_lane(self) -> Value | None:
        """The number of the first active lane; None where it is known to be lane 0."""
        op = self.mask_op
        if op is None or self.from_the_first(op):
            return None
        mask = self.vector(op)
        key = ("first", mask.text)
        found = self._cache.get(key)
        if found is None:
            found = self._cache[key] = self.b.call("llvm.cttz.i64", I64, self.bits(mask), self.b.constant(1, I1))
        return found

    def from_the_first(self, mask: Op, depth: int = 4) -> bool:
        """Is lane 0 active if any lane is? The remainder of a row is a prefix of the lanes, and so are comparisons of
        ids.
        """
        if mask.name == "entry_mask":
            # Indirect calls have any mask.
            return self.frame.context is None
        if mask.name == "mask_and" and depth:
            return all(self.from_the_first(each, depth - 1) for each in mask.args)
        return prefix_condition(mask, self.shapes, self.choices.flat) is not None

    def last_lane(self, mask: Value) -> Value:
        zeros = self.b.call("llvm.ctlz.i64", I64, self.bits(mask), self.b.constant(1, I1))
        return self.b.constant(63, I64) - zeros


def pairs(values: list[Value]) -> list[list[Value]]:
    """Pairs, and an odd last element by itself."""
    return [values[at : at + 2] for at in range(0, len(values), 2)]


def _by_place(op: Op, known: frozenset[str], depth: int = 8) -> bool:
    """Does it depend on known numbers of lanes alone, so that it is a constant for LLVM?"""
    if op.name in ("const", "entry_mask"):
        return True
    if op.name == "builtin":
        which, dimension = op.info
        return which in known and dimension == 0
    made = op.pure or op.name in MASKS
    return (
        made
        and op.name != "phi"
        and bool(op.args)
        and depth > 0
        and all(_by_place(each, known, depth - 1) for each in op.args)
    )
