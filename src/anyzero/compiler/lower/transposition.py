"""Vectors of many components, a constant apart from lane to lane: each lane's components are one access, and rows
become columns in registers.
"""

from __future__ import annotations

from anyzero.compiler.ir import SIZES, Access
from anyzero.compiler.lower.emitter import Emitter
from anyzero.compiler.lower.gathers import aligned
from anyzero.compiler.lower.llvm import Type, Value

FEWEST = 8
"""Components; fewer are loaded one by one."""


def fits(e: Emitter, access: Access) -> bool:
    count, lanes = access.count, e.lanes
    return not access.volatile and count >= FEWEST and not count & (count - 1) and not lanes & (lanes - 1)


def load(e: Emitter, base: Value, wide: Type, access: Access, stride: int) -> list[Value]:
    """The components, a vector of all lanes for each. `wide` is the type of such a vector."""
    b, size = e.b, SIZES[wide.element]
    edge = min(wide.lanes, access.count)
    piece = Type(wide.element, edge)
    found: list[Value] = []
    for chunk in range(0, access.count, edge):
        blocks = []
        for first in range(0, wide.lanes, edge):
            rows = []
            for lane in range(first, first + edge):
                address = e.moved(base, lane * stride + chunk * size)
                rows.append(b.op(f"load {piece}, {address.typed}, align {aligned(access, size)}", piece))
            blocks.append(_transposed(e, rows))
        found += [_joined(e, list(parts)) for parts in zip(*blocks, strict=True)]
    return found


def store(e: Emitter, base: Value, values: list[Value], access: Access, stride: int) -> None:
    b, wide = e.b, values[0].type
    size, edge = SIZES[wide.element], min(wide.lanes, len(values))
    for chunk in range(0, len(values), edge):
        for first in range(0, wide.lanes, edge):
            lanes = list(range(first, first + edge))
            columns = [
                each if edge == wide.lanes else b.shuffle(each, None, lanes) for each in values[chunk : chunk + edge]
            ]
            for lane, row in zip(lanes, _transposed(e, columns), strict=True):
                address = e.moved(base, lane * stride + chunk * size)
                b.line(f"store {row.typed}, {address.typed}, align {aligned(access, size)}")


def _transposed(e: Emitter, rows: list[Value]) -> list[Value]:
    """As many rows as each has elements, a power of two: ever smaller blocks off the diagonal trade places."""
    edge = len(rows)
    rows = list(rows)
    distance = edge // 2
    while distance:
        for at in (place for place in range(edge) if not place & distance):
            upper, lower = rows[at], rows[at + distance]
            kept = [place if not place & distance else edge + place - distance for place in range(edge)]
            rows[at] = e.b.shuffle(upper, lower, kept)
            rest = [edge + place if place & distance else place + distance for place in range(edge)]
            rows[at + distance] = e.b.shuffle(upper, lower, rest)
        distance //= 2
    return rows


def _joined(e: Emitter, parts: list[Value]) -> Value:
    """One behind the other; their number is a power of two."""
    while len(parts) > 1:
        have = parts[0].type.lanes
        parts = [e.b.shuffle(*pair, list(range(2 * have))) for pair in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]
