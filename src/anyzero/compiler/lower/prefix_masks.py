"""Masks of lane prefixes, computed from a count: one subtraction instead of a comparison for each lane."""

from __future__ import annotations

from anyzero.compiler.analysis.prefix_conditions import PrefixCondition, prefix_condition
from anyzero.compiler.ir import SIZES, Op
from anyzero.compiler.llvm import I1, I64, Type, Value
from anyzero.compiler.lower.emitter import Emitter

WIDE = 128
"""Up to so many bytes of ids, comparisons are faster than counting."""


def compare(e: Emitter, op: Op) -> bool:
    """Writes a comparison of ids with a uniform value as a prefix mask, where that is faster."""
    if op.name != "icmp" or not e.choices.target.wide or e.lanes * SIZES[op.args[0].type] <= WIDE:
        return False
    found = prefix_condition(op, e.shapes, e.choices.flat)
    if found is None:
        return False
    b, lanes = e.b, e.lanes
    inside = _below(e, found)
    last = _last(e, found)
    ones = b.binary("lshr", b.constant((1 << lanes) - 1, I64), b.constant(lanes - 1, I64) - last)
    bits = b.select(inside, ones, b.constant(0, I64))
    narrow = bits if lanes == 64 else b.cast("trunc", bits, f"i{lanes}")
    e.vectors[op] = b.reinterpret(narrow, Type("i1", lanes))
    return True


def count(e: Emitter, mask: Op) -> Value | None:
    """The number of active lanes of a prefix mask in a full vector; None if only the mask itself shows it."""
    b = e.b
    if e.choices.mask == "i1" or not e.from_the_first(mask):
        return None
    if mask.name == "entry_mask":
        return b.constant(e.lanes, I64)
    if mask.name == "mask_and":
        first, second = (count(e, each) for each in mask.args)
        return None if first is None or second is None else b.intrinsic("umin", first, second)
    found = prefix_condition(mask, e.shapes, e.choices.flat)
    assert found is not None
    return b.select(_below(e, found), _last(e, found) + 1, b.constant(0, I64))


def _last(e: Emitter, found: PrefixCondition) -> Value:
    """The last active lane, if any is."""
    b = e.b
    last = _bound(e, found) - e.scalar(found.id) - (1 if found.predicate in ("slt", "ult") else 0)
    return b.cast("zext", b.intrinsic("umin", last, e.lanes - 1), "i64")


def lane_0(e: Emitter, mask: Op) -> Value:
    """Any-test of a mask that contains lane 0 unless it is empty."""
    if mask.name == "mask_and":
        return lane_0(e, mask.args[0]) & lane_0(e, mask.args[1])
    if mask.name == "entry_mask":
        return e.b.constant(1, I1)
    found = prefix_condition(mask, e.shapes, e.choices.flat)
    assert found is not None
    return _below(e, found)


def _below(e: Emitter, found: PrefixCondition) -> Value:
    return e.b.compare(found.predicate, e.scalar(found.id), _bound(e, found))


def _bound(e: Emitter, found: PrefixCondition) -> Value:
    return e.scalar(found.bound) if found.bound is not None else e.b.constant(1, Type(found.id.type))
