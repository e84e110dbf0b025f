"""Emits the guards of the interior version: for which vectors of a row, or groups, do its assumptions hold?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from anyzero.compiler.llvm import I1, I64, Type, Value
from anyzero.compiler.transform.interior_version import Assumptions

if TYPE_CHECKING:
    from anyzero.compiler.lower.entry import Entry

_SIZES = {"group_size": 24, "global_size": 72}
_ALONG = (("builtin", ("global_id", 0)), ("builtin", ("local_id", 0)))
"""Ids that grow by one from one work-item of a row to the next."""


def holds(e: Entry, granted: Assumptions, ids: dict[str, Value], further: Sequence[int | Value]) -> Value:
    """`ids` are those of the first work-item, and the last one is `further` in each dimension."""
    answer = e.b.constant(1, I1)
    for _, least in _totals(e, granted, ids, further):
        answer = answer & e.b.compare("sge", least, 0)
    return answer


def interior_of_row(
    e: Entry, granted: Assumptions, ids: dict[str, Value], start: Value, stop: Value
) -> tuple[Value, Value]:
    """Splits the whole vectors of a row: the assumptions hold for those from the first result to the second.

    `ids` are those of the first work-item, at `start`. Each assumption is a sum that must not be negative, and grows or
    falls by a constant from one work-item of the row to the next.
    """
    b, none = e.b, e.number(0)
    length = (stop - start) & -e.step
    first, last = none, length - 1
    for slope, least in _totals(e, granted, ids, (e.step - 1, e.rows - 1, 0)):
        missing = b.compare("slt", least, 0)
        if slope > 0:
            # Saturated, because the sum may be the smallest number, which has no negative.
            distance = b.intrinsic("ssub.sat", none, least)
            steps = b.binary("udiv", distance + (slope - 1), e.number(slope)) if slope > 1 else distance
            first = b.intrinsic("smax", first, b.select(missing, steps, none))
        else:
            steps = b.binary("udiv", least, e.number(-slope)) if slope < -1 else least
            last = b.intrinsic("smin", last, b.select(missing, e.number(-1), steps if slope else last))
    # The first vector may begin up to the whole of itself later, and the last one where its first work-item is.
    first = (b.intrinsic("umin", first, length) + (e.step - 1)) & -e.step
    return start + first, start + last + e.step


def _totals(
    e: Entry, granted: Assumptions, ids: dict[str, Value], further: Sequence[int | Value]
) -> Iterator[tuple[int, Value]]:
    """The sums that must not be negative, each at its worst, and by how much each grows along a row."""
    for terms, least in granted.least.items():
        if not terms:
            continue
        yield sum(factor for leaf, factor in terms if leaf in _ALONG), total(e, terms, least, ids, further)


def total(
    e: Entry, terms: Iterable[tuple[Any, int]], constant: int, ids: dict[str, Value], further: Sequence[int | Value]
) -> Value:
    """A sum at its minimum over the work-items."""
    made = e.number(constant)
    for leaf, factor in terms:
        made = made + _at_worst(e, leaf, factor, ids, further) * factor
    return made


def _at_worst(e: Entry, leaf: Any, factor: int, ids: dict[str, Value], further: Sequence[int | Value]) -> Value:
    """The minimum of the sum over the work-items: ids with a negative factor are those of the last one."""
    kind, what = leaf
    if kind == "argument":
        place, type_ = what
        value = e.b.load(Type(type_), e.at(e.arguments, place), align=Type(type_).bits // 8, invariant=True)
        return value if type_ == "i64" else e.b.cast("sext", value, "i64")
    name, dimension = what
    if name in _SIZES:
        return e.load(e.grid, _SIZES[name] + 8 * dimension, I64)
    first = ids[f"{name.removesuffix('_id')}_{'xyz'[dimension]}"]
    # All work-items that are asked about are of one group.
    return first if factor > 0 or name == "group_id" else first + further[dimension]
