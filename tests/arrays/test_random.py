"""Random numbers: known answers, reproducible whatever the sizes of launches, and of the right distribution."""

from __future__ import annotations

import numpy as np
import pytest

import anyzero as az
from anyzero.arrays.random import _PHILOX
from anyzero.arrays.text import kernel_of
from tests.arrays.running import context

# The three vectors that the algorithm was published with: counter, key, result.
KNOWN = [
    ((0,) * 4, (0,) * 2, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize(("counter", "key", "result"), KNOWN)
def test_known_answers(counter: tuple[int, ...], key: tuple[int, ...], result: tuple[int, ...]) -> None:
    text = f"""{_PHILOX}
def known(out: az.ptr[az.u32], c: az.ptr[az.u32], k: az.ptr[az.u32]):
    v, w, x, y = philox(c[0], c[1], c[2], c[3], k[0], k[1])
    out[0] = v
    out[1] = w
    out[2] = x
    out[3] = y
"""
    ctx = context()
    out = ctx.zeros(4, np.uint32)
    given = [ctx.to_device(np.array(each, np.uint32)) for each in (counter, key)]
    kernel_of("known", text)[1](out, *given)
    assert tuple(out.copy_to().tolist()) == result


def test_numbers_depend_on_seed_and_index_alone() -> None:
    ctx = context()
    long, short = (az.random(ctx, seed=3).uniform(n).copy_to() for n in (4099, 10))
    np.testing.assert_array_equal(long[:10], short)
    other = az.random(az.device().context(), seed=3).uniform((5, 2)).copy_to()
    np.testing.assert_array_equal(other.ravel(), short)
    first, second = az.random(ctx, seed=3), az.random(ctx, seed=4)
    assert first.stream == 0
    assert not np.array_equal(first.bits(8).copy_to(), second.bits(8).copy_to())
    assert first.stream == 1
    np.testing.assert_array_equal(first.bits(8).copy_to(), az.random(ctx, seed=3, stream=1).bits(8).copy_to())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distributions(dtype: type) -> None:
    r = az.random(context(), seed=11)
    u = r.uniform(100_001, dtype, low=-2, high=4).copy_to()
    assert u.dtype == dtype
    assert u.min() >= -2
    assert u.max() < 4
    assert abs(u.mean() - 1) < 0.05
    assert abs(u.var() - 3) < 0.05
    g = r.normal(100_001, dtype, mean=5, deviation=2).copy_to()
    assert np.isfinite(g).all()
    assert abs(g.mean() - 5) < 0.05
    assert abs(g.std() - 2) < 0.05
    assert abs(((g - 5) ** 4).mean() / 16 - 3) < 0.3


def test_integers_are_even() -> None:
    r = az.random(context(), seed=5)
    n = r.integers(-3, 4, 70_000).copy_to()
    counts = np.bincount(n + 3, minlength=7)
    assert len(counts) == 7
    assert abs(counts - 10_000).max() < 600
    assert r.integers(0, 1 << 32, 100, np.uint64).copy_to().max() > 1 << 30
    assert r.integers(-(1 << 63), (1 << 63) - 1, 100, np.int64).copy_to().min() < 0


def test_mistakes() -> None:
    r = az.random(context(), seed=5)
    for call, text in (
        (lambda: r.uniform(3, np.int32), "uniform numbers are float32 or float64, not int32"),
        (lambda: r.integers(5, 5, 3), "the range from 5 up to 5 is empty, or does not fit int32"),
        (lambda: r.integers(0, 300, 3, np.uint8), "does not fit uint8"),
        (lambda: r.integers(0, 3, 3, np.float32), "makes integers, not float32"),
        (lambda: az.random(context(), seed=-1), "seed is -1"),
    ):
        with pytest.raises(az.InvalidArgument, match=text):
            call()
