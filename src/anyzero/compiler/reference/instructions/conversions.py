"""Conversions between numbers, bits and pointers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from anyzero.compiler.reference.decoder import ITEM, Decoder, Registers, Step, handles
from anyzero.compiler.reference.instructions.lanewise import lanewise, width_of
from anyzero.compiler.reference.layout import bits_to_lanes, lanes_to_bits
from anyzero.compiler.reference.memory import SHIFT, SPACE
from anyzero.compiler.reference.numbers import bits_of, clamp, converted, float_of, integer, limits, nearest, signed
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.tables import Decoration, FPRoundingMode, Op
from anyzero.compiler.spirv.types import Pointer


def _widths(decoder: Decoder, instruction: Instruction) -> tuple[int, int]:
    """The widths of the result and the operand."""
    return width_of(decoder.type(instruction)), width_of(decoder.type_of(instruction.operands[0]))


def _mode(decoder: Decoder, instruction: Instruction, usual: int | None = None) -> int:
    """The rounding mode: the instruction's, else `usual`, else the function's for the result's width."""
    named = decoder.module.decorations.number(instruction.result_id, Decoration.FPRoundingMode)
    if named is not None:
        return named
    return decoder.floats.direction(width_of(decoder.type(instruction))) if usual is None else usual


def _saturated(decoder: Decoder, instruction: Instruction) -> bool:
    return decoder.module.decorations.has(instruction.result_id, Decoration.SaturatedConversion)


@handles(Op.ConvertFToU, Op.ConvertFToS)
def to_integer(decoder: Decoder, instruction: Instruction) -> Step:
    """Overflow is undefined without saturation; here the value is truncated."""
    width, _ = _widths(decoder, instruction)
    low, high = limits(width, instruction.opcode == Op.ConvertFToS)
    mask = (1 << width) - 1
    mode = _mode(decoder, instruction, FPRoundingMode.RTZ)
    saturated = _saturated(decoder, instruction)

    def convert(value: float) -> int:
        if not math.isfinite(value):
            limit = 0 if value != value or not saturated else high if value > 0 else low
            return limit & mask
        whole = integer(value, mode)
        return (clamp(whole, low, high) if saturated else whole) & mask

    return lanewise(decoder, instruction, convert)


@handles(Op.ConvertSToF, Op.ConvertUToF)
def to_float(decoder: Decoder, instruction: Instruction) -> Step:
    width, source = _widths(decoder, instruction)
    mode = _mode(decoder, instruction)
    if instruction.opcode == Op.ConvertUToF:
        return lanewise(decoder, instruction, lambda value: nearest(value, width, mode))
    return lanewise(decoder, instruction, lambda value: nearest(signed(value, source), width, mode))


@handles(Op.FConvert)
def between_floats(decoder: Decoder, instruction: Instruction) -> Step:
    width, _ = _widths(decoder, instruction)
    mode = _mode(decoder, instruction)
    return lanewise(decoder, instruction, lambda value: converted(value, width, mode))


@handles(Op.UConvert, Op.SConvert, Op.SatConvertSToU, Op.SatConvertUToS)
def between_integers(decoder: Decoder, instruction: Instruction) -> Step:
    width, source = _widths(decoder, instruction)
    is_signed = {Op.SConvert: True, Op.UConvert: False, Op.SatConvertSToU: False, Op.SatConvertUToS: True}
    low, high = limits(width, is_signed[instruction.opcode])
    mask = (1 << width) - 1
    from_signed = instruction.opcode in (Op.SConvert, Op.SatConvertSToU)
    plain = instruction.opcode in (Op.SConvert, Op.UConvert) and not _saturated(decoder, instruction)

    def convert(value: int) -> int:
        if from_signed:
            value = signed(value, source)
        return (value if plain else clamp(value, low, high)) & mask

    return lanewise(decoder, instruction, convert)


@handles(Op.ConvertFToBF16INTEL)
def to_bfloat16(decoder: Decoder, instruction: Instruction) -> Step:
    return lanewise(decoder, instruction, _bfloat16)


def _bfloat16(value: float) -> int:
    """The upper half of a float, rounded to the nearest even."""
    bits = bits_of(value, 32)
    if value != value:
        return bits >> 16 | 0x40
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


@handles(Op.RoundFToTF32INTEL)
def to_tensor_float(decoder: Decoder, instruction: Instruction) -> Step:
    return lanewise(decoder, instruction, _tensor_float)


def _tensor_float(value: float) -> float:
    """Rounds to a fraction of 10 bits, ties to even."""
    if value != value or value in (math.inf, -math.inf):
        return value
    # The weight of the 13 dropped bits; the exponent is at least that of denormals.
    step = math.ldexp(1.0, max(math.frexp(value)[1] - 24, -149) + 13)
    rounded = math.copysign(round(value / step) * step, value)
    return rounded if abs(rounded) < 2.0**128 else math.copysign(math.inf, value)


@handles(Op.ConvertBF16ToFINTEL)
def from_bfloat16(decoder: Decoder, instruction: Instruction) -> Step:
    return lanewise(decoder, instruction, lambda bits: float_of(bits << 16, 32))


def _moved(decoder: Decoder, instruction: Instruction, change: Callable[[Any], Any] | None = None) -> Step:
    to, from_ = decoder.result(instruction), decoder.slot(instruction.operands[0])
    if change is None:

        def copy(r: Registers) -> None:
            r[to] = r[from_]

        return copy

    def step(r: Registers) -> None:
        r[to] = change(r[from_])

    return step


@handles(Op.Bitcast)
def bitcast(decoder: Decoder, instruction: Instruction) -> Step:
    type_, source = decoder.type(instruction), decoder.type_of(instruction.operands[0])
    if type_ is source or isinstance(type_, Pointer) or isinstance(source, Pointer):
        return _moved(decoder, instruction)
    return _moved(decoder, instruction, lambda value: bits_to_lanes(type_, lanes_to_bits(source, value)))


@handles(Op.ConvertPtrToU, Op.ConvertUToPtr)
def address(decoder: Decoder, instruction: Instruction) -> Step:
    mask = (1 << decoder.type(instruction).bits) - 1
    return _moved(decoder, instruction, lambda value: value & mask)


@handles(Op.PtrCastToGeneric, Op.GenericCastToPtr, Op.PtrCastToCrossWorkgroupINTEL, Op.CrossWorkgroupCastToPtrINTEL)
def cast(decoder: Decoder, instruction: Instruction) -> Step:
    return _moved(decoder, instruction)


@handles(Op.GenericCastToPtrExplicit)
def cast_if(decoder: Decoder, instruction: Instruction) -> Step:
    to, from_ = decoder.result(instruction), decoder.slot(instruction.operands[0])
    space = SPACE[instruction.operands[1]]

    def step(r: Registers) -> None:
        region = r[ITEM].regions.get(r[from_] >> SHIFT)
        r[to] = r[from_] if region is not None and region.space == space else 0

    return step


@handles(Op.SizeOf)
def size_of(decoder: Decoder, instruction: Instruction) -> Step:
    pointer = decoder.type_of(instruction.operands[0])
    assert isinstance(pointer, Pointer)
    to, size = decoder.result(instruction), pointer.pointee.size

    def step(r: Registers) -> None:
        r[to] = size

    return step
