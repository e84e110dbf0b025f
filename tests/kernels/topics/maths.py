"""Mathematical functions, within the error bounds that OpenCL sets for the full profile."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.kernels.case import Array, Case
from tests.kernels.topics.making import SIZES, row_case

__all__ = ["CASES"]

N = SIZES[0]
Row = tuple[str, Array, float]
"""Name, what is expected, more precisely than the result can be, and the units in the last place it may be off."""

PI: Any = np.longdouble("3.14159265358979323846264338327950288")


def _reals(seed: int, low: float, high: float, dtype: Any, special: tuple[float, ...] = ()) -> Array:
    values = np.random.default_rng(seed).uniform(low, high, N)
    values[: len(special)] = special
    return values.astype(dtype)


def _maths(
    kernel: str, name: str, inputs: Callable[[], list[Array]], rows: Callable[..., Iterator[Row]], label: str = ""
) -> Case:
    """A case whose rows are computed in extended precision from the inputs as they are."""
    dtype: Any = np.float32 if name == "float" else np.float64

    def wide() -> list[Array]:
        return [x.astype(np.longdouble) if x.dtype.kind == "f" else x for x in inputs()]

    with np.errstate(all="ignore"):
        bounds = tuple(bound for _, _, bound in rows(*wide()))

    def plain(*_: Array) -> Iterator[tuple[str, Array]]:
        with np.errstate(all="ignore"):
            yield from [(label, values) for label, values, _ in rows(*wide())]

    needs = {"double"} if name == "double" else set()
    title = f"maths_{label or kernel}_{name}"
    return row_case("maths", f"{kernel}_{name}", dtype, inputs, plain, ulp=bounds, needs=needs, name=title)


def _sinpi(x: Array) -> Array:
    near = np.rint(x)
    return np.where(np.fmod(near, 2) == 0, 1, -1) * np.sin(PI * (x - near))


def _by_element(function: Callable[[float], float], x: Array) -> Array:
    return np.array([function(float(v)) for v in x], np.longdouble)


def _exponential(name: str, dtype: Any) -> Iterator[Case]:
    def rows(x: Array, p: Array, n: Array) -> Iterator[Row]:
        yield "exp", np.exp(x), 3
        yield "exp2", np.exp2(x), 3
        yield "exp10", np.power(np.longdouble(10), x), 3
        yield "expm1", np.expm1(x), 3
        yield "log", np.log(p), 3
        yield "log2", np.log2(p), 3
        yield "log10", np.log10(p), 3
        yield "log1p", np.log1p(p), 2
        yield "pow", np.power(p, x), 16
        yield "powr", np.power(p, x), 16
        yield "pown", np.power(x, n), 16
        yield "rootn", np.power(p, 1 / n.astype(np.longdouble)), 16

    def inputs() -> list[Array]:
        n = np.random.default_rng(3).integers(1, 9, N).astype(np.int32) * np.where(np.arange(N) % 3, 1, -1)
        return [
            _reals(1, -12, 12, dtype),
            _reals(2, 1e-3, 50, dtype, (1, 2, 0.5, 1 + 1e-6, 1 - 1e-6)),
            n.astype(np.int32),
        ]

    yield _maths("exponential", name, inputs, rows)

    def extreme() -> list[Array]:
        infinity, nan = math.inf, math.nan
        x = _reals(4, -30, 30, dtype, (0.0, -0.0, infinity, -infinity, nan, 1e4, -1e4, 1, 1e-20, infinity, 0.0, nan))
        p = _reals(5, 0.1, 9, dtype, (1, 2, 2, 2, 2, 2, 2, infinity, 0.0, 0.0, infinity, 3))
        n = np.full(N, 2, np.int32)
        n[8:10] = 3
        return [x, p, n]

    def extreme_rows(x: Array, p: Array, n: Array) -> Iterator[Row]:
        for label, values, bound in rows(x, p, n):
            # Infinity to the power of zero and the like: pow has an answer, powr has none.
            unclear = ((p == 0) | np.isinf(p)) & (x == 0) | (p == 1) & np.isinf(x) | np.isnan(x)
            yield label, np.where(unclear, np.nan, values) if label == "powr" else values, bound

    yield _maths("exponential", name, extreme, extreme_rows, "exponential_special")


def _trigonometric(name: str, dtype: Any) -> Iterator[Case]:
    def rows(x: Array, u: Array, y: Array) -> Iterator[Row]:
        yield "sin", np.sin(x), 4
        yield "cos", np.cos(x), 4
        yield "tan", np.tan(x), 5
        yield "sincos", np.sin(x), 4
        yield "sincos: cos", np.cos(x), 4
        yield "asin", np.arcsin(u), 4
        yield "acos", np.arccos(u), 4
        yield "atan", np.arctan(x), 5
        yield "atan2", np.arctan2(x, y), 6
        yield "sinpi", _sinpi(x), 4
        yield "cospi", _sinpi(x + 0.5), 4
        yield "tanpi", _sinpi(x) / _sinpi(x + 0.5), 6
        yield "asinpi", np.arcsin(u) / PI, 5
        yield "acospi", np.arccos(u) / PI, 5
        yield "atanpi", np.arctan(x) / PI, 5
        yield "atan2pi", np.arctan2(x, y) / PI, 6

    def inputs() -> list[Array]:
        any_ = _reals(6, -100, 100, dtype, (1e-5, -1e-5, 0.75, 3.1415927, 1.5707964, 100.1, 6.2831855))
        return [any_, _reals(7, -1, 1, dtype, (1, -1, 1e-6, 0.5)), _reals(8, -9, 9, dtype)]

    yield _maths("trigonometric", name, inputs, rows)

    def large() -> list[Array]:
        any_ = _reals(9, -1e9, 1e9, dtype) + dtype(0.25)
        any_[:30] = np.random.default_rng(10).uniform(1e4, 1e6, 30)
        return [any_, *inputs()[1:]]

    yield _maths("trigonometric", name, large, rows, "trigonometric_large")


def _smaller(name: str, dtype: Any) -> Iterator[Case]:
    any_, unit, positive = _reals(11, -8, 8, dtype), _reals(12, -0.99, 0.99, dtype), _reals(13, 1e-3, 60, dtype)

    def hyperbolic(x: Array, u: Array, p: Array) -> Iterator[Row]:
        yield "sinh", np.sinh(x), 4
        yield "cosh", np.cosh(x), 4
        yield "tanh", np.tanh(x), 5
        yield "asinh", np.arcsinh(x), 4
        # The argument is rounded once before the function sees it.
        yield "acosh", np.arccosh((1 + p.astype(dtype)).astype(np.longdouble)), 4
        yield "atanh", np.arctanh(u), 5

    yield _maths("hyperbolic", name, lambda: [any_, unit, positive], hyperbolic)

    def roots(x: Array, p: Array) -> Iterator[Row]:
        yield "sqrt", np.sqrt(p), 3 if name == "float" else 0.5
        yield "rsqrt", 1 / np.sqrt(p), 2
        yield "cbrt", np.cbrt(x), 2
        yield "hypot", np.hypot(x, p), 4

    yield _maths("roots", name, lambda: [any_, positive], roots)

    halves = np.concatenate([np.arange(-15, 15) / 2, any_[:24], [0.0, -0.0, 1e20, np.inf, -np.inf, np.nan]]).astype(
        dtype
    )

    def rounding(x: Array) -> Iterator[Row]:
        yield "ceil", np.ceil(x), 0
        yield "floor", np.floor(x), 0
        yield "rint", np.rint(x), 0
        yield "round", np.copysign(np.floor(np.abs(x) + 0.5), x), 0
        yield "trunc", np.trunc(x), 0

    yield _maths("rounding", name, lambda: [halves], rounding)

    def statistical(x: Array, p: Array) -> Iterator[Row]:
        yield "erf", _by_element(math.erf, x), 16
        yield "erfc", _by_element(math.erfc, x), 16
        yield "tgamma", _by_element(math.gamma, p), 16
        # Near its zeros at 1 and 2 nobody can promise relative precision; the inputs stay away from them.
        yield "lgamma", _by_element(math.lgamma, p), 16
        yield "lgamma_r", _by_element(math.lgamma, x), 4096
        yield "lgamma_r: sign", np.where((x > 0) | (np.floor(x) % 2 == 0), 1, -1).astype(np.longdouble), 0

    away = _reals(14, 3, 30, dtype)
    negative = _reals(15, -4, 4, dtype)
    negative = np.where(np.abs(negative - np.rint(negative)) < 0.2, negative + dtype(0.3), negative).astype(dtype)
    yield _maths("statistical", name, lambda: [negative, away], statistical)


def _pieces(name: str, dtype: Any) -> Iterator[Case]:
    x = _reals(16, -60, 60, dtype, (1, -1, 0.5, 1e-6, 3e7, -8))
    y = _reals(17, -7, 7, dtype, (2, 3, 0.3, 0.7, 1.5, 2))
    y[np.abs(y) < 0.1] = 1.25

    def rows(wide_x: Array, wide_y: Array) -> Iterator[Row]:
        mantissa, exponent = np.frexp(x)
        fraction = np.minimum(x - np.floor(x), np.nextafter(dtype(1), dtype(0)))
        quotient = np.rint(wide_x / wide_y)
        small, large = np.abs(x) < np.abs(y), np.abs(x) > np.abs(y)
        made = {
            "frexp": mantissa,
            "frexp: exponent": exponent,
            "ldexp": np.ldexp(x, np.arange(N) % 40 - 20),
            "ilogb": exponent - 1,
            "logb": exponent - 1,
            "modf": np.modf(x)[0],
            "modf: whole": np.modf(x)[1],
            "fract": fraction,
            "fract: whole": np.floor(x),
            "fmod": np.fmod(x, y),
            "remainder": np.array([math.remainder(float(a), float(b)) for a, b in zip(x, y, strict=True)]),
            "remquo": np.array([math.remainder(float(a), float(b)) for a, b in zip(x, y, strict=True)]),
            "remquo: quotient": np.abs(quotient) % 128,
            "fdim": np.where(x > y, x - y, 0),
            "nextafter": np.nextafter(x, y),
            "maxmag": np.where(large, x, np.where(small, y, np.maximum(x, y))),
            "minmag": np.where(small, x, np.where(large, y, np.minimum(x, y))),
        }
        yield from ((label, np.asarray(values).astype(np.longdouble), 0.0) for label, values in made.items())

    yield _maths("pieces", name, lambda: [x, y], rows)

    def common(a: Array, b: Array) -> Iterator[Row]:
        t = np.clip((a + 2) / 5, 0, 1)
        yield "clamp", np.clip(a, -1, 2), 0
        yield "max", np.maximum(a, b), 0
        yield "min", np.minimum(a, b), 0
        yield "mix", a + (b - a) * 0.25, 64
        yield "step", (b >= a).astype(np.longdouble), 0
        yield "smoothstep", t * t * (3 - 2 * t), 64
        yield "sign", np.sign(a), 0
        yield "degrees", a * 180 / PI, 3
        yield "radians", a * PI / 180, 3
        # Neither fused nor not: anything near is right.
        yield "mad", a * b + a, 64

    yield _maths("common", name, lambda: [_reals(18, -3, 4, dtype), _reals(19, 4.5, 9, dtype)], common)


def _others() -> Iterator[Case]:
    f32: Any = np.float32

    def inputs() -> list[Array]:
        return [_reals(20, -3, 3, f32), _reals(21, 0.1, 20, f32)]

    def rough(x: Array, p: Array) -> Iterator[tuple[str, Array]]:
        x, p = x.astype(np.float64), p.astype(np.float64)
        made = {"exp": np.exp(x), "exp2": np.exp2(x), "log": np.log(p), "log2": np.log2(p), "sin": np.sin(x)}
        made |= {"cos": np.cos(x), "sqrt": np.sqrt(p), "rsqrt": 1 / np.sqrt(p), "recip": 1 / p, "divide": x / p}
        yield from ((f"native_{label}", values) for label, values in made.items())
        yield "native_powr", p**x
        yield from ((f"half_{label}", made[label]) for label in ("exp", "log", "sin", "sqrt"))
        yield "half_powr", p**x
        yield "half_divide", x / p
        yield "half_tan", np.tan(x)

    yield row_case("maths", "rough", f32, inputs, rough, rtol=5e-3, atol=1e-3)

    def four() -> list[Array]:
        rng = np.random.default_rng(22)
        return [rng.uniform(-3, 3, 4 * N).astype(f32), rng.uniform(0.1, 20, 4 * N).astype(f32)]

    def vectors(x: Array, p: Array) -> Iterator[tuple[str, Array]]:
        x, p = x.astype(np.float64), p.astype(np.float64)
        yield "exp", np.exp(x)
        yield "log", np.log(p)
        yield "sincos", np.sin(x)
        yield "sincos: cos", np.cos(x)
        yield "pow", p**x
        yield "fmax", np.maximum(x, 0.5)
        yield "fma", x * p + x.reshape(-1, 2)[:, ::-1].ravel()
        mantissa, exponent = np.frexp(p)
        yield "frexp", mantissa
        yield "frexp: exponents", exponent.astype(np.float64)

    yield row_case("maths", "vectors", f32, four, vectors, ulp=16.0)

    f16: Any = np.float16

    def half_inputs() -> list[Array]:
        return [_reals(23, -3, 3, f16), _reals(24, 0.1, 20, f16)]

    def halves(x: Array, p: Array) -> Iterator[tuple[str, Array]]:
        x, p = x.astype(np.float64), p.astype(np.float64)
        yield "exp", np.exp(x)
        yield "log", np.log(p)
        yield "sin", np.sin(x)
        yield "sqrt", np.sqrt(p)
        yield "rsqrt", 1 / np.sqrt(p)
        yield "floor", np.floor(x)
        yield "fma", x * p + x

    yield row_case("maths", "halves", f16, half_inputs, halves, ulp=(2, 2, 2, 0.5, 1, 0, 0.5), needs={"half"})


def _geometric() -> Iterator[Case]:
    for name, dtype, near in (("float", np.float32, 1e-5), ("double", np.float64, 1e-13)):

        def inputs(dtype: Any = dtype) -> list[Array]:
            return [np.random.default_rng(seed).uniform(-5, 5, 4 * N).astype(dtype) for seed in (25, 26)]

        def products(left: Array, right: Array) -> Iterator[tuple[str, Array]]:
            a, b = (x.reshape(N, 4).astype(np.longdouble) for x in (left, right))
            turned = np.zeros((N, 4), np.longdouble)
            turned[:, :3] = np.cross(a[:, :3], b[:, :3])
            yield "cross of four", turned.ravel().copy()
            turned[:, 3] = 7
            yield "cross of three", turned.ravel()
            lengths = (4, 3, 2, 1)
            yield "dot", np.stack([(a * b)[:, :n].sum(1) for n in lengths], 1).ravel()
            yield "length", np.stack([np.sqrt((a * a)[:, :n].sum(1)) for n in lengths], 1).ravel()
            apart = (a - b) ** 2
            yield "distance", np.stack([np.sqrt(apart[:, :n].sum(1)) for n in lengths], 1).ravel()
            yield "normalize", (a / np.sqrt((a * a).sum(1, keepdims=True))).ravel()
            three = a[:, :3] / np.sqrt((a[:, :3] ** 2).sum(1, keepdims=True))
            yield "normalize three, one", np.concatenate([three, np.sign(a[:, 3:])], 1).ravel()

        needs = {"double"} if name == "double" else set()
        yield row_case("geometric", f"products_{name}", dtype, inputs, products, rtol=near, atol=10 * near, needs=needs)

    def fast(left: Array, right: Array) -> Iterator[tuple[str, Array]]:
        a, b = (x.reshape(N, 4).astype(np.float64) for x in (left, right))
        made = [np.sqrt((x**2).sum(1)) for x in (a, a[:, :3], a - b, (a - b)[:, :2])]
        yield "length and distance", np.stack(made, 1).ravel()
        yield "normalize", (a / made[0][:, None]).ravel()

    def floats() -> list[Array]:
        return [np.random.default_rng(seed).uniform(-5, 5, 4 * N).astype(np.float32) for seed in (27, 28)]

    yield row_case("geometric", "fast", np.float32, floats, fast, rtol=5e-3)


def _made() -> Iterator[Case]:
    for name, dtype in (("float", np.float32), ("double", np.float64)):
        for make in (_exponential, _trigonometric, _smaller, _pieces):
            yield from make(name, dtype)
    yield from _others()
    yield from _geometric()


CASES = tuple(_made())
