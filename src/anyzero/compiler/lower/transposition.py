"""Vectors of many components: each lane's components are one access, and registers are transposed."""

from __future__ import annotations

from collections.abc import Callable

from anyzero.compiler.ir import SIZES, Access
from anyzero.compiler.llvm import Type, Value
from anyzero.compiler.lower.emitter import Emitter

ROW = 16
"""Bytes of a lane's load: a register, or a part that is combined with others to one."""

WORD = 4
"""The fewest bytes that are transposed: shorter elements are parts of words."""

At = Callable[[int], Value]
"""The address of a lane's first component."""


def rows_fit(e: Emitter, access: Access, size: int) -> bool:
    """May each lane load its components as rows of sixteen bytes?"""
    lanes = e.lanes
    whole = access.count * size % ROW == 0
    return whole and not access.volatile and not lanes & (lanes - 1) and lanes >= 4


def rows(e: Emitter, at: At, element: str, count: int, alignment: int) -> list[Value]:
    """The components of vectors, loaded sixteen bytes at a time."""
    b, size = e.b, SIZES[element]
    edge = ROW // size
    piece = Type(element, edge)
    beside = min(e.choices.target.register // ROW, e.lanes // edge)
    found: list[Value] = []
    for chunk in range(0, count, edge):
        blocks = []
        for first in range(0, e.lanes, edge * beside):
            wide = []
            for row in range(edge):
                parts = []
                for lane in range(first + row, first + edge * beside, edge):
                    address = e.moved(at(lane), chunk * size)
                    parts.append(b.load(piece, address, align=alignment))
                wide.append(_joined(e, parts))
            blocks.append(_transposed(e, wide))
        found += [_joined(e, list(parts)) for parts in zip(*blocks, strict=True)]
    return found


def fits(e: Emitter, access: Access, size: int) -> bool:
    """May lanes load or store their components as rows, whose number is a power of two?"""
    return rows_fit(e, access, size) and not access.count & (access.count - 1)


def load(e: Emitter, at: At, wide: Type, count: int, alignment: int) -> list[Value]:
    """Loads components, a vector of all lanes for each. `wide` is the type of such a vector."""
    b, size = e.b, SIZES[wide.element]
    edge = min(wide.lanes, count)
    piece = Type(wide.element, edge)
    found: list[Value] = []
    for chunk in range(0, count, edge):
        blocks = []
        for first in range(0, wide.lanes, edge):
            rows = []
            for lane in range(first, first + edge):
                address = e.moved(at(lane), chunk * size)
                rows.append(b.load(piece, address, align=alignment))
            blocks.append(_transposed(e, rows))
        found += [_joined(e, list(parts)) for parts in zip(*blocks, strict=True)]
    return found


def store(e: Emitter, at: At, values: list[Value], alignment: int) -> None:
    b, wide, count = e.b, values[0].type, len(values)
    size, register = SIZES[wide.element], e.choices.target.register
    edge = min(wide.lanes, count, max(register // size, 1))
    width = min(max(edge, register // size), wide.lanes)
    for chunk in range(0, count, edge):
        for first in range(0, wide.lanes, width):
            lanes = range(first, first + width)
            columns = [
                each if width == wide.lanes else b.shuffle(each, None, lanes) for each in values[chunk : chunk + edge]
            ]
            for row, found in enumerate(_transposed(e, columns)):
                for square in range(0, width, edge):
                    piece = found if width == edge else b.shuffle(found, None, range(square, square + edge))
                    b.store(piece, e.moved(at(first + square + row), chunk * size), align=alignment)


def _transposed(e: Emitter, rows: list[Value]) -> list[Value]:
    """Transposes a square of a power of two rows: off-diagonal blocks are exchanged, in halves, quarters and so on.
    Longer rows are several squares side by side.
    """
    edge = len(rows)
    rows = list(rows)
    places = range(rows[0].type.lanes)
    distance = edge // 2
    while distance:
        for at in (place for place in range(edge) if not place & distance):
            upper, lower = rows[at], rows[at + distance]
            kept = [place if not place & distance else len(places) + place - distance for place in places]
            rows[at] = e.b.shuffle(upper, lower, kept)
            rest = [len(places) + place if place & distance else place + distance for place in places]
            rows[at + distance] = e.b.shuffle(upper, lower, rest)
        distance //= 2
    return rows


def _joined(e: Emitter, parts: list[Value]) -> Value:
    """Concatenates vectors; their number is a power of two."""
    while len(parts) > 1:
        have = parts[0].type.lanes
        parts = [e.b.shuffle(*pair, list(range(2 * have))) for pair in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]
