"""Kernels: the information outside their bodies."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from anyzero.compiler.spirv.constants import Scalar, lanes
from anyzero.compiler.spirv.errors import SpirvError
from anyzero.compiler.spirv.float_controls import USUAL, FloatControls
from anyzero.compiler.spirv.grammar import enumerant_name, parameters
from anyzero.compiler.spirv.tables import (
    BuiltIn,
    Decoration,
    FunctionParameterAttribute,
    StorageClass,
)
from anyzero.compiler.spirv.tables import ExecutionMode as Mode
from anyzero.compiler.spirv.types import (
    Array,
    Bool,
    Float,
    Image,
    Int,
    Pointer,
    Sampler,
    Struct,
    Type,
    Vector,
)
from anyzero.lazy_dataclass import dataclass, replace
from anyzero.lazy_namedtuple import NamedTuple

if TYPE_CHECKING:
    from anyzero.compiler.spirv.function import Function
    from anyzero.compiler.spirv.module import Module

ParameterKind = Literal["value", "byval", "global", "constant", "local", "image", "sampler"]

_POINTERS: dict[int, ParameterKind] = {
    StorageClass.CrossWorkgroup: "global",
    StorageClass.DeviceOnlyINTEL: "global",
    StorageClass.HostOnlyINTEL: "global",
    # Not allowed in OpenCL kernels; a generic pointer from the host can only be a global one.
    StorageClass.Generic: "global",
    StorageClass.UniformConstant: "constant",
    StorageClass.Workgroup: "local",
    StorageClass.CodeSectionINTEL: "value",
}

_VECTOR_ELEMENTS = {0: "i8", 1: "i16", 2: "i32", 3: "i64", 4: "f16", 5: "f32", 6: "f64"}


class EntryPoint(NamedTuple):
    model: int
    function: int
    name: str
    interface: tuple[int, ...]
    offset: int


class ExecutionMode(NamedTuple):
    mode: int
    operands: tuple[int, ...]
    """Literals, or ids if the mode takes ids."""
    offset: int


@dataclass(slots=True, eq=False)
class Parameter:
    """A parameter of a kernel."""

    index: int
    id: int
    name: str
    type: Type
    kind: ParameterKind
    size: int
    """Bytes that the caller passes: the structure behind a byval pointer, else the value itself."""
    alignment: int
    """Guaranteed alignment: of the pointee for pointers, else of the value itself."""
    attributes: frozenset[int]
    """Values of FunctionParameterAttribute."""


@dataclass(slots=True, eq=False)
class Kernel:
    """An entry point with its execution modes."""

    name: str
    function: Function
    parameters: tuple[Parameter, ...]
    interface: tuple[int, ...]
    required_group_size: tuple[int, int, int] | None = None
    group_size_hint: tuple[int, int, int] | None = None
    max_group_size: tuple[int, int, int] | None = None
    required_sub_group_size: int | None = None
    sub_groups_per_group: int | None = None
    vec_type_hint: str = ""
    contraction: bool = True
    """True if a * b + c may be fused."""
    global_offset: bool = True
    """True if a launch may have a global offset."""
    floats: FloatControls = USUAL
    modes: tuple[ExecutionMode, ...] = ()
    """All execution modes, including those with a field of their own."""

    @property
    def max_group_items(self) -> int:
        """Maximum work-items per group, in 32 bits; 0 if unspecified."""
        return min(math.prod(self.max_group_size), (1 << 32) - 1) if self.max_group_size else 0


def kernels(module: Module) -> Iterator[Kernel]:
    """One kernel per entry point; entry points of one function share its parameters."""
    group_size = _group_size_constant(module) if module.entry_points else None
    made: dict[int, Kernel] = {}
    for entry in module.entry_points:
        try:
            first = made.get(entry.function)
            if first is None:
                first = made[entry.function] = _kernel(module, entry, group_size)
        except SpirvError as error:
            raise error.at(entry.offset, module.shown(entry.offset)) from None
        yield replace(first, name=entry.name, interface=entry.interface)


def _kernel(module: Module, entry: EntryPoint, group_size: tuple[int, int, int] | None) -> Kernel:
    function = module.functions.get(entry.function)
    if function is None:
        raise SpirvError(f"%{entry.function} is not a function")
    if not function.has_body:
        raise SpirvError(f'the kernel "{entry.name}" has no body')
    found = tuple(_parameter(module, function, index) for index in range(len(function.parameters)))
    made = Kernel(entry.name, function, found, entry.interface, modes=tuple(module.modes.get(function.id, ())))
    for mode in made.modes:
        try:
            _apply(module, made, mode)
        except SpirvError as error:
            raise error.at(mode.offset, "OpExecutionMode") from None
    made.required_group_size = group_size or made.required_group_size
    return made


def _parameter(module: Module, function: Function, index: int) -> Parameter:
    id_, type_ = function.parameters[index], function.type.parameters[index]
    attributes = frozenset(words[0] for words in module.decorations.all(id_, Decoration.FuncParamAttr))
    kind = _kind(type_, attributes)
    if kind is None:
        raise SpirvError(f"parameter {index} (%{id_}) is {type_}, which no caller can pass")
    if isinstance(type_, Pointer) and kind != "value":
        size = type_.pointee.size if kind == "byval" else type_.size
        alignment = module.decorations.alignment(id_) or type_.pointee.alignment
    else:
        size, alignment = type_.size, type_.alignment
    return Parameter(index, id_, module.name(id_), type_, kind, size, alignment, attributes)


def _kind(type_: Type, attributes: frozenset[int]) -> ParameterKind | None:
    if isinstance(type_, Pointer):
        if FunctionParameterAttribute.ByVal in attributes:
            return "byval" if type_.storage_class == StorageClass.Function and type_.pointee.sized else None
        return _POINTERS.get(type_.storage_class)
    if isinstance(type_, Image):
        return "image"
    if isinstance(type_, Sampler):
        return "sampler"
    return "value" if isinstance(type_, (Int, Float, Bool, Vector, Array, Struct)) else None


def _apply(module: Module, kernel: Kernel, mode: ExecutionMode) -> None:
    words = mode.operands
    if len(words) < len(parameters("ExecutionMode", mode.mode)):
        raise SpirvError(f"ends before the operands of {enumerant_name('ExecutionMode', mode.mode)}")
    match mode.mode:
        case Mode.LocalSize:
            kernel.required_group_size = words[0], words[1], words[2]
        case Mode.LocalSizeHint:
            kernel.group_size_hint = words[0], words[1], words[2]
        case Mode.LocalSizeId:
            kernel.required_group_size = _constants(module, words)
        case Mode.LocalSizeHintId:
            kernel.group_size_hint = _constants(module, words)
        case Mode.MaxWorkgroupSizeINTEL:
            kernel.max_group_size = words[0], words[1], words[2]
        case Mode.SubgroupSize:
            kernel.required_sub_group_size = words[0]
        case Mode.SubgroupsPerWorkgroup:
            kernel.sub_groups_per_group = words[0]
        case Mode.SubgroupsPerWorkgroupId:
            kernel.sub_groups_per_group = _constant(module, words[0])
        case Mode.VecTypeHint:
            kernel.vec_type_hint = _vector(words[0])
        case Mode.ContractionOff:
            kernel.contraction = False
        case Mode.NoGlobalOffsetINTEL:
            kernel.global_offset = False
        case _:
            kernel.floats = kernel.floats.with_mode(mode.mode, words)


def _vector(word: int) -> str:
    """The type of a vector type hint: component type in the low half, count in the high half."""
    element, count = _VECTOR_ELEMENTS.get(word & 0xFFFF, "?"), word >> 16
    return element if count <= 1 else f"<{count} x {element}>"


def _constant(module: Module, id_: int) -> int:
    constant = module.constants.get(id_)
    if not isinstance(constant, Scalar) or not isinstance(constant.type, Int):
        raise SpirvError(f"%{id_} is not an integer constant")
    return constant.bits


def _constants(module: Module, ids: tuple[int, ...]) -> tuple[int, int, int]:
    x, y, z = (_constant(module, id_) for id_ in ids[:3])
    return x, y, z


def _group_size_constant(module: Module) -> tuple[int, int, int] | None:
    """The constant decorated as the work-group size, which overrides the execution modes of all kernels."""
    for id_, constant in module.constants.items():
        if module.decorations.number(id_, Decoration.BuiltIn) == BuiltIn.WorkgroupSize:
            values = [value for value in lanes(constant) or [] if value is not None]
            if len(values) == 3:
                return values[0], values[1], values[2]
    return None
