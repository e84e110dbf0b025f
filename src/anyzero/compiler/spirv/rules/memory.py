"""Memory: variables, loads and stores, copies, access chains."""

from __future__ import annotations

from anyzero.compiler.spirv.constants import Scalar
from anyzero.compiler.spirv.errors import SpirvError
from anyzero.compiler.spirv.instruction import Instruction, memory_access
from anyzero.compiler.spirv.rules.check import Check, rule, wrong, wrong_result
from anyzero.compiler.spirv.tables import Op, StorageClass
from anyzero.compiler.spirv.types import Array, Int, Pointer, Struct, Type, Vector


@rule(Op.Variable)
def variable(check: Check, instruction: Instruction) -> None:
    type_, (storage_class, *initializer) = check.types[instruction.type_id], instruction.operands
    if storage_class != StorageClass.Function or not isinstance(type_, Pointer) or type_.storage_class != storage_class:
        raise SpirvError(f"a function has no variable of type {type_}")
    if check.block is not check.function.entry:
        raise SpirvError("is outside of the function's first block")
    if not type_.pointee.sized:
        raise wrong_result(instruction, type_)
    if initializer and check.module.values.get(initializer[0]) is not type_.pointee:
        raise SpirvError(f"its initializer %{initializer[0]} is not a constant of type {type_.pointee}")


def accesses(check: Check, instruction: Instruction, start: int, most: int = 1) -> None:
    """The memory operands at the end of an instruction."""
    place = start
    for _ in range(most):
        access, place = memory_access(instruction.operands, place)
        for scopes in (access.alias_scopes, access.no_alias):
            declaration = check.module.declarations.get(scopes) if scopes is not None else None
            if scopes is not None and (declaration is None or declaration.opcode != Op.AliasScopeListDeclINTEL):
                raise SpirvError(f"%{scopes} is no list of alias scopes")
    if place != len(instruction.operands):
        raise SpirvError(f"has {len(instruction.operands) - place} more words than its operands take")


@rule(Op.Load)
def load(check: Check, instruction: Instruction) -> None:
    operands = instruction.operands
    type_, pointer = check.types[instruction.type_id], check.values[operands[0]]
    if pointer.__class__ is not Pointer or pointer.pointee is not type_:
        raise wrong(operands[0], pointer, f"a pointer to {type_}")
    if not type_.sized:
        raise wrong_result(instruction, type_)
    if len(operands) > 1:
        accesses(check, instruction, 1)


@rule(Op.Store)
def store(check: Check, instruction: Instruction) -> None:
    pointer = check.pointer(instruction.operands[0])
    check.is_(instruction.operands[1], pointer.pointee)
    if pointer.storage_class in (StorageClass.UniformConstant, StorageClass.Input):
        raise SpirvError(f"%{instruction.operands[0]} points to {pointer.space} memory, which is read-only")
    accesses(check, instruction, 2)


@rule(Op.CopyMemory)
def copy(check: Check, instruction: Instruction) -> None:
    target, source = (check.pointer(id_) for id_ in instruction.operands[:2])
    if target.pointee is not source.pointee or not target.pointee.sized:
        raise wrong(instruction.operands[1], source, f"a pointer to {target.pointee}")
    accesses(check, instruction, 2, 2)


@rule(Op.CopyMemorySized)
def copy_sized(check: Check, instruction: Instruction) -> None:
    check.pointer(instruction.operands[0])
    check.pointer(instruction.operands[1])
    check.integer(instruction.operands[2])
    accesses(check, instruction, 3, 2)


def part(check: Check, type_: Type, index: int) -> Type:
    """The type of the element selected by an index, given as a value."""
    check.integer(index)
    if isinstance(type_, Struct):
        constant = check.module.constants.get(index)
        if not isinstance(constant, Scalar) or constant.bits >= len(type_.members):
            raise SpirvError(f"%{index} names no member of {type_}")
        return type_.members[constant.bits]
    if isinstance(type_, Vector) and not type_.stride:
        raise SpirvError(f"%{index} selects a component of {type_}, which is not byte-aligned")
    if isinstance(type_, (Array, Vector)):
        return type_.element
    raise SpirvError(f"%{index} selects an element of {type_}, which has none")


@rule(Op.AccessChain, Op.InBoundsAccessChain)
def access_chain(check: Check, instruction: Instruction) -> None:
    _chain(check, instruction, instruction.operands[1:])


@rule(Op.PtrAccessChain, Op.InBoundsPtrAccessChain)
def pointer_access_chain(check: Check, instruction: Instruction) -> None:
    check.integer(instruction.operands[1])
    _chain(check, instruction, instruction.operands[2:])


def _chain(check: Check, instruction: Instruction, indices: tuple[int, ...]) -> None:
    type_, base = check.types[instruction.type_id], check.pointer(instruction.operands[0])
    reached = base.pointee
    for index in indices:
        reached = part(check, reached, index)
    if not isinstance(type_, Pointer) or type_.pointee is not reached or type_.storage_class != base.storage_class:
        raise SpirvError(f"leads to {reached} in {base.space} memory, and its type is {type_}")
    if not reached.sized:
        raise SpirvError(f"counts in elements of {reached}, which has no size")


@rule(Op.PtrDiff)
def difference(check: Check, instruction: Instruction) -> None:
    type_, (first, second) = check.types[instruction.type_id], instruction.operands
    if not isinstance(type_, Int):
        raise wrong_result(instruction, type_)
    if not check.pointer(first).pointee.size:
        raise SpirvError(f"counts in elements of {check.pointer(first).pointee}, which has no size")
    check.is_(second, check.values[first])


@rule(Op.GenericPtrMemSemantics)
def semantics_of(check: Check, instruction: Instruction) -> None:
    if not isinstance(check.types[instruction.type_id], Int):
        raise wrong_result(instruction, check.types[instruction.type_id])
    if check.pointer(instruction.operands[0]).storage_class != StorageClass.Generic:
        raise wrong(instruction.operands[0], check.values[instruction.operands[0]], "a generic pointer")


@rule(Op.LifetimeStart, Op.LifetimeStop)
def lifetime(check: Check, instruction: Instruction) -> None:
    if check.pointer(instruction.operands[0]).storage_class != StorageClass.Function:
        raise wrong(instruction.operands[0], check.values[instruction.operands[0]], "a pointer to private memory")
