"""Command queues, which run recorded lists."""

from __future__ import annotations

import ctypes
from collections import deque
from typing import TYPE_CHECKING, Final

from anyzero import ze
from anyzero.api.calls.flags import QUEUE, QueueFlag, told
from anyzero.api.calls.graph_extension import queue_extension
from anyzero.api.calls.hot import Address, hot
from anyzero.api.commands.held import HEAVY, Held, sweep
from anyzero.api.commands.host_function import watch
from anyzero.api.commands.timeline import Timeline, kept_of, pack_lists, queue_desc
from anyzero.api.fence import Fence
from anyzero.api.library import check, create, function
from anyzero.ze import npu
from anyzero.ze.constants import ZE_RESULT_NOT_READY

if TYPE_CHECKING:
    from anyzero.api.command_list import CommandList
    from anyzero.api.commands.timeline import Mode, Priority
    from anyzero.api.context import Context
    from anyzero.api.device import Device
    from anyzero.api.properties import QueueGroup

__all__ = ["CommandQueue"]

_create: Final = function("zeCommandQueueCreate")
_get_flags: Final = function("zeCommandQueueGetFlags")
_execute: Final = hot("zeCommandQueueExecuteCommandLists")
_create_fence: Final = function("zeFenceCreate")
_reset_fence: Final = hot("zeFenceReset")
_create_list: Final = function("zeCommandListCreate")
_close_list: Final = function("zeCommandListClose")
_destroy_list: Final = function("zeCommandListDestroy")


class CommandQueue(Timeline):
    """A queue of a device. Its submissions run in order.

    The end of a ``with`` block waits for all of it and closes the queue. With ``mode="synchronous"`` a submission is
    done when `submit` returns. Any thread may submit.

    >>> ctx = az.device().context()
    >>> x = ctx.zeros(2, np.int16)
    >>> with ctx.command_list() as cl:
    ...     cl.fill(x, 7)
    >>> with ctx.queue() as q:
    ...     q.submit(cl).wait(timeout=5)
    >>> x.copy_to()
    array([7, 7], dtype=int16)
    """

    _gone_when_closed = ("handle", "spare")
    __slots__ = ("_empty", "context", "device", "group", "held", "lifetime", "spare", "synchronous", "unfinished")

    _destroy = function("zeCommandQueueDestroy")
    _synchronize = hot("zeCommandQueueSynchronize")
    _query_mark = hot("zeFenceQueryStatus")
    _destroy_mark = function("zeFenceDestroy")
    _noun = "the queue"

    def __init__(
        self,
        context: Context,
        device: Device,
        group: QueueGroup,
        *,
        mode: Mode = "asynchronous",
        priority: Priority = "normal",
        index: int = 0,
        sequential: bool = False,
        explicit_only: bool = False,
    ) -> None:
        sweep()
        desc = queue_desc(group, mode, priority, index, explicit_only=explicit_only)
        options = npu.ze_command_queue_desc_npu_ext_2_t(options=npu.ZE_NPU_COMMAND_QUEUE_OPTION_DEVICE_SYNC)
        if sequential and npu.ZE_COMMAND_QUEUE_NPU_EXT_NAME in device.driver.extensions:
            desc.pNext = ctypes.addressof(options)
        self.context = context
        self.lifetime = context.lifetime
        self.device = device
        self.group = group
        self.synchronous = mode == "synchronous"
        self.held = Held()
        # Fences that were waited for and have no other reference.
        self.spare: list[int] = []
        # Fences that only the queue still holds, not signalled yet.
        self.unfinished: deque[int] = deque()
        # A list without commands; submitted for the sake of its fence.
        self._empty: int | None = None
        self.handle = create(_create, context.handle, device.handle, ctypes.byref(desc))

    @property
    def flags(self) -> frozenset[QueueFlag]:
        """The flags that it was made with: ``"explicit_only"`` or none.

        >>> az.device().context().queue(explicit_only=True).flags
        frozenset({'explicit_only'})
        """
        return told(QUEUE, _get_flags, self.handle)

    def set_background(self, background: bool = True) -> None:
        """Give other queues priority, from the next submission on; False ends that. For NPUs.

        >>> az.device().context().queue().set_background()
        Traceback (most recent call last):
        anyzero.errors.UnsupportedFeature: ...
        """
        kind = npu.ZE_WORKLOAD_TYPE_BACKGROUND if background else npu.ZE_WORKLOAD_TYPE_DEFAULT
        called = queue_extension(self.device.driver).pfnSetWorkloadType
        check(called(self.handle, kind), called)

    def submit(self, *lists: CommandList, fence: Fence | None = None) -> Fence:
        """Run recorded lists, one after the other; the fence is done when they are. Without `fence` it is a new one.

        >>> ctx = az.device().context()
        >>> with ctx.command_list() as cl:
        ...     cl.barrier()
        >>> q = ctx.queue()
        >>> fence = q.submit(cl, cl)
        >>> fence.wait(); fence.reset()
        >>> q.submit(cl, fence=fence) is fence
        True
        """
        held = self.held
        if held.weight > HEAVY:
            self.release_finished()
        if fence is None:
            fence = self._fresh_fence()
        fence.idle = False
        handles = pack_lists(lists)
        kept, nbytes = kept_of(lists)
        try:
            if result := _execute(self.handle, len(lists), handles, fence.handle):
                check(result, _execute)
        finally:
            # Also when Ctrl-C comes just now.
            if kept is not None:
                held.add(kept, nbytes)
        for each in lists:
            if each.calls_host:
                watch(self)
        if self.synchronous:
            # The wait is not left to the driver, where Ctrl-C would not end it.
            self.synchronize()
            fence.idle = True
        return fence

    def _fresh_fence(self) -> Fence:
        try:
            handle = self.spare.pop()
        except IndexError:
            try:
                # Fences are signalled in this order. It is taken before it is queried: other threads submit, too.
                handle = self.unfinished.popleft()
            except IndexError:
                return Fence(self)
            if self._query_mark(handle) == ZE_RESULT_NOT_READY:
                self.unfinished.appendleft(handle)
                return Fence(self)
        check(_reset_fence(handle), _reset_fence)
        return Fence(self, handle=handle)

    def _place_mark(self, mark: int | None) -> int:
        if self._empty is None:
            desc = ctypes.byref(ze.ze_command_list_desc_t(commandQueueGroupOrdinal=self.group.ordinal))
            made = create(_create_list, self.lifetime.handle, self.device.handle, desc)
            check(_close_list(made), _close_list)
            self._empty = made
        if mark is None:
            fence = create(_create_fence, self.handle, ctypes.byref(ze.ze_fence_desc_t()))
        else:
            fence = mark
            check(_reset_fence(fence), _reset_fence)
        check(_execute(self.handle, 1, Address((ctypes.c_void_p * 1)(self._empty)), fence), _execute)
        return fence

    def fence(self, *, signalled: bool = False) -> Fence:
        """A fence for submissions to this queue.

        >>> az.device().context().queue().fence().done
        False
        """
        return Fence(self, signalled=signalled)

    def _release(self, handle: int) -> None:
        if self._empty is not None:
            _destroy_list(self._empty)
        self.spare += self.unfinished
        super()._release(handle)
