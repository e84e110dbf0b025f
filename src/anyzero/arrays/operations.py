"""The operations of expressions: numpy's names, numpy's types, and their kernel source."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np

from anyzero import errors

__all__ = ["DEFINITIONS", "FUNCTIONS", "NAMES", "OPERATORS", "canonical", "resolved", "written"]

OPERATORS: Final = {
    "add": "+", "subtract": "-", "multiply": "*", "true_divide": "/", "bitwise_and": "&", "bitwise_or": "|",
    "bitwise_xor": "^", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==",
    "not_equal": "!=",
}  # fmt: skip
"""Operations that are an operator of the language."""

FUNCTIONS: Final = {
    "sqrt": "sqrt", "cbrt": "cbrt", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2",
    "log10": "log10", "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos",
    "arctan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh",
    "arctanh": "atanh", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint", "fabs": "fabs",
    "deg2rad": "radians", "rad2deg": "degrees", "radians": "radians", "degrees": "degrees", "arctan2": "atan2",
    "hypot": "hypot", "copysign": "copysign", "fmod": "fmod", "fmin": "fmin", "fmax": "fmax", "isnan": "isnan",
    "isinf": "isinf", "isfinite": "isfinite",
}  # fmt: skip
"""Operations that are a function of `az.math`, by numpy's name."""

_OTHERS: Final = {
    *("floor_divide", "remainder", "power", "left_shift", "right_shift", "minimum", "maximum", "negative", "positive"),
    *("absolute", "invert", "square", "reciprocal", "sign", "logical_and", "logical_or", "logical_xor", "logical_not"),
}
NAMES: Final = frozenset({*OPERATORS, *FUNCTIONS, *_OTHERS})
"""Functions of numpy that arrays take."""

_SAME: Final = {"divide": "true_divide", "mod": "remainder", "abs": "absolute", "bitwise_not": "invert", "pow": "power"}

# Integers divide by zero to zero, as in numpy; the remainder of floats has the sign of the divisor.
DEFINITIONS: Final = {
    "mod": """
@az.function
def floor_mod(a, b):
    r = az.math.fmod(a, b)
    return r + b if r != 0 and (r < 0) != (b < 0) else az.math.copysign(r, b) if r == 0 else r
""",
    "div": """
@az.function
def floor_div(a, b):
    r = az.math.fmod(a, b)
    q = (a - r) / b
    q = q - 1 if r != 0 and (r < 0) != (b < 0) else q
    f = az.math.floor(q)
    f = f + 1 if q - f > 0.5 else f
    return a / b if b == 0 else az.math.copysign(q * 0, a / b) if q == 0 else f
""",
    "pow": """
@az.function
def int_pow(a, b):
    found = a * 0 + 1
    base = a
    left = b
    while left > 0:
        if left & 1:
            found = found * base
        base = base * base
        left = left >> 1
    return found
""",
}
"""Functions of kernels for operations that are no operator of the language."""


@cache
def resolved(name: str, operands: tuple[Any, ...]) -> tuple[np.dtype[Any], ...]:
    """The types that an operation computes in, and that of its result, by numpy's rules.

    `operands` are dtypes, or `int` and `float` for numbers of Python's, which take the type of the other side.

    >>> from anyzero.arrays.operations import resolved
    >>> resolved("multiply", (np.dtype(np.float32), float))[-1]
    dtype('float32')
    """
    given = tuple(np.dtype(bool) if each is bool else each for each in operands)
    ufunc: np.ufunc = getattr(np, name)
    try:
        if all(isinstance(each, type) for each in given):
            given = tuple(np.dtype(each) for each in given)
        return ufunc.resolve_dtypes((*given, None))
    except TypeError:
        shown = " and ".join(str(each) if isinstance(each, np.dtype) else f"a Python {each.__name__}" for each in given)
        raise errors.InvalidArgument(
            f"{name} does not take {shown}", remedy="Convert it with astype(), as with numpy."
        ) from None


def canonical(name: str) -> str:
    """The canonical name of an operation."""
    return _SAME.get(name, name)


def written(name: str, dtypes: tuple[np.dtype[Any], ...], operands: list[str]) -> tuple[str, str | None]:
    """The kernel source of an operation on operands of these types, and the entry of `DEFINITIONS` that it needs."""
    dtype = dtypes[0]
    kind = dtype.kind
    a = operands[0]
    b = operands[1] if len(operands) > 1 else ""
    if name == "where":
        return f"({b} if {a} else {operands[2]})", None
    if name.startswith("power:"):
        return _power(a, int(name.partition(":")[2])), None
    if len(dtypes) > 1 and dtypes[0] != dtypes[1] and name in OPERATORS:
        return _mixed(OPERATORS[name], a, b, first_signed=kind == "i"), None
    if kind == "b" and name in _BOOL:
        return _BOOL[name].format(a=a, b=b), None
    if name in OPERATORS:
        return f"{a} {OPERATORS[name]} {b}", None
    if name in FUNCTIONS:
        return _function(name, kind, operands), None
    if name in ("floor_divide", "remainder"):
        if kind == "f":
            return (f"floor_div({a}, {b})", "div") if name == "floor_divide" else (f"floor_mod({a}, {b})", "mod")
        return _divided("//" if name == "floor_divide" else "%", dtype, a, b), None
    if name == "power":
        return (f"{a} ** {b}", None) if kind == "f" else (f"int_pow({a}, {b})", "pow")
    if name in ("left_shift", "right_shift"):
        bits = dtype.itemsize * 8
        beyond = f"{a} >> {bits - 1}" if name == "right_shift" and kind == "i" else f"{a} * 0"
        return f"({a} {'<<' if name == 'left_shift' else '>>'} {b} if {b} < {bits} else {beyond})", None
    if name in ("minimum", "maximum"):
        sign = "<=" if name == "minimum" else ">="
        nan = f" or {a} != {a}" if kind == "f" else ""
        return f"({a} if {a} {sign} {b}{nan} else {b})", None
    return _UNARY[name](kind).format(a=a), None


_BOOL: Final = {
    "add": "{a} | {b}", "multiply": "{a} & {b}", "bitwise_and": "{a} & {b}", "bitwise_or": "{a} | {b}",
    "bitwise_xor": "{a} ^ {b}", "maximum": "{a} | {b}", "minimum": "{a} & {b}", "logical_and": "{a} & {b}",
    "logical_or": "{a} | {b}", "logical_xor": "{a} ^ {b}", "invert": "not {a}", "logical_not": "not {a}",
    "absolute": "{a}", "positive": "{a}", "less": "(not {a}) & {b}", "less_equal": "(not {a}) | {b}",
    "greater": "{a} & (not {b})", "greater_equal": "{a} | (not {b})",
}  # fmt: skip

_INTEGER_SIGN: Final = {"i": "(1 if {a} > 0 else -1 if {a} < 0 else 0)", "u": "(1 if {a} > 0 else 0)"}

_UNARY: Final[dict[str, Any]] = {
    "negative": lambda kind: "-{a}" if kind == "f" else "0 - {a}",
    "positive": lambda kind: "{a}",
    "absolute": lambda kind: "{a}" if kind == "u" else "abs({a})" if kind == "f" else "({a} if {a} >= 0 else 0 - {a})",
    "invert": lambda kind: "~{a}",
    "square": lambda kind: "{a} * {a}",
    "reciprocal": lambda kind: "1.0 / {a}" if kind == "f" else "({a} if {a} == 1 or {a} == -1 else {a} * 0)",
    "sign": lambda kind: "({a} if {a} != {a} else az.math.sign({a}))" if kind == "f" else _INTEGER_SIGN[kind],
}


def _function(name: str, kind: str, operands: list[str]) -> str:
    if kind != "f":
        # Of integers numpy has these in their own type: whole numbers, which are finite.
        constant = {"isnan": "{a} != {a}", "isinf": "{a} != {a}", "isfinite": "{a} == {a}"}.get(name)
        if constant is not None:
            return constant.format(a=operands[0])
        if name in ("fmin", "fmax"):
            return f"{name[1:]}({', '.join(operands)})"
        return operands[0]
    return f"az.math.{FUNCTIONS[name]}({', '.join(operands)})"


def _divided(operator: str, dtype: np.dtype[Any], a: str, b: str) -> str:
    if dtype.kind == "u":
        return f"({a} {operator} {b} if {b} != 0 else {a} * 0)"
    # The quotient of the least integer and -1 does not fit its type, and a processor may trap.
    beside = f"0 - {a}" if operator == "//" else f"{a} * 0"
    return f"({a} * 0 if {b} == 0 else {beside} if {b} == -1 else {a} {operator} {b})"


def _power(a: str, exponent: int) -> str:
    if exponent == 0:
        return f"{a} * 0 + 1"
    return " * ".join([a] * exponent)


def _mixed(operator: str, a: str, b: str, *, first_signed: bool) -> str:
    """A comparison of int64 with uint64, which no type of both holds."""
    if not first_signed:
        return _mixed({"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(operator, operator), b, a, first_signed=True)
    if operator in ("<", "<=", "!="):
        return f"({a} < 0 or az.u64({a}) {operator} {b})"
    return f"({a} >= 0 and az.u64({a}) {operator} {b})"
