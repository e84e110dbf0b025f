"""Shapes, sizes and places as the C API can take them; ctypes truncates numbers that are too large."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from math import prod
from typing import Any

import numpy as np

from anyzero import errors


def extents_of(shape: int | Iterable[int]) -> tuple[int, ...]:
    """A shape as a tuple; raise InvalidArgument for negative extents."""
    given: Any = (shape,) if isinstance(shape, int | np.integer) else shape
    extents = tuple(operator.index(extent) for extent in given)
    if any(extent < 0 for extent in extents):
        raise errors.InvalidArgument(f"a shape cannot have negative extents: {extents}")
    return extents


def bytes_of(extents: tuple[int, ...], element: np.dtype[Any]) -> int:
    """The size of an array, however large."""
    return prod(extents) * element.itemsize


def size_within(number: int, bits: int, what: str) -> int:
    """The size itself; raise InvalidArgument for a negative one, UnsupportedSize for one of more bits."""
    return _within(number, bits, what, errors.UnsupportedSize)


def place_within(number: int, bits: int, what: str) -> int:
    """The place (an index, an address, an offset) itself; raise InvalidArgument for one that cannot be."""
    return _within(number, bits, what, errors.InvalidArgument)


def _within(number: int, bits: int, what: str, too_large: type[errors.Error]) -> int:
    value = operator.index(number)
    if value < 0:
        raise errors.InvalidArgument(f"{what} is {value}; it cannot be negative")
    if value >> bits:
        raise too_large(f"{what} is {value}; no device takes {1 << bits} or more")
    return value


def place_of(index: Any, size: int, rule: str) -> int:
    """An index below `size`, counted from the end when negative; `rule` describes valid indices, for the error."""
    try:
        at = operator.index(index)
    except TypeError:
        raise TypeError(f"{rule}, not {index!r}") from None
    if not -size <= at < size:
        raise IndexError(f"index {at} is out of range: there are {size}")
    return at + size if at < 0 else at
