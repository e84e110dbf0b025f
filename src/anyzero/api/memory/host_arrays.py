"""Arrays of the program as operands of commands, beside buffers."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from anyzero import errors

if TYPE_CHECKING:
    from anyzero.api.image import ImageRegion


class HostArray:
    """An array of the program's own, seen as commands see memory. The list that uses it holds it until it is done."""

    __slots__ = ("allocation", "context", "dtype", "nbytes", "pointer", "shape")

    def __init__(self, array: npt.ArrayLike, *, writable: bool = False) -> None:
        values = np.asarray(array)
        if not values.flags.c_contiguous:
            raise errors.InvalidArgument(
                f"the array of shape {values.shape} is not contiguous", remedy="Pass np.ascontiguousarray(array)."
            )
        if writable and (values is not array or not values.flags.writeable):
            raise errors.InvalidArgument(
                "the destination is not a writable numpy array", remedy="Pass an array, or a Buffer."
            )
        self.allocation = values
        self.context = None
        self.dtype = values.dtype
        self.shape = values.shape
        self.nbytes = values.nbytes
        self.pointer: int = values.__array_interface__["data"][0]


def require_alike(target: Any, source: Any) -> None:
    """Raise InvalidArgument unless both have the same shape and dtype."""
    if target.shape != source.shape or target.dtype != source.dtype:
        raise errors.InvalidArgument(
            f"cannot copy shape {source.shape} of {source.dtype} to shape {target.shape} of {target.dtype}",
            remedy="Change one side with astype(), reshape() or a slice.",
        )


def fill_pattern(value: Any, dtype: np.dtype[Any]) -> bytes:
    """The bytes that a fill repeats."""
    if isinstance(value, bytes):
        return value
    try:
        pattern = np.asarray(value, dtype=dtype)
    except OverflowError as error:
        raise errors.InvalidArgument(f"{value!r} does not fit {dtype}: {error}") from None
    if pattern.shape:
        raise errors.InvalidArgument(f"a fill takes one value, not an array of shape {pattern.shape}")
    return pattern.tobytes()


def require_pixels(region: ImageRegion, memory: Any) -> None:
    """The array beside the image must have the pixels' shape and dtype; bytes must be as many."""
    pixel = region.image.format.pixel
    if pixel is None:
        # Video layouts share chroma between pixels; only the driver knows how many bytes that makes.
        if memory.dtype.itemsize != 1:
            raise errors.InvalidArgument(
                f"pixels of layout {region.image.format.layout} are copied from and to bytes, not {memory.dtype}"
            )
        return
    needed = prod(region.array_shape) * pixel[0].itemsize
    alike = memory.dtype == pixel[0] and memory.shape == region.array_shape
    if not alike and not (memory.dtype == np.uint8 and memory.nbytes == needed):
        raise errors.InvalidArgument(
            f"shape {memory.shape} of {memory.dtype} does not fit pixels of shape {region.array_shape} of {pixel[0]}"
        )
