"""Atomic operations, barriers and fences."""

from __future__ import annotations

from anyzero.compiler.spirv.errors import SpirvError
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.rules.check import Check, rule, wrong, wrong_result
from anyzero.compiler.spirv.tables import Op, StorageClass
from anyzero.compiler.spirv.types import Bool, Float, Int, Pointer, Type

SHARED = (
    StorageClass.Workgroup,
    StorageClass.CrossWorkgroup,
    StorageClass.Generic,
    StorageClass.Function,
    StorageClass.DeviceOnlyINTEL,
    StorageClass.HostOnlyINTEL,
)


def _target(check: Check, id_: int, wanted: Type) -> None:
    pointer = check.pointer(id_)
    if pointer.pointee is not wanted:
        raise wrong(id_, pointer, f"a pointer to {wanted}")
    if pointer.storage_class not in SHARED:
        raise SpirvError(f"%{id_} points to {pointer.space} memory, which has no atomics")


def _kind(check: Check, instruction: Instruction, *kinds: type[Type]) -> Type:
    type_ = check.types[instruction.type_id]
    if not isinstance(type_, kinds):
        raise wrong_result(instruction, type_)
    return type_


@rule(Op.AtomicLoad)
def load(check: Check, instruction: Instruction) -> None:
    pointer, scope, semantics = instruction.operands
    _target(check, pointer, _kind(check, instruction, Int, Float, Pointer))
    check.scope(scope)
    check.semantics(semantics)


@rule(Op.AtomicStore)
def store(check: Check, instruction: Instruction) -> None:
    pointer, scope, semantics, value = instruction.operands
    if not isinstance(check.values[value], (Int, Float, Pointer)):
        raise wrong(value, check.values[value], "a number")
    _target(check, pointer, check.values[value])
    check.scope(scope)
    check.semantics(semantics)


@rule(Op.AtomicExchange)
def exchange(check: Check, instruction: Instruction) -> None:
    _read_modify_write(check, instruction, Int, Float, Pointer)


@rule(Op.AtomicIAdd, Op.AtomicISub, Op.AtomicSMin, Op.AtomicUMin, Op.AtomicSMax, Op.AtomicUMax)
@rule(Op.AtomicAnd, Op.AtomicOr, Op.AtomicXor)
def integers(check: Check, instruction: Instruction) -> None:
    _read_modify_write(check, instruction, Int)


@rule(Op.AtomicFAddEXT, Op.AtomicFMinEXT, Op.AtomicFMaxEXT)
def floats(check: Check, instruction: Instruction) -> None:
    _read_modify_write(check, instruction, Float)


def _read_modify_write(check: Check, instruction: Instruction, *kinds: type[Type]) -> None:
    type_ = _kind(check, instruction, *kinds)
    pointer, scope, semantics, value = instruction.operands
    _target(check, pointer, type_)
    check.scope(scope)
    check.semantics(semantics)
    check.is_(value, type_)


@rule(Op.AtomicIIncrement, Op.AtomicIDecrement)
def step(check: Check, instruction: Instruction) -> None:
    pointer, scope, semantics = instruction.operands
    _target(check, pointer, _kind(check, instruction, Int))
    check.scope(scope)
    check.semantics(semantics)


@rule(Op.AtomicCompareExchange, Op.AtomicCompareExchangeWeak)
def compare_exchange(check: Check, instruction: Instruction) -> None:
    type_ = _kind(check, instruction, Int, Float)
    pointer, scope, equal, unequal, value, comparator = instruction.operands
    _target(check, pointer, type_)
    check.scope(scope)
    check.semantics(equal)
    check.semantics(unequal)
    check.is_(value, type_)
    check.is_(comparator, type_)


@rule(Op.AtomicFlagTestAndSet, Op.AtomicFlagClear)
def flag(check: Check, instruction: Instruction) -> None:
    pointer, scope, semantics = instruction.operands
    if instruction.opcode == Op.AtomicFlagTestAndSet:
        _kind(check, instruction, Bool)
    if not isinstance(check.pointer(pointer).pointee, Int):
        raise wrong(pointer, check.values[pointer], "a pointer to an integer")
    _target(check, pointer, check.pointer(pointer).pointee)
    check.scope(scope)
    check.semantics(semantics)


@rule(Op.ControlBarrier, Op.ControlBarrierArriveINTEL, Op.ControlBarrierWaitINTEL)
def control_barrier(check: Check, instruction: Instruction) -> None:
    execution, memory, semantics = instruction.operands
    check.group(execution)
    check.scope(memory)
    check.semantics(semantics)


@rule(Op.MemoryBarrier)
def memory_barrier(check: Check, instruction: Instruction) -> None:
    memory, semantics = instruction.operands
    check.scope(memory)
    check.semantics(semantics)
