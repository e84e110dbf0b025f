"""Arithmetic, bits, comparisons and logic."""

from __future__ import annotations

from anyzero.compiler.spirv.errors import SpirvError
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.rules.check import Check, rule, shape, wrong, wrong_result
from anyzero.compiler.spirv.tables import Op, PackedVectorFormat
from anyzero.compiler.spirv.types import Bool, Float, Int, Pointer, Struct, Type, Vector


def _alike(check: Check, instruction: Instruction, kind: type[Type]) -> None:
    """Every operand has the result's type."""
    type_ = check.types[instruction.type_id]
    if type_.scalar.__class__ is not kind:
        raise wrong_result(instruction, type_)
    values = check.values
    for id_ in instruction.operands:
        if values[id_] is not type_:
            raise wrong(id_, values[id_], type_)


@rule(Op.SNegate, Op.IAdd, Op.ISub, Op.IMul, Op.UDiv, Op.SDiv, Op.UMod, Op.SRem, Op.SMod)
@rule(Op.BitwiseOr, Op.BitwiseXor, Op.BitwiseAnd, Op.Not, Op.BitReverse)
def integers(check: Check, instruction: Instruction) -> None:
    _alike(check, instruction, Int)


@rule(Op.FNegate, Op.FAdd, Op.FSub, Op.FMul, Op.FDiv, Op.FRem, Op.FMod, Op.FmaKHR)
def floats(check: Check, instruction: Instruction) -> None:
    _alike(check, instruction, Float)


@rule(Op.LogicalEqual, Op.LogicalNotEqual, Op.LogicalOr, Op.LogicalAnd, Op.LogicalNot)
def truth_values(check: Check, instruction: Instruction) -> None:
    _alike(check, instruction, Bool)


@rule(Op.ShiftRightLogical, Op.ShiftRightArithmetic, Op.ShiftLeftLogical)
def shift(check: Check, instruction: Instruction) -> None:
    type_ = check.types[instruction.type_id]
    if not shape(type_, Int):
        raise wrong_result(instruction, type_)
    base, by = instruction.operands
    check.is_(base, type_)
    if not shape(check.values[by], Int, type_.count):
        raise wrong(by, check.values[by], f"{type_.count} integers")


@rule(Op.VectorTimesScalar)
def scale(check: Check, instruction: Instruction) -> None:
    type_ = check.types[instruction.type_id]
    if not isinstance(type_, Vector) or not isinstance(type_.element, Float):
        raise wrong_result(instruction, type_)
    check.is_(instruction.operands[0], type_)
    check.is_(instruction.operands[1], type_.element)


@rule(Op.Dot)
def dot(check: Check, instruction: Instruction) -> None:
    type_, (first, second) = check.types[instruction.type_id], instruction.operands
    vector = check.values[first]
    if not isinstance(type_, Float) or not isinstance(vector, Vector) or vector.element is not type_:
        raise wrong(first, vector, f"a vector of {type_}")
    check.is_(second, vector)


@rule(Op.SDot, Op.UDot, Op.SUDot, Op.SDotAccSat, Op.UDotAccSat, Op.SUDotAccSat)
def integer_dot(check: Check, instruction: Instruction) -> None:
    type_, (first, second, *rest) = check.types[instruction.type_id], instruction.operands
    if not isinstance(type_, Int):
        raise wrong_result(instruction, type_)
    operand = check.values[first]
    check.is_(second, operand)
    if instruction.opcode in (Op.SDotAccSat, Op.UDotAccSat, Op.SUDotAccSat):
        if not rest:
            raise SpirvError("has no accumulator")
        check.is_(rest.pop(0), type_)
    packed = isinstance(operand, Int) and operand.width == 32
    if packed != (rest == [PackedVectorFormat.PackedVectorFormat4x8Bit]) or not (packed or shape(operand, Int)):
        raise wrong(first, operand, "a vector of integers, or one of 32 bits with its packing named")


@rule(Op.IAddCarry, Op.ISubBorrow, Op.UMulExtended, Op.SMulExtended)
def pair(check: Check, instruction: Instruction) -> None:
    type_, (first, second) = check.types[instruction.type_id], instruction.operands
    operand = check.values[first]
    if not shape(operand, Int) or not isinstance(type_, Struct) or type_.members != (operand, operand):
        raise wrong(first, operand, f"what {type_} holds twice")
    check.is_(second, operand)


@rule(Op.BitFieldInsert, Op.BitFieldSExtract, Op.BitFieldUExtract)
def bit_field(check: Check, instruction: Instruction) -> None:
    type_ = check.types[instruction.type_id]
    *values, offset, count = instruction.operands
    if not shape(type_, Int):
        raise wrong_result(instruction, type_)
    for id_ in values:
        check.is_(id_, type_)
    check.integer(offset)
    check.integer(count)


@rule(Op.BitCount)
def bit_count(check: Check, instruction: Instruction) -> None:
    type_, (id_,) = check.types[instruction.type_id], instruction.operands
    if not shape(type_, Int) or not shape(check.values[id_], Int, type_.count):
        raise wrong(id_, check.values[id_], f"{type_.count} integers")


def _compared(check: Check, instruction: Instruction, kind: type[Type], ids: tuple[int, ...]) -> None:
    """Operands of one type, and a boolean per component as the result."""
    type_ = check.types[instruction.type_id]
    operand = check.values[ids[0]]
    if type_.scalar.__class__ is not Bool:
        raise wrong_result(instruction, type_)
    if operand.scalar.__class__ is not kind or operand.count != type_.count:
        raise wrong(ids[0], operand, f"{type_.count} × {kind.__name__.lower()}")
    for id_ in ids[1:]:
        check.is_(id_, operand)


@rule(Op.UGreaterThan, Op.SGreaterThan, Op.UGreaterThanEqual, Op.SGreaterThanEqual)
@rule(Op.ULessThan, Op.SLessThan, Op.ULessThanEqual, Op.SLessThanEqual)
def compare_integers(check: Check, instruction: Instruction) -> None:
    _compared(check, instruction, Int, instruction.operands)


@rule(Op.IEqual, Op.INotEqual)
def equal(check: Check, instruction: Instruction) -> None:
    """Also for pointers, because producers for versions before OpPtrEqual use it."""
    first, second = instruction.operands
    if isinstance(check.values[first], Pointer):
        pointers(check, instruction)
    else:
        _compared(check, instruction, Int, (first, second))


@rule(Op.PtrEqual, Op.PtrNotEqual)
def pointers(check: Check, instruction: Instruction) -> None:
    type_, (first, second) = check.types[instruction.type_id], instruction.operands
    if not isinstance(type_, Bool):
        raise wrong_result(instruction, type_)
    if check.pointer(first).storage_class != check.pointer(second).storage_class:
        raise wrong(second, check.values[second], f"a {check.pointer(first).space} pointer")


@rule(Op.FOrdEqual, Op.FUnordEqual, Op.FOrdNotEqual, Op.FUnordNotEqual, Op.FOrdLessThan, Op.FUnordLessThan)
@rule(Op.FOrdGreaterThan, Op.FUnordGreaterThan, Op.FOrdLessThanEqual, Op.FUnordLessThanEqual)
@rule(Op.FOrdGreaterThanEqual, Op.FUnordGreaterThanEqual, Op.LessOrGreater, Op.Ordered, Op.Unordered)
@rule(Op.IsNan, Op.IsInf, Op.IsFinite, Op.IsNormal, Op.SignBitSet)
def compare_floats(check: Check, instruction: Instruction) -> None:
    _compared(check, instruction, Float, instruction.operands)


@rule(Op.Any, Op.All)
def any_or_all(check: Check, instruction: Instruction) -> None:
    """Also for integer vectors: not in the specification, but LLVM 22 emits them for any() and all()."""
    type_, (id_,) = check.types[instruction.type_id], instruction.operands
    if not isinstance(type_, Bool):
        raise wrong_result(instruction, type_)
    given = check.values[id_]
    if not shape(given, Bool) and not (isinstance(given, Vector) and isinstance(given.element, Int)):
        raise wrong(id_, given, "booleans")


@rule(Op.Select)
def select(check: Check, instruction: Instruction) -> None:
    type_, (condition, true, false) = check.types[instruction.type_id], instruction.operands
    chosen = check.values[condition]
    if chosen.scalar.__class__ is not Bool or chosen.count not in (1, type_.count):
        raise wrong(condition, chosen, "a boolean, or one per component")
    check.is_(true, type_)
    check.is_(false, type_)
