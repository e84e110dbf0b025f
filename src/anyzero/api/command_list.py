"""Command lists: recorded once, run as often as needed."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from anyzero import errors, ze
from anyzero.api.calls.flags import LIST, ListFlag, together, told
from anyzero.api.calls.hot import Address
from anyzero.api.commands.waits import NO_WAITS, Waits, pack
from anyzero.api.library import check, create, function
from anyzero.api.properties import QueueGroup
from anyzero.api.recorder import Recorder

if TYPE_CHECKING:
    from anyzero.api.context import Context
    from anyzero.api.device import Device
    from anyzero.api.event import Event
    from anyzero.api.graph import Arguments, Graph
    from anyzero.api.graph_command import GraphCommand
    from anyzero.api.graph_profiler import GraphProfile

__all__ = ["CommandList"]

_create: Final = function("zeCommandListCreate")
_clone: Final = function("zeCommandListCreateCloneExp")
_get_flags: Final = function("zeCommandListGetFlags")
_end: Final = function("zeCommandListClose")
_reset: Final = function("zeCommandListReset")


def _ended() -> errors.InvalidArgument:
    # Drivers, as hardware's, accept the command and never run it.
    return errors.InvalidArgument("the recording of this command list has ended", remedy="reset it to record again.")


class CommandList(Recorder[None]):
    """Commands in the order they were appended, to be submitted to a queue or an immediate list, many times.

    The end of a ``with`` block ends the recording; then the list can be submitted. `reset` begins a new one. One
    thread at a time may record; any number of queues may run the recorded commands.

    >>> ctx = az.device().context()
    >>> x, y = ctx.to_device(np.arange(4)), ctx.zeros(4, int)
    >>> with ctx.command_list() as cl:
    ...     cl.copy(y, x)
    >>> with ctx.queue() as q:
    ...     for _ in range(3):
    ...         q.submit(cl).wait()
    >>> y.copy_to()
    array([0, 1, 2, 3])
    """

    __slots__ = ("array", "calls_host", "kept", "kept_bytes", "recording")
    _destroy = function("zeCommandListDestroy")
    _gone_when_closed = ("handle", "array")

    def __init__(
        self,
        context: Context,
        device: Device,
        group: QueueGroup,
        *,
        in_order: bool = True,
        cloneable: bool = False,
        mutable: bool = False,
        maximize_throughput: bool = False,
        explicit_only: bool = False,
        copy_offload: bool = False,
        handle: int | None = None,
    ) -> None:
        self.context = context
        self.device = device
        self.group = group
        self.recording = handle is None
        self.calls_host = False
        self.kept: list[object] = []
        self.kept_bytes = 0
        if handle is None:
            flags = together(
                LIST,
                in_order=in_order,
                relaxed_ordering=not in_order,
                maximize_throughput=maximize_throughput,
                explicit_only=explicit_only,
                cloneable=cloneable,
                copy_offload=copy_offload,
            )
            desc = ze.ze_command_list_desc_t(commandQueueGroupOrdinal=group.ordinal, flags=flags)
            changes = ze.ze_mutable_command_list_exp_desc_t()
            if mutable:
                desc.pNext = ctypes.addressof(changes)
            handle = create(_create, context.handle, device.handle, ctypes.byref(desc))
        self.handle = handle
        self.array = Address((ctypes.c_void_p * 1)(handle))

    @property
    def flags(self) -> frozenset[ListFlag]:
        """The flags that it was made with.

        >>> sorted(az.device().context().command_list(in_order=False, maximize_throughput=True).flags)
        ['maximize_throughput', 'relaxed_ordering']
        """
        return told(LIST, _get_flags, self.handle)

    def _append(
        self,
        command: Callable[..., int],
        arguments: tuple[Any, ...],
        signal: Event | None,
        wait: Waits,
        kept: object,
        nbytes: int = 0,
    ) -> None:
        if not self.recording:
            raise _ended()
        count, waits = NO_WAITS if wait is None else pack(wait)
        event = None if signal is None else signal.handle
        if result := command(self.handle, *arguments, event, count, waits):
            check(result, command)
        self.kept.append((kept, signal, wait))
        self.kept_bytes += nbytes

    def _append_bare(
        self, command: Callable[..., int], arguments: tuple[Any, ...], kept: object, nbytes: int = 0
    ) -> None:
        if not self.recording:
            raise _ended()
        if result := command(self.handle, *arguments):
            check(result, command)
        self.kept.append(kept)
        self.kept_bytes += nbytes

    def _has_host_functions(self) -> None:
        self.calls_host = True

    def execute_mutable(
        self,
        graph: Graph,
        arguments: Arguments | None = None,
        *,
        profile: GraphProfile | None = None,
        signal: Event | None = None,
        wait: Waits = None,
    ) -> GraphCommand:
        """Run a graph as `execute` does, in a list created with ``mutable=True``; the returned command can be
        changed.
        """
        from anyzero.api.graph_command import GraphCommand, identify

        numbers: list[int] = []
        command, kept = graph.bound.command(graph.owner, arguments, profile, lambda lst: numbers.append(identify(lst)))
        self._append(command, (), signal, wait, kept, graph.kept_bytes)
        return GraphCommand(self, graph, numbers[0], kept)

    def end(self) -> None:
        """End the recording; ending twice is fine. The end of a ``with`` block does it.

        >>> cl = az.device().context().command_list()
        >>> cl.end(); cl.recording
        False
        """
        check(_end(self.handle), _end)
        self.recording = False

    def reset(self) -> None:
        """Remove all commands and record again. Submissions in progress are not affected.

        >>> cl = az.device().context().command_list()
        >>> cl.end(); cl.reset(); cl.recording
        True
        """
        check(_reset(self.handle), _reset)
        # Queues that still run the old commands hold the old list of their objects.
        self.kept = []
        self.kept_bytes = 0
        self.calls_host = False
        self.recording = True

    def clone(self) -> CommandList:
        """Another list with the same commands, of a list created with ``cloneable=True`` whose recording ended.

        >>> cl = az.device().context().command_list(cloneable=True)
        >>> cl.end(); cl.clone().recording
        False
        """
        made = CommandList(self.context, self.device, self.group, handle=create(_clone, self.handle))
        made.kept = list(self.kept)
        made.kept_bytes = self.kept_bytes
        made.calls_host = self.calls_host
        return made

    def _release(self, handle: int) -> None:
        self.kept = []
        del self.array
        super()._release(handle)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A recording that an exception interrupted must not run.
        if kind is None and not self.closed:
            self.end()
