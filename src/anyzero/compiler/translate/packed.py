"""Integers of odd widths between memory and values: plain integers that cover the same bits.

A value of 24 bits is two bytes and one more, and so are three bytes of a structure that some producer loads as one
integer: nothing beyond them may be read or written. Components of vectors lie bit behind bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from anyzero.compiler.builder import Builder
from anyzero.compiler.ir import WIDTHS, Op
from anyzero.compiler.spirv.types import PLAIN


class Chunk(NamedTuple):
    """A plain integer in memory."""

    type: str
    offset: int
    """In bytes."""


def chunks(bits: int) -> Iterator[Chunk]:
    """Plain integers that cover so many bits, and no byte more than they need; the longest first."""
    end, at = -(-bits // 8), 0
    for width in reversed(PLAIN):
        while at + width // 8 <= end:
            yield Chunk(f"i{width}", at)
            at += width // 8


def unpack(b: Builder, found: Sequence[Op], width: int, count: int) -> list[Op]:
    """Integers of a width from the chunks that hold them; bits above the last one do not count."""
    return regroup(b, found, [f"i{width}"] * count)


def pack(b: Builder, values: Sequence[Op]) -> list[Op]:
    """The chunks for integers, with zeros above the last one's bits."""
    return regroup(b, values, [chunk.type for chunk in chunks(sum(WIDTHS[value.type] for value in values))])


def regroup(b: Builder, values: Sequence[Op], types: Sequence[str]) -> list[Op]:
    """The same bits as integers of other widths, the lowest first."""
    made, at = [], 0
    for type_ in types:
        made.append(_taken(b, values, at, type_))
        at += WIDTHS[type_]
    return made


def _taken(b: Builder, values: Sequence[Op], first: int, type_: str) -> Op:
    """An integer that begins at a bit of the row."""
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
