"""Types, with the layout that OpenCL gives them.

A type is one object however often a module declares it, so types are compared with `is`; only structures are as many as
their declarations. Integers have no sign: in kernels the instruction decides.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from anyzero.compiler.spirv.tables import AccessQualifier, Dim, StorageClass

POINTER_SIZE = 8

PLAIN = (8, 16, 32, 64)
"""Widths of integers that processors have. All others are odd ones."""

WIDEST = 128
"""Bits of an integer."""

DIMENSIONS = {
    Dim.Dim1D: ("1d", 1),
    Dim.Dim2D: ("2d", 2),
    Dim.Dim3D: ("3d", 3),
    Dim.Buffer: ("buffer", 1),
}
_ACCESS = {
    AccessQualifier.ReadOnly: "read",
    AccessQualifier.WriteOnly: "write",
    AccessQualifier.ReadWrite: "read-write",
}

SPACES = {
    StorageClass.UniformConstant: "constant",
    StorageClass.Input: "input",
    StorageClass.Workgroup: "local",
    StorageClass.CrossWorkgroup: "global",
    StorageClass.Private: "private",
    StorageClass.Function: "private",
    StorageClass.Generic: "generic",
    StorageClass.Image: "image",
    StorageClass.CodeSectionINTEL: "code",
    StorageClass.DeviceOnlyINTEL: "device",
    StorageClass.HostOnlyINTEL: "host",
}
"""OpenCL's words for the storage classes a kernel may use."""


@dataclass(slots=True, eq=False, repr=False, kw_only=True)
class Type:
    """Of a value, or of what a pointer points to."""

    size: int = 0
    """Bytes in memory, padding included; 0 for what has no place there."""
    alignment: int = 1
    nesting: int = 0
    """How many types deep; the reader bounds it, so that recursion over a type is safe."""

    scalar: Type | None = field(default=None, init=False, repr=False)
    """What a vector is made of; a number or truth value itself; else None."""
    count: int = field(default=1, init=False)
    """How many components; 1 for everything but vectors."""

    sized: ClassVar[bool] = True
    """Can values of this type lie in memory?"""

    @property
    def odd(self) -> bool:
        """Is it an integer of a width that processors do not have?"""
        return False

    @property
    def bits(self) -> int:
        """Of a value, without padding."""
        return self.size * 8

    @property
    def stored(self) -> int:
        """Bytes that a load or store of a value touches; what is padding behind them stays as it is."""
        return self.size

    def __repr__(self) -> str:
        return f"<{self}>"


@dataclass(slots=True, eq=False, repr=False, kw_only=True)
class Void(Type):
    """No value at all."""

    sized: ClassVar[bool] = False

    def __str__(self) -> str:
        return "void"


@dataclass(slots=True, eq=False, repr=False, kw_only=True)
class Bool(Type):
    """A truth value, whose size in memory is nobody's concern but ours."""

    size: int = 1

    def __post_init__(self) -> None:
        self.scalar = self

    def __str__(self) -> str:
        return "bool"


@dataclass(slots=True, eq=False, repr=False)
class Int(Type):
    """An integer; signs are a matter of the operations.

    In memory one of an odd width lies as LLVM lays it out: in as many bytes as it needs, with zeros above its bits,
    aligned as the next plain width and at most to 8 bytes.
    """

    width: int

    def __post_init__(self) -> None:
        self.alignment = min(power_of_two(self.stored), 8)
        self.size = -(-self.stored // self.alignment) * self.alignment
        self.scalar = self

    @property
    def odd(self) -> bool:
        return self.width not in PLAIN

    @property
    def bits(self) -> int:
        return self.width

    @property
    def stored(self) -> int:
        return -(-self.width // 8)

    def __str__(self) -> str:
        return f"i{self.width}"


@dataclass(slots=True, eq=False, repr=False)
class Float(Type):
    """A number with a fraction."""

    width: int

    def __post_init__(self) -> None:
        self.size = self.alignment = self.width // 8
        self.scalar = self

    def __str__(self) -> str:
        return f"f{self.width}"


@dataclass(slots=True, eq=False, repr=False)
class Vector(Type):
    """Several numbers of one type."""

    element: Type
    length: int

    def __post_init__(self) -> None:
        # Three components take the room of four.
        self.size = self.alignment = power_of_two(self.stored)
        self.nesting = self.element.nesting + 1
        self.scalar = self.element
        self.count = self.length

    @property
    def bits(self) -> int:
        return self.element.bits * self.length

    @property
    def stored(self) -> int:
        return -(-self.bits // 8)

    @property
    def stride(self) -> int:
        """Bytes from component to component; 0 where some of them begin inside of a byte."""
        return self.element.bits // 8 if self.element.bits % 8 == 0 else 0

    def __str__(self) -> str:
        return f"<{self.length} x {self.element}>"


@dataclass(slots=True, eq=False, repr=False)
class Array(Type):
    """Elements of one type, one behind the other."""

    element: Type
    length: int

    def __post_init__(self) -> None:
        self.size = self.element.size * self.length
        self.alignment = self.element.alignment
        self.nesting = self.element.nesting + 1

    @property
    def stride(self) -> int:
        return self.element.size

    def __str__(self) -> str:
        return f"[{self.length} x {self.element}]"


@dataclass(slots=True, eq=False, repr=False)
class Struct(Type):
    """Members of any types."""

    id: int
    members: tuple[Type, ...]
    packed: bool = False
    name: str = ""
    offsets: tuple[int, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        offsets = []
        end = 0
        for member in self.members:
            alignment = 1 if self.packed else member.alignment
            end = -(-end // alignment) * alignment
            offsets.append(end)
            end += member.size
            self.alignment = max(self.alignment, alignment)
        self.offsets = tuple(offsets)
        self.size = -(-end // self.alignment) * self.alignment
        self.nesting = max((member.nesting for member in self.members), default=0) + 1

    def __str__(self) -> str:
        return f"struct %{self.id}" + (f' "{self.name}"' if self.name else "")


@dataclass(slots=True, eq=False, repr=False)
class Pointer(Type):
    """An address, with the kind of memory it lies in."""

    storage_class: int
    pointee: Type
    size: int = field(default=POINTER_SIZE, kw_only=True)
    alignment: int = field(default=POINTER_SIZE, kw_only=True)

    def __post_init__(self) -> None:
        self.nesting = self.pointee.nesting + 1

    @property
    def space(self) -> str:
        return SPACES.get(self.storage_class, f"storage class {self.storage_class}")

    def __str__(self) -> str:
        # A function's type may hold many pointers to functions, whose types may hold as many.
        pointee = "function" if isinstance(self.pointee, FunctionType) else str(self.pointee)
        return f"{pointee} {self.space}*"


@dataclass(slots=True, eq=False, repr=False)
class FunctionType(Type):
    """What a function takes and gives."""

    result: Type
    parameters: tuple[Type, ...]
    sized: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self.nesting = max(type_.nesting for type_ in (self.result, *self.parameters)) + 1

    def __str__(self) -> str:
        shown = [*map(str, self.parameters[:8]), *(["…"] if len(self.parameters) > 8 else [])]
        return f"{self.result}({', '.join(shown)})"


@dataclass(slots=True, eq=False, repr=False, kw_only=True)
class Opaque(Type):
    """A handle to something that a kernel can only pass on; as large as a pointer."""

    size: int = POINTER_SIZE
    alignment: int = POINTER_SIZE


@dataclass(slots=True, eq=False, repr=False)
class Image(Opaque):
    """A handle to an image."""

    sampled_type: Type
    dim: int
    depth: int
    arrayed: bool
    multisampled: bool
    sampled: int
    format: int
    access: int

    @property
    def dimensions(self) -> int:
        """How many coordinates name a texel, the layer of an array not counted."""
        return DIMENSIONS[self.dim][1]

    @property
    def coordinates(self) -> int:
        return self.dimensions + self.arrayed

    def __str__(self) -> str:
        words = ["image", DIMENSIONS[self.dim][0], *(["array"] if self.arrayed else []), _ACCESS[self.access]]
        return " ".join(words)


@dataclass(slots=True, eq=False, repr=False, kw_only=True)
class Sampler(Opaque):
    """A handle to a sampler."""

    def __str__(self) -> str:
        return "sampler"


@dataclass(slots=True, eq=False, repr=False)
class SampledImage(Opaque):
    """An image and a sampler together."""

    image: Image

    def __str__(self) -> str:
        return f"sampled {self.image}"


@dataclass(slots=True, eq=False, repr=False, kw_only=True)
class Event(Opaque):
    """A handle to an asynchronous copy."""

    def __str__(self) -> str:
        return "event"


@dataclass(slots=True, eq=False, repr=False)
class Named(Opaque):
    """Opaque by declaration: a structure whose contents no kernel of this module knows."""

    name: str

    def __str__(self) -> str:
        return f'opaque "{self.name}"'


def power_of_two(value: int) -> int:
    """The next one that is not below a positive number."""
    return 1 << (value - 1).bit_length()
