"""Functions of numpy on buffers that make arrays or rearrange them; `anyzero.api` finds this module by its name.

The others work as they do without these: reductions call the methods of buffers, and functions that need the elements
on the host get those of host and shared memory, while device memory raises an error that it has to be copied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from anyzero import errors
from anyzero.api.buffer import Buffer
from anyzero.arrays import operators
from anyzero.arrays.arguments import one_context
from anyzero.arrays.layout import broadcast
from anyzero.arrays.view import array_of, part

__all__ = ["called"]

_Function = TypeVar("_Function", bound=Callable[..., Any])

_FUNCTIONS: Final[dict[Any, Callable[..., Any]]] = {}


def called(function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """``np.function(...)`` with a buffer among its arguments."""
    ours = _FUNCTIONS.get(function)
    if ours is not None:
        return ours(*args, **options)
    plain = getattr(function, "_implementation", None)
    if plain is not None:
        return plain(*args, **options)
    # A function written in C has no implementation that bypasses this protocol.
    return function(*map(_on_host, args), **{name: _on_host(value) for name, value in options.items()})


def _on_host(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(map(_on_host, value))
    return np.asarray(value) if isinstance(value, Buffer) else value


def _defines(function: Any) -> Callable[[_Function], _Function]:
    def add(ours: _Function) -> _Function:
        _FUNCTIONS[function] = ours
        return ours

    return add


def _buffers(arrays: Sequence[Any], name: str) -> list[Buffer]:
    for each in arrays:
        if not isinstance(each, Buffer):
            raise TypeError(
                f"np.{name} takes buffers or arrays of numpy, not both: Context.to_device() copies an array to the "
                "device, Buffer.copy_to() a buffer to the host"
            )
    found = list(arrays)
    one_context(found, f"np.{name}")
    return found


def _axis(axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise errors.InvalidArgument(f"axis {axis} is out of range for {ndim} axes")
    return axis % ndim


def _like(first: Buffer, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Buffer:
    return first.context.buffer(shape, dtype, kind=first.kind, device=first.device)


# Joining


@_defines(np.concatenate)
def _concatenate(arrays: Sequence[Any], axis: int | None = 0, out: None = None, *, dtype: Any = None) -> Buffer:
    parts = _buffers(list(arrays), "concatenate")
    if out is not None:
        raise TypeError("np.concatenate takes no out= with buffers")
    if axis is None:
        parts, axis = [each.reshape(-1) for each in parts], 0
    at = _axis(axis, parts[0].ndim)
    shapes = {each.shape[:at] + each.shape[at + 1 :] for each in parts}
    if len(shapes) > 1 or len({each.ndim for each in parts}) > 1:
        raise errors.InvalidArgument(f"shapes {[each.shape for each in parts]} do not join along axis {axis}")
    kind = np.result_type(*(each.dtype for each in parts)) if dtype is None else np.dtype(dtype)
    first = parts[0].shape
    made = _like(parts[0], (*first[:at], sum(each.shape[at] for each in parts), *first[at + 1 :]), kind)
    start = 0
    for each in parts:
        end = start + each.shape[at]
        if each.size:
            made[(slice(None),) * at + (slice(start, end),)] = each if each.dtype == kind else each.astype(kind)
        start = end
    return made


@_defines(np.stack)
def _stack(arrays: Sequence[Any], axis: int = 0, out: None = None, *, dtype: Any = None) -> Buffer:
    parts = _buffers(list(arrays), "stack")
    return _concatenate([_expand_dims(each, axis) for each in parts], axis, out, dtype=dtype)


@_defines(np.where)
def _where(condition: Any, *choices: Any) -> Any:
    if len(choices) != 2:
        raise TypeError("np.where of a buffer takes the values for both cases; x[mask] takes elements out")
    return operators.where(condition, *choices)


# Axes


@_defines(np.transpose)
def _transpose(a: Buffer, axes: Sequence[int] | None = None) -> Buffer:
    order = tuple(reversed(range(a.ndim))) if axes is None else tuple(_axis(each, a.ndim) for each in axes)
    if sorted(order) != list(range(a.ndim)):
        raise errors.InvalidArgument(f"axes {axes} are not those of an array with {a.ndim}")
    of = array_of(a[...] if type(a) is not Buffer else a)
    return part(of, tuple(of.shape[each] for each in order), tuple(of.strides[each] for each in order), 0)


@_defines(np.swapaxes)
def _swapaxes(a: Buffer, axis1: int, axis2: int) -> Buffer:
    order = list(range(a.ndim))
    first, second = _axis(axis1, a.ndim), _axis(axis2, a.ndim)
    order[first], order[second] = order[second], order[first]
    return _transpose(a, order)


@_defines(np.moveaxis)
def _moveaxis(a: Buffer, source: Any, destination: Any) -> Buffer:
    # numpy knows the rules; an array of no stride costs no memory.
    model = np.lib.stride_tricks.as_strided(np.empty(1), tuple(range(1, a.ndim + 1)), (0,) * a.ndim)
    return _transpose(a, [extent - 1 for extent in np.moveaxis(model, source, destination).shape])


@_defines(np.expand_dims)
def _expand_dims(a: Buffer, axis: Any) -> Buffer:
    model = np.lib.stride_tricks.as_strided(np.empty(1), a.shape, (0,) * a.ndim)
    return a.reshape(np.expand_dims(model, axis).shape)


@_defines(np.squeeze)
def _squeeze(a: Buffer, axis: Any = None) -> Buffer:
    model = np.lib.stride_tricks.as_strided(np.empty(1), a.shape, (0,) * a.ndim)
    return a.reshape(np.squeeze(model, axis).shape)


@_defines(np.reshape)
def _reshape(a: Buffer, shape: Any, order: str = "C", **_: Any) -> Buffer:
    if order not in ("C", "A"):
        raise TypeError(f"np.reshape of a buffer has order='C', not {order!r}")
    return a.reshape(shape)


@_defines(np.ravel)
def _ravel(a: Buffer, order: str = "C") -> Buffer:
    return _reshape(a, -1, order)


@_defines(np.broadcast_to)
def _broadcast_to(array: Buffer, shape: Any, subok: bool = False) -> Buffer:
    wanted = (shape,) if isinstance(shape, int) else tuple(shape)
    if broadcast((("array", array.shape), ("shape", wanted))) != wanted:
        raise errors.InvalidArgument(f"shape {array.shape} is not broadcast to {wanted}")
    made = _like(array, wanted, array.dtype)
    made[...] = array
    return made


@_defines(np.take)
def _take(a: Buffer, indices: Any, axis: int | None = None, out: None = None, mode: str = "raise") -> Buffer:
    if out is not None or mode != "raise":
        raise TypeError("np.take of a buffer takes neither out= nor mode=")
    places = indices if isinstance(indices, Buffer) else np.asarray(indices)
    return a.ravel()[places] if axis is None else a[(slice(None),) * _axis(axis, a.ndim) + (places,)]


@_defines(np.unravel_index)
def _unravel_index(indices: Buffer, shape: Any, order: Any = "C") -> Any:
    # Indices are few, and numpy's own functions go on with them.
    return np.unravel_index(indices.copy_to(), shape, order)


# New arrays


def _new(a: Buffer, dtype: Any, shape: Any) -> Buffer:
    if dtype is not None and np.dtype(dtype).names:
        # Dask asks so whether an array has fields, and uses a dict of arrays where it has none.
        raise TypeError("the fields of a buffer's elements cannot be accessed by name")
    extents = a.shape if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)
    return _like(a, extents, a.dtype if dtype is None else dtype)


@_defines(np.empty_like)
def _empty_like(
    prototype: Buffer, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None
) -> Buffer:
    return _new(prototype, dtype, shape)


@_defines(np.full_like)
def _full_like(
    a: Buffer, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None
) -> Buffer:
    made = _new(a, dtype, shape)
    made.fill(fill_value)
    return made


@_defines(np.zeros_like)
def _zeros_like(a: Buffer, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None) -> Buffer:
    return _full_like(a, 0, dtype, order, subok, shape)


@_defines(np.ones_like)
def _ones_like(a: Buffer, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None) -> Buffer:
    return _full_like(a, 1, dtype, order, subok, shape)


@_defines(np.clip)
def _clip(a: Buffer, a_min: Any = None, a_max: Any = None, out: None = None, **options: Any) -> Buffer:
    low, high = options.pop("min", a_min), options.pop("max", a_max)
    if out is not None or options:
        raise TypeError("np.clip of a buffer takes the two limits alone")
    return a.clip(low, high)
