"""Local ids where lanes are neighbours by the work-items' linear numbers."""

from __future__ import annotations

from anyzero.compiler.llvm import I64, Value
from anyzero.compiler.lower.emitter import Emitter
from anyzero.layouts.kernel import GRID_OFFSETS


def local_ids(e: Emitter, dimension: int) -> Value:
    """The local ids of all lanes, as i64, from the linear number of the first lane."""
    b = e.b
    sizes = []
    for axis in range(2):
        address = e.moved(e.frame.grid, GRID_OFFSETS["group_size"] + 8 * axis)
        sizes.append(b.cast("trunc", b.load(I64, address, align=8, invariant=True), "i32"))
    first = b.cast("trunc", e.frame.ids["vector", 0] * e.lanes, "i32")
    number = e.apart(first, 1)
    for axis, size in enumerate(sizes):
        wide = b.spread(size, e.lanes)
        quotient = b.binary("udiv", number, wide)
        if dimension == axis:
            return b.cast("zext", number - quotient * wide, "i64")
        number = quotient
    return b.cast("zext", number, "i64")
