"""Minimum and maximum with NaNs."""

from __future__ import annotations

import math


def fmin(a: float, b: float) -> float:
    """The minimum; a number is preferred to a NaN, and a negative zero to a positive one."""
    if a != a or b != b:
        return b if a != a else a
    if a == b:
        return a if math.copysign(1.0, a) < 0.0 else b
    return a if a < b else b


def fmax(a: float, b: float) -> float:
    if a != a or b != b:
        return b if a != a else a
    if a == b:
        return b if math.copysign(1.0, a) < 0.0 else a
    return a if a > b else b
