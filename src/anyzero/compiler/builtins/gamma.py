"""The gamma function and its logarithm, by Stirling's series; computed in doubles for floats as well."""

from __future__ import annotations

import math
from collections.abc import Callable

from anyzero.compiler.builtins.double_word import Double, two_sum
from anyzero.compiler.builtins.exponential import EXP2, lifted, reduce
from anyzero.compiler.builtins.half_turns import sinpi
from anyzero.compiler.builtins.instructions import instruction
from anyzero.compiler.builtins.logarithm import NATURAL
from anyzero.compiler.builtins.polynomial import horner, split
from anyzero.compiler.builtins.power import LARGEST_LOG, log2_double_word
from anyzero.compiler.builtins.routine import apart
from anyzero.compiler.builtins.writer import Writer
from anyzero.compiler.llvm import Value

LOG2_E = (1.4426950408889634, 2.0355273740931033e-17)
LN2 = 0.6931471805599453
HALF_LOG_TWO_PI = 0.9189385332046728

# gamma(z) / (z^(z - ½) e^-z) in powers of 1/z from z = 3 on; relative error 2^-53.9.
SERIES = (
    2.5066282746310007,
    0.20888568955249312,
    0.00870357040644307,
    -0.006721090725108909,
    -0.0005752006384516502,
    0.0019654164587664022,
    0.00017168865732137469,
    -0.0014455604510262526,
    -0.0004243705210889163,
    0.003528328807780416,
    -0.00406823433405863,
    0.001726582924830427,
)
# The logarithm of the same, times z and less ½ log 2π, in powers of 1/z²; relative error 2^-48.9, of the smallest part.
LOG_SERIES = (
    0.08333333333333319,
    -0.0027777777774951914,
    0.0007936507035340093,
    -0.0005952268885980279,
    0.0008410323578603316,
    -0.0018903171896137469,
    0.00575028765262179,
    -0.01864536867648893,
    0.04752041036463792,
    -0.06270509239694447,
)
# log gamma(1 + u) / (u (u - 1)) as a quotient of polynomials of u + ½ for -½ ≤ u ≤ 2; relative error 2^-53.4.
NEAR_ROOTS = (
    (
        0.7631532572329335,
        4.632277493507659,
        10.98630568724265,
        12.945896851748158,
        7.98674408077318,
        2.5008500762841437,
        0.3554786988319311,
        0.017465494725915652,
        8.706488551916753e-05,
        -6.425347621325907e-07,
    ),
    (
        1.0,
        6.833772193837656,
        18.675334304901938,
        26.174624250803696,
        20.105730129579182,
        8.41378831507404,
        1.802988940353038,
        0.1718766853127084,
        0.005180277019754755,
    ),
)
# The bounds beyond which gamma is infinite or zero; wider than elsewhere, because 1/sin(πx) may be large.
RANGE = EXP2["double"]._replace(low=-1200.0, high=1200.0)
FARTHEST = 2.0**20
# From here on, log gamma(z) is z (log z - 1) to the last bit; in octaves it would overflow too early.
HUGE = 2.0**900


def _stirling(w: Writer, z: Value, z_low: Value | None = None) -> Double:
    """log2 of z^(z - ½) e^-z; `z_low` is the rounding error of z."""
    log = log2_double_word(w, z, edges=False)
    power = z - 0.5
    p = power * log.high
    p_low = w.fma(power, log.low, w.fma(power, log.high, -p))
    q = z * LOG2_E[0]
    q_low = w.fma(z, LOG2_E[1], w.fma(z, LOG2_E[0], -q))
    total = two_sum(w, p, -q)
    low = total.low + (p_low - q_low)
    return Double(total.high, low if z_low is None else w.fma(z_low, log.high, low))


def _tgamma(w: Writer, x: Value) -> Value:
    """gamma(a) = gamma(a + 3) / (a (a + 1) (a + 2)) for small a; gamma(-a) = -π / (a sin(πa) gamma(a))."""
    a = w.fabs(x)
    small = w.compare("olt", a, 3.0)
    z = w.at_most(w.select(small, a + 3.0, a), FARTHEST)
    exponent = _stirling(w, z, w.select(small, a - (z - 3.0), 0.0))
    negative = w.compare("slt", w.to_bits(x), 0)
    high = w.select(negative, -exponent.high, exponent.high)
    low = w.select(negative, -exponent.low, exponent.low)
    low = w.select(w.compare("olt", w.fabs(high), LARGEST_LOG), low, 0.0)
    octaves = reduce(w, high, RANGE)
    power = split(w, octaves.rest + low, RANGE.power, lead=2)
    series = split(w, 1.0 / z, SERIES, lead=2)
    rising = w.select(small, (a + 1.0) * (a + 2.0), 1.0)
    over = power * w.select(negative, rising * -math.pi, series)
    under = w.select(
        negative,
        sinpi(w, a) * series * w.select(small, a.like(1.0), a),
        rising * w.select(small, a, 1.0),
    )
    result = lifted(w, over / under, octaves)
    pole = w.compare("olt", x, 0.0) & w.compare("oeq", w.floor(a), a)
    result = w.select(pole, x.like(float("nan")), result)
    return w.select(w.compare("oeq", x, float("inf")), x, result)


def _lgamma(w: Writer, x: Value) -> tuple[Value, Value]:
    """log |gamma(x)|, and the sign of gamma(x)."""
    a = w.fabs(x)
    z = w.at_least(w.at_most(a, HUGE), 3.0)
    exponent = _stirling(w, z)
    inverse = 1.0 / z
    series = w.mad(inverse, split(w, inverse * inverse, LOG_SERIES, lead=1), HALF_LOG_TWO_PI)
    large = w.mad(exponent.high, LN2, w.mad(exponent.low, LN2, series))
    # gamma(1 + u) for a around its roots 1 and 2; below ½, gamma(a) = gamma(1 + a) / a.
    tiny = w.compare("olt", a, 0.5)
    u = w.select(tiny, a, a - 1.0)
    u = w.at_most(u, 2.0)
    over, under = NEAR_ROOTS
    shifted = u + 0.5
    near = u * (u - 1.0) * (horner(w, shifted, over) / horner(w, shifted, under))
    log = w.select(w.compare("olt", a, 3.0), near, large)
    negative = w.compare("slt", w.to_bits(x), 0)
    sine = sinpi(w, a)
    one = a.like(1.0)
    huge = w.compare("ogt", a, HUGE)
    factor = w.select(tiny | huge, a, one)
    factor = w.select(negative, w.fabs(sine) * (1 / math.pi) * w.select(tiny, one, a), factor)
    factor_log = NATURAL.everywhere(w, factor)
    # Adding zero makes the root at 1 a positive zero.
    result = w.select(negative, -log, log) - factor_log + 0.0
    result = w.select(huge, a * (factor_log - 1.0), result)
    pole = w.compare("ole", x, 0.0) & w.compare("oeq", w.floor(a), a)
    result = w.select(pole | w.compare("oeq", a, float("inf")), a.like(float("inf")), result)
    below = negative & (w.compare("ogt", sine, 0.0) | w.compare("oeq", x, 0.0))
    return result, w.select(below, w.constant(-1, x.type.of("i32")), 1)


def _in_doubles(name: str, emit: Callable[[Writer, Value], Value | tuple[Value, ...]]) -> None:
    @instruction(name)
    def enter(w: Writer, x: Value) -> tuple[Value, ...]:
        if x.type.element == "double":
            found = emit(w, x)
            return found if isinstance(found, tuple) else (found,)
        results = w.use(apart(f"{name}.wide", emit, x.type.of("double")), w.cast("fpext", x, "double"))
        return tuple(w.cast("fptrunc", each, "float") if each.type.is_float else each for each in results)


def _log_gamma(w: Writer, x: Value) -> Value:
    return _lgamma(w, x)[0]


_in_doubles("tgamma", _tgamma)
_in_doubles("lgamma", _log_gamma)
_in_doubles("lgamma_r", _lgamma)
