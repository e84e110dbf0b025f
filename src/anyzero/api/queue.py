"""Command queues: where recorded lists run."""

# ruff: noqa: SLF001 (a queue and its lists are friends)

from __future__ import annotations

import ctypes
from types import TracebackType
from typing import TYPE_CHECKING, Final

from anyzero.api import _keep
from anyzero.api._host_function import watch
from anyzero.api._queues import pack_lists, queue_desc
from anyzero.api._waiting import wait as _wait
from anyzero.api.fence import Fence
from anyzero.api.library import check, create, function
from anyzero.api.resource import Resource
from anyzero.ze.constants import ZE_RESULT_NOT_READY

if TYPE_CHECKING:
    from anyzero.api._queues import Mode, Priority
    from anyzero.api.command_list import CommandList
    from anyzero.api.context import Context
    from anyzero.api.device import Device
    from anyzero.api.properties import QueueGroup

__all__ = ["CommandQueue"]

_create: Final = function("zeCommandQueueCreate")
_destroy_queue: Final = function("zeCommandQueueDestroy")
_destroy_fence: Final = function("zeFenceDestroy")
_execute: Final = function("zeCommandQueueExecuteCommandLists")
_synchronize: Final = function("zeCommandQueueSynchronize")

_SWEEP_AT: Final = 256


class CommandQueue(Resource):
    """A queue of a device. What is submitted to it runs in order.

    The end of a ``with`` block waits for all of it and closes the queue. Any thread may submit.

    >>> ctx = az.device().context()
    >>> x = ctx.zeros(2, np.int16)
    >>> with ctx.command_list() as cl:
    ...     cl.fill(x, 7)
    >>> with ctx.queue() as q:
    ...     q.submit(cl).wait(timeout=5)
    >>> x.copy_to()
    array([7, 7], dtype=int16)
    """

    __slots__ = ("_kept", "_spare", "_sweep_at", "context", "device", "group")

    def __init__(
        self,
        context: Context,
        device: Device,
        group: QueueGroup,
        *,
        mode: Mode = "asynchronous",
        priority: Priority = "normal",
        index: int = 0,
    ) -> None:
        _keep.sweep()
        self.context = context
        self.device = device
        self.group = group
        # What submitted lists need, by identity: a list that is submitted again adds nothing.
        self._kept: dict[int, list[object]] = {}
        self._sweep_at = _SWEEP_AT
        # Fences that were waited for and that nobody holds any more.
        self._spare: list[int] = []
        desc = queue_desc(group, mode, priority, index)
        self.handle = create(_create, context.handle, device.handle, ctypes.byref(desc))

    def submit(self, *lists: CommandList, fence: Fence | None = None) -> Fence:
        """Run recorded lists, one after the other; the fence is done when they are. A new fence, unless given.

        >>> ctx = az.device().context()
        >>> with ctx.command_list() as cl:
        ...     cl.barrier()
        >>> q = ctx.queue()
        >>> fence = q.submit(cl, cl)
        >>> fence.wait(); fence.reset()
        >>> q.submit(cl, fence=fence) is fence
        True
        """
        if fence is None:
            fence = self._fresh_fence()
        fence._idle = False
        if result := _execute(self.handle, len(lists), pack_lists(lists), fence.handle):
            check(result, _execute)
        held = self._kept
        for each in lists:
            held[id(each._kept)] = each._kept
            if each.calls_host:
                watch(self)
        if len(held) >= self._sweep_at:
            self._sweep()
        return fence

    def _is_idle(self) -> bool:
        return self.closed or _synchronize(self.handle, 0) != ZE_RESULT_NOT_READY

    def _fresh_fence(self) -> Fence:
        try:
            handle = self._spare.pop()
        except IndexError:
            return Fence(self)
        fence = Fence(self, handle=handle)
        fence.reset()
        return fence

    def _sweep(self) -> None:
        held, self._kept = self._kept, {}
        if _synchronize(self.handle, 0) == ZE_RESULT_NOT_READY:
            self._kept.update(held)
            self._sweep_at = 2 * len(self._kept)
        else:
            self._sweep_at = _SWEEP_AT

    def fence(self, *, signalled: bool = False) -> Fence:
        """A fence for submissions to this queue.

        >>> az.device().context().queue().fence().done
        False
        """
        return Fence(self, signalled=signalled)

    def synchronize(self, timeout: float | None = None) -> None:
        """Return when everything submitted so far is done; raise TimeoutError after `timeout` seconds.

        >>> az.device().context().queue().synchronize(timeout=5)
        """
        # What another thread submits meanwhile is not covered by this wait.
        held, self._kept = self._kept, {}
        try:
            _wait(_synchronize, self.handle, timeout, "the queue")
        except BaseException:
            self._kept.update(held)
            raise
        if self.context.failures:
            self.context._raise_failure()

    def _release(self, handle: int) -> None:
        kept, self._kept = self._kept, {}
        if kept:
            _keep.destroy_when_idle(handle, _synchronize, _destroy_queue, kept)
        else:
            _destroy_queue(handle)
        while self._spare:
            _destroy_fence(self._spare.pop())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            # After an exception nobody may be left to signal what the queue waits for.
            if kind is None and not self.closed:
                self.synchronize()
        finally:
            self.close()
