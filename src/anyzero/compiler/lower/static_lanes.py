"""Values of the lanes of one vector of a group, where its position in the group and constants alone decide them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Final

from anyzero.compiler.ir import WIDTHS, Op

Lanes = tuple[int, ...]
"""A number for each lane, without sign."""

_DEEPEST: Final = 64
"""The longest chain of operations that is followed."""

_BINARY: Final[dict[str, Callable[[int, int], int]]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "mask_and": operator.and_,
    "mask_or": operator.or_,
    "mask_andn": lambda mask, condition: mask & ~condition,
}

_SHIFTS: Final[dict[str, Callable[[int, int], int]]] = {"shl": operator.lshift, "lshr": operator.rshift}

_DIVISIONS: Final[dict[str, Callable[[int, int], int]]] = {"udiv": operator.floordiv, "urem": operator.mod}

_COMPARISONS: Final[dict[str, Callable[[int, int], bool]]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


class StaticLanes:
    """The vector whose first lane has the local id `first`; all of its lanes have work-items. Without `first`, any
    vector that is a sub-group.
    """

    def __init__(self, first: Sequence[int] | None, lanes: int) -> None:
        self.first = first
        self.lanes = lanes
        self._known: dict[Op, Lanes | None] = {}

    def of(self, op: Op, depth: int = _DEEPEST) -> Lanes | None:
        """None where the value depends on anything else."""
        if op not in self._known:
            found = self._find(op, depth) if depth else None
            self._known[op] = found
        return self._known[op]

    def _find(self, op: Op, depth: int) -> Lanes | None:
        lanes, name = self.lanes, op.name
        if name == "const":
            return (op.info,) * lanes if isinstance(op.info, int) and op.type in WIDTHS else None
        if name == "entry_mask":
            return (1,) * lanes
        if name == "builtin":
            which, dimension = op.info
            if self.first is None:
                return tuple(range(lanes)) if which == "sub_group_local_id" else None
            if which != "local_id":
                return None
            first = self.first[dimension]
            return (first,) * lanes if dimension else tuple(range(first, first + lanes))
        if not op.args or (name not in _EVALUATED and name != "any"):
            return None
        given = []
        for arg in op.args:
            value = self.of(arg, depth - 1)
            if value is None:
                return None
            given.append(value)
        return self._compute(op, given)

    def _compute(self, op: Op, given: list[Lanes]) -> Lanes | None:
        name = op.name
        bits = WIDTHS.get(op.type, 0)
        full = (1 << bits) - 1
        if name == "any":
            return (int(any(given[0])),) * self.lanes
        if name in _BINARY:
            compute = _BINARY[name]
            return tuple(compute(a, b) & full for a, b in zip(*given, strict=True))
        if name in _SHIFTS:
            shift = _SHIFTS[name]
            return None if max(given[1]) >= bits else tuple(shift(a, b) & full for a, b in zip(*given, strict=True))
        if name in _DIVISIONS:
            divide = _DIVISIONS[name]
            return tuple(divide(a, b) for a, b in zip(*given, strict=True)) if all(given[1]) else None
        if name == "select":
            return tuple(a if condition else b for condition, a, b in zip(*given, strict=True))
        if name == "icmp":
            return _compared(op, given)
        return _cast(op, given[0])


_EVALUATED: Final = frozenset({*_BINARY, *_SHIFTS, *_DIVISIONS, "select", "icmp", "cast"})


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def _compared(op: Op, given: list[Lanes]) -> Lanes | None:
    predicate = op.info
    type_ = op.args[0].type
    if type_ not in WIDTHS:
        return None
    if predicate in ("eq", "ne"):
        compare = _COMPARISONS[predicate]
        return tuple(int(compare(a, b)) for a, b in zip(*given, strict=True))
    compare, bits = _COMPARISONS[predicate[1:]], WIDTHS[type_]
    if predicate[0] == "u":
        return tuple(int(compare(a, b)) for a, b in zip(*given, strict=True))
    return tuple(int(compare(_signed(a, bits), _signed(b, bits))) for a, b in zip(*given, strict=True))


def _cast(op: Op, given: Lanes) -> Lanes | None:
    before, after = WIDTHS.get(op.args[0].type, 0), WIDTHS.get(op.type, 0)
    full = (1 << after) - 1
    if op.info == "trunc":
        return tuple(each & full for each in given)
    if op.info == "zext":
        return given
    if op.info == "sext":
        return tuple(_signed(each, before) & full for each in given)
    return None
