"""Operations on constants, by their bits. Floats are not computed with, only converted where that is exact."""

from __future__ import annotations

from anyzero.compiler.ir import WIDTHS
from anyzero.compiler.spirv.constants import bits_of, float_of

FLOATS = {"half": 16, "float": 32, "double": 64}


def width(type_: str) -> int:
    return WIDTHS[type_]


def signed(bits: int, width_: int) -> int:
    return bits - (1 << width_) if bits >> (width_ - 1) else bits


def binary(name: str, bits: int, a: int, b: int) -> int | None:
    """The result for two integers, not yet truncated to their width; None where LLVM's result is undefined."""
    match name:
        case "add":
            return a + b
        case "sub":
            return a - b
        case "mul":
            return a * b
        case "and":
            return a & b
        case "or":
            return a | b
        case "xor":
            return a ^ b
        case "shl":
            return a << b if b < bits else None
        case "lshr":
            return a >> b if b < bits else None
        case "ashr":
            return signed(a, bits) >> b if b < bits else None
    return _divided(name, bits, a, b) if b else None


def _divided(name: str, bits: int, a: int, b: int) -> int | None:
    if name in ("udiv", "urem"):
        return a // b if name == "udiv" else a % b
    a, b = signed(a, bits), signed(b, bits)
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    if quotient >> (bits - 1) == 1:
        return None
    return quotient if name == "sdiv" else a - quotient * b


def compared(predicate: str, bits: int, a: int, b: int) -> bool:
    if predicate[0] == "s":
        a, b = signed(a, bits), signed(b, bits)
    match predicate.lstrip("us"):
        case "eq":
            return a == b
        case "ne":
            return a != b
        case "lt":
            return a < b
        case "le":
            return a <= b
        case "gt":
            return a > b
    return a >= b


def cast(kind: str, value: int, from_: str, to: str) -> int | None:
    """The bits after a conversion; None where it is inexact, or where only the loader knows the value."""
    match kind:
        case "trunc" | "zext":
            return value
        case "bitcast":
            return None if "ptr" in (from_, to) else value
        case "ptrtoint" | "inttoptr":
            return value
        case "sext":
            return signed(value, width(from_))
    return _number(kind.partition(".")[0], value, from_, to)


def _number(kind: str, value: int, from_: str, to: str) -> int | None:
    if kind in ("sitofp", "uitofp"):
        whole = signed(value, width(from_)) if kind == "sitofp" else value
        if abs(whole) > 1 << 53:
            return None
        bits = bits_of(float(whole), FLOATS[to])
        return bits if float_of(bits, FLOATS[to]) == whole else None
    number = float_of(value, FLOATS[from_])
    if kind in ("fptosi", "fptoui"):
        lowest, highest = (0, 1 << width(to)) if kind == "fptoui" else (-1 << (width(to) - 1), 1 << (width(to) - 1))
        exact = number == number and abs(number) < 2.0**64 and int(number) == number
        return int(number) if exact and lowest <= number < highest else None
    bits = bits_of(number, FLOATS[to])
    return bits if float_of(bits, FLOATS[to]) == number else None
