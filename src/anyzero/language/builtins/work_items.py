"""Ids and sizes of work-items, and the barriers at which they meet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

from anyzero.language.builtins.table import Builtin, Signature, define
from anyzero.language.types import Refusal

__all__ = [
    "IDS",
    "Item",
    "barrier",
    "current",
    "fence",
    "global_id",
    "global_linear_id",
    "global_offset",
    "global_size",
    "group_id",
    "local_id",
    "local_linear_id",
    "local_size",
    "num_groups",
    "num_sub_groups",
    "running",
    "sub_group_barrier",
    "sub_group_id",
    "sub_group_local_id",
    "sub_group_size",
    "work_dim",
]


class Item(Protocol):
    """A work-item of the simulator."""

    def fact(self, name: str) -> Any:
        """An id or a size: three numbers for those with axes."""

    def meet(self, scope: str, value: Any) -> tuple[list[Any], int]:
        """Wait for the others of the group or sub-group; every one's value, and the own index among them."""


class _Running:
    """The work-item that the simulator runs now; one at a time."""

    item: Item | None = None


running: Final = _Running()


def current() -> Item:
    """The work-item that runs."""
    if running.item is None:
        raise Refusal("this works inside a kernel only: launch it, or run kernel.simulate[…](…)")
    return running.item


IDS: Final[dict[str, str]] = {}
"""The SPIR-V builtin of each id or size by the name of its function."""

_AXIS: Final = Signature("n", "i", "i64", optional=1)
_NONE_64: Final = Signature("", result="i64")
_NONE_32: Final = Signature("", result="i32")


def _axis(name: str, spirv: str, doc: str) -> Builtin:
    def plain(axis: Any = 0) -> int:
        return int(current().fact(name)[int(axis)])

    IDS[name] = spirv
    return define(
        f"az.{name}", _AXIS, ("id", spirv, 3), plain, f"{doc} along an axis, 0, 1 or 2",
        constants=frozenset({0}),
    )  # fmt: skip


def _single(name: str, spirv: str, doc: str, signature: Signature = _NONE_32) -> Builtin:
    def plain() -> int:
        return int(current().fact(name))

    IDS[name] = spirv
    kind = "id64" if signature is _NONE_64 else "id32"
    return define(f"az.{name}", signature, (kind, spirv), plain, doc)


global_id: Final = _axis("global_id", "GlobalInvocationId", "the index of the work-item in the launch")
local_id: Final = _axis("local_id", "LocalInvocationId", "the index of the work-item in its group")
group_id: Final = _axis("group_id", "WorkgroupId", "the index of the group")
global_size: Final = _axis("global_size", "GlobalSize", "the number of work-items")
local_size: Final = _axis("local_size", "WorkgroupSize", "the number of work-items in a group")
num_groups: Final = _axis("num_groups", "NumWorkgroups", "the number of groups")
global_offset: Final = _axis("global_offset", "GlobalOffset", "the first global id")
work_dim: Final = _single("work_dim", "WorkDim", "the number of axes of the launch")
global_linear_id: Final = _single(
    "global_linear_id", "GlobalLinearId", "the linear index of the work-item in the launch", _NONE_64
)
local_linear_id: Final = _single(
    "local_linear_id", "LocalInvocationIndex", "the linear index of the work-item in its group", _NONE_64
)
sub_group_size: Final = _single("sub_group_size", "SubgroupSize", "the number of work-items in this sub-group")
num_sub_groups: Final = _single("num_sub_groups", "NumSubgroups", "the number of sub-groups in the group")
sub_group_id: Final = _single("sub_group_id", "SubgroupId", "the index of the sub-group in its group")
sub_group_local_id: Final = _single(
    "sub_group_local_id", "SubgroupLocalInvocationId", "the index of the work-item in its sub-group"
)


def _meeting(scope: str) -> Callable[[], None]:
    def plain() -> None:
        current().meet(scope, None)

    return plain


barrier: Final = define(
    "az.barrier", Signature("", result="None"), ("barrier", "Workgroup"), _meeting("group"),
    "wait for all work-items of the group; stores before it are visible after it", synchronizes=True,
)  # fmt: skip
sub_group_barrier: Final = define(
    "az.sub_group_barrier", Signature("", result="None"), ("barrier", "Subgroup"), _meeting("sub_group"),
    "wait for all work-items of the sub-group", synchronizes=True,
)  # fmt: skip
fence: Final = define(
    "az.fence", Signature("", result="None"), ("fence",), lambda: None,
    "order the loads and stores of the work-item before it and after it, as other work-items see them",
)  # fmt: skip
