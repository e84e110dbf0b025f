"""Kernels that do not know their groups, and kernels that only ask how large and how many these are."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from benchmarks.kernels.case import FOLDER, Argument, Array, Case

__all__ = ["CASES", "churned"]

GLOBAL, GROUP, ROUNDS = (18, 6), (6, 3), 5


def churned(items: int, rounds: int) -> Array:
    """What the kernels compute of the work-items' numbers."""
    h = np.arange(items, dtype=np.uint32)
    for number in range(rounds):
        h = (h ^ (h >> np.uint32(15))) * np.uint32(0x2C1B3C6D) + np.uint32(number)
    return h


def _arguments() -> list[Argument]:
    return [np.arange(np.prod(GLOBAL), dtype=np.uint32), np.uint32(ROUNDS)]


def _case(kernel: str, more: int) -> Case:
    def expected(given: list[Any]) -> dict[int, Array]:
        return {0: given[0] + churned(given[0].size, ROUNDS) + np.uint32(more)}

    return Case(f"long_groups.{kernel}", FOLDER / "long_groups.spv", kernel, _arguments, GLOBAL, GROUP, expected)


CASES: Final = (_case("unaware", 0), _case("aware", GROUP[0] * 1000 + GLOBAL[0] // GROUP[0]))
