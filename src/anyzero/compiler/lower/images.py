"""Images, printf and faults: calls of the engine, once for a whole vector or once for each lane."""

from __future__ import annotations

from collections.abc import Callable

from anyzero.compiler.ir import FAULTS, ImageAccess, Op
from anyzero.compiler.llvm import I32, I64, PTR, Type, Value
from anyzero.compiler.lower.arithmetic import fault
from anyzero.compiler.lower.bounds import check_texels
from anyzero.compiler.lower.calls import mask_bits
from anyzero.compiler.lower.emitter import Emitter
from anyzero.compiler.lower.handlers import Chapter
from anyzero.layouts.kernel import WORKER_OFFSETS

handles = Chapter()

_READ = "declare void @az_image_read(ptr, ptr, i32, i64, ptr, i32, ptr, ptr, i32)"
_WRITE = "declare void @az_image_write(ptr, i32, i64, ptr, ptr, i32)"
_QUERY = "declare i32 @az_image_query(ptr, i32)"
_PRINTF = "declare void @az_printf(ptr, ptr, ptr, i32)"

_QUERIES = {
    "width": 0, "height": 1, "depth": 2, "array_size": 3, "channel_type": 4, "channel_order": 5, "levels": 6,
    "samples": 7,
}  # fmt: skip


def _lanes(e: Emitter) -> int:
    return max(e.lanes, 1)


def _mask(e: Emitter) -> Value:
    mask = e.mask
    return e.b.constant(1, I64) if mask is None else e.bits(mask)


def _rows(e: Emitter, values: list[Value]) -> Value:
    """Vectors of 32-bit numbers, contiguous in memory."""
    b = e.b
    space = e.allocate(f"[{4 * _lanes(e)} x i32]", 64)
    for index, value in enumerate(values):
        place = e.moved(space, index * 4 * _lanes(e))
        b.store(value, place, align=4)
    return space


def _coordinates(e: Emitter, ops: list[Op], floats: bool) -> list[Value]:
    b = e.b
    found = []
    for op in ops:
        value = e.vector(op)
        if floats and value.type.element != "float":
            value = b.cast("fpext" if value.type.bits < 32 else "fptrunc", value, "float")
        elif not floats and value.type.bits != 32:
            value = b.cast("sext" if value.type.bits < 32 else "trunc", value, "i32")
        found.append(value)
    return found


def _for_each_image(e: Emitter, things: list[Value], call: Callable[[list[Value], Value], None]) -> None:
    """An image is uniform, unless a kernel uses bindless handles: then one call for each distinct image."""
    b, lanes = e.b, e.lanes
    differing = [each for each in things if each.type.lanes]
    if not differing:
        call(things, _mask(e))
        return
    mask = e.mask
    assert mask is not None
    left = e.allocate(mask.type)
    b.store(mask, left)
    known = e.known
    head, done = e.label(), e.label()
    b.jump(head)
    e.start(head)
    rest = b.load(mask.type, left)
    lane = b.call("llvm.cttz.i64", I64, mask_bits(e, rest), b.constant(1, Type("i1")))
    found = [b.lane(each, lane) if each.type.lanes else each for each in things]
    same = rest
    for each, one in zip(things, found, strict=True):
        if each.type.lanes:
            same = b.compare("eq", each, b.spread(one, lanes)) & same
    call(found, mask_bits(e, same))
    rest = rest & ~same
    b.store(rest, left)
    b.branch(b.compare("ne", mask_bits(e, rest), 0), head, done)
    e.start(done)
    e.forget_since(known)


@handles("image_read")
def image_read(e: Emitter, op: Op) -> None:
    b = e.b
    access: ImageAccess = op.info
    rest = list(op.args[1:])
    things = [e.value(op.args[0]), e.value(rest.pop(0)) if access.sampler else Value(b, "null", PTR)]
    coordinates = _rows(e, _coordinates(e, rest[: access.coordinates], access.float_coordinates))
    lod = Value(b, "null", PTR)
    if access.lod:
        lod = _rows(e, _coordinates(e, rest[access.coordinates : access.coordinates + 1], True))
    texel = e.allocate(f"[{4 * _lanes(e)} x i32]", 64)
    b.intrinsics.setdefault("az_image_read", _READ)

    def call(found: list[Value], mask: Value) -> None:
        check_texels(e, op, found[0], found[1], coordinates, mask)
        b.line(
            f"call void @az_image_read({found[0].typed}, {found[1].typed}, i32 {_lanes(e)}, {mask.typed}, "
            f"{coordinates.typed}, i32 {int(access.float_coordinates)}, {lod.typed}, {texel.typed}, i32 {access.kind})"
        )

    _for_each_image(e, things, call)
    element = "float" if access.kind == 0 else "i32"
    type_ = Type(element, e.lanes)
    e.parts[op] = [b.load(type_, e.moved(texel, component * 4 * _lanes(e)), align=4) for component in range(4)]


@handles("image_write")
def image_write(e: Emitter, op: Op) -> None:
    b = e.b
    access: ImageAccess = op.info
    rest = list(op.args[1:])
    coordinates = _rows(e, _coordinates(e, rest[: access.coordinates], False))
    texel = _rows(e, [e.vector(each) for each in rest[access.coordinates : access.coordinates + 4]])
    b.intrinsics.setdefault("az_image_write", _WRITE)

    def call(found: list[Value], mask: Value) -> None:
        check_texels(e, op, found[0], Value(b, "null", PTR), coordinates, mask)
        b.line(
            f"call void @az_image_write({found[0].typed}, i32 {_lanes(e)}, {mask.typed}, {coordinates.typed}, "
            f"{texel.typed}, i32 {access.kind})"
        )

    _for_each_image(e, [e.value(op.args[0])], call)


@handles("image_query", "handle_query")
def image_query(e: Emitter, op: Op) -> None:
    b = e.b
    what = op.info if isinstance(op.info, int) else _QUERIES[op.info]
    b.intrinsics.setdefault("az_image_query", _QUERY)
    image = e.value(op.args[0])
    if image.type.lanes:
        (e.vectors[op],) = e.for_each_lane([image], [I32], lambda _, each: [_query(e, each, what)])
        return
    found = _query(e, image, what)
    if e.shape(op).uniform or not e.lanes:
        e.scalars[op] = found
    else:
        e.vectors[op] = b.spread(found, e.lanes)


def _query(e: Emitter, image: Value, what: int) -> Value:
    return e.b.apply("az_image_query", I32, image, also=f", i32 {what}")


_ADDRESSING = {0: 0, 1: 2, 2: 3, 3: 1, 4: 4}
"""From SPIR-V's numbers of address modes to Level Zero's: none, clamp to edge, clamp to a border, repeat, mirrored."""


@handles("sampler")
def sampler(e: Emitter, op: Op) -> None:
    addressing, normalized, filter_ = op.info
    name = f"sampler.{addressing}.{int(normalized)}.{filter_}"
    e.globals[name] = (
        f"@{name} = private unnamed_addr constant {{ i32, i32, i32 }} "
        f"{{ i32 {_ADDRESSING[addressing]}, i32 {filter_}, i32 {int(normalized)} }}, align 4"
    )
    e.scalars[op] = Value(e.b, f"@{name}", PTR)


@handles("printf")
def printf(e: Emitter, op: Op) -> None:
    b = e.b
    values = op.args[1:]
    space = e.allocate(f"[{max(len(values), 1)} x i64]", 8)
    b.intrinsics.setdefault("az_printf", _PRINTF)

    def one(_: Value, format_: Value, *given: Value) -> list[Value]:
        for index, value in enumerate(given):
            b.store(value, e.moved(space, index * 8), align=8)
        b.line(f"call void @az_printf({e.frame.worker.typed}, {format_.typed}, {space.typed}, i32 {len(given)})")
        return []

    e.for_each_lane([e.value(op.args[0]), *(_slot(e, e.value(each)) for each in values)], [], one)


def _slot(e: Emitter, value: Value) -> Value:
    """An argument of printf, as 64 bits."""
    b = e.b
    if value.type.is_float:
        wide = value if value.type.element == "double" else b.cast("fpext", value, "double")
        return b.bitcast(wide, "i64")
    if value.type.element == "ptr":
        return b.cast("ptrtoint", value, "i64")
    return b.cast("zext", value, "i64")


@handles("fault")
def fault_(e: Emitter, op: Op) -> None:
    mask = e.mask
    here = e.any(mask) if mask is not None else e.b.constant(1, Type("i1"))
    kind = FAULTS[op.info] if isinstance(op.info, str) else op.info
    fault(e, here, kind, e.b.constant(op.word, I64))


@handles("space_of")
def space_of(e: Emitter, op: Op) -> None:
    """Tests the address: local memory and the memory of vectors are ranges in the worker's record."""
    b = e.b

    def word(field: str) -> Value:
        place = e.moved(e.frame.worker, WORKER_OFFSETS[field])
        return b.load(I64, place, align=8, invariant=True)

    fields = ("local", "scratch", "local_bytes", "scratch_bytes")
    local, scratch, local_bytes, scratch_bytes = (word(field) for field in fields)

    def compute(pointer: Value) -> Value:
        address = b.cast("ptrtoint", pointer, "i64")
        in_local = b.compare("ult", address - local, local_bytes)
        in_private = b.compare("ult", address - scratch, scratch_bytes)
        type_ = pointer.type.of("i32")
        return b.select(
            in_local, b.constant(1, type_), b.select(in_private, b.constant(2, type_), b.constant(0, type_))
        )

    e.elementwise(op, compute)
