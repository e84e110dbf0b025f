"""Bounds of integers, as far as they are known: division of non-negative integers needs no correction of its sign."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from anyzero.language import tree
from anyzero.language.types import Scalar

__all__ = ["Interval", "interval"]

Interval = tuple[int, int]

_WORK_ITEMS: Final = 1 << 48
_GROUP: Final = 1 << 16
_IDS: Final[dict[str, Interval]] = {
    **dict.fromkeys(("az.global_id", "az.global_offset", "az.global_linear_id"), (0, _WORK_ITEMS)),
    **dict.fromkeys(("az.global_size",), (1, _WORK_ITEMS)),
    **dict.fromkeys(("az.group_id",), (0, 1 << 32)),
    **dict.fromkeys(("az.num_groups",), (1, 1 << 32)),
    **dict.fromkeys(("az.local_id", "az.local_linear_id", "az.sub_group_id", "az.sub_group_local_id"), (0, _GROUP)),
    **dict.fromkeys(("az.local_size", "az.sub_group_size", "az.num_sub_groups"), (1, _GROUP)),
    "az.work_dim": (1, 3),
}
"""No device has more: an id has fewer than 48 bits, one within a group 16."""


def interval(value: tree.Expression, of_name: Callable[[str], Interval | None]) -> Interval:
    """The least and the greatest value that an integer can have; those of its type where nothing is known."""
    t = value.type
    whole = (t.low, t.high) if isinstance(t, Scalar) and t.kind in "iu" else (-(1 << 64), 1 << 64)
    found = _known(value, of_name)
    return found if found is not None and whole[0] <= found[0] and found[1] <= whole[1] else whole


def _known(e: tree.Expression, of_name: Callable[[str], Interval | None]) -> Interval | None:
    if isinstance(e, tree.Constant | tree.Specialized):
        return (e.value, e.value) if isinstance(e.value, int) else None
    if isinstance(e, tree.Builtin):
        return _IDS.get(e.builtin.name)
    if isinstance(e, tree.Name):
        return of_name(e.name)
    if isinstance(e, tree.Shape):
        return 0, 1 << 48
    if isinstance(e, tree.Shared):
        return interval(e.value, of_name)
    if isinstance(e, tree.Convert) and isinstance(e.value.type, Scalar) and e.value.type.kind in "iu":
        return interval(e.value, of_name)
    if isinstance(e, tree.Binary) and isinstance(e.type, Scalar) and e.type.kind in "iu":
        return _combined(e.operator, interval(e.left, of_name), interval(e.right, of_name))
    return None


def _combined(sign: str, a: Interval, b: Interval) -> Interval | None:
    if sign == "+":
        return a[0] + b[0], a[1] + b[1]
    if sign == "-":
        return a[0] - b[1], a[1] - b[0]
    if sign == "*":
        products = [x * y for x in a for y in b]
        return min(products), max(products)
    if sign == "%" and b[0] > 0:
        return 0, b[1] - 1
    if a[0] < 0 or b[0] < 0:
        return None
    if sign == "//":
        return 0, a[1]
    if sign == ">>":
        return 0, a[1]
    return (0, min(a[1], b[1])) if sign == "&" else None
