"""Accesses whose lanes are neighbours nearly everywhere, which is asked at run time.

An index that starts over (`i % n`) is two runs of neighbours in the vector in which it does: two loads, where a gather
takes as long as a load for each lane.
"""

from __future__ import annotations

from dataclasses import dataclass

from anyzero.compiler.analysis.likely import starts_over
from anyzero.compiler.ir import SIZES, Access, Op
from anyzero.compiler.lower.emitter import Emitter
from anyzero.compiler.lower.gathers import aligned, gather_one, scatter, typed, untyped, whole_type
from anyzero.compiler.lower.llvm import I1, I64, PTR, Type, Value
from anyzero.compiler.lower.masked import masked_load, masked_store


@dataclass(slots=True)
class _Run:
    """Lanes from some lane on that may be neighbours."""

    lane: Value
    """The first of them."""
    first: Value
    """Its index."""
    base: Value
    """Where lane 0 would be."""
    astray: Value
    """Lanes that are here and no neighbours of it."""


@dataclass(slots=True)
class _Index:
    """What the lanes of a pointer differ by, as narrow as it is."""

    op: Op
    step: int
    """How far apart neighbours are."""
    widened: str
    """How it becomes 64 bits: sext, zext, or not at all."""


def load(e: Emitter, pointer: Op, element: str, access: Access) -> Value:
    b, mask = e.b, e.mask
    assert mask is not None
    size = SIZES[element]
    alignment = aligned(access, size)
    pointers = e.vector(pointer)
    index = _index(e, pointer, size)
    run = _first_run(e, pointer, index, size)
    wide = Type(whole_type(element), e.lanes)
    known, near, far, join = e.known, e.label(), e.label(), e.label()
    b.line(f"br {e.any(run.astray).typed}, label %{far}, label %{near}")
    e.start(near)
    found = [(masked_load(e, run.base, wide, mask, alignment), near)]
    b.line(f"br label %{join}")
    e.start(far)
    e.forget_since(dict(known))
    if starts_over(pointer, e.shapes):
        second = _second_run(e, run, index, size)
        two, anywhere = e.label(), e.label()
        b.line(f"br {e.any(second.astray).typed}, label %{anywhere}, label %{two}")
        e.start(two)
        front = b.select(run.astray, b.zero(mask.type), mask)
        loaded = masked_load(e, run.base, wide, front, alignment)
        found.append((masked_load(e, second.base, wide, run.astray, alignment, loaded), two))
        b.line(f"br label %{join}")
        e.start(anywhere)
        e.forget_since(dict(known))
    picked = untyped(e, gather_one(e, pointers, element, alignment))
    found.append((picked, e.last_label()))
    b.line(f"br label %{join}")
    e.start(join)
    e.forget_since(known)
    ways = ", ".join(f"[ {value.text}, %{label} ]" for value, label in found)
    return typed(e, b.op(f"phi {wide} {ways}", wide), element)


def store(e: Emitter, pointer: Op, value: Value, access: Access) -> None:
    b, mask = e.b, e.mask
    assert mask is not None
    size = SIZES[value.type.element]
    pointers = e.vector(pointer)
    run = _first_run(e, pointer, _index(e, pointer, size), size)
    known, near, far, join = e.known, e.label(), e.label(), e.label()
    b.line(f"br {e.any(run.astray).typed}, label %{far}, label %{near}")
    e.start(near)
    masked_store(e, untyped(e, value), run.base, mask, aligned(access, size))
    b.line(f"br label %{join}")
    e.start(far)
    e.forget_since(dict(known))
    scatter(e, pointers, [value], access)
    b.line(f"br label %{join}")
    e.start(join)
    e.forget_since(known)


def _first_run(e: Emitter, pointer: Op, index: _Index, size: int) -> _Run:
    """From the first lane that is here on."""
    mask = e.mask
    assert mask is not None
    lane = e.first_lane() or e.b.constant(0, I64)
    first = e.lane_of(index.op, lane)
    base = e.moved(e.lane_of(pointer, lane), lane * -size)
    return _Run(lane, first, base, _astray(e, index, lane, first, mask))


def _second_run(e: Emitter, run: _Run, index: _Index, size: int) -> _Run:
    """From the first lane on that is not in the first run."""
    b = e.b
    lane = b.call("llvm.cttz.i64", I64, e.bits(run.astray), b.constant(1, I1))
    first = b.lane(e.vector(index.op), lane)
    if first.type == PTR:
        base = e.moved(first, lane * -size)
    else:
        there, here = (b.cast(index.widened, each, "i64") if index.widened else each for each in (first, run.first))
        base = e.moved(run.base, (there - here) * (size // index.step) - (lane - run.lane) * size)
    return _Run(lane, first, base, _astray(e, index, lane, first, run.astray))


def _astray(e: Emitter, index: _Index, lane: Value, first: Value, among: Value) -> Value:
    b = e.b
    if first.type == PTR:
        start = e.moved(first, lane * -index.step)
    else:
        start = first - b.cast("trunc", lane * index.step, first.type.element)
    other = b.compare("ne", e.vector(index.op), e.apart(start, index.step))
    return b.select(among, other, b.zero(among.type))


def _index(e: Emitter, op: Op, step: int) -> _Index:
    """Of a pointer whose neighbours are `step` bytes apart."""
    widened = ""
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
            op, widened = op.args[0], op.info
        else:
            return _Index(op, step, widened)
