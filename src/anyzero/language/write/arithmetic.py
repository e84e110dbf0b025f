"""Operators and conversions as instructions."""

from __future__ import annotations

from typing import Any, Final

from anyzero.language.types import BOOL, I32, Scalar, Vector
from anyzero.language.write.body import Body

__all__ = ["arithmetic", "converted", "power", "turned"]

_FLOATS: Final = {
    "+": "FAdd",
    "-": "FSub",
    "*": "FMul",
    "/": "FDiv",
    "<": "FOrdLessThan",
    "<=": "FOrdLessThanEqual",
    ">": "FOrdGreaterThan",
    ">=": "FOrdGreaterThanEqual",
    "==": "FOrdEqual",
    "!=": "FUnordNotEqual",
}
_INTEGERS: Final = {
    "+": "IAdd",
    "-": "ISub",
    "*": "IMul",
    "&": "BitwiseAnd",
    "|": "BitwiseOr",
    "^": "BitwiseXor",
    "==": "IEqual",
    "!=": "INotEqual",
}
_SIGNED: Final = {
    "<": "SLessThan",
    "<=": "SLessThanEqual",
    ">": "SGreaterThan",
    ">=": "SGreaterThanEqual",
    "//": "SDiv",
    "%": "SRem",
    ">>": "ShiftRightArithmetic",
    "<<": "ShiftLeftLogical",
}
_UNSIGNED: Final = {
    "<": "ULessThan",
    "<=": "ULessThanEqual",
    ">": "UGreaterThan",
    ">=": "UGreaterThanEqual",
    "//": "UDiv",
    "%": "UMod",
    ">>": "ShiftRightLogical",
    "<<": "ShiftLeftLogical",
}
_BOOLS: Final = {
    "&": "LogicalAnd",
    "|": "LogicalOr",
    "^": "LogicalNotEqual",
    "==": "LogicalEqual",
    "!=": "LogicalNotEqual",
}


def arithmetic(
    b: Body, sign: str, of: Any, result: Any, left: int, right: int, *, nonnegative: bool = False, known: Any = None
) -> int:
    """An operator between two values of type `of`; `known` is the right one where it is a constant."""
    kind = of.element.kind if isinstance(of, Vector) else of.kind
    if kind == "b":
        return b.emit(_BOOLS[sign], result, left, right)
    if kind == "f":
        return _of_floats(b, sign, of, result, left, right)
    if sign in _INTEGERS:
        return b.emit(_INTEGERS[sign], result, left, right)
    if sign in ("<<", ">>"):
        bits = of.element.bits if isinstance(of, Vector) else of.bits
        if known is None or not 0 <= known < bits:
            right = b.emit("BitwiseAnd", of, right, b.constant(of, bits - 1))
        return b.emit((_UNSIGNED if kind == "u" else _SIGNED)[sign], result, left, right)
    if sign in ("//", "%") and kind == "i":
        return _floored(b, sign, of, left, right, nonnegative, known)
    return b.emit((_UNSIGNED if kind == "u" else _SIGNED)[sign], result, left, right)


def _of_floats(b: Body, sign: str, of: Any, result: Any, left: int, right: int) -> int:
    if sign in _FLOATS:
        return b.emit(_FLOATS[sign], result, left, right)
    if sign == "//":
        return b.opencl("floor", of, b.emit("FDiv", of, left, right))
    if sign == "%":
        rest = b.opencl("fmod", of, left, right)
        boolean = Vector(BOOL, of.count) if isinstance(of, Vector) else BOOL
        zero = b.constant(of, 0)
        some = b.emit("FUnordNotEqual", boolean, rest, zero)
        below, under = (b.emit("FOrdLessThan", boolean, each, zero) for each in (rest, right))
        differs = b.emit("LogicalAnd", boolean, some, b.emit("LogicalNotEqual", boolean, below, under))
        return b.emit("Select", of, differs, b.emit("FAdd", of, rest, right), rest)
    return b.opencl("pow", of, left, right)


def _floored(b: Body, sign: str, of: Any, left: int, right: int, nonnegative: bool, known: Any) -> int:
    """Division that rounds down, as Python's, and its remainder with the sign of the divisor."""
    if nonnegative:
        return b.emit(_UNSIGNED[sign], of, left, right)
    if isinstance(known, int) and known > 0 and known & known - 1 == 0:
        if sign == "%":
            return b.emit("BitwiseAnd", of, left, b.constant(of, known - 1))
        return b.emit("ShiftRightArithmetic", of, left, b.constant(of, known.bit_length() - 1))
    boolean = Vector(BOOL, of.count) if isinstance(of, Vector) else BOOL
    zero = b.constant(of, 0)
    rest = b.emit("SRem", of, left, right)
    if isinstance(known, int) and known > 0:
        differs = b.emit("SLessThan", boolean, rest, zero)
    else:
        some = b.emit("INotEqual", boolean, rest, zero)
        apart = b.emit("SLessThan", boolean, b.emit("BitwiseXor", of, rest, right), zero)
        differs = b.emit("LogicalAnd", boolean, some, apart)
    if sign == "%":
        return b.emit("Select", of, differs, b.emit("IAdd", of, rest, right), rest)
    quotient = b.emit("SDiv", of, left, right)
    lower = b.emit("ISub", of, quotient, b.constant(of, 1))
    return b.emit("Select", of, differs, lower, quotient)


def power(b: Body, of: Scalar, base: int, exponent: int) -> int:
    """A constant integer power: products for integers and for 2, 3 and 4."""
    multiply = "FMul" if of.kind == "f" else "IMul"
    if of.kind == "f" and exponent not in (2, 3, 4):
        return b.opencl("pown", of, base, b.constant(I32, exponent))
    if exponent == 3:
        return b.emit(multiply, of, b.emit(multiply, of, base, base), base)
    found: int | None = None
    while exponent:
        if exponent & 1:
            found = base if found is None else b.emit(multiply, of, found, base)
        exponent >>= 1
        if exponent:
            base = b.emit(multiply, of, base, base)
    return b.constant(of, 1) if found is None else found


def turned(b: Body, sign: str, of: Any, value: int) -> int:
    """`-`, `~` and `not`."""
    kind = of.element.kind if isinstance(of, Vector) else of.kind
    if sign == "-":
        return b.emit("FNegate" if kind == "f" else "SNegate", of, value)
    return b.emit("Not" if sign == "~" else "LogicalNot", of, value)


def converted(b: Body, value: int, given: Any, to: Any) -> int:
    """A number, or each of a vector, as one of another type."""
    source = given.element if isinstance(given, Vector) else given
    target = to.element if isinstance(to, Vector) else to
    if source is target:
        return value
    if target is BOOL:
        zero = b.constant(given, 0)
        return b.emit("FUnordNotEqual" if source.kind == "f" else "INotEqual", BOOL, value, zero)
    if source is BOOL:
        return b.emit("Select", to, value, b.constant(to, 1), b.constant(to, 0))
    if source.kind == "f" and target.kind == "f":
        return b.emit("FConvert", to, value)
    if source.kind == "f":
        return b.emit("ConvertFToU" if target.kind == "u" else "ConvertFToS", to, value)
    if target.kind == "f":
        return b.emit("ConvertUToF" if source.kind == "u" else "ConvertSToF", to, value)
    if source.bits == target.bits:
        return value
    # The sign of the source decides what fills the upper bits; SPIR-V's integers have none themselves.
    return b.emit("UConvert" if source.kind == "u" or target.bits < source.bits else "SConvert", to, value)
