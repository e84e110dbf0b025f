"""`az.scan`: each element combined with all before it. Blocks are reduced first, then scanned from their prefixes."""

from __future__ import annotations

import ast
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from anyzero import errors
from anyzero.api.buffer import Buffer
from anyzero.arrays.arguments import fitted
from anyzero.arrays.fused import evaluated
from anyzero.arrays.text import kernel_of, parsed, place_within, type_name
from anyzero.arrays.view import View, array_of
from anyzero.language.errors import KernelError
from anyzero.language.kernel import Kernel

__all__ = ["scan", "sums_along"]

BLOCK: Final = 1 << 10
"""Elements that one work-item scans."""

_kernels: Final[dict[Any, tuple[Kernel, Kernel]]] = {}


def scan(
    x: Buffer,
    combine: str = "a + b",
    *,
    neutral: Any = 0,
    exclusive: bool = False,
    dtype: npt.DTypeLike | None = None,
) -> Buffer:
    """Each element combined with all before it, as `a` and `b`; without itself if `exclusive`.

    `combine` is associative, and `neutral` is the neutral element of `combine`. The result has the shape
    of `x`, whose elements count in order, and its type unless `dtype` is given.

    >>> x = az.device().context().to_device([3, 1, 4, 1, 5])
    >>> az.scan(x).copy_to()
    array([ 3,  4,  8,  9, 14])
    >>> az.scan(x, exclusive=True).copy_to()
    array([0, 3, 4, 8, 9])
    >>> az.scan(x, "max(a, b)", neutral=-100).copy_to()
    array([3, 3, 4, 4, 5])
    """
    if not isinstance(x, Buffer):
        raise TypeError("az.scan takes a Buffer; Context.to_device() copies an array to the device")
    wanted: np.dtype[Any] = x.dtype if dtype is None else np.dtype(dtype)
    values = evaluated(array_of(x)) if isinstance(x, View) else x
    out = x.context.buffer(x.shape, wanted, device=x.device)
    try:
        _scanned(values, out, combine, fitted(neutral, wanted), exclusive=exclusive)
    except KernelError as error:
        raise place_within(error, (combine,), "az.scan") from None
    return out


def sums_along(x: Buffer, axis: int, dtype: np.dtype[Any]) -> Buffer:
    """The sums up to each element along an axis: a work-item scans each row."""
    array: Any = x  # of numpy's functions, whose types know no buffers
    rows: Buffer = np.moveaxis(array, axis, -1).copy()
    out: Any = x.context.buffer(rows.shape, dtype, device=x.device)
    if out.size:
        length = rows.shape[-1]
        _, walk = _compiled(x.dtype, dtype, "a + b")
        nothing = x.context.full(out.size // length, 0, dtype, device=x.device)
        walk[nothing.size](out, rows, nothing, out.size, length, False)
    found: Buffer = np.moveaxis(out, -1, axis)
    return found


def _scanned(x: Buffer, out: Buffer, combine: str, neutral: Any, *, exclusive: bool) -> None:
    n = x.size
    if not n:
        return
    first, second = _compiled(x.dtype, out.dtype, combine)
    blocks = -(-n // BLOCK)
    before = out.context.buffer(blocks, out.dtype, device=out.device)
    if blocks == 1:
        before.fill(neutral)
    else:
        sums = out.context.buffer(blocks, out.dtype, device=out.device)
        first[blocks](sums, x, neutral, n, BLOCK)
        _scanned(sums, before, combine, neutral, exclusive=True)
    second[blocks](out, x, before, n, BLOCK, exclusive)


def _compiled(dtype: np.dtype[Any], wanted: np.dtype[Any], combine: str) -> tuple[Kernel, Kernel]:
    key = (dtype.char, wanted.char, combine)
    found = _kernels.get(key)
    if found is None:
        names = {each.id for each in ast.walk(parsed(combine, "az.scan", "eval")) if isinstance(each, ast.Name)}
        if not {"a", "b"} <= names:
            raise errors.InvalidArgument(f"az.scan combines a and b, as in 'a + b'; {combine!r} does not name both")
        source, target = type_name(dtype), type_name(wanted)
        text = f"""
@az.function
def combine(a, b):
    return {target}({combine})

def sums(out: az.ptr[{target}], x: az.ptr[{source}], neutral: {target}, n: az.i64, block: az.i64):
    own = az.global_id(0)
    found = neutral
    for i in range(own * block, min(own * block + block, n)):
        found = combine(found, {target}(x[i]))
    out[own] = found

def walk(out: az.ptr[{target}], x: az.ptr[{source}], before: az.ptr[{target}], n: az.i64, block: az.i64, late: bool):
    own = az.global_id(0)
    found = before[own]
    for i in range(own * block, min(own * block + block, n)):
        previous = found
        found = combine(found, {target}(x[i]))
        out[i] = previous if late else found
"""
        found = _kernels[key] = (kernel_of("sums", text), kernel_of("walk", text))
    return found
