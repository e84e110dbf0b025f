"""Clamped indices that no lane needs clamped: decided by scalars, from the first and the last lane.

Clamping all lanes and comparing them with their neighbours takes some ten instructions for each register; a vector away
from the bounds needs two comparisons of scalars.
"""

from __future__ import annotations

from anyzero.compiler.analysis.speculative_stride import speculative_stride
from anyzero.compiler.ir import Op
from anyzero.compiler.llvm import I1, I64, Value
from anyzero.compiler.lower.emitter import Emitter
from anyzero.lazy_dataclass import dataclass

_LOW = {"s_clamp": 1, "s_max": 1, "smax": 1}
_HIGH = {"s_clamp": 2, "s_min": 1, "smin": 1}
"""The operands of a clamp of signed numbers that are its bounds, where the first operand is clamped."""
LARGEST = {"i32": (1 << 31) - 1, "i64": (1 << 63) - 1}


@dataclass(slots=True)
class Unclamped:
    """A value of lane 0, if no lane is clamped."""

    value: Value
    holds: Value
    """Is no lane clamped? Lanes that are not active count, too."""


def unclamped(e: Emitter, op: Op) -> Unclamped | None:
    """None where other operations than sums and products with uniform numbers lie between clamps and a pointer."""
    b = e.b
    shape = e.shape(op)
    if shape.stride is not None:
        return Unclamped(e.scalar(op), b.constant(1, I1)) if shape.exact else None
    if op.name in ("add", "mul", "shl", "offset"):
        varying = [place for place, arg in enumerate(op.args) if not e.shape(arg).uniform]
        found = unclamped(e, op.args[varying[0]]) if len(varying) == 1 else None
        if found is None or (op.name != "add" and varying != [int(op.name == "offset")]):
            return None
        other = e.scalar(op.args[1 - varying[0]])
        made = e.moved(other, found.value) if op.name == "offset" else b.binary(op.name, found.value, other)
        return Unclamped(made, found.holds)
    wide = op.name == "cast" and op.info == "sext" and op.args[0].type == "i32"
    if wide and not e.choices.options.greater_than_4gb:
        # One that wraps around between two lanes has no lanes in the same buffer.
        found = unclamped(e, op.args[0])
        return None if found is None else Unclamped(b.cast(op.info, found.value, op.type), found.holds)
    return _clamp(e, op)


def _clamp(e: Emitter, op: Op) -> Unclamped | None:
    b = e.b
    name = op.info[0] if op.name == "math" else op.info if op.name == "intrinsic" else ""
    if (name not in _LOW and name not in _HIGH) or op.type not in ("i32", "i64"):
        return None
    args = list(op.args)
    if len(args) == 2 and e.shape(args[0]).uniform:
        args.reverse()
    if not all(e.shape(bound).uniform for bound in args[1:]):
        return None
    stride, found = speculative_stride(args[0], e.shapes), unclamped(e, args[0])
    if found is None or stride is None or stride <= 0:
        return None
    first = _wide(found.value)
    last = first + stride * (e.lanes - 1)
    # A lane that wraps around lies below the first one, and is not what is between them.
    high = _wide(e.scalar(args[_HIGH[name]])) if name in _HIGH else b.constant(LARGEST[op.type], I64)
    holds = found.holds & b.compare("sle", last, high)
    if op.type == "i64":
        holds = holds & b.compare("sge", last, first)
    if name in _LOW:
        holds = holds & b.compare("sge", first, _wide(e.scalar(args[_LOW[name]])))
    return Unclamped(found.value, holds)


def _wide(value: Value) -> Value:
    return value if value.type == I64 else value.builder.cast("sext", value, "i64")
