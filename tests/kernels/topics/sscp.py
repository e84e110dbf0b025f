"""Kernels in the manner of AdaptiveCpp: local memory that begins with zeros, integers of odd widths."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.kernels.case import Argument, Array
from tests.kernels.topics.making import SIZES, launch, truncated

__all__ = ["CASES"]

N, GROUP = SIZES
GROUPS = N // GROUP


def _numbers() -> Array:
    return np.random.default_rng(5).integers(-(1 << 17), 1 << 17, N).astype(np.int32)


def _with_numbers(out: Array) -> list[Argument]:
    return [out, _numbers()]


def _sums(given: list[Any]) -> dict[int, Array]:
    return {0: given[1].reshape(GROUPS, GROUP).sum(axis=1).astype(np.int32)}


def _counts(given: list[Any]) -> dict[int, Array]:
    rows = given[1].reshape(GROUPS, GROUP) & 7
    return {0: np.concatenate([np.bincount(row, minlength=8) for row in rows]).astype(np.int32)}


def _pixels(given: list[Any]) -> dict[int, Array]:
    red, green, blue = given[1].reshape(N, 3).astype(np.uint32).T
    packed = red | green << np.uint32(8) | blue << np.uint32(16)
    return {0: (packed << np.uint32(5) | packed >> np.uint32(19)) & np.uint32(0xFFFFFF)}


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (value >> (bits - 1) << bits)


def _widths(given: list[Any]) -> dict[int, Array]:
    found = []
    for number in map(int, given[1]):
        narrow, wide = _signed(number * 1000003, 40), _signed((number << 60) * number, 96)
        found.append(_signed(truncated(narrow, 7) + (wide >> 58) + (narrow < 0), 64))
    return {0: np.array(found, np.int64)}


CASES = (
    launch("sscp", "sscp_reduction", lambda: _with_numbers(np.zeros(GROUPS, np.int32)), _sums, name="sscp_reduction"),
    launch(
        "sscp", "sscp_histogram", lambda: _with_numbers(np.zeros(8 * GROUPS, np.int32)), _counts, name="sscp_histogram"
    ),
    launch(
        "sscp",
        "sscp_pixels",
        lambda: [np.zeros(N, np.uint32), np.random.default_rng(6).integers(0, 256, 3 * N).astype(np.uint8)],
        _pixels,
        name="sscp_pixels",
    ),
    launch("sscp", "sscp_widths", lambda: _with_numbers(np.zeros(N, np.int64)), _widths, name="sscp_widths"),
)
