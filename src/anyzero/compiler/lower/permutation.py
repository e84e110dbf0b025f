"""Permutations: lanes of vectors picked by numbers that are known at run time, as sub-group shuffles do."""

from __future__ import annotations

from anyzero.compiler.ir import SIZES
from anyzero.compiler.llvm import Type, Value
from anyzero.compiler.lower.emitter import Emitter

WORD = 4
"""Bytes of the elements that registers are permuted by."""

_INSTRUCTIONS = {8: "llvm.x86.avx2.permd", 16: "llvm.x86.avx512.permvar.si.512"}
"""By the number of words."""

MOST_TABLES = 4
"""The most registers that a lane may come from; with more, memory is as fast."""


def permute(e: Emitter, values: list[Value], places: Value) -> Value:
    """The lanes of one vector, or of several concatenated ones, that `places` name by 32-bit numbers; these wrap."""
    b = e.b
    type_ = values[0].type
    places = places & (type_.lanes * len(values) - 1)
    bytes_ = SIZES[type_.element]
    if type_.element == "i1" or bytes_ < WORD:
        bits = [b.reinterpret(value, type_.of(f"i{type_.bits}")) for value in values]
        found = permute(e, [b.cast("zext", each, "i32") for each in bits], places)
        return b.reinterpret(b.cast("trunc", found, f"i{type_.bits}"), type_)
    register = e.choices.target.register
    if register < WORD * min(_INSTRUCTIONS) or type_.lanes * len(values) * bytes_ > MOST_TABLES * register:
        return _in_memory(e, values, places)
    many = bytes_ // WORD
    if type_.element == "ptr":
        values = [b.cast("ptrtoint", value, "i64") for value in values]
    words = [b.reinterpret(value, Type("i32", type_.lanes * many)) for value in values]
    if many > 1:
        # Both halves of each element.
        twice = b.shuffle(places, None, [lane // many for lane in range(type_.lanes * many)])
        places = twice * many + b.each([lane % many for lane in range(type_.lanes * many)], "i32")
    found = b.reinterpret(_in_registers(e, words, places), values[0].type)
    return b.cast("inttoptr", found, "ptr") if type_.element == "ptr" else found


def _in_registers(e: Emitter, values: list[Value], places: Value) -> Value:
    """Looks each register of the result up in all those of the values, and selects."""
    b, count = e.b, places.type.lanes
    width = min(count, e.choices.target.register // WORD)
    tables = [b.shuffle(value, None, range(at, at + width)) for value in values for at in range(0, count, width)]
    parts = []
    for at in range(0, count, width):
        wanted = b.shuffle(places, None, range(at, at + width))
        within = wanted & (width - 1)
        found = [_looked_up(e, table, within) for table in tables]
        step = width
        while len(found) > 1:
            second = b.compare("ne", wanted & step, 0)
            found = [b.select(second, found[each + 1], found[each]) for each in range(0, len(found), 2)]
            step *= 2
        parts += found
    while len(parts) > 1:
        lanes = range(2 * parts[0].type.lanes)
        parts = [b.shuffle(parts[each], parts[each + 1], lanes) for each in range(0, len(parts), 2)]
    return parts[0]


def _looked_up(e: Emitter, table: Value, places: Value) -> Value:
    """By the instruction for so many words. LLVM's extraction of lanes by number would lose it where the numbers are
    known before a loop.
    """
    b, lanes = e.b, table.type.lanes
    if lanes in _INSTRUCTIONS:
        return b.call(_INSTRUCTIONS[lanes], table.type, table, places)
    least = min(_INSTRUCTIONS)
    longer = (b.shuffle(each, None, [lane % lanes for lane in range(least)]) for each in (table, places))
    return b.shuffle(_looked_up(e, *longer), None, range(lanes))


def _in_memory(e: Emitter, values: list[Value], places: Value) -> Value:
    b = e.b
    type_ = values[0].type
    element = type_.element
    space = e.allocate(Type(element, type_.lanes * len(values)))
    for index, value in enumerate(values):
        to = e.moved(space, index * type_.lanes * SIZES[element])
        b.store(value, to, align=SIZES[element])
    found = b.poison(type_)
    for lane in range(type_.lanes):
        address = b.element(element, space, b.lane(places, lane))
        found = b.with_lane(found, lane, b.load(Type(element), address))
    return found
