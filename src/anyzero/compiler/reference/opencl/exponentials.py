"""Exponentials, logarithms, powers, roots, and the functions of statistics."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal

from anyzero.compiler.reference.numbers import ROUND, quotient, signed
from anyzero.compiler.reference.opencl.table import Real, real, sized, two_results
from anyzero.compiler.reference.opencl.trigonometry import inside
from anyzero.compiler.spirv.tables import OpenCL as Cl

_PRECISE = Context(prec=50, Emin=-9999, Emax=9999)


def _growing(compute: Callable[[float], float]) -> Real:
    def of(x: float) -> float:
        try:
            return compute(x)
        except OverflowError:
            return math.inf

    return of


def _logarithm(compute: Callable[[float], float], pole: float = 0.0) -> Real:
    """A logarithm; minus infinity at its pole."""
    safe = inside(compute)
    return lambda x: -math.inf if x == pole else safe(x)


def _is_odd(y: float) -> bool:
    return math.isfinite(y) and math.fmod(y, 2.0) in (1.0, -1.0)


def pow_(x: float, y: float) -> float:
    try:
        return math.pow(x, y)
    except ValueError:
        if x != 0.0:
            return math.nan
        return math.copysign(math.inf, x) if _is_odd(y) else math.inf
    except OverflowError:
        return -math.inf if x < 0.0 and _is_odd(y) else math.inf


def powr(x: float, y: float) -> float:
    """Power of non-negative numbers, with the NaN cases of exp(y * log(x))."""
    if x < 0.0 or x != x or y != y:
        return math.nan
    if (y == 0.0 and (x == 0.0 or math.isinf(x))) or (x == 1.0 and math.isinf(y)):
        return math.nan
    return pow_(abs(x), y)


def root(x: float, n: int) -> float:
    """The n-th root, correctly rounded; pow(x, 1/n) would not be, because 1/n is inexact."""
    if n == 0 or x != x or (x < 0.0 and n % 2 == 0):
        return math.nan
    odd = n % 2 != 0
    if x == 0.0 or math.isinf(x):
        size = math.inf if (x == 0.0) == (n < 0) else 0.0
        return math.copysign(size, x) if odd else size
    exponent = _PRECISE.divide(_PRECISE.ln(Decimal(abs(x))), Decimal(n))
    return math.copysign(float(_PRECISE.exp(exponent)), x)


def sqrt(x: float) -> float:
    return math.sqrt(x) if not x < 0.0 else math.nan


def rsqrt(x: float) -> float:
    return quotient(1.0, sqrt(x))


def _tgamma(x: float) -> float:
    if x == 0.0:
        return math.copysign(math.inf, x)
    try:
        return math.gamma(x)
    except ValueError:
        return math.nan
    except OverflowError:
        # Between the negative poles it overflows only for tiny x.
        return math.copysign(math.inf, x) if abs(x) < 1.0 else math.inf


def lgamma(x: float) -> float:
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):
        return math.inf


def _sign_of_gamma(x: float) -> int:
    if x == 0.0:
        return -1 if math.copysign(1.0, x) < 0.0 else 1
    return -1 if x < 0.0 and math.isfinite(x) and math.floor(x) % 2 and x != math.floor(x) else 1


_exp, _exp2, _exp10 = _growing(math.exp), _growing(math.exp2), _growing(lambda x: math.pow(10.0, x))
_log, _log2, _log10 = _logarithm(math.log), _logarithm(math.log2), _logarithm(math.log10)

real(
    {
        **dict.fromkeys([Cl.exp, Cl.half_exp, Cl.native_exp], _exp),
        **dict.fromkeys([Cl.exp2, Cl.half_exp2, Cl.native_exp2], _exp2),
        **dict.fromkeys([Cl.exp10, Cl.half_exp10, Cl.native_exp10], _exp10),
        **dict.fromkeys([Cl.log, Cl.half_log, Cl.native_log], _log),
        **dict.fromkeys([Cl.log2, Cl.half_log2, Cl.native_log2], _log2),
        **dict.fromkeys([Cl.log10, Cl.half_log10, Cl.native_log10], _log10),
        **dict.fromkeys([Cl.powr, Cl.half_powr, Cl.native_powr], powr),
        **dict.fromkeys([Cl.sqrt, Cl.half_sqrt, Cl.native_sqrt], sqrt),
        **dict.fromkeys([Cl.rsqrt, Cl.half_rsqrt, Cl.native_rsqrt], rsqrt),
        **dict.fromkeys([Cl.half_recip, Cl.native_recip], lambda x: quotient(1.0, x)),
        **dict.fromkeys([Cl.half_divide, Cl.native_divide], quotient),
        Cl.expm1: _growing(math.expm1),
        Cl.log1p: _logarithm(math.log1p, -1.0),
        Cl.pow: pow_,
        Cl.cbrt: lambda x: root(x, 3),
        Cl.hypot: math.hypot,
        Cl.erf: math.erf,
        Cl.erfc: math.erfc,
        Cl.tgamma: _tgamma,
        Cl.lgamma: lgamma,
    }
)


def _by_integer(compute: Callable[[float, int], float]) -> Callable[[int], Callable[[float, int], float]]:
    """The exponent is a 32-bit integer."""

    def of(width: int) -> Callable[[float, int], float]:
        fit = ROUND[width]
        return lambda x, n: fit(compute(x, signed(n, 32)))

    return of


sized({Cl.pown: _by_integer(lambda x, n: pow_(x, float(n))), Cl.rootn: _by_integer(root)})


def _lgamma_r(width: int) -> Callable[[float], tuple[float, int]]:
    fit = ROUND[width]
    return lambda x: (fit(lgamma(x)), _sign_of_gamma(x))


two_results({Cl.lgamma_r: _lgamma_r})
