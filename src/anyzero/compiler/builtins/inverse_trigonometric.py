"""Arcsine, arccosine and arctangent, in radians and in half turns."""

from __future__ import annotations

import math

from anyzero.compiler.builtins.circle import QUARTER
from anyzero.compiler.builtins.instructions import instruction
from anyzero.compiler.builtins.polynomial import split
from anyzero.compiler.builtins.writer import Writer
from anyzero.compiler.llvm import Value

# (asin(x) - x) / x³ in powers of x² up to one half; error 2^-27.6 and 2^-55.8 of asin(x).
ARCSINE = {
    "float": (0.16666752099990845, 0.07495306432247162, 0.045469772070646286, 0.02418077178299427, 0.04216642305254936),
    "double": (
        0.16666666666665403,
        0.07500000000338593,
        0.04464285682693794,
        0.030381959197194157,
        0.0223717565475819,
        0.01735972820314776,
        0.01388499705900488,
        0.012170818298249802,
        0.0065208605318497655,
        0.019548163245228234,
        -0.01625611321283803,
        0.0319345248684004,
    ),
}
# (atan(x) - x) / x³ in powers of x² up to one; error 2^-25.8 and 2^-57.5 of atan(x).
ARCTANGENT = {
    "float": (
        -0.33333152532577515,
        0.19993767142295837,
        -0.14211001992225647,
        0.10665769875049591,
        -0.07551666349172592,
        0.0432048961520195,
        -0.01636338047683239,
        0.0029194995295256376,
    ),
    "double": (
        -0.3333333333333307,
        0.19999999999951748,
        -0.1428571428258796,
        0.11111111007337506,
        -0.09090907007709846,
        0.07692279887803016,
        -0.06666404413879805,
        0.058805297507804985,
        -0.05253526526833452,
        0.04722347517303409,
        -0.04219241446048584,
        0.03664311870345612,
        -0.02990568569940557,
        0.021987006282159056,
        -0.013902513321602921,
        0.007197840294751739,
        -0.002885586090811584,
        0.0008315511867504247,
        -0.00015220930073345284,
        1.322981504990962e-05,
    ),
}
INVERSE_PI = 1 / math.pi


def _turned(w: Writer, angle: Value, count: int, pi: bool) -> Value:
    """`count` quarter turns less the angle."""
    if pi:
        return 0.5 * count - angle
    high, low = QUARTER[angle.type.element]
    return (angle.like(count * low) - angle) + count * high


def _arcsine(w: Writer, x: Value) -> tuple[Value, Value, Value]:
    """|x|, the mask of lanes above one half, and the arcsine of √((1 - |x|) / 2) there, else of |x|."""
    size = w.fabs(x)
    steep = w.compare("ogt", size, 0.5)
    square = w.select(steep, w.mad(size, -0.5, 0.5), size * size)
    near = w.select(steep, w.sqrt(square), size)
    series = split(w, square, ARCSINE[x.type.element], lead=1)
    return size, steep, w.mad(near * square, series, near)


def _asin(w: Writer, x: Value, pi: bool) -> Value:
    _, steep, angle = _arcsine(w, x)
    angle = angle * INVERSE_PI if pi else angle
    return w.copysign(w.select(steep, _turned(w, angle * 2.0, 1, pi), angle), x)


def _acos(w: Writer, x: Value, pi: bool) -> Value:
    _, steep, angle = _arcsine(w, x)
    angle = angle * INVERSE_PI if pi else angle
    negative = w.compare("olt", x, 0.0)
    twice = angle * 2.0
    far = w.select(negative, _turned(w, twice, 2, pi), twice)
    return w.select(steep, far, _turned(w, w.copysign(angle, x), 1, pi))


def _arctangent(w: Writer, ratio: Value) -> Value:
    """The arctangent of a ratio from 0 to 1."""
    square = ratio * ratio
    return w.mad(ratio * square, split(w, square, ARCTANGENT[ratio.type.element], lead=1), ratio)


def _atan(w: Writer, x: Value, pi: bool) -> Value:
    size = w.fabs(x)
    steep = w.compare("ogt", size, 1.0)
    angle = _arctangent(w, w.select(steep, 1.0 / size, size))
    angle = angle * INVERSE_PI if pi else angle
    return w.copysign(w.select(steep, _turned(w, angle, 1, pi), angle), x)


def _atan2(w: Writer, y: Value, x: Value, pi: bool) -> Value:
    a, b = w.fabs(x), w.fabs(y)
    steep = w.compare("ogt", b, a)
    ratio = w.select(steep, a, b) / w.select(steep, b, a)
    # 0/0 counts as 0, and ∞/∞ as 1.
    same = w.select(w.compare("oeq", a, 0.0), a, 1.0)
    angle = _arctangent(w, w.select(w.compare("oeq", a, b), same, ratio))
    angle = angle * INVERSE_PI if pi else angle
    angle = w.select(steep, _turned(w, angle, 1, pi), angle)
    leftwards = w.compare("slt", w.to_bits(x), 0)
    return w.copysign(w.select(leftwards, _turned(w, angle, 2, pi), angle), y)


@instruction("asin")
def asin(w: Writer, x: Value) -> Value:
    return _asin(w, x, pi=False)


@instruction("asinpi")
def asinpi(w: Writer, x: Value) -> Value:
    return _asin(w, x, pi=True)


@instruction("acos")
def acos(w: Writer, x: Value) -> Value:
    return _acos(w, x, pi=False)


@instruction("acospi")
def acospi(w: Writer, x: Value) -> Value:
    return _acos(w, x, pi=True)


@instruction("atan")
def atan(w: Writer, x: Value) -> Value:
    return _atan(w, x, pi=False)


@instruction("atanpi")
def atanpi(w: Writer, x: Value) -> Value:
    return _atan(w, x, pi=True)


@instruction("atan2", "T", "T")
def atan2(w: Writer, y: Value, x: Value) -> Value:
    return _atan2(w, y, x, pi=False)


@instruction("atan2pi", "T", "T")
def atan2pi(w: Writer, y: Value, x: Value) -> Value:
    return _atan2(w, y, x, pi=True)
