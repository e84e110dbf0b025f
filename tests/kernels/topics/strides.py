"""Loops in steps of a group or of all items: tables in local memory, and what is left behind them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.kernels.case import Argument, Array, Case
from tests.kernels.topics.making import launch, wrapped

__all__ = ["CASES"]

BINS, KINDS = 16, 8
SIZES = 192, 96
"""Groups of several whole vectors, however wide they are."""
N = 1000
"""Elements; in the last iteration only some work-items are active."""


def _after(table: list[int], bins: list[int], values: list[int]) -> list[int]:
    for bin_, x in zip(bins, values, strict=True):
        at = [kind * BINS + bin_ for kind in range(KINDS)]
        table[at[0]] += 1
        table[at[1]] += x
        table[at[2]] -= x
        table[at[3]] = min(table[at[3]], x)
        table[at[4]] = max(table[at[4]], x)
        table[at[5]] &= x
        table[at[6]] |= x
        table[at[7]] ^= x
    return table


def _tables() -> Iterator[Case]:
    items, group = SIZES
    kinds: tuple[tuple[str, Any, Any], ...] = (
        ("uchar", np.uint8, np.uint32),
        ("ushort", np.uint16, np.int32),
        ("int", np.int32, np.uint32),
        ("ulong", np.uint64, np.uint64),
    )
    for name, index, dtype in kinds:

        def arguments(index: Any = index, dtype: Any = dtype) -> list[Argument]:
            random = np.random.default_rng(1)
            # Neighbours often mean the same bin.
            bins = np.minimum(random.integers(0, 4 * BINS, N), BINS - 1).astype(index)
            return [
                np.zeros((items // group, KINDS * BINS), dtype),
                bins,
                random.integers(0, 1 << 20, N).astype(dtype),
                np.uint32(N),
            ]

        def expected(given: list[Any]) -> dict[int, Array]:
            out = []
            for number in range(items // group):
                mine = [i for i in range(N) if i % items // group == number]
                start = [100 + i for i in range(KINDS * BINS)]
                table = _after(start, given[1][mine].tolist(), given[2][mine].tolist())
                out.append([wrapped(value, given[0].dtype) for value in table])
            return {0: np.array(out, given[0].dtype)}

        needs = {"int64_atomics"} if name == "ulong" else set()
        yield launch("strides", f"tables_{name}", arguments, expected, SIZES, needs=needs)


def _stepped() -> Case:
    items, _ = SIZES

    def arguments() -> list[Argument]:
        data = np.random.default_rng(2).integers(0, 256, N).astype(np.uint8)
        return [np.zeros((items, 3), np.int32), np.zeros(N, np.uint8), np.zeros(N, np.int32), data, np.int32(N)]

    def expected(given: list[Any]) -> dict[int, Array]:
        last, _, numbers, data, _ = given
        for item in range(items):
            mine = data[item::items].astype(np.int32)
            sums = np.cumsum(mine, dtype=np.int32)
            last[item] = sums[-1], mine[-1], item + items * len(mine)
            numbers[item::items] = np.where(mine & 1, sums, 0)
        return {0: last, 1: 255 - data, 2: numbers}

    return launch("strides", "stepped", arguments, expected, SIZES)


def _ranks() -> Iterator[Case]:
    items, group = SIZES
    groups = items // group

    def arguments() -> list[Argument]:
        bins = np.minimum(np.random.default_rng(3).integers(0, 2 * BINS, N), BINS - 1).astype(np.uint8)
        return [np.zeros((groups, BINS, N), np.int32), np.zeros((groups, BINS), np.int32), bins, np.uint32(N)]

    def expected(given: list[Any]) -> dict[int, Array]:
        whose = np.arange(N) % items // group
        counts = np.stack([np.bincount(given[2][whose == g], minlength=BINS) for g in range(groups)])
        places = (np.arange(N) < counts[:, :, None]).astype(np.int32)
        return {0: places, 1: (counts > 0).astype(np.int32)}

    for name in ("uint", "ulong"):
        needs = {"int64_atomics"} if name == "ulong" else set()
        yield launch("strides", f"ranks_{name}", arguments, expected, SIZES, needs=needs)


CASES = (*_tables(), _stepped(), *_ranks())
