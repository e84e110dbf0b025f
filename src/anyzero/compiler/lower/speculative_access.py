"""Accesses that are contiguous in most vectors: a test at run time picks a vector access or a gather.

An index that wraps (`i % n`) is two contiguous runs in the vector in which it does. Two masked loads instead of the
gather do not pay: inactive lanes may lie on an inaccessible page, such as the guard page after local memory, and then
the processor's slow path takes far longer than a gather.
"""

from __future__ import annotations

from anyzero.compiler.ir import SIZES, Access, Op
from anyzero.compiler.llvm import I64, PTR, Type, Value
from anyzero.compiler.lower.emitter import Emitter
from anyzero.compiler.lower.gathers import aligned, gather_one, scatter, typed, untyped, whole_type
from anyzero.compiler.lower.lane_counts import count_access
from anyzero.compiler.lower.masked import masked_load, masked_store
from anyzero.compiler.lower.unclamped import unclamped
from anyzero.layouts.container import CounterKind
from anyzero.lazy_dataclass import dataclass


@dataclass(slots=True)
class _Run:
    """Lanes that may be contiguous, from some lane on."""

    base: Value
    """The address that lane 0 would have."""
    broken: Value
    """Are there active lanes that are not contiguous with it?"""
    bent: _Index | None = None
    """An index that is clamped: lanes before a bound are all at the bound, and so are lanes behind one."""


@dataclass(slots=True)
class _Index:
    """The varying part of a pointer, in its narrow type."""

    op: Op
    step: int
    """The stride."""


def load(e: Emitter, pointer: Op, element: str, access: Access) -> Value:
    b, mask = e.b, e.mask
    assert mask is not None
    size = SIZES[element]
    alignment = aligned(access, size)
    run = _first_run(e, pointer, size)
    wide = Type(whole_type(element), e.lanes)
    known, near, far, join = e.known, e.label(), e.label(), e.label()
    b.branch(run.broken, far, near)
    e.start(near)
    count_access(e, CounterKind.CONTIGUOUS)
    found = [(masked_load(e, run.base, wide, mask, alignment), e.last_label())]
    b.jump(join)
    e.start(far)
    e.remember(known)
    # For bytes and shorts that is more code than single loads: the first stage is to be ready soon.
    quick = size < 4 and e.choices.options.one_version
    if run.bent is not None and e.choices.target.register > 16 and not quick:
        picked = _load_bent(e, pointer, run, wide, alignment)
    else:
        picked = untyped(e, gather_one(e, e.vector(pointer), element, alignment))
    found.append((picked, e.last_label()))
    b.jump(join)
    e.start(join)
    e.forget_since(known)
    return typed(e, b.phi(*found), element)


def store(e: Emitter, pointer: Op, value: Value, access: Access) -> None:
    b, mask = e.b, e.mask
    assert mask is not None
    size = SIZES[value.type.element]
    run = _first_run(e, pointer, size)
    known, near, far, join = e.known, e.label(), e.label(), e.label()
    b.branch(run.broken, far, near)
    e.start(near)
    count_access(e, CounterKind.CONTIGUOUS)
    masked_store(e, untyped(e, value), run.base, mask, aligned(access, size))
    b.jump(join)
    e.start(far)
    e.remember(known)
    scatter(e, e.vector(pointer), [value], access)
    b.jump(join)
    e.start(join)
    e.forget_since(known)


def _load_bent(e: Emitter, pointer: Op, run: _Run, wide: Type, alignment: int) -> Value:
    """Lanes between the bounds by a masked load. Lanes at a bound have the address of the first or of the last active
    lane, which are loaded once.
    """
    b, mask, index = e.b, e.mask, run.bent
    assert mask is not None
    assert index is not None
    straight = unclamped(e, index.op)
    assert straight is not None
    count_access(e, CounterKind.CONTIGUOUS)
    lanes = e.vector(index.op)
    between = b.compare("eq", lanes, e.apart(straight.value, index.step))
    ends = (e.first_lane() or b.constant(0, I64), e.last_lane(mask))
    first, last = (
        b.spread(b.load(Type(wide.element), e.lane_of(pointer, lane), align=alignment), e.lanes) for lane in ends
    )
    before = b.compare("eq", lanes, b.spread(e.lane_of(index.op, ends[0]), e.lanes))
    inside = masked_load(e, run.base, wide, e.both(mask, between), alignment)
    return b.select(between, inside, b.select(before, first, last))


def _first_run(e: Emitter, pointer: Op, size: int) -> _Run:
    """From the first active lane on."""
    mask = e.mask
    assert mask is not None
    index = _index(e, pointer, size)
    found = unclamped(e, pointer)
    if found is not None:
        return _Run(found.value, ~found.holds, index)
    lane = e.first_lane() or e.b.constant(0, I64)
    first = e.lane_of(index.op, lane)
    base = e.moved(e.lane_of(pointer, lane), lane * -size)
    return _Run(base, e.any(_astray(e, index, lane, first, mask)))


def _astray(e: Emitter, index: _Index, lane: Value, first: Value, among: Value) -> Value:
    b = e.b
    lanes = e.vector(index.op)
    if first.type == PTR:
        # Numbers: LLVM ends the process where it simplifies some comparisons of vectors of addresses.
        start, lanes = b.cast("ptrtoint", first, "i64") - lane * index.step, b.cast("ptrtoint", lanes, "i64")
    else:
        start = first - b.cast("trunc", lane * index.step, first.type.element)
    return e.both(among, b.compare("ne", lanes, e.apart(start, index.step)))


def _index(e: Emitter, op: Op, step: int) -> _Index:
    """The varying part of a pointer with a stride of `step` bytes."""
    while True:
        scale = op.args[1].info if op.name == "mul" and op.args[1].name == "const" else 0
        if op.name == "offset" and e.shape(op.args[0]).uniform:
            op = op.args[1]
        elif scale and step % scale == 0:
            op, step = op.args[0], step // scale
        elif (
            op.name == "cast"
            and op.info in ("sext", "zext")
            and op.args[0].type == "i32"
            and not e.choices.options.greater_than_4gb
        ):
            # One that wraps around between two lanes has no lanes in the same buffer.
            op = op.args[0]
        elif op.name == "add" and any(e.shape(each).uniform for each in op.args):
            # All rows of a stencil share the test of what is left.
            op = op.args[e.shape(op.args[0]).uniform]
        else:
            return _Index(op, step)
