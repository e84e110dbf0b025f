"""Arrays of integers as indices: a new buffer with the elements that they name."""

from __future__ import annotations

from math import prod
from typing import Any, Final

import numpy as np

from anyzero import errors
from anyzero.api.buffer import Buffer
from anyzero.arrays import expression, reductions
from anyzero.arrays.expression import Number
from anyzero.arrays.fused import evaluated
from anyzero.arrays.text import kernel_of, type_name
from anyzero.arrays.view import array_of
from anyzero.language.kernel import Kernel

__all__ = ["gathered", "is_gather"]

_I64: Final[np.dtype[Any]] = np.dtype(np.int64)
_kernels: Final[dict[str, Kernel]] = {}


def _is_array(index: Any) -> bool:
    if isinstance(index, list):
        return np.asarray(index).dtype.kind in "iu"
    return isinstance(index, Buffer | np.ndarray) and index.dtype.kind in "iu"


def is_gather(index: Any) -> bool:
    """Whether an array of integers is an index, or one of several."""
    return any(map(_is_array, index)) if isinstance(index, tuple) else _is_array(index)


def gathered(buffer: Buffer, index: Any) -> Buffer:
    """The elements at arrays of indices: a new buffer with numpy's shape, for arrays on neighbouring axes.

    >>> from anyzero.arrays.gather import gathered
    >>> x = az.device().context().to_device(np.arange(12).reshape(3, 4))
    >>> gathered(x, (slice(None), np.array([3, 0]))).copy_to()
    array([[ 3,  0],
           [ 7,  4],
           [11,  8]])
    """
    first, arrays = _placed(index if isinstance(index, tuple) else (index,), buffer.shape)
    last = first + len(arrays)
    extents = buffer.shape[first:last]
    at = _flat(buffer, arrays, extents, first)
    inner = prod(buffer.shape[last:])
    shape = (*buffer.shape[:first], *at.shape, *buffer.shape[last:])
    out = buffer.context.buffer(shape, buffer.dtype, device=buffer.device)
    if out.size:
        values = evaluated(array_of(buffer))
        _kernel(buffer.dtype)[out.size](out, values, at, at.size, inner, prod(extents))
    return out


def _placed(index: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[int, list[Any]]:
    """The first axis with an array of indices, and the indices of the axes from there; the others are whole."""
    given = sum(each is not Ellipsis for each in index)
    if given > len(shape):
        raise IndexError(f"{given} indices for an array of shape {shape}")
    whole = (slice(None),) * (len(shape) - given)
    if sum(each is Ellipsis for each in index) == 1:
        at = next(place for place, each in enumerate(index) if each is Ellipsis)
        axes = [*index[:at], *whole, *index[at + 1 :]]
    else:
        axes = [*index, *whole]
    chosen = [place for place, each in enumerate(axes) if not (isinstance(each, slice) and each == slice(None))]
    first, last = chosen[0], chosen[-1] + 1
    arrays = axes[first:last]
    if not all(_is_array(each) or isinstance(each, int | np.integer) for each in arrays):
        raise errors.InvalidArgument(
            "arrays of indices stand on neighbouring axes, and the other axes are whole (:)",
            remedy="Take a part first: x[2:5][:, indices].",
        )
    return first, arrays


def _flat(buffer: Buffer, arrays: list[Any], extents: tuple[int, ...], first: int) -> Buffer:
    """The indices of several axes as one of their elements in order."""
    node: Any = None
    for axis, (each, extent) in enumerate(zip(arrays, extents, strict=True), first):
        part = _wrapped(buffer, each, extent, axis)
        node = part if node is None else _sum(expression.operation("multiply", (node, Number(extent))), part)
    return evaluated(node)


def _sum(a: Any, b: Any) -> Any:
    return expression.operation("add", (a, b))


def _wrapped(buffer: Buffer, index: Any, extent: int, axis: int) -> Any:
    """The indices of one axis, counted from its beginning."""
    if not isinstance(index, Buffer):
        index = buffer.context.to_device(np.asarray(index, _I64), device=buffer.device)
    node = expression.converted(array_of(index), _I64)
    if index.size:
        low, high = (int(reductions.reduced(name, node, None, None, keepdims=False).item()) for name in ("min", "max"))
        if low < -extent or high >= extent:
            wrong = low if low < -extent else high
            raise IndexError(f"index {wrong} is out of range: axis {axis} has {extent}")
        if low >= 0:
            return node
    return expression.where(expression.operation("less", (node, Number(0))), _sum(node, Number(extent)), node)


def _kernel(dtype: np.dtype[Any]) -> Kernel:
    found = _kernels.get(dtype.char)
    if found is None:
        element = type_name(dtype)
        text = f"""
def gather(
    out: az.ptr[{element}], x: az.ptr[{element}], at: az.ptr[az.i64], count: az.i64, inner: az.i64, extent: az.i64
):
    i = az.global_id(0)
    row, column = i // inner, i % inner
    out[i] = x[((row // count) * extent + at[row % count]) * inner + column]
"""
        found = _kernels[dtype.char] = kernel_of("gather", text)
    return found
