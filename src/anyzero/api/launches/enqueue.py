"""Appending a kernel's launch to a list."""

from __future__ import annotations

import os
from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from anyzero.api.calls.hot import hot
from anyzero.api.launches.grid import ORIGIN, grid_of
from anyzero.api.library import check

if TYPE_CHECKING:
    from anyzero.api.commands.waits import Waits
    from anyzero.api.completion import Completion
    from anyzero.api.event import Event
    from anyzero.api.kernel import Kernel
    from anyzero.api.launches.arguments import Arguments
    from anyzero.api.launches.grid import Extents, Grid, NDRange
    from anyzero.api.recorder import Recorder

__all__ = ["Enqueue", "EnqueueSet", "launch"]

_launch: Final = hot("zeCommandListAppendLaunchKernelWithArguments", words=11)
_launch_set: Final = hot("zeCommandListAppendLaunchKernelWithParameters")
_set_group: Final = hot("zeKernelSetGroupSize")
_set_offset: Final = hot("zeKernelSetGlobalOffsetExp")

_everyone: Final[WeakSet[Enqueue]] = WeakSet()


class Enqueue:
    """Appends a kernel to lists. A launch changes the kernel, so the thread holds the `turn` meanwhile.

    It is apart from the kernel because this is the hottest path: attributes of an object that can be closed take longer
    to find. For the same reason callers bring the kernel's handle along, which a closed one does not have.
    """

    __slots__ = ("__weakref__", "_offset", "_pack", "_set", "_slots", "_too_large", "collect", "declare", "turn")

    def __init__(self, arguments: Arguments) -> None:
        self.turn = Lock()
        _everyone.add(self)
        self.collect = arguments.collect
        self.declare = arguments.declare
        self._pack = arguments.pack
        self._too_large = arguments.too_large
        self._set = arguments.set
        self._slots = arguments.slots
        self._offset = ORIGIN

    # The parameters are written out here and in EnqueueSet: one `append` that passes *args on to a method that differs
    # would be a second call for every launch, about 100 ns of 2 µs.
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
        """Set everything on the kernel, for a launch that reads it from there; the caller has the turn."""
        self.set_group(kernel, sizes.group_size)
        if self._offset is not sizes.offset:
            self._move(kernel, sizes)
        if values:
            self._set(kernel, values)

    def set_group(self, kernel: int, size: tuple[int, int, int]) -> None:
        """Set the group size; the caller has the turn."""
        check(_set_group(kernel, *size), _set_group)

    def _move(self, kernel: int, sizes: Grid) -> None:
        check(_set_offset(kernel, *sizes.offset), _set_offset)
        self._offset = sizes.offset


class EnqueueSet(Enqueue):
    """For a kernel whose arguments cannot be passed with the launch: they are set one by one before."""

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
        """Implements `Enqueue`."""
        with self.turn:
            self.prepare(kernel, sizes, values)
            result = _launch_set(lst, kernel, sizes.count_at, sizes.parameters, event, count, waits)
        if result:
            check(result, _launch_set)
        return 0


def launch(
    kernel: Kernel,
    sizes: NDRange,
    args: tuple[Any, ...],
    group: Extents | None,
    on: Recorder[Any] | None,
    signal: Event | None,
    wait: Waits,
) -> Completion | None:
    """Every launch by ``kernel[…](…)``: arguments and keywords as given, in one call without packing them again."""
    grid = sizes.suggested
    if group is not None or grid is None:
        try:
            grid = sizes.grids[group]
        except (KeyError, TypeError):
            grid = grid_of(kernel, sizes, group)
    if on is not None:
        done: Completion | None = on.append_launch(sizes.enqueue, kernel.handle, grid, args, signal, wait)
        return done
    if signal is not None or wait:
        raise TypeError("signal= and wait= are for commands of a list; pass the list with on=")
    kernel.lifetime.launch(kernel.device, sizes.enqueue, kernel.handle, grid, args)
    return None


def _begin_anew() -> None:
    # A thread that had a turn when the process was forked does not exist here to end it.
    for each in list(_everyone):
        each.turn = Lock()


os.register_at_fork(after_in_child=_begin_anew)
