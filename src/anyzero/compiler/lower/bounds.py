"""Bounds checks: one comparison if all lanes are within bounds; otherwise the engine checks lane by lane.

For strided lanes, the first and the last lane are compared. That is too strict if one of them is inactive; the engine,
which gets the mask, reports only active lanes. It also does the access for lanes within bounds, so this code needs no
second form of it.
"""

from __future__ import annotations

from collections.abc import Callable

from anyzero.compiler.analysis.uniformity import VARYING
from anyzero.compiler.ir import Check, Op
from anyzero.compiler.llvm import I1, I64, Type, Value
from anyzero.compiler.lower.constants import bytes_text
from anyzero.compiler.lower.emitter import Emitter
from anyzero.compiler.lower.gathers import typed, untyped, whole_type
from anyzero.compiler.lower.handlers import Chapter
from anyzero.compiler.lower.numbered_ids import local_ids
from anyzero.layouts.kernel import (
    BOUNDS_BYTES,
    BOUNDS_OFFSETS,
    GRID_BYTES,
    CheckedAccess,
    CheckedMemory,
    CheckFlag,
    CheckSite,
)
from anyzero.lazy_dataclass import dataclass, field

handles = Chapter()

# Unless they store, the functions write no memory that the kernel sees, except the block and the data.
_LOAD = (
    "declare void @az_check_load(ptr, ptr, ptr, i64, ptr) cold nounwind "
    "memory(read, argmem: readwrite, inaccessiblemem: readwrite)"
)
_STORE = "declare void @az_check_store(ptr, ptr, ptr, i64, ptr) cold nounwind"
_BOUNDS_OF = (
    "declare void @az_bounds_of(ptr, ptr, i64, i64, ptr) nounwind memory(argmem: readwrite, inaccessiblemem: readwrite)"
)
_WORD = 8


@handles("bounds")
def bounds(e: Emitter, op: Op) -> None:
    word, which = op.info
    address = e.moved(e.frame.grid, GRID_BYTES + BOUNDS_BYTES * word + BOUNDS_OFFSETS[which])
    e.scalars[op] = e.b.load(Type(op.type), address, align=8, invariant=True)


@handles("bounds_of")
def bounds_of(e: Emitter, op: Op) -> None:
    b, pointer = e.b, op.args[0]
    b.intrinsics.setdefault("az_bounds_of", _BOUNDS_OF)
    uniform = not e.lanes or e.shape(pointer).uniform
    lanes = 1 if uniform else e.lanes
    room = Room(e)
    given = e.scalar(pointer) if uniform else e.vector(pointer)
    place = room.put(given)
    found = room.reserve(2 * lanes * _WORD)
    mask = e.mask
    bits = b.constant(1, I64) if uniform or mask is None else e.bits(mask)
    worker = e.frame.worker
    b.line(f"call void @az_bounds_of({worker.typed}, {place.typed}, i64 {lanes}, {bits.typed}, {found.typed})")
    wide = Type("i64", 0 if uniform else lanes)
    begin = b.load(wide, found, align=8)
    size = b.load(wide, e.moved(found, lanes * _WORD), align=8)
    e.parts[op] = [typed(e, begin, "ptr"), size]


@handles("check")
def check(e: Emitter, op: Op) -> None:
    """Emits nothing: the handler of the access that follows writes the comparison."""
    e.checks[op.info.access, op.info.operand] = op


def guarded(e: Emitter, op: Op, access: Callable[[], list[Value]], stored: Callable[[], list[Value]]) -> list[Value]:
    """The results of a load or store: of `access` where all lanes are within bounds, otherwise of a call of the engine.
    `stored` gives the values of a store, a vector each.
    """
    made = e.checks.get((op, 0))
    if made is None:
        return access()
    b, what = e.b, made.info
    pointer = op.args[0]
    uniform = not e.lanes or e.shape(pointer).uniform
    bad = _outside(e, pointer, made)
    known, slow, quick, join = e.known, e.label(), e.label(), e.label()
    b.branch(bad, slow, quick, unlikely=True)
    if uniform:
        e.start(slow)
        (place,) = _call(e, pointer, made, [])
        b.branch(b.compare("eq", b.load(I64, place, align=8), 0), join, quick)
        e.start(quick)
        e.remember(known)
        near, near_end = access(), e.last_label()
        b.jump(join)
        e.start(join)
        e.forget_since(known)
        return [b.phi((value, near_end), (b.zero(value.type), slow)) for value in near]
    e.start(quick)
    near, near_end = access(), e.last_label()
    b.jump(join)
    e.start(slow)
    e.remember(known)
    far: list[Value] = []
    if what.kind is CheckedAccess.LOAD:
        wide = Type(whole_type(op.type), e.lanes)
        places = _call(e, pointer, made, [wide] * what.count)[:-1]
        far = [typed(e, b.load(wide, place, align=8), op.type) for place in places]
    else:
        _call(e, pointer, made, [untyped(e, value) for value in stored()])
    far_end = e.last_label()
    b.jump(join)
    e.start(join)
    e.forget_since(known)
    return [b.phi((one, near_end), (other, far_end)) for one, other in zip(near, far, strict=True)]


def redirect(e: Emitter, op: Op) -> Op | None:
    """A pointer in place of the operation's own, in which lanes out of bounds point to memory of the engine. None
    without a check.
    """
    made = e.checks.get((op, 0))
    if made is None:
        return None
    b, pointer = e.b, op.args[0]
    uniform = not e.lanes or e.shape(pointer).uniform
    given = e.scalar(pointer) if uniform else e.vector(pointer)
    bad = _outside(e, pointer, made)
    known, slow, before, join = e.known, e.label(), e.label(), e.label()
    b.jump(before)
    e.start(before)
    b.branch(bad, slow, join, unlikely=True)
    e.start(slow)
    e.remember(known)
    place = _call(e, pointer, made, [])[-1]
    wide = Type("i64", 0 if uniform else e.lanes)
    other = typed(e, b.load(wide, place, align=8), "ptr")
    b.jump(join)
    e.start(join)
    e.forget_since(known)
    safe = Op("parameter", "ptr", word=op.word)
    e.shapes.of[safe] = e.shape(pointer) if uniform else VARYING
    e.put(safe, b.phi((given, before), (other, slow)))
    return safe


@dataclass(slots=True)
class Range:
    """A range of bytes that a work-item is about to access, for itself or for its group."""

    check: Op
    begin: Value
    size: Value

    def allowed(self, e: Emitter, address: Value, reach: Value, lane: Value) -> Value:
        """Is all of it within bounds? If not, the engine reports it."""
        b = e.b
        offset = _number(e, address) - self.begin
        beyond = b.compare("ugt", offset, self.size) | b.compare("ugt", reach, self.size - offset)
        if self.check.info.memory is CheckedMemory.CONSTANT and self.check.info.kind is not CheckedAccess.LOAD:
            beyond = b.constant(1, I1)
        bad = beyond & b.compare("ne", reach, 0)
        known, slow, join = e.known, e.label(), e.label()
        b.branch(bad, slow, join, unlikely=True)
        e.start(slow)
        e.remember(known)
        room = Room(e)
        place = room.reserve(0)
        for dimension in range(3):
            id_ = e.frame.ids["global_id", dimension]
            if e.lanes and e.choices.linear:
                id_ = id_ + b.lane(local_ids(e, dimension), lane)
            elif not dimension:
                id_ = id_ + lane
            room.put(id_)
        for each in (self.begin, self.size, _number(e, address), reach):
            room.put(each)
        site = _site(e, self.check.info, self.check.word, CheckFlag.UNIFORM | CheckFlag.SIZED, 0)
        b.intrinsics.setdefault("az_check_load", _LOAD)
        one = b.constant(1, I64)
        worker = e.frame.worker
        b.line(f"call void @az_check_load({worker.typed}, ptr @{site}, {place.typed}, {one.typed}, ptr null)")
        b.jump(join)
        e.start(join)
        e.forget_since(known)
        return ~bad


def without_outside(e: Emitter, op: Op, bits: Value) -> Value:
    """The lanes of an access that happens: those within bounds, if it is checked."""
    made = e.checks.get((op, 0))
    if made is None:
        return bits
    b, pointer = e.b, op.args[0]
    if not e.lanes or (e.shape(pointer).uniform and all(e.shape(each).uniform for each in made.args)):
        return b.select(_outside(e, pointer, made), b.constant(0, I64), bits)
    return bits & ~e.bits(_lanes_outside(e, pointer, made))


def ranges(e: Emitter, op: Op) -> dict[int, Op]:
    """The checks of a copy, by operand."""
    return {operand: e.checks[op, operand] for operand in range(2) if (op, operand) in e.checks}


def address_of(e: Emitter, pointer: Op) -> Value:
    """A pointer as an i64, or a vector of them."""
    return _number(e, e.value(pointer))


def check_texels(e: Emitter, op: Op, image: Value, sampler: Value, coordinates: Value, mask: Value) -> None:
    """The engine looks at the coordinates. The access itself reaches no memory outside."""
    made = e.checks.get((op, 0))
    if made is None:
        return
    room = Room(e)
    place = room.reserve(0)
    flags = _put_ids(e, room)
    room.put(image)
    room.put(sampler)
    if op.name == "image_read" and op.info.float_coordinates:
        flags |= CheckFlag.FLOATS
    site = _site(e, made.info, made.word, flags | made.info.flags, 0)
    e.b.intrinsics.setdefault("az_check_load", _LOAD)
    worker = e.frame.worker
    e.b.line(f"call void @az_check_load({worker.typed}, ptr @{site}, {place.typed}, {mask.typed}, {coordinates.typed})")


def _outside(e: Emitter, pointer: Op, made: Op) -> Value:
    """Is any lane out of bounds or misaligned, or may one be?"""
    b, what = e.b, made.info
    begin, size = made.args
    reach = what.element * what.count
    if what.memory is CheckedMemory.CONSTANT and what.kind is not CheckedAccess.LOAD:
        return b.constant(1, I1)
    if not e.lanes:
        number = _number(e, e.scalar(pointer))
        beyond = b.compare("uge", number - _number(e, e.scalar(begin)), _limit(e, e.scalar(size), reach))
        return _or_misaligned(e, beyond, number, what.alignment)
    one, other = e.shape(pointer).stride, e.shape(begin).stride
    if one is not None and other is not None and e.shape(size).uniform and one % what.alignment == 0:
        number = _number(e, e.base(pointer))
        offset = number - _number(e, e.scalar(begin))
        span = (one - other) * (e.lanes - 1)
        if span < 0:
            offset = offset + span
        beyond = b.compare("uge", offset, _limit(e, e.scalar(size), abs(span) + reach))
        return _or_misaligned(e, beyond, number, what.alignment)
    mask = e.mask
    assert mask is not None
    return e.any(e.both(mask, _lanes_outside(e, pointer, made)))


def _lanes_outside(e: Emitter, pointer: Op, made: Op) -> Value:
    b, what = e.b, made.info
    begin, size = made.args
    reach = what.element * what.count
    numbers = _number(e, e.vector(pointer))
    if e.shape(size).uniform:
        limits = b.spread(_limit(e, e.scalar(size), reach), e.lanes)
    else:
        limits = _limit(e, e.vector(size), reach)
    beyond = b.compare("uge", numbers - _number(e, e.vector(begin)), limits)
    return _or_misaligned(e, beyond, numbers, what.alignment)


def _limit(e: Emitter, size: Value, reach: int) -> Value:
    """Offsets from here on are too large."""
    return e.b.intrinsic("usub.sat", size, reach - 1)


def _or_misaligned(e: Emitter, beyond: Value, number: Value, alignment: int) -> Value:
    if alignment == 1:
        return beyond
    return beyond | e.b.compare("ne", number & (alignment - 1), 0)


def _number(e: Emitter, pointer: Value) -> Value:
    return e.b.cast("ptrtoint", pointer, "i64")


@dataclass(slots=True)
class Room:
    """Scratch memory that all checks of a function share: its contents are consumed before the next check."""

    e: Emitter
    size: int = 0
    places: list[Value] = field(default_factory=list)

    def put(self, value: Value) -> Value:
        place = self.reserve(max(value.type.lanes, 1) * _WORD)
        self.e.b.store(value, place, align=8)
        return place

    def reserve(self, size: int) -> Value:
        e = self.e
        at = self.size
        self.size += -(-size // _WORD) * _WORD
        e.check_room = max(e.check_room, self.size)
        e.check_place = e.check_place or e.allocate("[8 x i8]", 64)
        line = f"  {e.check_place.text} = alloca [{e.check_room} x i8], align 64"
        e.allocations[int(e.check_place.text.removeprefix("%a"))] = line
        return e.moved(e.check_place, at)


def _put_ids(e: Emitter, room: Room) -> int:
    """The global ids of the lanes, and the flag that says how they lie."""
    linear = e.lanes and e.choices.linear
    for dimension in range(3):
        first = e.frame.ids["global_id", dimension]
        room.put(local_ids(e, dimension) + e.b.spread(first, e.lanes) if linear else first)
    return CheckFlag.IDS_BY_LANE if linear else 0


def _call(e: Emitter, pointer: Op, made: Op, data: list[Value] | list[Type]) -> list[Value]:
    """Calls the engine with values to be stored, or types to be loaded. Returns their places, and the addresses."""
    b, what = e.b, made.info
    begin, size = made.args
    shape = e.shape(pointer)
    room, stride = Room(e), 0
    place = room.reserve(0)
    flags = _put_ids(e, room)
    if e.lanes and not (e.shape(begin).uniform and e.shape(size).uniform):
        flags |= CheckFlag.BOUNDS_BY_LANE
        room.put(_number(e, e.vector(begin)))
        room.put(e.vector(size))
    else:
        room.put(e.scalar(begin))
        room.put(e.scalar(size))
    if not e.lanes or shape.uniform:
        flags |= CheckFlag.UNIFORM
        addresses = room.put(e.scalar(pointer))
    elif shape.stride is not None and shape.exact and what.kind is not CheckedAccess.ATOMIC:
        flags |= CheckFlag.STRIDED
        stride = shape.stride
        addresses = room.put(e.scalar(pointer))
    else:
        addresses = room.put(_number(e, e.vector(pointer)))
    if what.interleaved:
        flags |= CheckFlag.INTERLEAVED
    places = []
    for each in data:
        to = room.reserve(what.element * e.lanes)
        if isinstance(each, Value):
            b.store(each, to, align=8)
        places.append(to)
    name, declared = ("az_check_load", _LOAD) if what.kind is CheckedAccess.LOAD else ("az_check_store", _STORE)
    b.intrinsics.setdefault(name, declared)
    mask = e.mask
    bits = b.constant(1, I64) if mask is None else e.bits(mask)
    first = places[0].typed if places else "ptr null"
    site = _site(e, what, made.word, flags, stride)
    b.line(f"call void @{name}({e.frame.worker.typed}, ptr @{site}, {place.typed}, {bits.typed}, {first})")
    return [*places, addresses]


def _site(e: Emitter, what: Check, word: int, flags: int, stride: int) -> str:
    """The symbol of a constant with all facts about the access that are known at compile time."""
    lanes = max(e.lanes, 1)
    fixed = CheckSite(
        *(int(word) & 0xFFFFFFFF, what.kind, what.memory, flags, what.element, what.count),
        *(what.alignment, lanes, stride & 0xFFFFFFFF),
    )
    image = fixed.pack() + what.name.encode() + b"\0"
    text = f"private unnamed_addr constant {bytes_text(image)}, align 8"
    name = f"check.{e.check_sites.setdefault(text, len(e.check_sites))}"
    e.globals[name] = f"@{name} = {text}"
    return name
