"""A builtin function: one line of the table that the checker, the writer, the simulator and the reference read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from anyzero.language.numbers import Number, VectorValue, converted, raw, type_of, wrapped
from anyzero.language.types import (
    BOOL,
    F32,
    I32,
    I64,
    Refusal,
    Scalar,
    Type,
    Vector,
    common,
    defaulted,
    is_float,
    is_integer,
    is_number,
    promoted,
)

__all__ = ["ALL", "Builtin", "Signature", "define", "elementwise"]

ALL: Final[dict[str, Builtin]] = {}
"""Every builtin by its name in the reference: `az.barrier`, `az.math.rsqrt`."""

Resolved = tuple[list[Any], Any]
"""The types that the arguments are converted to, and that of the result."""


@dataclass(frozen=True)
class Signature:
    """The parameters, one letter each: T of the common type, k an i32, n an i64. `takes` is f, i, n (both), b (bool)
    or v (vectors of floats).

    `result` is T, i32, i64, bool, element (of a vector) or None.
    """

    parameters: str
    takes: str = "n"
    result: str = "T"
    optional: int = 0
    repeated: bool = False
    vectors: bool = True

    def resolve(self, name: str, given: Sequence[Type]) -> Resolved:
        parameters = self.parameters
        if self.repeated and len(given) > len(parameters):
            parameters += parameters[-1] * (len(given) - len(parameters))
        if not len(parameters) - self.optional <= len(given) <= len(parameters):
            raise Refusal(f"{name} takes {_count(self)}; {len(given)} were given")
        both: Any = None
        for letter, t in zip(parameters, given):  # noqa: B905 (optional ones may be missing)
            if letter == "T":
                both = t if both is None else self._joined(name, both, t)
        if both is not None:
            both = self._required(name, both)
        wanted = [{"T": both, "k": I32, "n": I64}[letter] for letter in parameters[: len(given)]]
        for letter, t in zip(parameters, given):  # noqa: B905
            if letter in "kn" and not is_integer(t):
                raise Refusal(f"{name} takes an integer there, not {t}")
        results = {"T": both, "i32": I32, "i64": I64, "bool": BOOL, "None": None}
        return wanted, both.element if self.result == "element" else results[self.result]

    def _joined(self, name: str, a: Any, b: Any) -> Any:
        try:
            return common(a, b) if a is not b else a
        except Refusal as refusal:
            raise Refusal(f"{name}: {refusal}") from None

    def _required(self, name: str, both: Any) -> Any:
        if not is_number(both) or (isinstance(both, Vector) and not self.vectors):
            raise Refusal(f"{name} does not take {both}")
        if self.takes == "b":
            if both is not BOOL:
                raise Refusal(f"{name} takes a bool, not {both}; write a comparison, as in x != 0")
            return both
        if self.takes == "v":
            if not (isinstance(both, Vector) and is_float(both)):
                raise Refusal(f"{name} takes vectors of floats, not {both}")
            return both
        if self.takes == "f" and not is_float(both) and not (isinstance(both, Scalar) and both.weak):
            raise Refusal(f"{name} takes floats, not {both}; write az.f32(…)")
        if self.takes == "i" and not is_integer(both):
            raise Refusal(f"{name} takes integers, not {both}")
        if self.takes == "f" and isinstance(both, Scalar) and both.weak:
            return F32
        both = defaulted(both)
        return promoted(both) if both is BOOL else both


def _count(signature: Signature) -> str:
    most = len(signature.parameters)
    least = most - signature.optional
    if signature.repeated:
        return f"{least} arguments or more"
    number = f"{least} to {most}" if least != most else str(most)
    return f"{number} argument{'' if most == 1 else 's'}"


@dataclass(frozen=True, eq=False)
class Builtin:
    """A function that kernels call. Outside of a kernel only the simulator gives it a meaning."""

    name: str
    signature: Signature
    lowering: tuple[Any, ...]
    plain: Callable[..., Any]
    __doc__: str
    constants: frozenset[int] = frozenset()
    """The indices of arguments that have to be constants."""
    synchronizes: bool = False
    """Whether the work-items of a group meet here."""

    def __call__(self, *given: Any) -> Any:
        wanted, result = self.signature.resolve(self.name, [type_of(value) for value in given])
        values = [converted(value, t) for value, t in zip(given, wanted, strict=True)]
        return as_result(self.plain(*values), result)

    def __repr__(self) -> str:
        return f"<builtin {self.name}>"


def as_result(value: Any, of: Any) -> Any:
    """The result of a builtin's Python implementation, as a value of its type."""
    if of is None or isinstance(value, VectorValue):
        return value
    if isinstance(of, Vector):
        return VectorValue(of, value)
    return wrapped(of, raw(value))


def elementwise(function: Callable[..., Any]) -> Callable[..., Any]:
    """The Python implementation of an elementwise function; floats of fewer than 64 bits are rounded once, at last."""

    def apply(*values: Any) -> Any:
        count = next((value.type.count for value in values if isinstance(value, VectorValue)), None)
        with np.errstate(all="ignore"):
            if count is None:
                return function(*map(_wide, values))
            columns = [value.parts if isinstance(value, VectorValue) else [value] * count for value in values]
            return [function(*map(_wide, row)) for row in zip(*columns, strict=True)]

    return apply


def _wide(value: Any) -> Any:
    number = raw(value)
    return np.float64(number) if isinstance(value, Number) and value.type.kind == "f" else number


def define(
    name: str,
    signature: Signature,
    lowering: tuple[Any, ...],
    plain: Callable[..., Any],
    doc: str,
    **facts: Any,
) -> Builtin:
    """A new line of the table."""
    made = Builtin(name, signature, lowering, plain, doc, **facts)
    ALL[name] = made
    return made
