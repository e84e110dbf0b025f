"""How a kernel gets into a list."""

from __future__ import annotations

import os
from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from anyzero.api._grid import ORIGIN
from anyzero.api.library import check, function

if TYPE_CHECKING:
    from anyzero.api._arguments import Arguments
    from anyzero.api._grid import Grid

__all__ = ["Enqueue"]

_launch: Final = function("zeCommandListAppendLaunchKernelWithArguments")
_launch_set: Final = function("zeCommandListAppendLaunchKernelWithParameters")
_set_group: Final = function("zeKernelSetGroupSize")
_set_offset: Final = function("zeKernelSetGlobalOffsetExp")


_everyone: Final[WeakSet[Enqueue]] = WeakSet()


class Enqueue:
    """A kernel's way into lists. A launch changes the kernel, and who has the `turn` may do so.

    It is apart from the kernel because this is the hottest path: attributes of an object that can be closed take longer
    to find. For the same reason callers bring the kernel's handle along, which a closed one does not have.
    """

    __slots__ = ("__weakref__", "_group", "_offset", "_pack", "_set", "_slots", "collect", "turn")

    def __init__(self, arguments: Arguments) -> None:
        self.turn = Lock()
        _everyone.add(self)
        self.collect = arguments.collect
        self._pack = arguments.pack
        self._set = arguments.set
        self._slots = arguments.slots
        self._offset = ORIGIN
        self._group: tuple[int, int, int] | None = None

    def append(
        self, lst: int, kernel: int, sizes: Grid, values: Sequence[Any], event: int | None, count: int, waits: Any
    ) -> int:
        """Append a launch; the command of lists that do so."""
        slots = self._slots
        with self.turn:
            if values and slots:
                if self._offset is not sizes.offset:
                    self._move(kernel, sizes)
                self._pack(values)
                result = _launch(lst, kernel, sizes.count, sizes.size, slots, sizes.parameters, event, count, waits)
                self._group = None if result else sizes.group_size
                if result:
                    check(result, _launch)
            else:
                # Without arguments this takes less time.
                self.prepare(kernel, sizes, values)
                result = _launch_set(lst, kernel, sizes.count_at, sizes.parameters, event, count, waits)
                if result:
                    check(result, _launch_set)
        return 0

    def prepare(self, kernel: int, sizes: Grid, values: Sequence[Any]) -> None:
        """Set everything for a launch that takes what was set; for who has the turn."""
        if self._group is not sizes.group_size:
            self.set_group(kernel, sizes.group_size)
        if self._offset is not sizes.offset:
            self._move(kernel, sizes)
        if values:
            self._set(kernel, values)

    def set_group(self, kernel: int, size: tuple[int, int, int]) -> None:
        """Set the group size; for who has the turn."""
        check(_set_group(kernel, *size), _set_group)
        self._group = size

    def _move(self, kernel: int, sizes: Grid) -> None:
        check(_set_offset(kernel, *sizes.offset), _set_offset)
        self._offset = sizes.offset


def _begin_anew() -> None:
    # Whoever had a turn when the process was forked is not here to end it.
    for each in list(_everyone):
        each.turn = Lock()


os.register_at_fork(after_in_child=_begin_anew)
