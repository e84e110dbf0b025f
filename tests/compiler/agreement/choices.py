"""Decisions of the generator. Everything that is chosen is a small integer, and zero is always the simplest choice."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

T = TypeVar("T")


@cache
def _integers(low: int, high: int) -> SearchStrategy[int]:
    return st.integers(low, high)


class Choices:
    def __init__(self, draw: DrawFn) -> None:
        self._draw = draw

    def number(self, low: int, high: int) -> int:
        return low if low >= high else self._draw(_integers(low, high))

    def one_of(self, options: Sequence[T]) -> T:
        """The first is where shrinking leads to."""
        return options[self.number(0, len(options) - 1)]

    def weighted(self, options: Sequence[tuple[int, T]]) -> T:
        """Options with how often each is to be chosen."""
        at = self.number(0, sum(weight for weight, _ in options) - 1)
        for weight, option in options:
            if at < weight:
                return option
            at -= weight
        raise AssertionError

    def chance(self, percent: int) -> bool:
        """Shrinks to no."""
        return self.number(0, 99) >= 100 - percent
