"""Expressions of operators: arrays, numbers, and operations on them, with the shapes and types of their results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anyzero import errors
from anyzero.arrays.arguments import fitted
from anyzero.arrays.layout import Strides, broadcast
from anyzero.arrays.operations import canonical, resolved

if TYPE_CHECKING:
    from anyzero.api.buffer import Buffer

__all__ = ["Array", "Node", "Number", "Operation", "converted", "operation", "where"]


class Array:
    """An operand in memory: a buffer that begins at its first element, and strides."""

    __slots__ = ("buffer", "dtype", "shape", "strides")

    def __init__(self, buffer: Buffer, shape: tuple[int, ...], strides: Strides) -> None:
        self.buffer = buffer
        self.dtype = buffer.dtype
        self.shape = shape
        self.strides = strides


class Number:
    """An operand that is an argument of the kernel. Before its operation gives it a type, a number has none."""

    __slots__ = ("dtype", "shape", "value")

    def __init__(self, value: Any, dtype: np.dtype[Any] | None = None) -> None:
        self.value = value
        self.dtype: Any = dtype
        self.shape: tuple[int, ...] = ()


class Operation:
    """An operation on operands that have the types it computes in."""

    __slots__ = ("dtype", "name", "operands", "shape")

    def __init__(self, name: str, operands: tuple[Any, ...], dtype: np.dtype[Any]) -> None:
        self.name = name
        self.operands = operands
        self.dtype = dtype
        first = operands[0].shape
        if all(each.shape == first for each in operands):
            self.shape: tuple[int, ...] = first
        else:
            self.shape = broadcast(("", each.shape) for each in operands if not isinstance(each, Number))


Node = Array | Number | Operation


def converted(node: Any, dtype: np.dtype[Any]) -> Any:
    """The same values in another type."""
    if node.dtype is not None and node.dtype == dtype:
        return node
    if isinstance(node, Number):
        return Number(fitted(node.value, dtype) if node.dtype is None else dtype.type(node.value).item(), dtype)
    return Operation("cast", (node,), dtype)


def operation(name: str, operands: tuple[Any, ...]) -> Any:
    """An operation of numpy's on nodes."""
    name = canonical(name)
    given = tuple(type(each.value) if each.dtype is None else each.dtype for each in operands)
    types = resolved(name, given)
    if name == "power" and isinstance(operands[1], Number):
        special = _power(operands[0], operands[1], types[-1])
        if special is not None:
            return special
    inputs = tuple(converted(node, dtype) for node, dtype in zip(operands, types, strict=False))
    return Operation(name, inputs, types[-1])


def _power(base: Any, exponent: Number, dtype: np.dtype[Any]) -> Any:
    """Powers that take no logarithm."""
    value = exponent.value
    if dtype.kind in "iu":
        if value < 0:
            raise errors.InvalidArgument(
                f"integers cannot be raised to the power {value}",
                remedy="Convert the array with astype(np.float32) first.",
            )
        return Operation(f"power:{int(value)}", (converted(base, dtype),), dtype) if value <= 8 else None
    if value in (2, 3, 4):
        return Operation(f"power:{int(value)}", (converted(base, dtype),), dtype)
    return Operation("sqrt", (converted(base, dtype),), dtype) if value == 0.5 else None


def where(condition: Any, a: Any, b: Any) -> Any:
    """The elements of `a` where a condition holds, of `b` elsewhere."""
    given = tuple(type(each.value) if each.dtype is None else each.dtype for each in (a, b))
    dtype = resolved("add", given)[-1] if given != (np.dtype(bool), np.dtype(bool)) else np.dtype(bool)
    test = converted(condition, np.dtype(bool)) if condition.dtype is not None else Number(bool(condition.value))
    if test.dtype is None:
        test.dtype = np.dtype(bool)
    return Operation("where", (test, converted(a, dtype), converted(b, dtype)), dtype)
