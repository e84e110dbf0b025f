"""Slices, views, masks and assignment against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import anyzero as az
from tests.arrays.running import context, on_device

SHAPE = (4, 5, 6)
INDICES = arrays.basic_indices(SHAPE, allow_newaxis=True, allow_ellipsis=True)


def filled(shape: Any = SHAPE, dtype: Any = np.int32) -> Any:
    return np.arange(int(np.prod(shape)), dtype=dtype).reshape(shape)


@settings(max_examples=40, deadline=None)
@given(INDICES)
def test_slices_are_numpys(index: Any) -> None:
    a = filled()
    x = on_device(a)
    found, wanted = x[index], a[index]
    assert found.shape == wanted.shape
    assert found.strides == wanted.strides or 0 in wanted.shape or 1 in wanted.shape
    np.testing.assert_array_equal(found.copy_to(), wanted)


@settings(max_examples=25, deadline=None)
@given(INDICES, st.booleans())
def test_assignments_are_numpys(index: Any, scalar: bool) -> None:
    a = filled()
    x = on_device(a)
    value: Any = 7 if scalar else -filled()[index]
    x[index] = value if scalar else on_device(np.array(value))
    a[index] = value
    np.testing.assert_array_equal(x.copy_to(), a)


def test_a_slice_is_a_view() -> None:
    a = filled()
    x = on_device(a)
    part = x[1, ::-2, 1:]
    part += 100
    a[1, ::-2, 1:] += 100
    np.testing.assert_array_equal(x.copy_to(), a)
    part[:] = 0
    x.T[0] = 5
    a[1, ::-2, 1:] = 0
    a.T[0] = 5
    np.testing.assert_array_equal(x.copy_to(), a)
    assert isinstance(x[1:3], az.Buffer)
    assert not isinstance(x[1:3], az.View)
    assert isinstance(x[:, 1], az.View)
    assert isinstance(x[2, 3, 4], az.Buffer)
    assert x[2, 3, 4].item() == a[2, 3, 4]
    assert int(x[-1, -1, -1]) == a[-1, -1, -1]


def test_overlapping_assignments_read_before_they_write() -> None:
    a = filled(10)
    for target, source in ((np.s_[1:], np.s_[:-1]), (np.s_[:-1], np.s_[1:]), (np.s_[:], np.s_[::-1])):
        x, copy = on_device(a), a.copy()
        x[target] = x[source] * 2
        copy[target] = (copy[source] * 2).copy()
        np.testing.assert_array_equal(x.copy_to(), copy)


def test_more_axes_than_a_grid_has() -> None:
    a = filled((2, 3, 2, 3, 2))
    x = on_device(a)
    np.testing.assert_array_equal(x.T.copy().copy_to(), a.T)
    np.testing.assert_array_equal((x[..., ::-1] + x.T.T).copy_to(), a[..., ::-1] + a)


def test_masks() -> None:
    a = filled((30, 40), np.float32)
    x = on_device(a)
    np.testing.assert_array_equal(x[x % 3 == 1].copy_to(), a[a % 3 == 1])
    assert x[x < 0].shape == (0,)
    np.testing.assert_array_equal(x.T[x.T > 600].copy_to(), a.T[a.T > 600])
    x[x > 1000] = -1
    x[x < 10] *= 2
    x.T[x.T > 500] = x.T[x.T > 500] + 1
    a[a > 1000] = -1
    a[a < 10] *= 2
    a.T[a.T > 500] = a.T[a.T > 500] + 1
    np.testing.assert_array_equal(x.copy_to(), a)
    with pytest.raises(az.InvalidArgument, match=r"a mask of shape \(3,\) for an array of shape \(30, 40\)"):
        x[on_device(np.ones(3, bool))]
    with pytest.raises(az.InvalidArgument, match=r"takes a number or \d+ elements, as many"):
        x[x > 5] = on_device(np.zeros(3, np.float32))


def test_lists_and_arrays_are_assigned() -> None:
    x = context().zeros((2, 3), np.float32)
    x[0] = [1, 2, 3]
    x[1, ::-1] = np.array([4, 5, 6], np.float32)
    np.testing.assert_array_equal(x.copy_to(), [[1, 2, 3], [6, 5, 4]])


def test_views_are_buffers() -> None:
    x = context().to_device(filled((4, 4)), kind="shared")
    view = x[::2, ::-1]
    np.testing.assert_array_equal(np.asarray(view), filled((4, 4))[::2, ::-1])
    np.asarray(view)[0, 0] = 99
    assert x[0, 3].item() == 99
    view.fill(3)
    view.copy_from(view.copy() + 1)
    assert view.sum().item() == 32
    assert view.reshape(-1).shape == (8,)
    np.testing.assert_array_equal(np.from_dlpack(view), np.full((2, 4), 4))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"use copy_to\(\)"):
        np.asarray(on_device(filled((4, 4)))[::2, 1])
    saxpy = az.elementwise("y = 2 * x")
    saxpy(view, view)
    assert view.sum().item() == 64


@st.composite
def gathers(draw: st.DrawFn) -> tuple[Any, ...]:
    """Arrays of indices, or numbers, on neighbouring axes; at least one array."""
    first = draw(st.integers(0, 2))
    last = draw(st.integers(first + 1, 3))
    common = draw(arrays.array_shapes(min_dims=0, max_dims=2, max_side=4))
    shapes = draw(st.lists(arrays.broadcastable_shapes(common), min_size=last - first, max_size=last - first))
    of_axes = zip(SHAPE[first:last], shapes, strict=True)
    chosen = [draw(arrays.arrays(np.int64, shape, elements=st.integers(-n, n - 1))) for n, shape in of_axes]
    rest: tuple[Any, ...] = draw(st.sampled_from([(), (Ellipsis,), (slice(None),) * (3 - last)]))
    return (*(slice(None),) * first, *chosen, *rest)


@settings(max_examples=40, deadline=None)
@given(gathers(), st.booleans())
def test_arrays_of_indices_are_numpys(index: tuple[Any, ...], on_the_device: bool) -> None:
    a = filled()
    places = tuple(on_device(each) if on_the_device and isinstance(each, np.ndarray) else each for each in index)
    found, wanted = on_device(a)[places], a[index]
    assert found.shape == wanted.shape
    np.testing.assert_array_equal(found.copy_to(), wanted)


def test_elements_are_gathered_from_views_and_by_lists() -> None:
    a = filled()
    x = on_device(a)
    np.testing.assert_array_equal(x[[2, -1]].copy_to(), a[[2, -1]])
    np.testing.assert_array_equal(
        x[::2, :, ::-1][:, np.array([4, 0], np.uint8), 1].copy_to(), a[::2, :, ::-1][:, [4, 0], 1]
    )
    np.testing.assert_array_equal(np.take(x, [[7], [-2]]).copy_to(), np.take(a, [[7], [-2]]))
    np.testing.assert_array_equal(np.take(x, 3, axis=-1).copy_to(), np.take(a, 3, axis=-1))
    assert x[np.zeros(0, int)].shape == (0, 5, 6)
    with pytest.raises(IndexError, match="index -6 is out of range: axis 1 has 5"):
        x[:, on_device(np.array([0, -6]))]
    with pytest.raises(az.InvalidArgument, match="neighbouring axes"):
        x[np.array([0]), :, np.array([0])]


def test_mistakes_are_told() -> None:
    x = on_device(filled())

    @az.kernel
    def zero(y: az.ptr[az.i32]) -> None:
        y[az.global_id(0)] = 0

    with pytest.raises(az.InvalidArgument, match="is not contiguous"):
        zero[2](x[::2, 0, 0])
    with pytest.raises(IndexError, match="index 9 is out of range: axis 1 has 5"):
        x[0, 9]
    with pytest.raises(IndexError, match="4 indices for an array of shape"):
        x[0, 0, 0, 0]
    with pytest.raises(az.InvalidArgument, match="an index here cannot be ndarray of float64") as caught:
        x[np.array([1.0, 2.0])]
    assert "dpnp" in str(caught.value)
    with pytest.raises(az.InvalidArgument, match="an index here cannot be ndarray of int64"):
        x[np.array([1, 2])] = 0
    with pytest.raises(TypeError, match="an index is an integer, a slice"):
        x["name"]
    with pytest.raises(az.InvalidArgument, match=r"1\.5 is not converted to int32 implicitly"):
        x[0] = 1.5
    with pytest.raises(az.InvalidArgument, match=r"do not fit together|does not fit shape"):
        x[0] = on_device(np.zeros(7, np.int32))
    with pytest.raises(az.InvalidArgument, match="300 does not fit int8"):
        on_device(np.zeros(3, np.int8))[:] = 300
    view = x[::2, ::2]
    x.close()
    with pytest.raises(az.ClosedError):
        x[::2]
    assert view.sum().item() == filled()[::2, ::2].sum()
    view.close()
    assert view.closed
    with pytest.raises(az.ClosedError):
        view + 1
