"""Numbers as the unevaluated sum of two, the second below the last bit of the first: twice the digits."""

from __future__ import annotations

from typing import NamedTuple

from anyzero.compiler.builtins.writer import Writer
from anyzero.compiler.llvm import Number, Value


class Double(NamedTuple):
    """`high + low`."""

    high: Value
    low: Value


def two_sum(w: Writer, a: Value, b: Value | Number) -> Double:
    """The sum and its rounding error, whichever operand is larger."""
    total = a + b
    shadow = total - a
    return Double(total, (a - (total - shadow)) + (_value(a, b) - shadow))


def fast_two_sum(w: Writer, a: Value, b: Value) -> Double:
    """As `two_sum`, where `a` is zero or at least as large as `b`."""
    total = a + b
    return Double(total, b - (total - a))


def times(w: Writer, a: Double, b: Double) -> Double:
    high = a.high * b.high
    low = w.fma(a.high, b.high, -high)
    return Double(high, w.fma(a.high, b.low, w.fma(a.low, b.high, low)))


def add_to_constant(w: Writer, large: tuple[float, float], small: Double | Value) -> Double:
    """A constant of two words and something smaller."""
    high = small.high if isinstance(small, Double) else small
    total = fast_two_sum(w, high.like(large[0]), high)
    low = total.low + large[1]
    return Double(total.high, low + small.low if isinstance(small, Double) else low)


def _value(a: Value, b: Value | Number) -> Value:
    return b if isinstance(b, Value) else a.like(b)
