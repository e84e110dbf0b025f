"""Numbers as the unevaluated sum of two, the second below the last bit of the first: twice the digits."""

from __future__ import annotations

from typing import NamedTuple

from anyzero.compiler.builtins.writer import Writer
from anyzero.compiler.lower.llvm import Number, Value


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


def two_product(w: Writer, a: Value, b: Value | Number) -> Double:
    product = a * b
    return Double(product, w.fma(a, b, -product))


def times(w: Writer, a: Double, b: Double) -> Double:
    high, low = two_product(w, a.high, b.high)
    low = w.fma(a.high, b.low, w.fma(a.low, b.high, low))
    return fast_two_sum(w, high, low)


def constant(x: Value, pair: tuple[float, float]) -> Double:
    return Double(x.like(pair[0]), x.like(pair[1]))


def _value(a: Value, b: Value | Number) -> Value:
    return b if isinstance(b, Value) else a.like(b)
