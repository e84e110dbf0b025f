"""Functions on the fields of a number: exponent, fraction, adjacent numbers."""

from __future__ import annotations

from anyzero.compiler.builtins import estimates
from anyzero.compiler.builtins.formats import FORMATS
from anyzero.compiler.builtins.instructions import instruction
from anyzero.compiler.builtins.scaling import scale
from anyzero.compiler.builtins.writer import Writer, format_of
from anyzero.compiler.llvm import Value
from anyzero.lazy_namedtuple import NamedTuple

INT_MAX, INT_MIN = 0x7FFFFFFF, -0x80000000


class Fields(NamedTuple):
    """x = significand · 2^exponent, the significand from 1 to 2 and signed like `x`."""

    exponent: Value
    """An integer as wide as the number."""
    significand: Value
    ordinary: Value
    """Mask of lanes that are neither zero nor infinite nor NaN; the other fields are undefined elsewhere."""


def fields(w: Writer, x: Value) -> Fields:
    format_ = format_of(x)
    size = w.fabs(x)
    tiny = w.compare("olt", size, format_.smallest_normal)
    lift = format_.fraction + 1
    bits = w.to_bits(w.select(tiny, x * 2.0**lift, x))
    exponent = (bits & format_.infinity_bits).lshr(format_.fraction)
    exponent = exponent - w.select(tiny, exponent.like(format_.bias + lift), format_.bias)
    significand = w.from_bits((bits & ~format_.infinity_bits) | format_.one_bits)
    ordinary = w.compare("one", x * 0.0, x)
    return Fields(exponent, significand, ordinary)


def to_int(w: Writer, n: Value) -> Value:
    return w.cast("trunc", n, "i32")


@instruction("ilogb")
def ilogb(w: Writer, x: Value) -> Value:
    exponent, _, _ = fields(w, x)
    found = w.select(w.compare("oeq", x, 0.0), exponent.like(INT_MIN), exponent)
    return to_int(w, w.select(w.compare("olt", w.fabs(x), float("inf")), found, INT_MAX))


@instruction("logb")
def logb(w: Writer, x: Value) -> Value:
    exponent, _, _ = fields(w, x)
    found = w.select(w.compare("oeq", x, 0.0), x.like(float("-inf")), w.small_to_real(exponent, x.type.element))
    return w.select(w.compare("olt", w.fabs(x), float("inf")), found, x * x)


@instruction("frexp")
def frexp(w: Writer, x: Value) -> tuple[Value, Value]:
    exponent, significand, ordinary = fields(w, x)
    return (
        w.select(ordinary, significand * 0.5, x),
        to_int(w, w.select(ordinary, exponent + 1, exponent.like(0))),
    )


def times_power_of_two(w: Writer, x: Value, k: Value) -> Value:
    """x · 2^k, rounded once; `k` is an integer of any value, as wide as `x` or of 32 bits."""
    format_ = format_of(x)
    if estimates.possible(w, x):
        return estimates.scaled(w, x, w.cast("sitofp", k, format_.element))
    exponent, significand, ordinary = fields(w, x)
    # Beyond these exponents everything is infinite or zero; halves of them are exponents of normal numbers.
    limit = format_.bias + 2 * format_.fraction
    k = w.intrinsic("smax", w.intrinsic("smin", k, 3 * limit), -3 * limit)
    if k.type.bits < exponent.type.bits:
        k = w.cast("sext", k, exponent.type.element)
    total = w.intrinsic("smax", w.intrinsic("smin", exponent + k, limit), -limit)
    return w.select(ordinary, scale(w, significand, total + 2 * format_.bias), x)


@instruction("ldexp", "T", "i32")
def ldexp(w: Writer, x: Value, k: Value) -> Value:
    return times_power_of_two(w, x, k)


@instruction("modf")
def modf(w: Writer, x: Value) -> tuple[Value, Value]:
    whole = w.trunc(x)
    rest = w.select(w.is_infinite(x), x.like(0.0), x - whole)
    return w.copysign(rest, x), whole


@instruction("fract", widened=False)
def fract(w: Writer, x: Value) -> tuple[Value, Value]:
    element = x.type.element
    x = w.cast("fpext", x, "float") if element == "half" else x
    whole = w.floor(x)
    below_one = 1.0 - 2.0 ** -(FORMATS[element].fraction + 1)
    rest = w.at_most(x - whole, below_one)
    rest = w.select(w.is_infinite(x), w.copysign(x.like(0.0), x), rest)
    rest = w.select(w.compare("oeq", x, 0.0), x, rest)
    if element == "half":
        return w.cast("fptrunc", rest, element), w.cast("fptrunc", whole, element)
    return rest, whole


@instruction("nan", elements=("i16", "i32", "i64"))
def nan(w: Writer, code: Value) -> Value:
    format_ = next(each for each in FORMATS.values() if each.integer == code.type.element)
    quiet = 1 << (format_.fraction - 1)
    return w.from_bits((code & (quiet - 1)) | (format_.infinity_bits | quiet))


@instruction("nextafter", "T", "T", widened=False)
def nextafter(w: Writer, x: Value, y: Value) -> Value:
    bits = w.to_bits(x)
    # As integers, numbers of either sign increase away from zero.
    inwards = w.compare("olt", x, y) ^ w.compare("ogt", x, 0.0)
    near = bits + w.select(inwards, bits.like(-1), 1)
    from_zero = w.sign_bit(y) | 1
    moved = w.from_bits(w.select(w.compare("oeq", x, 0.0), from_zero, near))
    unordered = w.compare("uno", x, y)
    noise = w.from_bits(w.select(w.is_nan(x), bits, w.to_bits(y)))
    return w.select(unordered, noise, w.select(w.compare("oeq", x, y), y, moved))
