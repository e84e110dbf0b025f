"""Arrays in local memory whose elements can stay in registers: scalar replacement across the vectors of a group.

Where a group is a few vectors that take one path, each access has a constant place for each vector: the lanes of a load
are lanes of vectors that were stored before, and a shuffle instead of a load. Store-to-load forwarding fails for loads
that span several stores, as `a[i - 1]` of a scan or a stencil does: they wait until the stores have reached the cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from anyzero.compiler.analysis.addresses import root
from anyzero.compiler.analysis.uniformity import Shapes
from anyzero.compiler.dominators import dominators
from anyzero.compiler.ir import SIZES, Block, Masks, Op
from anyzero.compiler.lower.static_lanes import StaticLanes
from anyzero.compiler.transform.regions import Region, ends_in_barrier
from anyzero.lazy_dataclass import dataclass, field

Array = tuple[str, object]
"""A local variable, or a local argument."""

SOURCES = 2
"""The most vectors that a load takes its lanes from: each takes a shuffle."""

Place = tuple[int, int]
"""The number of a stored vector, and a lane of it."""


@dataclass(slots=True)
class Visit:
    """The accesses of arrays in registers by one vector in one region."""

    region: int
    vector: int
    first: tuple[int, int, int]
    """The local id of lane 0."""
    loads: dict[Op, tuple[Place | None, ...]] = field(default_factory=dict)
    """The source of each lane, None for lanes that are inactive; one lane where the address is uniform."""
    stores: dict[Op, int] = field(default_factory=dict)
    """The number of each stored vector."""


@dataclass(slots=True)
class RegisterTiles:
    visits: list[Visit]
    """In the order of execution."""
    windows: dict[Op, int]
    """Numbers of the accesses, counted from 0 in each region."""
    uniform: set[Op]
    """Accesses of one element by all lanes."""
    lanes: int


@dataclass(slots=True)
class _Executed:
    op: Op
    array: Array
    active: tuple[int, ...] | None
    """The lanes; None where data decides."""
    places: tuple[int, ...]
    """Bytes from the begin of the array, for each lane."""


class _UnknownError(Exception):
    """Control flow or a place depends on more than the position in the group."""


def register_tiles(
    regions: list[Region], order: list[tuple[int, int, tuple[int, int, int]]], masks: Masks, shapes: Shapes, lanes: int
) -> RegisterTiles | None:
    """`order` has region, number of the vector and local id of its lane 0, in the order of execution. None where no
    array can stay in registers.
    """
    candidates = _candidates(regions)
    if not candidates:
        return None
    paths = [_Paths(region, candidates) for region in regions]
    vectors: dict[tuple[int, int, int], StaticLanes] = {}
    found: list[tuple[Visit, list[_Executed]]] = []
    try:
        for region, vector, first in order:
            known = vectors.setdefault(first, StaticLanes(first, lanes))
            done = list(paths[region].executed(known, masks, candidates))
            found.append((Visit(region, vector, first), done))
    except _UnknownError:
        return None
    numbers = count()
    kept = {array for array in candidates if _follow(array, found, shapes, numbers)}
    if not kept:
        return None
    for visit, _ in found:
        visit.loads = {op: sources for op, sources in visit.loads.items() if _array(op.args[0]) in kept}
        visit.stores = {op: number for op, number in visit.stores.items() if _array(op.args[0]) in kept}
    windows = _windows(regions, kept)
    uniform = {op for op in windows if shapes[op.args[0]].uniform}
    return RegisterTiles([visit for visit, _ in found], windows, uniform, lanes)


def _array(pointer: Op) -> Array | None:
    begin = root(pointer)
    if begin.name == "variable" and begin.info.space == "local" and begin.info.image is None:
        return begin.name, begin.info
    return (begin.name, begin.info) if begin.name == "local_argument" else None


def _accessed(op: Op) -> Array | None:
    return _array(op.args[0]) if op.name in ("load", "store") else None


def _candidates(regions: list[Region]) -> dict[Array, str]:
    """Arrays that are only loaded and stored element by element, with the type of the elements."""
    types: dict[Array, str] = {}
    lost: set[Array] = set()
    for block in dict.fromkeys(block for region in regions for block in region.blocks):
        for op in block.ops:
            if op.name == "call":
                return {}  # the function may access local variables by itself
            for place, arg in enumerate(op.args):
                array = _array(arg) if arg.type == "ptr" else None
                if array is None or (op.name == "offset" and not place):
                    continue
                element = op.type if op.name == "load" else op.args[-1].type
                plain = op.name in ("load", "store") and not place and op.info.count == 1 and not op.info.volatile
                if not plain or element in ("ptr", "i1") or types.setdefault(array, element) != element:
                    lost.add(array)
    return {array: element for array, element in types.items() if array not in lost}


def _windows(regions: list[Region], kept: set[Array]) -> dict[Op, int]:
    found: dict[Op, int] = {}
    for region in regions:
        ops = [op for block in region.blocks for op in block.ops if _accessed(op) in kept]
        found |= {op: number for number, op in enumerate(ops)}
    return found


class _Paths:
    """The blocks of a region that a vector executes."""

    def __init__(self, region: Region, candidates: dict[Array, str]) -> None:
        self.region = region
        self.sink = Block(-1)
        self.next = {
            block: [self.sink] if ends_in_barrier(block) or not block.successors else block.successors
            for block in region.blocks
        }
        before: dict[Block, list[Block]] = {self.sink: [], **{block: [] for block in region.blocks}}
        for block, targets in self.next.items():
            for target in targets:
                before[target].append(block)
        self.after = dominators(self.sink, lambda block: before[block])
        """Immediate post-dominators."""
        self.accesses = {block: [op for op in block.ops if _accessed(op) in candidates] for block in region.blocks}

    def executed(self, known: StaticLanes, masks: Masks, candidates: dict[Array, str]) -> Iterator[_Executed]:
        block, seen = self.region.start, set[Block]()
        while block is not self.sink:
            if block in seen:
                raise _UnknownError  # a loop that no data ends
            seen.add(block)
            for op in self.accesses[block]:
                yield self._access(op, block, known, masks, candidates)
            following = self.next[block]
            if len(following) == 1:
                block = following[0]
                continue
            assert block.condition is not None
            taken = known.of(block.condition)
            if taken is not None:
                block = following[0 if taken[0] else 1]
                continue
            meet = self.after.get(block)
            if meet is None:
                raise _UnknownError
            for other in self._between(following, meet):
                for op in self.accesses[other]:
                    if op.name == "store":
                        raise _UnknownError  # some vectors may not reach it, others several times
                    yield self._access(op, other, known, masks, candidates)
            block = meet

    def _between(self, starts: list[Block], meet: Block) -> list[Block]:
        found: dict[Block, None] = {}
        waiting = list(starts)
        while waiting:
            block = waiting.pop()
            if block is not meet and block is not self.sink and block not in found:
                found[block] = None
                waiting += self.next[block]
        return list(found)

    @staticmethod
    def _access(op: Op, block: Block, known: StaticLanes, masks: Masks, candidates: dict[Array, str]) -> _Executed:
        array = _array(op.args[0])
        assert array is not None
        mask = masks.of.get(block)
        active = (1,) * known.lanes if mask is None else known.of(mask)
        if active is not None and not any(active):
            return _Executed(op, array, active, (0,) * known.lanes)
        pointer, places = op.args[0], (0,) * known.lanes
        while pointer.name == "offset":
            by = known.of(pointer.args[1])
            if by is None:
                # The whole array stays in memory.
                candidates.pop(array, None)
                return _Executed(op, array, (), ())
            places = tuple((a + b) & ((1 << 64) - 1) for a, b in zip(places, by, strict=True))
            pointer = pointer.args[0]
        return _Executed(op, array, active, places)


def _follow(array: Array, found: list[tuple[Visit, list[_Executed]]], shapes: Shapes, numbers: Iterator[int]) -> bool:
    """Follows the contents of an array from access to access; False where a load may read anything else."""
    contents: dict[int, Place] = {}
    read = False
    for visit, executed in found:
        new: dict[int, Place] = {}
        for each in executed:
            if each.array != array:
                continue
            op, uniform = each.op, shapes[each.op.args[0]].uniform
            if op.name == "load":
                sources = _sources(each, contents, new, uniform)
                if sources is None:
                    return False
                visit.loads[op] = sources
                read = True
                continue
            if each.active is None or not _is_aligned(each):
                return False
            number = visit.stores[op] = next(numbers)
            places = enumerate(zip(each.places, each.active, strict=True))
            new |= {place: (number, 0 if uniform else lane) for lane, (place, active) in places if active}
        contents |= new
    return read


def _is_aligned(each: _Executed) -> bool:
    """Are all its places multiples of an element, so that elements do not overlap?"""
    size = SIZES[each.op.type or each.op.args[1].type]
    assert each.active is not None
    return not any(place % size for place, active in zip(each.places, each.active, strict=True) if active)


def _sources(
    each: _Executed, contents: dict[int, Place], new: dict[int, Place], uniform: bool
) -> tuple[Place | None, ...] | None:
    """None where a lane reads what was never stored, or what the same vector has stored in the same region."""
    active = each.active or (1,) * len(each.places)
    if not any(active):
        return (None,) * (1 if uniform else len(active))
    wanted = [place for place, here in zip(each.places, active, strict=True) if here]
    if any(place in new or place not in contents for place in wanted):
        return None
    if uniform:
        return (contents[wanted[0]],)
    found = tuple(contents[place] if here else None for place, here in zip(each.places, active, strict=True))
    return found if len({source[0] for source in found if source is not None}) <= SOURCES else None
