"""Hyperbolic functions and their inverses."""

from __future__ import annotations

from anyzero.compiler.builtins.exponential import EXP, above_one, octave_power, reduce
from anyzero.compiler.builtins.instructions import instruction
from anyzero.compiler.builtins.logarithm import log_above_one
from anyzero.compiler.builtins.polynomial import split
from anyzero.compiler.builtins.writer import Writer, format_of
from anyzero.compiler.llvm import Value

# sinh(x)/x and cosh(x) in powers of x² for |x| ≤ 0.348; relative error 2^-26.1 and 2^-61.6, 2^-33.2 and 2^-57.3.
SINH = {
    "float": (1.0, 0.16666541993618011, 0.008366734720766544),
    "double": (
        1.0,
        0.16666666666666677,
        0.008333333333321376,
        0.00019841269886867088,
        2.7557243376674664e-06,
        2.51093549118351e-08,
    ),
}
COSH = {
    "float": (1.0, 0.5, 0.041666459292173386, 0.0013935453025624156),
    "double": (
        1.0,
        0.5,
        0.04166666666660268,
        0.0013888888927365516,
        2.4801507909515876e-05,
        2.7625514819854615e-07,
    ),
}
# Beyond, both are infinite; 2^n for the n at this bound is still finite.
OVERFLOW = {"float": 89.5, "double": 710.5}

# Beyond, tanh is one.
SATURATED = {"float": 9.1, "double": 19.1}


def _halves(w: Writer, x: Value) -> tuple[Value, Value, Value, Value]:
    """(2^n + 2^-n)/4, (2^n - 2^-n)/4, and sinh and cosh of the rest r, where |x| = n · ln 2 + r. From these, the
    theorems of addition give half of either function without cancellation.
    """
    size = w.at_most(w.fabs(x), OVERFLOW[x.type.element])
    exponent, rest, _ = reduce(w, size, EXP[x.type.element]._replace(bounded=False))
    up = octave_power(w, exponent, lower=2)
    down = octave_power(w, exponent.like(4 * format_of(x).bias) - exponent, lower=2)
    # It is negligible beside the other long before its exponent underflows.
    down = w.select(w.compare("olt", size, 40.0), down, 0.0)
    square = rest * rest
    sinh = w.mad(rest * square, split(w, square, SINH[x.type.element][1:]), rest)
    return up + down, up - down, sinh, split(w, square, COSH[x.type.element], lead=2)


@instruction("sinh")
def sinh(w: Writer, x: Value) -> Value:
    total, difference, short_sinh, short_cosh = _halves(w, x)
    result = w.mad(difference, short_cosh, total * short_sinh) * 2.0
    # Halves of denormal numbers would lose a bit.
    tiny = w.compare("olt", w.fabs(x), 2.0 ** -(format_of(x).fraction // 2 + 2))
    return w.select(tiny, x, w.copysign(result, x))


@instruction("cosh")
def cosh(w: Writer, x: Value) -> Value:
    total, difference, short_sinh, short_cosh = _halves(w, x)
    return w.mad(total, short_cosh, difference * short_sinh) * 2.0


@instruction("tanh")
def tanh(w: Writer, x: Value) -> Value:
    """From e^2x - 1, which is exact to the last bits for small and for large x."""
    bound = 2 * SATURATED[x.type.element]
    exponent, rest, _ = reduce(w, w.at_most(w.fabs(x) * 2.0, bound), EXP[x.type.element]._replace(bounded=False))
    power = octave_power(w, exponent)
    excess = w.mad(power, above_one(w, rest), power - 1.0)
    return w.copysign(excess / (excess + 2.0), x)


LN2 = 0.6931471805599453


def _log_of_sum(w: Writer, x: Value, excess: Value) -> Value:
    """log(1 + excess), or log(2 x) where `x` is so large that the excess is 2 x but may be infinite."""
    huge = w.compare("ogt", x, 2.0 ** (format_of(x).fraction + 4))
    log = log_above_one(w, w.select(huge, x, excess))
    log = log + w.select(huge, x.like(LN2), 0.0)
    return w.select(w.compare("olt", x, float("inf")), log, x)


@instruction("asinh")
def asinh(w: Writer, x: Value) -> Value:
    size = w.fabs(x)
    square = size * size
    log = _log_of_sum(w, size, size + square / (w.sqrt(square + 1.0) + 1.0))
    tiny = w.compare("olt", size, 2.0 ** -(format_of(x).fraction // 2 + 2))
    return w.select(tiny, x, w.copysign(log, x))


@instruction("acosh")
def acosh(w: Writer, x: Value) -> Value:
    above = x - 1.0
    log = _log_of_sum(w, x, above + w.sqrt(w.mad(above, above, above * 2.0)))
    return w.select(w.compare("oge", x, 1.0), log, float("nan"))


@instruction("atanh")
def atanh(w: Writer, x: Value) -> Value:
    size = w.fabs(x)
    log = log_above_one(w, size * 2.0 / (1.0 - size)) * 0.5
    edge = w.select(w.compare("oeq", size, 1.0), size.like(float("inf")), float("nan"))
    log = w.select(w.compare("olt", size, 1.0), log, edge)
    tiny = w.compare("olt", size, 2.0 ** -(format_of(x).fraction // 2 + 2))
    return w.select(tiny, x, w.copysign(log, x))
