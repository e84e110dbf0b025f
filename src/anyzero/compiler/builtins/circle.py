"""Argument reduction modulo π or π/2, for numbers of any size.

Up to a bound by Cody-Waite with π in three pieces: each piece has all the bits of the format, the first fused
multiply-add is exact, and the errors of the others are relative to the rest. Beyond the bound by Payne-Hanek: the
significand is multiplied, as an integer, with the relevant bits of 2/π, in a routine called if any lane needs it.
"""

from __future__ import annotations

import math
from functools import cache

from anyzero.compiler.builtins.formats import FORMATS
from anyzero.compiler.builtins.integer import product_high
from anyzero.compiler.builtins.routine import Routine, finish
from anyzero.compiler.builtins.writer import Writer, format_of
from anyzero.compiler.llvm import Type, Value
from anyzero.lazy_namedtuple import NamedTuple

# 2/π after the binary point.
TWO_OVER_PI = int(
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424d"
    "d2e006492eea09d1921cfe1deb1cb129a73ee88235f52ebb4484e99c7026b45f7e413991d639"
    "835339f49c845f8bbdf9283b1ff897ffde05980fef2f118b5a0a6d1f6d367ecf27cb09b74f46"
    "3f669e5fea2d7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d0856033046fc7b6bab",
    16,
)
TWO_OVER_PI_BITS = 1216

INVERSE_PI, TWO_INVERSE_PI = 0.3183098861837907, 0.6366197723675814
# Truncated, not rounded: pieces of one sign preserve the sign of zero.
PI = {
    "float": (3.141592502593994, 1.5099578831723193e-07, 1.078060505991553e-14),
    "double": (3.141592653589793, 1.224646799147353e-16, 2.1657133478438278e-32),
}
HALF_PI = {element: (p[0] / 2, p[1] / 2, p[2] / 2) for element, p in PI.items()}
# A quarter turn as the sum of two nearest numbers.
QUARTER = {
    "float": (1.5707963705062866, -4.371138828673793e-08),
    "double": (1.5707963267948966, 6.123233995736766e-17),
}
# Up to here the multiple of π, computed in the format itself, is within 1/300 of the right one.
BOUND = {"float": 2.0**16, "double": 2.0**40}


class Angle(NamedTuple):
    """x = turns · (π or π/2) + rest."""

    turns: Value
    """An integer in the lowest bits."""
    rest: Value


def subtract(w: Writer, x: Value, n: Value, pieces: tuple[float, float, float]) -> Value:
    """x - n · (the sum of the pieces)."""
    for piece in pieces:
        x = w.fma(n, -piece, x)
    return x


def half_turns(w: Writer, x: Value, ahead: bool = False, far: bool = True) -> Angle:
    """Reduction by the nearest multiple of π; `ahead` adds π/2 first, for the cosine. An infinite `x` gives
    NaN. Without `far`, numbers stay within the bound.
    """
    magic = format_of(x).magic
    if ahead:
        anchored = w.mad(x, INVERSE_PI, 0.5) + magic
        n = (anchored - magic) - 0.5
    else:
        anchored = w.mad(x, INVERSE_PI, magic)
        n = anchored - magic
    rest = subtract(w, x, n, PI[x.type.element])
    if not far:
        return Angle(w.to_bits(anchored), rest)

    def far_away() -> list[Value]:
        quadrant, angle, valid = _far(w, x)
        if ahead:
            quadrant = quadrant + 1
        # From the nearest multiple of π/2 to that of π; where it moves, the sine is flat.
        moved = angle - w.copysign(angle.like(math.pi / 2), angle)
        odd = w.compare("ne", quadrant & 1, 0)
        positive = w.cast("zext", w.compare("ogt", angle, 0.0), quadrant.type.element)
        turns = (quadrant + positive).lshr(1)
        return [
            w.select(valid, turns, w.to_bits(anchored)),
            w.select(valid, w.select(odd, moved, angle), rest),
        ]

    turns, rest = w.unlikely(_is_far(w, x), [w.to_bits(anchored), rest], far_away)
    return Angle(turns, rest)


def quarter_turns(w: Writer, x: Value, far: bool = True) -> Angle:
    """Reduction by the nearest multiple of π/2."""
    magic = format_of(x).magic
    anchored = w.mad(x, TWO_INVERSE_PI, magic)
    rest = subtract(w, x, anchored - magic, HALF_PI[x.type.element])
    if not far:
        return Angle(w.to_bits(anchored), rest)

    def far_away() -> list[Value]:
        quadrant, angle, valid = _far(w, x)
        return [w.select(valid, quadrant, w.to_bits(anchored)), w.select(valid, angle, rest)]

    turns, rest = w.unlikely(_is_far(w, x), [w.to_bits(anchored), rest], far_away)
    return Angle(turns, rest)


def _is_far(w: Writer, x: Value) -> Value:
    return w.compare("ogt", w.fabs(x), BOUND[x.type.element])


def _far(w: Writer, x: Value) -> tuple[Value, Value, Value]:
    """Quadrant, rest, and a mask of valid lanes: `x` finite and beyond the bound."""
    quadrant, angle = w.use(far_quarter_turns(x.type.element, x.type.lanes), x)
    return quadrant, angle, _is_far(w, x) & w.compare("olt", w.fabs(x), float("inf"))


@cache
def far_quarter_turns(element: str, lanes: int) -> Routine:
    """Quadrant and rest of numbers beyond the bound."""
    format_ = FORMATS[element]
    width = format_.bits
    w = Writer()
    w.rare = True
    type_ = Type(element, lanes)
    x = Value(w, "%a0", type_)
    bits = w.to_bits(x)
    # x = significand · 2^e, an integer times a power of two.
    e = (bits & format_.infinity_bits).lshr(format_.fraction) - (format_.bias + format_.fraction)
    significand = (bits & format_.fraction_mask) | (1 << format_.fraction)
    # Bits of 2/π above this place give multiples of four quarter turns; `width` zeros stand before the first.
    place = w.intrinsic("smax", e - 2, e.like(-width)) + width
    word, shift = place.lshr(width.bit_length() - 1), place & (width - 1)
    symbol = f"az.two_over_pi.{type_.mangled}"
    words = [_load(w, symbol, word + at) for at in range(4)]
    a, b, c = (w.intrinsic("fshl", words[at], words[at + 1], shift) for at in range(3))
    # The product modulo four, as two words whose top bits are the quarter turns.
    low = significand * b + product_high(w, False, significand, c)
    carry = w.cast("zext", w.compare("ult", low, significand * b), low.type.element)
    high = significand * a + product_high(w, False, significand, b) + carry
    rounded = high + (1 << (width - 3))
    quadrant = rounded.lshr(width - 2)
    # The signed rest: negated without the carry, which is far below the last significant bit.
    signed = rounded.shl(2).lshr(2) - (1 << (width - 3))
    below_zero = signed.ashr(width - 1)
    first, *others = _halves(w, signed ^ below_zero, element) + _halves(w, low ^ below_zero, element)
    step = 2.0 ** (-width // 2)
    tail = others[-1]
    for each in reversed(others[:-1]):
        tail = w.fma(tail, step, each)
    size = w.fma(tail, step, first)
    size_low = w.fma(tail, step, first - size)
    unit, unit_low = (piece * 4 * step for piece in QUARTER[element])
    rest = size * unit
    rest = rest + w.fma(size, unit_low, w.fma(size_low, unit, w.fma(size, unit, -rest)))
    negative = w.sign_bit(x)
    quadrant = w.select(w.compare("eq", negative, 0), quadrant, -quadrant)
    rest = w.flip(rest, negative ^ (below_zero & format_.sign_mask))
    done = finish(w, f"az.far_quarter_turns.{type_.mangled}", (type_,), (quadrant & 3, rest))
    return Routine(done.symbol, done.parameters, done.results, _table(symbol, width) + done.text, (), done.intrinsics)


def _table(symbol: str, width: int) -> str:
    """2/π in words, after one of zeros."""
    count = TWO_OVER_PI_BITS // width
    mask = (1 << width) - 1
    words = [0] + [TWO_OVER_PI >> (TWO_OVER_PI_BITS - (at + 1) * width) & mask for at in range(count)]
    listed = ", ".join(f"i{width} {word}" for word in words)
    return f"@{symbol} = internal unnamed_addr constant [{len(words)} x i{width}] [{listed}]\n"


def _load(w: Writer, symbol: str, index: Value) -> Value:
    """A word of the table for each lane."""
    element = index.type.element
    found = w.poison(index.type)
    for lane in range(index.type.lanes or 1):
        place = w.element(element, Value(w, f"@{symbol}", Type("ptr")), w.lane(index, lane))
        word = w.load(Type(element), place)
        found = w.with_lane(found, lane, word) if index.type.lanes else word
    return found


def _halves(w: Writer, word: Value, element: str) -> list[Value]:
    """The upper and the lower half of a word, as numbers."""
    format_ = FORMATS[element]
    half = word.type.bits // 2
    if element == "float":
        return [w.cast("uitofp", each, element) for each in (word.lshr(half), word & 0xFFFF)]
    anchor = 2.0**format_.fraction
    bits = w.to_bits(w.constant(anchor, Type(element, word.type.lanes)))
    return [w.from_bits(each | bits) - anchor for each in (word.lshr(half), word & 0xFFFFFFFF)]
