"""Atomic operations, barriers and fences."""

from __future__ import annotations

from anyzero.compiler.ir import Atomic
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.tables import MemorySemantics
from anyzero.compiler.spirv.tables import Op as Opcode
from anyzero.compiler.spirv.tables import Scope as Range
from anyzero.compiler.translate.chapter import translates
from anyzero.compiler.translate.scope import Scope
from anyzero.compiler.translate.trees import Tree, scalar

SCOPES = {
    Range.CrossDevice: "system",
    Range.Device: "device",
    Range.Workgroup: "group",
    Range.Subgroup: "sub_group",
    Range.Invocation: "item",
}
_KINDS = {
    Opcode.AtomicExchange: "exchange",
    Opcode.AtomicIAdd: "add",
    Opcode.AtomicISub: "sub",
    Opcode.AtomicSMin: "smin",
    Opcode.AtomicUMin: "umin",
    Opcode.AtomicSMax: "smax",
    Opcode.AtomicUMax: "umax",
    Opcode.AtomicAnd: "and",
    Opcode.AtomicOr: "or",
    Opcode.AtomicXor: "xor",
    Opcode.AtomicFAddEXT: "fadd",
    Opcode.AtomicFMinEXT: "fmin",
    Opcode.AtomicFMaxEXT: "fmax",
}
_STEPS = {Opcode.AtomicIIncrement: "add", Opcode.AtomicIDecrement: "sub"}
_ORDERED = (
    MemorySemantics.Acquire
    | MemorySemantics.Release
    | MemorySemantics.AcquireRelease
    | MemorySemantics.SequentiallyConsistent
)


def _atomic(f: Scope, i: Instruction, kind: str) -> Atomic:
    pointer, scope, semantics = i.operands[:3]
    order = f.integer(semantics)
    volatile, relaxed = bool(order & MemorySemantics.Volatile), not order & _ORDERED
    return Atomic(kind, SCOPES[f.integer(scope)], f.space(pointer), volatile, relaxed)


@translates(*_KINDS)
def read_modify_write(f: Scope, i: Instruction) -> Tree:
    atomic = _atomic(f, i, _KINDS[i.opcode])
    return f.b.atomic(scalar(f.types[i.result_id]), atomic, f.scalar(i.operands[0]), f.scalar(i.operands[3]))


@translates(*_STEPS)
def step(f: Scope, i: Instruction) -> Tree:
    type_ = scalar(f.types[i.result_id])
    return f.b.atomic(type_, _atomic(f, i, _STEPS[i.opcode]), f.scalar(i.operands[0]), f.b.const(type_, 1))


@translates(Opcode.AtomicLoad)
def load(f: Scope, i: Instruction) -> Tree:
    return f.b.atomic(scalar(f.types[i.result_id]), _atomic(f, i, "load"), f.scalar(i.operands[0]))


@translates(Opcode.AtomicStore)
def store(f: Scope, i: Instruction) -> None:
    f.b.atomic("", _atomic(f, i, "store"), f.scalar(i.operands[0]), f.scalar(i.operands[3]))


@translates(Opcode.AtomicCompareExchange, Opcode.AtomicCompareExchangeWeak)
def compare_exchange(f: Scope, i: Instruction) -> Tree:
    pointer, *_, value, comparator = i.operands
    atomic = _atomic(f, i, "compare_exchange")
    return f.b.atomic(scalar(f.types[i.result_id]), atomic, f.scalar(pointer), f.scalar(value), f.scalar(comparator))


@translates(Opcode.AtomicFlagTestAndSet)
def set_flag(f: Scope, i: Instruction) -> Tree:
    type_ = scalar(f.pointer(i.operands[0]).pointee)
    before = f.b.atomic(type_, _atomic(f, i, "exchange"), f.scalar(i.operands[0]), f.b.const(type_, 1))
    return f.b.icmp("ne", before, f.b.const(type_, 0))


@translates(Opcode.AtomicFlagClear)
def clear_flag(f: Scope, i: Instruction) -> None:
    type_ = scalar(f.pointer(i.operands[0]).pointee)
    f.b.atomic("", _atomic(f, i, "store"), f.scalar(i.operands[0]), f.b.const(type_, 0))


@translates(Opcode.ControlBarrier, Opcode.ControlBarrierWaitINTEL)
def barrier(f: Scope, i: Instruction) -> None:
    execution, memory, semantics = i.operands
    _fence(f, memory, semantics, (Range.CrossDevice, Range.Device))
    scope = f.integer(execution)
    if scope != Range.Invocation:
        made = f.b.emit("barrier", "", [], "sub_group" if scope == Range.Subgroup else "group")
        made.flags = _ordered_memories(f.integer(semantics))


@translates(Opcode.ControlBarrierArriveINTEL)
def arrive(f: Scope, i: Instruction) -> None:
    """No operation: the matching wait is a full barrier."""


@translates(Opcode.MemoryBarrier)
def memory_barrier(f: Scope, i: Instruction) -> None:
    memory, semantics = i.operands
    _fence(f, memory, semantics, (Range.CrossDevice, Range.Device, Range.Workgroup, Range.Subgroup))


def _ordered_memories(semantics: int) -> str:
    if not semantics & _ORDERED:
        return ""
    local, global_ = MemorySemantics.WorkgroupMemory, MemorySemantics.CrossWorkgroupMemory
    return " ".join(name for name, bit in (("local", local), ("global", global_)) if semantics & bit)


def _fence(f: Scope, memory: int, semantics: int, ranges: tuple[int, ...]) -> None:
    scope = f.integer(memory)
    if scope in ranges and f.integer(semantics) & _ORDERED:
        f.b.emit("fence", "", [], SCOPES[scope])
