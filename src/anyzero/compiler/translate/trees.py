"""SPIR-V values as trees: a scalar is an operation, a composite the tuple of its elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

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
from anyzero.lazy_namedtuple import NamedTuple

Tree: TypeAlias = "Op | tuple[Tree, ...]"

LEAVES = 4096
"""Maximum number of scalars in a value; larger ones live in memory."""

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
    """The element types of a composite; None for a scalar."""
    if isinstance(type_, Struct):
        return type_.members
    if isinstance(type_, (Vector, Array)):
        return (type_.element,) * type_.length
    return None


def count(type_: Type) -> int:
    """Number of scalars in a value."""
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
    """The types of all scalars of a value, in order."""
    if isinstance(type_, Struct):
        bounded(type_)
        return tuple(name for member in type_.members for name in scalars(member))
    if isinstance(type_, (Vector, Array)):
        bounded(type_)
        return scalars(type_.element) * type_.length
    return (scalar(type_),)


def build(type_: Type, make: Callable[[str], Op]) -> Tree:
    """A value from its scalars, created in order; the type must be bounded."""
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
    """Applies an operation to every scalar of trees with the same structure."""
    first = trees[0]
    if isinstance(first, Op):
        return make(*trees)
    return tuple(each(make, *together) for together in zip(*trees, strict=True))


class Piece(NamedTuple):
    """Adjacent components that one memory access moves."""

    scalar: str
    """The scalar type in memory: booleans are bytes there."""
    components: int
    offset: int
    truth: bool
    odd: bool = False
    """True for integers of an odd width, which are bit-packed."""


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
