"""Types, with OpenCL's memory layout.

Types are unique, however often a module declares them, and compared with `is`; only structures have one object per
declaration. Integers are signless: in kernels the instruction decides.
"""

from __future__ import annotations

from typing import ClassVar

from anyzero.compiler.spirv.tables import AccessQualifier, Dim, StorageClass
from anyzero.lazy_dataclass import dataclass, field

POINTER_SIZE = 8

PLAIN = (8, 16, 32, 64)
"""Native integer widths. All others are odd."""

WIDEST = 128
"""Maximum integer width in bits."""

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
"""OpenCL's names of the storage classes in kernels."""


@dataclass(slots=True, eq=False, repr=False, kw_only=True)
class Type:
    """The type of a value or a pointee."""

    size: int = 0
    """Bytes in memory, including padding; 0 for types without a memory representation."""
    alignment: int = 1
    nesting: int = 0
    """Nesting depth; the reader limits it, so recursion over a type is safe."""

    scalar: Type | None = field(default=None, init=False, repr=False)
    """The component type of a vector; a number or boolean itself; else None."""
    count: int = field(default=1, init=False)
    """Number of components; 1 except for vectors."""

    sized: ClassVar[bool] = True
    """True if values of this type have a memory representation."""

    @property
    def odd(self) -> bool:
        """True for an integer of a non-native width."""
        return False

    @property
    def bits(self) -> int:
        """Width of a value in bits, without padding."""
        return self.size * 8

    @property
    def stored(self) -> int:
        """Bytes that a load or store of a value accesses; trailing padding is not written."""
        return self.size

    def __repr__(self) -> str:
        return f"<{self}>"


@dataclass(slots=True, eq=False, repr=False, kw_only=True)
class Void(Type):
    """No value."""

    sized: ClassVar[bool] = False

    def __str__(self) -> str:
        return "void"


@dataclass(slots=True, eq=False, repr=False, kw_only=True)
class Bool(Type):
    """A boolean; its size in memory is implementation-defined."""

    size: int = 1

    def __post_init__(self) -> None:
        self.scalar = self

    def __str__(self) -> str:
        return "bool"


@dataclass(slots=True, eq=False, repr=False)
class Int(Type):
    """A signless integer.

    Odd widths use LLVM's memory layout: the minimum number of bytes, zero-extended, aligned like the next native width,
    at most to 8 bytes.
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
    """A floating-point number."""

    width: int

    def __post_init__(self) -> None:
        self.size = self.alignment = self.width // 8
        self.scalar = self

    def __str__(self) -> str:
        return f"f{self.width}"


@dataclass(slots=True, eq=False, repr=False)
class Vector(Type):
    """A vector of numbers of one type."""

    element: Type
    length: int

    def __post_init__(self) -> None:
        # Three components take the space of four.
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
        """Bytes from component to component; 0 if some are not byte-aligned."""
        return self.element.bits // 8 if self.element.bits % 8 == 0 else 0

    def __str__(self) -> str:
        return f"<{self.length} x {self.element}>"


@dataclass(slots=True, eq=False, repr=False)
class Array(Type):
    """Contiguous elements of one type."""

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


def copied_element(pointee: Type) -> Type:
    """The element of an asynchronous copy: a number or vector. clang 22 writes pointers to whole arrays."""
    while isinstance(pointee, Array):
        pointee = pointee.element
    return pointee


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
    """An address and its address space."""

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
        # Function types contain function pointers, whose types do too: avoid exponential text.
        pointee = "function" if isinstance(self.pointee, FunctionType) else str(self.pointee)
        return f"{pointee} {self.space}*"


@dataclass(slots=True, eq=False, repr=False)
class FunctionType(Type):
    """The signature of a function."""

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
    """An opaque handle, of pointer size."""

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
        """Number of coordinates of a texel, without the array layer."""
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
    """An image combined with a sampler."""

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
    """OpTypeOpaque: a structure without a definition in this module."""

    name: str

    def __str__(self) -> str:
        return f'opaque "{self.name}"'


def power_of_two(value: int) -> int:
    """The smallest power of two that is not below a positive number."""
    return 1 << (value - 1).bit_length()
