"""A SPIR-V module while it is written: its sections, and each type and constant once."""

from __future__ import annotations

import struct
from typing import Any, Final

import numpy as np

from anyzero.language.record import Record, Value
from anyzero.language.types import (
    BOOL,
    I32,
    I64,
    SAMPLER,
    SAMPLER_ADDRESSES,
    SAMPLER_FILTERS,
    U8,
    VOID,
    Image,
    Memory,
    Pointer,
    Sampler,
    SamplerValue,
    Scalar,
    Tuple,
    Vector,
)
from anyzero.spirv.numbers import ENUMS, MAGIC, Op, OpenCL

__all__ = ["Enum", "Instruction", "Literal", "Module", "literal", "number_literal", "opencl"]

_SPACES: Final = {"global": "CrossWorkgroup", "local": "Workgroup", "private": "Function"}
_VERSION: Final = 0x00010200
_SHUFFLES: Final = 0x00010300
"""The version that has the shuffles of sub-groups."""

_NARROW: Final = {8: "Int8", 16: "Int16", 64: "Int64"}


class Literal(Value):
    """A number that is an operand itself."""

    words: tuple[int, ...]
    text: str


class Enum(Value):
    """An enumerant or bits of a mask, joined by |."""

    kind: str
    name: str

    @property
    def value(self) -> int:
        found = 0
        for each in self.name.split("|"):
            found |= _number(self.kind, each)
        return found


def _number(kind: str, name: str) -> int:
    """The number of an enumerant, by its name in the specification."""
    spelled = f"{kind}{name}" if name[0].isdigit() else "None_" if name == "None" else name
    number: int = vars(ENUMS[kind])[spelled]
    return number


def literal(value: int) -> Literal:
    """A literal of one word."""
    return Literal((value & 0xFFFFFFFF,), str(value))


class Instruction(Record):
    """An instruction: numbers among its operands are ids."""

    name: str
    result: int | None
    operands: tuple[Any, ...]

    def words(self) -> list[int]:
        found: list[int] = [0]
        typed = self.name in _TYPED
        operands = list(self.operands)
        if self.result is not None:
            if typed:
                found.append(operands.pop(0))
            found.append(self.result)
        for each in operands:
            if isinstance(each, int):
                found.append(each)
            elif isinstance(each, Enum):
                found.append(each.value)
            elif isinstance(each, str):
                raw = each.encode(errors="replace") + b"\0"  # names of files may have bytes that are no text
                raw += bytes(-len(raw) % 4)
                found += struct.unpack(f"<{len(raw) // 4}I", raw)
            else:
                found += each.words
        found[0] = len(found) << 16 | vars(Op)[self.name]
        return found

    def text(self) -> str:
        shown = " ".join(map(_shown, self.operands))
        result = f"%{self.result} = " if self.result is not None else ""
        return f"{result:>15}Op{self.name} {shown}".rstrip()


class _Typed:
    """Instructions with a result begin with its type, except types themselves and a few others."""

    _without: Final = ("Type", "Label", "String", "ExtInstImport")

    def __contains__(self, name: str) -> bool:
        return not name.startswith(self._without)


_TYPED: Final = _Typed()


def _shown(operand: Any) -> str:
    if isinstance(operand, int):
        return f"%{operand}"
    if isinstance(operand, Enum):
        return operand.name
    if isinstance(operand, str):
        escaped = operand.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return str(operand.text)


class Module:
    """A module: instructions in the order that SPIR-V requires."""

    def __init__(self, *, contract: bool) -> None:
        self.contract = contract
        self._bound = 1
        self._known: dict[Any, int] = {}
        self._capabilities = {"Addresses", "Kernel", "Int64"}
        self._extensions: set[str] = set()
        self._version = _VERSION
        self._entry: list[Instruction] = []
        self._debug: list[Instruction] = []
        self._names: list[Instruction] = []
        self._decorations: list[Instruction] = []
        self._globals: list[Instruction] = []
        self.functions: list[Instruction] = []
        self.inputs: list[int] = []
        self.opencl = self.id()

    def id(self) -> int:
        """A new id."""
        self._bound += 1
        return self._bound - 1

    def need(self, *capabilities: str, extension: str = "") -> None:
        """Declare capabilities."""
        self._capabilities.update(capabilities)
        if extension:
            self._extensions.add(extension)
        if any(each.startswith("GroupNonUniform") for each in capabilities):
            self._version = _SHUFFLES

    # Sections

    def debug(self, name: str, *operands: Any, result: int | None = None) -> None:
        self._debug.append(Instruction(name, result, operands))

    def string(self, text: str) -> int:
        """A text for line information, once."""
        key = "string", text
        if key not in self._known:
            self._known[key] = self.id()
            self.debug("String", text, result=self._known[key])
        return self._known[key]

    def name(self, target: int, text: str) -> None:
        self._names.append(Instruction("Name", None, (target, text)))

    def decorate(self, target: int, decoration: str, *operands: Any) -> None:
        self._decorations.append(Instruction("Decorate", None, (target, Enum("Decoration", decoration), *operands)))

    def entry(self, name: str, *operands: Any) -> None:
        self._entry.append(Instruction(name, None, operands))

    def declare(self, key: Any, name: str, *operands: Any) -> int:
        """A type, a constant or a variable of the module, once for each key."""
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self.id()
            self._globals.append(Instruction(name, found, operands))
        return found

    # Types

    def type(self, of: Any) -> int:
        """The id of a type of the language."""
        if isinstance(of, Scalar):
            return self._scalar(of)
        if isinstance(of, Vector):
            element = self.type(of.element)
            if of.count > 4:
                self.need("Vector16")
            return self.declare(("vector", element, of.count), "TypeVector", element, literal(of.count))
        if isinstance(of, Pointer):
            return self.pointer(of.space, self.type(of.element))
        if isinstance(of, Memory):
            return self.pointer(of.space, self.memory(of))
        if isinstance(of, Tuple):
            parts = [self.type(part) for part in of.parts]
            return self.declare(("struct", *parts), "TypeStruct", *parts)
        if isinstance(of, Image):
            return self._image(of)
        if isinstance(of, Sampler):
            return self.declare("sampler", "TypeSampler")
        if of == VOID:
            return self.declare("void", "TypeVoid")
        raise AssertionError(f"{of} has no type in SPIR-V")

    def _scalar(self, of: Scalar) -> int:
        if of is BOOL:
            return self.declare("bool", "TypeBool")
        if of.kind == "f":
            if of.bits != 32:
                self.need(f"Float{of.bits}")
            return self.declare(("float", of.bits), "TypeFloat", literal(of.bits))
        if of.bits in _NARROW:
            self.need(_NARROW[of.bits])
        return self.declare(("int", of.bits), "TypeInt", literal(of.bits), literal(0))

    def _image(self, of: Image) -> int:
        self.need("ImageBasic")
        if of.ndim == 1:
            self.need("Sampled1D" if of.access == "r" else "Image1D")
        access = Enum("AccessQualifier", "ReadOnly" if of.access == "r" else "WriteOnly")
        dim = Enum("Dim", f"{of.ndim}D")
        none = literal(0)
        operands = (self.type(VOID), dim, none, none, none, none, Enum("ImageFormat", "Unknown"), access)
        return self.declare(("image", of.ndim, of.access), "TypeImage", *operands)

    def stored(self, of: Any) -> Any:
        """The type of a value in memory: a bool is a byte there."""
        return U8 if of is BOOL else of

    def memory(self, of: Memory) -> int:
        """The type of an array, with rows inside of rows."""
        found = self.type(self.stored(of.element))
        for extent in reversed(of.shape):
            found = self.declare(("array", found, extent), "TypeArray", found, self.integer(extent))
        return found

    def pointer(self, space: str, to: int) -> int:
        storage = _SPACES.get(space, space)
        return self.declare(("pointer", storage, to), "TypePointer", Enum("StorageClass", storage), to)

    def function_type(self, result: int, parameters: list[int]) -> int:
        return self.declare(("function", result, *parameters), "TypeFunction", result, *parameters)

    # Constants

    def constant(self, of: Scalar, value: Any) -> int:
        """A number."""
        t = self.type(of)
        if of is BOOL:
            return self.declare((bool(value), t), "ConstantTrue" if value else "ConstantFalse", t)
        number = number_literal(of, value)
        return self.declare(("constant", t, number.words), "Constant", t, number)

    def integer(self, value: int, bits: int = 32) -> int:
        return self.constant(I64 if bits == 64 else I32, value)

    def specialized(self, of: Scalar, name: str, value: Any, number: int) -> int:
        """A specialization constant, with that value unless another is given."""
        t = self.type(of)
        key = "specialized", name
        if key not in self._known:
            if of is BOOL:
                made = self.declare(key, "SpecConstantTrue" if value else "SpecConstantFalse", t)
            else:
                made = self.declare(key, "SpecConstant", t, number_literal(of, value))
            self.decorate(made, "SpecId", literal(number))
            self.name(made, name)
        return self._known[key]

    def sampler(self, value: SamplerValue) -> int:
        """A sampler as a constant."""
        self.need("LiteralSampler")
        address = Enum("SamplerAddressingMode", SAMPLER_ADDRESSES[value.address])
        kept = Enum("SamplerFilterMode", SAMPLER_FILTERS[value.filter])
        operands = self.type(SAMPLER), address, literal(int(value.normalized)), kept
        return self.declare(("sampler", value), "ConstantSampler", *operands)

    def variable(self, key: Any, of: int, storage: str, *initial: int) -> int:
        """A variable of the module; `of` is the type of the pointer to it."""
        return self.declare(key, "Variable", of, Enum("StorageClass", storage), *initial)

    def known(self, key: Any) -> bool:
        return key in self._known

    # The whole

    def instructions(self) -> list[Instruction]:
        head = [Instruction("Capability", None, (Enum("Capability", each),)) for each in sorted(self._capabilities)]
        head += [Instruction("Extension", None, (each,)) for each in sorted(self._extensions)]
        head.append(Instruction("ExtInstImport", self.opencl, ("OpenCL.std",)))
        model = Enum("AddressingModel", "Physical64"), Enum("MemoryModel", "OpenCL")
        head.append(Instruction("MemoryModel", None, model))
        parts = self._entry, self._debug, self._names, self._decorations, self._globals, self.functions
        return head + [each for part in parts for each in part]

    def binary(self) -> bytes:
        """The module as SPIR-V's words."""
        words = [int(MAGIC), self._version, 0, self._bound, 0]
        for each in self.instructions():
            words += each.words()
        return struct.pack(f"<{len(words)}I", *words)

    def text(self) -> str:
        """The module as spirv-as takes it."""
        major, minor = self._version >> 16, self._version >> 8 & 255
        lines = [f"; SPIR-V {major}.{minor}, bound {self._bound}"]
        return "\n".join([*lines, *(each.text() for each in self.instructions())]) + "\n"


def number_literal(of: Scalar, value: Any) -> Literal:
    """The bits of a number, in words."""
    if of.kind == "f":
        with np.errstate(all="ignore"):
            bits = int.from_bytes(of.dtype.type(value).tobytes(), "little")
            # The spelling of spirv-as: a NaN or an infinity can only be written by its bits.
            shown = repr(float(of.dtype.type(value)))
        text = shown if shown[-1].isdigit() else f"0x{bits:x}"
    else:
        bits, text = int(value) & ((1 << max(of.bits, 32)) - 1), str(int(value))
        if of.kind == "u" or of.bits < 32:
            bits = int(value) & ((1 << of.bits) - 1)
            text = str(bits)
    count = 2 if of.bits == 64 else 1
    return Literal(tuple(bits >> 32 * index & 0xFFFFFFFF for index in range(count)), text)


def opencl(name: str) -> Literal:
    """The number of an instruction of OpenCL.std."""
    return Literal((vars(OpenCL)[name],), name)
