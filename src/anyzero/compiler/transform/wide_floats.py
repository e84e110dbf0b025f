"""Conversions between floats and integers of more than 64 bits, through 64-bit integers."""

from __future__ import annotations

from anyzero.compiler.builder import Builder
from anyzero.compiler.ir import WIDTHS, Op
from anyzero.compiler.transform.wide_integers import halves

_BIAS = {"float": (127, 23), "double": (1023, 52)}
"""The exponent's bias, and the bits of the mantissa."""
_ROUNDED = {"rte": "roundeven", "rtp": "ceil", "rtn": "floor"}
_OPPOSITE = {"rtp": "rtn", "rtn": "rtp"}


def _power(b: Builder, exponent: int, type_: str) -> Op:
    """A power of two; infinity if it is out of range."""
    bias, place = _BIAS[type_]
    return b.const(type_, min(bias + exponent, 2 * bias + 1) << place)


def from_wide(b: Builder, kind: str, value: Op, to: str) -> Op:
    """A float from 128 bits, rounded once: the last of the upper 64 bits is sticky."""
    name, _, mode = kind.partition(".")
    if name == "sitofp":
        negative = b.icmp("slt", value, b.const("i128", 0))
        size = b.select(negative, b.sub(b.const("i128", 0), value), value)
        ways = [_magnitude(b, size, to, mode)]
        if mode in _OPPOSITE:
            ways.append(_magnitude(b, size, to, _OPPOSITE[mode]))
        return b.select(negative, b.emit("fneg", to, [ways[-1]]), ways[0])
    return _magnitude(b, value, to, mode)


def _magnitude(b: Builder, value: Op, to: str, mode: str) -> Op:
    _, high = halves(value)
    above = b.sub(b.const("i64", 64), b.math("clz", "i64", high))
    by = b.resized(above, "i128")
    kept = b.cast("trunc", b.lshr(value, by), "i64")
    lost = b.icmp("ne", b.shl(b.lshr(value, by), by), value)
    found = b.cast(f"uitofp.{mode}" if mode else "uitofp", b.or_(kept, b.cast("zext", lost, "i64")), to)
    if to not in _BIAS:
        # Integers of more than 64 bits are out of the range of a half anyway.
        return found
    bias, place = _BIAS[to]
    raw = f"i{WIDTHS[to]}"
    scale = b.shl(b.add(b.resized(above, raw), b.const(raw, bias)), b.const(raw, place))
    return b.emit("fmul", to, [found, b.cast("bitcast", scale, to)])


def to_wide(b: Builder, signed: bool, bits: int, modes: list[str], value: Op) -> Op:
    """An integer of more than 64 bits from a float, as 128 bits."""
    saturated = "sat" in modes
    for mode in modes:
        if mode in _ROUNDED:
            value = b.intrinsic(_ROUNDED[mode], value)
    if value.type == "half":
        value = b.cast("fpext", value, "float")
    type_ = value.type
    zero = b.const(type_, 0)
    size = b.intrinsic("fabs", value)
    # Out of range, the result is undefined unless saturated; the conversion must not be executed, though.
    limit = _power(b, bits - (signed and saturated), type_)
    inside = b.emit("fcmp", "i1", [size, limit], "olt")
    size = b.select(inside, size, zero)
    high = b.cast("fptoui", b.emit("fmul", type_, [size, _power(b, -64, type_)]), "i64")
    upper = b.emit("fmul", type_, [b.cast("uitofp", high, type_), _power(b, 64, type_)])
    low = b.cast("fptoui", b.emit("fsub", type_, [size, upper]), "i64")
    whole = b.or_(b.shl(b.resized(high, "i128"), b.const("i128", 64)), b.resized(low, "i128"))
    negative = b.emit("fcmp", "i1", [value, zero], "olt")
    if signed:
        whole = b.select(negative, b.sub(b.const("i128", 0), whole), whole)
    elif saturated:
        whole = b.select(negative, b.const("i128", 0), whole)
    if not saturated:
        return whole
    lowest, highest = (-1 << (bits - 1), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    beyond = b.select(negative, b.const("i128", lowest), b.const("i128", highest))
    number = b.emit("fcmp", "i1", [value, value], "ord")
    return b.select(inside, whole, b.select(number, beyond, b.const("i128", 0)))
