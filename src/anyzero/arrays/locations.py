"""Indices of extremes: each work-item of a group keeps a value with its index, and the group combines them."""

from __future__ import annotations

from math import prod
from typing import Any, Final

import numpy as np

from anyzero import errors
from anyzero.api.buffer import Buffer
from anyzero.arrays import expression
from anyzero.arrays.fused import made
from anyzero.arrays.reductions import BLOCK, GROUP, GROUPS, SHORT, axes_of, rows
from anyzero.arrays.text import kernel_of, type_name
from anyzero.language.kernel import Kernel

__all__ = ["located"]

_LONGEST: Final = (1 << 31) - GROUP
"""Elements of a block: work-items keep indices of 32 bits, of which vectors hold as many as of most values."""

_kernels: Final[dict[Any, Kernel]] = {}


def located(name: str, node: Any, axis: int | None, *, keepdims: bool) -> Buffer:
    """The index of the first least or greatest element, where the first NaN counts as both."""
    axes = axes_of(axis, len(node.shape))
    length = prod(node.shape[each] for each in axes)
    if not length:
        raise errors.InvalidArgument(f"{name} of no elements")
    if node.dtype.kind == "b":
        node = expression.converted(node, np.dtype(np.uint8))
    values = rows(node, axes)
    inner = prod(node.shape[axes[-1] + 1 :]) if axes else 1
    kept = tuple(1 if each in axes else size for each, size in enumerate(node.shape))
    short = tuple(size for each, size in enumerate(node.shape) if each not in axes)
    outer = values.size // (length * inner)
    if outer == inner == 1 and length > BLOCK:
        return _of_all(name, values, node).reshape(kept if keepdims else short)
    out = made(node, np.dtype(np.int64), (outer * inner,))
    if out.size and inner == 1 and SHORT <= length <= _LONGEST:
        _group_kernel(name, values.dtype, "rows")[GROUP * outer](out, values, values.size, length)
    elif out.size:
        _item_kernel(name, values.dtype)[inner, outer](out, values, length, inner)
    return out.reshape(kept if keepdims else short)


def _of_all(name: str, values: Buffer, node: Any) -> Buffer:
    """Among many elements: groups search blocks, and one group searches their results."""
    n = values.size
    block = max(BLOCK, -(-n // GROUPS))
    groups = -(-n // block)
    out, index = made(node, np.dtype(np.int64), ()), made(node, np.dtype(np.int64), (groups,))
    found = made(node, values.dtype, (groups,))
    _group_kernel(name, values.dtype, "blocks")[GROUP * groups](index, found, values, n, block)
    _group_kernel(name, values.dtype, "last")[GROUP](out, index, found, groups, groups)
    return out


_ENDS: Final = {
    "rows": ("", "out[group] = places[0]"),
    "blocks": ("found: az.ptr[{element}], ", "found[group] = bests[0]; out[group] = first + places[0]"),
    "last": ("index: az.ptr[az.i64], ", "out[0] = index[places[0]]"),
}
"""The end of each kind of search: further parameters, and the statements that store the index."""


def _group_kernel(name: str, dtype: np.dtype[Any], end: str) -> Kernel:
    """Each group searches a block of elements; every work-item begins with the first of them."""
    key = (name, dtype.char, end)
    found = _kernels.get(key)
    if found is not None:
        return found
    element = type_name(dtype)
    parameters, finish = _ENDS[end]
    text = f"""
@az.function
def better(v, best):
    return {_better(name, dtype)}

@az.function
def alike(v, best):
    return {"v == best or (v != v and best != best)" if dtype.kind == "f" else "v == best"}

def location(out: az.ptr[az.i64], {parameters.format(element=element)}x: az.ptr[{element}], n: az.i64, block: az.i64):
    bests = az.local[{element}, {GROUP}]
    places = az.local[az.i32, {GROUP}]
    own, group = az.i32(az.local_id(0)), az.group_id(0)
    first = group * block
    block_x = x + first
    best, place = block_x[0], az.i32(0)
    for k in range(own, az.i32(min(block, n - first)), {GROUP}):
        v = block_x[k]
        if better(v, best):
            best, place = v, k
    bests[own] = best
    places[own] = place
    az.barrier()
    width = {GROUP // 2}
    while width > 0:
        if own < width:
            v, at = bests[own + width], places[own + width]
            if better(v, bests[own]) or (alike(v, bests[own]) and at < places[own]):
                bests[own] = v
                places[own] = at
        az.barrier()
        width //= 2
    if own == 0:
        {finish}
"""
    _kernels[key] = made_kernel = kernel_of("location", text, group=GROUP)
    return made_kernel


def _better(name: str, dtype: np.dtype[Any]) -> str:
    found = "v < best" if name == "argmin" else "v > best"
    return f"best == best and ({found} or v != v)" if dtype.kind == "f" else found


def _item_kernel(name: str, dtype: np.dtype[Any]) -> Kernel:
    """Each work-item searches a short row, or a column."""
    key = (name, dtype.char)
    found = _kernels.get(key)
    if found is None:
        text = f"""
def location(out: az.ptr[az.i64], x: az.ptr[{type_name(dtype)}], length: az.i64, inner: az.i64):
    column, row = az.global_id(0), az.global_id(1)
    start = row * length * inner + column
    best = x[start]
    place = az.i64(0)
    for k in range(1, length):
        v = x[start + k * inner]
        if {_better(name, dtype)}:
            best = v
            place = k
    out[row * inner + column] = place
"""
        found = _kernels[key] = kernel_of("location", text)
    return found
