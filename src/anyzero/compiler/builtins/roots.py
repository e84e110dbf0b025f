"""Square roots, cube roots, and the root of a sum of squares."""

from __future__ import annotations

from anyzero.compiler.builtins import estimates
from anyzero.compiler.builtins.instructions import instruction
from anyzero.compiler.builtins.polynomial import horner
from anyzero.compiler.builtins.representation import fields
from anyzero.compiler.builtins.scaling import power_of_two
from anyzero.compiler.builtins.writer import Writer, format_of
from anyzero.compiler.llvm import Value


@instruction("sqrt")
def sqrt(w: Writer, x: Value) -> Value:
    return w.sqrt(x)


@instruction("rsqrt")
def rsqrt(w: Writer, x: Value) -> Value:
    """Of a scalar, the same as of a vector: the number of a row may be a scalar in one version of a kernel only."""
    lanes, least = x.type.lanes, 128 // x.type.bits
    wide = x
    if lanes == 0:
        wide = w.spread(x, least)
    elif lanes < least and least % lanes == 0:
        wide = w.shuffle(x, None, [*range(lanes)] * (least // lanes))
    if not estimates.possible(w, wide):
        return 1.0 / w.sqrt(x)
    root = estimates.inverse_root(w, wide)
    if lanes == 0:
        return w.lane(root, 0)
    return root if wide is x else w.shuffle(root, None, range(lanes))


# x^(-1/3) from 1 to 2; relative error 2^-11.9.
INVERSE_CUBE_ROOT = (1.5418870449066162, -0.8099603056907654, 0.3177570700645447, -0.04993688315153122)
CUBE_ROOT_HALF, CUBE_ROOT_QUARTER = 0.7937005259840998, 0.6299605249474366


@instruction("cbrt")
def cbrt(w: Writer, x: Value) -> Value:
    format_ = format_of(x)
    exponent, significand, ordinary = fields(w, w.fabs(x))
    # The exponent divided by three, upwards from a multiple of three below all exponents.
    base = 3 * (format_.bias // 2)
    third = ((exponent + base) * 43691).lshr(17)
    rest = exponent + base - third * 3
    a = w.from_bits(w.to_bits(significand) + rest.shl(format_.fraction))
    factor = w.select(w.compare("eq", rest, 1), a.like(CUBE_ROOT_HALF), CUBE_ROOT_QUARTER)
    factor = w.select(w.compare("eq", rest, 0), a.like(1.0), factor)
    # An inverse cube root is refined without division; each step triples the digits.
    inverse = horner(w, significand, INVERSE_CUBE_ROOT) * factor
    for _ in range(1 if format_.element == "float" else 2):
        miss = w.fma(-(a * inverse), inverse * inverse, 1.0)
        inverse = w.fma(inverse * miss, w.fma(miss, 2.0 / 9.0, 1.0 / 3.0), inverse)
    square = inverse * inverse
    root = a * square
    # The residual of the cube, computed precisely enough, corrects the last bits.
    high = root * root
    low = w.fma(root, root, -high)
    lack = w.fma(-low, root, w.fma(-high, root, a))
    root = w.fma(lack, square * (1.0 / 3.0), root)
    result = w.copysign(root * power_of_two(w, third - base // 3), x)
    return w.select(ordinary, result, x)


# Magnitudes beyond which squares overflow or lose bits, and the scaling powers of two.
LARGE = {"float": (2.0**62, 2.0**-70), "double": (2.0**510, 2.0**-600)}
SMALL = {"float": (2.0**-50, 2.0**90), "double": (2.0**-480, 2.0**700)}


def safe_scale(w: Writer, largest: Value) -> tuple[Value, Value]:
    """A power of two by which numbers up to `largest` can be multiplied before they are squared, and its inverse."""
    element = largest.type.element
    (high, down), (low, up) = LARGE[element], SMALL[element]
    large, small = w.compare("ogt", largest, high), w.compare("olt", largest, low)
    scale = w.select(large, largest.like(down), w.select(small, largest.like(up), 1.0))
    inverse = w.select(large, largest.like(1 / down), w.select(small, largest.like(1 / up), 1.0))
    return scale, inverse


# Exponents of hypot's scale: with it, squares of the larger operand neither overflow nor underflow.
CLAMP = {"float": (2.0**-100, 2.0**100), "double": (2.0**-1000, 2.0**1000)}


@instruction("hypot", "T", "T")
def hypot(w: Writer, x: Value, y: Value) -> Value:
    a, b = w.fabs(x), w.fabs(y)
    format_ = format_of(x)
    # Both are divided by the larger one's power of two, within exponents that have an inverse.
    least, most = CLAMP[format_.element]
    largest = w.at_most(w.at_least(w.select(w.compare("ogt", a, b), a, b), least), most)
    octave = w.to_bits(largest) & format_.infinity_bits
    scale = w.from_bits(octave.like(2 * format_.one_bits) - octave)
    p, q = a * scale, b * scale
    root = w.sqrt(w.fma(p, p, q * q)) * w.from_bits(octave)
    infinite = w.compare("oeq", a, float("inf")) | w.compare("oeq", b, float("inf"))
    return w.select(infinite, x.like(float("inf")), root)
