"""Atomic operations, trivial because one work-item runs at a time; and barriers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from anyzero.compiler.reference import layout, memory
from anyzero.compiler.reference.decoder import ITEM, Decoder, Pause, Registers, Step, handles
from anyzero.compiler.reference.instructions.access import nothing, target
from anyzero.compiler.reference.meetings import meet
from anyzero.compiler.reference.meetings import nothing as no_answer
from anyzero.compiler.reference.minmax import fmax, fmin
from anyzero.compiler.reference.numbers import ROUND, bits_of, signed
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.tables import Op
from anyzero.compiler.spirv.types import Float, Int, Type

Change = Callable[..., Any]
"""Maps the old value and the operands to the new value."""


def _changed(decoder: Decoder, instruction: Instruction, change: Change | None, operands: tuple[int, ...]) -> Step:
    """Read-modify-write that returns the old value. Without a change, a plain read."""
    pointer = decoder.slot(instruction.operands[0])
    type_ = target(decoder, instruction.operands[0])
    read, write, size = layout.reader(type_), layout.writer(type_), type_.stored
    from_ = decoder.slot_list(operands)
    to = decoder.result(instruction) if instruction.result_id else None

    def step(r: Registers) -> None:
        region, offset = memory.place(r[ITEM].regions, r[pointer], size)
        old = read(region.view, offset)
        if change is not None:
            if not region.writable:
                raise memory.protected(region)
            write(region.view, offset, change(old, *[r[slot] for slot in from_]))
        if to is not None:
            r[to] = old

    return step


@handles(Op.AtomicLoad)
def load(decoder: Decoder, instruction: Instruction) -> Step:
    return _changed(decoder, instruction, None, ())


@handles(Op.AtomicStore, Op.AtomicExchange)
def exchange(decoder: Decoder, instruction: Instruction) -> Step:
    return _changed(decoder, instruction, lambda old, new: new, instruction.operands[3:])


# By opcode: the change of an integer, by width.
_INTEGERS: dict[int, Callable[[int, int], Change]] = {
    Op.AtomicIIncrement: lambda width, mask: lambda old: (old + 1) & mask,
    Op.AtomicIDecrement: lambda width, mask: lambda old: (old - 1) & mask,
    Op.AtomicIAdd: lambda width, mask: lambda old, new: (old + new) & mask,
    Op.AtomicISub: lambda width, mask: lambda old, new: (old - new) & mask,
    Op.AtomicSMin: lambda width, mask: lambda old, new: min(old, new, key=lambda value: signed(value, width)),
    Op.AtomicSMax: lambda width, mask: lambda old, new: max(old, new, key=lambda value: signed(value, width)),
    Op.AtomicUMin: lambda width, mask: min,
    Op.AtomicUMax: lambda width, mask: max,
    Op.AtomicAnd: lambda width, mask: lambda old, new: old & new,
    Op.AtomicOr: lambda width, mask: lambda old, new: old | new,
    Op.AtomicXor: lambda width, mask: lambda old, new: old ^ new,
}


@handles(*_INTEGERS)
def integers(decoder: Decoder, instruction: Instruction) -> Step:
    type_ = target(decoder, instruction.operands[0])
    assert isinstance(type_, Int)
    change = _INTEGERS[instruction.opcode](type_.width, (1 << type_.width) - 1)
    return _changed(decoder, instruction, change, instruction.operands[3:])


@handles(Op.AtomicFAddEXT, Op.AtomicFMinEXT, Op.AtomicFMaxEXT)
def floats(decoder: Decoder, instruction: Instruction) -> Step:
    type_ = target(decoder, instruction.operands[0])
    assert isinstance(type_, Float)
    fit = ROUND[type_.width]
    changes: dict[int, Change] = {
        Op.AtomicFAddEXT: lambda old, new: fit(old + new),
        Op.AtomicFMinEXT: fmin,
        Op.AtomicFMaxEXT: fmax,
    }
    return _changed(decoder, instruction, changes[instruction.opcode], instruction.operands[3:])


@handles(Op.AtomicCompareExchange, Op.AtomicCompareExchangeWeak)
def compare_exchange(decoder: Decoder, instruction: Instruction) -> Step:
    type_ = target(decoder, instruction.operands[0])

    def change(old: Any, new: Any, expected: Any) -> Any:
        return new if _bits(type_, old) == _bits(type_, expected) else old

    return _changed(decoder, instruction, change, instruction.operands[4:])


def _bits(type_: Type, value: Any) -> Any:
    """The bit pattern for comparison: a NaN equals itself, and zeros of different signs differ."""
    return bits_of(value, type_.width) if isinstance(type_, Float) else value


@handles(Op.AtomicFlagTestAndSet)
def flag_set(decoder: Decoder, instruction: Instruction) -> Step:
    test, to = _changed(decoder, instruction, lambda old: 1, ()), decoder.result(instruction)

    def step(r: Registers) -> None:
        test(r)
        r[to] = r[to] != 0

    return step


@handles(Op.AtomicFlagClear)
def flag_clear(decoder: Decoder, instruction: Instruction) -> Step:
    return _changed(decoder, instruction, lambda old: 0, ())


@handles(Op.ControlBarrier, Op.ControlBarrierWaitINTEL)
def barrier(decoder: Decoder, instruction: Instruction) -> Pause:
    scope = decoder.constant(instruction.operands[0])
    return meet(decoder, instruction, scope, lambda r: None, no_answer, uniform=True)


@handles(Op.ControlBarrierArriveINTEL, Op.MemoryBarrier)
def fence(decoder: Decoder, instruction: Instruction) -> Step:
    """No operation: a wait is a full barrier, and memory is sequentially consistent."""
    return nothing
