"""Conversions: between integers, between integers and floating point, in every rounding mode."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.kernels.case import Array, Case
from tests.kernels.topics.making import (
    INTEGERS,
    SIZES,
    clamped,
    each,
    extremes,
    nearest,
    round_to_integer,
    row_case,
    wrapped,
)

__all__ = ["CASES"]

N = SIZES[0]
MODES = ("rte", "rte", "rtz", "rtp", "rtn")
"""Of the five rows that a conversion to floating point has: without a mode, and with each."""
TO_INTEGER = ("rtz", "rte", "rtz", "rtp", "rtn")


def _from_integer(name: str, dtype: Any) -> Iterator[Case]:
    def inputs() -> list[Array]:
        return [extremes(1, N, dtype)]

    def rows(x: Array) -> Iterator[tuple[str, Array]]:
        for to, kind in INTEGERS.items():
            yield f"convert_{to}", each(lambda v, kind=kind: wrapped(v, kind), np.int64, x)
        for to, kind in INTEGERS.items():
            yield f"convert_{to}_sat", each(lambda v, kind=kind: clamped(v, kind), np.int64, x)

    yield row_case("conversions", f"from_{name}", np.int64, inputs, rows)
    for to, real in (("float", np.float32), ("double", np.float64)):

        def reals(x: Array, real: Any = real) -> Iterator[tuple[str, Array]]:
            for mode in MODES:
                yield mode, np.array([nearest(v, real, mode) for v in x.tolist()], real)

        needs = {"double"} if to == "double" else set()
        yield row_case("conversions", f"{to}_from_{name}", real, inputs, reals, needs=needs)


def _reals(dtype: Any) -> Array:
    rng = np.random.default_rng(2)
    borders = [
        0.0,
        -0.0,
        0.5,
        -0.5,
        1.5,
        2.5,
        -2.5,
        126.5,
        127.5,
        128.5,
        -128.5,
        255.5,
        254.5,
        32767.5,
        -32768.5,
        65535.5,
    ]
    borders += [2147483520.0, 2147483648.0, -2147483648.0, 4294967040.0, 4294967296.0, 9.2233715e18, 9.3e18, 1.9e19]
    borders += [math.inf, -math.inf, math.nan, 1e30, -1e30, 1e-30]
    return np.concatenate([borders, rng.uniform(-300, 300, N - len(borders))]).astype(dtype)


def _saturated(value: float, dtype: Any, mode: str) -> int:
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return int(np.iinfo(dtype).max if value > 0 else np.iinfo(dtype).min)
    return clamped(round_to_integer(value, mode), dtype)


def _from_real(name: str, dtype: Any) -> Iterator[Case]:
    needs = {"double"} if name == "double" else set()

    def rows(x: Array) -> Iterator[tuple[str, Array]]:
        for to, kind in INTEGERS.items():
            for mode in TO_INTEGER:
                values = [wrapped(_saturated(v, kind, mode), np.int64) for v in x.tolist()]
                yield f"convert_{to}_sat_{mode}", np.array(values, np.int64)

    yield row_case("conversions", f"from_{name}", np.int64, lambda: [_reals(dtype)], rows, needs=needs)

    def small(x: Array) -> Iterator[tuple[str, Array]]:
        def made(change: Callable[[float], float], mode: str = "rtz") -> Array:
            return np.array([round_to_integer(change(v), mode) for v in x.tolist()], np.int64)

        for label in ("char", "short", "int", "long"):
            yield label, made(float)
        for mode in ("rte", "rtp", "rtn"):
            yield f"convert_int_{mode}", made(float, mode)
        for label in ("uchar", "uint", "ulong"):
            yield label, made(abs)

    def inputs() -> list[Array]:
        return [np.random.default_rng(3).uniform(-127, 127, N).astype(dtype)]

    yield row_case("conversions", f"small_from_{name}", np.int64, inputs, small, needs=needs)


def _between_reals() -> Iterator[Case]:
    def doubles() -> list[Array]:
        rng = np.random.default_rng(4)
        special = [math.inf, -math.inf, math.nan, 0.0, -0.0, 3.5e38, -3.5e38, 1 + 2**-24, 1 + 3 * 2**-24, 1e-50]
        return [np.concatenate([special, rng.uniform(-1e6, 1e6, N - len(special))])]

    def to_float(x: Array) -> Iterator[tuple[str, Array]]:
        for mode in MODES:
            yield mode, np.array([nearest(v, np.float32, mode) for v in x.tolist()], np.float32)

    def to_double(x: Array) -> Iterator[tuple[str, Array]]:
        yield "convert_double", x.astype(np.float64)
        yield "convert_double_rtz", x.astype(np.float64)

    yield row_case("conversions", "float_from_double", np.float32, doubles, to_float, needs={"double"})
    yield row_case("conversions", "double_from_float", np.float64, lambda: [_reals("f4")], to_double, needs={"double"})


def _vectors() -> Case:
    def inputs() -> list[Array]:
        return [np.random.default_rng(5).uniform(-50, 300, 16 * N).astype(np.float32)]

    def rows(x: Array) -> Iterator[tuple[str, Array]]:
        yield "convert_uchar16_sat_rte", np.array([_saturated(v, np.uint8, "rte") for v in x.tolist()], np.uint8)

    return row_case("conversions", "vectors", np.uint8, inputs, rows)


def _made() -> Iterator[Case]:
    for name, dtype in INTEGERS.items():
        yield from _from_integer(name, dtype)
    yield from _from_real("float", np.float32)
    yield from _from_real("double", np.float64)
    yield from _between_reals()
    yield _vectors()


CASES = tuple(_made())
