"""Legalizes OpenCL's integer functions for odd widths: computed exactly in a wider type.

Each takes the operands, with zeros above their bits, and their width; it returns an integer of any width whose lower
bits are the result.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from anyzero.compiler.builder import Builder
from anyzero.compiler.errors import CompileError
from anyzero.compiler.ir import WIDTHS, Op
from anyzero.compiler.transform.wide_integers import halves

Function = Callable[[Builder, list[Op], int], Op]


def holding(bits: int) -> str:
    """The next legal integer type."""
    for name in ("i8", "i16", "i32", "i64", "i128"):
        if WIDTHS[name] >= bits:
            return name
    raise CompileError(f"needs an intermediate result of {bits} bits; {WIDTHS['i128']} are possible")


def sign_extended(b: Builder, value: Op, bits: int) -> Op:
    """The sign extension of an integer of `bits` bits."""
    extra = WIDTHS[value.type] - bits
    by = b.const(value.type, extra)
    return b.ashr(b.shl(value, by), by) if extra else value


def _wide(b: Builder, value: Op, bits: int, signed: bool, to: str) -> Op:
    return b.resized(sign_extended(b, value, bits) if signed else value, to, signed)


def _limits(bits: int, signed: bool) -> tuple[int, int]:
    return (-1 << (bits - 1), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)


def _least(b: Builder, x: Op, y: Op) -> Op:
    return b.select(b.icmp("slt", x, y), x, y)


def _most(b: Builder, x: Op, y: Op) -> Op:
    return b.select(b.icmp("sgt", x, y), x, y)


def _absolute(b: Builder, x: Op) -> Op:
    zero = b.const(x.type, 0)
    return b.select(b.icmp("slt", x, zero), b.sub(zero, x), x)


def _halved(b: Builder, x: Op) -> Op:
    return b.ashr(x, b.const(x.type, 1))


_EXACT: dict[str, tuple[int, Callable[..., Op]]] = {
    "abs": (1, _absolute),
    "abs_diff": (2, lambda b, x, y: _absolute(b, b.sub(x, y))),
    "hadd": (2, lambda b, x, y: _halved(b, b.add(x, y))),
    "rhadd": (2, lambda b, x, y: _halved(b, b.add(b.add(x, y), b.const(x.type, 1)))),
    "min": (1, _least),
    "max": (1, _most),
    "clamp": (1, lambda b, x, low, high: _least(b, _most(b, x, low), high)),
}
"""Extra bits that the computation needs beyond the operands' width, and the computation."""

_SATURATED: dict[str, Callable[..., Op]] = {
    "add_sat": lambda b, x, y: b.add(x, y),
    "sub_sat": lambda b, x, y: b.sub(x, y),
    "mad_sat": lambda b, x, y, z: b.add(b.mul(x, y), z),
}


def _exact(name: str, signed: bool, b: Builder, operands: list[Op], bits: int) -> Op:
    more, way = _EXACT[name]
    to = holding(bits + more)
    return way(b, *(_wide(b, each, bits, signed, to) for each in operands))


def _saturated(name: str, signed: bool, b: Builder, operands: list[Op], bits: int) -> Op:
    to = holding(2 * bits + 1 if name == "mad_sat" else bits + 2)
    found = _SATURATED[name](b, *(_wide(b, each, bits, signed, to) for each in operands))
    low, high = (b.const(to, limit) for limit in _limits(bits, signed))
    return _least(b, _most(b, found, low), high)


def _high(signed: bool, b: Builder, operands: list[Op], bits: int) -> Op:
    """The upper half of a product, plus an optional addend."""
    to = holding(2 * bits)
    first, second, *rest = (_wide(b, each, bits, signed, to) for each in operands)
    found = b.lshr(b.mul(first, second), b.const(to, bits))
    return b.add(found, rest[0]) if rest else found


def _leading_zeros(b: Builder, operands: list[Op], bits: int) -> Op:
    (value,) = operands
    unused = b.const(value.type, WIDTHS[value.type] - bits)
    return b.sub(leading_zeros(b, value), unused)


def leading_zeros(b: Builder, value: Op) -> Op:
    """Of a plain integer."""
    if value.type != "i128":
        return b.math("clz", value.type, value)
    low, high = halves(value)
    below = b.add(b.math("clz", "i64", low), b.const("i64", 64))
    return b.resized(b.select(b.is_zero(high), below, b.math("clz", "i64", high)), "i128")


def _trailing_zeros(b: Builder, operands: list[Op], bits: int) -> Op:
    (value,) = operands
    if value.type != "i128":
        found = b.math("ctz", value.type, value)
    else:
        low, high = halves(value)
        above = b.add(b.math("ctz", "i64", high), b.const("i64", 64))
        found = b.resized(b.select(b.is_zero(low), above, b.math("ctz", "i64", low)), "i128")
    return b.select(b.is_zero(value), b.const(value.type, bits), found)


def _count(b: Builder, operands: list[Op], bits: int) -> Op:
    return b.intrinsic("ctpop", operands[0])


def _rotated(b: Builder, operands: list[Op], bits: int) -> Op:
    """Rotates by the count modulo the width."""
    value, by = operands
    if bits & (bits - 1) or bits < WIDTHS[value.type]:
        by = b.binary("urem", by, b.const(by.type, bits))
    back = b.sub(b.const(by.type, bits), by)
    both = b.or_(b.shl(value, by), b.lshr(value, back))
    return b.select(b.is_zero(by), value, both)


FUNCTIONS: dict[str, Function] = {
    **{f"s_{name}": partial(_exact, name, True) for name in _EXACT},
    **{f"u_{name}": partial(_exact, name, False) for name in _EXACT},
    **{f"s_{name}": partial(_saturated, name, True) for name in _SATURATED},
    **{f"u_{name}": partial(_saturated, name, False) for name in _SATURATED},
    **dict.fromkeys(("s_mul_hi", "s_mad_hi"), partial(_high, True)),
    **dict.fromkeys(("u_mul_hi", "u_mad_hi"), partial(_high, False)),
    "clz": _leading_zeros,
    "ctz": _trailing_zeros,
    "popcount": _count,
    "rotate": _rotated,
}
