"""fmod, remainder and remquo: exact, by long division. Each step computes as many quotient bits as a significand has,
so one step is enough unless the operands differ greatly in size. If all lanes' quotients fit a number and no lane is a
special case, a single division suffices.
"""

from __future__ import annotations

from anyzero.compiler.builtins.instructions import instruction
from anyzero.compiler.builtins.representation import fields
from anyzero.compiler.builtins.routine import unless
from anyzero.compiler.builtins.scaling import scale
from anyzero.compiler.builtins.writer import Writer, format_of
from anyzero.compiler.llvm import Value
from anyzero.lazy_namedtuple import NamedTuple

QUOTIENT_MASK = 0x7F


class Division(NamedTuple):
    """|x| = quotient · |y| + rest, with the rest from 0 to |y|."""

    quotient: Value
    """Its lowest bits; as wide as the operands."""
    rest: Value
    divisor: Value
    """|y|"""
    usual: Value
    """Mask of ordinary divisions: no NaN, x finite, y neither zero nor infinite. Elsewhere the rest is 0."""


def divide(w: Writer, x: Value, y: Value) -> Division:
    format_ = format_of(x)
    divisor = w.fabs(y)
    exponent, significand, ordinary = fields(w, divisor)
    usual = ordinary & w.compare("olt", w.fabs(x), float("inf"))
    start = w.select(usual, w.fabs(x), 0.0)

    def step(state: list[Value]) -> tuple[list[Value], Value]:
        rest, quotient = state
        # The divisor times a power of two, chosen so that the integral quotient is exact.
        lowest = fields(w, rest).exponent - (format_.fraction - 1)
        lowest = w.select(w.compare("ogt", rest, 0.0), lowest, exponent)
        lowest = w.intrinsic("smax", lowest, exponent)
        multiple = scale(w, significand, lowest + 2 * format_.bias)
        count = w.trunc(rest / multiple)
        left = w.exact_fma(-count, multiple, rest)
        # The division may have been rounded up to the next integer.
        over = w.compare("olt", left, 0.0)
        left = w.select(over, left + multiple, left)
        anchor = 2.0**format_.fraction
        bits = w.to_bits(count + anchor) + w.cast("sext", over, format_.integer)
        shift = lowest - exponent
        bits = w.select(w.compare("ult", shift, 8), bits.shl(shift & 7), bits.like(0))
        # A rest below the divisor is unchanged, since the count was zero.
        return [left, quotient + bits], w.compare("oge", left, divisor) & usual

    rest, quotient = w.repeat([start, w.zero(exponent.type)], step)
    return Division(quotient, rest, divisor, usual)


def divide_once(w: Writer, x: Value, y: Value) -> tuple[Division, Value]:
    """The division for quotients that fit a number, and the mask of those lanes."""
    format_ = format_of(x)
    size, divisor = w.fabs(x), w.fabs(y)
    exact = size / divisor
    fits = w.compare("olt", exact, 2.0**format_.fraction) & w.compare("olt", divisor, float("inf"))
    count = w.trunc(exact)
    rest = w.exact_fma(-count, divisor, size)
    # The division may have been rounded up to the next integer.
    over = w.compare("olt", rest, 0.0)
    rest = w.select(over, rest + divisor, rest)
    quotient = w.to_bits(count + 2.0**format_.fraction) + w.cast("sext", over, format_.integer)
    return Division(quotient, rest, divisor, fits), fits


def edges(w: Writer, x: Value, y: Value, division: Division, result: Value) -> Value:
    """A finite `x` is its own remainder by infinity; the other special cases give NaN."""
    infinite = w.is_infinite(y) & w.compare("olt", w.fabs(x), float("inf"))
    unusual = w.select(infinite, x, float("nan"))
    return w.select(division.usual, result, unusual)


def long_fmod(w: Writer, x: Value, y: Value) -> Value:
    division = divide(w, x, y)
    return edges(w, x, y, division, w.copysign(division.rest, x))


@instruction("fmod", "T", "T")
def fmod(w: Writer, x: Value, y: Value) -> Value:
    division, fits = divide_once(w, x, y)
    return unless(w, ~fits, w.copysign(division.rest, x), "long_fmod", long_fmod, x, y)


def nearest(w: Writer, x: Value, division: Division) -> tuple[Value, Value]:
    """The remainder by the nearest quotient, and the quotient's lowest bits, without a sign."""
    complement = division.divisor - division.rest
    odd = w.compare("ne", division.quotient & 1, 0)
    up = w.compare("ogt", division.rest, complement) | (w.compare("oeq", division.rest, complement) & odd)
    rest = w.select(up, division.rest - division.divisor, division.rest)
    quotient = (division.quotient - w.cast("sext", up, division.quotient.type.element)) & QUOTIENT_MASK
    return w.flip(rest, w.sign_bit(x)), quotient


def long_nearest(w: Writer, x: Value, y: Value) -> tuple[Value, Value]:
    division = divide(w, x, y)
    rest, quotient = nearest(w, x, division)
    return edges(w, x, y, division, rest), w.select(division.usual, quotient, quotient.like(0))


def long_remainder(w: Writer, x: Value, y: Value) -> Value:
    return long_nearest(w, x, y)[0]


@instruction("remainder", "T", "T")
def remainder(w: Writer, x: Value, y: Value) -> Value:
    division, fits = divide_once(w, x, y)
    return unless(w, ~fits, nearest(w, x, division)[0], "long_remainder", long_remainder, x, y)


@instruction("remquo", "T", "T")
def remquo(w: Writer, x: Value, y: Value) -> tuple[Value, Value]:
    rest, quotient = long_nearest(w, x, y)
    negative = (w.to_bits(x) ^ w.to_bits(y)).ashr(quotient.type.bits - 1)
    return rest, w.cast("trunc", (quotient ^ negative) - negative, "i32")
