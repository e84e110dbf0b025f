"""How a kernel gets into a list."""

from __future__ import annotations

import os
from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from anyzero.api._grid import ORIGIN
from anyzero.api._hot import hot
from anyzero.api.library import check

if TYPE_CHECKING:
    from anyzero.api._arguments import Arguments
    from anyzero.api._grid import Grid

__all__ = ["Enqueue", "EnqueueSet"]

_launch: Final = hot("zeCommandListAppendLaunchKernelWithArguments", words=11)
_launch_set: Final = hot("zeCommandListAppendLaunchKernelWithParameters")
_set_group: Final = hot("zeKernelSetGroupSize")
_set_offset: Final = hot("zeKernelSetGlobalOffsetExp")

_everyone: Final[WeakSet[Enqueue]] = WeakSet()


class Enqueue:
    """A kernel's way into lists. A launch changes the kernel, and who has the `turn` may do so.

    It is apart from the kernel because this is the hottest path: attributes of an object that can be closed take longer
    to find. For the same reason callers bring the kernel's handle along, which a closed one does not have.
    """

    __slots__ = ("__weakref__", "_offset", "_pack", "_set", "_slots", "_too_large", "collect", "turn")

    def __init__(self, arguments: Arguments) -> None:
        self.turn = Lock()
        _everyone.add(self)
        self.collect = arguments.collect
        self._pack = arguments.pack
        self._too_large = arguments.too_large
        self._set = arguments.set
        self._slots = arguments.slots
        self._offset = ORIGIN

    def append(
        self,
        lst: int,
        kernel: int,
        sizes: Grid,
        values: Sequence[Any],
        event: int | None,
        count: int,
        waits: int | None,
    ) -> int:
        """Append a launch; the command of lists that do so."""
        with self.turn:
            if self._offset is not sizes.offset:
                self._move(kernel, sizes)
            if values:
                try:
                    self._pack(*values)
                except OverflowError:
                    raise self._too_large(values) from None
            result = _launch(
                lst, kernel, sizes.count_xy, sizes.count_z, sizes.size_xy, sizes.size_z, self._slots,
                sizes.parameters, event, count, waits,
            )  # fmt: skip
        if result:
            check(result, _launch)
        return 0

    def prepare(self, kernel: int, sizes: Grid, values: Sequence[Any]) -> None:
        """Set everything for a launch that takes what was set; for who has the turn."""
        self.set_group(kernel, sizes.group_size)
        if self._offset is not sizes.offset:
            self._move(kernel, sizes)
        if values:
            self._set(kernel, values)

    def set_group(self, kernel: int, size: tuple[int, int, int]) -> None:
        """Set the group size; for who has the turn."""
        check(_set_group(kernel, *size), _set_group)

    def _move(self, kernel: int, sizes: Grid) -> None:
        check(_set_offset(kernel, *sizes.offset), _set_offset)
        self._offset = sizes.offset


class EnqueueSet(Enqueue):
    """Of a kernel whose arguments cannot go along with the launch: they are set one by one before."""

    __slots__ = ()

    def append(
        self,
        lst: int,
        kernel: int,
        sizes: Grid,
        values: Sequence[Any],
        event: int | None,
        count: int,
        waits: int | None,
    ) -> int:
        """As Enqueue says."""
        with self.turn:
            self.prepare(kernel, sizes, values)
            result = _launch_set(lst, kernel, sizes.count_at, sizes.parameters, event, count, waits)
        if result:
            check(result, _launch_set)
        return 0


def _begin_anew() -> None:
    # Whoever had a turn when the process was forked is not here to end it.
    for each in list(_everyone):
        each.turn = Lock()


os.register_at_fork(after_in_child=_begin_anew)
