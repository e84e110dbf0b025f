"""Arguments of array functions: numbers with their types, and the context that all arrays share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from anyzero import errors

if TYPE_CHECKING:
    from anyzero.api.buffer import Buffer
    from anyzero.api.context import Context

__all__ = ["fitted", "number_type", "one_context"]

_CONVERT: Final[dict[str, Any]] = {"b": bool, "i": int, "u": int, "f": float}


def one_context(arrays: Iterable[Buffer], what: str) -> Context:
    """The context of all arrays."""
    found: Context | None = None
    for each in arrays:
        if found is None:
            found = each.context
        elif each.context is not found:
            raise errors.InvalidArgument(
                f"{what} has buffers of different contexts",
                remedy="Copy one of them over: context.to_device(buffer.copy_to()).",
            )
    assert found is not None
    return found


def fitted(value: Any, dtype: np.dtype[Any]) -> Any:
    """A number of Python's in a type, refused where it does not fit.

    >>> from anyzero.arrays.arguments import fitted
    >>> fitted(300, np.dtype(np.uint8))
    Traceback (most recent call last):
    anyzero.errors.InvalidArgument: 300 does not fit uint8
    ...
    """
    number = _CONVERT[dtype.kind](value)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if not limits.min <= number <= limits.max:
            raise errors.InvalidArgument(
                f"{number} does not fit {dtype}", remedy="Convert the array with astype(), or pass a numpy scalar."
            )
    return number


def number_type(name: str, value: Any, dtypes: Sequence[np.dtype[Any]]) -> tuple[np.dtype[Any], Any]:
    """The type of a number beside arrays of these types, and the number as a launch takes it.

    A number of numpy's has its own type. One of Python's takes the widest type of its kind among the arrays.
    """
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and not value.shape):
        return value.dtype, value.item()
    if isinstance(value, bool):
        return np.dtype(bool), value
    if isinstance(value, int):
        alike = [each for each in dtypes if each.kind in "iu"]
        found = np.result_type(*alike) if alike else np.dtype(np.int32)
        if found.kind not in "iu" or not np.iinfo(found).min <= value <= np.iinfo(found).max:
            found = np.dtype(np.int64)
        return found, value
    if isinstance(value, float):
        alike = [each for each in dtypes if each.kind == "f"]
        return (np.result_type(*alike) if alike else np.dtype(np.float32)), value
    raise errors.InvalidArgument(
        f"{name} cannot be {value!r}", remedy="Pass a Buffer or a number; Context.to_device() copies an array."
    )
