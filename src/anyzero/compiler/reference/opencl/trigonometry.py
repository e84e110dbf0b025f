"""Trigonometric and hyperbolic functions."""

from __future__ import annotations

import math
from collections.abc import Callable

from anyzero.compiler.reference.numbers import ROUND
from anyzero.compiler.reference.opencl.table import Real, real, two_results
from anyzero.compiler.spirv.tables import OpenCL as Cl


def inside(compute: Callable[[float], float]) -> Real:
    """NaN outside of the function's domain."""

    def of(x: float) -> float:
        try:
            return compute(x)
        except ValueError:
            return math.nan

    return of


def _overflowing(compute: Callable[[float], float]) -> Real:
    """sinh and cosh overflow on both sides."""

    def of(x: float) -> float:
        try:
            return compute(x)
        except OverflowError:
            return compute(math.copysign(math.inf, x))

    return of


def sinpi(x: float) -> float:
    if not math.isfinite(x):
        return math.nan
    turn = math.fmod(abs(x), 2.0)
    sign = math.copysign(1.0, x)
    if turn > 1.0:
        # Integers keep the sign of x; only the fractional part changes it.
        sign, turn = -sign, turn - 1.0
    if turn in (0.0, 1.0):
        return math.copysign(0.0, x)
    turn = min(turn, 1.0 - turn)
    return sign * (math.sin(math.pi * turn) if turn <= 0.25 else math.cos(math.pi * (0.5 - turn)))


def cospi(x: float) -> float:
    if not math.isfinite(x):
        return math.nan
    turn = math.fmod(abs(x), 2.0)
    turn = min(turn, 2.0 - turn)
    sign = 1.0
    if turn > 0.5:
        sign, turn = -1.0, 1.0 - turn
    if turn == 0.5:
        return 0.0
    return sign * (math.cos(math.pi * turn) if turn <= 0.25 else math.sin(math.pi * (0.5 - turn)))


def tanpi(x: float) -> float:
    if not math.isfinite(x):
        return math.nan
    whole = math.floor(x)
    if x == whole:
        return math.copysign(0.0, -x if whole % 2 else x)
    if x - whole == 0.5:
        return -math.inf if whole % 2 else math.inf
    return sinpi(x) / cospi(x)


def _atanh(x: float) -> float:
    return math.copysign(math.inf, x) if abs(x) == 1.0 else inside(math.atanh)(x)


_sin, _cos, _tan = inside(math.sin), inside(math.cos), inside(math.tan)

real(
    {
        **dict.fromkeys([Cl.sin, Cl.half_sin, Cl.native_sin], _sin),
        **dict.fromkeys([Cl.cos, Cl.half_cos, Cl.native_cos], _cos),
        **dict.fromkeys([Cl.tan, Cl.half_tan, Cl.native_tan], _tan),
        Cl.sinpi: sinpi,
        Cl.cospi: cospi,
        Cl.tanpi: tanpi,
        Cl.asin: inside(math.asin),
        Cl.acos: inside(math.acos),
        Cl.atan: math.atan,
        Cl.atan2: math.atan2,
        Cl.asinpi: inside(lambda x: math.asin(x) / math.pi),
        Cl.acospi: inside(lambda x: math.acos(x) / math.pi),
        Cl.atanpi: lambda x: math.atan(x) / math.pi,
        Cl.atan2pi: lambda y, x: math.atan2(y, x) / math.pi,
        Cl.sinh: _overflowing(math.sinh),
        Cl.cosh: _overflowing(math.cosh),
        Cl.tanh: math.tanh,
        Cl.asinh: math.asinh,
        Cl.acosh: inside(math.acosh),
        Cl.atanh: _atanh,
    }
)


def _sincos(width: int) -> Callable[[float], tuple[float, float]]:
    fit = ROUND[width]
    return lambda x: (fit(_sin(x)), fit(_cos(x)))


two_results({Cl.sincos: _sincos})
