"""Residency checks: the engine knows the memory that a launch may access, and ends the kernel at any other access."""

from __future__ import annotations

from anyzero.compiler.ir import Op, Reach
from anyzero.compiler.llvm import I64, Value
from anyzero.compiler.lower.emitter import Emitter
from anyzero.compiler.lower.handlers import Chapter
from anyzero.compiler.lower.memory import placed

handles = Chapter()

_RESIDENT = "declare void @az_resident(ptr, ptr, i64, i64)"
_APART = "declare void @az_resident_apart(ptr, ptr, i64, i64, i64)"


@handles("resident")
def resident(e: Emitter, op: Op) -> None:
    reach: Reach = op.info
    pointer, *sizes = op.args
    shape = e.shape(pointer)
    if sizes:
        _run_time_size(e, pointer, sizes, reach.bytes)
    elif reach.rows:
        _block(e, pointer, reach)
    elif not e.lanes or shape.uniform:
        _one(e, e.scalar(pointer), e.b.constant(reach.bytes, I64))
    elif shape.stride is not None and placed(e, pointer):
        _apart(e, e.base(pointer), shape.stride, reach.bytes)
    else:
        _each(e, e.vector(pointer), reach.bytes)


def _call(e: Emitter, addresses: Value, lanes: Value, size: Value) -> None:
    e.b.intrinsics.setdefault("az_resident", _RESIDENT)
    e.b.line(f"call void @az_resident({e.frame.worker.typed}, {addresses.typed}, {lanes.typed}, {size.typed})")


def _one(e: Emitter, address: Value, size: Value) -> None:
    place = e.allocate(address.type)
    e.b.store(address, place)
    _call(e, place, e.b.constant(1, I64), size)


def _apart(e: Emitter, first: Value, stride: int, size: int) -> None:
    """Strided lanes, from lane 0's address: the engine checks the first and the last."""
    mask = e.mask
    assert mask is not None
    e.b.intrinsics.setdefault("az_resident_apart", _APART)
    e.b.line(
        f"call void @az_resident_apart({e.frame.worker.typed}, {first.typed}, i64 {stride}, {e.bits(mask).typed}, "
        f"i64 {size})"
    )


def _each(e: Emitter, addresses: Value, size: int) -> None:
    """Checks the active lanes."""
    mask = e.mask
    assert mask is not None
    place = e.allocate(addresses.type)
    e.b.store(addresses, place)
    _call(e, place, e.bits(mask), e.b.constant(size, I64))


def _block(e: Emitter, pointer: Op, reach: Reach) -> None:
    """Checks contiguous rows, from the first lane's address."""
    address = e.value(pointer)
    if address.type.lanes:
        address = e.b.lane(address, e.first_lane() or 0)
    for row in range(reach.rows):
        first = e.moved(address, row * max(e.lanes, 1) * reach.bytes)
        if e.lanes:
            _apart(e, first, reach.bytes, reach.bytes)
        else:
            _one(e, first, e.b.constant(reach.bytes, I64))


def _run_time_size(e: Emitter, pointer: Op, sizes: list[Op], element: int) -> None:
    """Checks a number of elements, contiguous or strided."""

    def one(_: Value, address: Value, count: Value, *stride: Value) -> list[Value]:
        if stride:
            none = e.b.compare("eq", count, 0)
            count = e.b.select(none, count, (count - 1) * stride[0] + 1)
        _one(e, address, count * element)
        return []

    operands = [pointer, *sizes]
    if not e.lanes or all(e.shape(each).uniform for each in operands):
        one(e.b.constant(0, I64), *(e.scalar(each) for each in operands))
    else:
        e.for_each_lane([e.value(each) for each in operands], [], one)
