"""Contiguous vector loads and stores under a mask.

Without AVX-512, masked stores are slow: 12 cycles on Zen 4 instead of one, and one branch for each lane where a
processor or a type has none. So each register of a vector is tested by itself where ids decide which lanes are active:
at the edges of a row, most registers are stored whole or not at all. Data would make the branches unpredictable.

Neither AVX2 nor SSE has masked loads of bytes and shorts. Where some lane is active and the vector does not cross a
page, all of it is loaded: a page is accessible as a whole. Other loads and stores call functions (`some_lanes.py`).
"""

from __future__ import annotations

from anyzero.compiler.ir import SIZES
from anyzero.compiler.llvm import I1, I64, Type, Value
from anyzero.compiler.lower import some_lanes
from anyzero.compiler.lower.emitter import Emitter

FEW = 4
"""Lanes that a branch each is good enough for."""
WORD, AVX2 = 4, 32
"""Bytes of a word, and of a register."""
PAGE = 4096
"""The smallest size of a page."""


def masked_load(
    e: Emitter, address: Value, type_: Type, mask: Value, alignment: int, lanes: Value | None = None, gaps: bool = False
) -> Value:
    """`lanes` is the mask of lanes where `mask` is that of their components, with or without gaps between."""
    b = e.b
    few = e.fronts.get(mask.text, 0)
    if few:
        part = Type(type_.element, few)
        found = b.load(part, address, align=alignment)
        return b.shuffle(found, None, [lane if lane < few else -1 for lane in range(type_.lanes)])
    if _by_lanes(e, type_, mask):
        return _load_within_page(e, address, type_, mask, alignment, mask if lanes is None else lanes, gaps)
    return _load(e, address, type_, mask, alignment)


def _load_within_page(
    e: Emitter, address: Value, type_: Type, mask: Value, alignment: int, lanes: Value, gaps: bool
) -> Value:
    b = e.b
    last = PAGE - SIZES[type_.element] * type_.lanes
    place = b.cast("ptrtoint", address, I64.element) & (PAGE - 1)
    safe = e.any(lanes) & b.compare("ule", place, last)
    if not gaps:
        # LLVM knows that some masks are full, and drops the rest.
        safe = e.all(lanes) | safe
    known, near, far, join = e.known, e.label(), e.label(), e.label()
    b.branch(safe, near, far)
    e.start(near)
    ways = [(b.load(type_, address, align=alignment), near)]
    b.jump(join)
    e.start(far)
    e.remember(known)
    ways.append((_load_some(e, address, type_, mask), e.last_label()))
    b.jump(join)
    e.start(join)
    e.forget_since(known)
    return b.phi(*ways)


def _by_lanes(e: Emitter, type_: Type, mask: Value) -> bool:
    """Would LLVM write a branch for each lane?"""
    short = SIZES[type_.element] < 4 and not e.choices.target.wide
    return short and mask.text.startswith("%") and type_.lanes <= some_lanes.MOST


def _load_some(e: Emitter, address: Value, type_: Type, mask: Value) -> Value:
    b = e.b
    bits = Type(f"i{type_.bits}", type_.lanes)
    routine = some_lanes.load_some(bits)
    e.routines[routine.symbol] = routine
    signs = b.cast("sext", mask, "i8")
    found = b.op("call", bits, f"{bits} @{routine.symbol}(ptr %s, {signs.type} %s)", address, signs, kind="reads")
    return b.bitcast(found, type_.element)


def _load(e: Emitter, address: Value, type_: Type, mask: Value, alignment: int) -> Value:
    """Words with AVX2: at most two registers at once. Where LLVM finds that no lane of a register is ever active, it
    loads some of three or more whole, also from an inaccessible page, or ends the process.
    """
    b, half = e.b, type_.lanes // 2
    if e.choices.target.register == AVX2 and SIZES[type_.element] == WORD and half * WORD > AVX2:
        held = e.held(mask)

        def load_half(at: int) -> Value:
            active = b.compare("slt", b.shuffle(held, None, range(at, at + half)), 0)
            return _load(e, e.moved(address, at * WORD), Type(type_.element, half), active, min(alignment, WORD))

        return b.shuffle(load_half(0), load_half(half), range(type_.lanes))
    name = f"llvm.masked.load.{type_.mangled}.p0"
    b.intrinsics.setdefault(name, f"declare {type_} @{name}(ptr, <{type_.lanes} x i1>, {type_})")
    return b.op(
        "call",
        type_,
        f"{type_} @{name}(ptr align {alignment} %s, {mask.type} %s, {type_} poison)",
        address,
        mask,
        kind="reads",
    )


def masked_store(
    e: Emitter, value: Value, address: Value, mask: Value, alignment: int, lanes: Value | None = None
) -> None:
    """`lanes` is the mask of lanes where `mask` is that of their components, without gaps between."""
    b = e.b
    few = e.fronts.get(mask.text, 0)
    if few:
        b.store(b.shuffle(value, None, range(few)), address, align=alignment)
        return
    size, count = SIZES[value.type.element], value.type.lanes
    if mask.type.lanes == e.lanes:
        lanes = mask
    if lanes is not None and _by_lanes(e, value.type, mask) and count > FEW:
        _store_some(e, value, address, mask, alignment, lanes)
        return
    register = e.choices.target.register // size
    if count <= register or count % register or not _often_whole(e):
        _store(e, value, address, mask, alignment)
        return
    held = e.held(mask)
    for start in range(0, count, register):
        places = range(start, start + register)
        part = b.compare("slt", b.shuffle(held, None, places), 0)
        _store_register(e, b.shuffle(value, None, places), e.moved(address, start * size), part, size)


def _store_some(e: Emitter, value: Value, address: Value, mask: Value, alignment: int, lanes: Value) -> None:
    b = e.b
    bits = Type(f"i{value.type.bits}", value.type.lanes)
    routine = some_lanes.store_some(bits)
    e.routines[routine.symbol] = routine
    # LLVM knows that some masks are full, and drops the rest.
    whole = e.all(lanes)
    known, every, some, join = e.known, e.label(), e.label(), e.label()
    b.branch(whole, every, some)
    e.start(every)
    b.store(value, address, align=alignment)
    b.jump(join)
    e.start(some)
    e.remember(known)
    given = (address, b.bitcast(value, bits.element), b.cast("sext", mask, "i8"))
    b.line(f"call void @{routine.symbol}({', '.join(each.typed for each in given)})")
    b.jump(join)
    e.start(join)
    e.forget_since(known)


def _often_whole(e: Emitter) -> bool:
    """Are single registers worth a test? There is little to gain where the mask is that of the last vector of a row."""
    op = e.mask_op
    if e.choices.mask == "i1" or e.choices.options.one_version or op is None or op.name == "entry_mask":
        return False
    return op not in e.memory_dependent


def _store_register(e: Emitter, value: Value, address: Value, mask: Value, alignment: int) -> None:
    b = e.b
    lanes = mask.type.lanes
    bits = b.reinterpret(mask, Type(f"i{lanes}"))
    every, other, some, join = (e.label() for _ in range(4))
    b.branch(b.op("icmp", I1, f"eq i{lanes} %s, -1", bits), every, other)
    e.start(every)
    b.store(value, address, align=alignment)
    b.jump(join)
    e.start(other)
    b.branch(b.op("icmp", I1, f"ne i{lanes} %s, 0", bits), some, join)
    e.start(some)
    _store(e, value, address, mask, alignment)
    b.jump(join)
    e.start(join)


def _store(e: Emitter, value: Value, address: Value, mask: Value, alignment: int) -> None:
    """With AVX-512, LLVM stores an integer as long as it was before a conversion where it finds that a single lane is
    active, and overwrites what lies behind it: so it does not see the conversion.
    """
    b = e.b
    integers = not value.type.is_float and value.type.element != "ptr"
    if e.choices.mask == "i1" and integers and _may_be_single(e):
        value = b.hidden(value)
    name = f"llvm.masked.store.{value.type.mangled}.p0"
    b.intrinsics.setdefault(name, f"declare void @{name}({value.type}, ptr, {mask.type})")
    b.line(f"call void @{name}({value.typed}, ptr align {alignment} {address.text}, {mask.typed})")


def _may_be_single(e: Emitter) -> bool:
    """May LLVM find that a single lane is active? Not of all lanes that have a work-item, where nothing tells how many
    these are, or where all have one.
    """
    op = e.mask_op
    assert op is not None
    return op.name != "entry_mask" or (e.choices.group_size is not None and not e.choices.whole_vectors)
