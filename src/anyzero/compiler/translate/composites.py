"""Vectors, arrays and structures as values: mostly rearranged trees without code."""

from __future__ import annotations

from anyzero.compiler.builder import Builder
from anyzero.compiler.ir import Op
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.tables import Op as Opcode
from anyzero.compiler.spirv.types import Vector
from anyzero.compiler.translate.chapter import translates
from anyzero.compiler.translate.scope import Scope
from anyzero.compiler.translate.trees import Tree, scalar


def chosen(b: Builder, values: tuple[Op, ...], index: Op) -> Op:
    """Selects a value by index; any of them if the index is out of range."""
    if index.name == "const":
        number: int = index.info
        return values[min(number, len(values) - 1)]
    found = values[0]
    for number, value in enumerate(values[1:], 1):
        found = b.select(b.icmp("eq", index, b.const(index.type, number)), value, found)
    return found


@translates(Opcode.VectorExtractDynamic)
def extract_dynamic(f: Scope, i: Instruction) -> Tree:
    vector, index = i.operands
    return chosen(f.b, f.components(vector), f.scalar(index))


@translates(Opcode.VectorInsertDynamic)
def insert_dynamic(f: Scope, i: Instruction) -> Tree:
    b, (vector, component, at) = f.b, i.operands
    index, new = f.scalar(at), f.scalar(component)
    return tuple(
        b.select(b.icmp("eq", index, b.const(index.type, number)), new, old)
        for number, old in enumerate(f.components(vector))
    )


@translates(Opcode.VectorShuffle)
def shuffle(f: Scope, i: Instruction) -> Tree:
    first, second, *picks = i.operands
    both = f.components(first) + f.components(second)
    type_ = f.types[i.result_id]
    assert isinstance(type_, Vector)
    anything = f.translator.undef(scalar(type_.element))
    return tuple(both[pick] if pick < len(both) else anything for pick in picks)


@translates(Opcode.CompositeConstruct)
def construct(f: Scope, i: Instruction) -> Tree:
    if isinstance(f.types[i.result_id], Vector):
        return tuple(component for id_ in i.operands for component in f.components(id_))
    return tuple(f.value(id_) for id_ in i.operands)


@translates(Opcode.CompositeExtract)
def extract(f: Scope, i: Instruction) -> Tree:
    found = f.value(i.operands[0])
    for index in i.operands[1:]:
        assert not isinstance(found, Op)
        found = found[index]
    return found


@translates(Opcode.CompositeInsert)
def insert(f: Scope, i: Instruction) -> Tree:
    part, whole, *path = i.operands
    return _inserted(f.value(whole), path, f.value(part))


def _inserted(whole: Tree, path: list[int], part: Tree) -> Tree:
    levels = []
    for index in path:
        assert not isinstance(whole, Op)
        levels.append(whole)
        whole = whole[index]
    for level, index in zip(reversed(levels), reversed(path), strict=True):
        part = (*level[:index], part, *level[index + 1 :])
    return part


@translates(Opcode.CopyObject, Opcode.FreezeKHR, Opcode.ArithmeticFenceEXT, Opcode.ExpectKHR, Opcode.CopyLogical)
def same(f: Scope, i: Instruction) -> Tree:
    return f.value(i.operands[0])


@translates(Opcode.Undef, Opcode.PoisonKHR)
def undefined(f: Scope, i: Instruction) -> Tree:
    return f.undefined(f.types[i.result_id])
