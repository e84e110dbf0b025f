"""Fusion of two regions into one loop over the vectors of a group, where the order of the vectors makes the barrier
between them redundant.

In a scan, each work-item reads `a[i - distance]`, waits, and adds to `a[i]`. From the last vector to the first, no
vector reads what another one has written already: the value that was read stays in a register instead of crossing the
barrier in memory.
"""

from __future__ import annotations

from anyzero.compiler.analysis.addresses import root
from anyzero.compiler.analysis.affine import Form, Forms
from anyzero.compiler.analysis.distances import other_spaces
from anyzero.compiler.analysis.loops import Loops
from anyzero.compiler.dominators import Dominators
from anyzero.compiler.ir import SIZES, Access, Block, Body, Op, Slot
from anyzero.compiler.operations import MASKS
from anyzero.compiler.transform.regions import Region, ends_in_barrier, slots_across

_HARMLESS = {"load", "store", "read", "write", "barrier", *MASKS}
"""Operations, besides pure ones, whose order between two vectors is understood."""

_OBJECTS = ("variable", "local_argument")
"""Bases of pointers into memory of their own."""

_ALONG_ROW = (("builtin", ("local_id", 0)), ("builtin", ("global_id", 0)))

UP, DOWN = False, True
"""Orders of the vectors: from the first to the last, and from the last to the first."""


def fuse_regions(body: Body, regions: list[Region], follows: list[list[int]], shared: set[Slot]) -> list[Region]:
    """Fuses neighbours where that saves a value of each vector from crossing a barrier. `follows` has the numbers of
    the regions after each one, `shared` the slots that are kept once for the group. Returns the same list where there
    is nothing to fuse. Groups must be single rows of whole vectors.
    """
    owners: dict[Block, int] = {}
    for region in regions:
        for block in region.blocks:
            owners[block] = owners.get(block, 0) + 1
    entries = [number for following in follows for number in following]
    fused: list[Region] = []
    orders: set[bool] = set()
    for number, region in enumerate(regions):
        last = fused[-1] if fused else None
        if last is not None and follows[number - 1] == [number] and entries.count(number) == 1:
            found = (orders & _orders(last, region)) if _saves(last, region, shared, owners) else set()
            # A single region would be written as one without barriers.
            if found and (len(fused) > 1 or number + 1 < len(regions)):
                orders = found
                _join(last, region)
                last.descending = UP not in orders
                continue
        fused.append(region)
        orders = {UP, DOWN}
    if len(fused) == len(regions):
        return regions
    across = slots_across(body, [region.start for region in fused[1:]])
    for slot in {op.info for op in body.ops if op.name in ("read", "write")}:
        slot.across = slot.across and slot in across
    return fused


def _saves(before: Region, after: Region, shared: set[Slot], owners: dict[Block, int]) -> bool:
    """Does a value of each vector cross the barriers between the two, and nothing else depend on these?"""
    if any(owners[block] > 1 for region in (before, after) for block in region.blocks):
        return False
    if any(barrier.info != "group" for barrier in map(ends_in_barrier, before.blocks) if barrier is not None):
        return False
    read = {op.info for block in after.blocks for op in block.ops if op.name == "read"}
    written = {op.info for block in before.blocks for op in block.ops if op.name == "write"}
    return any(slot.across and slot not in shared for slot in read & written)


def _join(before: Region, after: Region) -> None:
    for block in before.blocks:
        if ends_in_barrier(block) is not None:
            block.ops.pop()
    before.blocks = sorted([*before.blocks, *after.blocks], key=lambda block: block.number)


def _orders(before: Region, after: Region) -> set[bool]:
    """The orders of the vectors in which none runs `after` too early for another one's `before`."""
    found = {UP, DOWN}
    first, second = _accesses(before), _accesses(after)
    if first is None or second is None:
        return set()
    forms = Forms(Loops({}, [], False), Dominators())
    for one in first:
        for other in second:
            if "store" in (one.name, other.name) and _may_meet(one, other):
                found &= _in_order(one, other, forms)
    return found


def _accesses(region: Region) -> list[Op] | None:
    """Accesses of memory that other vectors may see; None where there is an effect that is not understood."""
    found: list[Op] = []
    for block in region.blocks:
        for op in block.ops:
            if op.name in ("load", "store"):
                access: Access = op.info
                if access.volatile:
                    return None
                if access.space != "private":
                    found.append(op)
            elif not op.pure and op.name not in _HARMLESS:
                return None
    return found


def _may_meet(one: Op, other: Op) -> bool:
    if other_spaces(one, other):
        return False
    first, second = root(one.args[0]), root(other.args[0])
    apart = first.name in _OBJECTS and second.name in _OBJECTS and _base(first) != _base(second)
    return not apart


def _base(begin: Op) -> tuple[str, object]:
    return begin.name, begin.info


def _in_order(one: Op, other: Op, forms: Forms) -> set[bool]:
    """Both are elements of an array, each work-item a constant number of bytes from its own place: the order is right
    where a vector's second access is not ahead of the others' first ones.
    """
    size = _bytes(one)
    first, second = (_place(each.args[0], forms) for each in (one, other))
    if first is None or second is None or size != _bytes(other) or one.info.count != 1 or other.info.count != 1:
        return set()
    begin, end = root(one.args[0]), root(other.args[0])
    if begin.name not in (*_OBJECTS, "argument") or _base(begin) != _base(end):
        return set()
    if first.terms != second.terms or _step(first) != size:
        return set()
    orders = set()
    if first.low >= second.low:
        orders.add(UP)
    if first.low <= second.low:
        orders.add(DOWN)
    return orders


def _step(form: Form) -> int:
    """Bytes from a work-item to the next one of the group's row."""
    return sum(factor for leaf, factor in form.terms if leaf in _ALONG_ROW)


def _bytes(op: Op) -> int:
    return SIZES[op.type or op.args[1].type]


def _place(pointer: Op, forms: Forms) -> Form | None:
    """The distance from the base in bytes, where it is an affine sum. One that wraps around would point out of the
    array.
    """
    total: Form | None = Form()
    while pointer.name == "offset":
        part = forms.of(pointer.args[1])
        total = None if part is None or total is None else total.plus(part)
        pointer = pointer.args[0]
    if total is None or total.low != total.high:
        return None
    return Form(tuple(sorted(total.terms, key=repr)), total.low, total.high)
