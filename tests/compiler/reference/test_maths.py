"""OpenCL's functions of floating-point numbers, against numpy in a higher precision and at their edges."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.compiler.reference.kernels import Array, compute, same_bits

RANDOM = np.random.default_rng(5)
NAN, INF = math.nan, math.inf


def library(name: str, *operands: Array, dtype: Any = None, count: int | None = None) -> Array:
    result = np.dtype(dtype) if dtype is not None else operands[0].dtype
    words = {2: "f16", 4: "f32", 8: "f64"} if result.kind == "f" else {4: "i32", 8: "i64"}
    components = count or (operands[0].shape[1] if operands[0].ndim > 1 else 1)
    scalar = words[result.itemsize]
    type_ = scalar if components == 1 else f"v{components}{scalar}"
    names = " ".join(f"%{name}" for name in "abc"[: len(operands)])
    return compute(f"%r = OpExtInst %{type_} %cl {name} {names}", result, *operands, count=count)


def ulps(found: Array, exact: Array) -> float:
    """How far away the farthest result is, in units of the last place."""
    with np.errstate(all="ignore"):
        nearest = exact.astype(found.dtype)
        same = (found == nearest) | (np.isnan(found) & np.isnan(nearest))
        unit = np.spacing(np.abs(nearest)).astype(np.float64)
        distance = np.abs(found.astype(np.float64) - exact.astype(np.float64)) / unit
    return float(np.max(np.where(same, 0.0, np.where(np.isfinite(distance), distance, INF)), initial=0.0))


def values(low: float, high: float, count: int = 50) -> Array:
    return np.concatenate([np.linspace(low, high, count), RANDOM.uniform(low, high, count)])


POSITIVE = 10.0 ** values(-20, 20)
UNARY: list[tuple[str, Callable[[Any], Any], Array]] = [
    ("sin", np.sin, values(-100, 100)),
    ("cos", np.cos, values(-100, 100)),
    ("tan", np.tan, values(-100, 100)),
    ("asin", np.arcsin, values(-1, 1)),
    ("acos", np.arccos, values(-1, 1)),
    ("atan", np.arctan, values(-50, 50)),
    ("sinh", np.sinh, values(-80, 80)),
    ("cosh", np.cosh, values(-80, 80)),
    ("tanh", np.tanh, values(-9, 9)),
    ("asinh", np.arcsinh, values(-1e6, 1e6)),
    ("acosh", np.arccosh, values(1, 1e6)),
    ("atanh", np.arctanh, values(-1, 1)),
    ("asinpi", lambda x: np.arcsin(x) / np.pi, values(-1, 1)),
    ("acospi", lambda x: np.arccos(x) / np.pi, values(-1, 1)),
    ("atanpi", lambda x: np.arctan(x) / np.pi, values(-50, 50)),
    ("exp", np.exp, values(-80, 80)),
    ("exp2", np.exp2, values(-100, 100)),
    ("exp10", lambda x: 10.0**x, values(-30, 30)),
    ("expm1", np.expm1, values(-3, 3)),
    ("log", np.log, POSITIVE),
    ("log2", np.log2, POSITIVE),
    ("log10", np.log10, POSITIVE),
    ("log1p", np.log1p, values(-0.99, 10)),
    ("sqrt", np.sqrt, POSITIVE),
    ("rsqrt", lambda x: 1 / np.sqrt(x), POSITIVE),
    ("cbrt", np.cbrt, values(-1000, 1000)),
    ("degrees", np.degrees, values(-10, 10)),
    ("radians", np.radians, values(-1000, 1000)),
    ("erf", np.vectorize(math.erf), values(-4, 4)),
    ("erfc", np.vectorize(math.erfc), values(-4, 8)),
    ("tgamma", np.vectorize(math.gamma), values(0.1, 30)),
    ("lgamma", np.vectorize(math.lgamma), values(0.1, 30)),
]


@pytest.mark.parametrize(("name", "exact", "x"), UNARY, ids=[each[0] for each in UNARY])
def test_functions_of_one_number(name: str, exact: Callable[[Any], Any], x: Array) -> None:
    single = x.astype(np.float32)
    with np.errstate(all="ignore"):
        assert ulps(library(name, single), exact(single.astype(np.float64))) <= 0.501
        assert ulps(library(name, x), exact(x)) <= 4.0
        half = x.astype(np.float16)
        assert ulps(library(name, half), exact(half.astype(np.float64))) <= 0.501


@pytest.mark.parametrize("name", ["sin", "cos", "tan", "exp", "exp2", "exp10", "log", "log2", "log10", "sqrt", "rsqrt"])
def test_faster_functions_are_no_less_exact(name: str) -> None:
    x = np.linspace(0.1, 3, 20, dtype=np.float32)
    exact = library(name, x)
    assert same_bits(library(f"native_{name}", x), exact)
    assert same_bits(library(f"half_{name}", x), exact)


def test_quotients() -> None:
    x, y = np.array([1, 3, -2, 0], np.float32), np.array([3, 7, 0, 0], np.float32)
    with np.errstate(all="ignore"):
        for name in ("half_divide", "native_divide"):
            np.testing.assert_array_equal(library(name, x, y), x / y)
        for name in ("half_recip", "native_recip"):
            np.testing.assert_array_equal(library(name, y), np.float32(1) / y)


EDGES: list[tuple[str, list[tuple[float, ...]]]] = [
    ("sinpi", [(0.0, 0.0), (-0.0, -0.0), (1, 0.0), (-3, -0.0), (0.5, 1), (1.5, -1), (-0.5, -1), (INF, NAN)]),
    ("cospi", [(0, 1), (1, -1), (0.5, 0.0), (-1.5, 0.0), (2, 1), (1e8, 1), (INF, NAN)]),
    ("tanpi", [(-0.0, -0.0), (1, -0.0), (2, 0.0), (-1, 0.0), (0.5, INF), (1.5, -INF), (-0.5, -INF), (0.25, 1)]),
    ("asin", [(2, NAN), (-0.0, -0.0)]),
    ("acos", [(1, 0.0), (-2, NAN)]),
    ("acosh", [(0.5, NAN), (1, 0.0)]),
    ("atanh", [(1, INF), (-1, -INF), (2, NAN)]),
    ("sin", [(INF, NAN), (-0.0, -0.0)]),
    ("exp", [(-INF, 0.0), (INF, INF), (1000, INF), (NAN, NAN)]),
    ("exp10", [(2, 100), (1000, INF)]),
    ("expm1", [(-0.0, -0.0), (-INF, -1), (1000, INF)]),
    ("log", [(0, -INF), (-0.0, -INF), (-1, NAN), (INF, INF), (1, 0.0)]),
    ("log2", [(8, 3), (0, -INF)]),
    ("log1p", [(-1, -INF), (-2, NAN), (-0.0, -0.0)]),
    ("sqrt", [(-0.0, -0.0), (-1, NAN), (INF, INF)]),
    ("rsqrt", [(0, INF), (-1, NAN), (INF, 0.0)]),
    ("cbrt", [(27, 3), (-8, -2), (-0.0, -0.0), (INF, INF)]),
    ("sinh", [(1000, INF), (-1000, -INF)]),
    ("cosh", [(1000, INF), (-1000, INF)]),
    ("tgamma", [(0.0, INF), (-0.0, -INF), (-1, NAN), (5, 24), (1000, INF), (-INF, NAN)]),
    ("lgamma", [(1, 0.0), (0, INF), (-3, INF), (INF, INF)]),
    ("floor", [(-0.5, -1), (1.5, 1), (-0.0, -0.0), (INF, INF), (1e30, 1e30)]),
    ("ceil", [(-0.5, -0.0), (1.5, 2)]),
    ("trunc", [(-1.7, -1), (1.7, 1), (-0.2, -0.0)]),
    ("rint", [(0.5, 0.0), (1.5, 2), (2.5, 2), (-0.5, -0.0)]),
    ("round", [(0.5, 1), (2.5, 3), (-0.5, -1), (-2.5, -3), (0.49999997, 0.0), (-0.2, -0.0), (1.2, 1), (-3.4, -3)]),
    ("logb", [(8, 3), (0.3, -2), (0, -INF), (-INF, INF), (1e-40, -133)]),
    ("sign", [(-3, -1), (2, 1), (-0.0, -0.0), (NAN, 0.0)]),
    ("fabs", [(-2, 2), (-0.0, 0.0), (-INF, INF)]),
    ("pow", [(2, 10, 1024), (-2, 3, -8), (-2, 0.5, NAN), (0, -1, INF), (-0.0, -3, -INF), (1, NAN, 1), (NAN, 0, 1)]),
    ("pow", [(-1, INF, 1), (-10, 101, -INF), (10, 1000, INF), (-0.0, -2, INF), (0, 2, 0.0)]),
    ("powr", [(2, 3, 8), (-2, 2, NAN), (0, 0, NAN), (INF, 0, NAN), (1, INF, NAN), (0, -1, INF), (-0.0, -1, INF)]),
    ("atan2", [(1, 1, math.pi / 4), (0.0, -1, math.pi), (-0.0, -1, -math.pi), (0.0, 0.0, 0.0)]),
    ("atan2pi", [(1, 1, 0.25), (0.0, -1, 1), (-1, 0.0, -0.5)]),
    ("hypot", [(3, 4, 5), (INF, NAN, INF), (1e30, 1e30, math.hypot(1e30, 1e30))]),
    ("fmod", [(5.5, 2, 1.5), (-5.5, 2, -1.5), (1, 0, NAN), (INF, 1, NAN), (1, INF, 1), (-0.0, 1, -0.0)]),
    ("remainder", [(5, 2, 1), (7, 2, -1), (5, 3, -1), (1, 0, NAN), (1, INF, 1), (-6, 3, -0.0)]),
    ("fmax", [(1, 2, 2), (NAN, 1, 1), (1, NAN, 1), (NAN, NAN, NAN), (-0.0, 0.0, 0.0)]),
    ("fmin", [(1, 2, 1), (NAN, 1, 1), (1, NAN, 1), (0.0, -0.0, -0.0)]),
    ("fmax_common", [(1, 2, 2), (3, -1, 3)]),
    ("fmin_common", [(1, 2, 1), (3, -1, -1)]),
    ("maxmag", [(1, -2, -2), (2, -2, 2), (NAN, 1, 1)]),
    ("minmag", [(1, -2, 1), (2, -2, -2), (1, NAN, 1)]),
    ("fdim", [(3, 1, 2), (1, 3, 0.0), (NAN, 1, NAN)]),
    ("copysign", [(1, -0.0, -1), (-INF, 2, INF)]),
    ("nextafter", [(0.0, 1, 2.0**-149), (-0.0, -1, -(2.0**-149)), (1, 2, 1 + 2.0**-23), (1, 1, 1), (1, NAN, NAN)]),
    ("nextafter", [(2.0**-149, -1, 0.0), (float(np.finfo(np.float32).max), INF, INF), (-1, INF, -1 + 2.0**-24)]),
    ("step", [(1, 0.5, 0.0), (1, 1, 1)]),
    ("fclamp", [(5, 0, 1, 1), (-5, 0, 1, 0.0), (0.5, 0, 1, 0.5)]),
    ("mix", [(1, 3, 0.5, 2), (1, 3, 0, 1)]),
    ("smoothstep", [(0, 1, 0.5, 0.5), (0, 1, 2, 1), (0, 1, -1, 0.0)]),
    ("fma", [(2, 3, 4, 10), (1e30, 1e30, -INF, -INF), (0.0, -1, 0.0, 0.0), (0.0, -1, -0.0, -0.0), (INF, 0, 1, NAN)]),
]


@pytest.mark.parametrize(("name", "rows"), EDGES, ids=[each[0] for each in EDGES])
def test_edges(name: str, rows: list[tuple[float, ...]]) -> None:
    for row in rows:
        operands = [np.array([each], np.float32) for each in row[:-1]]
        found, expected = library(name, *operands)[0], np.float32(row[-1])
        assert found == expected or (np.isnan(found) and np.isnan(expected)), (name, row, found)
        assert expected != 0 or np.signbit(found) == np.signbit(expected), (name, row)


def test_products_and_sums_are_rounded_once() -> None:
    for dtype in (np.float16, np.float32, np.float64):
        operands: list[Array] = [RANDOM.standard_normal(200).astype(dtype) for _ in range(3)]
        a, b, c = operands
        # Cancellation shows whether the product was rounded.
        c[::2] = -(a * b)[::2]
        exact = [Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)) for x, y, z in zip(a, b, c, strict=True)]
        found = library("fma", a, b, c)
        if dtype == np.float64:
            assert found.tolist() == [float(each) for each in exact]
        else:
            digits = {2: 11, 4: 24}[np.dtype(dtype).itemsize]
            for value, each in zip(found.tolist(), exact, strict=True):
                if each:
                    exponent = max(math.frexp(float(each))[1] - digits, {11: -24, 24: -149}[digits])
                    error = abs(Fraction(value) - each)
                    assert error <= Fraction(2) ** exponent / 2
                else:
                    assert value == 0


def test_powers_by_integers() -> None:
    x = np.array([2, -2, -2, 0.0, -0.0, NAN, 1.5], np.float32)
    n = np.array([10, 3, -1, -2, -3, 0, -5], np.int32)
    expected = np.array([1024, -8, -0.5, INF, -INF, 1, 1.5**-5], np.float32)
    assert same_bits(library("pown", x, n), expected)


def test_roots_by_integers() -> None:
    x = np.array([27, -27, 4, -4, 0.0, -0.0, -0.0, INF, 8, 5], np.float64)
    n = np.array([3, 3, -2, 2, -2, -3, 4, -1, 0, 7], np.int32)
    found = library("rootn", x, n)
    expected = [3, -3, 0.5, NAN, INF, -INF, 0.0, 0.0, NAN]
    np.testing.assert_array_equal(found[:9], expected)
    assert abs(Fraction(found[9]) ** 7 - 5) < Fraction(1, 2**48)


def test_scaling_by_powers_of_two() -> None:
    x = np.array([1, 1.5, 1, 1, -1, INF], np.float32)
    n = np.array([4, -1, -149, 1000, 1000, 3], np.int32)
    assert library("ldexp", x, n).tolist() == [16, 0.75, 2.0**-149, INF, -INF, INF]
    # Half of the smallest number goes to zero, a little more does not.
    assert library("ldexp", np.array([1, 1.5], np.float32), np.array([-150, -150], np.int32)).tolist() == [0, 2.0**-149]


def test_exponents() -> None:
    x = np.array([8, 0.3, 0, NAN, INF, 1e-40], np.float32)
    assert library("ilogb", x, dtype=np.int32).tolist() == [3, -2, -(2**31), 2**31 - 1, 2**31 - 1, -133]


def test_nans_have_a_payload() -> None:
    code = np.array([0, 5, 0xFFFFFFFF], np.uint32)
    found = library("nan", code, dtype=np.float32).view(np.uint32)
    assert found.tolist() == [0x7FC00000, 0x7FC00005, 0x7FFFFFFF]


def second(name: str, store: str, *operands: Array, kind: Any = None) -> tuple[list[Any], list[Any]]:
    """The result, and what was stored through the pointer."""
    names = " ".join(f"%{name}" for name in "abc"[: len(operands)])
    lines = f"""
        %first = OpExtInst %f32 %cl {name} {names} %out
        %stored = OpLoad %{store} %out
        %bits = OpBitcast %i32 %stored
        %word = OpBitcast %i32 %first
        %r = OpCompositeConstruct %v2i32 %word %bits"""
    declarations = f"%out = OpVariable %global_{store} CrossWorkgroup"
    found = compute(lines, np.uint32, *operands, count=2, declarations=declarations)
    result, stored = np.ascontiguousarray(found[:, 0]), np.ascontiguousarray(found[:, 1])
    return result.view(np.float32).tolist(), stored.view(np.float32 if store == "f32" else np.int32).tolist()


def test_functions_with_two_results() -> None:
    x = np.array([1.25, -1.25, 3.0], np.float32)
    assert second("fract", "f32", x) == ([0.25, 0.75, 0.0], [1, -2, 3])
    assert second("modf", "f32", x) == ([0.25, -0.25, 0.0], [1, -1, 3])
    assert second("frexp", "i32", x) == ([0.625, -0.625, 0.75], [1, 1, 2])
    sine, cosine = second("sincos", "f32", x)
    assert np.allclose(sine, np.sin(x.astype(np.float64)), rtol=1e-7)
    assert np.allclose(cosine, np.cos(x.astype(np.float64)), rtol=1e-7)
    gamma, sign = second("lgamma_r", "i32", np.array([0.5, -0.5, -1.5, 2.5], np.float32))
    assert sign == [1, -1, 1, 1]
    assert np.allclose(gamma, [math.lgamma(each) for each in (0.5, -0.5, -1.5, 2.5)], rtol=1e-6)
    rest, times = second("remquo", "i32", np.array([7, -7, 1000], np.float32), np.array([2, 2, 7], np.float32))
    assert rest == [-1, 1, -1]
    assert times == [4, -4, 143 & 0x7F]


def test_a_fraction_is_less_than_one() -> None:
    found, _ = second("fract", "f32", np.array([-1e-10], np.float32))
    assert found == [1 - 2.0**-24]


def test_two_results_of_vectors() -> None:
    x = np.array([[1.25, -2.5, 8.0, 0.3]], np.float32)
    lines = """
        %first = OpExtInst %v4f32 %cl frexp %a %out
        %r = OpLoad %v4i32 %out"""
    declarations = """
        %to_v4 = OpTypePointer CrossWorkgroup %v4i32
        %out = OpVariable %to_v4 CrossWorkgroup"""
    assert compute(lines, np.int32, x, declarations=declarations).tolist() == [[1, 2, 4, -1]]


def test_points_in_space() -> None:
    a, b = np.array([[3, 0, 4, 0]], np.float32), np.array([[0, 2, 4, 0]], np.float32)
    for prefix in ("", "fast_"):
        assert library(f"{prefix}length", a, count=1).tolist() == [5]
        assert library(f"{prefix}distance", a, b, count=1).tolist() == [np.float32(math.sqrt(13))]
        assert library(f"{prefix}normalize", a).tolist() == [[np.float32(0.6), 0, np.float32(0.8), 0]]
    assert library("cross", a, b).tolist() == [[-8, -12, 6, 0]]
    three = library("cross", a[:, :3].copy(), b[:, :3].copy())
    assert three.tolist() == [[-8, -12, 6]]
    assert library("length", np.array([-2], np.float32)).tolist() == [2]
    assert library("length", np.array([[1e-30, 1e-30]], np.float32), count=1)[0] > 0


def test_directions_of_what_is_hard_to_scale() -> None:
    a = np.array([[0, 0, 0, 0], [INF, 1, -INF, 0], [1e38, 1e38, 0, 0], [1e-44, 0, 0, 0]], np.float32)
    root = np.float32(math.sqrt(0.5))
    found = library("normalize", a)
    expected: Any = [[0] * 4, [root, 0, -root, 0], [root, root, 0, 0], [1, 0, 0, 0]]
    np.testing.assert_allclose(found, expected, rtol=1e-7)
