"""How much of what is repeated in many ways is run: a fixed part by default, all of it with THOROUGH=1."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

THOROUGH = os.environ.get("THOROUGH") == "1"

Item = TypeVar("Item")


def every(step: int, items: Sequence[Item]) -> list[Item]:
    """Each `step`-th of them; all of them with THOROUGH=1."""
    return list(items[:: 1 if THOROUGH else step])


def examples(usual: int, thorough: int) -> int:
    """The number of random examples; the larger one with THOROUGH=1."""
    return thorough if THOROUGH else usual


def turn(number: int, ways: Sequence[Item]) -> list[Item]:
    """One of the ways, another for each number; all of them with THOROUGH=1."""
    return list(ways) if THOROUGH else [ways[number % len(ways)]]
