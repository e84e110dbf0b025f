"""What a device says about its parts, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Cache", "ImageLimits", "Memory", "Peer", "QueueGroup", "QueueKind"]

QueueKind = Literal["compute", "copy"]


@dataclass(frozen=True, slots=True)
class QueueGroup:
    """Queues of one sort: where lists and queues made for its `ordinal` run.

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
    """A memory of a device; `clock_mhz` and `bus_width` are 0 where nobody knows.

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
    """What one device may do with another's memory.

    >>> device = az.device()
    >>> device.peer(device).access
    True
    """

    access: bool
    atomics: bool
