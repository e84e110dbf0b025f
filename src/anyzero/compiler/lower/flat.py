"""Writes the work-item loops of kernels that never use their place in a group: blocks that the engine chooses.

Blocks away from the edges may run strip by strip, see `transform/strip_mine.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from anyzero.compiler.llvm import I32, PTR, Type, Value
from anyzero.compiler.lower.active_box import Checks, bounds
from anyzero.compiler.lower.active_rows import ActiveRows
from anyzero.compiler.lower.emitter import Choices
from anyzero.compiler.lower.entry import Entry
from anyzero.compiler.lower.interior_guard import holds
from anyzero.compiler.lower.launch_invariants import LaunchInvariants
from anyzero.compiler.lower.regions import DONE
from anyzero.compiler.transform.grid_stride import Bound
from anyzero.compiler.transform.interior_version import Assumptions
from anyzero.lazy_dataclass import dataclass

Corner = tuple[Value, Value, Value]
"""Bounds of a block: global ids."""


@dataclass(slots=True)
class Strips:
    """A version of the kernel whose loops are cut into strips, see `transform/strip_mine.py`."""

    prefix: str
    rows: int
    """Rows that run at once."""
    regions: int
    per_vector: int
    """Bytes that each keeps from strip to strip."""
    partial: bool
    """Does it pay for a part of a block as well?"""


def flat_entry(
    symbol: str,
    choices: Choices,
    before: LaunchInvariants,
    twice: bool,
    large: int = 0,
    rows: int = 1,
    granted: Assumptions | None = None,
    strips: Strips | None = None,
    checks: Checks | None = None,
    masked: bool = False,
) -> str:
    """Block by block: the engine chooses their size, and the last ones extend beyond the launch.

    With `masked`, code for several rows or for the interior may run under a mask, as the general code does.
    """
    e = Entry(symbol, choices, before, twice, large, rows, granted)
    b = e.b
    box = bounds(e, checks) if checks is not None else None
    inside = ActiveRows(e, masked) if checks is not None and checks.settled else None
    block = e.variable(e.first)

    def run() -> None:
        now = e.get(block)
        e.set(block, now + 1)
        e.read_grid()
        ends = [offset + size for offset, size in zip(e.offset, e.global_size, strict=True)]
        x, rest = b.binary("urem", now, e.count[0]), b.binary("udiv", now, e.count[0])
        y, z = b.binary("urem", rest, e.count[1]), b.binary("udiv", rest, e.count[1])
        x0, y0, z0 = (n * size + offset for n, size, offset in zip((x, y, z), e.size, e.offset, strict=True))
        x1, y1, z1 = (
            b.intrinsic("umin", start + size, end) for start, size, end in zip((x0, y0, z0), e.size, ends, strict=True)
        )
        stride = choices.grid_stride
        if stride is None:
            cut((x0, y0, z0), (x1, y1, z1))
            return
        bound, shift = _elements(e, stride), e.variable(e.number(0))

        def further() -> None:
            now = e.get(shift)
            e.set(shift, now + e.global_size[0])
            elements((x0 + now, y0, z0), (x1 + now, y1, z1))

        e.while_(lambda: b.compare(stride.predicate, x0 + e.get(shift), bound), further)

    def cut(start: Corner, stop: Corner) -> None:
        if box is None:
            elements(start, stop)
            return
        x0, y0, z0 = (b.intrinsic("smax", first, low) for first, low in zip(start, box.low, strict=True))
        x1, y1, z1 = (
            b.intrinsic("smax", b.intrinsic("smin", end, high), first)
            for end, high, first in zip(stop, box.high, (x0, y0, z0), strict=True)
        )
        start, stop = (x0, y0, z0), (x1, y1, z1)
        if inside is None:
            elements(start, stop)
        else:
            e.choose(box.known, lambda: active(start, stop), lambda: pieces(start, stop, one_by_one))

    def elements(start: Corner, stop: Corner) -> None:
        if strips is None:
            pieces(start, stop, lines)
        else:
            e.choose(
                _fits(e, strips.rows, start, stop),
                lambda: _strip_by_strip(e, strips, start, stop),
                lambda: pieces(start, stop, lines),
            )

    def active(start: Corner, stop: Corner) -> None:
        """A block in which all work-items pass their checks."""
        if strips is None:
            pieces(start, stop, active_lines)
            return
        (x0, y0, z0), (x1, y1, z1) = start, stop
        wide, high = ((x1 - x0) & -e.step, (y1 - y0) & -strips.rows)
        fit = b.compare("ule", x1, (x0 | 0x7FFFFFFF) + 1) & b.compare("ne", wide, 0)
        if not strips.partial:
            fit = fit & b.compare("eq", wide, x1 - x0) & b.compare("eq", high, y1 - y0)
        right, below = x0 + wide, y0 + b.select(fit, high, e.number(0))
        e.if_(b.compare("ne", below, y0), lambda: _strip_by_strip(e, strips, start, (right, below, z1)))
        # What is left: on the right side of the strips, then below them.
        left, top, bottom = e.variable(right), e.variable(y0), e.variable(below)

        def beside() -> None:
            pieces((e.get(left), e.get(top), z0), (x1, e.get(bottom), z1), active_lines)
            e.set(left, x0)
            e.set(top, e.get(bottom))
            e.set(bottom, y1 + b.cast("zext", b.compare("eq", e.get(bottom), y1), "i64"))

        e.while_(lambda: b.compare("sle", e.get(bottom), y1), beside)

    def pieces(start: Corner, stop: Corner, write: Callable[[Value, Value, Value, Value, Value], None]) -> None:
        (x0, y0, z0), (x1, y1, z1) = start, stop
        at = e.variable(x0)

        def piece() -> None:
            # Vectors end where 31 bits would overflow, so that the low half of an id never wraps between two lanes.
            first = e.get(at)
            last = b.intrinsic("umin", (first | 0x7FFFFFFF) + 1, x1)
            e.for_(z0, z1, 1, lambda gz: write(first, last, y0, y1, gz))
            e.set(at, last)

        e.while_(lambda: b.compare("ult", e.get(at), x1), piece)

    def lines(x0: Value, x1: Value, y0: Value, y1: Value, gz: Value) -> None:
        e.lines(
            y0, y1,
            lambda gy: rows_(x0, x1, gy, gz),
            lambda gy: e.row(x0, x1, lambda gx, mask: vector(gx, gy, gz, mask)),
        )  # fmt: skip

    def active_lines(x0: Value, x1: Value, y0: Value, y1: Value, gz: Value) -> None:
        assert inside is not None
        inside.write(
            x0, x1, y0, y1,
            lambda gx, gy, mask: vector(gx, gy, gz, mask, e.number(0)),
            lambda gx, gy, mask: vector(gx, gy, gz, mask),
        )  # fmt: skip

    def one_by_one(x0: Value, x1: Value, y0: Value, y1: Value, gz: Value) -> None:
        def row(gy: Value) -> None:
            e.for_(x0, x1 + (e.step - 1), e.step, lambda gx: vector(gx, gy, gz, e.first_lanes(x1 - gx)))

        e.for_(y0, y1, 1, row)

    def rows_(start: Value, stop: Value, gy: Value, gz: Value) -> None:
        e.rows_of_vectors(
            start, stop,
            {"global_x": start, "global_y": gy, "global_z": gz},
            lambda gx, mask: vector(gx, gy, gz, mask, e.number(0)),
            lambda gx, mask, above: vector(gx, gy + above, gz, mask),
        )  # fmt: skip

    def vector(gx: Value, gy: Value, gz: Value, mask: Value | None, between: Value | None = None) -> None:
        e.region(0, mask, {"global_x": gx, "global_y": gy, "global_z": gz, "spill": e.scratch}, between=between)

    e.while_(lambda: b.compare("ult", e.get(block), e.last), run)
    return e.text()


def _elements(e: Entry, bound: Bound) -> Value:
    """The elements of a grid-stride loop."""
    type_ = Type(bound.type)
    value = e.b.load(type_, e.at(e.arguments, bound.offset), align=type_.bits // 8, invariant=True)
    return value if bound.type == "i64" else e.b.cast(bound.extension, value, "i64")


def _fits(e: Entry, rows: int, start: Corner, stop: Corner) -> Value:
    """May the whole block run strip by strip: all rows and vectors full, and nothing at the edges?"""
    b = e.b
    size = [last - first for first, last in zip(start, stop, strict=True)]
    answer = b.compare("eq", b.binary("urem", size[0], e.number(e.step)) | b.binary("urem", size[1], e.number(rows)), 0)
    answer = answer & b.compare("ule", stop[0], (start[0] | 0x7FFFFFFF) + 1)
    if e.granted is None:
        return answer
    ids = dict(zip(("global_x", "global_y", "global_z"), start, strict=True))
    return answer & holds(e, e.granted, ids, [each - 1 for each in size])


def _strip_by_strip(e: Entry, strips: Strips, start: Corner, stop: Corner) -> None:
    """All vectors of a block run one region before any runs the next; the next region is the same for all."""
    b = e.b
    current = e.variable(b.constant(0, I32))
    every = Value(b, "splat (i1 true)", Type("i1", e.lanes))
    between = b.binary("udiv", stop[0] - start[0], e.number(e.step)) * strips.per_vector

    def run(number: int) -> None:
        spill = e.variable(e.scratch)
        following = e.variable(b.constant(DONE, I32))

        def vector(x: Value, y: Value, z: Value) -> None:
            now = e.get(spill, PTR)
            ids = {"global_x": x, "global_y": y, "global_z": z, "spill": now}
            e.set(following, e.region(number, every, ids, between=between, prefix=strips.prefix))
            e.set(spill, e.at(now, strips.per_vector))

        def row(y: Value, z: Value) -> None:
            e.for_(start[0], stop[0], e.step, lambda x: vector(x, y, z))
            e.set(spill, e.at(e.get(spill, PTR), between * (strips.rows - 1)))

        e.for_(start[2], stop[2], 1, lambda z: e.for_(start[1], stop[1], strips.rows, lambda y: row(y, z)))
        e.set(current, e.get(following, I32))

    def once() -> None:
        now = e.get(current, I32)
        for number in range(strips.regions):
            e.if_(b.compare("eq", now, number), lambda number=number: run(number))  # type: ignore[misc]

    e.while_(lambda: b.compare("ne", e.get(current, I32), DONE), once)
