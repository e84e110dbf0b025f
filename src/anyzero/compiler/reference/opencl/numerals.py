"""Decomposition, construction and rounding of floating-point numbers. All of it is exact."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from anyzero.compiler.reference.decoder import Decoder, Step
from anyzero.compiler.reference.instructions.arithmetic import remainder
from anyzero.compiler.reference.instructions.lanewise import apply, width_of
from anyzero.compiler.reference.minmax import fmax, fmin
from anyzero.compiler.reference.numbers import FRACTION, ROUND, bits_of, float_of, fused, signed
from anyzero.compiler.reference.opencl.table import function, real, sized, two_results
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.tables import OpenCL as Cl

_LOWEST, _HIGHEST = -1 << 31, (1 << 31) - 1


def _to_whole(rule: Callable[[float], int]) -> Callable[[float], float]:
    """A rounding that preserves NaNs, infinities, and the sign of zeros."""
    return lambda x: math.copysign(float(rule(x)), x) if math.isfinite(x) else x


floor, trunc = _to_whole(math.floor), _to_whole(math.trunc)


def _half_away(x: float) -> int:
    size = math.floor(abs(x))
    size += abs(x) - size >= 0.5
    return size if x >= 0.0 else -size


def _maxmag(x: float, y: float) -> float:
    return x if abs(x) > abs(y) else y if abs(y) > abs(x) else fmax(x, y)


def _minmag(x: float, y: float) -> float:
    return x if abs(x) < abs(y) else y if abs(y) < abs(x) else fmin(x, y)


def _fdim(x: float, y: float) -> float:
    return math.nan if x != x or y != y else x - y if x > y else 0.0


def _ieee_remainder(x: float, y: float) -> float:
    if math.isinf(x) or y == 0.0 or x != x or y != y:
        return math.nan
    return math.remainder(x, y)


def _logb(x: float) -> float:
    if x == 0.0:
        return -math.inf
    return math.frexp(x)[1] - 1.0 if math.isfinite(x) else abs(x)


real(
    {
        Cl.floor: floor,
        Cl.ceil: _to_whole(math.ceil),
        Cl.trunc: trunc,
        Cl.rint: _to_whole(round),
        Cl.round: _to_whole(_half_away),
        Cl.fdim: _fdim,
        Cl.fmod: remainder,
        Cl.remainder: _ieee_remainder,
        Cl.logb: _logb,
    }
)


def _ldexp(width: int) -> Callable[[float, int], float]:
    fit = ROUND[width]

    def of(x: float, n: int) -> float:
        try:
            return fit(math.ldexp(x, signed(n, 32)))
        except OverflowError:
            return math.copysign(math.inf, x)

    return of


def _nextafter(width: int) -> Callable[[float, float], float]:
    def of(x: float, y: float) -> float:
        if x != x or y != y:
            return math.nan
        if x == y:
            return y
        if x == 0.0:
            return math.copysign(float_of(1, width), y)
        bits = bits_of(x, width)
        return float_of(bits + 1 if (x < y) == (x > 0.0) else bits - 1, width)

    return of


sized(
    {
        Cl.fabs: lambda width: abs,
        Cl.copysign: lambda width: math.copysign,
        Cl.fmax: lambda width: fmax,
        Cl.fmin: lambda width: fmin,
        Cl.maxmag: lambda width: _maxmag,
        Cl.minmag: lambda width: _minmag,
        Cl.ldexp: _ldexp,
        Cl.nextafter: _nextafter,
        # A mad may round twice, or once as here.
        **dict.fromkeys([Cl.fma, Cl.mad], lambda width: lambda a, b, c: fused(a, b, c, width)),
    }
)


def _ilogb(x: float) -> int:
    if x == 0.0:
        return _LOWEST
    return math.frexp(x)[1] - 1 if math.isfinite(x) else _HIGHEST


@function(Cl.ilogb)
def ilogb(decoder: Decoder, instruction: Instruction, ids: tuple[int, ...]) -> Step:
    mask = (1 << width_of(decoder.type(instruction))) - 1
    return apply(decoder, instruction, lambda x: _ilogb(x) & mask, ids)


@function(Cl.nan)
def nan(decoder: Decoder, instruction: Instruction, ids: tuple[int, ...]) -> Step:
    width = width_of(decoder.type(instruction))
    quiet = ((1 << (width - FRACTION[width])) - 1) << (FRACTION[width] - 1)
    payload = (1 << (FRACTION[width] - 1)) - 1
    return apply(decoder, instruction, lambda code: float_of(quiet | (code & payload), width), ids)


def _fract(width: int) -> Callable[[float], tuple[float, float]]:
    fit, below_one = ROUND[width], 1.0 - 2.0 ** -(FRACTION[width] + 1)

    def of(x: float) -> tuple[float, float]:
        if not math.isfinite(x):
            return (math.nan if x != x else math.copysign(0.0, x)), x
        whole = floor(x)
        return min(fit(x - whole), below_one), whole

    return of


def _modf(width: int) -> Callable[[float], tuple[float, float]]:
    def of(x: float) -> tuple[float, float]:
        if not math.isfinite(x):
            return (math.nan if x != x else math.copysign(0.0, x)), x
        return math.modf(x)

    return of


def _frexp(width: int) -> Callable[[float], tuple[float, int]]:
    return math.frexp


def _remquo(width: int) -> Callable[[float, float], tuple[float, int]]:
    """The low seven bits of the quotient, with its sign."""

    def of(x: float, y: float) -> tuple[float, int]:
        rest = _ieee_remainder(x, y)
        if rest != rest or math.isinf(y):
            return rest, 0
        times = int((Fraction(x) - Fraction(rest)) / Fraction(y))
        low = abs(times) & 0x7F
        return rest, low if times >= 0 else -low

    return of


two_results({Cl.fract: _fract, Cl.modf: _modf, Cl.frexp: _frexp, Cl.remquo: _remquo})
