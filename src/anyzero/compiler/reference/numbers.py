"""Numbers of a width: integers are unsigned and masked, floats are Python floats rounded to their width."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from fractions import Fraction

from anyzero.compiler.spirv.tables import FPRoundingMode as Mode

_HALF, _SINGLE, _DOUBLE = struct.Struct("<e"), struct.Struct("<f"), struct.Struct("<d")
_QUAD = struct.Struct("<Q")

# By width: bits of the fraction, the exponent of the smallest normal number, the largest finite number.
FRACTION = {16: 10, 32: 23, 64: 52}
LOWEST = {16: -14, 32: -126, 64: -1022}
_EXACT = 1 << 53
"""Doubles represent every integer up to this one."""
LARGEST = {16: 65504.0, 32: float(2**128 - 2**104), 64: math.ldexp(2.0 - 2.0**-52, 1023)}


def signed(value: int, width: int) -> int:
    return value - (1 << width) if value >> (width - 1) else value


def to_half(value: float) -> float:
    try:
        rounded: float = _HALF.unpack(_HALF.pack(value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


def to_single(value: float) -> float:
    try:
        rounded: float = _SINGLE.unpack(_SINGLE.pack(value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


def to_double(value: float) -> float:
    return value


ROUND: dict[int, Callable[[float], float]] = {16: to_half, 32: to_single, 64: to_double}
"""By width: rounds a double to nearest, ties to even."""


def bits_of(value: float, width: int) -> int:
    """The bit pattern. A NaN keeps its payload; a conversion by the processor would quiet it."""
    if value != value:
        whole: int = _QUAD.unpack(_DOUBLE.pack(value))[0]
        drop = 52 - FRACTION[width]
        payload = (whole & ((1 << 52) - 1)) >> drop
        ones = (1 << (width - 1 - FRACTION[width])) - 1
        return whole >> 63 << (width - 1) | ones << FRACTION[width] | (payload or 1 << (FRACTION[width] - 1))
    if width == 64:
        return int(_QUAD.unpack(_DOUBLE.pack(value))[0])
    return int.from_bytes((_SINGLE if width == 32 else _HALF).pack(value), "little")


def float_of(bits: int, width: int) -> float:
    fraction = FRACTION[width]
    ones = (1 << (width - 1 - fraction)) - 1
    payload = bits & ((1 << fraction) - 1)
    if payload and bits >> fraction & ones == ones:
        # A signalling NaN is preserved: it is moved, never converted.
        whole = bits >> (width - 1) << 63 | 0x7FF << 52 | payload << (52 - fraction)
        nan: float = _DOUBLE.unpack(_QUAD.pack(whole))[0]
        return nan
    form = {16: _HALF, 32: _SINGLE, 64: _DOUBLE}[width]
    value: float = form.unpack(bits.to_bytes(width // 8, "little"))[0]
    return value


def nearest(exact: Fraction | int, width: int, mode: int = Mode.RTE, zero: float = 0.0) -> float:
    """Rounds an exact number to a width; `zero` is the result for an exact zero."""
    if not exact:
        return zero
    if mode == Mode.RTE and isinstance(exact, int) and -_EXACT <= exact <= _EXACT:
        return ROUND[width](float(exact))
    exact = Fraction(exact)
    sign, size = (-1.0 if exact < 0 else 1.0), abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent:
        exponent -= 1
    step = max(exponent, LOWEST[width]) - FRACTION[width]
    scaled = size / Fraction(2) ** step
    count = whole(scaled, mode, sign < 0)
    if count == 0:
        return math.copysign(0.0, sign)
    try:
        result = math.ldexp(count, step)
    except OverflowError:
        result = math.inf
    if result > LARGEST[width]:
        inwards = mode == Mode.RTZ or mode == (Mode.RTN if sign > 0 else Mode.RTP)
        result = LARGEST[width] if inwards else math.inf
    return math.copysign(result, sign)


def whole(size: Fraction, mode: int, negative: bool) -> int:
    """Rounds a magnitude to an integer; directed modes depend on the sign."""
    floor, rest = divmod(size.numerator, size.denominator)
    if not rest:
        return floor
    if mode == Mode.RTE:
        twice = 2 * rest
        return floor + (twice > size.denominator or (twice == size.denominator and floor & 1))
    return floor + (mode == (Mode.RTN if negative else Mode.RTP))


def converted(value: float, width: int, mode: int = Mode.RTE) -> float:
    """Converts between floating-point widths."""
    if mode == Mode.RTE or not math.isfinite(value):
        return ROUND[width](value)
    return nearest(Fraction(value), width, mode, value)


def integer(value: float, mode: int) -> int:
    """Rounds a finite number to an integer."""
    if mode == Mode.RTZ:
        return int(value)
    if mode == Mode.RTE:
        return round(value)
    return math.floor(value) if mode == Mode.RTN else math.ceil(value)


def limits(width: int, is_signed: bool) -> tuple[int, int]:
    return (-1 << (width - 1), (1 << (width - 1)) - 1) if is_signed else (0, (1 << width) - 1)


def clamp(value: int, low: int, high: int) -> int:
    return low if value < low else high if value > high else value


def flushed(value: float, width: int) -> float:
    """Flushes a denormal to zero."""
    return math.copysign(0.0, value) if abs(value) < math.ldexp(1.0, LOWEST[width]) else value


def fused(a: float, b: float, c: float, width: int) -> float:
    """a * b + c, rounded once."""
    if width == 64 and math.isfinite(a) and math.isfinite(b):
        if not math.isfinite(c):
            return c
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        if exact:
            try:
                return exact.numerator / exact.denominator
            except OverflowError:
                return math.inf if exact > 0 else -math.inf
        # The exact result is zero; its sign does not depend on the size of the product.
        return (math.copysign(0.0, a) * math.copysign(1.0, b)) + c if a == 0.0 or b == 0.0 else 0.0
    product = a * b
    total = product + c
    back = total - product
    lost = (product - (total - back)) + (c - back)
    if lost and lost == lost and int(math.frexp(total)[0] * 2.0**53) % 2 == 0:
        # The product is exact and the sum is not. Rounding to odd avoids double rounding for shorter floats.
        total = math.nextafter(total, math.copysign(math.inf, lost))
    return ROUND[width](total)


def quotient(a: float, b: float) -> float:
    """Division that returns infinities instead of raising."""
    if b == 0.0:
        return math.nan if a == 0.0 or a != a else math.copysign(math.inf, a) * math.copysign(1.0, b)
    return a / b
