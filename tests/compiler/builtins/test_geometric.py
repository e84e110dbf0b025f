"""Lengths, directions and products of vectors, and the choices between values."""

from __future__ import annotations

import numpy as np
import pytest

from tests.compiler.builtins import samples
from tests.compiler.builtins.machine import DTYPES, compiled
from tests.compiler.builtins.truth import errors

Array = np.ndarray
TESTED = {
    *("length", "distance", "normalize", "cross", "fast_length", "fast_distance", "fast_normalize"),
    *("bitselect", "select", "mix", "smoothstep", "degrees", "radians"),
}
SIZES = {"half": (1.0, 100.0, 1e-3), "float": (1.0, 1e18, 1e30, 1e-20, 1e-42), "double": (1.0, 1e300, 1e-300, 5e-322)}
WIDE = np.longdouble


def vectors(element: str, count: int, seed: int) -> list[Array]:
    """Of ordinary, of huge and of tiny components."""
    random = np.random.default_rng(seed)
    parts = [random.uniform(-1, 1, (count, 400)) * size for size in SIZES[element]]
    return list(np.concatenate(parts, axis=1).astype(DTYPES[element]))


def length(v: list[Array]) -> Array:
    return np.sqrt(sum(x.astype(WIDE) ** 2 for x in v))


def off(got: Array, right: Array) -> float:
    high = right.astype(np.float64)
    return float(errors(got, high, (right - high).astype(np.float64)).max())


ALL = pytest.mark.parametrize("element", ["half", "float", "double"])
COUNTS = pytest.mark.parametrize("count", [2, 3, 4])


@ALL
@COUNTS
def test_length_and_distance(element: str, count: int) -> None:
    a, b = vectors(element, count, 1), vectors(element, count, 2)
    assert off(compiled("length", element, count=count)(*a)[0], length(a)) <= 2.75 + 0.5 * count
    apart = [(x - y).astype(x.dtype) for x, y in zip(a, b, strict=True)]
    assert off(compiled("distance", element, count=count)(*a, *b)[0], length(apart)) <= 2.75 + 0.5 * count


@ALL
@COUNTS
def test_normalize(element: str, count: int) -> None:
    v = vectors(element, count, 3)
    size = length(v)
    for x, got in zip(v, compiled("normalize", element, count=count)(*v), strict=True):
        assert off(got, x / np.where(size == 0, 1, size)) <= 2 + count


def test_directions_of_zero_and_of_infinity() -> None:
    inf, nan = np.inf, np.nan
    v = [np.array(x, np.float32) for x in ([0, inf, inf, -inf, 1], [-0.0, 5, inf, 0, nan], [0, -7, 0, 1, 2])]
    got = np.transpose(compiled("normalize", "float", count=3)(*v))
    half = np.float32(np.sqrt(0.5))
    right = np.array([[0, -0.0, 0], [1, 0, -0.0], [half, half, 0], [-1, 0, 0]], np.float32)
    assert np.allclose(got[:4], right, rtol=1e-6)
    assert np.array_equal(np.signbit(got[:3]), np.signbit(right[:3]))
    assert np.isnan(got[4]).all()


@ALL
@pytest.mark.parametrize("count", [3, 4])
def test_cross(element: str, count: int) -> None:
    random = np.random.default_rng(5)
    a, b = (list(random.uniform(-9, 9, (count, 500)).astype(DTYPES[element])) for _ in range(2))
    got = compiled("cross", element, count=count)(*a, *b)
    right = np.cross(np.transpose(a[:3]).astype(np.float64), np.transpose(b[:3]).astype(np.float64))
    assert np.abs(np.transpose(got[:3]) - right).max() <= 81 * 3 * float(np.finfo(DTYPES[element]).eps)
    assert count == 3 or (got[3] == 0).all()


@pytest.mark.parametrize("element", ["float", "double"])
@COUNTS
def test_the_fast_ones(element: str, count: int) -> None:
    random = np.random.default_rng(6)
    a, b = (list(random.uniform(-9, 9, (count, 500)).astype(DTYPES[element])) for _ in range(2))
    apart = [x - y for x, y in zip(a, b, strict=True)]
    assert off(compiled("fast_length", element, count=count)(*a)[0], length(a)) <= 100
    assert off(compiled("fast_distance", element, count=count)(*a, *b)[0], length(apart)) <= 100
    for x, got in zip(a, compiled("fast_normalize", element, count=count)(*a), strict=True):
        assert off(got, x / length(a)) <= 100
    zeros = [np.zeros(16, DTYPES[element])] * count
    assert all((got == 0).all() for got in compiled("fast_normalize", element, count=count)(*zeros))


@pytest.mark.parametrize("element", ["half", "float", "double", "i8", "i16", "i32", "i64"])
def test_choosing(element: str) -> None:
    dtype = np.dtype(DTYPES[element])
    bits = np.dtype(f"int{8 * dtype.itemsize}")
    random = np.random.default_rng(7)
    info = np.iinfo(bits)
    a, b, mask = (random.integers(info.min, info.max, 300, bits, endpoint=True) for _ in range(3))
    (got,) = compiled("bitselect", element)(a.view(dtype), b.view(dtype), mask.view(dtype))
    assert np.array_equal(got.view(bits), (a & ~mask) | (b & mask))
    mask[::3] = 0
    for count, condition in ((1, mask != 0), (2, mask < 0)):
        (got,) = compiled("select", element, count=count)(a.view(dtype), b.view(dtype), mask)
        assert np.array_equal(got.view(bits), np.where(condition, b, a))


@ALL
def test_common_functions(element: str) -> None:
    x, y, a = (samples.within(element, -3, 3, 500, seed) for seed in range(3))
    eps = float(np.finfo(DTYPES[element]).eps)
    wide = [each.astype(np.float64) for each in (x, y, a)]
    mixed = wide[0] + (wide[1] - wide[0]) * wide[2]
    assert np.abs(compiled("mix", element)(x, y, a)[0] - mixed).max() <= 40 * eps
    assert off(compiled("degrees", element)(x)[0], x.astype(WIDE) * (180 / WIDE(np.pi))) <= 2
    assert off(compiled("radians", element)(x)[0], x.astype(WIDE) * (WIDE(np.pi) / 180)) <= 2
    low, high = np.full_like(x, -1), np.full_like(x, 2)
    t = np.clip((wide[0] + 1) / 3, 0, 1)
    smooth = t * t * (3 - 2 * t)
    assert np.abs(compiled("smoothstep", element)(low, high, x)[0] - smooth).max() <= 8 * eps
