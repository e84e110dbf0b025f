"""Powers of two: split a number into exponent and significand, and recombine them, including denormals."""

from __future__ import annotations

from anyzero.compiler.builtins.writer import Writer, format_of
from anyzero.compiler.llvm import Value
from anyzero.lazy_namedtuple import NamedTuple


def power_of_two(w: Writer, n: Value) -> Value:
    """2^n in the format of the integer `n`'s width, for exponents of normal numbers."""
    format_ = format_of(w.from_bits(n))
    return w.from_bits(n.shl(format_.fraction) + format_.one_bits)


def scale(w: Writer, x: Value, exponent: Value) -> Value:
    """x · 2^n, where the lowest bits of `exponent` are n and twice the bias. Two factors reach beyond the format's
    exponents at both ends; the first product is exact, hence a denormal result is rounded once.
    """
    format_ = format_of(x)
    whole = exponent.shl(format_.fraction)
    half = exponent.shl(format_.fraction - 1) & (format_.sign_mask | format_.infinity_bits)
    return x * w.from_bits(half) * w.from_bits(whole - half)


class Parts(NamedTuple):
    """x = significand · 2^exponent with the significand around one."""

    exponent: Value
    significand: Value


SQRT_HALF_BITS = {"float": 0x3F3504F3, "double": 0x3FE6A09E667F3BCD}


def parts(w: Writer, x: Value, denormals: bool = True) -> Parts:
    """A positive number's exponent, as a float, and its significand from √½ to √2; unspecified for other numbers.
    Without `denormals`, also unspecified for those.
    """
    format_ = format_of(x)
    low = SQRT_HALF_BITS[format_.element]
    # The biased exponent in the lowest bits of 2^fraction: one subtraction converts it and removes the bias.
    anchor = 2.0**format_.fraction
    bias = x.like(anchor + format_.bias)
    number = x
    if denormals:
        tiny = w.compare("olt", x, format_.smallest_normal)
        lift = format_.fraction + 2
        number = w.select(tiny, x * 2.0**lift, x)
        bias = w.select(tiny, x.like(anchor + format_.bias + lift), bias)
    bits = w.to_bits(number) + (format_.one_bits - low)
    significand = w.from_bits((bits & format_.fraction_mask) + low)
    biased = w.from_bits(bits.lshr(format_.fraction) | w.to_bits(x.like(anchor)))
    return Parts(biased - bias, significand)


def is_ordinary(w: Writer, x: Value) -> Value:
    """Mask of lanes where `x` is positive, normal and finite."""
    format_ = format_of(x)
    least = 1 << format_.fraction
    return w.compare("ult", w.to_bits(x) - least, format_.infinity_bits - least)
