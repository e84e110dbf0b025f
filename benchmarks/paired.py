"""Comparing two who took turns."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

__all__ = ["quotient"]


def quotient(ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """Ours divided by theirs, the middle one of the rounds; None where they share no round.

    The memory of a shared machine is faster for some seconds and slower for others, so that the best of one and the
    best of the other may come from different times. The turns of one round do not.

    >>> quotient([3.0, 1.0, 9.0], [6.0, 2.0, 3.0])
    0.5
    """
    pairs = list(zip(ours, theirs, strict=False))
    return median(own / other for own, other in pairs) if pairs else None
