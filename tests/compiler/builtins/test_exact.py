"""Functions that have no rounding error, or one that is given to the bit."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from tests.compiler.builtins import samples
from tests.compiler.builtins.machine import DTYPES, compiled, unfused

Array = np.ndarray
REALS = ["half", "float", "double"]
ONE = pytest.mark.parametrize("element", REALS)


def spread(element: str, arity: int) -> list[Array]:
    """Edges with edges, numbers of all sizes, and numbers near each other."""
    edges = samples.edges(element)
    axes = [axis.ravel() for axis in np.meshgrid(*[edges] * min(arity, 2))]
    axes += [np.roll(axes[0], 7)] if arity == 3 else []
    everywhere = [samples.of_all_sizes(element, 3000, seed)[:2500] for seed in range(10, 10 + arity)]
    near = [samples.within(element, -30, 30, 3000, seed) for seed in range(20, 20 + arity)]
    return [np.concatenate(parts) for parts in zip(axes, everywhere, near, strict=True)]


def same(got: Array, right: Array, *operands: Array) -> None:
    """To the bit, zeros' signs as well; any NaN is as good as another."""
    assert got.dtype == right.dtype
    with np.errstate(all="ignore"):
        alike = (got == right) & ((got != 0) | (np.signbit(got) == np.signbit(right)))
        alike |= np.isnan(got) & np.isnan(right)
    wrong = np.nonzero(~alike)[0]
    shown = [([operand[at] for operand in operands], got[at], right[at]) for at in wrong[:5]]
    assert not len(wrong), f"{len(wrong)} wrong, such as {shown}"


def nearest_away(x: Array) -> Array:
    wide = x.astype(np.float64)
    whole = np.trunc(wide)
    return np.copysign(np.where(np.abs(wide - whole) >= 0.5, whole + np.sign(wide), whole), x).astype(x.dtype)


def by_size(x: Array, y: Array, first: Callable[[Array, Array], Array], choose: Callable[..., Array]) -> Array:
    a, b = np.abs(x), np.abs(y)
    return np.where(first(a, b), x, np.where(first(b, a), y, choose(x, y)))


def sign(x: Array) -> Array:
    return np.where(np.isnan(x), 0, np.where(x == 0, x, np.copysign(1, x))).astype(x.dtype)


SIMPLE: dict[str, tuple[int, Callable[..., Array]]] = {
    "fabs": (1, np.abs),
    "floor": (1, np.floor),
    "ceil": (1, np.ceil),
    "trunc": (1, np.trunc),
    "rint": (1, np.rint),
    "round": (1, nearest_away),
    "sqrt": (1, np.sqrt),
    "sign": (1, sign),
    "copysign": (2, np.copysign),
    "nextafter": (2, lambda x, y: np.where(x == y, y, np.nextafter(x, y))),
    "step": (2, lambda edge, x: np.where(x < edge, 0, 1).astype(x.dtype)),
    "fdim": (2, lambda x, y: np.where(x <= y, np.zeros_like(x), x - y)),
}
# A zero of either sign will do where both are operands.
CHOICES: dict[str, tuple[int, Callable[..., Array]]] = {
    "fmin": (2, np.fmin),
    "fmax": (2, np.fmax),
    "maxmag": (2, lambda x, y: by_size(x, y, np.greater, np.fmax)),
    "minmag": (2, lambda x, y: by_size(x, y, np.less, np.fmin)),
    "fclamp": (3, lambda x, low, high: np.fmin(np.fmax(x, low), high)),
}
TESTED = {
    *SIMPLE,
    *CHOICES,
    *("fmin_common", "fmax_common", "fma", "mad", "fmod", "remainder", "remquo", "ldexp", "frexp", "modf", "fract"),
    *("ilogb", "logb", "nan"),
}


@ONE
@pytest.mark.parametrize("name", SIMPLE)
def test_simple_functions(name: str, element: str) -> None:
    arity, right = SIMPLE[name]
    operands = spread(element, arity)
    with np.errstate(all="ignore"):
        same(compiled(name, element)(*operands)[0], right(*operands), *operands)


@ONE
@pytest.mark.parametrize("name", CHOICES)
def test_choices(name: str, element: str) -> None:
    arity, right = CHOICES[name]
    operands = spread(element, arity)
    with np.errstate(all="ignore"):
        same(compiled(name, element)(*operands)[0] + 0, right(*operands) + 0, *operands)


@ONE
def test_common_choices(element: str) -> None:
    x, y = spread(element, 2)
    ordered = ~(np.isnan(x) | np.isnan(y))
    x, y = x[ordered], y[ordered]
    same(compiled("fmin_common", element)(x, y)[0] + 0, np.minimum(x, y) + 0, x, y)
    same(compiled("fmax_common", element)(x, y)[0] + 0, np.maximum(x, y) + 0, x, y)


def rounded(value: Fraction, element: str) -> float:
    """The nearest number of the format, ties to even, by integers alone."""
    info = np.finfo(DTYPES[element])
    size = abs(value)
    exponent = max(size.numerator.bit_length() - size.denominator.bit_length(), info.minexp)
    while Fraction(2) ** exponent > size and exponent > info.minexp:
        exponent -= 1
    while Fraction(2) ** (exponent + 1) <= size:
        exponent += 1
    unit = Fraction(2) ** (exponent - info.nmant)
    whole = round(size / unit) * unit
    number = math.inf if whole > Fraction(float(info.max)) else float(whole)
    return -number if value < 0 else number


@ONE
def test_fma_rounds_once(element: str) -> None:
    operands = [x[-4000:] for x in spread(element, 3)]
    dtype = DTYPES[element]
    # Products beside a sum that almost undoes them, and ones that end just beside a tie.
    ulp = float(np.finfo(dtype).eps)
    ties = [[1 + ulp, 1 + ulp, -1.0], [1 + ulp, 1.0, ulp / 2], [1 + ulp, 1 + ulp / 2, float(np.finfo(dtype).tiny)]]
    operands = [
        np.concatenate([x, np.array(extra, dtype)]) for x, extra in zip(operands, np.transpose(ties), strict=True)
    ]
    finite = np.all([np.isfinite(x) for x in operands], axis=0)
    x, y, z = (each[finite] for each in operands)
    exact = [Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c)) for a, b, c in zip(x, y, z, strict=True)]
    right = np.array([rounded(value, element) if value else 0.0 for value in exact]).astype(dtype)
    same(compiled("fma", element)(x, y, z)[0] + dtype(0), right + dtype(0), x, y, z)


@ONE
def test_mad_is_about_right(element: str) -> None:
    x, y, z = (samples.within(element, 1, 2, 1000, seed) for seed in range(3))
    right = x.astype(np.float64) * y + z
    assert np.max(np.abs(compiled("mad", element)(x, y, z)[0] / right - 1)) <= 2 * float(np.finfo(x.dtype).eps)


def remainders(x: Array, y: Array, function: Callable[[float, float], float]) -> Array:
    found = []
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        none = math.isnan(a) or math.isnan(b) or math.isinf(a) or b == 0
        found.append(math.nan if none else function(a, b))
    return np.array(found).astype(x.dtype)


@ONE
@pytest.mark.parametrize("name", ["fmod", "remainder"])
def test_remainders(name: str, element: str) -> None:
    x, y = spread(element, 2)
    right = remainders(x, y, math.fmod if name == "fmod" else math.remainder)
    same(compiled(name, element)(x, y)[0], right, x, y)


@ONE
@pytest.mark.parametrize("name", ["fmod", "remainder"])
@pytest.mark.parametrize("size", [1.0, 100.0, 2.0**9, 2.0**22])
def test_remainders_where_one_division_is_enough(name: str, element: str, size: float) -> None:
    """Every lane's quotient is small; some are whole, a little less than that, or halves."""
    if element == "half" and size > 1000:
        size = 8.0
    y = samples.within(element, 0.6, 1.2, 4000, 1)
    y[::2] *= -1
    whole = np.trunc(samples.within(element, -size, size, 4000, 2))
    x = np.concatenate([samples.within(element, -size / 2, size / 2, 1000, 3), (whole * y)[1000:]])
    x[2000:3000] = np.nextafter(x[2000:3000], x.dtype.type(0))
    x[3000:] = ((whole + x.dtype.type(0.5)) * y)[3000:]
    right = remainders(x, y, math.fmod if name == "fmod" else math.remainder)
    same(compiled(name, element)(x, y)[0], right, x, y)


@ONE
def test_remainder_with_quotient(element: str) -> None:
    x, y = spread(element, 2)
    rest, quotient = compiled("remquo", element)(x, y)
    same(rest, remainders(x, y, math.remainder), x, y)
    for at, (a, b) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        if math.isfinite(a) and math.isfinite(b) and b != 0:
            count = round(Fraction(a) / Fraction(b))
            assert quotient[at] == (abs(count) & 0x7F) * (1 if count >= 0 else -1), (a, b)
        else:
            assert quotient[at] == 0


@ONE
def test_ldexp(element: str) -> None:
    edges = np.array([0, 1, -1, 5, -5, 24, -24, 150, -150, 1100, -1100, 2200, -2200, 2**31 - 1, -(2**31)], np.int32)
    x, k = (axis.ravel() for axis in np.meshgrid(spread(element, 1)[0][:2000], edges))
    k = k.astype(np.int32)
    # What is far out of range stays so, and numpy's own ldexp of halves rounds twice.
    near = np.clip(k, -5000, 5000)
    with np.errstate(all="ignore"):
        if element == "half":
            right = np.ldexp(x.astype(np.float64), np.clip(k, -900, 900)).astype(np.float16)
        else:
            right = np.ldexp(x, near)
        same(compiled("ldexp", element)(x, k)[0], right, x, k)


@ONE
def test_frexp(element: str) -> None:
    (x,) = spread(element, 1)
    significand, exponent = compiled("frexp", element)(x)
    right, power = np.frexp(x.astype(np.float64))
    same(significand, right.astype(x.dtype), x)
    assert np.array_equal(exponent, np.where(np.isfinite(x), power, 0))


@ONE
def test_exponents(element: str) -> None:
    (x,) = spread(element, 1)
    with np.errstate(all="ignore"):
        power = np.frexp(x.astype(np.float64))[1] - 1
        integers = np.where(x == 0, -(2**31), np.where(np.isfinite(x), power, 2**31 - 1))
        reals = np.where(x == 0, -np.inf, np.where(np.isfinite(x), power, np.abs(x)))
    assert np.array_equal(compiled("ilogb", element)(x)[0], integers)
    same(compiled("logb", element)(x)[0], reals.astype(x.dtype), x)


@ONE
def test_modf(element: str) -> None:
    (x,) = spread(element, 1)
    rest, whole = compiled("modf", element)(x)
    with np.errstate(all="ignore"):
        right = np.where(np.isinf(x), 0, x - np.trunc(x)).astype(x.dtype)
        same(rest, np.copysign(right, x), x)
        same(whole, np.trunc(x), x)


@ONE
def test_fract(element: str) -> None:
    (x,) = spread(element, 1)
    rest, whole = compiled("fract", element)(x)
    below_one = np.nextafter(x.dtype.type(1), x.dtype.type(0))
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64)
        right = np.minimum((wide - np.floor(wide)).astype(x.dtype), below_one)
        right = np.where(np.isinf(x), np.copysign(x.dtype.type(0), x), np.where(x == 0, x, right))
        same(rest, right, x)
        same(whole, np.floor(x), x)


@pytest.mark.parametrize("element", ["i16", "i32", "i64"])
def test_nan_keeps_its_code(element: str) -> None:
    codes = np.array([0, 1, 5, 77, -1, np.iinfo(DTYPES[element]).max], DTYPES[element])
    (got,) = compiled("nan", element)(codes)
    quiet = {"i16": 1 << 9, "i32": 1 << 22, "i64": 1 << 51}[element]
    assert np.isnan(got).all()
    assert np.array_equal(got.view(codes.dtype) & (quiet - 1), codes & (quiet - 1))
    assert (got.view(codes.dtype) & quiet).all()


@pytest.mark.parametrize("element", ["float", "double"])
@pytest.mark.parametrize(("name", "arity"), [("fma", 3), ("fmod", 2), ("remainder", 2)])
def test_processors_without_fused_multiply_adds_give_the_same(name: str, arity: int, element: str) -> None:
    operands = spread(element, arity)
    same(unfused(name, element)(*operands)[0], compiled(name, element)(*operands)[0], *operands)
