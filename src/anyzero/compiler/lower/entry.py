"""Writes the work-item loops: the code around the regions that runs all vectors of a launch.

Lanes are neighbours along the first dimension. A kernel runs group by group; with barriers, all vectors of a group run
one region before any runs the next. Kernels that never use their place in a group run in blocks, see `flat.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from anyzero.compiler.ir import Variable
from anyzero.compiler.llvm import I1, I32, I64, PTR, Builder, Type, Value
from anyzero.compiler.lower import streaming
from anyzero.compiler.lower.emitter import Choices
from anyzero.compiler.lower.interior_guard import holds
from anyzero.compiler.lower.launch_invariants import LaunchInvariants
from anyzero.compiler.lower.local_memory import initialize
from anyzero.compiler.lower.lockstep import Group, write_lockstep
from anyzero.compiler.lower.lockstep_schedule import Schedule
from anyzero.compiler.lower.notes import GroupNotes
from anyzero.compiler.lower.regions import DONE, PARAMETERS
from anyzero.compiler.transform.interior_version import Assumptions
from anyzero.layouts.kernel import GRID_BYTES, GRID_OFFSETS, WORKER_BYTES, WORKER_OFFSETS

STATE_BYTES = 128
"""Before a vector's memory: the number of the region that it runs next."""


class Entry:
    """An LLVM function with counted loops; its variables are allocas that LLVM promotes."""

    def __init__(
        self,
        symbol: str,
        choices: Choices,
        before: LaunchInvariants,
        twice: bool,
        large: int = 0,
        rows: int = 1,
        granted: Assumptions | None = None,
    ) -> None:
        """Launches of at least `large` work-items use non-temporal stores; 0 without such stores."""
        self.symbol = symbol
        self.before = before
        self.args_bytes = choices.args_bytes
        self.prefix = choices.prefix
        self.rows = rows
        """Rows that run at once, while as many are left."""
        self.granted = granted
        """The assumptions of the code for several rows."""
        self.linear = choices.linear
        """Do vectors continue from one row of a group into the next?"""
        self.lanes = choices.lanes if choices.lanes > 1 else 0
        self.step = max(choices.lanes, 1)
        self.wide = choices.target.wide
        self.mask = choices.mask
        self.twice = twice
        """Is code for whole vectors and for the rest of a row written separately?"""
        self.b = Builder("e")
        self.allocations: list[str] = []
        self.labels = 0
        b = self.b
        self.arguments, self.grid, self.worker = (Value(b, f"%{name}", PTR) for name in ("arguments", "grid", "worker"))
        self.first, self.last = Value(b, "%first", I64), Value(b, "%last", I64)
        starts = [GRID_OFFSETS[each] for each in ("group_count", "group_size", "global_offset", "global_size")]
        self.count, self.size, self.offset, self.global_size = (
            [self.load(self.grid, start + 8 * dimension, I64) for dimension in range(3)] for start in starts
        )
        # The engine chooses the groups of a kernel that does not use them.
        self.fixed = None if choices.flat else choices.group_size
        """The size of all groups, where the kernel requires one."""
        self.exact = self.fixed is not None and choices.likely is None
        """Is that the only size, so that there is no code for others?"""
        if self.fixed is not None:
            # Constants, so that LLVM drops loops that never run.
            self.size = [self.number(each) for each in self.fixed]
        self.only_rows = granted is None and several_only(rows, self.step, self.fixed)
        self.scratch = self.load(self.worker, WORKER_OFFSETS["scratch"], PTR)
        self.stream = streaming.misaligned_bits(self, large) if large else None
        self.whole = True
        """May all lanes be active in the code that is being written?"""

    def text(self) -> str:
        arguments, grid, worker = (
            f"ptr noalias readonly align 8 dereferenceable({size}) %{name}" if size else f"ptr noalias readonly %{name}"
            for name, size in (("arguments", self.args_bytes), ("grid", GRID_BYTES), ("worker", WORKER_BYTES))
        )
        if self.stream is not None:
            streaming.fence(self, self.stream)
        head = f"define void @{self.symbol}({arguments}, {grid}, i64 %first, i64 %last, {worker}) #0 #1 {{"
        return "\n".join([head, "entry:", *self.allocations, *self.before.lines, *self.b.lines, "  ret void", "}"])

    # Pieces

    def load(self, pointer: Value, place: int, type_: Type) -> Value:
        return self.b.load(type_, self.at(pointer, place), align=8, invariant=True)

    def at(self, pointer: Value, place: int | Value) -> Value:
        return self.b.element("i8", pointer, place if isinstance(place, Value) else self.b.constant(place, I64))

    def variable(self, start: Value) -> Value:
        name = f"%place{len(self.allocations)}"
        self.allocations.append(f"  {name} = alloca {start.type}")
        place = Value(self.b, name, PTR)
        self.set(place, start)
        return place

    def get(self, place: Value, type_: Type = I64) -> Value:
        return self.b.load(type_, place)

    def set(self, place: Value, value: Value) -> None:
        self.b.store(value, place)

    def room(self, size: int) -> Value:
        """Memory of the function itself."""
        name = f"%place{len(self.allocations)}"
        self.allocations.append(f"  {name} = alloca [{size} x i8], align 8")
        return Value(self.b, name, PTR)

    def label(self, name: str) -> str:
        return self._labels(name)[0]

    def _labels(self, *names: str) -> list[str]:
        self.labels += 1
        return [f"{name}{self.labels}" for name in names]

    def while_(self, condition: Callable[[], Value], body: Callable[[], None]) -> None:
        head, inside, behind = self._labels("while", "do", "done")
        b = self.b
        b.jump(head)
        b.label(head)
        b.branch(condition(), inside, behind)
        b.label(inside)
        body()
        b.jump(head)
        b.label(behind)

    def if_(self, condition: Value, body: Callable[[], None]) -> None:
        inside, behind = self._labels("then", "end")
        b = self.b
        b.branch(condition, inside, behind)
        b.label(inside)
        body()
        b.jump(behind)
        b.label(behind)

    def choose(self, condition: Value, body: Callable[[], None], otherwise: Callable[[], None]) -> None:
        inside, other, behind = self._labels("then", "else", "end")
        b = self.b
        b.branch(condition, inside, other)
        for label, write in ((inside, body), (other, otherwise)):
            b.label(label)
            write()
            b.jump(behind)
        b.label(behind)

    def for_(self, start: Value, stop: Value, step: int, body: Callable[[Value], None]) -> Value:
        """Counts while a whole step fits; returns the end."""
        counter = self.variable(start)
        limit = stop - (step - 1)

        def once() -> None:
            now = self.get(counter)
            body(now)
            self.set(counter, now + step)

        self.while_(lambda: self.b.compare("slt", self.get(counter), limit), once)
        return self.get(counter)

    def number(self, value: int) -> Value:
        return self.b.constant(value, I64)

    # Vectors

    def region(
        self,
        number: int,
        mask: Value | None,
        ids: dict[str, Value],
        *more: Value,
        between: Value | None = None,
        prefix: str | None = None,
    ) -> Value:
        """`between` is given where several rows run at once: bytes from one row's memory to the next row's."""
        known = {"arguments": self.arguments, "grid": self.grid, "worker": self.worker, **ids}
        known["stream"] = self.stream if self.stream is not None and self.whole else self.number(streaming.NEVER)
        known["whole"] = self.b.constant(self.whole, I1)
        given = [known.get(name, self.b.poison(type_)) for name, type_ in PARAMETERS]
        if mask is not None:
            given.append(mask)
        given += more
        name = f"{self.prefix if prefix is None else prefix}region{number}"
        if between is not None:
            name += ".rows"
            given.append(between)
        given += self.before.needs.get(name, ())
        return self.b.apply(name, I32, *given)

    def row(self, start: Value, stop: Value, body: Callable[[Value, Value | None], None]) -> None:
        """Vectors from `start` to before `stop`; the body gets the first lane's place and the mask."""
        b, lanes = self.b, self.lanes
        if not lanes:
            self.for_(start, stop, 1, lambda x: body(x, None))
            return
        if not self.twice:
            self.for_(start, stop + (lanes - 1), lanes, lambda x: body(x, self.first_lanes(stop - x)))
            return
        every = Value(b, "splat (i1 true)", Type("i1", lanes))
        at = self.for_(start, stop, lanes, lambda x: body(x, every))
        left = stop - at
        self.whole = False
        self.if_(
            b.compare("sgt", left, 0),
            lambda: body(at, self.some_lanes(left)),
        )
        self.whole = True

    def rows_of_vectors(
        self,
        start: Value,
        stop: Value,
        several: Callable[[Value, Value | None, Value], None],
        single: Callable[[Value, Value | None, Value], None],
    ) -> None:
        """The same vectors of as many rows as run at once; what is left of a row at its end runs row by row.

        Both bodies get the first lane's place, the mask, and how many rows are above: none where several run.
        """
        b, lanes, none = self.b, self.lanes, self.number(0)
        every = Value(b, "splat (i1 true)", Type("i1", lanes)) if lanes else None
        at = self.for_(start, stop, self.step, lambda x: several(x, every, none))
        if not lanes or self.only_rows:
            return
        left = stop - at

        def rest() -> None:
            self.for_(none, self.number(self.rows), 1, lambda row: single(at, self.first_lanes(left), row))

        self.whole = False
        self.if_(b.compare("sgt", left, 0), rest)
        self.whole = True

    def several(self, ids: dict[str, Value], together: Callable[[], None], single: Callable[[Value], None]) -> None:
        """The same vector of some rows: together where the assumptions hold, else row by row."""
        if self.granted is None:
            together()
            return
        answer = holds(self, self.granted, ids)
        self.if_(answer, together)
        self.if_(~answer, lambda: keep(self.for_(self.number(0), self.number(self.rows), 1, single)))

    def lines(
        self, start: Value, stop: Value, several: Callable[[Value], None], single: Callable[[Value], None]
    ) -> None:
        """Counts rows, several at a time while there are as many."""
        if self.rows > 1 or self.granted is not None:
            start = self.for_(start, stop, self.rows, several)
            if self.only_rows:
                return
        self.for_(start, stop, 1, single)

    def first_lanes(self, count: Value) -> Value:
        """The mask of the first `count` lanes, at least one; all lanes if it is more."""
        if self.wide:
            return self._counted(self.b.intrinsic("umin", count, self.number(self.lanes)), self.lanes)
        return self._compared(count)

    def some_lanes(self, count: Value) -> Value:
        """The same where the last lane is known to be inactive."""
        return self._counted(count, self.lanes - 1) if self.wide else self._compared(count)

    def _compared(self, count: Value) -> Value:
        b, lanes = self.b, self.lanes
        if self.mask == "i1":
            return b.compare("sgt", b.spread(count, lanes), b.each(range(lanes), "i64"))
        # As wide as masks are, so that it need not be packed.
        few = b.cast("trunc", b.intrinsic("umin", count, self.number(lanes)), self.mask)
        return b.compare("sgt", b.spread(few, lanes), b.each(range(lanes), self.mask))

    def _counted(self, count: Value, most: int) -> Value:
        """A bit for each lane, where masks are bits: a shift instead of a comparison for each register."""
        b, lanes = self.b, self.lanes
        bits = b.binary("lshr", self.number((1 << most) - 1), self.number(most) - count)
        narrow = bits if lanes == 64 else b.cast("trunc", bits, f"i{lanes}")
        return b.reinterpret(narrow, Type("i1", lanes))


def several_only(rows: int, step: int, size: tuple[int, int, int] | None) -> bool:
    """Is the number of rows known to be a multiple of those that run at once, and of whole vectors?"""
    return rows > 1 and size is not None and size[0] % step == 0 and size[1] % rows == 0


def keep(_: Value) -> None:
    """A loop whose end value is not used."""


def vectors_of_group(e: Entry) -> Value:
    items = e.size[0] * e.size[1] * e.size[2] if e.linear else e.size[0]
    rows = e.b.binary("udiv", items + (e.step - 1), e.number(e.step))
    return rows if e.linear else rows * e.size[1] * e.size[2]


def group_entry(
    symbol: str,
    choices: Choices,
    before: LaunchInvariants,
    twice: bool,
    regions: int,
    per_vector: int,
    combines: dict[int, str],
    schedule: Schedule | None = None,
    large: int = 0,
    rows: int = 1,
    granted: Assumptions | None = None,
    local: list[Variable] | None = None,
    interior: InteriorGroups | None = None,
    notes: GroupNotes | None = None,
) -> str:
    """Group by group. `combines` names functions that run once before a region, when all vectors have reached it;
    `local` are the local variables with an initialiser.
    """
    e = Entry(symbol, choices, before, twice, large, rows, granted)
    b = e.b
    vectors = vectors_of_group(e)
    place = _Place(e)
    left = e.variable(e.last - e.first)

    def group() -> None:
        gx, gy, gz = (e.get(each) for each in place.ids)
        start = [n * size + offset for n, size, offset in zip((gx, gy, gz), e.size, e.offset, strict=True)]
        known = {"group_x": gx, "group_y": gy, "group_z": gz, "vectors": vectors}
        if notes is not None:
            notes.begin(e, (gx, gy, gz))
            notes.filled(e, local or [])
        initialize(e, local or [])
        if regions == 1:
            _vectors(
                e,
                known,
                start,
                lambda mask, all_ids, per_row: keep(
                    e.region(
                        0, mask, {**all_ids, "spill": _spill(e, all_ids, per_vector, 0)}, between=_between(per_row, 0)
                    )
                ),
                e.twice,
            )
        elif schedule is not None:
            every = Group(known, start, vectors, per_vector, combines, e.prefix, notes)
            if interior is None:
                write_lockstep(e, every, schedule)
            else:
                _either_group(e, every, schedule, interior)
        else:
            _regions(e, known, start, vectors, regions, per_vector, combines, notes)
        place.step(gx, gy, gz)
        e.set(left, e.get(left) - 1)

    e.while_(lambda: b.compare("sgt", e.get(left), 0), group)
    return e.text()


@dataclass(frozen=True, slots=True)
class InteriorGroups:
    """The version for groups away from the edges."""

    prefix: str
    schedule: Schedule
    assumptions: Assumptions


def _either_group(e: Entry, group: Group, schedule: Schedule, interior: InteriorGroups) -> None:
    """One group: by the code for the interior where all its work-items are there."""
    names = ("global_x", "global_y", "global_z")
    ids = {**group.known, **dict(zip(names, group.start, strict=True))}
    ids |= dict.fromkeys(("local_x", "local_y", "local_z"), e.number(0))
    e.choose(
        holds(e, interior.assumptions, ids, [each - 1 for each in e.size]),
        lambda: write_lockstep(e, replace(group, prefix=interior.prefix, combines={}), interior.schedule),
        lambda: write_lockstep(e, group, schedule),
    )


def _spill(e: Entry, ids: dict[str, Value], per_vector: int, skip: int) -> Value:
    return e.at(e.scratch, ids["vector"] * per_vector + skip)


def _between(per_row: Value | None, per_vector: int) -> Value | None:
    return None if per_row is None else per_row * per_vector


class _Place:
    """The id of the current group. Groups are numbered strip by strip, so that neighbours in both dimensions run close
    in time.
    """

    def __init__(self, e: Entry) -> None:
        self.e = e
        b = e.b
        self.strip = e.load(e.grid, GRID_OFFSETS["strip"], I64)
        layer = e.count[0] * e.count[1]
        z, rest = b.binary("udiv", e.first, layer), b.binary("urem", e.first, layer)
        whole = self.strip * e.count[1]
        begin = b.binary("udiv", rest, whole) * self.strip
        rest = rest - begin * e.count[1]
        end = self._end(begin)
        y, x = b.binary("udiv", rest, end - begin), begin + b.binary("urem", rest, end - begin)
        self.ids = [e.variable(each) for each in (x, y, z)]
        self.begin, self.end = e.variable(begin), e.variable(end)

    def _end(self, begin: Value) -> Value:
        return self.e.b.intrinsic("umin", begin + self.strip, self.e.count[0])

    def step(self, gx: Value, gy: Value, gz: Value) -> None:
        """Advances to the next group."""
        e, b = self.e, self.e.b
        x, y, z = self.ids
        e.set(x, gx + 1)

        def next_row() -> None:
            e.set(x, e.get(self.begin))
            e.set(y, gy + 1)
            e.if_(b.compare("eq", gy + 1, e.count[1]), next_strip)

        def next_strip() -> None:
            over = b.compare("eq", gx + 1, e.count[0])
            begin = b.select(over, e.number(0), gx + 1)
            e.set(x, begin)
            e.set(y, e.number(0))
            e.set(z, b.select(over, gz + 1, gz))
            e.set(self.begin, begin)
            e.set(self.end, self._end(begin))

        e.if_(b.compare("eq", gx + 1, e.get(self.end)), next_row)


Body = Callable[["Value | None", dict[str, Value], "Value | None"], None]
"""Gets the mask, the ids, and where it is to run several rows at once, how many vectors a row has."""


def _vectors(e: Entry, known: dict[str, Value], start: list[Value], body: Body, twice: bool) -> None:
    """All vectors of a group, in the order of the work-items' linear numbers."""
    number = e.variable(e.number(0))
    zero = e.number(0)

    def vector(
        x: Value, y: Value, z: Value, mask: Value | None, now: Value | None = None, per_row: Value | None = None
    ) -> None:
        if now is None:
            now = e.get(number)
            e.set(number, now + 1)
        body(mask, {**known, **ids(x, y, z), "vector": now}, per_row)

    def ids(x: Value, y: Value, z: Value) -> dict[str, Value]:
        place = {"local_x": x, "local_y": y, "local_z": z}
        return place | {"global_x": start[0] + x, "global_y": start[1] + y, "global_z": start[2] + z}

    def rows(y: Value, z: Value) -> None:
        first = e.get(number)
        per_row = e.b.binary("udiv", e.size[0] + (e.step - 1), e.number(e.step))

        def which(x: Value) -> Value:
            return first + e.b.binary("udiv", x, e.number(e.step))

        e.rows_of_vectors(
            zero, e.size[0],
            lambda x, mask, _: e.several(
                ids(x, y, z),
                lambda: vector(x, y, z, mask, which(x), per_row),
                lambda above: vector(x, y + above, z, mask, which(x) + above * per_row),
            ),
            lambda x, mask, above: vector(x, y + above, z, mask, which(x) + above * per_row),
        )  # fmt: skip
        e.set(number, first + per_row * e.rows)

    def row(y: Value, z: Value) -> None:
        e.row(zero, e.size[0], lambda x, mask: vector(x, y, z, mask))

    if e.linear:
        items = e.size[0] * e.size[1] * e.size[2]
        e.row(zero, items, lambda _, mask: vector(zero, zero, zero, mask))
        return
    twice, e.twice = e.twice, twice
    e.for_(
        zero, e.size[2], 1,
        lambda z: e.lines(zero, e.size[1], lambda y: rows(y, z), lambda y: row(y, z)),
    )  # fmt: skip
    e.twice = twice


def _regions(
    e: Entry,
    known: dict[str, Value],
    start: list[Value],
    vectors: Value,
    regions: int,
    per_vector: int,
    combines: dict[int, str],
    notes: GroupNotes | None,
) -> None:
    """Runs regions until all vectors have ended. Vectors that reached another barrier, or the end, are skipped until
    their region runs.
    """
    b = e.b
    current = e.variable(b.constant(0, I32))
    e.for_(e.number(0), vectors, 1, lambda w: e.set(e.at(e.scratch, w * per_vector), b.constant(0, I32)))
    done = b.constant(DONE, I32)

    def round_() -> None:
        now = e.get(current, I32)
        lowest = e.variable(done)
        for number in range(regions):
            e.if_(b.compare("eq", now, number), lambda number=number: one(number, lowest))  # type: ignore[misc]
        e.set(current, e.get(lowest, I32))

    def one(number: int, lowest: Value) -> None:
        if notes is not None:
            notes.enter(e, number)
        if number in combines:
            b.line(
                f"call void @{combines[number]}({e.arguments.typed}, {e.grid.typed}, i64 0, {vectors.typed}, "
                f"{e.worker.typed})"
            )

        def vector(mask: Value | None, ids: dict[str, Value], per_row: Value | None) -> None:
            state = e.at(e.scratch, ids["vector"] * per_vector)
            between = _between(per_row, per_vector)

            def run() -> None:
                spill = e.at(state, STATE_BYTES)
                following = e.region(number, mask, {**ids, "spill": spill}, between=between)
                e.set(state, following)
                # Rows that run at once stay together from the first region to the last.
                if between is not None:
                    for row in range(1, e.rows):
                        e.set(e.at(state, between * row), following)

            e.if_(b.compare("eq", e.get(state, I32), number), run)
            e.set(lowest, b.intrinsic("umin", e.get(lowest, I32), e.get(state, I32)))

        _vectors(e, known, start, vector, e.twice)

    e.while_(lambda: b.compare("ne", e.get(current, I32), done), round_)


def likely_entry(symbol: str, likely: str, other: str, size: tuple[int, int, int], choices: Choices) -> str:
    """A version for the likely group size, beside the one for any size."""
    e = Entry(symbol, choices, LaunchInvariants(), False)
    b = e.b
    x, y, z = (b.compare("eq", given, wanted) for given, wanted in zip(e.size, size, strict=True))
    _choose(e, x & y & z, likely, other)
    return e.text()


def either_entry(symbol: str, rows: str, linear: str, choices: Choices, filled: bool) -> str:
    """Rows that whole vectors fill run row by row, and so does a single row unless the code for rows relies on full
    vectors (`filled`); in other groups, vectors continue into the next row.
    """
    e = Entry(symbol, choices, LaunchInvariants(), False)
    b = e.b
    fit = b.compare("eq", b.binary("urem", e.size[0], e.number(e.step)), 0)
    if not filled:
        fit = fit | b.compare("eq", e.size[1] * e.size[2], 1)
    _choose(e, fit, rows, linear)
    return e.text()


def _choose(e: Entry, condition: Value, one: str, other: str) -> None:
    b = e.b
    given = f"({e.arguments.typed}, {e.grid.typed}, {e.first.typed}, {e.last.typed}, {e.worker.typed})"
    e.if_(condition, lambda: b.line(f"call void @{one}{given}"))
    e.if_(~condition, lambda: b.line(f"call void @{other}{given}"))
