"""Constants of a module. They form an acyclic graph."""

from __future__ import annotations

import math
import struct

from anyzero.compiler.spirv.types import Array, Bool, Float, Int, Struct, Type, Vector
from anyzero.lazy_dataclass import dataclass, field

_FORMATS = {16: "<e", 32: "<f", 64: "<d"}


@dataclass(slots=True, eq=False)
class Constant:
    """A constant with an id."""

    id: int
    """The id that declares it; 0 for the result of folding."""
    type: Type


@dataclass(slots=True, eq=False)
class Scalar(Constant):
    """A number or a boolean."""

    bits: int
    """The bit pattern in memory, which preserves a NaN's payload."""

    @property
    def value(self) -> int | float | bool:
        """Integers count as unsigned."""
        if isinstance(self.type, Float):
            return float_of(self.bits, self.type.width)
        return bool(self.bits) if isinstance(self.type, Bool) else self.bits

    @property
    def signed(self) -> int:
        width = self.type.bits
        return self.bits - (1 << width) if self.bits >> (width - 1) else self.bits


@dataclass(slots=True, eq=False)
class Composite(Constant):
    """A vector, an array or a structure."""

    elements: tuple[Constant, ...] = field(repr=False)


@dataclass(slots=True, eq=False)
class Null(Constant):
    """All bits zero."""


@dataclass(slots=True, eq=False)
class Undef(Constant):
    """An undefined value."""


@dataclass(slots=True, eq=False)
class SamplerConstant(Constant):
    """A sampler declared in the module."""

    addressing: int
    normalized: bool
    filter: int


@dataclass(slots=True, eq=False)
class VariableAddress(Constant):
    """The address of the variable with this id."""


@dataclass(slots=True, eq=False)
class FunctionAddress(Constant):
    """The address of a function."""

    function: int


@dataclass(slots=True, eq=False)
class Expression(Constant):
    """An operation on addresses, computed by the lowering; its operands are those of the instruction in a body."""

    opcode: int
    operands: tuple[int, ...]


def float_of(bits: int, width: int) -> float:
    value: float = struct.unpack(_FORMATS[width], bits.to_bytes(width // 8, "little"))[0]
    return value


def bits_of(value: float, width: int) -> int:
    """The bits of the nearest representable value; overflow gives an infinity."""
    try:
        packed = struct.pack(_FORMATS[width], value)
    except OverflowError:
        packed = struct.pack(_FORMATS[width], math.copysign(math.inf, value))
    return int.from_bytes(packed, "little")


def zero(id_: int, type_: Type) -> Constant:
    """Zero of a type. Numbers are Scalars, never Null: users of numbers handle one class."""
    return Scalar(id_, type_, 0) if isinstance(type_, (Int, Float, Bool)) else Null(id_, type_)


def lanes(constant: Constant) -> list[int | None] | None:
    """The bits of each component of a number, a boolean or a vector of them; None for an undefined component.

    Other constants, such as addresses, give None instead of a list.
    """
    if isinstance(constant, Scalar):
        return [constant.bits]
    if constant.type.scalar is None:
        return None
    if isinstance(constant, Null):
        return [0] * constant.type.count
    if isinstance(constant, Undef):
        return [None] * constant.type.count
    if isinstance(constant, Composite):
        parts = [lanes(element) for element in constant.elements]
        return None if any(part is None for part in parts) else [part[0] for part in parts if part]
    return None


def from_lanes(id_: int, type_: Type, values: list[int | None]) -> Constant:
    if isinstance(type_, Vector):
        element = type_.element
        return Composite(id_, type_, tuple(from_lanes(0, element, [value]) for value in values))
    return Undef(id_, type_) if values[0] is None else Scalar(id_, type_, values[0])


def element(constant: Constant, index: int) -> Constant | None:
    """An element of a composite; None if it has no such element or is no composite."""
    type_ = constant.type
    if isinstance(type_, Struct):
        part = type_.members[index] if index < len(type_.members) else None
    elif isinstance(type_, (Vector, Array)):
        part = type_.element if index < type_.length else None
    else:
        part = None
    if part is None:
        return None
    if isinstance(constant, Composite):
        return constant.elements[index]
    if isinstance(constant, Null):
        return zero(0, part)
    return Undef(0, part) if isinstance(constant, Undef) else None
