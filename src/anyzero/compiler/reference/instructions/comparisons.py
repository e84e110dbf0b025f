"""Comparisons, classification of numbers, and logic."""

from __future__ import annotations

import math
from collections.abc import Callable

from anyzero.compiler.reference.decoder import Decoder, Registers, Step, handles
from anyzero.compiler.reference.instructions.lanewise import lanewise, width_of
from anyzero.compiler.reference.numbers import LOWEST
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.tables import Op
from anyzero.compiler.spirv.types import Int, Vector

_UNSIGNED: dict[int, Callable[[int, int], bool]] = {
    Op.IEqual: lambda a, b: a == b,
    Op.INotEqual: lambda a, b: a != b,
    Op.PtrEqual: lambda a, b: a == b,
    Op.PtrNotEqual: lambda a, b: a != b,
    Op.UGreaterThan: lambda a, b: a > b,
    Op.UGreaterThanEqual: lambda a, b: a >= b,
    Op.ULessThan: lambda a, b: a < b,
    Op.ULessThanEqual: lambda a, b: a <= b,
}

# With the sign bit flipped, signed numbers compare like unsigned ones.
_SIGNED: dict[int, Callable[[int], Callable[[int, int], bool]]] = {
    Op.SGreaterThan: lambda sign: lambda a, b: a ^ sign > b ^ sign,
    Op.SGreaterThanEqual: lambda sign: lambda a, b: a ^ sign >= b ^ sign,
    Op.SLessThan: lambda sign: lambda a, b: a ^ sign < b ^ sign,
    Op.SLessThanEqual: lambda sign: lambda a, b: a ^ sign <= b ^ sign,
}

# Python's comparisons are false for a NaN, and != is true.
_FLOATS: dict[int, Callable[..., bool]] = {
    Op.FOrdEqual: lambda a, b: a == b,
    Op.FUnordEqual: lambda a, b: not (a < b or a > b),
    Op.FOrdNotEqual: lambda a, b: a < b or a > b,
    Op.FUnordNotEqual: lambda a, b: a != b,
    Op.FOrdLessThan: lambda a, b: a < b,
    Op.FUnordLessThan: lambda a, b: not a >= b,
    Op.FOrdGreaterThan: lambda a, b: a > b,
    Op.FUnordGreaterThan: lambda a, b: not a <= b,
    Op.FOrdLessThanEqual: lambda a, b: a <= b,
    Op.FUnordLessThanEqual: lambda a, b: not a > b,
    Op.FOrdGreaterThanEqual: lambda a, b: a >= b,
    Op.FUnordGreaterThanEqual: lambda a, b: not a < b,
    Op.LessOrGreater: lambda a, b: a < b or a > b,
    Op.Ordered: lambda a, b: a == a and b == b,
    Op.Unordered: lambda a, b: a != a or b != b,
    Op.IsNan: math.isnan,
    Op.IsInf: math.isinf,
    Op.IsFinite: math.isfinite,
    Op.SignBitSet: lambda a: math.copysign(1.0, a) < 0.0,
}

_LOGIC: dict[int, Callable[..., bool]] = {
    Op.LogicalEqual: lambda a, b: a == b,
    Op.LogicalNotEqual: lambda a, b: a != b,
    Op.LogicalOr: lambda a, b: a or b,
    Op.LogicalAnd: lambda a, b: a and b,
    Op.LogicalNot: lambda a: not a,
}

_PLAIN: dict[int, Callable[..., bool]] = {**_UNSIGNED, **_FLOATS, **_LOGIC}


@handles(*_PLAIN)
def plain(decoder: Decoder, instruction: Instruction) -> Step:
    return lanewise(decoder, instruction, _PLAIN[instruction.opcode])


@handles(*_SIGNED)
def in_order(decoder: Decoder, instruction: Instruction) -> Step:
    sign = 1 << (width_of(decoder.type_of(instruction.operands[0])) - 1)
    return lanewise(decoder, instruction, _SIGNED[instruction.opcode](sign))


@handles(Op.IsNormal)
def is_normal(decoder: Decoder, instruction: Instruction) -> Step:
    least = math.ldexp(1.0, LOWEST[width_of(decoder.type_of(instruction.operands[0]))])
    return lanewise(decoder, instruction, lambda a: math.isfinite(a) and abs(a) >= least)


@handles(Op.Any, Op.All)
def any_or_all(decoder: Decoder, instruction: Instruction) -> Step:
    to, from_ = decoder.result(instruction), decoder.slot(instruction.operands[0])
    quantifier = any if instruction.opcode == Op.Any else all
    type_ = decoder.type_of(instruction.operands[0])
    vector, integers = isinstance(type_, Vector), isinstance(type_.scalar, Int)
    sign = 1 << (width_of(type_) - 1) if integers else 0

    def step(r: Registers) -> None:
        r[to] = quantifier(r[from_]) if vector else r[from_]

    def signs(r: Registers) -> None:
        r[to] = quantifier(bool(component & sign) for component in r[from_])

    return signs if integers else step


@handles(Op.Select)
def select(decoder: Decoder, instruction: Instruction) -> Step:
    if isinstance(decoder.type_of(instruction.operands[0]), Vector):
        return lanewise(decoder, instruction, lambda condition, true, false: true if condition else false)
    to, (condition, true, false) = decoder.result(instruction), decoder.slot_list(instruction.operands)

    def step(r: Registers) -> None:
        r[to] = r[true] if r[condition] else r[false]

    return step
