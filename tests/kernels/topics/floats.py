"""Floating point: arithmetic, comparisons, and the functions that choose by them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.kernels.case import Array, Case
from tests.kernels.topics.making import SIZES, extremes, nearest, row_case

__all__ = ["CASES"]

N = SIZES[0]
REALS: dict[str, Any] = {"float": np.float32, "double": np.float64, "half": np.float16}


def _specials(dtype: Any, seed: int) -> Array:
    info = np.finfo(dtype)
    rng = np.random.default_rng(seed)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, info.tiny, 1 + info.eps, 0.5], dtype)
    values = rng.uniform(-100, 100, N).astype(dtype)
    values[:40] = rng.choice(special, 40)
    return values


def _ordinary(dtype: Any, seed: int) -> Array:
    values = np.random.default_rng(seed).uniform(-30, 30, N).astype(dtype)
    values[np.abs(values) < 0.1] = 1
    return values


def _fused(a: Array, b: Array, c: Array) -> Array:
    exact = [Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)) for x, y, z in zip(a, b, c, strict=True)]
    return np.array([nearest(value, a.dtype.type, "rte") for value in exact], a.dtype)


def _exact(name: str, dtype: Any) -> Case:
    def inputs() -> list[Array]:
        return [_ordinary(dtype, 1), _ordinary(dtype, 2)]

    def rows(a: Array, b: Array) -> Iterator[tuple[str, Array]]:
        yield "a + b", a + b
        yield "a - b", a - b
        yield "a * b", a * b
        yield "-a", -a
        yield "a * b + a", a * b + a
        yield "|a| - |b|", np.abs(a) - np.abs(b)
        yield "fma", _fused(a, b, a)
        yield "fmin", np.minimum(a, b)
        yield "fmax", np.maximum(a, b)
        yield "copysign", np.copysign(a, b)

    return row_case("floats", f"exact_{name}", dtype, inputs, rows, needs={name} - {"float"})


def _special(name: str, dtype: Any) -> Case:
    def inputs() -> list[Array]:
        return [_specials(dtype, 3), _specials(dtype, 4)]

    def rows(a: Array, b: Array) -> Iterator[tuple[str, Array]]:
        with np.errstate(all="ignore"):
            yield "a + b", a + b
            yield "a - b", a - b
            yield "a * b", a * b
            yield "-a", -a
            yield "a * b + a", a * b + a
            yield "|a| - |b|", np.abs(a) - np.abs(b)
            # The exact product of two specials is a special or fits: twice the precision holds it.
            wide: Any = np.longdouble
            yield "fma", (a.astype(wide) * b.astype(wide) + a.astype(wide)).astype(dtype)
            yield "fmin", np.fmin(a, b)
            yield "fmax", np.fmax(a, b)
            yield "copysign", np.copysign(a, b)

    needs = {name} - {"float"}
    return row_case("floats", f"exact_{name}", dtype, inputs, rows, needs=needs, name=f"floats_special_{name}")


def _quotient(name: str, dtype: Any) -> Case:
    def rows(a: Array, b: Array) -> Iterator[tuple[str, Array]]:
        yield "a / b", a.astype(np.longdouble) / b
        yield "1 / b", 1 / b.astype(np.longdouble)

    def inputs() -> list[Array]:
        return [_ordinary(dtype, 5), _ordinary(dtype, 6)]

    ulp = 2.5 if name == "float" else 0.5
    return row_case("floats", f"quotient_{name}", dtype, inputs, rows, ulp=ulp, needs={name} - {"float"})


def _compare(name: str, dtype: Any) -> Case:
    def rows(a: Array, b: Array) -> Iterator[tuple[str, Array]]:
        unordered = np.isnan(a) | np.isnan(b)
        normal = np.isfinite(a) & (np.abs(a) >= np.finfo(dtype).tiny)
        made = {
            "<": a < b,
            "<=": a <= b,
            ">": a > b,
            ">=": a >= b,
            "==": a == b,
            "!=": a != b,
            "not <": ~(a < b),
            "< or >": (a < b) | (b < a),
            "isequal": a == b,
            "isnotequal": a != b,
            "isgreater": a > b,
            "islessequal": a <= b,
            "islessgreater": (a < b) | (a > b),
            "isordered": ~unordered,
            "isunordered": unordered,
            "isfinite": np.isfinite(a),
            "isinf": np.isinf(a),
            "isnan": np.isnan(a),
            "isnormal": normal,
            "signbit": np.signbit(a),
            "< 0 ? 1 : 2": np.where(a < 0, 1, 2),
        }
        # The sign of a NaN is unspecified.
        made["signbit"] &= ~np.isnan(a)
        yield from ((label, values.astype(np.int32)) for label, values in made.items())

    def inputs() -> list[Array]:
        return [_specials(dtype, 7), _specials(dtype, 8)]

    return row_case("floats", f"compare_{name}", np.int32, inputs, rows, needs={name} - {"float"})


def _halves() -> Iterator[Case]:
    half: Any = np.float16

    def inputs() -> list[Array]:
        return [np.random.default_rng(seed).uniform(-8, 8, 4 * N).astype(half) for seed in (9, 10)]

    def rows(a: Array, b: Array) -> Iterator[tuple[str, Array]]:
        yield "a * b - a.wzyx", a * b - a.reshape(-1, 4)[:, ::-1].ravel()

    yield row_case("floats", "half_vectors", half, inputs, rows, needs={"half"})

    def converted(x: Array, scale: Any) -> Iterator[tuple[str, Array]]:
        scaled = x.astype(np.float32) * scale
        yield "float to half", scaled.astype(half)
        yield "double to half", (x.astype(np.float64) * 0.5).astype(half)
        yield "convert_half_rtz", np.array([nearest(float(v), half, "rtz") for v in scaled], half)
        yield "int to half", np.arange(N).astype(half)
        yield "as_half", -x

    def given() -> list[Any]:
        return [np.random.default_rng(11).uniform(-100, 100, N).astype(half), np.float32(1.37)]

    yield row_case("floats", "through_float", half, given, converted, needs={"half", "double"})


def _mask(values: Array, dtype: Any) -> Array:
    return np.where(values, -1, 0).astype(dtype)


def _vectors() -> Iterator[Case]:
    def floats() -> list[Array]:
        return [np.resize(_specials(np.float32, seed), 4 * N) for seed in (12, 13)]

    def float_rows(a: Array, b: Array) -> Iterator[tuple[str, Array]]:
        four = (-1, 4)
        a_bits, b_bits = a.view(np.int32), b.view(np.int32)
        less = a < b
        yield "<", _mask(less, np.int32)
        yield "==", _mask(a == b, np.int32)
        yield "!=", _mask(a != b, np.int32)
        yield "isnan", _mask(np.isnan(a), np.int32)
        yield "isfinite", _mask(np.isfinite(a), np.int32)
        yield "signbit", _mask(np.signbit(a), np.int32)
        yield "isunordered", _mask(np.isnan(a) | np.isnan(b), np.int32)
        yield "select", np.where(less, b_bits, a_bits)
        yield "?:", np.where(less, a_bits, b_bits)
        yield "bitselect", (a_bits & ~0xFFFF) | (b_bits & 0xFFFF)
        of = less.reshape(four)
        counts = [of.any(1), of.all(1), np.isnan(a).reshape(four).any(1), (a <= a).reshape(four).all(1)]
        yield "any and all", np.stack(counts, 1).astype(np.int32).ravel()
        yield "not <", _mask(~less, np.int32)
        yield "&&", _mask(less & (b < 1), np.int32)

    yield row_case("relational", "vectors_float", np.int32, floats, float_rows)

    def doubles() -> list[Array]:
        return [np.resize(_specials(np.float64, seed), 2 * N) for seed in (14, 15)]

    def double_rows(a: Array, b: Array) -> Iterator[tuple[str, Array]]:
        yield "<", _mask(a < b, np.int64)
        yield "isnotequal", _mask(a != b, np.int64)
        yield "select", np.where(a < b, b.view(np.int64), a.view(np.int64))

    yield row_case("relational", "vectors_double", np.int64, doubles, double_rows, needs={"double"})

    def shorts() -> list[Array]:
        left, right = (np.random.default_rng(seed).integers(-9, 9, 8 * N, np.int16) for seed in (16, 17))
        left[::5] = -30000
        return [left, right]

    def short_rows(a: Array, b: Array) -> Iterator[tuple[str, Array]]:
        eight = (-1, 8)
        yield "<", _mask(a < b, np.int16)
        yield "select", np.where(a > b, b, a)
        yield "select by the highest bit", np.where(b < 0, b, a)
        more = (a > b).reshape(eight)
        counts = [(a < 0).reshape(eight).any(1), (a < 0).reshape(eight).all(1), more.any(1), more.all(1)]
        fixed = [np.full(N, value) for value in (1, 2, 3, 4)]
        yield "any and all", np.stack([*counts, *fixed], 1).astype(np.int16).ravel()
        yield "&&", _mask((a != 0) & (b != 0), np.int16)
        yield "%", np.fmod(-a, np.int16(5))

    yield row_case("relational", "vectors_short", np.int16, shorts, short_rows)

    def scalars() -> list[Array]:
        return [extremes(18, N, np.int32), np.random.default_rng(19).uniform(-5, 5, N).astype(np.float32)]

    def scalar_rows(a: Array, b: Array) -> Iterator[tuple[str, Array]]:
        yield "select", np.where(a > 3, np.int32(7), a)
        yield "select any bit", np.full(N, 9, np.int32)
        yield "select float", np.where(a != 0, np.float32(2), b).view(np.int32)
        yield "any and all", np.where(a < 0, 3, 0).astype(np.int32)

    yield row_case("relational", "scalars", np.int32, scalars, scalar_rows)


def _made() -> Iterator[Case]:
    for name, dtype in REALS.items():
        for make in (_exact, _special, _quotient, _compare):
            yield make(name, dtype)
    yield from _halves()
    yield from _vectors()


CASES = tuple(_made())
