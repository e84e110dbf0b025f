"""Functions of Python's that are written in the language itself: kernels call them by Python's names."""

from __future__ import annotations

from typing import Any

from anyzero.language.function import function

__all__ = ["greatest_divisor", "total"]


@function
def greatest_divisor(a: Any, b: Any) -> Any:
    """`math.gcd` of two integers of one type."""
    a, b = abs(a), abs(b)
    while b != 0:
        a, b = b, a % b
    return a


@function
def total(first: Any, count: Any) -> Any:
    """`sum` of elements in memory, from the first one on, as Python does it: beginning with 0."""
    found = 0 + first[0]
    for at in range(1, count):
        found += first[at]
    return found
