"""Values of the builtin variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from anyzero.compiler.reference.errors import Fault
from anyzero.compiler.spirv.tables import BuiltIn
from anyzero.compiler.spirv.types import Type, Vector

if TYPE_CHECKING:
    from anyzero.compiler.reference.work_item import Item


def builtin(item: Item, which: int, type_: Type) -> Any:
    found = BUILTINS.get(which)
    if found is None:
        raise Fault(f"there is no builtin {which}")
    value = found(item)
    mask = (1 << (type_.scalar or type_).bits) - 1
    return tuple(part & mask for part in value) if isinstance(type_, Vector) else value & mask


def size_of_sub_group(item: Item) -> int:
    """Size of the item's sub-group; the last one of a group may be smaller."""
    lanes = item.group.launch.sub_group_size
    return min(lanes, len(item.group.items) - item.sub_group * lanes)


def _most_lanes(item: Item) -> int:
    return item.group.launch.sub_group_size


def _sub_groups(item: Item) -> int:
    return -(-len(item.group.items) // item.group.launch.sub_group_size)


def _dimensions(item: Item) -> int:
    return max((index + 1 for index, size in enumerate(item.group.launch.global_size) if size != 1), default=1)


def _linear(item: Item) -> int:
    launch = item.group.launch
    x, y, z = (id_ - start for id_, start in zip(item.global_id, launch.offset, strict=True))
    return x + launch.global_size[0] * (y + launch.global_size[1] * z)


def _mask(low: Callable[[Item], int], high: Callable[[Item], int]) -> Callable[[Item], Any]:
    """The mask of lanes in [low, high), as four words."""

    def words(item: Item) -> Any:
        bits = (1 << max(high(item), 0)) - (1 << min(low(item), max(high(item), 0)))
        return tuple(bits >> (32 * index) & 0xFFFFFFFF for index in range(4))

    return words


BUILTINS: dict[int, Callable[[Item], Any]] = {
    BuiltIn.NumWorkgroups: lambda item: item.group.launch.group_count,
    BuiltIn.WorkgroupSize: lambda item: item.group.launch.group_size,
    BuiltIn.EnqueuedWorkgroupSize: lambda item: item.group.launch.group_size,
    BuiltIn.WorkgroupId: lambda item: item.group.id,
    BuiltIn.LocalInvocationId: lambda item: item.local_id,
    BuiltIn.GlobalInvocationId: lambda item: item.global_id,
    BuiltIn.GlobalSize: lambda item: item.group.launch.global_size,
    BuiltIn.GlobalOffset: lambda item: item.group.launch.offset,
    BuiltIn.LocalInvocationIndex: lambda item: item.index,
    BuiltIn.WorkDim: _dimensions,
    BuiltIn.GlobalLinearId: _linear,
    BuiltIn.SubgroupSize: size_of_sub_group,
    BuiltIn.SubgroupMaxSize: _most_lanes,
    BuiltIn.NumSubgroups: _sub_groups,
    BuiltIn.NumEnqueuedSubgroups: _sub_groups,
    BuiltIn.SubgroupId: lambda item: item.sub_group,
    BuiltIn.SubgroupLocalInvocationId: lambda item: item.lane,
    BuiltIn.SubgroupEqMask: _mask(lambda item: item.lane, lambda item: item.lane + 1),
    BuiltIn.SubgroupGeMask: _mask(lambda item: item.lane, _most_lanes),
    BuiltIn.SubgroupGtMask: _mask(lambda item: item.lane + 1, _most_lanes),
    BuiltIn.SubgroupLeMask: _mask(lambda item: 0, lambda item: item.lane + 1),
    BuiltIn.SubgroupLtMask: _mask(lambda item: 0, lambda item: item.lane),
}
"""By number; a test compares them with those that the verifier accepts."""
