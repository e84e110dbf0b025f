"""Random indices that stay inside of their memory: by a mask, by what is known of ids, or behind a question."""

from __future__ import annotations

from typing import NamedTuple

from tests.compiler.agreement.expressions import value
from tests.compiler.agreement.function import Code
from tests.compiler.agreement.writer import WIDTH, Value


class Index(NamedTuple):
    value: Value
    """Of any integer type; access chains take it for signed."""
    guard: Value | None = None
    """What must hold for it to be inside."""


class Known(NamedTuple):
    """A place of the work-item, with the largest number that it can be."""

    value: Value
    most: int


def index(code: Code, count: int, depth: int, uniform: bool = False) -> Index:
    known = known_ids(code)
    if uniform or not known:
        return masked(code, count, depth, uniform)
    kinds = (masked, affine, affine, reversed_, narrow, guarded, moved_by_uniform)
    kind = code.draw.one_of(kinds)
    if kind is masked:
        return masked(code, count, depth, uniform)
    return kind(code, count, code.draw.one_of(known))


def known_ids(code: Code) -> list[Known]:
    shape = code.shape
    most = {
        "linear": shape.items - 1,
        "global_x": shape.offset[0] + shape.global_size[0] - 1,
        "local_x": shape.group_size[0] - 1,
        "local_linear": shape.group_items - 1,
        "global_y": shape.offset[1] + shape.global_size[1] - 1,
        "lane": shape.sub_group - 1,
    }
    return [Known(code.ids[name], largest) for name, largest in most.items() if name in code.ids]


def masked(code: Code, count: int, depth: int, uniform: bool = False) -> Index:
    type_ = code.draw.one_of(("i32", "i64", "i16", "i8"))
    most = min(count, 1 << (WIDTH[type_] - 1)) - 1
    return Index(code.op("BitwiseAnd", type_, value(code, type_, depth, uniform), code.const(type_, most)))


def _narrowed(code: Code, known: Known, type_: str) -> Value:
    return known.value if type_ == "i64" else code.op("UConvert", type_, known.value)


def _type_for(code: Code, most: int) -> str:
    """In which an index up to `most` is no negative number."""
    return code.draw.one_of([each for each in ("i64", "i32", "i16") if most < 1 << (WIDTH[each] - 1)])


def affine(code: Code, count: int, known: Known) -> Index:
    """id * c + d"""
    if known.most >= count:
        return guarded(code, count, known)
    times = code.draw.one_of([c for c in (1, 2, 3, 4, 5) if known.most * c < count])
    room = count - 1 - known.most * times
    plus = code.draw.one_of([d for d in (0, 1, 2, 3, 16, room) if d <= room])
    type_ = _type_for(code, count)
    found = _narrowed(code, known, type_)
    if times != 1:
        if times == 4 and code.draw.chance(50):
            found = code.op("ShiftLeftLogical", type_, found, code.const(type_, 2))
        else:
            found = code.op("IMul", type_, found, code.const(type_, times))
    if plus:
        opcode = "BitwiseOr" if times == 4 and plus < 4 else "IAdd"
        found = code.op(opcode, type_, found, code.const(type_, plus))
    return Index(found)


def reversed_(code: Code, count: int, known: Known) -> Index:
    if known.most >= count:
        return guarded(code, count, known)
    times = code.draw.one_of([c for c in (1, 2, 3) if known.most * c < count])
    start = code.draw.one_of((known.most * times, count - 1))
    type_ = _type_for(code, count)
    found = _narrowed(code, known, type_)
    if times != 1:
        found = code.op("IMul", type_, found, code.const(type_, times))
    return Index(code.op("ISub", type_, code.const(type_, start), found))


def narrow(code: Code, count: int, known: Known) -> Index:
    """8 or 16 bits that wrap around, between lanes too."""
    type_ = code.draw.one_of([each for each in ("i8", "i16") if 1 << WIDTH[each] <= count] or ["i8"])
    found = _narrowed(code, known, type_)
    found = code.op("IMul", type_, found, code.const(type_, code.draw.one_of((1, 3, 5, -1, 16, 37))))
    found = code.op("IAdd", type_, found, code.const(type_, code.draw.one_of((0, 120, 250, -7, 0x7FF0, 0x8000))))
    to = code.draw.one_of(("i64", "i32"))
    if 1 << WIDTH[type_] > count:
        most = code.const(type_, count // 2 - 1)
        return Index(code.op("UConvert", to, code.op("BitwiseAnd", type_, found, most)))
    if code.draw.chance(50):
        return Index(code.op("UConvert", to, found))
    middle = code.const(to, 1 << (WIDTH[type_] - 1))
    return Index(code.op("IAdd", to, code.op("SConvert", to, found), middle))


def guarded(code: Code, count: int, known: Known) -> Index:
    """Any 32-bit number, used only where it is small enough; lanes that are left out may have wrapped around."""
    type_ = code.draw.one_of(("i32", "i64", "i16"))
    found = _narrowed(code, known, type_)
    top = WIDTH[type_]
    times = code.draw.one_of((1, 1, 2, -1, 4, 3, 1 << (top - 5), 1 << (top - 2), (1 << (top - 1)) + 1))
    if times != 1:
        found = code.op("IMul", type_, found, code.const(type_, times))
    # Half way through the work-items an index passes zero, or the largest number that there is.
    half = known.most - code.shape.global_size[0] // 2
    plus = code.draw.one_of((0, -half * times, -3, 1 << (WIDTH[type_] - 1), (1 << (WIDTH[type_] - 1)) - half * times))
    found = code.op("IAdd", type_, found, code.const(type_, plus))
    inside = code.op("ULessThan", "bool", found, code.const(type_, min(count, (1 << (WIDTH[type_] - 1)) - 1)))
    if type_ != "i64" and code.draw.chance(50):
        found = code.op(code.draw.one_of(("SConvert", "UConvert")), "i64", found)
    return Index(found, inside)


def moved_by_uniform(code: Code, count: int, known: Known) -> Index:
    """id + something that all work-items agree on."""
    room = count - 1 - known.most
    if room < 7:
        return masked(code, count, 1)
    type_ = _type_for(code, count)
    by = code.op("BitwiseAnd", type_, value(code, type_, 1, True), code.const(type_, 7 if room < 63 else 63))
    return Index(code.op("IAdd", type_, _narrowed(code, known, type_), by))
