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


def _places(mask: Buffer) -> tuple[Buffer, Buffer, int]:
    """A mask in memory, the number of elements that it chooses up to each, and of all."""
    chosen = evaluated(array_of(mask))
    places = scan(chosen.reshape(-1), dtype=np.dtype(np.int64))
    return chosen, places, int(places[chosen.size - 1].copy_to()) if chosen.size else 0


def compressed(buffer: Buffer, mask: Buffer) -> Buffer:
    """The elements where a mask holds, in order."""
    _require_shape(buffer, mask)
    values = evaluated(array_of(buffer))
    chosen, places, count = _places(mask)
    out = buffer.context.buffer(count, buffer.dtype, device=buffer.device)
    if count:
        _kernel("compress", "out[places[i] - 1] = x[i]", buffer.dtype)[values.size](out, values, chosen, places)
    return out


def _kernel(name: str, statement: str, dtype: np.dtype[Any]) -> Kernel:
    found = _kernels.get((name, dtype.char))
    if found is None:
        element = type_name(dtype)
        text = f"""
def {name}(out: az.ptr[{element}], x: az.ptr[{element}], mask: az.ptr[bool], places: az.ptr[az.i64]):
    i = az.global_id(0)
    if mask[i]:
        {statement}
"""
        found = _kernels[name, dtype.char] = kernel_of(name, text)
    return found


def assign_masked(buffer: Buffer, mask: Buffer, node: Any) -> None:
    """``x[mask] = value``, with a number, or as many elements as the mask chooses."""
    _require_shape(buffer, mask)
    target = array_of(buffer.value if isinstance(buffer, Deferred) else buffer)
    if node.shape == ():
        store(expression.where(array_of(mask), expression.converted(node, buffer.dtype), target), target)
        return
    chosen, places, count = _places(mask)
    if node.shape != (count,):
        raise errors.InvalidArgument(
            f"x[mask] = value takes a number or {count} elements, as many as the mask chooses; not shape {node.shape}",
            remedy="az.where(mask, values, x) chooses between whole arrays.",
        )
    values, result = evaluated(expression.converted(node, buffer.dtype)), evaluated(target)
    if count:
        _kernel("expand", "out[i] = x[places[i] - 1]", buffer.dtype)[result.size](result, values, chosen, places)
        store(array_of(result), target)
