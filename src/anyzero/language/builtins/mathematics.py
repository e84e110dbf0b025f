"""The mathematical functions: `az.math.rsqrt` and the others, and the names of Python's own that mean the same."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from anyzero.language.builtins.table import Builtin, Signature, define, elementwise
from anyzero.language.numbers import VectorValue, converted, raw

__all__ = ["MATH", "STANDARD"]

MATH: Final[dict[str, Builtin]] = {}
"""Every function by its name behind `az.math.`"""

_DEGREE: Final = math.pi / 180


def _guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of Python's math module with numbers instead of its exceptions."""

    def apply(*values: Any) -> Any:
        try:
            return function(*values)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return apply


def _add(names: str, docs: str) -> None:
    """Functions of a float that numpy and OpenCL.std have by the same name."""
    for name, doc in zip(names.split(), docs.split("; "), strict=True):
        _define(name, Signature("T", "f"), {"f": name}, getattr(np, name), doc)


def _define(
    name: str, signature: Signature, opencl: dict[str, str], plain: Callable[..., Any], doc: str, **facts: Any
) -> None:
    MATH[name] = define(f"az.math.{name}", signature, ("opencl", opencl), elementwise(plain), doc, **facts)


_add(
    "sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh floor ceil trunc rint",
    "the square root; the cube root; e to the power x; 2 to the power x; exp(x) - 1, exact near 0; the natural "
    "logarithm; the logarithm to base 2; the logarithm to base 10; log(1 + x), exact near 0; the sine; the cosine; the "
    "tangent; the hyperbolic sine; the hyperbolic cosine; the hyperbolic tangent; rounded down, as a float; "
    "rounded up, as a float; rounded towards 0, as a float; rounded to the nearest integer, halves to even",
)
_name: str
_numpy: Any
_doc: str
for _name, _numpy, _doc in (
    ("acos", np.arccos, "the inverse cosine"),
    ("asin", np.arcsin, "the inverse sine"),
    ("atan", np.arctan, "the inverse tangent"),
    ("acosh", np.arccosh, "the inverse hyperbolic cosine"),
    ("asinh", np.arcsinh, "the inverse hyperbolic sine"),
    ("atanh", np.arctanh, "the inverse hyperbolic tangent"),
    ("fabs", np.fabs, "the absolute value"),
    ("rsqrt", lambda x: 1 / np.sqrt(x), "1 / sqrt(x)"),
    ("exp10", lambda x: np.power(10.0, x), "10 to the power x"),
    ("sinpi", lambda x: np.sin(np.pi * x), "sin(pi * x)"),
    ("cospi", lambda x: np.cos(np.pi * x), "cos(pi * x)"),
    ("tanpi", lambda x: np.tan(np.pi * x), "tan(pi * x)"),
    ("erf", _guarded(math.erf), "the error function"),
    ("erfc", _guarded(math.erfc), "1 - erf(x)"),
    ("lgamma", _guarded(math.lgamma), "the logarithm of the absolute value of gamma"),
    ("tgamma", _guarded(math.gamma), "the gamma function"),
    (
        "round",
        lambda x: np.trunc(x + np.copysign(0.5, x)),
        "rounded to the nearest integer, halves away from 0, as a float",
    ),
    ("degrees", lambda x: x / _DEGREE, "radians to degrees"),
    ("radians", lambda x: x * _DEGREE, "degrees to radians"),
    ("sign", np.sign, "-1, 0 or 1"),
    ("logb", lambda x: np.frexp(x)[1] - 1.0, "the exponent, as a float"),
):
    _define(_name, Signature("T", "f"), {"f": _name}, _numpy, _doc)
for _name, _numpy, _doc in (
    ("atan2", np.arctan2, "the angle of the point with abscissa y and ordinate x"),
    ("pow", np.power, "x to the power y"),
    ("powr", np.power, "x to the power y, for x >= 0"),
    ("fmod", np.fmod, "the remainder with the sign of x"),
    ("remainder", _guarded(math.remainder), "the remainder of the nearest quotient"),
    ("hypot", np.hypot, "sqrt(x * x + y * y) without intermediate overflow"),
    ("copysign", np.copysign, "x with the sign of y"),
    ("fdim", lambda x, y: max(x - y, np.float64(0)), "max(x - y, 0)"),
    ("fmin", np.fmin, "the smaller; the other one if one is NaN"),
    ("fmax", np.fmax, "the greater; the other one if one is NaN"),
    ("step", lambda edge, x: 0.0 if x < edge else 1.0, "0 if y < x, else 1: the first argument is the edge"),
):
    _define(_name, Signature("TT", "f"), {"f": _name}, _numpy, _doc)
for _name, _numpy, _doc in (
    ("fma", lambda x, y, z: x * y + z, "x * y + z, rounded once"),
    ("mad", lambda x, y, z: x * y + z, "x * y + z, fused or not, whichever is faster"),
    ("mix", lambda x, y, a: x + (y - x) * a, "linear interpolation, x + (y - x) * z"),
    (
        "smoothstep",
        lambda low, high, x: _smooth(low, high, x),
        "0 if z <= x, 1 if z >= y, smooth in between",
    ),
):
    _define(_name, Signature("TTT", "f"), {"f": _name}, _numpy, _doc)


def _smooth(low: Any, high: Any, x: Any) -> Any:
    t = min(max((x - low) / (high - low), 0.0), 1.0)
    return t * t * (3 - 2 * t)


_define("ldexp", Signature("Tk", "f"), {"f": "ldexp"}, lambda x, k: np.ldexp(x, int(k)), "x times 2 to the power k")
_define("pown", Signature("Tk", "f"), {"f": "pown"}, lambda x, k: np.power(x, float(k)), "x to an integer power")
_define("rootn", Signature("Tk", "f"), {"f": "rootn"}, lambda x, k: np.power(x, 1.0 / int(k)), "the k-th root")
_define(
    "ilogb", Signature("T", "f", "i32", vectors=False), {"f": "ilogb"}, lambda x: np.frexp(x)[1] - 1, "the exponent"
)

# Functions of any numbers.
_define(
    "min", Signature("TT", repeated=True), {"f": "fmin", "i": "s_min", "u": "u_min"}, lambda *x: _least(x), "the least"
)
_define(
    "max", Signature("TT", repeated=True), {"f": "fmax", "i": "s_max", "u": "u_max"}, lambda *x: _greatest(x),
    "the greatest",
)  # fmt: skip
_define("abs", Signature("T"), {"f": "fabs", "i": "s_abs", "u": "u_abs"}, builtins.abs, "the absolute value")
_define(
    "clamp", Signature("TTT"), {"f": "fclamp", "i": "s_clamp", "u": "u_clamp"},
    lambda x, low, high: min(max(x, low), high), "x limited to the range from y to z",
)  # fmt: skip


def _least(values: Any) -> Any:
    found = values[0]
    for value in values[1:]:
        found = np.fmin(found, value) if isinstance(found, np.floating) else min(found, value)
    return found


def _greatest(values: Any) -> Any:
    found = values[0]
    for value in values[1:]:
        found = np.fmax(found, value) if isinstance(found, np.floating) else max(found, value)
    return found


# Functions of integers. Plain implementations that need the width get it from their arguments.
def _of_width(name: str, parameters: str, opencl: dict[str, str], plain: Callable[..., Any], doc: str) -> None:
    def apply(*values: Any) -> Any:
        if isinstance(values[0], VectorValue):
            columns = zip(*(value.parts for value in values), strict=True)
            return [converted(plain(row[0].type, *map(raw, row)), row[0].type) for row in columns]
        return plain(values[0].type, *map(raw, values))

    MATH[name] = define(f"az.math.{name}", Signature(parameters, "i"), ("opencl", opencl), apply, doc)


def _bits(of: Any, x: int) -> int:
    return int(x & ((1 << of.bits) - 1))


def _saturated(of: Any, x: int) -> int:
    return int(min(max(x, of.low), of.high))


_of_width("clz", "T", {"i": "clz", "u": "clz"}, lambda t, x: t.bits - _bits(t, x).bit_length(), "leading zero bits")
_of_width(
    "ctz", "T", {"i": "ctz", "u": "ctz"},
    lambda t, x: (_bits(t, x) & -_bits(t, x)).bit_length() - 1 if x else t.bits, "trailing zero bits",
)  # fmt: skip
_of_width(
    "popcount",
    "T",
    {"i": "popcount", "u": "popcount"},
    lambda t, x: _bits(t, x).bit_count(),
    "the number of bits that are 1",
)
_of_width(
    "rotate", "TT", {"i": "rotate", "u": "rotate"},
    lambda t, x, k: _bits(t, x) << k % t.bits | _bits(t, x) >> t.bits - k % t.bits, "the bits rotated to the left",
)  # fmt: skip
_of_width(
    "mul_hi", "TT", {"i": "s_mul_hi", "u": "u_mul_hi"}, lambda t, x, y: x * y >> t.bits, "the upper half of the product"
)
_of_width(
    "add_sat", "TT", {"i": "s_add_sat", "u": "u_add_sat"}, lambda t, x, y: _saturated(t, x + y),
    "the sum, limited to the range of its type",
)  # fmt: skip
_of_width(
    "sub_sat", "TT", {"i": "s_sub_sat", "u": "u_sub_sat"}, lambda t, x, y: _saturated(t, x - y),
    "the difference, limited to the range of its type",
)  # fmt: skip
_of_width("abs_diff", "TT", {"i": "s_abs_diff", "u": "u_abs_diff"}, lambda t, x, y: abs(x - y), "abs(x - y)")

# Predicates of floats.
for _name, _op, _numpy, _doc in (
    ("isnan", "IsNan", np.isnan, "whether it is NaN"),
    ("isinf", "IsInf", np.isinf, "whether it is an infinity"),
    ("isfinite", "IsFinite", np.isfinite, "whether it is neither NaN nor an infinity"),
):
    MATH[_name] = define(
        f"az.math.{_name}", Signature("T", "f", "bool", vectors=False), ("op", _op), elementwise(_numpy), _doc
    )


# Functions of vectors.
def _dot(a: Any, b: Any) -> Any:
    return sum((x * y for x, y in zip(a.parts[1:], b.parts[1:], strict=True)), start=a.parts[0] * b.parts[0])


def _cross(a: Any, b: Any) -> Any:
    (x, y, z, *rest), (u, v, w, *_) = a.parts, b.parts
    return [y * w - z * v, z * u - x * w, x * v - y * u, *(each - each for each in rest)]


def _length(a: Any) -> float:
    return math.hypot(*(float(part) for part in a.parts))


for _name, _parameters, _result, _plain, _lowering, _doc in (
    ("dot", "TT", "element", _dot, ("op", "Dot"), "the dot product of two vectors"),
    ("cross", "TT", "T", _cross, ("opencl", {"f": "cross"}), "the cross product of vectors of 3 or 4"),
    ("length", "T", "element", _length, ("opencl", {"f": "length"}), "the length of a vector"),
    ("distance", "TT", "element", lambda a, b: _length(a - b), ("opencl", {"f": "distance"}), "length(a - b)"),
    ("normalize", "T", "T", lambda a: [float(part) / _length(a) for part in a.parts],
     ("opencl", {"f": "normalize"}), "the vector of the same direction with length 1"),
):  # fmt: skip
    MATH[_name] = define(f"az.math.{_name}", Signature(_parameters, "v", _result), _lowering, _plain, _doc)

STANDARD: Final[dict[Any, Builtin]] = {
    **{getattr(math, name): found for name, found in MATH.items() if hasattr(math, name)},
    min: MATH["min"],
    max: MATH["max"],
    abs: MATH["abs"],
    round: MATH["rint"],
    pow: MATH["pow"],
    math.gamma: MATH["tgamma"],
}
"""Functions of Python's own that kernels may call by their names."""
