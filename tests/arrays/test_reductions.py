"""Reductions, scans and sorts against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anyzero as az
from tests.arrays.running import on_device, samples

NAMES = ("sum", "min", "max", "mean", "any", "all", "argmin", "argmax")


def array_of(shape: Any, dtype: str = "f4") -> Any:
    size = int(np.prod(shape))
    return ((np.arange(size) * 7919) % 101 - 50).astype(dtype).reshape(shape)


@pytest.mark.parametrize("name", NAMES)
def test_reductions_are_numpys(name: str) -> None:
    for a in (array_of(9), array_of((3, 40), "i4"), array_of((2, 300), "u1"), array_of((4, 5, 6))):
        x = on_device(a)
        axes = [None, 0, -1] if name.startswith("arg") else [None, 0, -1, *([(0, 2), (1, 2)] if a.ndim == 3 else [])]
        for axis in axes:
            for keepdims in (False, True):
                wanted = getattr(a, name)(axis=axis, keepdims=keepdims)
                found = getattr(x, name)(axis=axis, keepdims=keepdims)
                assert found.shape == wanted.shape
                assert found.dtype == wanted.dtype
                np.testing.assert_allclose(found.copy_to(), wanted, rtol=1e-5)


def test_long_reductions() -> None:
    """More elements than a block has, and more blocks than a group has work-items."""
    a = array_of(300_001)
    x = on_device(a)
    assert x.sum().item() == a.sum(dtype=np.float64)
    assert x.argmax().item() == a.argmax()
    assert (-x).argmax().item() == a.argmin()
    assert x[::-3].sum().item() == a[::-3].sum(dtype=np.float64)
    assert bool((x < 1000).all())
    a[123_456] = np.nan
    a[200_000] = np.nan
    x = on_device(a)
    assert np.isnan(x.max().item())
    assert x.argmin().item() == 123_456


@pytest.mark.parametrize("name", ["argmin", "argmax"])
def test_the_first_of_equal_extremes_is_found(name: str) -> None:
    """In whichever block, work-item or row it is: long arrays, rows of a group each, columns."""
    extreme = 60 if name == "argmax" else -60
    a = array_of(3 * 4096 + 5, "i2")
    for first in (0, 1, 63, 64, 4095, 4096, 9000, a.size - 1):
        b = a.copy()
        b[first::97] = extreme
        assert getattr(on_device(b), name)().item() == first
    rows = array_of((3, 700))
    rows[0, [5, 600]] = rows[1, [699, 69, 133]] = extreme
    rows[2, [650, 300]] = np.nan
    for axis in (0, 1):
        np.testing.assert_array_equal(
            getattr(on_device(rows), name)(axis=axis).copy_to(), getattr(rows, name)(axis=axis)
        )


@pytest.mark.parametrize("name", ["sum", "min", "max", "argmax", "mean"])
def test_special_values(name: str) -> None:
    for dtype in ("f4", "i8", "f2"):
        a = samples(np.dtype(dtype))
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(getattr(on_device(a), name)().copy_to(), getattr(a, name)(), rtol=1e-3)


def test_no_elements() -> None:
    x = on_device(np.zeros((0, 3), np.float32))
    assert x.sum().item() == 0
    assert x.sum(axis=0).copy_to().tolist() == [0, 0, 0]
    assert x.all().item() is True
    for name in ("min", "mean", "argmax"):
        with pytest.raises(az.InvalidArgument, match="of no elements"):
            getattr(x, name)()
    with pytest.raises(az.InvalidArgument, match="axis 2 is out of range: there are 2"):
        x.sum(axis=2)


def test_numpys_functions_call_the_methods() -> None:
    x = on_device(array_of((3, 4)))
    assert isinstance(np.sum(x), az.Buffer)
    np.testing.assert_array_equal(np.max(x, axis=0).copy_to(), array_of((3, 4)).max(axis=0))


def test_dot() -> None:
    a = array_of(1000)
    assert on_device(a).dot(on_device(a)).item() == a @ a
    with pytest.raises(az.InvalidArgument, match="dot takes two arrays with one axis"):
        on_device(array_of((2, 2))).dot(on_device(array_of((2, 2))))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 5000), st.sampled_from(["f8", "i4"]), st.booleans())
def test_scans_are_numpys(n: int, dtype: str, exclusive: bool) -> None:
    a = array_of(n, dtype)
    wanted = a.cumsum(dtype=dtype)
    if exclusive:
        wanted = np.concatenate([np.zeros(min(n, 1), dtype), wanted[:-1]])
    np.testing.assert_array_equal(az.scan(on_device(a), exclusive=exclusive).copy_to(), wanted)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_sums_along_an_axis_are_numpys(axis: int) -> None:
    a = array_of((3, 4, 5), "i4")
    for taken in (a, a[:0], a[:, ::2]):
        found = np.cumsum(on_device(taken), axis=axis)
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found.copy_to(), np.cumsum(taken, axis=axis))
    with pytest.raises(az.InvalidArgument, match="axis"):
        on_device(a).cumsum(3)


def test_scans_of_other_combinations() -> None:
    a = array_of(3000, "i4")
    np.testing.assert_array_equal(az.scan(on_device(a), "max(a, b)", neutral=-1000).copy_to(), np.maximum.accumulate(a))
    np.testing.assert_array_equal(on_device(array_of((2, 3), "u1")).cumsum().copy_to().dtype, np.uint64)
    with pytest.raises(az.KernelError) as caught:
        az.scan(on_device(a), "a / b")
    assert str(caught.value).splitlines()[1:] == ["    a / b", "    ^^^^^"]
    with pytest.raises(az.InvalidArgument, match="does not name both"):
        az.scan(on_device(a), "a + 1")


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 300), st.sampled_from(["f4", "i2"]), st.booleans(), st.integers(0, 5))
def test_sorts_are_stable(n: int, dtype: str, descending: bool, seed: int) -> None:
    a = np.random.default_rng(seed).integers(-5, 5, n).astype(dtype)
    if n and dtype == "f4":
        a[n // 2] = np.nan
        a[n // 3] = -np.inf
    order = np.argsort(-a.astype("f8") if descending else a, kind="stable")
    keys, values = az.sort(on_device(a), on_device(np.arange(n)), descending=descending)
    np.testing.assert_array_equal(values.copy_to(), order)
    np.testing.assert_array_equal(keys.copy_to(), a[order])
    np.testing.assert_array_equal(az.argsort(on_device(a), descending=descending).copy_to(), order)


@pytest.mark.parametrize("dtype", ["u1", "i8", "f8", "?"])
def test_sorts_of_every_width(dtype: str) -> None:
    a = np.random.default_rng(1).integers(-100, 100, 70_000).astype(dtype)
    np.testing.assert_array_equal(az.sort(on_device(a)).copy_to(), np.sort(a))


def test_mistakes_of_sorts() -> None:
    with pytest.raises(az.InvalidArgument, match="takes one axis"):
        az.sort(on_device(np.zeros((2, 2))))
    with pytest.raises(az.InvalidArgument, match="keys have shape"):
        az.sort(on_device(np.zeros(2)), on_device(np.zeros(3)))
    with pytest.raises(TypeError, match=r"Context\.to_device"):
        az.sort(np.zeros(2))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"Context\.to_device"):
        az.scan(np.zeros(2))  # type: ignore[arg-type]
