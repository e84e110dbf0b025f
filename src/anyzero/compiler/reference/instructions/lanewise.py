"""Component-wise instructions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from anyzero.compiler.reference.decoder import Decoder, Registers, Step
from anyzero.compiler.reference.errors import Fault
from anyzero.compiler.reference.numbers import flushed
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.tables import Op
from anyzero.compiler.spirv.tables import OpenCL as Cl
from anyzero.compiler.spirv.types import Float, Int, Type, Vector


def width_of(type_: Type) -> int:
    """The width of a number, or of a vector's components."""
    if not isinstance(type_.scalar, (Int, Float)):
        raise Fault(f"{type_} is not made of numbers")
    return type_.scalar.width


def lanewise(decoder: Decoder, instruction: Instruction, operation: Callable[..., Any]) -> Step:
    return apply(decoder, instruction, operation, instruction.operands)


def apply(decoder: Decoder, instruction: Instruction, operation: Callable[..., Any], ids: tuple[int, ...]) -> Step:
    """The step that applies an operation component-wise."""
    if decoder.floats.flushed and not _chooses(instruction):
        operation = _flushing(decoder, instruction, operation, ids)
    to, from_ = decoder.result(instruction), decoder.slot_list(ids)
    if isinstance(decoder.type(instruction), Vector):
        return _vectors(to, from_, operation)
    if len(from_) == 1:
        (a,) = from_

        def unary(r: Registers) -> None:
            r[to] = operation(r[a])

        return unary
    if len(from_) == 2:
        a, b = from_

        def binary(r: Registers) -> None:
            r[to] = operation(r[a], r[b])

        return binary

    def scalars(r: Registers) -> None:
        r[to] = operation(*[r[each] for each in from_])

    return scalars


def _chooses(instruction: Instruction) -> bool:
    """True for instructions that return one of their operands unchanged; they do not flush denormals."""
    return instruction.opcode == Op.Select or (
        instruction.opcode == Op.ExtInst and instruction.operands[1] in (Cl.select, Cl.bitselect)
    )


def _flushing(
    decoder: Decoder, instruction: Instruction, operation: Callable[..., Any], ids: tuple[int, ...]
) -> Callable[..., Any]:
    """The operation with denormals flushed, for the widths that the function flushes."""
    operands = [flush_of(decoder, decoder.type_of(id_)) for id_ in ids]
    result = flush_of(decoder, decoder.type(instruction))
    return lambda *given: result(operation(*[flush(each) for flush, each in zip(operands, given, strict=True)]))


def flush_of(decoder: Decoder, type_: Type) -> Callable[[Any], Any]:
    """The flush of a type's components, applied to operands and results."""
    scalar = type_.scalar
    if not isinstance(scalar, Float) or scalar.width not in decoder.floats.flushed:
        return lambda value: value
    width = scalar.width
    return lambda value: flushed(value, width)


def _vectors(to: int, from_: list[int], operation: Callable[..., Any]) -> Step:
    def step(r: Registers) -> None:
        r[to] = tuple(map(operation, *[r[each] for each in from_]))

    return step
