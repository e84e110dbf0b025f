"""Accesses of several rows that are contiguous for each lane: one access a lane, and a transposition in registers."""

from __future__ import annotations

from anyzero.compiler.ir import SIZES, Op
from anyzero.compiler.llvm import Type, Value
from anyzero.compiler.lower import transposition
from anyzero.compiler.lower.emitter import Emitter
from anyzero.compiler.lower.gathers import aligned
from anyzero.compiler.lower.lane_counts import count_access
from anyzero.layouts.container import CounterKind

__all__ = ["write_columns"]


def write_columns(e: Emitter, op: Op) -> None:
    """A load or store of all rows, under a full mask."""
    pointers = e.in_rows(lambda: e.vector(op.args[0]), 1)[0]
    size = SIZES[op.type or op.args[1].type]
    alignment = aligned(op.info, size)
    for _ in range(e.row_count):
        count_access(e, CounterKind.SCATTER if op.name == "store" else CounterKind.GATHER)

    def at(lane: int) -> Value:
        return e.b.lane(pointers, lane)

    if op.name == "store":
        values = e.in_rows(lambda: e.vector(op.args[1]))
        transposition.store(e, at, values, alignment)
        return
    found = transposition.load(e, at, Type(op.type, e.lanes), e.row_count, alignment)
    e.in_rows(lambda: _put(e, op, found.pop(0)))


def _put(e: Emitter, op: Op, value: Value) -> Value:
    e.parts[op] = [value]
    e.put(op, value)
    return value
