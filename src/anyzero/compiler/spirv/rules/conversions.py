"""Conversions between numbers, bits and pointers."""

from __future__ import annotations

from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.rules.check import Check, is_number, rule, shape, wrong, wrong_result
from anyzero.compiler.spirv.tables import Op, StorageClass
from anyzero.compiler.spirv.types import Float, Int, Pointer, Type

# Target and source types.
_NUMBERS: dict[int, tuple[type[Type], type[Type]]] = {
    Op.ConvertFToU: (Int, Float),
    Op.ConvertFToS: (Int, Float),
    Op.ConvertSToF: (Float, Int),
    Op.ConvertUToF: (Float, Int),
    Op.UConvert: (Int, Int),
    Op.SConvert: (Int, Int),
    Op.FConvert: (Float, Float),
    Op.SatConvertSToU: (Int, Int),
    Op.SatConvertUToS: (Int, Int),
}
# The same with their widths: a brain float is the upper half of a float, as an integer.
_BRAIN_FLOATS: dict[int, tuple[tuple[type[Type], int], tuple[type[Type], int]]] = {
    Op.ConvertFToBF16INTEL: ((Int, 16), (Float, 32)),
    Op.ConvertBF16ToFINTEL: ((Float, 32), (Int, 16)),
}

_NAMED_SPACES = {
    StorageClass.Workgroup,
    StorageClass.CrossWorkgroup,
    StorageClass.Function,
    StorageClass.Private,
    StorageClass.DeviceOnlyINTEL,
    StorageClass.HostOnlyINTEL,
}
_WITH_CODE = _NAMED_SPACES | {StorageClass.CodeSectionINTEL}
"""Vtables hold generic pointers to code."""
_GLOBAL_SPACES = {StorageClass.DeviceOnlyINTEL, StorageClass.HostOnlyINTEL}


@rule(*_NUMBERS)
def numbers(check: Check, instruction: Instruction) -> None:
    type_, (id_,) = check.types[instruction.type_id], instruction.operands
    to, from_ = _NUMBERS[instruction.opcode]
    source = check.values[id_]
    if type_.scalar.__class__ is not to:
        raise wrong_result(instruction, type_)
    if source.scalar.__class__ is not from_ or source.count != type_.count:
        raise wrong(id_, source, f"{type_.count} × {from_.__name__.lower()}")


@rule(*_BRAIN_FLOATS)
def brain_float(check: Check, instruction: Instruction) -> None:
    type_, (id_,) = check.types[instruction.type_id], instruction.operands
    to, from_ = _BRAIN_FLOATS[instruction.opcode]
    source = check.values[id_]
    if not _is(type_, *to):
        raise wrong_result(instruction, type_)
    if not _is(source, *from_) or source.count != type_.count:
        raise wrong(id_, source, f"{type_.count} × {from_[0].__name__.lower()} of {from_[1]} bits")


def _is(type_: Type, kind: type[Type], width: int) -> bool:
    return isinstance(type_.scalar, kind) and type_.scalar.bits == width


@rule(Op.RoundFToTF32INTEL)
def tensor_float(check: Check, instruction: Instruction) -> None:
    type_, (id_,) = check.types[instruction.type_id], instruction.operands
    if not isinstance(type_.scalar, Float) or type_.scalar.width != 32:
        raise wrong_result(instruction, type_)
    check.is_(id_, type_)


@rule(Op.Bitcast)
def bitcast(check: Check, instruction: Instruction) -> None:
    type_, (id_,) = check.types[instruction.type_id], instruction.operands
    source = check.values[id_]
    if not _same_bits(type_, source):
        raise wrong(id_, source, f"something of the size and kind of {type_}")


def _same_bits(to: Type, from_: Type) -> bool:
    if isinstance(to, Pointer) and isinstance(from_, Pointer):
        return to.storage_class == from_.storage_class
    if isinstance(to, Pointer):
        return isinstance(from_, Int) and from_.width == 64
    if isinstance(from_, Pointer):
        return isinstance(to, Int) and to.width == 64
    return is_number(to) and is_number(from_) and to.bits == from_.bits


@rule(Op.ConvertPtrToU)
def to_integer(check: Check, instruction: Instruction) -> None:
    if not isinstance(check.types[instruction.type_id], Int):
        raise wrong_result(instruction, check.types[instruction.type_id])
    check.pointer(instruction.operands[0])


@rule(Op.ConvertUToPtr)
def to_pointer(check: Check, instruction: Instruction) -> None:
    if not isinstance(check.types[instruction.type_id], Pointer):
        raise wrong_result(instruction, check.types[instruction.type_id])
    check.integer(instruction.operands[0])


@rule(Op.PtrCastToGeneric)
def to_generic(check: Check, instruction: Instruction) -> None:
    _cast(check, instruction, {StorageClass.Generic}, _WITH_CODE)


@rule(Op.GenericCastToPtr)
def from_generic(check: Check, instruction: Instruction) -> None:
    _cast(check, instruction, _WITH_CODE, {StorageClass.Generic})


@rule(Op.GenericCastToPtrExplicit)
def from_generic_if(check: Check, instruction: Instruction) -> None:
    """The result is null for pointers of another class, so the class is also an operand."""
    pointer, storage_class = instruction.operands
    _cast(check, instruction, {storage_class} & _NAMED_SPACES, {StorageClass.Generic}, (pointer,))


@rule(Op.PtrCastToCrossWorkgroupINTEL)
def to_global(check: Check, instruction: Instruction) -> None:
    _cast(check, instruction, {StorageClass.CrossWorkgroup}, _GLOBAL_SPACES)


@rule(Op.CrossWorkgroupCastToPtrINTEL)
def from_global(check: Check, instruction: Instruction) -> None:
    _cast(check, instruction, _GLOBAL_SPACES, {StorageClass.CrossWorkgroup})


def _cast(
    check: Check, instruction: Instruction, to: set[int], from_: set[int], operands: tuple[int, ...] | None = None
) -> None:
    (id_,) = operands or instruction.operands
    type_, source = check.types[instruction.type_id], check.pointer(id_)
    if not isinstance(type_, Pointer) or type_.storage_class not in to:
        raise wrong_result(instruction, type_)
    if source.storage_class not in from_:
        raise wrong(id_, source, "a pointer of a class that can be cast so")


@rule(Op.SizeOf)
def size_of(check: Check, instruction: Instruction) -> None:
    if not shape(check.types[instruction.type_id], Int, 1):
        raise wrong_result(instruction, check.types[instruction.type_id])
    check.pointer(instruction.operands[0])
