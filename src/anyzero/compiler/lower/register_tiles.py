"""Arrays of local memory in registers: all vectors of a group unrolled, and shuffles instead of loads.

A region loads from a window, and stores to one: memory of the entry point that LLVM promotes to registers. Before a
vector runs, its windows are filled with lanes of the vectors that were stored before, see `tile_contents.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from anyzero.compiler.analysis.addresses import known_space
from anyzero.compiler.ir import Block, Combine, Op
from anyzero.compiler.llvm import Type, Value
from anyzero.compiler.lower.emitter import Choices
from anyzero.compiler.lower.entry import Entry, Group
from anyzero.compiler.lower.lockstep_schedule import END, Schedule
from anyzero.compiler.lower.regions import Ready
from anyzero.compiler.lower.tile_contents import Place, RegisterTiles, Visit, register_tiles
from anyzero.compiler.lower.windows import window_bytes
from anyzero.compiler.transform.regions import ends_in_barrier

VECTORS = 32
OPERATIONS = 6000
SPILLS = 16 << 10
"""The most vectors of such a group, operations of all of them, and bytes that they keep across barriers."""

WIDE = 64
FAR = 8
FEW = 3
"""Shorter registers take several instructions for a shuffle of two. There, arrays of groups with more vectors and
few regions stay in memory: enough stores of other vectors are in between.
"""


def find_tiles(ready: Ready, choices: Choices) -> RegisterTiles | None:
    """The arrays of a version whose groups all have one size."""
    schedule, options = ready.schedule, choices.options
    if schedule is None or choices.group_size is None or choices.lanes < 2 or not choices.whole_vectors:
        return None
    if options.one_version or options.checks or options.residency_checks or options.count_lanes:
        return None
    following = [[number + 1] for number in range(len(schedule.steps) - 1)] + [[END]]
    if not schedule.straight or [step.next for step in schedule.steps] != following:
        return None
    x, y, z = choices.group_size
    vectors = x // choices.lanes * y * z
    if vectors > VECTORS or schedule.operations * vectors > OPERATIONS or ready.storage.size * vectors > SPILLS:
        return None
    if choices.target.register < WIDE and vectors > FAR and len(schedule.steps) <= FEW:
        return None
    if any(_combines(block) for region in ready.regions for block in region.blocks):
        return None
    order = [each for number in range(len(schedule.steps)) for each in _vectors(number, schedule, choices)]
    return register_tiles(ready.regions, order, ready.masks, ready.shapes, choices.lanes)


def in_registers(ready: Ready, tiles: RegisterTiles) -> bool:
    """Is all of local memory in registers? Other pointers then lead to global memory or to constants."""
    ops = (op for region in ready.regions for block in region.blocks for op in block.ops)
    others = (op for op in ops if op.name != "offset" and op not in tiles.windows)
    pointers = (arg for op in others for arg in op.args if arg.type == "ptr")
    return all(known_space(each) in ("global", "constant") for each in pointers)


def _combines(block: Block) -> bool:
    """Does a collective of the group follow?"""
    barrier = ends_in_barrier(block)
    return barrier is not None and isinstance(barrier.info, Combine)


def _vectors(number: int, schedule: Schedule, choices: Choices) -> list[tuple[int, int, tuple[int, int, int]]]:
    """The vectors of a region, as `lockstep.py` runs them."""
    assert choices.group_size is not None
    x_size, y_size, z_size = choices.group_size
    lanes, step = choices.lanes, schedule.steps[number]
    if step.idle:
        return [(number, 0, (0, 0, 0))]
    reach = max(min(x_size, step.reach or x_size), 1)
    per_row = x_size // lanes
    found = [
        (number, (z * y_size + y) * per_row + x // lanes, (x, y, z))
        for z in range(z_size)
        for y in range(y_size)
        for x in range(0, reach, lanes)
    ]
    return found[::-1] if step.descending else found


class _Contents:
    """The vectors that were stored, and shuffles of them."""

    def __init__(self, e: Entry) -> None:
        self.e = e
        self.stored: dict[int, Value] = {}
        self.made: dict[tuple[Place | None, ...], Value] = {}

    def of(self, places: tuple[Place | None, ...], type_: Type) -> Value:
        """The same places are never stored again: numbers of stored vectors are unique."""
        found = self.made.get(places)
        if found is None:
            found = self.made[places] = self._make(places, type_)
        return found

    def _make(self, places: tuple[Place | None, ...], type_: Type) -> Value:
        b = self.e.b
        numbers = list(dict.fromkeys(place[0] for place in places if place is not None))
        if not numbers:
            # Not poison: a branch may depend on it, though no lane is active.
            return b.zero(type_)
        if not type_.lanes:
            assert places[0] is not None
            return b.lane(self.stored[numbers[0]], places[0][1])
        starts = {number: index * type_.lanes for index, number in enumerate(numbers)}
        picks = [-1 if place is None else starts[place[0]] + place[1] for place in places]
        first, second = self.stored[numbers[0]], self.stored[numbers[1]] if len(numbers) > 1 else None
        if second is None and all(pick in (-1, lane) for lane, pick in enumerate(picks)):
            return first
        return b.shuffle(first, second, picks)


def write_unrolled(e: Entry, group: Group, schedule: Schedule, tiles: RegisterTiles) -> None:
    """All regions and vectors of a group, one after the other."""
    size = 8 * len(schedule.shared)
    shared, next_ = e.room(size), e.room(size)
    windows = e.room(window_bytes(tiles.lanes) * (1 + max(tiles.windows.values())), 64)
    vectors = 1 + max(visit.vector for visit in tiles.visits)
    spills = [e.room(group.per_vector, 64) for _ in range(vectors)] if group.per_vector else []
    contents = _Contents(e)
    for number, step in enumerate(schedule.steps):
        for visit in tiles.visits:
            if visit.region == number:
                _visit(e, group, visit, tiles, contents, (shared, next_, windows), spills)
        # Only now: the vectors before started from the old values.
        for slot in step.writes:
            place, type_ = schedule.shared[slot], Type(slot.type)
            e.set(e.at(shared, place), e.get(e.at(next_, place), type_))


def _visit(
    e: Entry,
    group: Group,
    visit: Visit,
    tiles: RegisterTiles,
    contents: _Contents,
    places: Sequence[Value],
    spills: list[Value],
) -> None:
    b = e.b
    windows = places[-1]

    def window(op: Op) -> Value:
        return e.at(windows, tiles.windows[op] * window_bytes(tiles.lanes))

    for op, sources in visit.loads.items():
        type_ = Type(op.type, tiles.lanes if len(sources) > 1 else 0)
        e.set(window(op), contents.of(sources, type_))
    local = [e.number(each) for each in visit.first]
    ids = dict(zip(("local_x", "local_y", "local_z"), local, strict=True)) | {"vector": e.number(visit.vector)}
    starts = zip(("global_x", "global_y", "global_z"), group.start, local, strict=True)
    ids |= {name: start + by for name, start, by in starts}
    spill = spills[visit.vector] if spills else group.scratch
    every = Value(b, "splat (i1 true)", Type("i1", tiles.lanes))
    e.region(visit.region, every, {**group.known, **ids, "spill": spill}, *places, prefix=group.prefix)
    for op, number in visit.stores.items():
        element = op.args[1].type
        if op in tiles.uniform:
            one = e.get(window(op), Type(element))
            contents.stored[number] = b.with_lane(b.poison(Type(element, tiles.lanes)), 0, one)
        else:
            contents.stored[number] = e.get(window(op), Type(element, tiles.lanes))
