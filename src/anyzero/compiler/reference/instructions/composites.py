"""Vectors, arrays and structures as values."""

from __future__ import annotations

from typing import Any

from anyzero.compiler.reference import layout
from anyzero.compiler.reference.decoder import Decoder, Registers, Step, handles
from anyzero.compiler.reference.errors import OutOfBounds
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.tables import Op
from anyzero.compiler.spirv.types import Vector


def _component(vector: tuple[Any, ...], index: int) -> int:
    if index >= len(vector):
        raise OutOfBounds(f"names component {index} of a vector of {len(vector)}", "vector", index)
    return index


@handles(Op.VectorExtractDynamic)
def extract_dynamic(decoder: Decoder, instruction: Instruction) -> Step:
    to, (vector, index) = decoder.result(instruction), decoder.slot_list(instruction.operands)

    def step(r: Registers) -> None:
        r[to] = r[vector][_component(r[vector], r[index])]

    return step


@handles(Op.VectorInsertDynamic)
def insert_dynamic(decoder: Decoder, instruction: Instruction) -> Step:
    to, (vector, component, index) = decoder.result(instruction), decoder.slot_list(instruction.operands)

    def step(r: Registers) -> None:
        parts, at = r[vector], _component(r[vector], r[index])
        r[to] = (*parts[:at], r[component], *parts[at + 1 :])

    return step


@handles(Op.VectorShuffle)
def shuffle(decoder: Decoder, instruction: Instruction) -> Step:
    to, (first, second) = decoder.result(instruction), decoder.slot_list(instruction.operands[:2])
    picks = instruction.operands[2:]
    nothing = layout.zero(decoder.type(instruction))[0]

    def step(r: Registers) -> None:
        both = r[first] + r[second]
        r[to] = tuple([both[pick] if pick < len(both) else nothing for pick in picks])

    return step


@handles(Op.CompositeConstruct)
def construct(decoder: Decoder, instruction: Instruction) -> Step:
    to, parts = decoder.result(instruction), decoder.slot_list(instruction.operands)
    # A vector may be constructed from shorter ones.
    joins = [isinstance(decoder.type_of(id_), Vector) for id_ in instruction.operands]
    if not isinstance(decoder.type(instruction), Vector) or not any(joins):

        def listed(r: Registers) -> None:
            r[to] = tuple([r[part] for part in parts])

        return listed

    def joined(r: Registers) -> None:
        found: list[Any] = []
        for part, is_vector in zip(parts, joins, strict=True):
            found += r[part] if is_vector else (r[part],)
        r[to] = tuple(found)

    return joined


@handles(Op.CompositeExtract)
def extract(decoder: Decoder, instruction: Instruction) -> Step:
    to, whole, path = decoder.result(instruction), decoder.slot(instruction.operands[0]), instruction.operands[1:]
    if len(path) == 1:
        (only,) = path

        def one(r: Registers) -> None:
            r[to] = r[whole][only]

        return one

    def step(r: Registers) -> None:
        value = r[whole]
        for index in path:
            value = value[index]
        r[to] = value

    return step


@handles(Op.CompositeInsert)
def insert(decoder: Decoder, instruction: Instruction) -> Step:
    to, (part, whole) = decoder.result(instruction), decoder.slot_list(instruction.operands[:2])
    path = instruction.operands[2:]

    def step(r: Registers) -> None:
        r[to] = _replaced(r[whole], path, r[part])

    return step


def _replaced(whole: Any, path: tuple[int, ...], part: Any) -> Any:
    if not path:
        return part
    at = path[0]
    return (*whole[:at], _replaced(whole[at], path[1:], part), *whole[at + 1 :])


@handles(Op.CopyObject, Op.FreezeKHR, Op.ArithmeticFenceEXT, Op.ExpectKHR, Op.CopyLogical)
def same(decoder: Decoder, instruction: Instruction) -> Step:
    to, from_ = decoder.result(instruction), decoder.slot(instruction.operands[0])

    def step(r: Registers) -> None:
        r[to] = r[from_]

    return step


@handles(Op.Undef, Op.PoisonKHR)
def undefined(decoder: Decoder, instruction: Instruction) -> Step:
    to, value = decoder.result(instruction), layout.zero(decoder.type(instruction))

    def step(r: Registers) -> None:
        r[to] = value

    return step
