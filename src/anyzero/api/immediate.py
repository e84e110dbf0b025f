"""Immediate command lists: every command is submitted when it is appended."""

from __future__ import annotations

import ctypes
import weakref
from collections import deque
from collections.abc import Callable
from sys import getrefcount
from typing import TYPE_CHECKING, Any, Final

from anyzero import errors
from anyzero.api.calls.flags import QUEUE, QueueFlag, told
from anyzero.api.calls.hot import hot
from anyzero.api.calls.waiting import SLICE_NS
from anyzero.api.calls.waiting import wait as _wait
from anyzero.api.commands.held import HEAVY, Captured, Held, in_progress, join, sweep
from anyzero.api.commands.host_function import watch
from anyzero.api.commands.ticket import ALONE, DONE, Done, Ticket, new_event
from anyzero.api.commands.timeline import Timeline, kept_of, pack_lists, queue_desc
from anyzero.api.commands.waits import NO_WAITS, Waits, pack
from anyzero.api.completion import Completion
from anyzero.api.library import check, create, function
from anyzero.api.recorder import Recorder

if TYPE_CHECKING:
    from anyzero.api.command_graph import CommandGraph, ExecutableGraph
    from anyzero.api.command_list import CommandList
    from anyzero.api.commands.timeline import Mode, Priority
    from anyzero.api.context import Context
    from anyzero.api.device import Device
    from anyzero.api.event import Event
    from anyzero.api.launches.enqueue import Enqueue
    from anyzero.api.launches.grid import Grid
    from anyzero.api.properties import QueueGroup

__all__ = ["ImmediateCommandList"]

_create: Final = function("zeCommandListCreateImmediate")
_get_flags: Final = function("zeCommandListImmediateGetFlags")
_synchronize: Final = hot("zeCommandListHostSynchronize")
_signal: Final = hot("zeCommandListAppendSignalEvent")
_run: Final = hot("zeCommandListImmediateAppendCommandListsExp")
_replay: Final = function("zeCommandListAppendGraphExt")
_graph_of: Final = function("zeCommandListGetGraphExt")
_destroy_event: Final = function("zeEventDestroy")
_query_event: Final = hot("zeEventQueryStatus")

_TICKETS: Final = 4
"""Number of tickets kept: enough where a program holds the last two or three."""


class ImmediateCommandList(Recorder[Completion], Timeline):
    """A list whose commands are submitted as they are appended, and run in order, with the lowest latency.

    A command returns a `Completion`: its ``signal=`` event if it has one, else its own. The end of a ``with`` block
    waits for all commands and closes the list. With ``mode="synchronous"`` a command is done when its call returns,
    with ``timing=True`` a completion has the duration of its command.
    Several threads may append.

    >>> ctx = az.device().context()
    >>> x = ctx.zeros(3, np.int32, kind="shared")
    >>> with ctx.immediate() as lst:
    ...     lst.fill(x, 5).wait(timeout=5)
    ...     _ = lst.fill(x[:1], 6)
    >>> np.asarray(x)
    array([6, 5, 5], dtype=int32)
    """

    _gone_when_closed = ("handle", "spare")
    __slots__ = ("_tickets", "held", "lifetime", "reference", "spare", "synchronous", "timing")

    _destroy = function("zeCommandListDestroy")
    _synchronize = _synchronize
    _query_mark = _query_event
    _destroy_mark = _destroy_event
    _noun = "the list"

    def __init__(
        self,
        context: Context,
        device: Device,
        group: QueueGroup,
        *,
        mode: Mode = "asynchronous",
        priority: Priority = "normal",
        index: int = 0,
        explicit_only: bool = False,
        copy_offload: bool = False,
        timing: bool = False,
    ) -> None:
        sweep()
        desc = queue_desc(
            group, mode, priority, index, in_order=True, explicit_only=explicit_only, copy_offload=copy_offload
        )
        self.context = context
        self.lifetime = context.lifetime
        self.device = device
        self.group = group
        self.synchronous = mode == "synchronous"
        self.timing = timing
        self.held = Held()
        # Events are counter-based, so they can be reused as they are, also while commands that use them are pending.
        self.spare: list[int] = []
        # The latest tickets; one without other references is reused, which saves its construction and destruction.
        self._tickets: deque[Ticket] = deque()
        self.reference = weakref.ref(self)
        self.handle = create(_create, context.handle, device.handle, ctypes.byref(desc))

    @property
    def flags(self) -> frozenset[QueueFlag]:
        """The flags of its queue, as the driver stores them.

        >>> sorted(az.device().context().immediate(copy_offload=True).flags)
        ['copy_offload', 'in_order']
        """
        return told(QUEUE, _get_flags, self.handle)

    def _append(
        self,
        command: Callable[..., int],
        arguments: tuple[Any, ...],
        signal: Event | None,
        wait: Waits,
        kept: object,
        nbytes: int = 0,
    ) -> Completion:
        count, waits = NO_WAITS if wait is None else pack(wait)
        if kept is not None and self.held.weight > HEAVY:
            self.release_finished()
        if signal is not None:
            done: Event | Done | Ticket = signal
        elif self.synchronous and not self.timing:
            done = DONE
        else:
            tickets = self._tickets
            done = tickets.popleft() if tickets else Ticket(self)
            if getrefcount(done) > ALONE:
                done = self._another(done)
            tickets.append(done)
        try:
            if result := command(self.handle, *arguments, done.handle, count, waits):
                check(result, command)
            if wait is not None and in_progress:
                self._look_for_capture()
            if self.synchronous:
                self._finish()
            elif kept is not None:
                self.held.add(kept, nbytes)
                if nbytes > HEAVY and signal is not None:
                    signal.given_to = self.reference
        except BaseException:
            # Ctrl-C leaves a command behind that runs on.
            self.held.add(kept, HEAVY)
            raise
        return done

    def _append_launch(
        self,
        enqueue: Enqueue,
        kernel: int,
        sizes: Grid,
        given: tuple[Any, ...],
        signal: Event | None,
        wait: Waits,
    ) -> Completion:
        # This is `_append`, inlined for the most frequent command: passing a command on costs as much as the driver
        # takes for it.
        values, kept, nbytes = enqueue.collect(given)
        held = self.held
        if signal is not None or wait is not None or self.synchronous or held.weight > HEAVY:
            return self._append(enqueue.append, (kernel, sizes, values), signal, wait, kept, nbytes)
        tickets = self._tickets
        done = tickets.popleft() if tickets else Ticket(self)
        if getrefcount(done) > ALONE:
            done = self._another(done)
        tickets.append(done)
        try:
            enqueue.append(self.handle, kernel, sizes, values, done.handle, 0, None)
            if kept is not None:
                held.add(kept, nbytes)
        except BaseException:
            held.add(kept, HEAVY)
            raise
        return done

    # Under the name that kernels call; it is no part of the documented API.
    append_launch = _append_launch

    def _another(self, used: Ticket) -> Ticket:
        """A ticket in place of one that is still referenced."""
        if len(self._tickets) < _TICKETS:
            self._tickets.append(used)
        return Ticket(self)

    def _append_bare(
        self, command: Callable[..., int], arguments: tuple[Any, ...], kept: object, nbytes: int = 0
    ) -> Completion:
        try:
            if result := command(self.handle, *arguments):
                check(result, command)
        finally:
            self.held.add(kept, nbytes)
        # The command has no event of its own; the barrier's event is signalled right after it.
        return self.barrier()

    def _finish(self) -> None:
        """Wait for the command just appended. Not in the driver, where Ctrl-C would not end it."""
        if _synchronize(self.handle, SLICE_NS):
            _wait(_synchronize, self.handle, None, "the command")
        if self.context.failures:
            raise self.context.failures.pop(0)

    def _place_mark(self, mark: int | None) -> int:
        event = new_event(self) if mark is None else mark
        check(_signal(self.handle, event), _signal)
        return event

    def signal(self, event: Event) -> Completion:
        """Signal `event` when everything before is done, and return it."""
        if result := _signal(self.handle, event.handle):
            check(result, _signal)
        if self.synchronous:
            self.synchronize()
        return event

    def wait(self, *events: Any) -> Completion:
        """Delay all following commands until all `events` are signalled."""
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
        arguments = (len(lists), pack_lists(lists))
        return self._append(_run, arguments, signal, wait, *kept_of(lists))

    def capture(self) -> CommandGraph:
        """Capture the following commands into a `CommandGraph` instead of running them.

        >>> ctx = az.device().context()
        >>> x = ctx.zeros(2, np.uint8, kind="shared")
        >>> lst = ctx.immediate()
        >>> with lst.capture() as graph:
        ...     _ = lst.fill(x, 3)
        >>> lst.replay(graph.instantiate()).wait(timeout=5)
        >>> np.asarray(x)
        array([3, 3], dtype=uint8)
        """
        from anyzero.api.command_graph import CommandGraph

        if self.synchronous:
            raise errors.InvalidArgument(
                "a synchronous list waits for every command, and captured ones do not run",
                remedy='Capture on a list with mode="asynchronous".',
            )
        return CommandGraph(self)

    def replay(self, graph: ExecutableGraph, *, signal: Event | None = None, wait: Waits = None) -> Completion:
        """Run a captured graph here, in order with the other commands; while capturing, as a part of the new graph."""
        if graph.calls_host:
            self._has_host_functions()
        return self._append(_replay, (graph.handle, None), signal, wait, (graph, graph.kept), graph.kept_bytes)

    def _look_for_capture(self) -> None:
        """If the list captures because it waited for a captured command, let the graph hold the objects it uses."""
        found = ctypes.c_void_p()
        if isinstance(self.held, Captured) or _graph_of(self.handle, ctypes.byref(found)):
            return
        graph = in_progress.get(found.value or 0)
        if graph is not None:
            join(graph, self)

    def _has_host_functions(self) -> None:
        watch(self)
        for graph in list(in_progress.values()):
            graph.calls_host = True

    def _release(self, handle: int) -> None:
        if isinstance(self.held, Captured):
            self.held = self.held.before
        super()._release(handle)
        self._tickets.clear()
