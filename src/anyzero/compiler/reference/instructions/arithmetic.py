"""Arithmetic and bits."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from typing import Any

from anyzero.compiler.reference.decoder import Decoder, Registers, Step, handles
from anyzero.compiler.reference.errors import DivisionByZero
from anyzero.compiler.reference.instructions.lanewise import flush_of, lanewise, width_of
from anyzero.compiler.reference.numbers import ROUND, clamp, fused, limits, nearest, quotient, signed
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.tables import FPRoundingMode, Op
from anyzero.compiler.spirv.types import Int, Struct, Type, Vector

Operation = Callable[..., Any]


def _divide(a: int, b: int) -> int:
    """Division that rounds toward zero, unlike Python's."""
    size = abs(a) // abs(b)
    return size if (a < 0) == (b < 0) else -size


def _guarded(operation: Callable[[int, int], int]) -> Callable[[int, int], int]:
    def divide(a: int, b: int) -> int:
        if b == 0:
            raise DivisionByZero("divides an integer by zero")
        return operation(a, b)

    return divide


def _signed_pair(operation: Callable[[int, int], int], width: int) -> Callable[[int, int], int]:
    mask = (1 << width) - 1
    return _guarded(lambda a, b: operation(signed(a, width), signed(b, width)) & mask)


def _reversed(value: int, width: int) -> int:
    return int(f"{value:0{width}b}"[::-1], 2)


# By opcode: the operation for a width. Oversized shifts are undefined; here all bits are shifted out.
_INTEGERS: dict[int, Callable[[int, int], Operation]] = {
    Op.SNegate: lambda width, mask: lambda a: -a & mask,
    Op.Not: lambda width, mask: lambda a: a ^ mask,
    Op.BitReverse: lambda width, mask: lambda a: _reversed(a, width),
    Op.BitCount: lambda width, mask: lambda a: a.bit_count(),
    Op.IAdd: lambda width, mask: lambda a, b: (a + b) & mask,
    Op.ISub: lambda width, mask: lambda a, b: (a - b) & mask,
    Op.IMul: lambda width, mask: lambda a, b: (a * b) & mask,
    Op.UDiv: lambda width, mask: _guarded(lambda a, b: a // b),
    Op.UMod: lambda width, mask: _guarded(lambda a, b: a % b),
    Op.SDiv: lambda width, mask: _signed_pair(_divide, width),
    Op.SRem: lambda width, mask: _signed_pair(lambda a, b: a - _divide(a, b) * b, width),
    Op.SMod: lambda width, mask: _signed_pair(lambda a, b: a % b, width),
    Op.BitwiseOr: lambda width, mask: lambda a, b: a | b,
    Op.BitwiseXor: lambda width, mask: lambda a, b: a ^ b,
    Op.BitwiseAnd: lambda width, mask: lambda a, b: a & b,
    Op.ShiftLeftLogical: lambda width, mask: lambda a, by: a << by & mask if by < width else 0,
    Op.ShiftRightLogical: lambda width, mask: lambda a, by: a >> by if by < width else 0,
    Op.ShiftRightArithmetic: lambda width, mask: lambda a, by: signed(a, width) >> min(by, width) & mask,
}


@handles(*_INTEGERS)
def integers(decoder: Decoder, instruction: Instruction) -> Step:
    # The result type of BitCount may differ from the operand's.
    width = width_of(decoder.type_of(instruction.operands[0]))
    return lanewise(decoder, instruction, _INTEGERS[instruction.opcode](width, (1 << width) - 1))


def remainder(a: float, b: float) -> float:
    """The exact remainder, with the dividend's sign."""
    return math.nan if math.isinf(a) or b == 0.0 or a != a or b != b else math.fmod(a, b)


def _modulo(a: float, b: float, plus: Callable[[float, float], float] = operator.add) -> float:
    """The remainder, with the divisor's sign."""
    rest = remainder(a, b)
    if rest == 0.0:
        return math.copysign(0.0, b)
    return plus(rest, b) if (rest < 0.0) != (b < 0.0) else rest


# For shorter floats a double has enough bits that rounding its result again equals rounding once.
_FLOATS: dict[int, Callable[[Callable[[float], float]], Operation]] = {
    Op.FAdd: lambda fit: lambda a, b: fit(a + b),
    Op.FSub: lambda fit: lambda a, b: fit(a - b),
    Op.FMul: lambda fit: lambda a, b: fit(a * b),
    Op.FDiv: lambda fit: lambda a, b: fit(quotient(a, b)),
    Op.FRem: lambda fit: remainder,
    Op.FMod: lambda fit: lambda a, b: fit(_modulo(a, b)),
}


_EXACT: dict[int, Callable[[Fraction, Fraction], Fraction]] = {
    Op.FAdd: lambda a, b: a + b,
    Op.FSub: lambda a, b: a - b,
    Op.FMul: lambda a, b: a * b,
    Op.FDiv: lambda a, b: a / b,
}


def _operation(decoder: Decoder, opcode: int, type_: Type) -> Operation:
    """The operation on components in the function's rounding mode, without denormal flushing."""
    width = width_of(type_)
    usual = _FLOATS[opcode](ROUND[width])
    mode = decoder.floats.direction(width)
    if mode == FPRoundingMode.RTE or opcode == Op.FRem:
        return usual
    if opcode == Op.FMod:
        plus = _operation(decoder, Op.FAdd, type_)
        return lambda a, b: _modulo(a, b, plus)
    exact = _EXACT[opcode]

    def directed(a: float, b: float) -> float:
        if not math.isfinite(a) or not math.isfinite(b) or (opcode == Op.FDiv and b == 0.0):
            return float(usual(a, b))
        zero = float(usual(a, b))
        if opcode in (Op.FAdd, Op.FSub) and mode == FPRoundingMode.RTN and zero == 0.0:
            # An exact zero sum is +0 only for two positive zeros.
            other = b if opcode == Op.FAdd else -b
            zero = 0.0 if math.copysign(1.0, a) == math.copysign(1.0, other) == 1.0 else -0.0
        return nearest(exact(Fraction(a), Fraction(b)), width, mode, zero)

    return directed


@handles(*_FLOATS)
def floats(decoder: Decoder, instruction: Instruction) -> Step:
    return lanewise(decoder, instruction, _operation(decoder, instruction.opcode, decoder.type(instruction)))


@handles(Op.FmaKHR)
def multiply_and_add(decoder: Decoder, instruction: Instruction) -> Step:
    width = width_of(decoder.type(instruction))
    return lanewise(decoder, instruction, lambda a, b, c: fused(a, b, c, width))


@handles(Op.FNegate)
def negate(decoder: Decoder, instruction: Instruction) -> Step:
    return lanewise(decoder, instruction, lambda a: -a)


def _flushing(decoder: Decoder, instruction: Instruction, opcode: int) -> tuple[Operation, Callable[[Any], Any]]:
    """The operation with flushed results, and the flush for its operands."""
    type_ = decoder.type(instruction)
    operation, flush = _operation(decoder, opcode, type_), flush_of(decoder, type_)
    return lambda a, b: flush(operation(a, b)), flush


@handles(Op.VectorTimesScalar)
def scale(decoder: Decoder, instruction: Instruction) -> Step:
    multiply, flush = _flushing(decoder, instruction, Op.FMul)
    to, (vector, factor) = decoder.result(instruction), decoder.slot_list(instruction.operands)

    def step(r: Registers) -> None:
        r[to] = tuple(multiply(flush(part), flush(r[factor])) for part in r[vector])

    return step


def dot(first: tuple[float, ...], second: tuple[float, ...], width: int) -> float:
    """The dot product; every product and every sum is rounded."""
    to_width = ROUND[width]
    total = to_width(first[0] * second[0])
    for a, b in zip(first[1:], second[1:], strict=True):
        total = to_width(total + to_width(a * b))
    return total


@handles(Op.Dot)
def dot_product(decoder: Decoder, instruction: Instruction) -> Step:
    (multiply, flush), (plus, _) = (_flushing(decoder, instruction, opcode) for opcode in (Op.FMul, Op.FAdd))
    to, (first, second) = decoder.result(instruction), decoder.slot_list(instruction.operands)

    def step(r: Registers) -> None:
        products = [multiply(flush(a), flush(b)) for a, b in zip(r[first], r[second], strict=True)]
        r[to] = reduce(plus, products)

    return step


# Signedness of the two vectors.
_SIGNS = {
    Op.SDot: (True, True),
    Op.UDot: (False, False),
    Op.SUDot: (True, False),
    Op.SDotAccSat: (True, True),
    Op.UDotAccSat: (False, False),
    Op.SUDotAccSat: (True, False),
}


@handles(*_SIGNS)
def integer_dot(decoder: Decoder, instruction: Instruction) -> Step:
    signs = _SIGNS[instruction.opcode]
    operand = decoder.type_of(instruction.operands[0])
    width, mask = width_of(decoder.type(instruction)), (1 << width_of(decoder.type(instruction))) - 1
    to, (first, second) = decoder.result(instruction), decoder.slot_list(instruction.operands[:2])
    low, high = limits(width, signs[0])
    accumulator = None
    if instruction.opcode in (Op.SDotAccSat, Op.UDotAccSat, Op.SUDotAccSat):
        accumulator = decoder.slot(instruction.operands[2])

    def step(r: Registers) -> None:
        sides = [_components(r[slot], operand, sign) for slot, sign in zip((first, second), signs, strict=True)]
        total = sum(a * b for a, b in zip(*sides, strict=True))
        if accumulator is not None:
            start = signed(r[accumulator], width) if signs[0] else r[accumulator]
            total = clamp(total + start, low, high)
        r[to] = total & mask

    return step


def _components(value: Any, type_: Type, is_signed: bool) -> list[int]:
    """The components of a vector, or four bytes packed into an integer."""
    if isinstance(type_, Vector):
        parts, width = list(value), width_of(type_)
    else:
        parts, width = [value >> shift & 0xFF for shift in (0, 8, 16, 24)], 8
    return [signed(part, width) for part in parts] if is_signed else parts


_PAIRS: dict[int, Callable[[int, int, int], tuple[int, int]]] = {
    Op.IAddCarry: lambda a, b, width: (a + b, (a + b) >> width),
    Op.ISubBorrow: lambda a, b, width: (a - b, int(a < b)),
    Op.UMulExtended: lambda a, b, width: (a * b, (a * b) >> width),
    Op.SMulExtended: lambda a, b, width: (
        signed(a, width) * signed(b, width),
        (signed(a, width) * signed(b, width)) >> width,
    ),
}


@handles(*_PAIRS)
def pairs(decoder: Decoder, instruction: Instruction) -> Step:
    """Operations with two results, in a structure."""
    operation, type_ = _PAIRS[instruction.opcode], decoder.type(instruction)
    assert isinstance(type_, Struct)
    member = type_.members[0]
    width = width_of(member)
    mask = (1 << width) - 1
    to, (first, second) = decoder.result(instruction), decoder.slot_list(instruction.operands)

    def step(r: Registers) -> None:
        if isinstance(member, Int):
            low, high = operation(r[first], r[second], width)
            r[to] = low & mask, high & mask
        else:
            both = [operation(a, b, width) for a, b in zip(r[first], r[second], strict=True)]
            r[to] = tuple(low & mask for low, _ in both), tuple(high & mask for _, high in both)

    return step


@handles(Op.BitFieldInsert)
def bit_field_insert(decoder: Decoder, instruction: Instruction) -> Step:
    base, new, offset, count = instruction.operands
    return _bit_field(decoder, instruction, (base, new), offset, count, _inserted)


@handles(Op.BitFieldSExtract, Op.BitFieldUExtract)
def bit_field_extract(decoder: Decoder, instruction: Instruction) -> Step:
    base, offset, count = instruction.operands
    extract = _extracted_signed if instruction.opcode == Op.BitFieldSExtract else _extracted
    return _bit_field(decoder, instruction, (base,), offset, count, extract)


def _bit_field(
    decoder: Decoder, instruction: Instruction, values: tuple[int, ...], offset: int, count: int, operation: Operation
) -> Step:
    """Bit fields: offset and count are the same for all components."""
    type_ = decoder.type(instruction)
    mask = (1 << width_of(type_)) - 1
    to, from_ = decoder.result(instruction), decoder.slot_list(values)
    at, many = decoder.slot(offset), decoder.slot(count)

    def step(r: Registers) -> None:
        operands = [r[each] for each in from_]
        if isinstance(type_, Vector):
            r[to] = tuple(operation(*parts, r[at], r[many]) & mask for parts in zip(*operands, strict=True))
        else:
            r[to] = operation(*operands, r[at], r[many]) & mask

    return step


def _inserted(base: int, new: int, at: int, count: int) -> int:
    field = ((1 << count) - 1) << at
    return (base & ~field) | (new << at & field)


def _extracted(base: int, at: int, count: int) -> int:
    return base >> at & ((1 << count) - 1)


def _extracted_signed(base: int, at: int, count: int) -> int:
    return signed(_extracted(base, at, count), count) if count else 0
