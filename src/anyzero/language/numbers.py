"""Numbers and vectors of the simulator: they compute as the compiled kernel does, in its types."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from anyzero.language.operators import COMPARISONS, binary_types, unary_type
from anyzero.language.types import BOOL, Refusal, Scalar, Type, Vector, is_weak, of_value, require_fit

__all__ = ["LETTERS", "Number", "VectorValue", "converted", "raw", "type_of", "vector", "wrapped"]

LETTERS: Final = "xyzw"
"""The components of a vector by name."""


class Number:
    """A number with a type of the language; `value` is numpy's for floats and Python's for the others."""

    __slots__ = ("type", "value")

    def __init__(self, of: Scalar, value: Any) -> None:
        self.type = of
        self.value = value

    def __index__(self) -> int:
        if self.type.kind == "f":
            raise TypeError(f"a {self.type} cannot be an index; write az.i32(…)")
        return int(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return f"{self.type}({self.value})"

    def __format__(self, spec: str) -> str:
        if not spec:
            return f"{float(self.value):g}" if self.type.kind == "f" else f"{int(self.value)}"
        return format(float(self.value) if self.type.kind == "f" else int(self.value), spec)

    def __str__(self) -> str:
        return format(self, "")

    def __neg__(self) -> Any:
        return _unary("-", self)

    def __pos__(self) -> Any:
        return _unary("+", self)

    def __invert__(self) -> Any:
        return _unary("~", self)


class VectorValue:
    """A vector; assigning to a component changes it in place, so that variables hold copies."""

    __slots__ = ("parts", "type")
    type: Vector
    parts: list[Any]

    def __init__(self, of: Vector, parts: Sequence[Any]) -> None:
        object.__setattr__(self, "type", of)
        object.__setattr__(self, "parts", [converted(part, of.element) for part in parts])

    def __getattr__(self, name: str) -> Any:
        if not name or set(name) - set(LETTERS[: self.type.count]):
            raise AttributeError(f"{self.type} has no component {name!r}")
        found = [self.parts[LETTERS.index(letter)] for letter in name]
        return found[0] if len(found) == 1 else VectorValue(Vector(self.type.element, len(found)), found)

    def __setattr__(self, name: str, value: Any) -> None:
        self.parts[LETTERS.index(name)] = converted(value, self.type.element)

    def __getitem__(self, index: Any) -> Any:
        return self.parts[operator.index(index)]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.parts[operator.index(index)] = converted(value, self.type.element)

    def __len__(self) -> int:
        return self.type.count

    def __iter__(self) -> Iterator[Any]:
        return iter(self.parts)

    def __repr__(self) -> str:
        return f"{self.type}({', '.join(str(part) for part in self.parts)})"

    def __neg__(self) -> Any:
        return _unary("-", self)

    def __pos__(self) -> Any:
        return _unary("+", self)

    def __invert__(self) -> Any:
        return _unary("~", self)


def type_of(value: Any) -> Type:
    """The type of a value in the simulator; Python's own numbers are literals."""
    if isinstance(value, Number | VectorValue):
        return value.type
    found = of_value(value)
    if found is None:
        raise Refusal(f"{value!r} is not a number")
    return found


def raw(value: Any) -> Any:
    """The number itself."""
    return value.value if isinstance(value, Number) else value


def wrapped(of: Scalar, value: Any) -> Any:
    """A value computed by Python or numpy as one of that type: integers modulo 2 to the bits, floats rounded."""
    if of.kind == "b":
        return bool(value)
    if of.kind == "f":
        with np.errstate(all="ignore"):
            return Number(of, of.dtype.type(value))
    value = int(value) & ((1 << of.bits) - 1)
    return Number(of, value - (1 << of.bits) if value > of.high else value)


def converted(value: Any, of: Any) -> Any:
    """A value as one of another type, as C converts; a float becomes an integer by dropping its fraction."""
    if isinstance(of, Vector):
        if isinstance(value, VectorValue):
            if value.type != of:
                raise Refusal(f"{value.type} cannot be converted to {of}")
            return VectorValue(of, value.parts)
        return VectorValue(of, [value] * of.count)
    if not isinstance(of, Scalar) or of.weak:
        return value
    number = raw(value)
    if of.kind in "iu" and isinstance(number, float | np.floating):
        if not math.isfinite(number):
            return Number(of, of.low)
        # Undefined in C where it is out of range; the processor's result is as good as any.
        number = min(max(int(number), of.low), of.high)
    elif of.kind == "f" and isinstance(number, int) and number.bit_length() > 53:
        # numpy would round twice.
        with np.errstate(all="ignore"):
            number = (np.int64 if number.bit_length() < 64 else np.uint64)(number).astype(of.dtype)
    return wrapped(of, number)


def vector(of: Vector, parts: Sequence[Any]) -> VectorValue:
    """A vector of numbers and vectors."""
    flat = [each for part in parts for each in (part.parts if isinstance(part, VectorValue) else [part])]
    if len(flat) == 1:
        flat *= of.count
    if len(flat) != of.count:
        raise Refusal(f"{of} takes {of.count} components, not {len(flat)}")
    return VectorValue(of, flat)


def _unary(sign: str, value: Any) -> Any:
    of = unary_type(sign, value.type)
    if isinstance(of, Vector):
        return VectorValue(of, [wrapped(of.element, _SIGNS[sign](raw(part))) for part in value.parts])
    return wrapped(of, _SIGNS[sign](raw(converted(value, of))))


_SIGNS: Final[dict[str, Callable[[Any], Any]]] = {"-": operator.neg, "+": operator.pos, "~": operator.invert}


def _binary(sign: str, a: Any, b: Any) -> Any:
    left, right, result = binary_types(sign, type_of(a), type_of(b))
    if isinstance(left, Vector):
        pairs = zip(converted(a, left).parts, converted(b, right).parts, strict=True)
        return VectorValue(left, [_scalars(sign, x, y, left.element, left.element) for x, y in pairs])
    for value, of in ((a, left), (b, right)):
        if not is_weak(of):
            require_fit(value, of)
    return _scalars(sign, converted(a, left), converted(b, right), left, result)


def _scalars(sign: str, a: Any, b: Any, of: Scalar, result: Scalar) -> Any:
    x, y = raw(a), raw(b)
    with np.errstate(all="ignore"):
        found = _COMPUTE[sign](x, y, of)
    return bool(found) if result is BOOL else wrapped(result, found)


def _floor_quotient(x: Any, y: Any, of: Scalar) -> Any:
    return np.floor(x / y) if of.kind == "f" else x // y


def _remainder(x: Any, y: Any, of: Scalar) -> Any:
    if of.kind != "f":
        return x % y
    rest = np.fmod(x, y)
    return rest + y if rest != 0 and (rest < 0) != (y < 0) else rest


def power(x: Any, y: Any, of: Scalar) -> Any:
    """x ** y. Small constant exponents are products, as the compiled kernel has them."""
    if of.kind != "f":
        return pow(int(x), int(y), 1 << 64)
    if not isinstance(y, int) or isinstance(y, bool):
        return np.power(np.float64(x), np.float64(y)) if of.bits < 64 else np.power(x, y)
    if y == 2:
        return x * x
    if y == 3:
        return x * x * x
    if y == 4:
        return (x * x) * (x * x)
    return np.power(np.float64(x), np.float64(y))


def _shift(turn: Callable[[Any, Any], Any]) -> Callable[[Any, Any, Scalar], Any]:
    # The bits beyond the width of the number are left out of the distance, as in OpenCL C.
    return lambda x, y, of: turn(x, y & (of.bits - 1))


def _plain(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any, Scalar], Any]:
    return lambda x, y, of: function(x, y)


_COMPUTE: Final[dict[str, Callable[[Any, Any, Scalar], Any]]] = {
    "+": _plain(operator.add),
    "-": _plain(operator.sub),
    "*": _plain(operator.mul),
    "/": _plain(operator.truediv),
    "//": _floor_quotient,
    "%": _remainder,
    "**": power,
    "<<": _shift(operator.lshift),
    ">>": _shift(operator.rshift),
    "&": _plain(operator.and_),
    "|": _plain(operator.or_),
    "^": _plain(operator.xor),
    "<": _plain(operator.lt),
    "<=": _plain(operator.le),
    ">": _plain(operator.gt),
    ">=": _plain(operator.ge),
    "==": _plain(operator.eq),
    "!=": _plain(operator.ne),
}
_NAMES: Final = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "truediv",
    "//": "floordiv",
    "%": "mod",
    "**": "pow",
    "<<": "lshift",
    ">>": "rshift",
    "&": "and",
    "|": "or",
    "^": "xor",
}
_DIRECT: Final = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}


def _install(sign: str) -> None:
    def forward(self: Any, other: Any) -> Any:
        return _binary(sign, self, other) if _takes(other) else NotImplemented

    def backward(self: Any, other: Any) -> Any:
        return _binary(sign, other, self) if _takes(other) else NotImplemented

    for kind in (Number, VectorValue):
        if sign in COMPARISONS:
            setattr(kind, f"__{_DIRECT[sign]}__", forward)
        else:
            setattr(kind, f"__{_NAMES[sign]}__", forward)
            setattr(kind, f"__r{_NAMES[sign]}__", backward)


def _takes(other: Any) -> bool:
    return isinstance(other, Number | VectorValue) or of_value(other) is not None


for _sign in (*_NAMES, *_DIRECT):
    _install(_sign)
