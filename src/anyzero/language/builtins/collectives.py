"""Functions that all work-items of a group or a sub-group compute together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from anyzero.language.builtins.table import Builtin, Signature, define
from anyzero.language.builtins.work_items import current

__all__ = [
    "group_all",
    "group_any",
    "group_broadcast",
    "group_exclusive_sum",
    "group_inclusive_sum",
    "group_max",
    "group_min",
    "group_sum",
    "sub_group_all",
    "sub_group_any",
    "sub_group_broadcast",
    "sub_group_exclusive_sum",
    "sub_group_inclusive_sum",
    "sub_group_max",
    "sub_group_min",
    "sub_group_shuffle",
    "sub_group_shuffle_xor",
    "sub_group_sum",
]

_SCOPES: Final = {"group": "Workgroup", "sub_group": "Subgroup"}
_WORDS: Final = {"group": "group", "sub_group": "sub-group"}
_ONE: Final = Signature("T", "n", vectors=False)
_VOTE: Final = Signature("T", "b", "bool", vectors=False)


def _sum(values: Sequence[Any]) -> Any:
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total


def _together(scope: str, function: Callable[[list[Any], int], Any]) -> Callable[[Any], Any]:
    return lambda value: function(*current().meet(scope, value))


def _reduction(scope: str, name: str, opcode: str, function: Callable[[Sequence[Any]], Any], doc: str) -> Builtin:
    return define(
        f"az.{scope}_{name}", _ONE, ("group", _SCOPES[scope], opcode, "Reduce"),
        _together(scope, lambda values, _: function(values)), f"{doc} of the {_WORDS[scope]}", synchronizes=True,
    )  # fmt: skip


def _scan(scope: str, name: str, operation: str, last: int, doc: str) -> Builtin:
    def plain(values: list[Any], index: int) -> Any:
        before = values[: index + last]
        return _sum(before) if before else values[0] - values[0]

    return define(
        f"az.{scope}_{name}", _ONE, ("group", _SCOPES[scope], "Add", operation), _together(scope, plain),
        f"{doc} of the {_WORDS[scope]}", synchronizes=True,
    )  # fmt: skip


def _vote(scope: str, name: str, opcode: str, function: Callable[[Any], bool], doc: str) -> Builtin:
    return define(
        f"az.{scope}_{name}", _VOTE, ("vote", _SCOPES[scope], opcode),
        _together(scope, lambda values, _: function(values)), f"whether x is true for {doc} of the {_WORDS[scope]}",
        synchronizes=True,
    )  # fmt: skip


def _broadcast(scope: str) -> Builtin:
    def plain(value: Any, index: Any) -> Any:
        return current().meet(scope, value)[0][int(index)]

    return define(
        f"az.{scope}_broadcast", Signature("Tn", "n", vectors=False), ("broadcast", _SCOPES[scope]), plain,
        f"the value of one work-item of the {_WORDS[scope]}, by its index, which must be the same for all",
        synchronizes=True,
    )  # fmt: skip


group_sum: Final = _reduction("group", "sum", "Add", _sum, "the sum over the work-items")
group_min: Final = _reduction("group", "min", "Min", min, "the smallest value among the work-items")
group_max: Final = _reduction("group", "max", "Max", max, "the largest value among the work-items")
group_inclusive_sum: Final = _scan(
    "group", "inclusive_sum", "InclusiveScan", 1, "the sum over the work-items up to this one"
)
group_exclusive_sum: Final = _scan(
    "group", "exclusive_sum", "ExclusiveScan", 0, "the sum over the work-items before this one"
)
group_any: Final = _vote("group", "any", "Any", any, "any work-item")
group_all: Final = _vote("group", "all", "All", all, "every work-item")
group_broadcast: Final = _broadcast("group")
sub_group_sum: Final = _reduction("sub_group", "sum", "Add", _sum, "the sum over the work-items")
sub_group_min: Final = _reduction("sub_group", "min", "Min", min, "the smallest value among the work-items")
sub_group_max: Final = _reduction("sub_group", "max", "Max", max, "the largest value among the work-items")
sub_group_inclusive_sum: Final = _scan(
    "sub_group", "inclusive_sum", "InclusiveScan", 1, "the sum over the work-items up to this one"
)
sub_group_exclusive_sum: Final = _scan(
    "sub_group", "exclusive_sum", "ExclusiveScan", 0, "the sum over the work-items before this one"
)
sub_group_any: Final = _vote("sub_group", "any", "Any", any, "any work-item")
sub_group_all: Final = _vote("sub_group", "all", "All", all, "every work-item")
sub_group_broadcast: Final = _broadcast("sub_group")


def _shuffled(value: Any, index: Any) -> Any:
    return current().meet("sub_group", (value, index))[0][int(index)][0]


def _crossed(value: Any, mask: Any) -> Any:
    values, own = current().meet("sub_group", value)
    return values[own ^ int(mask)]


sub_group_shuffle: Final = define(
    "az.sub_group_shuffle", Signature("Tk", "n", vectors=False), ("shuffle", "GroupNonUniformShuffle"), _shuffled,
    "the value of another work-item of the sub-group, by its index", synchronizes=True,
)  # fmt: skip
sub_group_shuffle_xor: Final = define(
    "az.sub_group_shuffle_xor", Signature("Tk", "n", vectors=False), ("shuffle", "GroupNonUniformShuffleXor"), _crossed,
    "the value of the work-item of the sub-group whose index is this one's xor k", synchronizes=True,
)  # fmt: skip
