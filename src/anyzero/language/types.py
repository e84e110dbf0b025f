"""The types of the language and how values change from one to another, as in C but without silent doubles."""

from __future__ import annotations

from typing import Any, Final, cast

import numpy as np

from anyzero.language.record import Value

__all__ = [
    "BOOL",
    "F16",
    "F32",
    "F64",
    "FLOATS",
    "I8",
    "I16",
    "I32",
    "I64",
    "INTEGERS",
    "SAMPLER",
    "SCALARS",
    "U8",
    "U16",
    "U32",
    "U64",
    "VOID",
    "WEAK_FLOAT",
    "WEAK_INT",
    "Array",
    "Const",
    "Generic",
    "Image",
    "Memory",
    "Pointer",
    "Refusal",
    "Sampler",
    "Scalar",
    "Tuple",
    "Type",
    "Vector",
    "Void",
    "assignable",
    "common",
    "defaulted",
    "is_float",
    "is_integer",
    "is_number",
    "is_weak",
    "of_dtype",
    "of_value",
    "promoted",
    "require_fit",
]


class Refusal(Exception):  # noqa: N818 (an answer to the checker, which makes a KernelError with the line of it)
    """The reason why an expression is not allowed, and the allowed forms; a caller that knows the place adds it."""


class Type(Value):
    """A type of the language."""

    def __str__(self) -> str:
        # A field of some types, a property of others.
        return str(cast(Any, self).name)

    def __repr__(self) -> str:
        return f"az.{self}"


class Scalar(Type):
    """A number. `kind` is b (bool), i (signed), u (unsigned) or f (float); `weak` the type of a literal."""

    name: str
    kind: str
    bits: int
    weak: bool = False

    # There is one object for each scalar type.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @property
    def size(self) -> int:
        return max(self.bits // 8, 1)

    @property
    def alignment(self) -> int:
        return self.size

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype("?" if self.kind == "b" else f"{self.kind}{self.size}")

    @property
    def low(self) -> int:
        return -(1 << self.bits - 1) if self.kind == "i" else 0

    @property
    def high(self) -> int:
        return (1 << self.bits - (self.kind == "i")) - 1

    def __call__(self, value: Any = 0) -> Any:
        """The value converted to this type as in C, for the simulator."""
        from anyzero.language.numbers import converted

        return converted(value, self)


BOOL: Final = Scalar("bool", "b", 1)
I8, I16, I32, I64 = (Scalar(f"i{bits}", "i", bits) for bits in (8, 16, 32, 64))
U8, U16, U32, U64 = (Scalar(f"u{bits}", "u", bits) for bits in (8, 16, 32, 64))
F16, F32, F64 = (Scalar(f"f{bits}", "f", bits) for bits in (16, 32, 64))
WEAK_INT: Final = Scalar("int literal", "i", 32, weak=True)
WEAK_FLOAT: Final = Scalar("float literal", "f", 32, weak=True)
INTEGERS: Final = (I8, I16, I32, I64, U8, U16, U32, U64)
FLOATS: Final = (F16, F32, F64)
SCALARS: Final = (BOOL, *INTEGERS, *FLOATS)


class Vector(Type):
    """2, 3, 4, 8 or 16 numbers; those with three take the space of four, as in OpenCL C."""

    element: Scalar
    count: int

    @property
    def name(self) -> str:
        return f"vector[{self.element}, {self.count}]"

    @property
    def size(self) -> int:
        return self.element.size * (4 if self.count == 3 else self.count)

    @property
    def alignment(self) -> int:
        return self.size

    def __call__(self, *parts: Any) -> Any:
        """A vector of numbers and vectors, one after another; a single number goes to every component."""
        from anyzero.language.numbers import vector

        return vector(self, parts)


class Pointer(Type):
    """A pointer to consecutive elements in global, local or private memory."""

    element: Scalar | Vector
    space: str = "global"

    @property
    def name(self) -> str:
        return f"{ {'global': 'ptr', 'local': 'local'}.get(self.space, self.space) }[{self.element}]"


class Memory(Type):
    """An array that the kernel itself has: local for each group, or private for each work-item."""

    element: Scalar | Vector
    shape: tuple[int, ...]
    space: str

    @property
    def name(self) -> str:
        extents = self.shape[0] if len(self.shape) == 1 else self.shape
        return f"{self.space}[{self.element}, {extents}]"

    @property
    def decayed(self) -> Pointer:
        return Pointer(self.element, self.space)

    def __call__(self) -> Any:
        """The memory itself, as the simulator has it."""
        from anyzero.language.simulated_memory import own_memory

        return own_memory(self)


class Array(Type):
    """A buffer with its shape and its strides, indexed along each axis."""

    element: Scalar | Vector
    ndim: int

    @property
    def name(self) -> str:
        return f"array[{self.element}, {self.ndim}]"

    @property
    def pointer(self) -> Pointer:
        return Pointer(self.element)

    @property
    def hidden(self) -> int:
        """The number of sizes that follow the pointer: the shape, and the strides of all axes but the last."""
        return 2 * self.ndim - 1


class Image(Type):
    """An image of 1, 2 or 3 dimensions; `access` is r or w."""

    texel: Scalar
    ndim: int
    access: str = "r"

    @property
    def name(self) -> str:
        return f"{'output_' if self.access == 'w' else ''}image[{self.texel}, {self.ndim}]"

    @property
    def element(self) -> Vector:
        return Vector(self.texel, 4)


class SamplerValue(Value):
    """A sampler that a kernel has itself; the words are those of `Context.sampler`."""

    address: str
    filter: str
    normalized: bool


class Sampler(Type):
    """A sampler, which defines reads of an image between its texels."""

    name: str = "sampler"

    def __call__(
        self,
        *,
        address: str = "clamp",
        filter: str = "nearest",  # noqa: A002 (the specification's word)
        normalized: bool = False,
    ) -> SamplerValue:
        """A constant of a kernel: ``az.sampler(filter="linear")``."""
        for name, given, allowed in (("address", address, SAMPLER_ADDRESSES), ("filter", filter, SAMPLER_FILTERS)):
            if given not in allowed:
                raise ValueError(f"{name}={given!r} is not one of {', '.join(allowed)}")
        return SamplerValue(address, filter, bool(normalized))


class Tuple(Type):
    """A tuple of several values."""

    parts: tuple[Any, ...]

    @property
    def name(self) -> str:
        return f"({', '.join(map(str, self.parts))})"


class Void(Type):
    """No value."""

    name: str = "None"


class Const(Type):
    """A parameter whose value is known when the kernel is compiled."""

    element: Scalar
    value: Any = None

    @property
    def name(self) -> str:
        return f"const[{self.element}]"


class Generic(Type):
    """A parameter without an annotation: its type is that of the argument."""

    name: str = "any type"


SAMPLER_ADDRESSES: Final = {
    "none": "None",
    "repeat": "Repeat",
    "clamp": "ClampToEdge",
    "border": "Clamp",
    "mirror": "RepeatMirrored",
}
SAMPLER_FILTERS: Final = {"nearest": "Nearest", "linear": "Linear"}
"""The words of samplers with SPIR-V's."""

VOID: Final = Void()
SAMPLER: Final = Sampler()


def is_weak(t: Type) -> bool:
    return isinstance(t, Scalar) and t.weak


def is_number(t: Type) -> bool:
    return isinstance(t, Scalar | Vector)


def is_integer(t: Type) -> bool:
    return _scalar(t).kind in "iu" if is_number(t) else False


def is_float(t: Type) -> bool:
    return _scalar(t).kind == "f" if is_number(t) else False


def _scalar(t: Type) -> Scalar:
    if isinstance(t, Vector):
        return t.element
    assert isinstance(t, Scalar)
    return t


def promoted(t: Scalar) -> Scalar:
    """The type after integer promotion: bools and integers of fewer than 32 bits count as i32, as in C."""
    return I32 if t.kind in "biu" and t.bits < 32 else t


def common(a: Type, b: Type) -> Any:
    """The type in which a and b are computed with each other; Refusal where there is none.

    | one | the other | both become |
    |---|---|---|
    | int literal | any number | the other |
    | float literal | a float | the other |
    | float literal | an integer | f32 |
    | a float | an integer | the float |
    | a float | a wider float | the wider |
    | bool, i8, i16, u8, u16 | | i32, before the following |
    | an integer | one of more bits | the one of more bits |
    | signed | unsigned of the same bits | the unsigned |
    | a vector | a number that its elements hold | the vector, with the number in every component |
    """
    if isinstance(a, Vector) or isinstance(b, Vector):
        return _common_vector(a, b)
    if not (isinstance(a, Scalar) and isinstance(b, Scalar)):
        raise Refusal(f"{a} and {b} have no arithmetic; it takes numbers and vectors")
    if a.weak and b.weak:
        return WEAK_FLOAT if "f" in (a.kind, b.kind) else WEAK_INT
    if a.weak:
        a, b = b, a
    if b.weak:
        if b.kind == "f" and a.kind != "f":
            return F32
        return promoted(a)
    a, b = promoted(a), promoted(b)
    if (a.kind == "f") != (b.kind == "f"):
        return a if a.kind == "f" else b
    if a.bits != b.bits:
        return a if a.bits > b.bits else b
    return b if b.kind == "u" else a


def _common_vector(a: Type, b: Type) -> Vector:
    if isinstance(a, Vector) and isinstance(b, Vector):
        if a != b:
            raise Refusal(f"{a} and {b} are different vectors; both sides need the same type")
        return a
    vector, other = (a, b) if isinstance(a, Vector) else (b, a)
    assert isinstance(vector, Vector)
    element = vector.element
    fits = isinstance(other, Scalar) and (
        other is element or (other.weak and (other.kind != "f" or element.kind == "f"))
    )
    if not fits:
        raise Refusal(f"{vector} and {other}: the number has to be of the vector's type; write az.{element}(…)")
    return vector


def defaulted(t: Any, value: Any = None) -> Any:
    """The default type of a literal."""
    if t is WEAK_FLOAT:
        return F32
    if t is WEAK_INT:
        if not isinstance(value, int) or I32.low <= value <= I32.high:
            return I32
        return I64 if value <= I64.high else U64
    if isinstance(t, Tuple):
        return Tuple(tuple(defaulted(part) for part in t.parts))
    return t


def require_fit(value: Any, t: Scalar) -> None:
    """Refuse an integer literal that its type does not hold."""
    if isinstance(value, int) and not isinstance(value, bool) and t.kind in "iu" and not t.low <= value <= t.high:
        wide = "az.i64" if I64.low <= value <= I64.high else "az.u64"
        raise Refusal(f"{value} does not fit {t}, which holds {t.low} to {t.high}; {wide}({value}) does")


def assignable(value: Type, target: Type) -> bool:
    """Whether a value converts implicitly to another type: numbers do, except a float to an integer."""
    if value == target:
        return True
    if isinstance(value, Scalar) and isinstance(target, Scalar):
        return value.kind != "f" or target.kind == "f"
    if isinstance(value, Memory) and isinstance(target, Pointer):
        return value.decayed == target
    if isinstance(value, Array) and isinstance(target, Pointer):
        return value.pointer == target
    if isinstance(value, Tuple) and isinstance(target, Tuple):
        return len(value.parts) == len(target.parts) and all(map(assignable, value.parts, target.parts))
    return False


_BY_DTYPE: Final = {t.dtype: t for t in SCALARS}


def of_dtype(dtype: np.dtype[Any]) -> Scalar:
    """The type of a buffer's elements."""
    try:
        return _BY_DTYPE[dtype.newbyteorder("=")]
    except KeyError:
        raise Refusal(f"there is no type for elements of {dtype}") from None


def of_value(value: Any) -> Scalar | None:
    """The type of a number of Python's or numpy's; a literal's for Python's own; None for anything else."""
    if isinstance(value, bool | np.bool_):
        return BOOL
    if isinstance(value, np.generic):
        return _BY_DTYPE.get(value.dtype)
    if isinstance(value, int):
        return WEAK_INT
    return WEAK_FLOAT if isinstance(value, float) else None
