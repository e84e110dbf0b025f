"""Types, each from its declaration."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from anyzero.compiler.spirv import types
from anyzero.compiler.spirv.constants import Scalar
from anyzero.compiler.spirv.errors import SpirvError
from anyzero.compiler.spirv.grammar import enumerant_name, string
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.tables import AccessQualifier, Decoration, Op
from anyzero.compiler.spirv.types import Type

if TYPE_CHECKING:
    from anyzero.compiler.spirv.declarations import Declarations

NESTING = 255
"""The nesting depth that SPIR-V requires of every consumer."""
LARGEST = 1 << 40
"""Maximum size of a type in bytes; no kernel could use a larger one."""


def bounded(type_: Type) -> Type:
    if type_.nesting > NESTING:
        raise SpirvError(f"is nested {type_.nesting} types deep; {NESTING} is the limit")
    if type_.size > LARGEST:
        raise SpirvError(f"has {type_.size} bytes, more than any memory")
    return type_


def storage_class(value: int) -> int:
    if value not in types.SPACES:
        raise SpirvError(f"the storage class {enumerant_name('StorageClass', value)} is not supported")
    return value


def _void(of: Declarations, instruction: Instruction) -> Type:
    return of.once((types.Void,), types.Void)


def _bool(of: Declarations, instruction: Instruction) -> Type:
    return of.once((types.Bool,), types.Bool)


def _int(of: Declarations, instruction: Instruction) -> Type:
    width = instruction.operands[0]
    if not 1 <= width <= types.WIDEST:
        raise SpirvError(f"integers of {width} bits are not supported; 1 to {types.WIDEST} bits are")
    made = of.once((types.Int, width), lambda: types.Int(width))
    of.module.odd_integers |= made.odd
    return made


def _float(of: Declarations, instruction: Instruction) -> Type:
    width, *encoding = instruction.operands
    if width not in (16, 32, 64) or encoding:
        kind = f" as {enumerant_name('FPEncoding', encoding[0])}" if encoding else ""
        raise SpirvError(f"floating-point numbers of {width} bits{kind} are not supported")
    return of.once((types.Float, width), lambda: types.Float(width))


def _vector(of: Declarations, instruction: Instruction) -> Type:
    element, length = of.type(instruction.operands[0]), instruction.operands[1]
    if not isinstance(element, (types.Int, types.Float, types.Bool)):
        raise SpirvError(f"vectors of {element} are not supported")
    if length not in (2, 3, 4, 8, 16):
        raise SpirvError(f"vectors of {length} components are not supported")
    return of.once((types.Vector, element, length), lambda: types.Vector(element, length))


def _array(of: Declarations, instruction: Instruction) -> Type:
    element, length = of.sized(instruction.operands[0]), of.constant(instruction.operands[1])
    if not isinstance(length, Scalar) or not isinstance(length.type, types.Int):
        raise SpirvError(f"its length %{length.id} is not a constant integer")
    count = length.bits
    return of.once((types.Array, element, count), lambda: types.Array(element, count))


def _struct(of: Declarations, instruction: Instruction) -> Type:
    members = tuple(of.sized(id_) for id_ in instruction.operands)
    id_ = instruction.result_id
    packed = of.module.decorations.has(id_, Decoration.CPacked)
    return bounded(types.Struct(id_, members, packed, of.module.name(id_)))


def _pointer(of: Declarations, instruction: Instruction) -> Type:
    space, pointee = storage_class(instruction.operands[0]), of.type(instruction.operands[1])
    key = (types.Pointer, space, pointee)
    return of.once(key, lambda: types.Pointer(space, pointee))


def _function(of: Declarations, instruction: Instruction) -> Type:
    result, *parameters = (of.type(id_) for id_ in instruction.operands)
    if any(isinstance(each, (types.Void, types.FunctionType)) for each in parameters):
        raise SpirvError("has a parameter without a value")
    key = (types.FunctionType, result, *parameters)
    return of.once(key, lambda: types.FunctionType(result, tuple(parameters)))


def _image(of: Declarations, instruction: Instruction) -> Type:
    sampled_type = of.type(instruction.operands[0])
    dim, depth, arrayed, multisampled, sampled, form = instruction.operands[1:7]
    access = instruction.operands[7] if len(instruction.operands) > 7 else AccessQualifier.ReadOnly
    if dim not in types.DIMENSIONS:
        raise SpirvError(f"images of dimension {enumerant_name('Dim', dim)} are not supported")
    if access > AccessQualifier.ReadWrite:
        raise SpirvError(f"there is no access qualifier {access}")
    if not isinstance(sampled_type, (types.Void, types.Int, types.Float)):
        raise SpirvError(f"an image cannot return {sampled_type}")
    key = (types.Image, sampled_type, dim, depth, bool(arrayed), bool(multisampled), sampled, form, access)
    return of.once(
        key,
        lambda: types.Image(sampled_type, dim, depth, bool(arrayed), bool(multisampled), sampled, form, access),
    )


def _sampler(of: Declarations, instruction: Instruction) -> Type:
    return of.once((types.Sampler,), types.Sampler)


def _sampled_image(of: Declarations, instruction: Instruction) -> Type:
    image = of.type(instruction.operands[0])
    if not isinstance(image, types.Image):
        raise SpirvError(f"%{instruction.operands[0]} is {image} instead of an image")
    return of.once((types.SampledImage, image), lambda: types.SampledImage(image))


def _event(of: Declarations, instruction: Instruction) -> Type:
    return of.once((types.Event,), types.Event)


def _opaque(of: Declarations, instruction: Instruction) -> Type:
    return types.Named(string(instruction.operands, 0, len(instruction.operands))[0])


TYPES: dict[int, Callable[[Declarations, Instruction], Type]] = {
    Op.TypeVoid: _void,
    Op.TypeBool: _bool,
    Op.TypeInt: _int,
    Op.TypeFloat: _float,
    Op.TypeVector: _vector,
    Op.TypeArray: _array,
    Op.TypeStruct: _struct,
    Op.TypePointer: _pointer,
    Op.TypeFunction: _function,
    Op.TypeImage: _image,
    Op.TypeSampler: _sampler,
    Op.TypeSampledImage: _sampled_image,
    Op.TypeEvent: _event,
    Op.TypeOpaque: _opaque,
}
