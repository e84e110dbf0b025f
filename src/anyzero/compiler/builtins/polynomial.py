"""Polynomials by multiply-adds. Coefficients are in the order of powers, the constant first."""

from __future__ import annotations

from collections.abc import Sequence

from anyzero.compiler.builtins.writer import Writer
from anyzero.compiler.llvm import Value

Coefficients = Sequence[float]


def horner(w: Writer, x: Value, coefficients: Coefficients) -> Value:
    """Horner's scheme: fewest instructions, one dependency chain; the constant is added last, most precisely."""
    total: Value | float = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = w.mad(x, total, coefficient)
    return total if isinstance(total, Value) else x.like(total)


def split(w: Writer, x: Value, coefficients: Coefficients, lead: int = 0) -> Value:
    """Two independent chains, over even and odd powers: half the latency for one more multiplication. The first `lead`
    coefficients are added one by one at the end, which keeps the rounding errors of both chains small.
    """
    tail = coefficients[lead:]
    if len(tail) < 6:  # nothing to gain yet
        return horner(w, x, coefficients)
    square = x * x
    total = w.mad(x, horner(w, square, tail[1::2]), horner(w, square, tail[0::2]))
    for coefficient in reversed(coefficients[:lead]):
        total = w.mad(x, total, coefficient)
    return total
