"""Double-word arithmetic: a number as the unevaluated sum of two, with twice the precision."""

from __future__ import annotations

from anyzero.compiler.builtins.writer import Writer
from anyzero.compiler.llvm import Number, Value
from anyzero.lazy_namedtuple import NamedTuple


class Double(NamedTuple):
    """`high + low`."""

    high: Value
    low: Value


def two_sum(w: Writer, a: Value, b: Value | Number) -> Double:
    """The sum and its rounding error, for operands of any order."""
    total = a + b
    shadow = total - a
    return Double(total, (a - (total - shadow)) + (_value(a, b) - shadow))


def fast_two_sum(w: Writer, a: Value, b: Value) -> Double:
    """As `two_sum`, if `a` is zero or |a| ≥ |b|."""
    total = a + b
    return Double(total, b - (total - a))


def times(w: Writer, a: Double, b: Double) -> Double:
    high = a.high * b.high
    low = w.fma(a.high, b.high, -high)
    return Double(high, w.fma(a.high, b.low, w.fma(a.low, b.high, low)))


def add_to_constant(w: Writer, large: tuple[float, float], small: Double | Value) -> Double:
    """A double-word constant plus a smaller number."""
    high = small.high if isinstance(small, Double) else small
    total = fast_two_sum(w, high.like(large[0]), high)
    low = total.low + large[1]
    return Double(total.high, low + small.low if isinstance(small, Double) else low)


def _value(a: Value, b: Value | Number) -> Value:
    return b if isinstance(b, Value) else a.like(b)
