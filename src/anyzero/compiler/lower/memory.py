"""Loads, stores, copies: one access for uniform addresses, a vector for contiguous ones, else a gather or scatter."""

from __future__ import annotations

from collections.abc import Sequence

from anyzero.compiler.analysis.speculative_stride import speculative_stride
from anyzero.compiler.analysis.streaming_stores import LINE
from anyzero.compiler.ir import SIZES, Access, Op
from anyzero.compiler.llvm import I1, I64, PTR, Type, Value
from anyzero.compiler.lower import bounds, constants, speculative_access, streaming, transposition, windows
from anyzero.compiler.lower.components import in_memory_order
from anyzero.compiler.lower.emitter import Emitter
from anyzero.compiler.lower.gathers import (
    aligned,
    gather,
    joined_parts,
    parts_of,
    piece,
    scatter,
    together,
    typed,
    untyped,
    whole_type,
    words,
    words_of,
)
from anyzero.compiler.lower.handlers import Chapter
from anyzero.compiler.lower.lane_counts import count_access
from anyzero.compiler.lower.masked import masked_load, masked_store
from anyzero.compiler.lower.numbered_ids import local_ids
from anyzero.compiler.lower.scalarize import has_narrow_index, whole_or_part, written_out
from anyzero.compiler.lower.single_lane import single_lane
from anyzero.compiler.lower.transposition import WORD
from anyzero.layouts.container import CounterKind
from anyzero.layouts.kernel import WORKER_OFFSETS

handles = Chapter()

MOST_APART = 32
"""The most lanes whose strided accesses are unrolled."""

MANY = 16
"""The fewest lanes whose loads from a table are written out."""

WIDEST = 256
"""The most elements that one access of interleaved components may span."""


@handles("offset")
def offset(e: Emitter, op: Op) -> None:
    shape = e.shape(op)
    pointer, by = op.args
    if not shape.varying:
        e.scalars[op] = e.moved(e.scalar(pointer), e.scalar(by))
    if e.lanes and (shape.varying or not shape.exact):
        e.vectors[op] = _indexed(e, pointer, by)


def _indexed(e: Emitter, pointer: Op, by: Op) -> Value:
    """A uniform base stays scalar, and an index narrow, so that the target can address by base, index and scale."""
    base = e.value(pointer)
    if by.name == "mul" and by.args[1].name == "const" and by.args[1].info in (2, 4, 8) and not base.type.lanes:
        index, scale = by.args[0], by.args[1].info
        if index.name == "cast" and index.info == "sext" and index.args[0].type == "i32":
            index = index.args[0]
        number = e.vector(index)
        return e.b.element(f"i{8 * scale}", base, number)
    return e.moved(base, e.value(by))


@handles("load")
def load(e: Emitter, op: Op) -> None:
    if op in e.windows:
        windows.load(e, op)
        return
    parts = bounds.guarded(e, op, lambda: _loaded(e, op), list)
    e.parts[op] = parts
    if op.info.count == 1:
        e.put(op, parts[0])


def _loaded(e: Emitter, op: Op) -> list[Value]:
    access: Access = op.info
    pointer = op.args[0]
    shape = e.shape(pointer)
    size = SIZES[op.type]
    if not e.lanes or shape.uniform:
        count_access(e, CounterKind.UNIFORM)
        return _load_once(e, e.scalar(pointer), op.type, access)
    if shape.stride is not None and _dense(e, shape.stride, size, access.count) and placed(e, pointer):
        return _load_dense(e, op, access, shape.stride // size)
    if shape.stride == -size and access.count == 1 and placed(e, pointer):
        return [_load_backwards(e, pointer, op.type, access)]
    if shape.stride is not None and placed(e, pointer) and e.lanes <= MOST_APART:
        return _load_apart(e, pointer, op.type, access, shape.stride)
    if access.count == 1 and speculative_stride(pointer, e.shapes) == size:
        return [speculative_access.load(e, pointer, op.type, access)]
    plain = not (e.choices.options.one_version or e.choices.options.count_lanes)
    if plain and access.count == 1 and size < WORD and e.lanes >= MANY and has_narrow_index(pointer, e.shapes):
        return [_looked_up(e, op, access)]
    return gather(e, e.vector(pointer), op.type, access)


def _looked_up(e: Emitter, op: Op, access: Access) -> Value:
    """Bytes or shorts of a table, which no processor gathers: lane by lane, with narrow indices."""
    pointer, alignment = op.args[0], aligned(access, SIZES[op.type])

    def one(address: Value) -> Value:
        return e.b.load(Type(op.type), address, align=alignment)

    found = written_out(e, [pointer], op.type, one, lambda: gather(e, e.vector(pointer), op.type, access))
    assert found is not None
    return found


@handles("store")
def store(e: Emitter, op: Op) -> None:
    if op in e.windows:
        windows.store(e, op)
        return
    bounds.guarded(e, op, lambda: _stored(e, op), lambda: [e.vector(each) for each in op.args[1:]])


def _stored(e: Emitter, op: Op) -> list[Value]:
    access: Access = op.info
    pointer, values = op.args[0], op.args[1:]
    shape = e.shape(pointer)
    element = values[0].type
    size = SIZES[element]
    if not e.lanes or shape.uniform:
        count_access(e, CounterKind.UNIFORM)
        _store_once(e, pointer, values, access)
    elif (lane := single_lane(e)) is not None:
        count_access(e, CounterKind.UNIFORM)
        _store_of_lane(e, lane, pointer, values, access)
    elif shape.stride is not None and _dense(e, shape.stride, size, access.count) and placed(e, pointer):
        _store_dense(e, op, values, access, shape.stride // size)
    elif shape.stride is not None and placed(e, pointer) and e.lanes <= MOST_APART:
        _store_apart(e, pointer, [e.vector(each) for each in values], access, shape.stride)
    elif access.count == 1 and speculative_stride(pointer, e.shapes) == size:
        speculative_access.store(e, pointer, e.vector(values[0]), access)
    else:
        scatter(e, e.vector(pointer), [e.vector(each) for each in values], access)
    return []


PIXELS = {("i8", 2), ("i8", 4), ("i16", 2)}
"""Elements whose components are the bits of one number of each lane: shifts instead of shuffles take them apart."""


def placed(e: Emitter, pointer: Op) -> bool:
    """Do all lanes' addresses follow from one? Not where a wrapped index can point into the same buffer again."""
    return e.shape(pointer).exact or not e.choices.options.greater_than_4gb


def _dense(e: Emitter, stride: int, size: int, count: int) -> bool:
    """Are the lanes' components contiguous, or nearly?"""
    if stride == size * count:
        return e.lanes * count <= WIDEST
    step = stride // size
    return stride % size == 0 and count < step <= 4 and e.lanes * step <= WIDEST


def _load_once(e: Emitter, pointer: Value, element: str, access: Access) -> list[Value]:
    size = SIZES[element]
    to, alignment = Type(element), aligned(access, size)
    return [
        e.b.load(to, e.moved(pointer, place * size), align=alignment, volatile=access.volatile)
        for place in range(access.count)
    ]


def _store_once(e: Emitter, pointer: Op, values: Sequence[Op], access: Access) -> None:
    b = e.b
    address = e.scalar(pointer)
    mask = e.mask
    lane: Value | None = None
    for place, op in enumerate(values):
        if e.lanes and not e.shape(op).uniform:
            # All lanes write to one address; the last active one wins.
            assert mask is not None
            lane = lane or e.last_lane(mask)
            value = b.lane(e.vector(op), lane)
        else:
            value = e.scalar(op)
        size = SIZES[value.type.element]
        to = e.moved(address, place * size)
        b.store(value, to, align=aligned(access, size), volatile=access.volatile)


def _store_of_lane(e: Emitter, lane: int, pointer: Op, values: Sequence[Op], access: Access) -> None:
    """The only lane that may be active."""
    b, mask = e.b, e.mask
    assert mask is not None
    address, *numbers = (b.lane(e.vector(op), lane) for op in (pointer, *values))
    active, join = e.label(), e.label()
    b.branch(b.lane(mask, lane), active, join)
    e.start(active)
    for place, value in enumerate(numbers):
        size = SIZES[value.type.element]
        b.store(value, e.moved(address, place * size), align=aligned(access, size), volatile=access.volatile)
    b.jump(join)
    e.start(join)


def _spread_mask(e: Emitter, step: int, count: int) -> Value:
    """The mask with each lane's bit repeated for its components; gaps between them stay unset."""
    b = e.b
    mask = e.mask
    assert mask is not None
    lanes = e.lanes
    if step == 1:
        return mask
    wide = b.shuffle(mask, None, [place // step for place in range(lanes * step)])
    if count < step:
        wide = wide & b.each([place % step < count for place in range(lanes * step)], "i1")
    return wide


def _load_dense(e: Emitter, op: Op, access: Access, step: int) -> list[Value]:
    b, lanes = e.b, e.lanes
    pointer, element = op.args[0], op.type
    size = SIZES[element]
    count_access(e, CounterKind.CONTIGUOUS)
    wide = Type(whole_type(element), lanes * step)
    mask = _spread_mask(e, step, access.count)
    found = masked_load(e, e.base(pointer), wide, mask, aligned(access, size), e.mask, gaps=access.count < step)
    if step == 1:
        return [typed(e, found, element)]
    if access.count == step and not e.choices.options.check_memory:
        # Behind a check, the load is in a block that may be left out.
        e.vectors[op] = found
    if (element, step) in PIXELS:
        bits = 8 * size
        # A gap is poison, which must not spread to the number that it is a part of.
        found = b.freeze(found) if access.count < step else found
        pixels = b.reinterpret(found, Type(f"i{bits * step}", lanes))
        return [b.cast("trunc", pixels.lshr(bits * at) if at else pixels, element) for at in range(access.count)]
    return [
        typed(e, b.shuffle(found, None, [lane * step + place for lane in range(lanes)]), element)
        for place in range(access.count)
    ]


def _store_dense(e: Emitter, op: Op, values: list[Op], access: Access, step: int) -> None:
    b, lanes = e.b, e.lanes
    count_access(e, CounterKind.CONTIGUOUS)
    whole = [untyped(e, e.vector(value)) for value in values]
    element = whole[0].type.element
    together = in_memory_order(e, values) if step == len(values) else None
    if together is not None:
        wide = together
    elif step == 1:
        wide = whole[0]
    elif (element, step) in PIXELS and step == len(whole):
        wide = b.reinterpret(_paired(e, whole), Type(element, lanes * step))
    else:
        while len(whole) < step:
            whole.append(b.poison(whole[0].type))
        wide = _interleaved(e, whole, lanes)
    mask, whole_lanes = _spread_mask(e, step, access.count), e.mask if access.count == step else None
    alignment = aligned(access, SIZES[element])
    address = e.base(op.args[0])
    if op not in e.streams:
        masked_store(e, wide, address, mask, alignment, whole_lanes)
    elif step & (step - 1) == 0:
        streaming.either_way(e, [(wide, address)], lambda: masked_store(e, wide, address, mask, alignment, whole_lanes))
    else:
        _stream_pieces(e, wide, address, mask, alignment)


def _stream_pieces(e: Emitter, wide: Value, address: Value, mask: Value, alignment: int) -> None:
    """A vector whose length is no power of two: LLVM takes it apart, element by element, where it lives longer than a
    block.
    """
    b, size = e.b, SIZES[wide.type.element]
    starts = range(0, wide.type.lanes, e.lanes)
    places = [e.moved(address, start * size) for start in starts]
    pieces, masks = ([b.shuffle(each, None, range(at, at + e.lanes)) for at in starts] for each in (wide, mask))

    def usual() -> None:
        for some, place, some_mask in zip(pieces, places, masks, strict=True):
            masked_store(e, some, place, some_mask, alignment)

    streaming.either_way(e, list(zip(pieces, places, strict=True)), usual)


def _paired(e: Emitter, whole: Sequence[Value]) -> Value:
    """Components that are interleaved as numbers of twice the width."""
    b, lanes = e.b, e.lanes
    bits = whole[0].type.bits
    pairs = [
        b.cast("zext", low, f"i{2 * bits}") | b.cast("zext", high, f"i{2 * bits}").shl(bits)
        for low, high in zip(whole[::2], whole[1::2], strict=True)
    ]
    return _interleaved(e, pairs, lanes) if len(pairs) > 1 else pairs[0]


def _interleaved(e: Emitter, values: list[Value], lanes: int) -> Value:
    """Lane 0's components, then lane 1's, …"""
    b = e.b
    step = len(values)
    joined = values[0]
    for value in values[1:]:
        # Concatenated first; widths have to agree for a shuffle.
        have = joined.type.lanes
        grown = b.shuffle(value, None, [place if place < lanes else -1 for place in range(have)])
        joined = b.shuffle(joined, grown, [*range(have), *range(have, have + lanes)])
    return b.shuffle(joined, None, [place % step * lanes + place // step for place in range(lanes * step)])


def _load_apart(e: Emitter, pointer: Op, element: str, access: Access, stride: int) -> list[Value]:
    """Strided lanes, which need no vector of addresses: scalar loads under a full mask, else a gather."""
    b, lanes = e.b, e.lanes
    size = SIZES[element]
    base = e.base(pointer)
    known, all_here, some, join = whole_or_part(e)
    e.start(all_here)
    count_access(e, CounterKind.GATHER)
    near: list[Value] = []
    if transposition.rows_fit(e, access, size):
        whole, many = words(element, access.count)
        found = transposition.rows(e, lambda lane: e.moved(base, lane * stride), whole, many, aligned(access, size))
        near = parts_of(e, found, element)
    # Components beside each other are loaded together, and taken apart in registers.
    many = together(size, access.count)
    wide = Type(f"i{8 * size * many}" if many > 1 else whole_type(element), lanes)
    for first in range(len(near), access.count, many):
        picked = b.poison(wide)
        for lane in range(lanes):
            address = e.moved(base, lane * stride + first * size)
            one = b.load(Type(wide.element), address, align=aligned(access, size * many))
            picked = b.with_lane(picked, lane, one)
        near += [picked] if many == 1 else [piece(e, picked, element, place) for place in range(many)]
    b.jump(join)
    e.start(some)
    e.remember(known)
    far = [untyped(e, each) for each in gather(e, e.apart(base, stride), element, access)]
    last = e.last_label()
    b.jump(join)
    e.start(join)
    e.forget_since(known)
    return [typed(e, b.phi((one, all_here), (other, last)), element) for one, other in zip(near, far, strict=True)]


def _store_apart(e: Emitter, pointer: Op, values: list[Value], access: Access, stride: int) -> None:
    b = e.b
    base = e.base(pointer)
    size = SIZES[values[0].type.element]
    known, all_here, some, join = whole_or_part(e)
    e.start(all_here)
    count_access(e, CounterKind.SCATTER)
    if transposition.fits(e, access, size):
        wide = words_of(e, values)
        transposition.store(e, lambda lane: e.moved(base, lane * stride), wide, aligned(access, size))
    else:
        many = together(size, len(values))
        for first in range(0, len(values), many):
            value = untyped(e, values[first]) if many == 1 else joined_parts(e, values[first : first + many], size)
            for lane in range(e.lanes):
                address = e.moved(base, lane * stride + first * size)
                b.store(b.lane(value, lane), address, align=aligned(access, size * many))
    b.jump(join)
    e.start(some)
    e.remember(known)
    scatter(e, e.apart(base, stride), values, access)
    b.jump(join)
    e.start(join)
    e.forget_since(known)


def _load_backwards(e: Emitter, pointer: Op, element: str, access: Access) -> Value:
    b, lanes = e.b, e.lanes
    size = SIZES[element]
    mask = e.mask
    assert mask is not None
    count_access(e, CounterKind.CONTIGUOUS)
    turned = list(range(lanes - 1, -1, -1))
    address = e.moved(e.base(pointer), -size * (lanes - 1))
    wide = Type(whole_type(element), lanes)
    found = masked_load(e, address, wide, b.shuffle(mask, None, turned), aligned(access, size))
    return typed(e, b.shuffle(found, None, turned), element)


@handles("prefetch")
def prefetch(e: Emitter, op: Op) -> None:
    """Prefetches the cache lines of the whole vector from lane 0 on; an invalid address does no harm."""
    b = e.b
    b.intrinsics.setdefault("llvm.prefetch.p0", "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
    for place in range(0, op.info * max(e.lanes, 1), LINE):
        address = e.moved(e.scalar(op.args[0]), place)
        b.line(f"call void @llvm.prefetch.p0({address.typed}, i32 0, i32 3, i32 1)")


@handles("copy")
def copy(e: Emitter, op: Op) -> None:
    """Copies bytes, for each work-item."""
    b = e.b
    to, source, size = op.args
    b.intrinsics.setdefault("llvm.memmove.p0.p0.i64", "declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)")

    checks = bounds.ranges(e, op)
    limits = [arg for check in checks.values() for arg in check.args]

    def one(lane: Value, to: Value, source: Value, size: Value, *within: Value) -> list[Value]:
        allowed = b.constant(1, I1)
        for place, (operand, check) in enumerate(checks.items()):
            range_ = bounds.Range(check, *within[2 * place : 2 * place + 2])
            allowed = allowed & range_.allowed(e, (to, source)[operand], size, lane)
        moved = b.select(allowed, size, 0) if checks else size
        b.line(f"call void @llvm.memmove.p0.p0.i64({to.typed}, {source.typed}, {moved.typed}, i1 false)")
        return []

    uniform = all(e.shape(each).uniform for each in (*op.args, *limits))
    if uniform or not e.lanes:
        within = [bounds.address_of(e, each) if each.type == "ptr" else e.scalar(each) for each in limits]
        lane = b.constant(0, I64) if not e.lanes else e.first_lane() or b.constant(0, I64)
        one(lane, e.scalar(to), e.scalar(source), e.scalar(size), *within)
    else:
        within = [bounds.address_of(e, each) if each.type == "ptr" else e.value(each) for each in limits]
        e.for_each_lane([e.value(to), e.value(source), e.value(size), *within], [], one)


@handles("argument")
def argument(e: Emitter, op: Op) -> None:
    address = e.moved(e.frame.arguments, op.info)
    e.scalars[op] = e.b.load(Type(op.type), address, align=SIZES[op.type], invariant=True)


@handles("argument_address")
def argument_address(e: Emitter, op: Op) -> None:
    e.scalars[op] = e.moved(e.frame.arguments, op.info)


@handles("local_argument")
def local_argument(e: Emitter, op: Op) -> None:
    address = e.moved(e.frame.arguments, op.info)
    place = e.b.load(I64, address, align=8, invariant=True)
    if e.choices.options.check_memory:
        # The upper half is its size.
        place = place & 0xFFFFFFFF
    e.scalars[op] = e.moved(local_memory(e), place)


def local_memory(e: Emitter, field: str = "local") -> Value:
    place = e.moved(e.frame.worker, WORKER_OFFSETS[field])
    return e.b.load(PTR, place, align=8, invariant=True)


@handles("variable")
def variable(e: Emitter, op: Op) -> None:
    what = op.info
    b = e.b
    if what.space == "local":
        e.scalars[op] = e.moved(local_memory(e, "sums" if what.of_thread else "local"), what.offset)
    elif what.space == "global":
        e.scalars[op] = e.moved(Value(b, f"@{constants.block(e, what.module)}", PTR), what.offset)
    elif what.space == "constant":
        e.scalars[op] = Value(b, f"@{constants.constant(e, what)}", PTR)
    else:
        private = e.frame.private.get(what)
        if private is not None:
            assert e.frame.spill is not None
            e.scalars[op] = e.moved(e.frame.spill, private)
        else:
            found = e.private.get(what)
            if found is None:
                size = what.size * max(e.lanes, 1)
                found = e.private[what] = e.allocate(f"[{max(size, 1)} x i8]", max(64, what.alignment))
            e.scalars[op] = found


_BUILTIN_PLACES = {"group_count": 0, "group_size": 24, "global_offset": 48, "global_size": 72, "work_dim": 96}


@handles("builtin")
def builtin(e: Emitter, op: Op) -> None:
    which, dimension = op.info
    if which in _BUILTIN_PLACES:
        address = e.moved(e.frame.grid, _BUILTIN_PLACES[which] + 8 * dimension)
        e.scalars[op] = e.b.load(I64, address, align=8, invariant=True)
    elif which == "sub_group_max_size":
        e.scalars[op] = e.b.constant(e.choices.sub_group or max(e.lanes, 1), I64)
    elif which == "sub_group_local_id":
        parts = e.choices.sub_group // max(e.lanes, 1)
        e.scalars[op] = (e.frame.ids["vector", 0] & (parts - 1)) * e.lanes if parts else e.b.constant(0, I64)
    elif which in ("sub_group_id", "sub_group_count") and e.choices.sub_group:
        parts = e.choices.sub_group // e.lanes
        vectors = e.frame.ids[which, 0]
        rounded = vectors if which == "sub_group_id" else vectors + (parts - 1)
        e.scalars[op] = rounded.lshr(parts.bit_length() - 1)
    elif which == "sub_group_size":
        mask = e.frame.mask
        if mask is None:
            e.scalars[op] = e.b.constant(1, I64)
        else:
            e.scalars[op] = e.b.intrinsic("ctpop", e.bits(mask))
    elif e.choices.linear and e.lanes and which in ("global_id", "local_id"):
        found = local_ids(e, dimension)
        e.vectors[op] = found if which == "local_id" else found + e.frame.ids[which, dimension]
    else:
        e.scalars[op] = e.frame.ids[which, dimension]
