"""Integers: arithmetic, the functions on them, and conversions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.kernels.case import Array, Case
from tests.kernels.topics import making
from tests.kernels.topics.making import INTEGERS, SIZES, clamped, each, extremes, row_case, truncated, wrapped

__all__ = ["CASES"]

N = SIZES[0]


def _bits(dtype: Any) -> int:
    return np.dtype(dtype).itemsize * 8


def _wrapping(name: str, dtype: Any) -> Case:
    signed = np.dtype(dtype).kind == "i"
    # What overflows a signed type has no meaning.
    reach = 1 << (_bits(dtype) // 2 - 2)

    def inputs() -> list[Array]:
        if not signed:
            return [extremes(1, N, dtype), extremes(2, N, dtype)]
        rng = np.random.default_rng(1)
        return [rng.integers(-reach, reach, N).astype(dtype), rng.integers(-reach, reach, N).astype(dtype)]

    def rows(a: Array, b: Array) -> Iterator[tuple[str, Array]]:
        yield "a + b", each(lambda x, y: x + y, dtype, a, b)
        yield "a - b", each(lambda x, y: x - y, dtype, a, b)
        yield "a * b", each(lambda x, y: x * y, dtype, a, b)
        yield "-a", each(lambda x: -x, dtype, a)
        yield "a * b + a", each(lambda x, y: x * y + x, dtype, a, b)
        yield "a + b - 2", each(lambda x, y: x + y - 2, dtype, a, b)

    return row_case("integers", f"wrapping_{name}", dtype, inputs, rows)


def _divisible(dtype: Any) -> list[Array]:
    a, b = extremes(3, N, dtype), extremes(4, N, dtype)
    b[b == 0] = 5
    if np.dtype(dtype).kind == "i":
        b[(a == np.iinfo(dtype).min) & (b == -1)] = 1
    return [a, b]


def _whole(name: str, dtype: Any) -> Case:
    mask = _bits(dtype) - 1

    def rows(a: Array, b: Array) -> Iterator[tuple[str, Array]]:
        yield "a / b", each(truncated, dtype, a, b)
        yield "a % 7", each(lambda x: x - 7 * truncated(x, 7), dtype, a)
        yield "a & b", a & b
        yield "a | b", a | b
        yield "a ^ b", a ^ b
        yield "~a", ~a
        yield "a << b", each(lambda x, y: x << (y & mask), dtype, a, b)
        yield "a >> b", each(lambda x, y: x >> (y & mask), dtype, a, b)
        yield "a < b", (a < b).astype(dtype)
        yield "a <= b", (a <= b).astype(dtype)
        yield "a == b", (a == b).astype(dtype)
        yield "a > b ? a : b", np.maximum(a, b)
        yield "!a", (a == 0).astype(dtype)
        yield "a != b", (a != b).astype(dtype)
        yield "a >= b", (a >= b).astype(dtype)
        yield "a && b & 1", ((a != 0) & ((b & dtype(1)) != 0)).astype(dtype)

    return row_case("integers", f"whole_{name}", dtype, lambda: _divisible(dtype), rows)


def _divided(name: str, dtype: Any) -> Case:
    def rows(a: Array, b: Array) -> Iterator[tuple[str, Array]]:
        yield "a % b", each(lambda x, y: x - y * truncated(x, y), dtype, a, b)
        yield "a / 7", each(lambda x: truncated(x, 7), dtype, a)

    return row_case("integers", f"divided_{name}", dtype, lambda: _divisible(dtype), rows)


def _reinterpret() -> Case:
    def rows(words: Array) -> Iterator[tuple[str, Array]]:
        def u64(function: Any) -> Array:
            return each(function, np.uint64, words)

        yield "char", u64(lambda w: wrapped(w, np.int8))
        yield "short", u64(lambda w: wrapped(w, np.int16))
        yield "uchar", u64(lambda w: w & 0xFF)
        yield "ushort", u64(lambda w: w >> 8 & 0xFFFF)
        yield "as_uchar4", u64(lambda w: w & 0xFF | (w >> 24) << 8)
        yield "as_short2", u64(lambda w: wrapped(w, np.int16) - wrapped(w >> 16, np.int16))
        yield "as_ulong", u64(lambda w: w | (~w & 0xFFFFFFFF) << 32)
        yield "bool", u64(lambda w: w != 0)
        yield "as_int", u64(lambda w: wrapped(w, np.int32) << 3)
        yield "as_float", u64(lambda w: w & 0x7F7FFFFF)

    return row_case("integers", "reinterpret", np.uint64, lambda: [extremes(5, N, np.uint32)], rows)


def _rotated(x: int, by: int, bits: int) -> int:
    x &= (1 << bits) - 1
    by %= bits
    return x << by | x >> (bits - by)


def _leading_zeros(x: int, bits: int) -> int:
    return bits - (x & ((1 << bits) - 1)).bit_length()


def _trailing_zeros(x: int, bits: int) -> int:
    return (x & -x).bit_length() - 1 if x else bits


def _builtins(name: str, dtype: Any) -> Case:
    bits = _bits(dtype)
    mask = (1 << bits) - 1

    def inputs() -> list[Array]:
        return [extremes(seed, N, dtype) for seed in (6, 7, 8)]

    def rows(a: Array, b: Array, c: Array) -> Iterator[tuple[str, Array]]:
        yield "abs", each(abs, dtype, a)
        yield "abs_diff", each(lambda x, y: abs(x - y), dtype, a, b)
        yield "add_sat", each(lambda x, y: clamped(x + y, dtype), dtype, a, b)
        yield "sub_sat", each(lambda x, y: clamped(x - y, dtype), dtype, a, b)
        yield "hadd", each(lambda x, y: (x + y) >> 1, dtype, a, b)
        yield "rhadd", each(lambda x, y: (x + y + 1) >> 1, dtype, a, b)
        yield "clamp", each(lambda x, y, z: max(min(y, z), min(x, max(y, z))), dtype, a, b, c)
        yield "clz", each(lambda x: _leading_zeros(x, bits), dtype, a)
        yield "ctz", each(lambda x: _trailing_zeros(x, bits), dtype, a)
        yield "popcount", each(lambda x: (x & mask).bit_count(), dtype, a)
        yield "mul_hi", each(lambda x, y: x * y >> bits, dtype, a, b)
        yield "mad_hi", each(lambda x, y, z: (x * y >> bits) + z, dtype, a, b, c)
        yield "mad_sat", each(lambda x, y, z: clamped(x * y + z, dtype), dtype, a, b, c)
        yield "max", np.maximum(a, b)
        yield "min", np.minimum(a, b)
        yield "rotate", each(lambda x, y: _rotated(x, y, bits), dtype, a, b)
        yield "bitselect", (a & ~c) | (b & c)

    return row_case("integer_builtins", f"builtins_{name}", dtype, inputs, rows)


def _vector_builtins(name: str, dtype: Any) -> Case:
    bits = _bits(dtype)

    def inputs() -> list[Array]:
        return [extremes(seed, 4 * N, dtype) for seed in (9, 10, 11)]

    def rows(a: Array, b: Array, c: Array) -> Iterator[tuple[str, Array]]:
        yield "add_sat", each(lambda x, y: clamped(x + y, dtype), dtype, a, b)
        yield "rhadd", each(lambda x, y: (x + y + 1) >> 1, dtype, a, b)
        yield "clz", each(lambda x: _leading_zeros(x, bits), dtype, a)
        yield "mad_sat", each(lambda x, y, z: clamped(x * y + z, dtype), dtype, a, b, c)
        yield "rotate", each(lambda x, y: _rotated(x, y, bits), dtype, a, b)
        yield "max with a scalar", np.maximum(a, np.repeat(b[::4], 4))

    return row_case("integer_builtins", f"builtins_{name}4", dtype, inputs, rows)


def _narrow_and_wide() -> Case:
    def inputs() -> list[Array]:
        return [extremes(12, N, np.int32), extremes(13, N, np.int32)]

    def rows(a: Array, b: Array) -> Iterator[tuple[str, Array]]:
        def i64(function: Any) -> Array:
            return each(function, np.int64, a, b)

        def low(x: int) -> int:
            return making.wrapped(x << 8, np.int32) >> 8

        def narrow(x: int) -> int:
            return low(x) >> 12

        def unsigned(x: int) -> int:
            return low(x) & 0xFFFF

        yield "upsample char", i64(lambda x, y: wrapped(x, np.int8) << 8 | y & 0xFF)
        yield "upsample uchar", i64(lambda x, y: (x & 0xFF) << 8 | y & 0xFF)
        yield "upsample short", i64(lambda x, y: wrapped(x, np.int16) << 16 | y & 0xFFFF)
        yield "upsample ushort", i64(lambda x, y: (x & 0xFFFF) << 16 | y & 0xFFFF)
        yield "upsample int", i64(lambda x, y: x << 32 | y & 0xFFFFFFFF)
        yield "upsample uint", i64(lambda x, y: x << 32 | y & 0xFFFFFFFF)
        yield "mul24", i64(lambda x, y: narrow(x) * narrow(y))
        yield "mad24", i64(lambda x, y: wrapped(narrow(x) * narrow(y) + (x >> 8), np.int32))
        yield "mul24 unsigned", i64(lambda x, y: unsigned(x) * unsigned(y))
        yield "mad24 unsigned", i64(lambda x, y: wrapped(unsigned(x) * unsigned(y) + y, np.uint32))
        yield "mad_hi", i64(lambda x, y: wrapped((x * y >> 32) + 5, np.int32))

    return row_case("integer_builtins", "narrow_and_wide", np.int64, inputs, rows)


def _made() -> Iterator[Case]:
    for name, dtype in INTEGERS.items():
        for make in (_wrapping, _whole, _divided, _builtins, _vector_builtins):
            yield make(name, dtype)
    yield _reinterpret()
    yield _narrow_and_wide()


CASES = tuple(_made())
