"""Loads and stores of trees: one access per vector or scalar of the value."""

from __future__ import annotations

from anyzero.compiler.ir import WIDTHS, Access, Op
from anyzero.compiler.spirv.types import Type
from anyzero.compiler.translate.packed import chunks, pack, unpack
from anyzero.compiler.translate.scope import Scope
from anyzero.compiler.translate.trees import Piece, Tree, bounded, build, leaves, pieces
from anyzero.lazy_dataclass import replace


def load(f: Scope, pointer: Op, type_: Type, access: Access) -> Tree:
    b = f.b
    bounded(type_)
    values: list[Op] = []
    for piece in pieces(type_):
        if piece.odd:
            values += _load_packed(f, pointer, piece, access)
            continue
        how = _part(access, piece.components, piece.offset)
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
        if piece.odd:
            _store_packed(f, pointer, piece, components, access)
            continue
        if piece.truth:
            components = [b.cast("zext", each, "i8") for each in components]
        b.store(b.offset(pointer, piece.offset), components, _part(access, piece.components, piece.offset))


def _load_packed(f: Scope, pointer: Op, piece: Piece, access: Access) -> list[Op]:
    b, found = f.b, []
    width = WIDTHS[piece.scalar]
    for chunk in chunks(width * piece.components):
        at = piece.offset + chunk.offset
        found += b.load(b.offset(pointer, at), chunk.type, _part(access, 1, at))
    return unpack(b, found, width, piece.components)


def _store_packed(f: Scope, pointer: Op, piece: Piece, components: list[Op], access: Access) -> None:
    b = f.b
    places = chunks(WIDTHS[piece.scalar] * piece.components)
    for chunk, value in zip(places, pack(b, components), strict=True):
        at = piece.offset + chunk.offset
        b.store(b.offset(pointer, at), [value], _part(access, 1, at))


def _part(access: Access, count: int, offset: int) -> Access:
    """The access to some components at an offset."""
    alignment = min(access.alignment, offset & -offset) if offset else access.alignment
    if count == access.count and alignment == access.alignment:
        return access  # as most are: those of single scalars
    return replace(access, count=count, alignment=alignment)
