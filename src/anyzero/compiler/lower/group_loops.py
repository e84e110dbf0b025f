"""Loops over the groups of a launch, and over the regions and vectors of a group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from anyzero.compiler.ir import Variable
from anyzero.compiler.llvm import I32, I64, Value
from anyzero.compiler.lower.emitter import Choices
from anyzero.compiler.lower.entry import Entry, Group, group_of, keep, vectors_of_group
from anyzero.compiler.lower.group_batches import Batch, write_batch
from anyzero.compiler.lower.group_pairs import pair_of
from anyzero.compiler.lower.interior_guard import holds
from anyzero.compiler.lower.launch_invariants import LaunchInvariants
from anyzero.compiler.lower.local_memory import initialize
from anyzero.compiler.lower.lockstep import write_lockstep, write_side_by_side
from anyzero.compiler.lower.lockstep_schedule import Schedule
from anyzero.compiler.lower.notes import GroupNotes
from anyzero.compiler.lower.region_functions import RegionFunctions
from anyzero.compiler.lower.regions import DONE
from anyzero.compiler.transform.interior_version import Assumptions
from anyzero.layouts.kernel import GRID_OFFSETS
from anyzero.lazy_dataclass import dataclass, replace

STATE_BYTES = 128
"""Before a vector's memory: the number of the region that it runs next."""


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
    outlined: bool = False,
    notes: GroupNotes | None = None,
    batch: int = 1,
    paired: bool = False,
    merged: MergedGroups | None = None,
) -> list[str]:
    """Group by group, in batches of `batch` groups, in pairs, or as merged groups. `combines` names functions that run
    once before a region, when all vectors have reached it; `local` are the local variables with an initialiser.
    `outlined` makes each region a function of its own.
    """
    e = Entry(symbol, choices, before, twice, large, rows, granted)
    b = e.b
    vectors = vectors_of_group(e)
    place = _Place(e)
    left = e.variable(e.last - e.first)
    functions = RegionFunctions() if outlined else None

    def group() -> None:
        if batch == 1:
            e.read_grid()
        gx, gy, gz = (e.get(each) for each in place.ids)
        every = group_of(e, [gx, gy, gz], vectors, per_vector, combines, e.prefix, notes)
        if notes is not None:
            notes.begin(e, (gx, gy, gz))
            notes.filled(e, local or [])
        initialize(e, local or [])
        if regions == 1:
            _vectors(
                e,
                every,
                lambda mask, all_ids, per_row: keep(
                    e.region(
                        0, mask, {**all_ids, "spill": _spill(e, all_ids, per_vector, 0)}, between=_between(per_row, 0)
                    )
                ),
                e.twice,
            )
        elif schedule is not None:
            if interior is None:
                write_lockstep(e, every, schedule, functions)
            else:
                _either_group(e, every, schedule, interior, functions)
        else:
            _regions(e, every, regions, functions)
        if batch == 1:
            e.read_grid()
        place.step(gx, gy, gz)
        e.set(left, e.get(left) - 1)

    run = group
    if merged is not None:
        run = partial(_merged, e, place, left, merged, vectors, group)
    elif batch > 1:
        assert schedule is not None
        together = Batch(e, batch, vectors, per_vector)
        run = (
            partial(_pair, together, place, left, schedule, interior, group)
            if paired
            else partial(_batch, together, place, left, schedule, interior)
        )

    e.while_(lambda: b.compare("sgt", e.get(left), 0), run)
    return [*([] if functions is None else functions.texts), e.text()]


@dataclass(frozen=True, slots=True)
class InteriorGroups:
    """The version for groups away from the edges."""

    prefix: str
    schedule: Schedule
    assumptions: Assumptions


@dataclass(frozen=True, slots=True)
class MergedGroups:
    """The version for several neighbours, see `merge_groups.py`."""

    prefix: str
    schedule: Schedule
    assumptions: Assumptions
    count: int
    per_vector: int


def _merged(
    e: Entry, place: _Place, left: Value, merged: MergedGroups, vectors: Value, alone: Callable[[], None]
) -> None:
    """The next groups as one. They begin at a multiple of their number, so that vectors begin where cache lines do."""
    b, count = e.b, merged.count
    e.read_grid()
    gx, gy, gz = (e.get(each) for each in place.ids)
    first = group_of(e, [gx, gy, gz], vectors, merged.per_vector, {}, merged.prefix)
    enough = b.compare("sge", b.intrinsic("umin", e.get(left), e.get(place.end) - gx), count)
    enough = enough & b.compare("eq", gx & (count - 1), 0) & _is_inner(e, first, merged.assumptions)

    def together() -> None:
        write_lockstep(e, first, merged.schedule)
        place.step(gx + (count - 1), gy, gz)
        e.set(left, e.get(left) - count)

    e.choose(enough, together, alone)
    e.read_grid()


def _batch(batch: Batch, place: _Place, left: Value, schedule: Schedule, interior: InteriorGroups | None) -> None:
    """The next groups. Where there is a version for groups away from the edges, a batch ends before a group at an edge,
    which then runs alone.
    """
    e, b = batch.e, batch.e.b
    most = b.intrinsic("umin", e.get(left), batch.most)
    count = e.variable(e.number(0))
    prefix = e.prefix if interior is None else interior.prefix

    def here() -> list[Value]:
        return [e.get(each) for each in place.ids]

    def fits() -> Value:
        more = b.compare("slt", e.get(count), most)
        if interior is None:
            return more
        group = group_of(e, here(), batch.vectors, batch.per_vector, {}, prefix)
        return more & _is_inner(e, group, interior.assumptions)

    def take() -> None:
        batch.put(e.get(count), here())
        place.step(*here())
        e.set(count, e.get(count) + 1)

    def edge() -> None:
        write_lockstep(e, group_of(e, here(), batch.vectors, batch.per_vector, {}, e.prefix), schedule)
        place.step(*here())
        e.set(left, e.get(left) - 1)

    e.while_(fits, take)
    e.set(left, e.get(left) - e.get(count))
    write_batch(batch, e.get(count), schedule if interior is None else interior.schedule, prefix)
    if interior is not None:
        e.if_(b.compare("slt", e.get(count), most), edge)


def _pair(
    batch: Batch,
    place: _Place,
    left: Value,
    schedule: Schedule,
    interior: InteriorGroups | None,
    alone: Callable[[], None],
) -> None:
    """The next two groups, if they are neighbours; of kernels with a version for groups away from the edges, if it can
    run both.
    """
    e, b = batch.e, batch.e.b
    ids = [e.get(each) for each in place.ids]
    prefix = e.prefix if interior is None else interior.prefix
    groups = pair_of(batch, group_of(e, ids, batch.vectors, batch.per_vector, {}, prefix))
    two = b.compare("sgt", b.intrinsic("umin", e.get(left), batch.most), 1)
    two = two & b.compare("slt", ids[0] + 1, e.get(place.end))
    if interior is not None:
        for group in groups:
            two = two & _is_inner(e, group, interior.assumptions)

    def both() -> None:
        write_side_by_side(e, groups, schedule if interior is None else interior.schedule)
        place.step(ids[0] + 1, *ids[1:])
        e.set(left, e.get(left) - 2)

    e.choose(two, both, alone)


def _is_inner(e: Entry, group: Group, assumptions: Assumptions) -> Value:
    names = ("global_x", "global_y", "global_z")
    ids = {**group.known, **dict(zip(names, group.start, strict=True))}
    ids |= dict.fromkeys(("local_x", "local_y", "local_z"), e.number(0))
    return holds(e, assumptions, ids, [each - 1 for each in e.size])


def _either_group(
    e: Entry, group: Group, schedule: Schedule, interior: InteriorGroups, functions: RegionFunctions | None
) -> None:
    """One group: runs the interior version if the assumptions hold for the group, otherwise the general one."""
    e.choose(
        _is_inner(e, group, interior.assumptions),
        lambda: write_lockstep(e, replace(group, prefix=interior.prefix, combines={}), interior.schedule, functions),
        lambda: write_lockstep(e, group, schedule, functions),
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
"""Gets the mask, the ids, and the number of vectors of a row where it runs several rows at once."""


def _vectors(e: Entry, group: Group, body: Body, twice: bool) -> None:
    """All vectors of a group, in the order of the work-items' linear numbers."""
    start = group.start
    number = e.variable(e.number(0))
    zero = e.number(0)

    def vector(
        x: Value, y: Value, z: Value, mask: Value | None, now: Value | None = None, per_row: Value | None = None
    ) -> None:
        if now is None:
            now = e.get(number)
            e.set(number, now + 1)
        body(mask, {**group.known, **ids(x, y, z), "vector": now}, per_row)

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
            ids(zero, y, z),
            lambda x, mask: vector(x, y, z, mask, which(x), per_row),
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


def _regions(e: Entry, group: Group, regions: int, functions: RegionFunctions | None) -> None:
    """Runs regions until all vectors have ended. Vectors that reached another barrier, or the end, are skipped until
    their region runs.
    """
    b = e.b
    current = e.variable(b.constant(0, I32))
    e.for_(e.number(0), group.vectors, 1, lambda w: e.set(e.at(e.scratch, w * group.per_vector), b.constant(0, I32)))
    done = b.constant(DONE, I32)

    def round_() -> None:
        now = e.get(current, I32)
        labels = [e.label("region") for _ in range(regions)]
        end = e.label("end")
        cases = " ".join(f"i32 {number}, label %{to}" for number, to in enumerate(labels))
        b.line(f"switch {now.typed}, label %{end} [ {cases} ]")
        for number, label in enumerate(labels):
            b.label(label)
            write = _OneRegion(number)
            lowest = write(e, group) if functions is None else functions.call(e, group, [number], (), write)
            assert lowest is not None
            e.set(current, lowest)
            b.jump(end)
        b.label(end)

    e.while_(lambda: b.compare("ne", e.get(current, I32), done), round_)


@dataclass(frozen=True, slots=True)
class _OneRegion:
    """Runs the vectors that have reached a region; returns the lowest number of the regions that vectors wait for."""

    number: int

    def __call__(self, e: Entry, group: Group, _: Sequence[Value] = ()) -> Value:
        number = self.number
        b = e.b
        if group.notes is not None:
            group.notes.enter(e, number)
        if number in group.combines:
            given = (e.arguments, e.grid, e.number(0), group.vectors, e.worker)
            b.line(f"call void @{group.combines[number]}({', '.join(each.typed for each in given)})")
        lowest = e.variable(b.constant(DONE, I32))

        def vector(mask: Value | None, ids: dict[str, Value], per_row: Value | None) -> None:
            state = e.at(e.scratch, ids["vector"] * group.per_vector)
            between = _between(per_row, group.per_vector)

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

        _vectors(e, group, vector, e.twice)
        return e.get(lowest, I32)
