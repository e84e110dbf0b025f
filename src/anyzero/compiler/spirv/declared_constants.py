"""Constants, each from its declaration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyzero.compiler.spirv import types
from anyzero.compiler.spirv.constants import (
    Composite,
    Constant,
    FunctionAddress,
    SamplerConstant,
    Scalar,
    Undef,
    bits_of,
    zero,
)
from anyzero.compiler.spirv.errors import SpirvError
from anyzero.compiler.spirv.folding import fold
from anyzero.compiler.spirv.grammar import SHAPES, opcode_name
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.tables import Decoration, Op
from anyzero.compiler.spirv.types import Type

if TYPE_CHECKING:
    from anyzero.compiler.spirv.declarations import Declarations

_CONSTANT_OPERANDS = {Op.CompositeExtract: 1, Op.CompositeInsert: 2, Op.VectorShuffle: 2}
"""Number of constant operands, for operations whose remaining operands are literals."""

CONSTANTS = frozenset(
    {
        Op.Undef,
        Op.PoisonKHR,
        Op.ConstantTrue,
        Op.ConstantFalse,
        Op.Constant,
        Op.ConstantComposite,
        Op.ConstantSampler,
        Op.ConstantNull,
        Op.SpecConstantTrue,
        Op.SpecConstantFalse,
        Op.SpecConstant,
        Op.SpecConstantComposite,
        Op.SpecConstantOp,
        Op.ConstantFunctionPointerINTEL,
    }
)


def constant(of: Declarations, instruction: Instruction) -> Constant:
    id_, opcode, words = instruction.result_id, instruction.opcode, instruction.operands
    type_ = of.type(instruction.type_id)
    match opcode:
        case Op.ConstantTrue | Op.SpecConstantTrue | Op.ConstantFalse | Op.SpecConstantFalse:
            value = opcode in (Op.ConstantTrue, Op.SpecConstantTrue)
            if not isinstance(type_, types.Bool):
                raise SpirvError(f"a boolean cannot be {type_}")
            return _special(of, instruction, Scalar(id_, type_, int(value)))
        case Op.Constant | Op.SpecConstant:
            return _special(of, instruction, Scalar(id_, type_, _literal(type_, words)))
        case Op.ConstantComposite | Op.SpecConstantComposite:
            return _composite(of, instruction, type_)
        case Op.ConstantNull | Op.Undef | Op.PoisonKHR:
            if not type_.sized:
                raise SpirvError(f"there is no value of type {type_}")
            return zero(id_, type_) if opcode == Op.ConstantNull else Undef(id_, type_)
        case Op.ConstantSampler:
            if not isinstance(type_, types.Sampler):
                raise SpirvError(f"a sampler cannot be {type_}")
            if words[0] > 4 or words[1] > 1 or words[2] > 1:
                raise SpirvError(f"there is no sampler of the kinds {words[0]}, {words[1]} and {words[2]}")
            return SamplerConstant(id_, type_, words[0], bool(words[1]), words[2])
        case Op.ConstantFunctionPointerINTEL:
            return _function_address(of, id_, type_, words[0])
    return _operation(of, instruction, type_)


def _special(of: Declarations, instruction: Instruction, made: Scalar) -> Scalar:
    """A specialization constant with the caller's value."""
    if instruction.opcode not in (Op.SpecConstant, Op.SpecConstantTrue, Op.SpecConstantFalse):
        return made
    number = of.module.decorations.number(made.id, Decoration.SpecId)
    if number is None:
        return made
    if number in of.specialization:
        made.bits = _given(made.type, of.specialization[number])
    of.module.specializable.setdefault(number, made)
    return made


def _composite(of: Declarations, instruction: Instruction, type_: Type) -> Constant:
    elements = tuple(of.constant(id_) for id_ in instruction.operands)
    if isinstance(type_, types.Struct):
        expected: tuple[Type, ...] = type_.members
    elif isinstance(type_, (types.Vector, types.Array)) and type_.length == len(elements):
        expected = (type_.element,) * type_.length
    else:
        raise SpirvError(f"{len(elements)} elements do not make {type_}")
    if len(expected) != len(elements):
        raise SpirvError(f"{len(elements)} elements do not make {type_}")
    for index, (element, wanted) in enumerate(zip(elements, expected, strict=True)):
        if element.type is not wanted:
            raise SpirvError(f"element {index} (%{element.id}) is {element.type} instead of {wanted}")
    return Composite(instruction.result_id, type_, elements)


def _function_address(of: Declarations, id_: int, type_: Type, function: int) -> Constant:
    if not isinstance(type_, types.Pointer) or not isinstance(type_.pointee, types.FunctionType):
        raise SpirvError(f"the address of a function cannot be {type_}")
    return FunctionAddress(id_, type_, function)


def _operation(of: Declarations, instruction: Instruction, type_: Type) -> Constant:
    opcode, *words = instruction.operands
    shape = SHAPES.get(opcode)
    if shape is None or not shape.shortest <= len(words) <= shape.longest or shape.head != 3:
        raise SpirvError(f"{opcode_name(opcode)} with {len(words)} operands is no operation on constants")
    split = _CONSTANT_OPERANDS.get(opcode, len(words))
    operands = [of.constant(id_) for id_ in words[:split]]
    try:
        return fold(instruction.result_id, type_, opcode, operands, tuple(words[split:]))
    except SpirvError as error:
        raise SpirvError(f"{opcode_name(opcode)} {error.reason}") from None


def _literal(type_: Type, words: tuple[int, ...]) -> int:
    if not isinstance(type_, (types.Int, types.Float)):
        raise SpirvError(f"a number cannot be {type_}")
    if len(words) != -(-type_.width // 32):
        raise SpirvError(f"a number of type {type_} does not take {len(words)} words")
    whole = sum(word << (32 * index) for index, word in enumerate(words))
    return whole & ((1 << type_.width) - 1)


def _given(type_: Type, value: int | float | bytes) -> int:
    """The bits of the caller's value, truncated to the constant's width."""
    if isinstance(value, bytes):
        value = int.from_bytes(value[: type_.size], "little")
    elif isinstance(type_, types.Float):
        return bits_of(float(value), type_.width)
    return int(value != 0) if isinstance(type_, types.Bool) else int(value) & ((1 << type_.bits) - 1)
