"""Arrays of bools as indices."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from anyzero import errors
from anyzero.api.buffer import Buffer
from anyzero.arrays import expression
from anyzero.arrays.fused import evaluated, store
from anyzero.arrays.scan import scan
from anyzero.arrays.text import kernel_of, type_name
from anyzero.arrays.view import Deferred, array_of
from anyzero.language.kernel import Kernel

__all__ = ["assign_masked", "compressed"]

_kernels: Final[dict[Any, Kernel]] = {}


def _require_shape(buffer: Buffer, mask: Buffer) -> None:
    if mask.shape != buffer.shape:
        raise errors.InvalidArgument(
            f"a mask of shape {mask.shape} for an array of shape {buffer.shape}",
            remedy="A mask has the shape of the array; dpnp has masks of the first axes.",
        )


def compressed(buffer: Buffer, mask: Buffer) -> Buffer:
    """The elements where a mask holds, in order."""
    _require_shape(buffer, mask)
    values, chosen = evaluated(array_of(buffer)), evaluated(array_of(mask))
    size = values.size
    if not size:
        return values.reshape(-1)
    places = scan(chosen.reshape(-1), dtype=np.dtype(np.int64))
    count = int(places[size - 1].copy_to())
    out = buffer.context.buffer(count, buffer.dtype, device=buffer.device)
    if count:
        _kernel(buffer.dtype)[size](out, values, chosen, places)
    return out


def _kernel(dtype: np.dtype[Any]) -> Kernel:
    found = _kernels.get(dtype.char)
    if found is None:
        element = type_name(dtype)
        text = f"""
def compress(out: az.ptr[{element}], x: az.ptr[{element}], mask: az.ptr[bool], places: az.ptr[az.i64]):
    i = az.global_id(0)
    if mask[i]:
        out[places[i] - 1] = x[i]
"""
        found = _kernels[dtype.char] = kernel_of("compress", text)
    return found


def assign_masked(buffer: Buffer, mask: Buffer, node: Any) -> None:
    """``x[mask] = value``, with a number or an array of the shape of `x`."""
    _require_shape(buffer, mask)
    if node.shape not in ((), buffer.shape):
        raise errors.InvalidArgument(
            f"x[mask] = value takes a number or an array of shape {buffer.shape}, not {node.shape}",
            remedy="az.where(mask, values, x) chooses element by element; dpnp has numpy's other ways.",
        )
    target = array_of(buffer.value if isinstance(buffer, Deferred) else buffer)
    store(expression.where(array_of(mask), expression.converted(node, buffer.dtype), target), target)
