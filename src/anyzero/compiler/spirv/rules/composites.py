"""Vectors, arrays and structures as values."""

from __future__ import annotations

from anyzero.compiler.spirv.errors import SpirvError
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.rules.check import Check, rule, wrong, wrong_result
from anyzero.compiler.spirv.tables import Op
from anyzero.compiler.spirv.types import Array, Struct, Type, Vector

NO_COMPONENT = 0xFFFFFFFF
"""In a shuffle: an undefined component."""


@rule(Op.VectorExtractDynamic)
def extract_dynamic(check: Check, instruction: Instruction) -> None:
    type_, (vector, index) = check.types[instruction.type_id], instruction.operands
    source = check.values[vector]
    if not isinstance(source, Vector) or source.element is not type_:
        raise wrong(vector, source, f"a vector of {type_}")
    check.integer(index)


@rule(Op.VectorInsertDynamic)
def insert_dynamic(check: Check, instruction: Instruction) -> None:
    type_, (vector, component, index) = check.types[instruction.type_id], instruction.operands
    if not isinstance(type_, Vector):
        raise wrong_result(instruction, type_)
    check.is_(vector, type_)
    check.is_(component, type_.element)
    check.integer(index)


@rule(Op.VectorShuffle)
def shuffle(check: Check, instruction: Instruction) -> None:
    type_, (first, second, *picks) = check.types[instruction.type_id], instruction.operands
    sources = check.values[first], check.values[second]
    if not isinstance(type_, Vector) or len(picks) != type_.length:
        raise SpirvError(f"{len(picks)} components do not make {type_}")
    for id_, source in zip((first, second), sources, strict=True):
        if not isinstance(source, Vector) or source.element is not type_.element:
            raise wrong(id_, source, f"a vector of {type_.element}")
    total = sources[0].count + sources[1].count
    for pick in picks:
        if pick >= total and pick != NO_COMPONENT:
            raise SpirvError(f"there is no component {pick} in {total}")


@rule(Op.CompositeConstruct)
def construct(check: Check, instruction: Instruction) -> None:
    type_, ids = check.types[instruction.type_id], instruction.operands
    if isinstance(type_, Vector):
        _joined(check, ids, type_)
        return
    if isinstance(type_, Struct):
        wanted: tuple[Type, ...] = type_.members
    elif isinstance(type_, Array) and type_.length == len(ids):
        wanted = (type_.element,) * type_.length
    else:
        raise wrong_result(instruction, type_)
    if len(wanted) != len(ids):
        raise SpirvError(f"{len(ids)} parts do not make {type_}")
    for id_, each in zip(ids, wanted, strict=True):
        check.is_(id_, each)


def _joined(check: Check, ids: tuple[int, ...], type_: Vector) -> None:
    """A vector may be constructed from scalars and shorter vectors."""
    parts = [check.values[id_] for id_ in ids]
    for id_, part in zip(ids, parts, strict=True):
        if part.scalar is not type_.element:
            raise wrong(id_, part, f"{type_.element}, or a vector of it")
    if sum(part.count for part in parts) != type_.length:
        raise SpirvError(f"{sum(part.count for part in parts)} components do not make {type_}")


def _reached(type_: Type, path: tuple[int, ...]) -> Type:
    for index in path:
        if isinstance(type_, Struct) and index < len(type_.members):
            type_ = type_.members[index]
        elif isinstance(type_, (Array, Vector)) and index < type_.length:
            type_ = type_.element
        else:
            raise SpirvError(f"{type_} has no part {index}")
    return type_


@rule(Op.CompositeExtract)
def extract(check: Check, instruction: Instruction) -> None:
    type_, id_ = check.types[instruction.type_id], instruction.operands[0]
    reached = _reached(check.values[id_], instruction.operands[1:])
    if reached is not type_:
        raise SpirvError(f"that part of %{id_} is {reached} instead of {type_}")


@rule(Op.CompositeInsert)
def insert(check: Check, instruction: Instruction) -> None:
    type_, (part, whole) = check.types[instruction.type_id], instruction.operands[:2]
    check.is_(whole, type_)
    check.is_(part, _reached(type_, instruction.operands[2:]))


@rule(Op.CopyObject, Op.FreezeKHR, Op.ArithmeticFenceEXT)
def same(check: Check, instruction: Instruction) -> None:
    type_ = check.types[instruction.type_id]
    if not type_.sized:
        raise wrong_result(instruction, type_)
    check.is_(instruction.operands[0], type_)


@rule(Op.CopyLogical)
def same_contents(check: Check, instruction: Instruction) -> None:
    type_, (id_,) = check.types[instruction.type_id], instruction.operands
    if not _alike(type_, check.values[id_], set()):
        raise wrong(id_, check.values[id_], f"something with the members of {type_}")


def _alike(one: Type, other: Type, known: set[tuple[int, int]]) -> bool:
    """True if the types differ only in memory layout. Each pair is compared once."""
    if (id(one), id(other)) in known:
        return True
    known.add((id(one), id(other)))
    if isinstance(one, Array) and isinstance(other, Array):
        return one.length == other.length and _alike(one.element, other.element, known)
    if isinstance(one, Struct) and isinstance(other, Struct):
        pairs = zip(one.members, other.members, strict=False)
        return len(one.members) == len(other.members) and all(_alike(*pair, known) for pair in pairs)
    return one is other and one.sized


@rule(Op.ExpectKHR)
def expect(check: Check, instruction: Instruction) -> None:
    for id_ in instruction.operands:
        check.is_(id_, check.types[instruction.type_id])


@rule(Op.Undef, Op.PoisonKHR)
def undefined(check: Check, instruction: Instruction) -> None:
    if not check.types[instruction.type_id].sized:
        raise wrong_result(instruction, check.types[instruction.type_id])
