"""Operands: edges of the formats, numbers of all sizes, and numbers from where a function is interesting."""

from __future__ import annotations

import numpy as np

from tests.compiler.builtins.machine import DTYPES

Array = np.ndarray
INTEGER = {"half": np.uint16, "float": np.uint32, "double": np.uint64}


def edges(element: str) -> Array:
    """Zeros, infinities, NaN, the ends of the denormal and the normal numbers, and where functions turn."""
    dtype = DTYPES[element]
    info = np.finfo(dtype)
    ends = [info.smallest_subnormal, info.tiny, np.nextafter(info.tiny, dtype(0)), info.max, info.eps]
    turns = [0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 10.0, 88.0, 100.0, 1000.0]
    ones = [np.nextafter(dtype(1), dtype(0)), np.nextafter(dtype(1), dtype(2))]
    angles = [np.pi / 2, np.pi, 2 * np.pi, 355.0]
    sizes = np.array([0.0, np.inf, *ends, *turns, *ones, *angles], dtype)
    return np.concatenate([sizes, -sizes, np.array([np.nan], dtype)])


def of_all_sizes(element: str, count: int, seed: int = 1) -> Array:
    """Each bit pattern is as likely as any other."""
    bits = np.random.default_rng(seed).integers(0, np.iinfo(INTEGER[element]).max, count, INTEGER[element], True)
    found = bits.view(DTYPES[element])
    return found[np.isfinite(found)]


def strided(count: int) -> Array:
    """Floats through all exponents and both signs at even distances of their bits."""
    bits = np.arange(0, 1 << 32, ((1 << 32) // count) | 1, np.uint64).astype(np.uint32)
    return bits.view(np.float32)


def within(element: str, low: float, high: float, count: int, seed: int = 2) -> Array:
    return np.random.default_rng(seed).uniform(low, high, count).astype(DTYPES[element])
