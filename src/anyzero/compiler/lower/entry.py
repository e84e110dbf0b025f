"""Writes the work-item loops: the code around the regions that runs all vectors of a launch.

Lanes are neighbours along the first dimension. A kernel runs group by group; with barriers, all vectors of a group run
one region before any runs the next, see `group_loops.py`. Kernels that never use their place in a group run in blocks,
see `flat.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from anyzero.compiler.llvm import I1, I32, I64, PTR, Builder, Type, Value
from anyzero.compiler.lower import streaming
from anyzero.compiler.lower.emitter import Choices
from anyzero.compiler.lower.interior_guard import interior_of_row
from anyzero.compiler.lower.launch_invariants import LaunchInvariants
from anyzero.compiler.lower.launch_numbers import LaunchNumbers
from anyzero.compiler.lower.notes import GroupNotes
from anyzero.compiler.lower.regions import PARAMETERS
from anyzero.compiler.transform.interior_version import Assumptions
from anyzero.layouts.kernel import GRID_BYTES, GRID_OFFSETS, WORKER_BYTES, WORKER_OFFSETS
from anyzero.lazy_dataclass import dataclass


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
        self.choices = choices
        self.before = before
        self.large = large
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
        # The engine chooses the groups of a kernel that does not use them.
        self.fixed = None if choices.flat else choices.group_size
        """The size of all groups, where the kernel requires one."""
        self.exact = self.fixed is not None and choices.likely is None
        """Is that the only size, so that there is no code for others?"""
        self.read_grid()
        self.only_rows = granted is None and several_only(rows, self.step, self.fixed)
        self.scratch = self.load(self.worker, WORKER_OFFSETS["scratch"], PTR)
        self.stream = streaming.misaligned_bits(self, large) if large else None
        self.whole = True
        """May all lanes be active in the code that is being written?"""

    def read_grid(self) -> None:
        """Has the launch's numbers loaded in the current block. Where they are loaded again in a loop, they take no
        registers in the loops inside of it, and LLVM's register allocator less time.
        """
        numbers = LaunchNumbers(self.b, self.grid)
        self.count: Sequence[Value] = numbers.dimensions("group_count")
        self.size: Sequence[Value] = numbers.dimensions("group_size")
        self.offset: Sequence[Value] = numbers.dimensions("global_offset")
        self.global_size: Sequence[Value] = numbers.dimensions("global_size")
        if self.choices.from_zero:
            self.offset = [self.number(0)] * 3
        if self.fixed is not None:
            # Constants, so that LLVM drops loops that never run.
            self.size = [self.number(each) for each in self.fixed]

    def text(self) -> str:
        arguments, grid, worker = self.pointers()
        if self.stream is not None:
            streaming.fence(self, self.stream)
        head = f"define void @{self.symbol}({arguments}, {grid}, i64 %first, i64 %last, {worker}) #0 #1 {{"
        return "\n".join([head, "entry:", *self.allocations, *self.before.lines, *self.code, "  ret void", "}"])

    @property
    def code(self) -> Iterator[str]:
        """The code, without the empty lines of numbers that nothing uses."""
        return filter(None, self.b.lines)

    def pointers(self) -> list[str]:
        """The first parameters."""
        sizes = {"arguments": self.args_bytes, "grid": GRID_BYTES, "worker": WORKER_BYTES}
        return [
            f"ptr noalias readonly align 8 dereferenceable({size}) %{name}" if size else f"ptr noalias readonly %{name}"
            for name, size in sizes.items()
        ]

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

    def room(self, size: int, alignment: int = 8) -> Value:
        """Memory of the function itself."""
        name = f"%place{len(self.allocations)}"
        self.allocations.append(f"  {name} = alloca [{size} x i8], align {alignment}")
        return Value(self.b, name, PTR)

    def label(self, name: str) -> str:
        return self._labels(name)[0]

    def _labels(self, *names: str) -> list[str]:
        self.labels += 1
        return [f"{name}{self.labels}" for name in names]

    def while_(self, condition: Callable[[], Value], body: Callable[[], None]) -> None:
        """A loop in rotated form, with the condition before it and at its end: no jump back to a test."""
        inside, behind = self._labels("do", "done")
        b = self.b
        b.branch(condition(), inside, behind)
        b.label(inside)
        body()
        b.branch(condition(), inside, behind)
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

    def for_(self, start: Value, stop: Value, step: int, body: Callable[[Value], None]) -> None:
        """Counts while a whole step fits."""
        self._loop(start, stop, step, body)

    def end_of(self, start: Value, stop: Value, step: int, body: Callable[[Value], None]) -> Value:
        """The same, and where it ends."""
        return self.get(self._loop(start, stop, step, body))

    def _loop(self, start: Value, stop: Value, step: int, body: Callable[[Value], None]) -> Value:
        counter = self.variable(start)
        limit = stop - (step - 1)

        def once() -> None:
            now = self.get(counter)
            body(now)
            self.set(counter, now + step)

        self.while_(lambda: self.b.compare("slt", self.get(counter), limit), once)
        return counter

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
        worker: Value | None = None,
    ) -> Value:
        """`between` is given where several rows run at once: bytes from one row's memory to the next row's. `worker` is
        given where launch invariants, as the address of local memory, are those of another worker; functions of the
        engine still get the thread's own.
        """
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
        needs = self.before.needs.get(name, ())
        given += needs if worker is None else self.before.again(self.b, needs, worker)
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
        at = self.end_of(start, stop, lanes, lambda x: body(x, every))
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
        ids: dict[str, Value],
        several: Callable[[Value, Value | None], None],
        single: Callable[[Value, Value | None, Value], None],
    ) -> None:
        """The same vectors of as many rows as run at once; those at the edges, and the remainder of a row, run row by
        row.

        Both bodies get the first lane's place and the mask, and a single row how many are above it. `ids` are those of
        the first work-item.
        """
        b, lanes = self.b, self.lanes
        every = Value(b, "splat (i1 true)", Type("i1", lanes)) if lanes else None

        def together(first: Value, last: Value) -> Value:
            return self.end_of(first, last, self.step, lambda x: several(x, every))

        def alone(first: Value, last: Value) -> Value:
            return self.end_of(first, last, self.step, lambda x: row_by_row(x, every))

        def row_by_row(x: Value, mask: Value | None) -> None:
            self.for_(self.number(0), self.number(self.rows), 1, lambda row: single(x, mask, row))

        if self.granted is None:
            at = together(start, stop)
        else:
            first, last = interior_of_row(self, self.granted, ids, start, stop)
            at = alone(together(alone(start, first), last), stop)
        if not lanes or self.only_rows:
            return
        left = stop - at
        self.whole = False
        self.if_(b.compare("sgt", left, 0), lambda: row_by_row(at, self.first_lanes(left)))
        self.whole = True

    def lines(
        self, start: Value, stop: Value, several: Callable[[Value], None], single: Callable[[Value], None]
    ) -> None:
        """Counts rows, several at a time while there are as many."""
        if self.rows > 1 or self.granted is not None:
            start = self.end_of(start, stop, self.rows, several)
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


@dataclass(slots=True, eq=False)
class Group:
    """Inputs of its vectors."""

    known: dict[str, Value]
    start: list[Value]
    """The first work-item's global id."""
    vectors: Value
    per_vector: int
    """Bytes that each keeps across barriers."""
    combines: dict[int, str]
    """Functions that run once before a region, when all vectors have reached it."""
    prefix: str
    """Of the regions' names."""
    scratch: Value
    """Memory of its vectors."""
    notes: GroupNotes | None = None
    worker: Value | None = None
    """Its own, where it has local memory of its own."""


def group_of(
    e: Entry,
    ids: list[Value],
    vectors: Value,
    per_vector: int,
    combines: dict[int, str],
    prefix: str,
    notes: GroupNotes | None = None,
) -> Group:
    """The group with these ids."""
    start = [n * size + offset for n, size, offset in zip(ids, e.size, e.offset, strict=True)]
    known = dict(zip(("group_x", "group_y", "group_z"), ids, strict=True)) | {"vectors": vectors}
    return Group(known, start, vectors, per_vector, combines, prefix, e.scratch, notes)


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


def marked_entry(symbol: str, mark: str, marked: str, rows: str, choices: Choices) -> str:
    """The version for launches that the engine has marked in the grid, beside the one for the rest."""
    e = Entry(symbol, choices, LaunchInvariants(), False)
    _choose(e, e.b.compare("ne", e.load(e.grid, GRID_OFFSETS[mark], I64), 0), marked, rows)
    return e.text()


def _choose(e: Entry, condition: Value, one: str, other: str) -> None:
    b = e.b
    given = f"({e.arguments.typed}, {e.grid.typed}, {e.first.typed}, {e.last.typed}, {e.worker.typed})"
    e.if_(condition, lambda: b.line(f"call void @{one}{given}"))
    e.if_(~condition, lambda: b.line(f"call void @{other}{given}"))
