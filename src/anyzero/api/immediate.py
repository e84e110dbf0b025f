"""Immediate command lists: every command goes to the device as it is appended."""

# ruff: noqa: SLF001 (a list, its tickets and other lists are friends)

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from anyzero import errors, ze
from anyzero.api import _keep
from anyzero.api._events import Waits, pack
from anyzero.api._host_function import watch
from anyzero.api._queues import pack_lists, queue_desc
from anyzero.api._waiting import SLICE_NS, SLICE_S
from anyzero.api._waiting import wait as _wait
from anyzero.api.completion import Completion
from anyzero.api.library import check, create, function
from anyzero.api.recorder import Recorder
from anyzero.ze.constants import ZE_RESULT_NOT_READY

if TYPE_CHECKING:
    from anyzero.api._queues import Mode, Priority
    from anyzero.api.command_list import CommandList
    from anyzero.api.context import Context
    from anyzero.api.device import Device
    from anyzero.api.event import Event
    from anyzero.api.properties import QueueGroup

__all__ = ["ImmediateCommandList"]

_create: Final = function("zeCommandListCreateImmediate")
_destroy_list: Final = function("zeCommandListDestroy")
_synchronize: Final = function("zeCommandListHostSynchronize")
_signal: Final = function("zeCommandListAppendSignalEvent")
_run: Final = function("zeCommandListImmediateAppendCommandListsExp")
_create_event: Final = function("zeEventCounterBasedCreate")
_destroy_event: Final = function("zeEventDestroy")
_synchronize_event: Final = function("zeEventHostSynchronize")
_query_event: Final = function("zeEventQueryStatus")

_SWEEP_AT: Final = 256


class ImmediateCommandList(Recorder[Completion]):
    """A list whose commands run at once, in order; the way to the lowest latency.

    A command returns a `Completion`: its ``signal=`` event if it has one, else its own. The end of a ``with`` block
    waits for all commands and closes the list. With ``mode="synchronous"`` a command is done when its call returns.
    Several threads may append.

    >>> ctx = az.device().context()
    >>> x = ctx.zeros(3, np.int32, kind="shared")
    >>> with ctx.immediate() as lst:
    ...     lst.fill(x, 5).wait(timeout=5)
    ...     _ = lst.fill(x[:1], 6)
    >>> np.asarray(x)
    array([6, 5, 5], dtype=int32)
    """

    _gone_when_closed = ("handle", "_spare")
    __slots__ = ("_latest", "_lifetime", "_spare", "_sweep_at", "synchronous")

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
        self._lifetime = context.lifetime
        self.device = device
        self.group = group
        self.synchronous = mode == "synchronous"
        self._kept: list[object] = []
        self._sweep_at = _SWEEP_AT
        # Events of commands whose completion nobody holds any more. They count, so they can be used again as they are.
        self._spare: list[int] = []
        # The event of the last command, if it has one.
        self._latest: int | None = None
        desc = queue_desc(group, mode, priority, index, in_order=True)
        self.handle = create(_create, context.handle, device.handle, ctypes.byref(desc))

    def _append(
        self, command: Callable[..., int], arguments: tuple[Any, ...], signal: Event | None, wait: Waits, kept: object
    ) -> Completion:
        count, waits = (0, None) if wait is None else pack(wait)
        if signal is not None:
            done: Completion = signal
            event: int | None = signal.handle
        elif self.synchronous:
            done, event = _DONE, None
        else:
            done = ticket = _Ticket(self)
            event = ticket.handle
        self._latest = event
        if result := command(self.handle, *arguments, event, count, waits):
            check(result, command)
        if kept is not None:
            self._keep((kept, signal, wait))
        return done

    def _append_bare(self, command: Callable[..., int], arguments: tuple[Any, ...], kept: object) -> Completion:
        if result := command(self.handle, *arguments):
            check(result, command)
        self._keep(kept)
        # The command has no event of its own, but the next one's is signalled right after it.
        return self.barrier()

    def _keep(self, kept: object) -> None:
        if self.synchronous:
            if self.context.failures:
                self.context._raise_failure()
            return
        held = self._kept
        held.append(kept)
        if len(held) >= self._sweep_at:
            # Taken out before the look: what another thread appends meanwhile is not covered by it.
            self._kept = []
            if _synchronize(self.handle, 0) == ZE_RESULT_NOT_READY:
                self._kept += held
                self._sweep_at = 2 * len(self._kept)
            else:
                self._sweep_at = _SWEEP_AT

    def signal(self, event: Event) -> Completion:
        """Signal `event` when everything before is done, and return it."""
        self._latest = event.handle
        if result := _signal(self.handle, event.handle):
            check(result, _signal)
        return event

    def wait(self, *events: Any) -> Completion:
        """Hold everything after it back until all `events` are signalled."""
        return self.barrier(wait=events)

    def submit(self, *lists: CommandList, signal: Event | None = None, wait: Waits = None) -> Completion:
        """Run recorded lists here, in order with the other commands.

        >>> ctx = az.device().context()
        >>> x = ctx.zeros(2, np.uint8)
        >>> with ctx.command_list() as cl:
        ...     cl.fill(x, 3)
        >>> with ctx.immediate() as lst:
        ...     lst.submit(cl).wait(timeout=5)
        >>> x.copy_to()
        array([3, 3], dtype=uint8)
        """
        if any(each.calls_host for each in lists):
            watch(self)
        return self._append(_run, (len(lists), pack_lists(lists)), signal, wait, [each._kept for each in lists])

    def synchronize(self, timeout: float | None = None) -> None:
        """Return when every command so far is done; raise TimeoutError after `timeout` seconds.

        >>> lst = az.device().context().immediate()
        >>> lst.synchronize(timeout=5)
        """
        # What another thread appends meanwhile is not covered by this wait.
        held, self._kept = self._kept, []
        try:
            _wait(_synchronize, self.handle, timeout, "the list")
        except BaseException:
            self._kept += held
            raise
        if self.context.failures:
            self.context._raise_failure()

    def _is_idle(self) -> bool:
        return self.closed or _synchronize(self.handle, 0) != ZE_RESULT_NOT_READY

    def _has_host_functions(self) -> None:
        watch(self)

    def _new_event(self) -> int:
        flags = ze.ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE | ze.ZE_EVENT_COUNTER_BASED_FLAG_HOST_VISIBLE
        scope = ze.ZE_EVENT_SCOPE_FLAG_HOST
        desc = ze.ze_event_counter_based_desc_t(flags=flags, signal=scope, wait=scope)
        return create(_create_event, self._lifetime.handle, self.device.handle, ctypes.byref(desc))

    def _release(self, handle: int) -> None:
        kept, self._kept = self._kept, []
        if kept:
            _keep.destroy_when_idle(handle, _synchronize, _destroy_list, kept)
        else:
            _destroy_list(handle)
        spare = self._spare
        # From now on a completion that goes away finds no place to give its event to.
        del self._spare
        self._latest = None
        while spare:
            _destroy_event(spare.pop())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            # After an exception nobody may be left to signal what the list waits for.
            if kind is None and not self.closed:
                self.synchronize()
        finally:
            self.close()


class _Ticket(Completion):
    """The completion of one command: an event that counts, lent by the list."""

    __slots__ = ("_list", "handle")
    _is_event = True

    def __init__(self, owner: ImmediateCommandList) -> None:
        self._list = owner
        try:
            self.handle = owner._spare.pop()
        except IndexError:
            self.handle = owner._new_event()

    def wait(self, timeout: float | None = None) -> None:
        """As Completion says."""
        owner = self._list
        if owner._latest == self.handle and (timeout is None or timeout >= SLICE_S):
            # Whoever waits for the whole list lends it his thread meanwhile, which is the faster wait by far. But only
            # for a while: another thread may append something that is not for this one to wait for.
            result = _synchronize(owner.handle, SLICE_NS)
            if result == ZE_RESULT_NOT_READY:
                self._wait(None if timeout is None else timeout - SLICE_S)
            elif result:
                check(result, _synchronize)
        else:
            self._wait(timeout)
        if owner.context.failures:
            owner.context._raise_failure()

    def _wait(self, timeout: float | None) -> None:
        try:
            _wait(_synchronize_event, self.handle, timeout, "the command")
        except errors.DeviceLost:
            # The event only knows that its command will not come; the list knows why.
            if not self._list.closed:
                self._list.synchronize(0)
            raise

    @property
    def done(self) -> bool:
        """As Completion says."""
        result = _query_event(self.handle)
        if result and result != ZE_RESULT_NOT_READY:
            check(result, _query_event)
        return not result

    def __del__(self) -> None:
        try:
            self._list._spare.append(self.handle)
        except Exception:
            # The list is closed, or was never complete; or the interpreter exits, and anything may be gone already.
            with suppress(Exception):
                _destroy_event(self.handle)

    def __repr__(self) -> str:
        return "<Completion of a command>"


class _Done(Completion):
    """The completion of a command that was done when its call returned."""

    __slots__ = ()
    _is_event = True
    handle: Final = None

    def wait(self, timeout: float | None = None) -> None:
        """As Completion says."""

    @property
    def done(self) -> bool:
        """As Completion says."""
        return True

    def __repr__(self) -> str:
        return "<Completion of a command, done>"


_DONE: Final = _Done()
