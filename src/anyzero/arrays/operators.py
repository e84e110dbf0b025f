"""Operators and methods of buffers; `anyzero.api` finds this module by its name."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from anyzero import errors
from anyzero.api.buffer import Buffer
from anyzero.arrays import expression, locations, reductions
from anyzero.arrays.consumer import goes_on
from anyzero.arrays.expression import Array, Number
from anyzero.arrays.fused import evaluated, require_elements, store
from anyzero.arrays.gather import gathered, is_gather
from anyzero.arrays.indexing import is_mask, located_at
from anyzero.arrays.layout import broadcast
from anyzero.arrays.masks import assign_masked, compressed
from anyzero.arrays.operations import NAMES, canonical
from anyzero.arrays.view import Deferred, array_of, part

__all__ = [
    *("assign", "astype", "binary", "clip", "copy", "cumsum", "dot", "in_place", "indexed", "located", "only"),
    *("reduced", "transposed", "ufunc", "unary", "where"),
]


def node_of(value: Any) -> Any:
    """An operand: a buffer or a number; None for anything else."""
    if isinstance(value, Buffer):
        require_elements(value.dtype)
        return array_of(value)
    if isinstance(value, bool):
        return Number(value, np.dtype(bool))
    if isinstance(value, int | float) and not isinstance(value, np.generic):
        return Number(value)
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and not value.shape):
        require_elements(value.dtype)
        return Number(value.item(), value.dtype)
    if isinstance(value, np.ndarray):
        raise TypeError(
            f"operators do not mix numpy arrays and Buffers: Context.to_device() copies the array of shape "
            f"{value.shape} to the device, Buffer.copy_to() the buffer to the host"
        )
    return None


def _result(node: Any, values: tuple[Any, ...], depth: int) -> Buffer:
    """The value of an operator, computed now unless it is an operand of another operator in the same expression."""
    if goes_on(sys._getframe(depth + 1)):  # noqa: SLF001 (the documented way to a caller's frame)
        first = next(each for each in values if isinstance(each, Buffer))
        return Deferred(node, first)
    return evaluated(node)


def binary(name: str, a: Any, b: Any) -> Any:
    """`a + b` and similar."""
    first, second = node_of(a), node_of(b)
    if first is None or second is None:
        return NotImplemented
    return _result(expression.operation(name, (first, second)), (a, b), 2)


def unary(name: str, a: Any) -> Any:
    """`-a` and similar."""
    return _result(expression.operation(name, (node_of(a),)), (a,), 2)


def in_place(name: str, a: Buffer, b: Any) -> Any:
    """`a += b` and similar: the same memory, so the result is of its type."""
    second = node_of(b)
    if second is None:
        return NotImplemented
    node = expression.operation(name, (array_of(a), second))
    _store(node, a, f"{name} in place")
    return a


def ufunc(function: Any, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A function of numpy's on buffers, as in ``np.sqrt(x)``."""
    name = canonical(function.__name__)
    out = options.pop("out", None)
    if method != "__call__" or options or name not in NAMES:
        call = f"np.{function.__name__}" + ("" if method == "__call__" else f".{method}")
        given = f" with {', '.join(options)}=" if options else ""
        raise TypeError(
            f"{call}{given} does not take a Buffer; copy_to() makes a numpy array of it, and dpnp has more functions"
        )
    nodes = tuple(node_of(each) for each in inputs)
    if any(each is None for each in nodes):
        return NotImplemented
    node = expression.operation(name, nodes)
    if out is not None:
        target = out[0]
        if not isinstance(target, Buffer):
            raise TypeError(f"out= of np.{function.__name__} must be a Buffer, like its operands")
        _store(node, target, f"np.{function.__name__}")
        return target
    return _result(node, inputs, 2)


def where(condition: Any, a: Any, b: Any) -> Any:
    """The elements of `a` where a condition holds, and of `b` elsewhere; all three are broadcast to one shape.

    >>> x = az.device().context().to_device([3, -1, 2])
    >>> az.where(x > 0, x, 0).copy_to()
    array([3, 0, 2])
    """
    nodes = [node_of(each) for each in (condition, a, b)]
    if not any(isinstance(each, Buffer) for each in (condition, a, b)) or None in nodes:
        raise TypeError("az.where takes buffers and numbers, a buffer among them")
    return evaluated(expression.where(*nodes))


def _store(node: Any, target: Buffer, what: str) -> None:
    """Compute into existing memory."""
    if isinstance(target, Deferred):
        target = target.value
    if not np.can_cast(node.dtype, target.dtype, "same_kind"):
        raise errors.InvalidArgument(
            f"{what}: {node.dtype} is not converted to {target.dtype} implicitly",
            remedy=f"Convert it explicitly: astype(np.{target.dtype}).",
        )
    if node.shape != target.shape and broadcast((("", node.shape), ("", target.shape))) != target.shape:
        raise errors.InvalidArgument(f"{what}: shape {node.shape} does not fit shape {target.shape}")
    store(node, array_of(target))


# Parts


def indexed(buffer: Buffer, index: Any) -> Buffer:
    """The elements at an index: a view, or for a mask or arrays of integers a new buffer."""
    if is_mask(index):
        return compressed(buffer, index)
    if is_gather(index):
        return gathered(buffer, index)
    return located_at(_memory(buffer), index)


def assign(buffer: Buffer, index: Any, value: Any) -> None:
    """``x[index] = value``: a number, or an array that is broadcast to the elements there."""
    node = None if isinstance(value, np.ndarray) and value.shape else node_of(value)
    if node is None:
        values = np.asarray(value)
        node = array_of(
            buffer.context.to_device(values.astype(buffer.dtype, casting="same_kind"), device=buffer.device)
        )
    if isinstance(node, Number):
        kind = np.dtype(type(node.value)) if node.dtype is None else node.dtype
        if kind.kind == "f" and buffer.dtype.kind in "iub":
            raise errors.InvalidArgument(
                f"{node.value} is not converted to {buffer.dtype} implicitly", remedy="Assign int(value)."
            )
        node = expression.converted(node, buffer.dtype)
    if is_mask(index):
        assign_masked(buffer, index, node)
        return
    _store(node, located_at(_memory(buffer), index), "assignment")


def _memory(buffer: Buffer) -> Array:
    found = array_of(buffer.value if isinstance(buffer, Deferred) else buffer)
    assert isinstance(found, Array)
    return found


def transposed(buffer: Buffer) -> Buffer:
    """The axes in reverse order."""
    of = _memory(buffer)
    return part(of, of.shape[::-1], of.strides[::-1], 0)


def copy(buffer: Buffer) -> Buffer:
    """A new buffer with the same elements."""
    return evaluated(array_of(buffer))


def astype(buffer: Buffer, dtype: npt.DTypeLike) -> Buffer:
    """A new buffer of another type."""
    wanted: np.dtype[Any] = np.dtype(dtype)
    require_elements(wanted)
    return evaluated(expression.converted(node_of(buffer), wanted))


def clip(buffer: Buffer, low: Any, high: Any) -> Buffer:
    """Elements between two limits."""
    node = node_of(buffer)
    if low is not None:
        node = expression.operation("maximum", (node, node_of(low)))
    if high is not None:
        node = expression.operation("minimum", (node, node_of(high)))
    return evaluated(node)


def only(buffer: Buffer, what: str) -> Any:
    """The only element of a buffer."""
    if buffer.size != 1:
        hint = "; use any() or all()" if what == "bool" else ""
        raise ValueError(f"{what} takes one element, and the buffer has {buffer.size}{hint}")
    return buffer.copy_to().reshape(()).item()


# Reductions


def reduced(name: str, buffer: Buffer, axis: Any, dtype: npt.DTypeLike | None, keepdims: bool) -> Buffer:
    """`x.sum()` and similar."""
    return reductions.reduced(name, node_of(buffer), axis, dtype, keepdims=keepdims)


def located(name: str, buffer: Buffer, axis: int | None, keepdims: bool) -> Buffer:
    """`x.argmin()` and `x.argmax()`."""
    return locations.located(name, node_of(buffer), axis, keepdims=keepdims)


def dot(a: Buffer, b: Any) -> Buffer:
    """The scalar product."""
    second = node_of(b)
    if second is None or a.ndim != 1 or second.shape != a.shape:
        other = getattr(b, "shape", b)
        raise errors.InvalidArgument(
            f"dot takes two arrays with one axis of the same length, not {a.shape} and {other}",
            remedy="dpnp has products of matrices.",
        )
    return reductions.reduced("sum", expression.operation("multiply", (node_of(a), second)), None, None, keepdims=False)


def cumsum(buffer: Buffer, axis: int | None, dtype: npt.DTypeLike | None) -> Buffer:
    """The sums up to each element."""
    from anyzero.arrays.scan import scan, sums_along

    wanted = reductions.sum_type(buffer.dtype) if dtype is None else np.dtype(dtype)
    if axis is None:
        return scan(buffer, dtype=wanted)
    (at,) = reductions.axes_of(axis, buffer.ndim)
    return scan(buffer, dtype=wanted) if buffer.ndim == 1 else sums_along(buffer, at, wanted)
