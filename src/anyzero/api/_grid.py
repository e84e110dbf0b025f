"""How many work-items a launch has and in which groups, as people say it and as the driver takes it."""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from anyzero import errors, ze
from anyzero.api._sizes import place_within

__all__ = ["ORIGIN", "Extents", "Grid", "grid", "three"]

Extents = int | tuple[int, ...]
"""One number, or up to three: along x, y and z."""

Three = tuple[int, int, int]

ORIGIN: Final[Three] = (0, 0, 0)
"""Where global ids usually begin."""

_AXES: Final = "xyz"
_LARGEST: Final = (1 << 32) - 1

_cooperation: Final = ze.ze_command_list_append_launch_kernel_param_cooperative_desc_t(isCooperative=1)
_COOPERATIVE: Final = ctypes.addressof(_cooperation)


class Grid:
    """The sizes of a launch, ready for the driver."""

    __slots__ = (
        "_count",
        "cooperative",
        "count_at",
        "count_xy",
        "count_z",
        "global_size",
        "group_count",
        "group_size",
        "offset",
        "parameters",
        "size_xy",
        "size_z",
    )

    def __init__(self, global_size: Three, group_size: Three, offset: Three, cooperative: bool) -> None:
        x, y, z = (whole // part for whole, part in zip(global_size, group_size, strict=True))
        self.global_size = global_size
        self.group_size = group_size
        self.group_count = (x, y, z)
        self.offset = offset
        self.cooperative = cooperative
        self._count = ze.ze_group_count_t(x, y, z)
        self.count_at = ctypes.addressof(self._count)
        # The same as numbers, the way that C passes structures of three.
        self.count_xy, self.count_z = x | y << 32, z
        self.size_xy, self.size_z = group_size[0] | group_size[1] << 32, group_size[2]
        self.parameters = _COOPERATIVE if cooperative else None


def three(sizes: Any, what: str) -> Three:
    """Up to three numbers as exactly three; those that are left out are 1."""
    given = (sizes,) if isinstance(sizes, int | np.integer) else tuple(sizes)
    if not 1 <= len(given) <= 3:
        raise errors.InvalidArgument(f"{what} {given} has {len(given)} dimensions; there are one to three")
    x, y, z = (*(operator.index(each) for each in given), 1, 1)[:3]
    if min(x, y, z) < 1:
        raise errors.InvalidArgument(f"{what} {given} has no work-items: every number is 1 or more")
    return x, y, z


def grid(
    global_size: Any, group_size: Any, suggest: Callable[[Three], Three], offset: Any = None, cooperative: bool = False
) -> Grid:
    """The grid of so many work-items, in groups of that size or, for None, of a size that is suggested."""
    whole = three(global_size, "the global size")
    part = suggest(whole) if group_size is None else three(group_size, "the group size")
    start = ORIGIN if offset is None else _offset(offset)
    for axis, size, group in zip(_AXES, whole, part, strict=True):
        if size % group:
            raise _indivisible(axis, size, group, global_size, group_size)
        if group > _LARGEST:
            raise errors.UnsupportedSize(f"{group} work-items of a group along {axis}: there are at most {_LARGEST}")
        if size // group > _LARGEST:
            raise errors.UnsupportedSize(f"{size // group} groups along {axis}: a launch has at most {_LARGEST}")
    return Grid(whole, part, start, cooperative)


def _offset(offset: Any) -> Three:
    given = (offset,) if isinstance(offset, int | np.integer) else tuple(offset)
    if not 1 <= len(given) <= 3:
        raise errors.InvalidArgument(f"the offset {given} has {len(given)} dimensions; there are one to three")
    x, y, z = (*(place_within(each, 32, "the offset") for each in given), 0, 0)[:3]
    return x, y, z


def _indivisible(axis: str, size: int, group: int, global_size: Any, group_size: Any) -> errors.InvalidArgument:
    if group_size is None:
        remedy = (
            "This kernel requires that group size: launch a multiple of it, and let the kernel skip what is too much."
        )
    else:
        remedy = (
            f"Launch {-(-size // group) * group} and let the kernel skip what is too much, or leave the group size out."
        )
    if isinstance(global_size, int) and isinstance(group_size, int):
        remedy += f" (A global size of two dimensions is written kernel[({global_size}, {group_size}), None].)"
    return errors.InvalidArgument(
        f"the global size {size} along {axis} is not a multiple of the group size {group}", remedy=remedy
    )
