"""Builtin variables: the position of a work-item in the grid.

Their addresses are ordinary values. A load at a constant offset or a single index uses the numbers directly; any other
access uses a copy in private memory, which is created on demand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyzero.compiler.ir import SIZES, Access, Op
from anyzero.compiler.spirv.module import Variable
from anyzero.compiler.spirv.tables import BuiltIn
from anyzero.compiler.spirv.types import Type
from anyzero.compiler.translate.trees import Tree, bounded, build, pieces, scalar

if TYPE_CHECKING:
    from anyzero.compiler.translate.scope import Scope
    from anyzero.compiler.translate.translator import Translator

_NAMES = {
    BuiltIn.NumWorkgroups: "group_count",
    BuiltIn.WorkgroupSize: "group_size",
    BuiltIn.EnqueuedWorkgroupSize: "group_size",
    BuiltIn.WorkgroupId: "group_id",
    BuiltIn.LocalInvocationId: "local_id",
    BuiltIn.GlobalInvocationId: "global_id",
    BuiltIn.GlobalSize: "global_size",
    BuiltIn.GlobalOffset: "global_offset",
    BuiltIn.WorkDim: "work_dim",
    BuiltIn.SubgroupSize: "sub_group_size",
    BuiltIn.SubgroupMaxSize: "sub_group_max_size",
    BuiltIn.NumSubgroups: "sub_group_count",
    BuiltIn.NumEnqueuedSubgroups: "sub_group_count",
    BuiltIn.SubgroupId: "sub_group_id",
    BuiltIn.SubgroupLocalInvocationId: "sub_group_local_id",
}


def read(f: Scope, pointer: Op, type_: Type) -> Tree | None:
    """The result of a load from a builtin variable; None if it needs the copy in memory."""
    constant, indices = 0, []
    while pointer.name == "offset":
        by = pointer.args[1]
        if by.name == "const":
            constant += by.info
        else:
            indices.append(by)
        pointer = pointer.args[0]
    variable = f.translator.inputs.get(pointer)
    if variable is None or len(indices) > 1:
        return None
    values = numbers(f.translator, variable)
    if indices:
        return _indexed(f, values, constant, indices[0], type_)
    return _at(f, values, constant, type_)


def _at(f: Scope, values: list[Op], offset: int, type_: Type) -> Tree | None:
    bounded(type_)
    size, found = SIZES[values[0].type], []
    for piece in pieces(type_):
        if piece.odd:
            return None
        width = SIZES[piece.scalar]
        for index in range(piece.components):
            component, inside = divmod(offset + piece.offset + index * width, size)
            if component >= len(values) or inside + width > size or piece.scalar[0] != "i" or piece.truth:
                return None
            value = values[component]
            found.append(f.b.resized(f.b.lshr(value, f.b.const(value.type, inside * 8)), piece.scalar))
    rest = iter(found)
    return build(type_, lambda _: next(rest))


def _indexed(f: Scope, values: list[Op], constant: int, index: Op, type_: Type) -> Tree | None:
    """One component, selected by a value."""
    b, size = f.b, SIZES[values[0].type]
    if constant or type_.count != 1 or scalar(type_) != values[0].type:
        return None
    chosen = values[0]
    for number, value in enumerate(values[1:], 1):
        chosen = b.select(b.icmp("eq", index, b.const("i64", number * size)), value, chosen)
    return chosen


def numbers(translator: Translator, variable: Variable) -> list[Op]:
    """The components of a builtin variable, in its declared width."""
    pointee, builtin = variable.type.pointee, variable.builtin
    assert pointee.scalar is not None
    to, b = scalar(pointee.scalar), translator.b
    with translator.beginning():
        if builtin in _NAMES:
            found = [_component(translator, _NAMES[builtin], dimension) for dimension in range(pointee.count)]
        elif builtin == BuiltIn.LocalInvocationIndex:
            found = [_linear(translator, "local_id", "group_size")]
        elif builtin == BuiltIn.GlobalLinearId:
            found = [_linear(translator, "global_id", "global_size", "global_offset")]
        else:
            mask = _sub_group_mask(translator, builtin)
            words = mask, b.lshr(mask, b.const("i64", 32))
            found = [*(b.cast("trunc", word, "i32") for word in words), b.const("i32", 0), b.const("i32", 0)]
        return [b.resized(value, to) for value in found]


def _component(translator: Translator, name: str, dimension: int) -> Op:
    kernel = translator.kernel
    if kernel is not None and name == "group_size" and kernel.required_group_size is not None:
        return translator.b.const("i64", kernel.required_group_size[dimension])
    if kernel is not None and name == "global_offset" and not kernel.global_offset:
        return translator.b.const("i64", 0)
    return translator.builtin(name, dimension)


def _linear(translator: Translator, place: str, size: str, begin: str = "") -> Op:
    """The linear index over all dimensions, x fastest."""
    b = translator.b
    total: Op | None = None
    for dimension in (2, 1, 0):
        at = _component(translator, place, dimension)
        if begin:
            at = b.sub(at, _component(translator, begin, dimension))
        total = at if total is None else b.add(b.mul(total, _component(translator, size, dimension)), at)
    assert total is not None
    return total


def _sub_group_mask(translator: Translator, builtin: int | None) -> Op:
    """A mask of the lanes before or after this one; sub-groups have at most 64 lanes."""
    b, lane = translator.b, translator.builtin("sub_group_local_id")
    one, all_ = b.const("i64", 1), b.const("i64", -1)
    own = b.shl(one, lane)
    below = b.sub(own, one)
    room = b.lshr(all_, b.sub(b.const("i64", 64), translator.builtin("sub_group_max_size")))
    match builtin:
        case BuiltIn.SubgroupEqMask:
            return own
        case BuiltIn.SubgroupLtMask:
            return below
        case BuiltIn.SubgroupLeMask:
            return b.or_(below, own)
        case BuiltIn.SubgroupGeMask:
            return b.and_(room, b.not_(below))
    return b.and_(room, b.not_(b.or_(below, own)))


def spill(translator: Translator, address: Op) -> None:
    """Stores a builtin variable to its private memory."""
    b = translator.b
    with translator.beginning():
        for index, value in enumerate(numbers(translator, translator.inputs[address])):
            size = SIZES[value.type]
            b.store(b.offset(address, index * size), [value], Access(alignment=size, space="private"))
