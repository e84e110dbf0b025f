"""What functions of reals are, to far more digits than any format has; and how far off a result is."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from mpmath import mp, mpf

Array = np.ndarray
PRECISION = 160

# By C's rules for infinities, NaNs and signed zeros, to about the precision of doubles.
C_RULES: dict[str, Callable[..., Array]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "exp10": lambda x: np.power(10.0, x),
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinpi": lambda x: np.arcsin(x) / np.pi,
    "acospi": lambda x: np.arccos(x) / np.pi,
    "atanpi": lambda x: np.arctan(x) / np.pi,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "cbrt": np.cbrt,
    "erf": lambda x: each(math.erf, x),
    "erfc": lambda x: each(math.erfc, x),
    "tgamma": lambda x: each(gamma, x),
    "lgamma": lambda x: each(lgamma, x),
    "sinpi": lambda x: each(sinpi, x),
    "cospi": lambda x: each(cospi, x),
    "tanpi": lambda x: each(tanpi, x),
    "pow": np.power,
    "powr": lambda x, y: powr(x, y),
    "atan2": np.arctan2,
    "atan2pi": lambda y, x: np.arctan2(y, x) / np.pi,
    "hypot": np.hypot,
    "pown": np.power,
    "rootn": lambda x, n: rootn(x, n),
}

EXACTLY: dict[str, Callable[..., mpf]] = {
    "exp10": lambda x: mpf(10) ** x,
    "exp2": lambda x: mpf(2) ** x,
    "log2": lambda x: mp.log(x) / mp.ln2,
    "log10": lambda x: mp.log(x) / mp.ln10,
    "asinpi": lambda x: mp.asin(x) / mp.pi,
    "acospi": lambda x: mp.acos(x) / mp.pi,
    "atanpi": lambda x: mp.atan(x) / mp.pi,
    "atan2pi": lambda y, x: mp.atan2(y, x) / mp.pi,
    "rsqrt": lambda x: 1 / mp.sqrt(x),
    "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    "tgamma": mp.gamma,
    "lgamma": lambda x: mp.log(abs(mp.gamma(x))) if abs(x) < 100 else mp.re(mp.loggamma(x)),
    "tanpi": lambda x: mp.sinpi(x) / mp.cospi(x),
    "pow": lambda x, y: abs(x) ** y * (-1 if x < 0 and mp.fmod(y, 2) != 0 else 1),
    "powr": lambda x, y: mpf(x) ** y,
    "pown": lambda x, n: abs(x) ** n * (-1 if x < 0 and mp.fmod(n, 2) != 0 else 1),
    "rootn": lambda x, n: mp.sign(x) * abs(x) ** (mpf(1) / n),
}


def each(function: Callable[[float], float], x: Array) -> Array:
    return np.array([function(float(value)) for value in x])


def _guarded(function: Callable[[float], float], x: float, otherwise: float) -> float:
    try:
        return function(x)
    except OverflowError:
        return math.inf
    except ValueError:
        return otherwise


def gamma(x: float) -> float:
    return math.copysign(math.inf, x) if abs(x) < 1e-308 else _guarded(math.gamma, x, math.nan)


def lgamma(x: float) -> float:
    return _guarded(math.lgamma, x, math.inf)


def sinpi(x: float) -> float:
    if not math.isfinite(x):
        return math.nan
    rest = math.fmod(x, 2.0)
    if rest == int(rest):
        return math.copysign(0.0, x)
    return float(mp.sinpi(mpf(rest)))


def cospi(x: float) -> float:
    if not math.isfinite(x):
        return math.nan
    return abs(float(mp.cospi(mpf(x)))) if math.fmod(x, 1.0) in (0.5, -0.5) else float(mp.cospi(mpf(x)))


def tanpi(x: float) -> float:
    if not math.isfinite(x):
        return math.nan
    rest = math.fmod(x, 2.0)
    if rest == int(rest):
        return math.copysign(0.0, x if rest == 0 else -x)
    if math.fmod(x, 1.0) in (0.5, -0.5):
        return math.inf if math.floor(x) % 2 == 0 else -math.inf
    return float(mp.sinpi(mpf(rest)) / mp.cospi(mpf(rest)))


def powr(x: Array, y: Array) -> Array:
    none = (x < 0) | np.isnan(x) | np.isnan(y)
    none |= (y == 0) & ((x == 0) | np.isinf(x)) | ((x == 1) & np.isinf(y))
    return np.where(none, np.nan, np.power(np.abs(x), y))


def rootn(x: Array, n: Array) -> Array:
    odd = np.fmod(n, 2) != 0
    size = np.power(np.abs(x), 1 / n)
    signed = np.where(np.signbit(x) & odd, -size, size)
    return np.where((n == 0) | ((x < 0) & ~odd), np.nan, signed)


def wanted(name: str, *operands: Array, exact: bool) -> tuple[Array, Array]:
    """The function's value as a sum of two doubles. Where the first is finite and not zero, and if `exact` is asked
    for, the sum has some hundred bits.
    """
    with np.errstate(all="ignore"):
        given = [operand.astype(np.float64) for operand in operands]
        high = np.array(C_RULES[name](*given), np.float64)
    low = np.zeros_like(high)
    if exact:
        function = EXACTLY.get(name) or getattr(mp, name)
        with mp.workprec(PRECISION):
            # It knows no signed zeros and treats infinities otherwise; with such operands the first double is right.
            usual = np.all([np.isfinite(operand) & (operand != 0) for operand in given], axis=0)
            for at in np.nonzero(np.isfinite(high) & (high != 0) & usual)[0]:
                value = function(*(mpf(float(operand[at])) for operand in given))
                high[at] = as_float(value)
                low[at] = float(value - mpf(high[at])) if np.isfinite(high[at]) else 0.0
    return high, low


def as_float(value: mpf) -> float:
    return float(value) if abs(value) < mpf(2) ** 1024 else math.copysign(math.inf, float(mp.sign(value)))


def errors(got: Array, high: Array, low: Array) -> Array:
    """In units of the last place of the right value. What rounds to the same number is no error; a zero of the wrong
    sign, and an infinity or NaN where none should be, are infinitely wrong.
    """
    info = np.finfo(got.dtype)
    with np.errstate(all="ignore"):
        right = high.astype(got.dtype)
        exponent = np.frexp(np.where(np.isfinite(high), high, 1.0))[1] - 1
        unit = np.ldexp(1.0, np.maximum(exponent, info.minexp) - info.nmant)
        unit = np.where(high == 0, float(info.smallest_subnormal), unit)
        found = np.abs((got.astype(np.float64) - high) - low) / unit
        same = (got == right) | (np.isnan(got) & np.isnan(right))
        found = np.where(same, np.minimum(np.nan_to_num(found, nan=0.0, posinf=0.0), 0.5), found)
        # An overflow is as good as the largest number where a few units decide between them.
        edge = np.isinf(got) & (np.abs(high) > float(info.max) * (1 - 16 * float(info.eps))) & (got * high > 0)
        found = np.where(edge, 0.0, found)
        found = np.where((got == 0) & (right == 0) & (np.signbit(got) != np.signbit(right)), np.inf, found)
    return np.nan_to_num(found, nan=np.inf)
