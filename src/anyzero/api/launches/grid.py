"""The sizes of a launch, in work-items and groups, as programs write them and as the driver takes them."""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from math import ceil, isfinite
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from anyzero import errors, ze
from anyzero.api.launches.dimensions import ALL
from anyzero.api.library import check, function
from anyzero.api.memory.sizes import place_within, size_within

if TYPE_CHECKING:
    from anyzero.api.kernel import Kernel
    from anyzero.api.launches.enqueue import Enqueue

__all__ = ["ORIGIN", "Extents", "Grid", "NDRange", "grid_of", "range_of", "suggested", "three"]

Extents = int | tuple[int, ...]
"""One number, or up to three: along x, y and z."""

Three = tuple[int, int, int]

ORIGIN: Final[Three] = (0, 0, 0)
"""The usual global offset."""

AXES: Final = "xyz"
_LARGEST: Final = (1 << 32) - 1
_RANGES: Final = 64
"""Number of cached global sizes, and of cached group sizes for each of them."""

_suggest: Final = function("zeKernelSuggestGroupSize")

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


class NDRange:
    """The global size that a kernel was launched with, and the grids of its groups so far.

    ``kernel[sizes]`` finds it, so it holds the data of a launch; but not the kernel, which would then hold itself.
    """

    __slots__ = ("enqueue", "global_size", "grids", "key", "suggested", "written")

    def __init__(self, enqueue: Enqueue, global_size: Three, written: str, key: Any) -> None:
        self.enqueue = enqueue
        self.global_size = global_size
        self.written = written
        self.key = key
        """The last object given in brackets."""
        self.grids: dict[Any, Grid] = {}
        """Grids by group size; under None the one with a suggested size."""
        self.suggested: Grid | None = None
        """The grid of a suggested size, as an attribute for fast access."""

    def grid(
        self, group: Any, suggest: Callable[[Three], Three], offset: Any = None, cooperative: bool = False
    ) -> Grid:
        """The grid of groups of that size or, for None, of a size that is suggested."""
        part = suggest(self.global_size) if group is None else three(group, "the group size")
        start = ORIGIN if offset is None else _offset(offset)
        for axis, size, each in zip(AXES, self.global_size, part, strict=True):
            if size % each:
                raise self._indivisible(axis, size, each, group is None)
            if each > _LARGEST:
                raise errors.UnsupportedSize(
                    f"{each} work-items of a group along {axis}: a group has at most {_LARGEST}"
                )
            if size // each > _LARGEST:
                raise errors.UnsupportedSize(f"{size // each} groups along {axis}: a launch has at most {_LARGEST}")
        return Grid(self.global_size, part, start, cooperative)

    def _indivisible(self, axis: str, size: int, group: int, required: bool) -> errors.InvalidArgument:
        more = -(-size // group) * group
        if required:
            remedy = (
                f"This kernel requires that group size: launch a multiple of it, such as {more}, and let the kernel "
                "skip the surplus work-items."
            )
        else:
            remedy = f"Launch {more} and let the kernel skip the surplus work-items, or leave group= out."
        return errors.InvalidArgument(
            f"the global size {size} along {axis} is not a multiple of the group size {group}", remedy=remedy
        )


def range_of(kernel: Kernel, sizes: Any) -> NDRange:
    """The global size in brackets; the usual ones are cached."""
    made = NDRange(kernel.enqueue, *extents(kernel.name, sizes), sizes)
    with suppress(KeyError, TypeError):
        return kernel.ranges[sizes]
    if len(kernel.ranges) >= _RANGES:
        kernel.ranges.clear()
    with suppress(TypeError):  # lists cannot be looked up; they work all the same
        kernel.ranges[sizes] = made
    return made


def grid_of(kernel: Kernel, sizes: NDRange, group: Any, offset: Any = None, cooperative: bool = False) -> Grid:
    """The grid of a launch. Sizes are checked on first use, and cached."""
    # A group size is never a type, so the two kinds of keys differ.
    key = group if offset is None and not cooperative else (Grid, group, offset, cooperative)
    with suppress(KeyError, TypeError):
        return sizes.grids[key]
    whole = sizes.global_size
    if whole[1] > 1 or whole[2] > 1:
        require_ids(kernel.name, sizes.written, whole, group, kernel.dimensions.read_by(kernel.name))
    made = sizes.grid(group, partial(suggested, kernel.handle), offset, cooperative)
    if len(sizes.grids) >= _RANGES:
        sizes.grids.clear()
    with suppress(TypeError):
        sizes.grids[key] = made
    if key is None:
        sizes.suggested = made
    return made


def suggested(kernel: int, global_size: Three) -> Three:
    """The group size that the driver suggests to the kernel of this handle."""
    for each in global_size:
        size_within(each, 32, "a global size without a group size")
    x, y, z = ctypes.c_uint32(), ctypes.c_uint32(), ctypes.c_uint32()
    places = ctypes.byref(x), ctypes.byref(y), ctypes.byref(z)
    check(_suggest(kernel, *global_size, *places), _suggest)
    return x.value, y.value, z.value


def three(sizes: Any, what: str) -> Three:
    """Up to three numbers as exactly three; those that are left out are 1."""
    given = _numbers(sizes)
    if not 1 <= len(given) <= 3:
        raise errors.InvalidArgument(f"{what} {given} has {len(given)} dimensions; one to three are allowed")
    try:
        x, y, z = (*(operator.index(each) for each in given), 1, 1)[:3]
    except TypeError:
        raise errors.InvalidArgument(f"{what} is {sizes!r}; an integer or a tuple of up to three is expected") from None
    if min(x, y, z) < 1:
        raise errors.InvalidArgument(f"{what} {given} has no work-items: every number is 1 or more")
    return x, y, z


def extents(name: str, sizes: Any) -> tuple[Three, str]:
    """The global size that ``kernel[sizes]`` asks for, and the line as it was written."""
    given = _numbers(sizes)
    written = f"{name}[{', '.join(map(_shown, given))}]"
    try:
        whole = tuple(operator.index(each) for each in given)
    except TypeError:
        raise errors.InvalidArgument(
            f"{written}: the brackets hold the number of work-items along x, y and z, as integers",
            remedy=_line(name, given),
        ) from None
    if not 1 <= len(whole) <= 3:
        raise errors.InvalidArgument(
            f"{written} has {len(whole)} dimensions; one to three are allowed",
            remedy=f"Write {name}[n](…), {name}[n, m](…) or {name}[n, m, k](…), with the group size as group=.",
        )
    if min(whole) < 1:
        raise errors.InvalidArgument(
            f"{written} has no work-items: every number is 1 or more",
            remedy=f"If there may be nothing to do, skip the launch: if n > 0: {name}[n](…).",
        )
    x, y, z = (*whole, 1, 1)[:3]
    return (x, y, z), written


def _numbers(sizes: Any) -> tuple[Any, ...]:
    return tuple(sizes) if isinstance(sizes, tuple | list | np.ndarray) else (sizes,)


def _shown(size: Any) -> str:
    return repr(size.item() if isinstance(size, np.generic) else size)


def _line(name: str, given: Sequence[Any]) -> str:
    """The suggested line for a wrong one."""
    if given and all(isinstance(each, float | int | np.number) and isfinite(each) for each in given):
        whole = ", ".join(str(ceil(each)) for each in given)
        return f"Write {name}[{whole}](…); n // m and math.ceil(n / m) are integers where n / m is not."
    if len(given) == 2:
        first, second = _numbers(given[0]), (None,) if given[1] is None else _numbers(given[1])
        try:
            lines = list(_meant(name, first, second))
        except (TypeError, ValueError):
            lines = []
        if lines:
            return f"Write {' or '.join(lines)}."
    return f"Write {name}[n](…), {name}[n, m](…) or {name}[n, m, k](…), with the group size as group=."


def _meant(name: str, first: tuple[Any, ...], second: tuple[Any, ...]) -> list[str]:
    """The possible meanings of a pair in brackets: sizes of all and of a group, or numbers of groups."""
    whole = [operator.index(each) for each in first]
    plain = f"{name}[{', '.join(map(str, whole))}]"
    if second == (None,):
        return [f"{plain}(…)"]
    group = [operator.index(each) for each in second]
    shown = group[0] if len(group) == 1 else tuple(group)
    longest = max(len(whole), len(group))
    padded, parts = ([*each, 1, 1][:longest] for each in (whole, group))
    total = ", ".join(str(count * size) for count, size in zip(padded, parts, strict=True))
    counted = " × ".join(map(str, whole))
    lines = [f"{name}[{total}](…, group={shown}) for {counted} groups"]
    if all(size > 0 and not count % size for count, size in zip(padded, parts, strict=True)):
        lines.append(f"{plain}(…, group={shown}) for {counted} work-items")
    return lines


def require_ids(name: str, written: str, whole: Three, group: Any, read: int) -> None:
    """Raise InvalidArgument for a dimension along which all work-items do the same, by the ids that a kernel reads.

    A kernel that reads no ids counts, or tries something out, and may run as often as it is asked to. And a group
    size in as many dimensions says that they are meant.
    """
    used = max(axis + 1 for axis in range(3) if whole[axis] > 1 or not axis)
    if not read or read == ALL or (group is not None and len(_numbers(group)) >= used):
        return
    same = [axis for axis in range(3) if whole[axis] > 1 and not read >> axis & 1]
    if not same:
        return
    known = " and ".join(AXES[axis] for axis in range(3) if read >> axis & 1)
    along = " and ".join(AXES[axis] for axis in same)
    lines = []
    if used == 2 and read == 1:
        lines.append(f"{name}[{whole[0]} * {whole[1]}](…, group={whole[1]}) for {whole[0]} groups of {whole[1]}")
    fewer = [1 if axis in same else whole[axis] for axis in range(3)]
    while len(fewer) > 1 and fewer[-1] == 1:
        fewer.pop()
    lines.append(f"{name}[{', '.join(map(str, fewer))}](…) for one work-item along {along}")
    lines.append(f"{written}(…, group={(1, 1, 1)[:used]}), with any group size of {used} numbers, if that is intended")
    raise errors.InvalidArgument(
        f"{written}: {name} reads its ids along {known} only, so all work-items along {along} would do the same; "
        "the brackets hold the number of work-items along x, y and z",
        remedy=f"Write {'; '.join(lines)}.",
    )


def _offset(offset: Any) -> Three:
    given = (offset,) if isinstance(offset, int | np.integer) else tuple(offset)
    if not 1 <= len(given) <= 3:
        raise errors.InvalidArgument(f"the offset {given} has {len(given)} dimensions; one to three are allowed")
    x, y, z = (*(place_within(each, 32, "the offset") for each in given), 0, 0)[:3]
    return x, y, z
