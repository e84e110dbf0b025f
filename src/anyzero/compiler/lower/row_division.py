"""Division of 64-bit ids by a uniform number: one division of scalars for a vector.

Lanes of a row lie a constant apart, so that the quotient grows at most once within a vector, unless the divisor is
small. There is no vector division of integers, and only 32 bits can be divided as doubles.
"""

from __future__ import annotations

from collections.abc import Callable

from anyzero.compiler.analysis.cost import divides_row
from anyzero.compiler.ir import Op
from anyzero.compiler.llvm import Value
from anyzero.compiler.lower.emitter import Emitter

LARGEST = 1 << 30
"""Divisors below it leave remainders to which a vector's lanes can be added with 32 bits."""


def applies(e: Emitter, op: Op) -> bool:
    return bool(e.lanes) and e.shape(op).varying and divides_row(op, e.shapes)


def divide(
    e: Emitter,
    op: Op,
    divisor: Value,
    quotient: Callable[[Value, Value], Value],
    otherwise: Callable[[], Value],
) -> None:
    """`quotient` divides lanes of 32 bits, positive ones: by small numbers. `otherwise` divides lane by lane: by large
    numbers, and where ids wrap around or are negative.
    """
    b, lanes = e.b, e.lanes
    first, stride = e.scalar(op.args[0]), e.shape(op.args[0]).stride
    assert stride is not None
    span = stride * (lanes - 1)
    last = first + span
    in_order = b.compare("uge", last, first)
    if op.name[0] == "s":
        in_order = in_order & b.compare("sge", first, 0) & b.compare("sge", last, 0)
    once = in_order & b.compare("uge", divisor, span) & b.compare("ult", divisor, LARGEST)
    known, together, apart, join = e.known, e.label(), e.label(), e.label()
    b.branch(once, together, apart)
    e.start(together)
    ways = [(_together(e, op, first, divisor, stride), together)]
    b.jump(join)
    e.start(apart)
    e.remember(known)
    narrow, wide = e.label(), e.label()
    b.branch(in_order & b.compare("ult", last | divisor, 1 << 31), narrow, wide)
    e.start(narrow)
    ways.append((_narrow(e, op, first, divisor, stride, quotient), narrow))
    b.jump(join)
    e.start(wide)
    e.remember(known)
    ways.append((otherwise(), e.last_label()))
    b.jump(join)
    e.start(join)
    e.forget_since(known)
    e.vectors[op] = b.phi(*ways)


def _narrow(
    e: Emitter, op: Op, first: Value, divisor: Value, stride: int, quotient: Callable[[Value, Value], Value]
) -> Value:
    b = e.b
    short = b.cast("trunc", divisor, "i32")
    lanes = _row(e, b.cast("trunc", first, "i32"), stride)
    found = quotient(lanes, short)
    if op.name[1:] == "rem":
        found = lanes - found * b.spread(short, e.lanes)
    return b.cast("zext", found, op.type)


def _together(e: Emitter, op: Op, first: Value, divisor: Value, stride: int) -> Value:
    b, lanes = e.b, e.lanes
    quotient = b.binary("udiv", first, divisor)
    left = _row(e, b.cast("trunc", first - quotient * divisor, "i32"), stride)
    whole = b.spread(b.cast("trunc", divisor, "i32"), lanes)
    over = b.compare("sge", left, whole)
    if op.name[1:] == "div":
        return b.spread(quotient, lanes) + b.cast("zext", over, op.type)
    left = left - b.select(over, whole, b.zero(whole.type))
    return b.cast("zext", left, op.type)


def _row(e: Emitter, first: Value, stride: int) -> Value:
    return e.b.spread(first, e.lanes) + e.b.each([stride * lane for lane in range(e.lanes)], "i32")
