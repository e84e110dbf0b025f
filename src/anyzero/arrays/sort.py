"""`az.sort` and `az.argsort`: a stable radix sort, eight bits of the keys at a time.

Each part of the keys counts its digits, a scan of all counts tells where each part's keys of each digit go, and each
part puts its keys there in order.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from anyzero import errors
from anyzero.api.buffer import Buffer
from anyzero.arrays.fused import evaluated, require_elements
from anyzero.arrays.scan import scan
from anyzero.arrays.text import kernel_of, type_name
from anyzero.arrays.view import array_of
from anyzero.language.kernel import Kernel

__all__ = ["argsort", "sort"]

DIGITS: Final = 256
PART: Final = 1 << 16
"""Minimum number of keys of a part, so that its counts are few in comparison."""
PARTS: Final = 64

_kernels: Final[dict[Any, Kernel]] = {}


def sort(keys: Buffer, values: Buffer | None = None, *, descending: bool = False) -> Any:
    """The keys in order, in a new buffer; with `values`, a pair of both, where each value stays with its key.

    Equal keys stay in their order, also `descending`. NaNs come last, as in numpy; -0.0 is before 0.0.

    >>> ctx = az.device().context()
    >>> keys, values = ctx.to_device([3, 1, 2, 1]), ctx.to_device([10, 20, 30, 40])
    >>> az.sort(keys).copy_to()
    array([1, 1, 2, 3])
    >>> ordered, along = az.sort(keys, values, descending=True)
    >>> along.copy_to()
    array([10, 30, 20, 40])
    """
    _require_keys(keys, "az.sort")
    if values is None:
        return _sorted(keys, None, descending=descending)[0]
    if values.shape != keys.shape:
        raise errors.InvalidArgument(f"az.sort: keys have shape {keys.shape} and values {values.shape}")
    if values.context is not keys.context:
        raise errors.InvalidArgument("az.sort has buffers of different contexts")
    return _sorted(keys, evaluated(array_of(values)), descending=descending)


def argsort(keys: Buffer, *, descending: bool = False) -> Buffer:
    """The indices that put keys in order, as int64; equal keys stay in their order.

    >>> az.argsort(az.device().context().to_device([0.5, -1.0, 0.25])).copy_to()
    array([1, 2, 0])
    """
    _require_keys(keys, "az.argsort")
    indices = keys.context.buffer(keys.shape, np.int64, device=keys.device)
    if keys.size:
        _kernel("count_up", "def count_up(x: az.ptr[az.i64]):\n    x[az.global_id(0)] = az.global_id(0)\n")[keys.size](
            indices
        )
    found = _sorted(keys, indices, descending=descending)[1]
    assert found is not None
    return found


def _require_keys(keys: Buffer, what: str) -> None:
    if not isinstance(keys, Buffer):
        raise TypeError(f"{what} takes a Buffer; Context.to_device() copies an array to the device")
    require_elements(keys.dtype)
    if keys.ndim != 1:
        raise errors.InvalidArgument(
            f"{what} takes one axis, not shape {keys.shape}", remedy="Sort rows one by one, or use dpnp."
        )


def _sorted(keys: Buffer, values: Buffer | None, *, descending: bool) -> tuple[Buffer, Buffer | None]:
    n = keys.size
    dtype = keys.dtype
    bits = np.dtype(f"u{dtype.itemsize}")
    source, target = (keys.context.buffer(n, bits, device=keys.device) for _ in range(2))
    out = keys.context.buffer(n, dtype, device=keys.device)
    if not n:
        return out, values
    plain = evaluated(array_of(keys))
    _keys_kernel(dtype)[n](source, plain.view(bits), descending)
    other = None if values is None else keys.context.buffer(n, values.dtype, device=keys.device)
    part = max(PART, -(-n // PARTS))
    parts = -(-n // part)
    counts = keys.context.buffer((DIGITS, parts), np.int64, device=keys.device)
    for shift in range(0, dtype.itemsize * 8, 8):
        _count_kernel(bits)[parts](counts, source, shift, n, part, parts, group=1)
        places = scan(counts, exclusive=True)
        if values is None or other is None:
            _move_kernel(bits, None)[parts](target, source, places, shift, n, part, parts, group=1)
        else:
            move = _move_kernel(bits, values.dtype)
            move[parts](target, source, other, values, places, shift, n, part, parts, group=1)
            values, other = other, values
        source, target = target, source
    _keys_kernel(dtype, back=True)[n](out.view(bits), source, descending)
    return out, values


def _kernel(name: str, text: str) -> Kernel:
    found = _kernels.get(text)
    if found is None:
        found = _kernels[text] = kernel_of(name, text)
    return found


def _keys_kernel(dtype: np.dtype[Any], *, back: bool = False) -> Kernel:
    """Keys as unsigned integers of the same order, and back.

    Negative floats are ordered backwards. NaNs of either sign are the greatest keys in both directions.
    """
    bits = np.dtype(f"u{dtype.itemsize}")
    key = type_name(bits)
    width = dtype.itemsize * 8
    top, full = f"{key}({1 << (width - 1)})", f"{key}({(1 << width) - 1})"
    there = back_again = "k"
    nan = ""
    if dtype.kind == "f":
        infinity, quiet = (f"{key}({int(np.array(each, dtype).view(bits))})" for each in (np.inf, np.nan))
        there = f"{full} if (k & ~{top}) > {infinity} else ~k if k >= {top} else k | {top}"
        back_again = f"{quiet} if k == {full} else k ^ {top} if k >= {top} else ~k"
        nan = f" and k != {full}"
    elif dtype.kind == "i":
        there = back_again = f"k ^ {top}"
    turn = f"    k = {key}(~k if descending{nan} else k)"
    steps = [turn, f"    k = {key}({back_again})"] if back else [f"    k = {key}({there})", turn]
    head = [f"def keys(out: az.ptr[{key}], x: az.ptr[{key}], descending: bool):", "    i = az.global_id(0)"]
    return _kernel("keys", "\n".join([*head, "    k = x[i]", *steps, "    out[i] = k"]) + "\n")


def _count_kernel(bits: np.dtype[Any]) -> Kernel:
    """One work-item counts the digits of a part; groups of one, as each has counts of its own."""
    key = type_name(bits)
    return _kernel(
        "count",
        f"""
def count(counts: az.ptr[az.i64], x: az.ptr[{key}], shift: az.i32, n: az.i64, part: az.i64, parts: az.i64):
    own = az.local[az.i32, {DIGITS}]
    first = az.group_id(0) * part
    for digit in range({DIGITS}):
        own[digit] = 0
    for i in range(first, min(first + part, n)):
        own[(az.u32(x[i] >> shift)) & 255] += 1
    for digit in range({DIGITS}):
        counts[digit * parts + az.group_id(0)] = own[digit]
""",
    )


def _move_kernel(bits: np.dtype[Any], values: np.dtype[Any] | None) -> Kernel:
    """One work-item puts the keys of a part where they belong."""
    key = type_name(bits)
    more = "" if values is None else f", to: az.ptr[{type_name(values)}], values: az.ptr[{type_name(values)}]"
    along = "" if values is None else "\n        to[at] = values[i]"
    sizes = "places: az.ptr[az.i64], shift: az.i32, n: az.i64, part: az.i64, parts: az.i64"
    return _kernel(
        "move",
        f"""
def move(out: az.ptr[{key}], x: az.ptr[{key}]{more}, {sizes}):
    own = az.local[az.i64, {DIGITS}]
    first = az.group_id(0) * part
    for digit in range({DIGITS}):
        own[digit] = places[digit * parts + az.group_id(0)]
    for i in range(first, min(first + part, n)):
        k = x[i]
        digit = (az.u32(k >> shift)) & 255
        at = own[digit]
        own[digit] = at + 1
        out[at] = k{along}
""",
    )
