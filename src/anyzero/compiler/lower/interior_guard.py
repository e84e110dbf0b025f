"""Emits the guard of the interior version: do its assumptions hold for these rows of a vector?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from anyzero.compiler.llvm import I1, I64, Type, Value
from anyzero.compiler.transform.interior_version import Assumptions

if TYPE_CHECKING:
    from anyzero.compiler.lower.entry import Entry

_SIZES = {"group_size": 24, "global_size": 72}


def holds(e: Entry, granted: Assumptions, ids: dict[str, Value], further: Sequence[int | Value] = ()) -> Value:
    """`ids` are those of the first work-item, and the last one is `further` in each dimension: one vector of the rows
    that run at once, where that is not given.
    """
    b = e.b
    last = further or (e.step - 1, e.rows - 1, 0)
    answer = b.constant(1, I1)
    for terms, least in granted.least.items():
        if not terms:
            continue
        total = e.number(least)
        for leaf, factor in terms:
            total = total + _at_worst(e, leaf, factor, ids, last) * factor
        answer = answer & b.compare("sge", total, 0)
    return answer


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
