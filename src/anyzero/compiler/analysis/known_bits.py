"""Known low bits, and the strides of bitwise operations that follow from them.

A vector begins at a multiple of its length in a group: lane 0's local id has zeros where the lanes' numbers have their
bits. So `id & 31` and `id >> 5` stay strided instead of varying: the lanes' numbers and lane 0's value share no bit,
and bits are masked or shifted out of both alike.
"""

from __future__ import annotations

from collections.abc import Mapping

from anyzero.compiler.analysis.affine import LARGEST_GROUP
from anyzero.compiler.ir import SIZES, Op

__all__ = ["bitwise_stride", "low_zeros", "possible_bits"]

_DEPTH = 6
_NOTHING: Mapping[Op, int] = {}
_SMALL = ("local_id", "sub_group_local_id")
_MOST_ITEMS = (1 << 16) - 1
"""More than any group has in one dimension."""
_ID_BITS = (1 << (LARGEST_GROUP - 1).bit_length()) - 1
"""Bits that a local id may have."""


def low_zeros(op: Op, depth: int = _DEPTH) -> int:
    """How many low bits are zero in every lane."""
    return _zeros(op, 0, depth)


def _zeros(op: Op, first: int, depth: int = _DEPTH, assumed: Mapping[Op, int] = _NOTHING) -> int:
    """Low zero bits in lane 0 of vectors of `first` lanes, or in every lane where `first` is 0. `assumed` has the phis
    that are being asked about.
    """
    if op.name == "const":
        bits = int(op.info)
        return (bits & -bits).bit_length() - 1 if bits else 64
    if op.name == "builtin" and first:
        # A sub-group may be several vectors.
        return first.bit_length() - 1 if op.info in (("local_id", 0), ("sub_group_local_id", 0)) else 0
    if op in assumed:
        return assumed[op]
    if depth == 0:
        return 0
    if op.name == "phi" and not first:
        return _carried(op, depth, assumed)
    if op.name == "select":
        return min(_zeros(arg, first, depth - 1, assumed) for arg in op.args[1:])
    given = [_zeros(arg, first, depth - 1, assumed) for arg in op.args[:2]]
    if op.name == "shl" and op.args[1].name == "const":
        return int(op.args[1].info) + given[0]
    if op.name == "lshr" and op.args[1].name == "const":
        return max(0, given[0] - int(op.args[1].info))
    if op.name == "mul":
        return min(64, sum(given))
    if op.name in ("add", "sub", "or", "xor"):
        return min(given)
    if op.name == "and":
        return max(given)
    if op.name == "cast" and op.info in ("trunc", "zext", "sext"):
        return given[0]
    return 0


def possible_bits(op: Op, depth: int = _DEPTH + 2) -> int:
    """The bits that may be set in some lane; all others are known to be zero."""
    every = (1 << 8 * SIZES[op.type]) - 1
    if op.name == "const":
        return int(op.info) & every
    if op.name == "builtin":
        return _ID_BITS if op.info[0] in _SMALL else every
    if depth == 0 or op.name not in ("and", "or", "xor", "shl", "lshr", "add", "cast"):
        return every
    if op.name == "cast":
        return _cast_bits(op, every, depth) if op.info in ("trunc", "zext", "sext") else every
    first, second = (possible_bits(arg, depth - 1) for arg in op.args)
    if op.name == "and":
        return first & second
    if op.name in ("or", "xor"):
        return first | second
    if op.name == "add":
        # Without a common bit there is no carry.
        return first | second if not first & second else every if first + second > every else _below(first + second)
    if op.args[1].name != "const":
        return every
    return first << second & every if op.name == "shl" else first >> second


def _cast_bits(op: Op, every: int, depth: int) -> int:
    bits = possible_bits(op.args[0], depth - 1)
    sign = 1 << 8 * SIZES[op.args[0].type] - 1
    copies = every & -sign if op.info == "sext" and bits & sign else 0
    return bits & every | copies


def _below(most: int) -> int:
    return (1 << most.bit_length()) - 1


def _carried(phi: Op, depth: int, assumed: Mapping[Op, int]) -> int:
    """Low zero bits of a phi: a loop's counter has those that its first value and its steps have."""
    guess = 64
    while guess:
        found = min(_zeros(arg, 0, depth - 1, {**assumed, phi: guess}) for arg in phi.args)
        if found >= guess:
            break
        guess = found
    return guess


def bitwise_stride(op: Op, strides: list[int | None], lanes: int) -> int | None:
    """The stride of a shift, a division by a power of two, or a bitwise operation with a uniform operand; None where
    lanes need not lie a constant apart. Operands must not wrap around between lanes.
    """
    if op.name in ("or", "xor") and strides[0] == 0:
        return _joined(op.args[1], op.args[0], strides[1], lanes)
    if strides[1] != 0:
        return None
    if op.name in ("or", "xor"):
        return _joined(op.args[0], op.args[1], strides[0], lanes)
    span = _span(op.args[0], strides[0], lanes)
    if span is None or op.args[1].name != "const":
        return None
    stride, number = strides[0] or 0, int(op.args[1].info)
    if op.name in ("lshr", "ashr"):
        return _shifted(stride, span, number)
    if op.name == "and":
        return _masked(stride, span, number)
    if number & (number - 1) or number == 0 or number >> (8 * SIZES[op.type] - 1):
        return None
    if op.name in ("sdiv", "srem") and _most(op.args[0]) is None:
        return None
    return (
        _shifted(stride, span, number.bit_length() - 1)
        if op.name in ("udiv", "sdiv")
        else _masked(stride, span, number - 1)
    )


def _span(op: Op, stride: int | None, lanes: int) -> int | None:
    """The distance from lane 0 to the last lane, where lane 0 has zeros in all bits of it."""
    if stride is None or stride <= 0:
        return None
    span = stride * (lanes - 1)
    return span if _zeros(op, lanes) >= span.bit_length() else None


def _joined(op: Op, uniform: Op, stride: int | None, lanes: int) -> int | None:
    span = _span(op, stride, lanes)
    return None if span is None or low_zeros(uniform) < span.bit_length() else stride


def _shifted(stride: int, span: int, by: int) -> int | None:
    if span >> by == 0:
        return 0
    return stride >> by if stride % (1 << by) == 0 else None


def _masked(stride: int, span: int, bits: int) -> int | None:
    lanes = (1 << span.bit_length()) - 1
    kept = bits & lanes
    return stride if kept == lanes else 0 if kept == 0 else None


def _most(op: Op, depth: int = _DEPTH) -> int | None:
    """An upper bound of a value that is not negative; None if unknown."""
    if op.name == "const":
        number = int(op.info)
        return None if number >> (8 * SIZES[op.type] - 1) else number
    if op.name == "builtin":
        return _MOST_ITEMS if op.info[0] in _SMALL else None
    if depth == 0:
        return None
    if op.name == "and":
        known = [most for most in (_most(arg, depth - 1) for arg in op.args) if most is not None]
        return min(known, default=None)
    if op.name not in ("cast", "mul", "add", "shl", "lshr"):
        return None
    given = [_most(arg, depth - 1) for arg in op.args]
    if any(most is None for most in given):
        return None
    first, *rest = (most for most in given if most is not None)
    second = rest[0] if rest else 0
    match op.name:
        case "cast":
            most = first if op.info in ("trunc", "zext", "sext") else -1
        case "mul":
            most = first * second
        case "add":
            most = first + second
        case "shl":
            most = first << second if second < 64 else -1
        case _:
            most = first
    return most if 0 <= most < 1 << (8 * SIZES[op.type] - 1) else None
