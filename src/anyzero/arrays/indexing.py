"""Indices: integers, slices with any step, `...`, new axes, and arrays of bools."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from anyzero import errors
from anyzero.api.buffer import Buffer
from anyzero.arrays.expression import Array
from anyzero.arrays.layout import Strides
from anyzero.arrays.view import part

__all__ = ["is_mask", "located_at"]


def is_mask(index: Any) -> bool:
    """Whether an index is an array of bools."""
    return isinstance(index, Buffer) and index.dtype.kind == "b"


def located_at(of: Array, index: Any) -> Buffer:
    """The elements at an index of integers, slices, `...` and None, without a copy."""
    given = index if isinstance(index, tuple) else (index,)
    axes = sum(each is not None and each is not Ellipsis for each in given)
    if axes > len(of.shape):
        raise IndexError(f"{axes} indices for an array of shape {of.shape}")
    if sum(each is Ellipsis for each in given) > 1:
        raise IndexError("an index has one ... at most")
    if not any(each is Ellipsis for each in given):
        given = (*given, Ellipsis)
    shape: list[int] = []
    strides: list[int] = []
    offset, axis = 0, 0
    for each in given:
        if each is None:
            shape.append(1)
            strides.append(0)
        elif each is Ellipsis:
            rest = len(of.shape) - axes
            shape += of.shape[axis : axis + rest]
            strides += of.strides[axis : axis + rest]
            axis += rest
        elif isinstance(each, slice):
            start, stop, step = each.indices(of.shape[axis])
            length = len(range(start, stop, step))
            shape.append(length)
            strides.append(of.strides[axis] * step)
            offset += start * of.strides[axis] if length else 0
            axis += 1
        else:
            offset += _place(each, of.shape, axis) * of.strides[axis]
            axis += 1
    found: Strides = tuple(strides)
    return part(of, tuple(shape), found, offset)


def _place(index: Any, shape: tuple[int, ...], axis: int) -> int:
    if isinstance(index, Buffer | np.ndarray | list) and getattr(index, "shape", (1,)) != ():
        kind = getattr(index, "dtype", None) or np.asarray(index).dtype
        raise errors.InvalidArgument(
            f"an index here cannot be {type(index).__name__} of {kind}",
            remedy="Masks are buffers of bool. Arrays of integers are read (x[indices]), not assigned to: "
            "az.elementwise('x[k] = y') does that. dpnp has numpy's other indices.",
        )
    try:
        at = operator.index(index)
    except TypeError:
        raise TypeError(f"an index is an integer, a slice, ... or a mask, not {index!r}") from None
    size = shape[axis]
    if not -size <= at < size:
        raise IndexError(f"index {at} is out of range: axis {axis} has {size}")
    return at + size if at < 0 else at
