"""Small groups in batches: each region runs for several groups before the next region does.

A group of few vectors loads from local memory what it has stored a few instructions before. Where such a load spans
several stores, as in a stencil on a tile, store-to-load forwarding fails, and the load waits until the stores have
reached the cache. With the stores of other groups in between they have.

Each group of a batch has local memory of its own: memory in front of the launch's, see `LOCAL_ROOM`.
"""

from __future__ import annotations

from anyzero.compiler.llvm import I64, Value
from anyzero.compiler.lower.entry import Entry, Group, group_of
from anyzero.compiler.lower.lockstep import write_region
from anyzero.compiler.lower.lockstep_schedule import Schedule
from anyzero.layouts.kernel import LOCAL_ROOM, WORKER_BYTES, WORKER_OFFSETS
from anyzero.lazy_dataclass import replace

VECTORS = 32
"""Vectors of a batch."""

FEWEST, MOST = 4, 8
REGIONS = 3
"""Groups of fewer vectors, or with more regions, run one by one: a step of a tree of sums is a few instructions, and
the loops over the groups of a batch would cost more than they save. In groups of more vectors, other vectors' stores
are in between already.
"""

ALIGNMENT = 128
"""Of local memory, in bytes."""


def batch_size(schedule: Schedule | None, vectors: int) -> int:
    """How many groups of so many vectors a batch has; 1 where they run one by one."""
    if schedule is None or schedule.tiles is not None:
        return 1
    if not schedule.straight or not 1 < len(schedule.steps) <= REGIONS:
        return 1
    alike = all(len(step.next) == 1 and step.reach is None for step in schedule.steps)
    return VECTORS // vectors if alike and FEWEST <= vectors <= MOST else 1


class Batch:
    """The ids of its groups, and a `Worker` with the local memory of each, on the stack of the entry point."""

    def __init__(self, e: Entry, most: int, vectors: Value, per_vector: int) -> None:
        self.e = e
        self.room, self.vectors, self.per_vector = most, vectors, per_vector
        self.ids = [e.room(8 * most) for _ in range(3)]
        self.workers = e.room(WORKER_BYTES * most)
        self.scratch = vectors * per_vector
        """Bytes from one group's scratch memory to the next one's."""
        b = e.b
        bytes_ = e.load(e.worker, WORKER_OFFSETS["local_bytes"], I64)
        taken = (bytes_ + (ALIGNMENT - 1)) & -ALIGNMENT
        room = b.binary("udiv", e.number(LOCAL_ROOM), b.intrinsic("umax", taken, e.number(1)))
        self.most = b.intrinsic("umax", b.intrinsic("umin", room, e.number(most)), e.number(1))
        e.for_(e.number(0), self.most, 1, lambda index: self._make_worker(index, taken))

    def _make_worker(self, index: Value, taken: Value) -> None:
        e, made = self.e, self._worker(index)
        for place in range(0, WORKER_BYTES, 8):
            word = e.load(e.worker, place, I64)
            if place == WORKER_OFFSETS["local"]:
                word = word - index * taken
            e.set(e.at(made, place), word)

    def _worker(self, index: Value) -> Value:
        return self.e.at(self.workers, index * WORKER_BYTES)

    def put(self, index: Value, ids: list[Value]) -> None:
        for place, value in zip(self.ids, ids, strict=True):
            self.e.set(self.e.at(place, index * 8), value)

    def group(self, index: Value, prefix: str) -> Group:
        e = self.e
        ids = [e.get(e.at(place, index * 8)) for place in self.ids]
        return self.apart(group_of(e, ids, self.vectors, self.per_vector, {}, prefix), index)

    def apart(self, group: Group, index: Value) -> Group:
        """With the memory of the batch's group `index`."""
        return replace(group, worker=self._worker(index), scratch=self.e.at(self.e.scratch, index * self.scratch))


def write_batch(batch: Batch, count: Value, schedule: Schedule, prefix: str) -> None:
    """Region by region, for `count` groups."""
    e = batch.e
    size = 8 * len(schedule.shared)
    shared, next_ = (e.room(size * batch.room) for _ in range(2))
    for number in range(len(schedule.steps)):

        def one(index: Value, number: int = number) -> None:
            places = (e.at(shared, index * size), e.at(next_, index * size))
            write_region(e, batch.group(index, prefix), number, schedule, places)

        e.for_(e.number(0), count, 1, one)
