"""Addresses as sums: a root, multiples of values, and a constant number of bytes.

Two addresses with the same root and the same multiples lie a constant number of bytes apart. Indices of 32 bits that
might wrap around count as if they did not: accesses on both sides of a wrap would lie 4 GiB apart, and buffers are
smaller than that. Shorter indices count where their bits show that they do not wrap around.
"""

from __future__ import annotations

from anyzero.compiler.analysis.known_bits import possible_bits
from anyzero.compiler.folding import signed
from anyzero.compiler.ir import SIZES, Op
from anyzero.lazy_dataclass import dataclass

__all__ = ["Address", "Key", "address_of", "bytes_of", "other_spaces"]

DEPTH = 12

Term = tuple[Op, str]
"""A value, and how it was widened: sext, zext or not at all."""

Key = tuple[Op, frozenset[tuple[Term, int]]]
"""The root and the multiples, in bytes."""


@dataclass(slots=True, frozen=True)
class Address:
    key: Key
    constant: int


def bytes_of(op: Op) -> int:
    """The size of a load or store."""
    return SIZES[op.type if op.name == "load" else op.args[1].type] * int(op.info.count)


def other_spaces(one: Op, other: Op) -> bool:
    """Are they accesses of different memories, by their address spaces?"""
    spaces = {one.info.space, other.info.space}
    return len(spaces) == 2 and "generic" not in spaces


def address_of(pointer: Op) -> Address:
    found: dict[Term, int] = {}
    constant = 0
    while pointer.name == "offset":
        constant += _add(pointer.args[1], 1, "", found, DEPTH)
        pointer = pointer.args[0]
    return Address((pointer, frozenset((term, factor) for term, factor in found.items() if factor)), constant)


def _add(op: Op, times: int, widened: str, found: dict[Term, int], depth: int) -> int:
    """Adds a multiple of a value to the terms; its constant part is the result."""
    if op.name == "const":
        bits = 8 * SIZES[op.type]
        return times * (int(op.info) if widened == "zext" else signed(op.info, bits))
    if depth:
        if op.name == "cast" and op.info in ("sext", "zext") and not widened and op.args[0].type == "i32":
            return _add(op.args[0], times, str(op.info), found, depth - 1)
        if _zero_extends(op, widened):
            return _add(op.args[0], times, "zext", found, depth - 1)
        if op.name == "cast" and op.info == "trunc" and widened == "zext" and _keeps_all(op):
            return _add(op.args[0], times, widened, found, depth - 1)
        if op.name in ("add", "sub") and (op.type in ("i32", "i64") or _no_carry_out(op)):
            first, second = op.args
            # A negative constant is added to unsigned numbers as a large one.
            if widened == "zext" and second.name == "const" and int(second.info) >> 31:
                by = signed(second.info, 32)
                return _add(first, times, widened, found, depth - 1) + times * (by if op.name == "add" else -by)
            sign = 1 if op.name == "add" else -1
            constant = _add(first, times, widened, found, depth - 1)
            return constant + _add(second, sign * times, widened, found, depth - 1)
        if op.name in ("mul", "shl", "or") and op.args[1].name == "const":
            inner, by = op.args[0], int(op.args[1].info)
            if op.name == "or" and not by & possible_bits(inner) and not by >> 8 * SIZES[op.type] - 1:
                return _add(inner, times, widened, found, depth - 1) + times * by
            factor = signed(by, 8 * SIZES[op.type]) if op.name == "mul" else 1 << by if by < 32 else 0
            if op.name != "or" and factor and abs(factor) < 1 << 31 and op.type in ("i32", "i64"):
                return _add(inner, times * factor, widened, found, depth - 1)
    term = op, widened
    found[term] = found.get(term, 0) + times
    return 0


def _zero_extends(op: Op, widened: str) -> bool:
    """Is it a zero extension of a short index?"""
    return op.name == "cast" and op.info == "zext" and widened in ("", "zext") and op.args[0].type in ("i8", "i16")


def _keeps_all(op: Op) -> bool:
    """Are the bits that a truncation drops known to be zero?"""
    return op.args[0].type == "i32" and possible_bits(op.args[0]) < 1 << 8 * SIZES[op.type]


def _no_carry_out(op: Op) -> bool:
    """Is a sum of short numbers known not to wrap around?"""
    return op.name == "add" and sum(map(possible_bits, op.args)) < 1 << 8 * SIZES[op.type]
