"""The operators: which types they take, and in which type they compute."""

from __future__ import annotations

from typing import Any, Final

from anyzero.language.types import (
    BOOL,
    WEAK_FLOAT,
    Refusal,
    Scalar,
    Type,
    Vector,
    common,
    is_float,
    is_integer,
    is_number,
    promoted,
)

__all__ = ["BITS", "COMPARISONS", "binary_types", "unary_type"]

COMPARISONS: Final = ("<", "<=", ">", ">=", "==", "!=")
BITS: Final = ("&", "|", "^")


def binary_types(operator: str, a: Type, b: Type) -> tuple[Any, Any, Any]:
    """The types that both sides are converted to, and that of the result; Refusal where there is none."""
    if not (is_number(a) and is_number(b)):
        raise Refusal(f"{a} {operator} {b}: operators take numbers and vectors")
    if operator in COMPARISONS:
        if isinstance(a, Vector) or isinstance(b, Vector):
            raise Refusal(f"vectors have no {operator}; compare their components, as in a.x {operator} b.x")
        if a is BOOL and b is BOOL:
            return BOOL, BOOL, BOOL
        both = common(a, b)
        return both, both, BOOL
    if operator in ("<<", ">>"):
        return _shift_types(operator, a, b)
    if operator in BITS:
        if a is BOOL and b is BOOL:
            return BOOL, BOOL, BOOL
        return _same(operator, common(a, b), "integers or bools")
    if operator == "**":
        return _power_types(a, b)
    both = common(a, b)
    if operator == "/":
        if both.weak if isinstance(both, Scalar) else False:
            return WEAK_FLOAT, WEAK_FLOAT, WEAK_FLOAT
        if is_integer(both):
            raise Refusal(f"{a} / {b}: integers are divided by //; for a fraction write az.f32(a) / az.f32(b)")
    return both, both, both


def _same(operator: str, both: Type, wanted: str) -> tuple[Any, Any, Any]:
    if not is_integer(both):
        raise Refusal(f"{operator} takes {wanted}, not {both}")
    return both, both, both


def _shift_types(operator: str, a: Type, b: Type) -> tuple[Any, Any, Any]:
    if not (is_integer(a) and is_integer(b)) or isinstance(b, Vector) != isinstance(a, Vector):
        raise Refusal(f"{a} {operator} {b}: a shift takes an integer and a number of bits")
    if isinstance(a, Vector):
        return _same(operator, common(a, b), "integers")
    assert isinstance(a, Scalar)
    left = common(a, b) if a.weak else promoted(a)
    return left, left, left


def _power_types(a: Type, b: Type) -> tuple[Any, Any, Any]:
    if isinstance(a, Vector) or isinstance(b, Vector):
        raise Refusal("vectors have no **; az.math.pow takes them")
    both = common(a, b)
    if not is_float(both) and not both.weak:
        if isinstance(b, Scalar) and b.weak:
            return both, b, both
        raise Refusal(f"{a} ** {b}: an integer takes a constant exponent; for others write az.f32(a) ** az.f32(b)")
    if is_integer(b) and is_float(both) and not both.weak:
        return both, b, both
    return both, both, both


def unary_type(operator: str, a: Type) -> Any:
    """The type that `-`, `+`, `~` and `not` compute in."""
    if operator == "not":
        if not isinstance(a, Scalar):
            raise Refusal(f"`not` takes a bool or a number, not {a}")
        return BOOL
    if not is_number(a):
        raise Refusal(f"{operator} takes a number, not {a}")
    if operator == "~" and not is_integer(a):
        hint = "; for a bool write `not`" if a is BOOL else ""
        raise Refusal(f"~ takes integers, not {a}{hint}")
    return promoted(a) if isinstance(a, Scalar) else a
