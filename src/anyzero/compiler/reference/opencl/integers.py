"""Functions of integers."""

from __future__ import annotations

from collections.abc import Callable

from anyzero.compiler.reference.decoder import Decoder, Step
from anyzero.compiler.reference.instructions.lanewise import apply, width_of
from anyzero.compiler.reference.numbers import clamp, limits, signed
from anyzero.compiler.reference.opencl.table import function
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.tables import OpenCL as Cl

Operation = Callable[..., int]

_LOW24 = (1 << 24) - 1


def _hadd(a: int, b: int) -> int:
    return (a + b) >> 1


def _rhadd(a: int, b: int) -> int:
    return (a + b + 1) >> 1


def _clamp(x: int, low: int, high: int) -> int:
    return min(max(x, low), high)


# On signed or unsigned numbers, as the function requires; results are truncated to the width.
_EITHER: dict[str, Operation] = {
    "abs": abs,
    "abs_diff": lambda a, b: abs(a - b),
    "hadd": _hadd,
    "rhadd": _rhadd,
    "clamp": _clamp,
    "max": max,
    "min": min,
}
_SATURATED: dict[str, Operation] = {
    "add_sat": lambda a, b: a + b,
    "sub_sat": lambda a, b: a - b,
    "mad_sat": lambda a, b, c: a * b + c,
}


def _signs(names: dict[str, Operation]) -> dict[int, tuple[Operation, bool]]:
    return {getattr(Cl, f"{sign}_{name}"): (each, sign == "s") for name, each in names.items() for sign in "su"}


_PLAIN, _SAT = _signs(_EITHER), _signs(_SATURATED)


def _with_sign(operation: Operation, width: int, is_signed: bool) -> Operation:
    mask = (1 << width) - 1
    if not is_signed:
        return lambda *operands: operation(*operands) & mask
    return lambda *operands: operation(*[signed(each, width) for each in operands]) & mask


def _built(decoder: Decoder, instruction: Instruction, ids: tuple[int, ...], made: Callable[[int], Operation]) -> Step:
    return apply(decoder, instruction, made(width_of(decoder.type_of(ids[0]))), ids)


@function(*_PLAIN)
def plain(decoder: Decoder, instruction: Instruction, ids: tuple[int, ...]) -> Step:
    operation, is_signed = _PLAIN[instruction.operands[1]]
    return _built(decoder, instruction, ids, lambda width: _with_sign(operation, width, is_signed))


@function(*_SAT)
def saturated(decoder: Decoder, instruction: Instruction, ids: tuple[int, ...]) -> Step:
    operation, is_signed = _SAT[instruction.operands[1]]

    def made(width: int) -> Operation:
        low, high = limits(width, is_signed)
        return _with_sign(lambda *operands: clamp(operation(*operands), low, high), width, is_signed)

    return _built(decoder, instruction, ids, made)


@function(Cl.s_mul_hi, Cl.u_mul_hi, Cl.s_mad_hi, Cl.u_mad_hi)
def high_half(decoder: Decoder, instruction: Instruction, ids: tuple[int, ...]) -> Step:
    is_signed = instruction.operands[1] in (Cl.s_mul_hi, Cl.s_mad_hi)

    def made(width: int) -> Operation:
        return _with_sign(lambda a, b, c=0: (a * b >> width) + c, width, is_signed)

    return _built(decoder, instruction, ids, made)


@function(Cl.s_mul24, Cl.u_mul24, Cl.s_mad24, Cl.u_mad24)
def of_24_bits(decoder: Decoder, instruction: Instruction, ids: tuple[int, ...]) -> Step:
    """Only the low 24 bits of the factors are used."""
    is_signed = instruction.operands[1] in (Cl.s_mul24, Cl.s_mad24)

    def factor(value: int) -> int:
        return signed(value & _LOW24, 24) if is_signed else value & _LOW24

    def made(width: int) -> Operation:
        mask = (1 << width) - 1
        return lambda a, b, c=0: (factor(a) * factor(b) + c) & mask

    return _built(decoder, instruction, ids, made)


_BITS: dict[int, Callable[[int], Operation]] = {
    Cl.clz: lambda width: lambda a: width - a.bit_length(),
    Cl.ctz: lambda width: lambda a: (a & -a).bit_length() - 1 if a else width,
    Cl.popcount: lambda width: int.bit_count,
    Cl.rotate: lambda width: lambda a, by: (a << by % width | a >> (width - by % width)) & ((1 << width) - 1),
    **dict.fromkeys([Cl.s_upsample, Cl.u_upsample], lambda width: lambda high, low: high << width | low),
}


@function(*_BITS)
def bits(decoder: Decoder, instruction: Instruction, ids: tuple[int, ...]) -> Step:
    return _built(decoder, instruction, ids, _BITS[instruction.operands[1]])
