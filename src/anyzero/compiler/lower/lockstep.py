"""Lockstep: loops over the vectors of a group that all take the same path from barrier to barrier.

Regions follow the kernel's control flow: no vector stores its next region, group-uniform slots are kept once, and a row
ends with the first vector that has nothing to do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from anyzero.compiler.llvm import I32, Type, Value
from anyzero.compiler.lower.emitter import STRAIGHT
from anyzero.compiler.lower.entry import Entry, Group
from anyzero.compiler.lower.lockstep_schedule import END, Schedule, Step
from anyzero.compiler.lower.region_functions import RegionFunctions
from anyzero.compiler.lower.register_tiles import write_unrolled
from anyzero.lazy_dataclass import dataclass

SEVERAL = 8
MANY = 16
"""Vectors of a row that are unrolled, where the kernel has no loops and one size of groups: LLVM knows which lanes of
each vector are active. In a tree of sums, each step leaves half of them. Many only where that is not much code.
"""

OPERATIONS = 6000
"""The most operations of many vectors."""

CHAIN = 16
"""Regions in a row that are one function, where regions are functions: each function takes LLVM some time by itself."""

One = Callable[[Value, "Value | None"], "Value | None"]
"""Runs a vector, given its first lane's index in the row and its mask; returns whether the row may end there."""

Vector = Callable[["Value | None", dict[str, Value]], "Value | None"]
"""The same, given its mask and its place in the group."""


def write_lockstep(e: Entry, group: Group, schedule: Schedule, functions: RegionFunctions | None = None) -> None:
    """`functions` are written instead of loops in this function, where given."""
    if schedule.tiles is not None:
        write_unrolled(e, group, schedule, schedule.tiles)
        return
    chains = _chains(schedule.steps, 1 if functions is None else CHAIN)
    labels = {chain[0]: e.label("region") for chain in chains}
    end = labels[END] = e.label("end")
    size = 8 * len(schedule.shared)
    places = (e.room(size), e.room(size))
    e.b.jump(labels[0])
    for chain in chains:
        e.b.label(labels[chain[0]])
        write = _Chain(chain, schedule)
        came = write(e, group, places) if functions is None else functions.call(e, group, chain, places, write)
        following = schedule.steps[chain[-1]].next
        if came is None:
            e.b.jump(labels[following[0]])
        else:
            cases = " ".join(f"i32 {each + 1}, label %{labels[each]}" for each in following)
            e.b.line(f"switch {came.typed}, label %{labels[following[0]]} [ {cases} ]")
    e.b.label(end)


def _chains(steps: list[Step], most: int) -> list[range]:
    """Regions that always run one after the other, up to `most` in a row."""
    begins = {0, *(number + 1 for number, step in enumerate(steps) if step.next != [number + 1])}
    begins |= {each for number, step in enumerate(steps) for each in step.next if each not in (number + 1, END)}
    chains: list[range] = []
    for number in range(len(steps)):
        if number in begins or len(chains[-1]) == most:
            chains.append(range(number, number + 1))
        else:
            chains[-1] = range(chains[-1].start, number + 1)
    return chains


@dataclass(frozen=True, slots=True)
class _Chain:
    """Writes the loops of regions in a row; returns the number of the next region plus 1, where several may follow."""

    numbers: range
    schedule: Schedule

    def __call__(self, e: Entry, group: Group, places: Sequence[Value]) -> Value | None:
        came = None
        for number in self.numbers:
            came = write_region(e, group, number, self.schedule, places)
        return came


def write_side_by_side(e: Entry, groups: Sequence[Group], schedule: Schedule) -> None:
    """Several groups, vector by vector: the first one of each, then the second one of each. One region always follows
    the other.
    """
    size = 8 * len(schedule.shared)
    places = [(e.room(size), e.room(size)) for _ in groups]
    for number, step in enumerate(schedule.steps):
        runs = [_runner(e, *each, number, step, None) for each in zip(groups, places, strict=True)]

        def one(mask: Value | None, place: dict[str, Value], runs: list[Vector] = runs) -> None:
            for run in runs:
                run(mask, place)

        _vectors(e, schedule, step, one)
        for each in places:
            _update(e, schedule, step, each)


def write_region(e: Entry, group: Group, number: int, schedule: Schedule, places: Sequence[Value]) -> Value | None:
    """One region of a group; the number of the next one plus 1, where several may follow."""
    b = e.b
    step = schedule.steps[number]
    came = e.variable(b.constant(0, I32)) if len(step.next) > 1 else None
    if group.notes is not None:
        group.notes.enter(e, number)
    if number in group.combines:
        b.line(
            f"call void @{group.combines[number]}({e.arguments.typed}, {e.grid.typed}, i64 0, {group.vectors.typed}, "
            f"{e.worker.typed})"
        )
    _vectors(e, schedule, step, _runner(e, group, places, number, step, came))
    _update(e, schedule, step, places)
    return None if came is None else e.get(came, I32)


def _runner(e: Entry, group: Group, places: Sequence[Value], number: int, step: Step, came: Value | None) -> Vector:
    """Runs vectors of a group in one region, and stores the number of the next one plus 1 in `came`."""

    def one(mask: Value | None, place: dict[str, Value]) -> Value | None:
        local = [place[name] for name in ("local_x", "local_y", "local_z")]
        starts = zip(("global_x", "global_y", "global_z"), group.start, local, strict=True)
        ids = {**group.known, **place, **{name: start + by for name, start, by in starts}}
        ids["spill"] = e.at(group.scratch, place["vector"] * group.per_vector)
        answer = e.region(number, mask, ids, *places, prefix=group.prefix, worker=group.worker)
        if came is not None:
            e.set(came, answer.lshr(1))
        return e.b.cast("trunc", answer, "i1") if step.stops else None

    return one


def _update(e: Entry, schedule: Schedule, step: Step, places: Sequence[Value]) -> None:
    """Only behind all vectors: those before started from the old values."""
    shared, next_ = places
    for slot in step.writes:
        place, type_ = schedule.shared[slot], Type(slot.type)
        e.set(e.at(shared, place), e.get(e.at(next_, place), type_))


def _vectors(e: Entry, schedule: Schedule, step: Step, one: Vector) -> None:
    if step.idle:
        _once(e, one)
    else:
        _rows(e, schedule, step, one)


def _once(e: Entry, one: Vector) -> None:
    """Runs the first vector alone, for the whole group."""
    zero = e.number(0)
    whole = Value(e.b, "splat (i1 true)", Type("i1", e.lanes)) if e.lanes else None
    one(whole, {"local_x": zero, "local_y": zero, "local_z": zero, "vector": zero})


def _rows(e: Entry, schedule: Schedule, step: Step, one: Vector) -> None:
    """All vectors of a group, in the order of the work-items' linear numbers, or in the opposite one."""
    b = e.b
    zero = e.number(0)
    number = e.variable(zero)

    def vector(x: Value, y: Value, z: Value, mask: Value | None, now: Value | None = None) -> Value | None:
        if now is None:
            now = e.get(number)
            e.set(number, now + 1)
        return one(mask, {"local_x": x, "local_y": y, "local_z": z, "vector": now})

    if step.descending:
        _from_last(e, schedule, lambda x, now, mask: vector(x, zero, zero, mask, now))
        return
    if e.linear:
        items = e.size[0] * e.size[1] * e.size[2]
        _row(e, items, 0, None, step, lambda _, mask: vector(zero, zero, zero, mask))
        return
    x_size, y_size, z_size = e.fixed or (0, 0, 0)
    if y_size * z_size == 1:
        _row(e, e.size[0], x_size, schedule, step, lambda x, mask: vector(x, zero, zero, mask))
        return
    a_row = b.binary("udiv", e.size[0] + (e.step - 1), e.number(e.step))

    def row(y: Value, z: Value) -> None:
        # Recomputed: the row before may have ended early.
        e.set(number, (z * e.size[1] + y) * a_row)
        _row(e, e.size[0], x_size, schedule, step, lambda x, mask: vector(x, y, z, mask))

    vectors = x_size // max(e.lanes, 1) * y_size * z_size
    # More rows gain nothing, and where they lie a power of two apart, loads far ahead evict each other.
    if e.lanes and x_size % e.lanes == 0 < x_size and vectors <= SEVERAL and _is_unrolled(e, schedule, vectors):
        for z in range(z_size):
            for y in range(y_size):
                row(e.number(y), e.number(z))
        return
    if z_size == 1:
        e.for_(zero, e.size[1], 1, lambda y: row(y, zero))
        return
    ys, zs = e.variable(zero), e.variable(zero)

    def next_row(_: Value) -> None:
        y, z = e.get(ys), e.get(zs)
        row(y, z)
        over = b.compare("eq", y + 1, e.size[1])
        e.set(ys, b.select(over, zero, y + 1))
        e.set(zs, b.select(over, z + 1, z))

    e.for_(zero, e.size[1] * e.size[2], 1, next_row)


def _from_last(e: Entry, schedule: Schedule, one: Callable[[Value, Value, Value], object]) -> None:
    """The vectors of a group that is a single row of whole vectors, the last one first."""
    assert e.fixed is not None
    b, lanes, fixed = e.b, e.lanes, e.fixed[0]
    whole = Value(b, "splat (i1 true)", Type("i1", lanes))
    if _is_unrolled(e, schedule, fixed // lanes):
        for place in reversed(range(fixed // lanes)):
            one(e.number(place * lanes), e.number(place), whole)
        return

    def turn(done: Value) -> None:
        now = e.number(fixed // lanes - 1) - done
        one(now * lanes, now, whole)

    e.for_(e.number(0), e.number(fixed // lanes), 1, turn)


def _is_unrolled(e: Entry, schedule: Schedule | None, vectors: int) -> bool:
    if schedule is None or not schedule.straight or not e.exact or e.choices.options.one_version:
        return vectors <= STRAIGHT
    many = vectors <= MANY and schedule.operations * vectors <= OPERATIONS
    return many or vectors <= (SEVERAL if e.twice else STRAIGHT)


def _row(e: Entry, stop: Value, fixed: int, schedule: Schedule | None, step: Step, one: One) -> None:
    """Vectors up to `stop`, which is `fixed` where that is known. Kernels without loops have a version for half a
    vector: stores without a mask are forwarded to loads.
    """
    b, lanes = e.b, e.lanes
    halves = schedule is not None and schedule.straight
    end = e.label("row")
    counter = e.variable(e.number(0))

    def run(step: int, limit: Value, body: Callable[[Value], Value | None]) -> None:
        """Loops up to the limit, or until a vector ends the row."""
        head, inside, behind = (e.label(name) for name in ("while", "do", "done"))
        b.jump(head)
        b.label(head)
        now = e.get(counter)
        b.branch(b.compare("slt", now, limit), inside, behind)
        b.label(inside)
        enough = body(now)
        e.set(counter, now + step)
        if enough is None:
            b.jump(head)
        else:
            b.branch(enough, end, head)
        b.label(behind)

    if lanes and fixed % lanes == 0 < fixed and _is_unrolled(e, schedule, fixed // lanes):
        # LLVM knows a vector's position, and folds comparisons of ids with constants.
        for place in range(0, max(min(fixed, step.reach or fixed), 1), lanes):
            enough = one(e.number(place), Value(b, "splat (i1 true)", Type("i1", lanes)))
            if enough is not None:
                more = e.label("more")
                b.branch(enough, end, more)
                b.label(more)
    elif not lanes:
        run(1, stop, lambda x: one(x, None))
    elif e.twice or fixed % lanes == 0 < fixed:
        whole = Value(b, "splat (i1 true)", Type("i1", lanes))
        run(lanes, stop - (lanes - 1), lambda x: one(x, whole))
        if not fixed or fixed % lanes:
            left = stop - e.get(counter)
            half = b.compare("eq", left, lanes // 2 if halves else 0)
            e.whole = False
            if halves:
                e.if_(half, lambda: _half(e, counter, one))
            e.if_(b.compare("sgt", left, 0) & ~half, lambda: _last(e, counter, left, one))
            e.whole = True
    else:
        run(lanes, stop, lambda x: one(x, e.first_lanes(stop - x)))
    b.jump(end)
    b.label(end)


def _last(e: Entry, counter: Value, left: Value, one: One) -> None:
    one(e.get(counter), e.some_lanes(left))


def _half(e: Entry, counter: Value, one: One) -> None:
    one(e.get(counter), e.b.each([lane < e.lanes // 2 for lane in range(e.lanes)], "i1"))
