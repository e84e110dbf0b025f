"""Writes loops over rows of work-items that all pass their checks: no vector needs the general code but short ones."""

from __future__ import annotations

from collections.abc import Callable

from anyzero.compiler.llvm import Type, Value
from anyzero.compiler.lower.entry import Entry

__all__ = ["ActiveRows"]

Vector = Callable[[Value, Value, Value], None]
"""Gets the first lane's place, the row, and the mask."""


class ActiveRows:
    def __init__(self, e: Entry, masked: bool) -> None:
        self.e = e
        self.masked = masked
        """May the code for several rows, or for the interior, run under a mask?"""
        self.peeled = e.wide or e.large > 0
        """Does the first vector of a row end where a vector would end that begins with id 0? A check as `x > 0` moves
        all vectors of the row by one element, so that each of them extends into another cache line.
        """

    def write(self, x0: Value, x1: Value, y0: Value, y1: Value, several: Vector, single: Vector) -> None:
        """Whole vectors first, and then the first and the last ones of the row under masks."""
        e = self.e
        first = self._aligned(x0, x1) if self.peeled else x0
        every = Value(e.b, "splat (i1 true)", Type("i1", e.lanes))

        def together(y: Value) -> None:
            at = e.end_of(first, x1, e.step, lambda x: several(x, y, every))
            e.whole = False
            self._short(x0, first, at, x1, lambda x, mask: under(x, y, mask))
            e.whole = True

        def under(x: Value, y: Value, mask: Value) -> None:
            if self.masked:
                several(x, y, mask)
            else:
                e.for_(y, y + e.rows, 1, lambda row: single(x, row, mask))

        def alone(y: Value) -> None:
            e.for_(x0, x1 + (e.step - 1), e.step, lambda x: single(x, y, e.first_lanes(x1 - x)))

        left = e.end_of(y0, y1, e.rows, together)
        if e.rows > 1:
            e.for_(left, y1, 1, alone)

    def _aligned(self, x0: Value, x1: Value) -> Value:
        """Where whole vectors begin: at a multiple of their length, unless that takes one more vector."""
        e, b = self.e, self.e.b
        first = b.intrinsic("umin", (x0 + (e.step - 1)) & -e.step, x1)
        short = b.cast("zext", b.compare("ne", first, x0), "i64")
        most = b.binary("lshr", x1 - x0 + (e.step - 1), e.number(e.step.bit_length() - 1))
        vectors = b.binary("lshr", x1 - first + (e.step - 1), e.number(e.step.bit_length() - 1)) + short
        return b.select(b.compare("ugt", vectors, most), x0, first)

    def _short(self, x0: Value, first: Value, at: Value, x1: Value, write: Callable[[Value, Value], None]) -> None:
        """The vectors before the whole ones, and after them."""
        e, b = self.e, self.e.b
        if not self.peeled:
            e.if_(b.compare("slt", at, x1), lambda: write(at, e.some_lanes(x1 - at)))
            return
        # Both in one place, so that their code is there once.
        begins = b.compare("eq", first, x0)
        place, end = e.variable(b.select(begins, at, x0)), e.variable(b.select(begins, x1, first))

        def once() -> None:
            now = e.get(place)
            write(now, e.some_lanes(e.get(end) - now))
            e.set(place, b.select(b.compare("ult", now, at), at, x1))
            e.set(end, x1)

        e.while_(lambda: b.compare("ult", e.get(place), x1), once)
