"""exp, exp2, exp10 and expm1: a power of two times a polynomial of the rest."""

from __future__ import annotations

from anyzero.compiler.builtins import estimates, register_tables
from anyzero.compiler.builtins.instructions import instruction
from anyzero.compiler.builtins.polynomial import split
from anyzero.compiler.builtins.scaling import scale
from anyzero.compiler.builtins.writer import Writer, format_of
from anyzero.compiler.llvm import Value
from anyzero.lazy_namedtuple import NamedTuple


class Base(NamedTuple):
    """Constants for b^x."""

    low: float
    """The result is zero below this,"""
    high: float
    """and infinite above this."""
    per_octave: float
    """log2(b)"""
    octave: tuple[float, float]
    """log_b(2), in two pieces; subtracting the first times an integer exponent from x is exact."""
    power: tuple[float, ...]
    """Polynomial of b^r for half an octave on either side, constant first."""
    bounded: bool = True
    """False if x is known to be within the bounds."""


LOG2_E, LOG2_10 = 1.4426950408889634, 3.321928094887362
LN2 = {
    "float": (0.6931471824645996, -1.9046542121259336e-09),
    "double": (0.6931471805599453, 2.3190468138462996e-17),
}
LOG10_2 = {
    "float": (0.3010300099849701, -1.432098883924482e-08),
    "double": (0.3010299956639812, -2.8037281277851704e-18),
}

# e^r - 1 for |r| ≤ 0.348, from the linear term on; relative error 2^-26.0 and 2^-55.0.
EXPM1 = {
    "float": (
        1.0,
        0.4999999701976776,
        0.16666537523269653,
        0.041667740792036057,
        0.008367318660020828,
        0.0013837856240570545,
    ),
    "double": (
        1.0,
        0.5000000000000006,
        0.16666666666666588,
        0.04166666666657169,
        0.00833333333332171,
        0.0013888888934007958,
        0.00019841269994547045,
        2.4801501534233582e-05,
        2.755705937273722e-06,
        2.7627767319641107e-07,
        2.5192981305430624e-08,
    ),
}
# 2^r - 1 for |r| ≤ 0.5; error 2^-27.5 and 2^-55.5 of 2^r.
EXP2M1 = {
    "float": (
        0.6931472420692444,
        0.24022655189037323,
        0.05550272390246391,
        0.009617064148187637,
        0.0013418161543086171,
        0.0001582097029313445,
    ),
    "double": (
        0.6931471805599457,
        0.240226506959101,
        0.05550410866478794,
        0.00961812910760622,
        0.0013333558153948816,
        0.000154035304420758,
        1.525272693366276e-05,
        1.3215442648835795e-06,
        1.0180827399596006e-07,
        7.072544939128058e-09,
        4.051750374185028e-10,
    ),
}
# 10^r - 1 for |r| ≤ 0.151; error 2^-28.4 and 2^-55.5 of 10^r.
EXP10M1 = {
    "float": (
        2.3025851249694824,
        2.6509487628936768,
        2.0346553325653076,
        1.1712899208068848,
        0.5418688654899597,
        0.20646749436855316,
    ),
    "double": (
        2.302585092994047,
        2.6509490552392014,
        2.0346785922923947,
        1.1712551489098504,
        0.5393829294734009,
        0.20699584932094353,
        0.06808933654368429,
        0.019597630301528005,
        0.005015196153589881,
        0.0011573721531908093,
        0.00022151157578658679,
    ),
}

EXP = {
    "float": Base(-104.0, 89.0, LOG2_E, LN2["float"], (1.0, *EXPM1["float"])),
    "double": Base(-746.0, 710.0, LOG2_E, LN2["double"], (1.0, *EXPM1["double"])),
}
EXP2 = {
    "float": Base(-151.0, 129.0, 1.0, (1.0, 0.0), (1.0, *EXP2M1["float"])),
    "double": Base(-1076.0, 1025.0, 1.0, (1.0, 0.0), (1.0, *EXP2M1["double"])),
}
EXP10 = {
    "float": Base(-46.0, 39.0, LOG2_10, LOG10_2["float"], (1.0, *EXP10M1["float"])),
    "double": Base(-324.5, 309.0, LOG2_10, LOG10_2["double"], (1.0, *EXP10M1["double"])),
}


class Octaves(NamedTuple):
    """x = times · log_b(2) + rest."""

    exponent: Value
    """`times` and twice the format's bias, in the lowest bits."""
    rest: Value
    times: Value


def reduce(w: Writer, x: Value, base: Base) -> Octaves:
    if base.bounded:
        x = w.at_least(w.at_most(x, base.high), base.low)
    anchor = format_of(x).exponent_anchor
    if base.per_octave == 1.0:
        anchored = x + anchor
        n = anchored - anchor
        return Octaves(w.to_bits(anchored), x - n, n)
    anchored = w.mad(x, base.per_octave, anchor)
    n = anchored - anchor
    rest = w.fma(n, -base.octave[0], x)
    return Octaves(w.to_bits(anchored), w.fma(n, -base.octave[1], rest), n)


def power(w: Writer, x: Value, base: Base) -> Value:
    octaves = reduce(w, x, base)
    return lifted(w, split(w, octaves.rest, base.power, lead=2), octaves)


def lifted(w: Writer, significand: Value, octaves: Octaves) -> Value:
    """The significand · 2^times."""
    if estimates.possible(w, significand):
        return estimates.scaled(w, significand, octaves.times)
    return scale(w, significand, octaves.exponent)


def octave_power(w: Writer, exponent: Value, lower: int = 0) -> Value:
    """2^(n - lower) for the exponent as `reduce` gives it, if that is a normal number."""
    format_ = format_of(w.from_bits(exponent))
    return w.from_bits((exponent - (format_.bias + lower)).shl(format_.fraction))


def _by_table_or_series(w: Writer, x: Value, base: dict[str, Base], series: register_tables.Numbers) -> Value:
    chosen = base[x.type.element]
    if register_tables.possible(w, x):
        return register_tables.power(w, x, chosen.per_octave, chosen.octave, series)
    return power(w, x, chosen)


@instruction("exp")
def exp(w: Writer, x: Value) -> Value:
    return _by_table_or_series(w, x, EXP, register_tables.EXP_SERIES)


@instruction("exp2")
def exp2(w: Writer, x: Value) -> Value:
    return _by_table_or_series(w, x, EXP2, register_tables.EXP2_SERIES)


@instruction("exp10")
def exp10(w: Writer, x: Value) -> Value:
    return _by_table_or_series(w, x, EXP10, register_tables.EXP10_SERIES)


def above_one(w: Writer, rest: Value) -> Value:
    """e^r - 1 within half an octave."""
    series = split(w, rest, EXPM1[rest.type.element][1:], lead=1)
    return w.mad(rest * rest, series, rest)


@instruction("expm1")
def expm1(w: Writer, x: Value) -> Value:
    format_ = format_of(x)
    exponent, rest, _ = reduce(w, x, EXP[x.type.element])
    # 2^n · (1 + above) - 1, halved so that 2^n stays finite; powers that underflow are negligible beside the 1.
    octaves = w.select(w.compare("ogt", x, -60.0), octave_power(w, exponent, lower=1), 0.0)
    result = w.mad(octaves, above_one(w, rest), octaves - 0.5) * 2.0
    # Halves of denormal numbers would lose a bit, and zero its sign.
    return w.select(w.compare("olt", w.fabs(x), 2.0 ** -(format_.fraction + 2)), x, result)
