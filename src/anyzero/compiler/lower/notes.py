"""Notes of accesses and barriers for check mode: a call of the engine for each vector.

A byte behind the Grid says whether accesses through a pointer argument are noted: the engine knows which buffers a
launch only reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyzero.compiler.ir import Note, Op, Variable
from anyzero.compiler.llvm import I8, I64, Value
from anyzero.compiler.lower.bounds import Room, without_outside
from anyzero.compiler.lower.constants import bytes_text
from anyzero.compiler.lower.emitter import Emitter
from anyzero.compiler.lower.gathers import untyped
from anyzero.compiler.lower.handlers import Chapter
from anyzero.compiler.transform.regions import Region, ends_in_barrier
from anyzero.layouts.kernel import (
    BOUNDS_BYTES,
    CHECKED_WORDS,
    GRID_BYTES,
    GRID_OFFSETS,
    CheckedAccess,
    Fences,
    Meeting,
    NotedArgument,
    NoteFlag,
    NoteSite,
)
from anyzero.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from anyzero.compiler.lower.entry import Entry
    from anyzero.compiler.lower.regions import Written

handles = Chapter()

# The engine reads the block, and keeps its notes in memory of its own.
_NOTE = "declare void @az_note(ptr, ptr, i64, i64, i64) nounwind memory(read, argmem: read, inaccessiblemem: readwrite)"
_MEET = "declare void @az_meet(ptr, ptr, i64, i64, i64) nounwind memory(inaccessiblemem: readwrite)"
_OF_GROUPS = {
    "az_group": "declare void @az_group(ptr, i64, i64, i64) nounwind memory(inaccessiblemem: readwrite)",
    "az_filled": "declare void @az_filled(ptr, i64, i64) nounwind memory(inaccessiblemem: readwrite)",
    "az_barrier": "declare void @az_barrier(ptr, i32) nounwind memory(inaccessiblemem: readwrite)",
}
_FENCES = {"local": Fences.LOCAL, "global": Fences.GLOBAL}
_NOTED = GRID_BYTES + BOUNDS_BYTES * CHECKED_WORDS
"""The offset of the bytes that say which arguments' accesses are noted."""


@handles("note")
def note(e: Emitter, op: Op) -> None:
    b, what = e.b, op.info
    if what.kind is not CheckedAccess.LOAD and not what.flags & NoteFlag.ONLY_LOADS:
        e.written_words.update(range(CHECKED_WORDS) if what.argument is None else [what.argument])
    if what.argument is None:
        _call(e, op)
        return
    wanted = NotedArgument.LOADS if what.kind is CheckedAccess.LOAD else NotedArgument.STORES
    told = b.load(I8, e.moved(e.frame.grid, _NOTED + what.argument), align=1, invariant=True)
    known, noted, join = e.known, e.label(), e.label()
    b.branch(b.compare("ne", told & wanted, 0), noted, join)
    e.start(noted)
    e.remember(known)
    _call(e, op)
    b.jump(join)
    e.start(join)
    e.forget_since(known)


def _call(e: Emitter, op: Op) -> None:
    b, what = e.b, op.info
    pointer, *more = op.args
    shape = e.shape(pointer)
    flags, stride = what.flags, 0
    if not what.count:
        (_once if what.once else _sized)(e, op)
        return
    if not e.lanes or shape.uniform:
        flags |= NoteFlag.UNIFORM
        address = e.scalar(pointer)
    elif shape.stride is not None and shape.exact:
        flags |= NoteFlag.STRIDED
        stride = shape.stride
        address = e.scalar(pointer)
    else:
        flags |= NoteFlag.BLOCK
        address = e.vector(pointer)
    where = b.cast("ptrtoint", address, "i64")
    if more or flags & NoteFlag.BLOCK:
        flags |= NoteFlag.BLOCK | (NoteFlag.VALUES if more else 0)
        room = Room(e)
        where = b.cast("ptrtoint", room.put(where), "i64")
        for each in more:
            value = untyped(e, e.vector(each))
            value = b.cast("zext", value, "i8") if value.type.element == "i1" else value
            b.store(value, room.reserve(what.element * max(e.lanes, 1)), align=8)
    mask = e.mask
    bits = b.constant(1, I64) if mask is None else e.bits(mask)
    if what.access is not None:
        bits = without_outside(e, what.access, bits)
    tell(e, "az_note", _NOTE, _site(e, what, op.word, flags, stride), where, bits)


def _sized(e: Emitter, op: Op) -> None:
    """Notes of a number of bytes that is known at run time, lane by lane."""
    b, what = e.b, op.info
    site = _site(e, what, op.word, what.flags | NoteFlag.UNIFORM | NoteFlag.BLOCK | NoteFlag.SIZED, 0)

    def one(lane: Value, address: Value, size: Value) -> list[Value]:
        room = Room(e)
        where = b.cast("ptrtoint", room.put(b.cast("ptrtoint", address, "i64")), "i64")
        room.put(size)
        bits = b.binary("shl", b.constant(1, I64), lane)
        tell(e, "az_note", _NOTE, site, where, bits)
        return []

    if e.lanes:
        e.for_each_lane([e.value(each) for each in op.args], [], one)
    else:
        one(b.constant(0, I64), *(e.scalar(each) for each in op.args))


def _once(e: Emitter, op: Op) -> None:
    """Notes of a copy that the first vector does for the group. With a stride, only contiguous elements are noted."""
    b, what = e.b, op.info
    pointer, elements, *stride = (
        e.scalar(each) if not e.lanes or e.shape(each).uniform else b.lane(e.vector(each), e.first_lane() or 0)
        for each in op.args
    )
    if stride:
        elements = b.select(b.compare("eq", stride[0], 1), elements, 0)
    first = b.compare("eq", e.frame.ids["vector", 0], 0)
    room = Room(e)
    where = b.cast("ptrtoint", room.put(b.cast("ptrtoint", pointer, "i64")), "i64")
    room.put(elements * what.element)
    site = _site(e, what, op.word, what.flags | NoteFlag.UNIFORM | NoteFlag.BLOCK | NoteFlag.SIZED, 0)
    tell(e, "az_note", _NOTE, site, where, b.cast("zext", first, "i64"))


@dataclass(frozen=True, slots=True)
class GroupNotes:
    """Calls of the engine in the loops around the regions: begin of a group, initialised variables, barriers."""

    fences: dict[int, int]
    """By the number of the region behind a barrier: the memories that the barrier orders."""

    def begin(self, e: Entry, group: tuple[Value, Value, Value]) -> None:
        e.b.line(f"call void @az_group({e.worker.typed}, {', '.join(each.typed for each in group)})")

    def filled(self, e: Entry, variables: list[Variable]) -> None:
        """Local variables that have an initializer."""
        for each in variables:
            e.b.line(f"call void @az_filled({e.worker.typed}, i64 {each.offset}, i64 {each.size})")

    def enter(self, e: Entry, region: int) -> None:
        if region in self.fences:
            e.b.line(f"call void @az_barrier({e.worker.typed}, i32 {self.fences[region]})")


def group_notes(regions: list[Region], out: Written) -> GroupNotes:
    out.declarations |= _OF_GROUPS
    starts = {region.start: number for number, region in enumerate(regions)}
    fences: dict[int, int] = {}
    for block in {block: None for region in regions for block in region.blocks}:
        barrier = ends_in_barrier(block)
        if barrier is not None and barrier.info not in ("joint", "piece"):
            number = starts[block.successors[0]]
            bits = sum(_FENCES[each] for each in barrier.flags.split())
            fences[number] = fences.get(number, 0) | bits
    return GroupNotes(fences)


@handles("meet")
def meet(e: Emitter, op: Op) -> None:
    b, what, mask = e.b, op.info, e.mask
    one = b.constant(1, I64)
    here = one if mask is None else e.bits(mask)
    there = one if e.frame.mask is None else e.bits(e.frame.mask)
    # If all vectors arrive, only vectors with a missing lane make the call.
    all_come = what.group and e.lockstep
    kind = Meeting.MISSING if all_come else Meeting.GROUP if what.group else Meeting.SUB_GROUP
    fixed = NoteSite(int(op.word) & 0xFFFFFFFF, 0, kind, 0, 0, 0, 0, max(e.lanes, 1), 0, 0, 0)
    site = _constant(e, fixed, what.name)
    if kind is Meeting.GROUP:
        tell(e, "az_meet", _MEET, site, there, here)
        return
    known, missing, join = e.known, e.label(), e.label()
    b.branch(b.compare("ne", there, here), missing, join, unlikely=True)
    e.start(missing)
    e.remember(known)
    tell(e, "az_meet", _MEET, site, there, here)
    b.jump(join)
    e.start(join)
    e.forget_since(known)


def tell(e: Emitter, name: str, declared: str, site: str, first: Value, bits: Value) -> None:
    e.b.intrinsics.setdefault(name, declared)
    e.b.line(f"call void @{name}({e.frame.worker.typed}, ptr @{site}, {first.typed}, {bits.typed}, {_item(e).typed})")


def _item(e: Emitter) -> Value:
    """The linear number of lane 0's work-item in its group, or in the launch where the kernel does not use groups. The
    other lanes have the following numbers.
    """
    b, ids, choices = e.b, e.frame.ids, e.choices
    if choices.linear:
        return ids["vector", 0] * max(e.lanes, 1)

    def size(name: str, dimension: int) -> Value:
        return b.load(I64, e.moved(e.frame.grid, GRID_OFFSETS[name] + 8 * dimension), align=8, invariant=True)

    if choices.flat:
        x, y, z = (ids["global_id", each] - size("global_offset", each) for each in range(3))
        name = "global_size"
    else:
        x, y, z = (ids["local_id", each] for each in range(3))
        name = "group_size"
    return x + size(name, 0) * (y + size(name, 1) * z)


def _site(e: Emitter, what: Note, word: int, flags: int, stride: int) -> str:
    fixed = NoteSite(
        *(int(word) & 0xFFFFFFFF, 0, what.kind, what.memory, flags, what.element, what.count),
        *(max(e.lanes, 1), stride & 0xFFFFFFFF, what.granule),
        (e.choices.sub_group or max(e.lanes, 1)) if what.sub_groups else 0,
    )
    return _constant(e, fixed, what.name)


def _constant(e: Emitter, fixed: NoteSite, text: str) -> str:
    """The symbol of a constant with all facts about the access that are known at compile time."""
    key = bytes_text(fixed.pack() + text.encode() + b"\0")
    number = e.note_sites.setdefault(key, len(e.note_sites))
    name = f"note.{number}"
    image = NoteSite(fixed[0], number, *fixed[2:]).pack() + text.encode() + b"\0"
    e.globals[name] = f"@{name} = private unnamed_addr constant {bytes_text(image)}, align 8"
    return name
