"""Properties of devices, modules and kernels, as plain values."""

from __future__ import annotations

from typing import Literal

from anyzero.lazy_dataclass import dataclass

__all__ = [
    "Cache",
    "ImageLimits",
    "KernelProperties",
    "Memory",
    "ModuleProperties",
    "Peer",
    "QueueGroup",
    "QueueKind",
]

QueueKind = Literal["compute", "copy"]


@dataclass(frozen=True, slots=True)
class QueueGroup:
    """A group of equal queues; lists and queues are made for its `ordinal`.

    >>> az.device().queue_groups[0].compute
    True
    """

    ordinal: int
    queues: int
    compute: bool
    copy: bool
    cooperative: bool
    max_fill_pattern: int

    @property
    def kind(self) -> QueueKind:
        """``"compute"`` for a group that runs everything, ``"copy"`` for one that only moves memory."""
        return "compute" if self.compute else "copy"


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory of a device; `clock_mhz` and `bus_width` are 0 if unknown.

    >>> az.device().memories[0].size > 0
    True
    """

    name: str
    size: int
    clock_mhz: int
    bus_width: int


@dataclass(frozen=True, slots=True)
class Cache:
    """A cache of a device, in bytes.

    >>> az.device().caches[0].size > 0
    True
    """

    size: int
    user_control: bool


@dataclass(frozen=True, slots=True)
class ImageLimits:
    """The largest images, in pixels a side, and how many a kernel takes.

    >>> az.device().image_limits.side_2d >= 1024
    True
    """

    side_1d: int
    side_2d: int
    side_3d: int
    buffer: int
    array_levels: int
    samplers: int
    read_arguments: int
    write_arguments: int


@dataclass(frozen=True, slots=True)
class Peer:
    """The access of one device to another's memory.

    >>> device = az.device()
    >>> device.peer(device).access
    True
    """

    access: bool
    atomics: bool


@dataclass(frozen=True, slots=True)
class ModuleProperties:
    """Properties of a module: with `imports` it uses functions or variables of others and has to be linked."""

    imports: bool


@dataclass(frozen=True, slots=True)
class KernelProperties:
    """Properties of a compiled kernel; sizes are in bytes, and 0 means no requirement.

    Group sizes are best a multiple of `preferred_group_multiple`; `max_group_size` is the largest number of work-items
    in a group. `local_memory` is per group, `private_memory` and `spill_memory` are per work-item: the latter is for
    values that do not fit into registers, or live across a barrier.
    """

    arguments: int
    required_group_size: tuple[int, int, int] | None
    required_sub_groups: int
    required_sub_group_size: int
    max_sub_group_size: int
    max_sub_groups: int
    max_group_size: int
    preferred_group_multiple: int
    local_memory: int
    private_memory: int
    spill_memory: int
    uuid: bytes
