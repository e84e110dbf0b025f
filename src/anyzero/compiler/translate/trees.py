"""SPIR-V's values as trees: a scalar is an operation, a vector, array or structure the tuple of its parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from anyzero.compiler.errors import CompileError
from anyzero.compiler.ir import Op
from anyzero.compiler.spirv.types import (
    Array,
    Bool,
    Event,
    Float,
    Int,
    Opaque,
    Pointer,
    SampledImage,
    Struct,
    Type,
    Vector,
)

Tree: TypeAlias = "Op | tuple[Tree, ...]"

LEAVES = 4096
"""How many scalars one value may have; a larger one belongs in memory."""

_FLOATS = {16: "half", 32: "float", 64: "double"}


def scalar(type_: Type) -> str:
    """LLVM's name of a type whose values are single operations."""
    if isinstance(type_, Int):
        return f"i{type_.width}"
    if isinstance(type_, Float):
        return _FLOATS[type_.width]
    if isinstance(type_, Pointer):
        return "ptr"
    if isinstance(type_, Bool):
        return "i1"
    if isinstance(type_, Event):
        return "i64"
    if isinstance(type_, Opaque) and not isinstance(type_, SampledImage):
        return "ptr"
    raise CompileError(f"a value of type {type_} cannot be kept")


def parts(type_: Type) -> tuple[Type, ...] | None:
    """What a value of this type is made of; None where it is a scalar."""
    if isinstance(type_, Struct):
        return type_.members
    if isinstance(type_, (Vector, Array)):
        return (type_.element,) * type_.length
    return None


def count(type_: Type) -> int:
    """How many scalars a value has."""
    if isinstance(type_, Struct):
        return sum(count(member) for member in type_.members)
    if isinstance(type_, (Vector, Array)):
        return type_.length * count(type_.element)
    return 1


def bounded(type_: Type) -> None:
    scalars = count(type_)
    if scalars > LEAVES:
        raise CompileError(f"a value of type {type_} has {scalars} components; {LEAVES} are possible")


def scalars(type_: Type) -> tuple[str, ...]:
    """The names of all scalars of a value, in order."""
    if isinstance(type_, Struct):
        bounded(type_)
        return tuple(name for member in type_.members for name in scalars(member))
    if isinstance(type_, (Vector, Array)):
        bounded(type_)
        return scalars(type_.element) * type_.length
    return (scalar(type_),)


def build(type_: Type, make: Callable[[str], Op]) -> Tree:
    """A value of some type from its scalars, made in order; the type must be bounded."""
    if isinstance(type_, Struct):
        return tuple(build(member, make) for member in type_.members)
    if isinstance(type_, (Vector, Array)):
        return tuple(build(type_.element, make) for _ in range(type_.length))
    return make(scalar(type_))


def leaves(tree: Tree) -> list[Op]:
    if isinstance(tree, Op):
        return [tree]
    found: list[Op] = []
    for part in tree:
        if isinstance(part, Op):
            found.append(part)
        else:
            found += leaves(part)
    return found


def each(make: Callable[..., Op], *trees: Tree) -> Tree:
    """The same operation on every scalar of trees that are shaped alike."""
    first = trees[0]
    if isinstance(first, Op):
        return make(*trees)
    return tuple(each(make, *together) for together in zip(*trees, strict=True))


class Piece(NamedTuple):
    """Neighbouring components that one access to memory moves."""

    scalar: str
    """As it lies in memory: truth values are bytes there."""
    components: int
    offset: int
    truth: bool
    odd: bool = False
    """Are they integers of an odd width, which lie bit behind bit?"""


def pieces(type_: Type, offset: int = 0) -> Iterator[Piece]:
    """The accesses that move a value; the type must be bounded."""
    if isinstance(type_, Struct):
        for member, place in zip(type_.members, type_.offsets, strict=True):
            yield from pieces(member, offset + place)
    elif isinstance(type_, Array):
        for index in range(type_.length):
            yield from pieces(type_.element, offset + index * type_.element.size)
    else:
        element = type_.element if isinstance(type_, Vector) else type_
        truth = isinstance(element, Bool)
        yield Piece("i8" if truth else scalar(element), type_.count, offset, truth, element.odd)
