"""Sums and extremes: groups reduce blocks of elements, and one group reduces their results."""

from __future__ import annotations

from math import prod
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from anyzero import errors
from anyzero.api.buffer import Buffer
from anyzero.arrays import expression
from anyzero.arrays.expression import Array, Number
from anyzero.arrays.fused import Flat, body, evaluated, layout_of, made
from anyzero.arrays.layout import dense
from anyzero.arrays.text import kernel_of, type_name
from anyzero.language.kernel import Kernel

__all__ = ["BLOCK", "GROUP", "GROUPS", "SHORT", "axes_of", "reduced", "rows", "sum_type", "total"]

GROUP: Final = 32
"""Work-items of a group; each reduces every 32nd element of a block.

One or two vectors hold that many elements, so that a block is read once, from its begin to its end. With 64, each of
four vectors reads every fourth line of it: that takes up to twice as long."""
BLOCK: Final = 1 << 12
"""Minimum number of elements of a block, which fit the first cache.

It depends on the number of elements alone, so that sums are the same everywhere."""
GROUPS: Final = 1 << 16
SHORT: Final = 256
"""Rows of fewer elements are reduced by one work-item each."""

_kernels: Final[dict[Any, Kernel]] = {}

_COMBINE: Final = {"sum": "a + b", "min": "a if a <= b{nan} else b", "max": "a if a >= b{nan} else b"}


def sum_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type in which numpy adds elements up."""
    return np.dtype(np.int64) if dtype.kind in "bi" else np.dtype(np.uint64) if dtype.kind == "u" else dtype


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """The axes that a reduction is along, in order."""
    given = range(ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    found = []
    for each in given:
        if not -ndim <= each < ndim:
            raise errors.InvalidArgument(f"axis {each} is out of range: there are {ndim}")
        found.append(each % ndim)
    if len(set(found)) < len(found):
        raise errors.InvalidArgument(f"axis {axis} names an axis twice")
    return tuple(sorted(found))


def _limit(name: str, dtype: np.dtype[Any]) -> Any:
    """The neutral element of `min` or `max`."""
    if dtype.kind == "f":
        return float("inf") if name == "min" else float("-inf")
    limits = np.iinfo(dtype)
    return int(limits.max if name == "min" else limits.min)


def reduced(name: str, node: Any, axis: Any, dtype: npt.DTypeLike | None, *, keepdims: bool) -> Buffer:
    """A reduction of an expression, by numpy's rules."""
    if name == "mean":
        return _mean(node, axis, dtype, keepdims=keepdims)
    axes = axes_of(axis, len(node.shape))
    out: np.dtype[Any]
    if name in ("any", "all"):
        node = expression.converted(expression.converted(node, np.dtype(bool)), np.dtype(np.int32))
        own, out, neutral = ("max", np.dtype(bool), 0) if name == "any" else ("min", np.dtype(bool), 1)
    elif name == "sum":
        own, neutral = "sum", 0
        out = sum_type(node.dtype) if dtype is None else np.dtype(dtype)
        wide = np.dtype(np.float32) if out == np.float16 else out
        node = expression.converted(node, wide)
    else:
        own, out = name, node.dtype
        if not prod(node.shape[each] for each in axes):
            raise errors.InvalidArgument(
                f"{name} of no elements", remedy="Only sum, any and all are defined for empty arrays."
            )
        if out.kind == "b":
            node = expression.converted(node, np.dtype(np.int32))
        neutral = _limit(name, node.dtype)
    nan = " or a != a" if node.dtype.kind == "f" else ""
    return _shaped(node, axes, _COMBINE[own].format(nan=nan), neutral, out, keepdims=keepdims)


def _mean(node: Any, axis: Any, dtype: npt.DTypeLike | None, *, keepdims: bool) -> Buffer:
    wanted: np.dtype[Any] = np.dtype(dtype or (node.dtype if node.dtype.kind == "f" else np.float64))
    axes = axes_of(axis, len(node.shape))
    count = prod(node.shape[each] for each in axes)
    if not count:
        raise errors.InvalidArgument("mean of no elements")
    wide = np.dtype(np.float32) if wanted == np.float16 else wanted
    sums = reduced("sum", node, axis, wide, keepdims=keepdims)
    found = expression.operation("true_divide", (Array(sums, sums.shape, dense(sums.shape)), Number(float(count))))
    return evaluated(expression.converted(found, wanted))


def _shaped(node: Any, axes: tuple[int, ...], combine: str, neutral: Any, dtype: Any, *, keepdims: bool) -> Buffer:
    """A reduction along axes, to a shape without them, or with 1 in their place."""
    shape = node.shape
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    short = tuple(size for axis, size in enumerate(shape) if axis not in axes)
    if len(axes) == len(shape):
        found = total(node, combine, neutral, dtype)
    elif not axes:
        found = evaluated(expression.converted(node, dtype))
    else:
        found = _along(node, axes, combine, neutral, dtype)
    return found.reshape(kept if keepdims else short)


def total(node: Any, combine: str, neutral: Any, dtype: np.dtype[Any]) -> Buffer:
    """All elements of an expression, combined."""
    flat = Flat(node)
    layout = layout_of(node.shape, flat.strides(node.shape))
    if len(layout.code[0]) > 1 or len(layout.code) != len(flat.arrays):
        values = evaluated(node)
        flat = Flat(Array(values, (values.size,), (1,)))
        layout = layout_of((values.size,), ((1,),))
    lines = body(flat, layout.places(), "        ")
    args = [*(each.buffer for each in flat.arrays), *flat.numbers]
    return reduce_blocks(lines, flat.key(), args, layout, combine, neutral, flat.dtype, dtype, layout.size, node)


def reduce_blocks(
    lines: Any,
    key: Any,
    args: list[Any],
    layout: Any,
    combine: str,
    neutral: Any,
    own: Any,
    dtype: Any,
    n: int,
    node: Any,
) -> Buffer:
    """The elements that some lines compute, combined in two steps."""
    block = max(BLOCK, -(-n // GROUPS))
    block = -(-block // GROUP) * GROUP
    groups = max(1, -(-n // block))
    out = made(node, dtype, ())
    kernel = _group_kernel(lines, (key, layout.code), layout.parameters, combine, own, dtype if groups == 1 else own)
    if groups == 1:
        kernel[GROUP](out, *args, neutral, n, block, *layout.arguments)
        return out
    between = made(node, own, (groups,))
    kernel[GROUP * groups](between, *args, neutral, n, block, *layout.arguments)
    flat = Flat(Array(between, (groups,), (1,)))
    again = layout_of((groups,), ((1,),))
    last = _group_kernel(body(flat, again.places(), "        "), (flat.key(), again.code), [], combine, own, dtype)
    last[GROUP](out, between, neutral, groups, groups)
    return out


def _group_kernel(lines: Any, key: Any, further: list[str], combine: str, own: Any, dtype: Any) -> Kernel:
    """Each group combines the elements of a block."""
    name = (key, combine, own.char, dtype.char)
    found = _kernels.get(name)
    if found is not None:
        return found
    parameters, statements, definitions = lines
    accumulator, target = type_name(own), type_name(dtype)
    head = [f"out: az.ptr[{target}]", *parameters, f"neutral: {accumulator}", "n: az.i64", "block: az.i64", *further]
    text = f"""{definitions}
@az.function
def combine(a, b):
    return {accumulator}({combine})

def reduction({", ".join(head)}):
    partial = az.local[{accumulator}, {GROUP}]
    own = az.local_id(0)
    first = az.group_id(0) * block
    found = neutral
    for i in range(first + own, min(first + block, n), {GROUP}):
{chr(10).join(statements)}
        found = combine(found, {accumulator}(value))
    partial[own] = found
    az.barrier()
    width = {GROUP // 2}
    while width > 0:
        if own < width:
            partial[own] = combine(partial[own], partial[own + width])
        az.barrier()
        width //= 2
    if own == 0:
        out[az.group_id(0)] = {target}(partial[0])
"""
    _kernels[name] = made_kernel = kernel_of("reduction", text, group=GROUP)
    return made_kernel


def _along(node: Any, axes: tuple[int, ...], combine: str, neutral: Any, dtype: np.dtype[Any]) -> Buffer:
    """A reduction along some of the axes, of values that lie one after another."""
    values = rows(node, axes)
    length = prod(node.shape[axis] for axis in axes)
    inner = prod(node.shape[axes[-1] + 1 :]) if _adjacent(axes) else 1
    outer = prod(size for axis, size in enumerate(node.shape) if axis not in axes) // max(inner, 1)
    out = made(node, dtype, (outer * inner,))
    own = values.dtype
    if not out.size:
        return out
    if inner == 1 and length >= SHORT:
        flat = Flat(Array(values, (values.size,), (1,)))
        layout = layout_of((values.size,), ((1,),))
        lines = body(flat, layout.places(), "        ")
        kernel = _group_kernel(lines, (flat.key(), layout.code), [], combine, own, dtype)
        kernel[GROUP * outer](out, values, neutral, values.size, length)
        return out
    name = ("item", combine, own.char, dtype.char)
    found = _kernels.get(name)
    if found is None:
        accumulator, target = type_name(own), type_name(dtype)
        text = f"""
@az.function
def combine(a, b):
    return {accumulator}({combine})

def reduction(out: az.ptr[{target}], x: az.ptr[{accumulator}], neutral: {accumulator}, length: az.i64, inner: az.i64):
    column, row = az.global_id(0), az.global_id(1)
    found = neutral
    at = row * length * inner + column
    for k in range(length):
        found = combine(found, x[at + k * inner])
    out[row * inner + column] = {target}(found)
"""
        found = _kernels[name] = kernel_of("reduction", text)
    found[inner, outer](out, values, neutral, length, inner)
    return out


def _adjacent(axes: tuple[int, ...]) -> bool:
    return axes == tuple(range(axes[0], axes[-1] + 1))


def rows(node: Any, axes: tuple[int, ...]) -> Buffer:
    """The values of an expression; with `axes` last, where they are not next to each other."""
    if isinstance(node, Array) and node.strides == dense(node.shape) and _adjacent(axes):
        return node.buffer
    values = evaluated(node)
    if _adjacent(axes):
        return values
    order = (*(axis for axis in range(len(node.shape)) if axis not in axes), *axes)
    strides = dense(node.shape)
    return evaluated(Array(values, tuple(node.shape[each] for each in order), tuple(strides[each] for each in order)))
