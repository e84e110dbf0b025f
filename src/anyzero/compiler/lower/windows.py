"""Accesses of arrays that are in registers: loads from and stores to windows, see `register_tiles.py`."""

from __future__ import annotations

from anyzero.compiler.ir import Op
from anyzero.compiler.llvm import PTR, Type, Value
from anyzero.compiler.lower.emitter import Emitter


def load(e: Emitter, op: Op) -> None:
    lanes = 0 if e.shape(op.args[0]).uniform else e.lanes
    e.put(op, e.b.load(Type(op.type, lanes), _window(e, op)))
    e.parts[op] = [(e.vectors if lanes else e.scalars)[op]]


def store(e: Emitter, op: Op) -> None:
    value = op.args[1]
    if not e.shape(op.args[0]).uniform:
        stored = e.vector(value)
    elif e.shape(value).uniform:
        stored = e.scalar(value)
    else:
        # All lanes write to one address; the last active one wins.
        assert e.mask is not None
        stored = e.b.lane(e.vector(value), e.last_lane(e.mask))
    e.b.store(stored, _window(e, op))


def _window(e: Emitter, op: Op) -> Value:
    return e.moved(Value(e.b, "%windows", PTR), e.windows[op] * window_bytes(e.lanes))


def window_bytes(lanes: int) -> int:
    return 8 * lanes
