"""Loads and stores of odd-width integers, by native integers that cover the same bits.

A 24-bit value takes an i16 and an i8. No byte beyond it may be accessed: a producer may load three bytes of a structure
as one integer. Components of vectors are bit-packed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from anyzero.compiler.builder import Builder
from anyzero.compiler.ir import WIDTHS, Op
from anyzero.compiler.spirv.types import PLAIN
from anyzero.lazy_namedtuple import NamedTuple


class Chunk(NamedTuple):
    """A native integer in memory."""

    type: str
    offset: int
    """In bytes."""


def chunks(bits: int) -> Iterator[Chunk]:
    """Native integers that cover this many bits with the minimum number of bytes; the widest first."""
    end, at = -(-bits // 8), 0
    for width in reversed(PLAIN):
        while at + width // 8 <= end:
            yield Chunk(f"i{width}", at)
            at += width // 8


def unpack(b: Builder, found: Sequence[Op], width: int, count: int) -> list[Op]:
    """Integers of a width from their chunks; bits above the last one are ignored."""
    return regroup(b, found, [f"i{width}"] * count)


def pack(b: Builder, values: Sequence[Op]) -> list[Op]:
    """The chunks of integers, zero-extended."""
    return regroup(b, values, [chunk.type for chunk in chunks(sum(WIDTHS[value.type] for value in values))])


def regroup(b: Builder, values: Sequence[Op], types: Sequence[str]) -> list[Op]:
    """The same bits as integers of other widths, lowest first."""
    made, at = [], 0
    for type_ in types:
        made.append(_taken(b, values, at, type_))
        at += WIDTHS[type_]
    return made


def _taken(b: Builder, values: Sequence[Op], first: int, type_: str) -> Op:
    """The integer that begins at bit `first` of the sequence."""
    whole, begin = b.const(type_, 0), 0
    for value in values:
        end = begin + WIDTHS[value.type]
        if begin < first + WIDTHS[type_] and first < end:
            if begin < first:
                value = b.lshr(value, b.const(value.type, first - begin))
            part = b.resized(value, type_)
            if begin > first:
                part = b.shl(part, b.const(type_, begin - first))
            whole = b.or_(whole, part)
        begin = end
    return whole
