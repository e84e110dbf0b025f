"""Values between memory and their trees: an access for each vector or scalar of the value."""

from __future__ import annotations

from dataclasses import replace

from anyzero.compiler.ir import Access, Op
from anyzero.compiler.spirv.types import Type
from anyzero.compiler.translate.scope import Scope
from anyzero.compiler.translate.trees import Tree, bounded, build, leaves, pieces


def load(f: Scope, pointer: Op, type_: Type, access: Access) -> Tree:
    b = f.b
    bounded(type_)
    values: list[Op] = []
    for piece in pieces(type_):
        how = replace(access, count=piece.components, alignment=_alignment(access.alignment, piece.offset))
        components = b.load(b.offset(pointer, piece.offset), piece.scalar, how)
        if piece.truth:
            components = [b.icmp("ne", each, b.const("i8", 0)) for each in components]
        values += components
    rest = iter(values)
    return build(type_, lambda _: next(rest))


def store(f: Scope, pointer: Op, value: Tree, type_: Type, access: Access) -> None:
    b = f.b
    bounded(type_)
    values = leaves(value)
    at = 0
    for piece in pieces(type_):
        components = values[at : at + piece.components]
        at += piece.components
        if piece.truth:
            components = [b.cast("zext", each, "i8") for each in components]
        how = replace(access, alignment=_alignment(access.alignment, piece.offset))
        b.store(b.offset(pointer, piece.offset), components, how)


def _alignment(alignment: int, offset: int) -> int:
    """What is left of it so many bytes further on."""
    return min(alignment, offset & -offset) if offset else alignment
