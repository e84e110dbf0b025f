"""Events: synchronization between commands, queues and the host."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from anyzero import ze
from anyzero.api.calls.flags import SCOPES, EventScope, scope_of, told, widest
from anyzero.api.calls.hot import hot
from anyzero.api.calls.waiting import wait as _wait
from anyzero.api.commands.waits import elapsed_ns, ticks
from anyzero.api.completion import Completion
from anyzero.api.library import check, create, function
from anyzero.api.resource import Resource
from anyzero.ze.constants import ZE_RESULT_NOT_READY

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyzero.api.commands.pool_handle import PoolHandle
    from anyzero.api.context import Context
    from anyzero.api.immediate import ImmediateCommandList

__all__ = ["TIMESTAMPS", "Event", "Timestamps"]

TIMESTAMPS: Final = np.dtype([(name, np.uint64) for name in ("start", "end", "context_start", "context_end")])
"""The element type of the array that `query_timestamps` writes."""

_create: Final = function("zeEventCreate")
_synchronize: Final = hot("zeEventHostSynchronize")
_query: Final = hot("zeEventQueryStatus")
_signal: Final = hot("zeEventHostSignal")
_reset: Final = hot("zeEventHostReset")
_get_signal_scope: Final = function("zeEventGetSignalScope")
_get_wait_scope: Final = function("zeEventGetWaitScope")


class Timestamps(NamedTuple):
    """Start and end of the command that signalled an event, in ticks of the device's timer."""

    start: int
    end: int
    context_start: int
    context_end: int


class Event(Completion, Resource):
    """A flag that commands and the host set, reset and wait for.

    Make them with `Context.event`, `Context.events`, or from an `EventPool`. With ``timing=True`` an event records the
    duration of its command. Any thread may use an event.

    >>> ctx = az.device().context()
    >>> start, done = ctx.events(2, timing=True)
    >>> with ctx.immediate() as lst:
    ...     _ = lst.copy(ctx.zeros(1 << 16), ctx.zeros(1 << 16), signal=done, wait=start)
    ...     done.done                       # the copy waits for `start`
    ...     start.signal()
    ...     done.wait(timeout=5)
    False
    >>> done.kernel_ns > 0
    True
    """

    __slots__ = ("_pool", "context", "given_to", "index")
    is_event = True
    _destroy = function("zeEventDestroy")

    def __init__(
        self,
        context: Context,
        pool: PoolHandle,
        index: int,
        *,
        signal_scope: EventScope = "host",
        wait_scope: EventScope = "host",
    ) -> None:
        self.context = context
        self._pool = pool
        self.index = index
        # The immediate list with a command that uses much memory and signals this event.
        self.given_to: Callable[[], ImmediateCommandList | None] | None = None
        signal, wait = scope_of(signal_scope, "signal_scope"), scope_of(wait_scope, "wait_scope")
        desc = ze.ze_event_desc_t(index=index, signal=signal, wait=wait)
        self.handle = create(_create, pool.handle, ctypes.byref(desc))

    @property
    def timing(self) -> bool:
        """Whether it records when its command ran."""
        return self._pool.timing

    @property
    def signal_scope(self) -> EventScope:
        """The scope in which writes before the signal are visible.

        >>> az.device().context().event(signal_scope="device").signal_scope
        'device'
        """
        return widest(told(SCOPES, _get_signal_scope, self.handle))

    @property
    def wait_scope(self) -> EventScope:
        """The scope in which they are visible after a wait."""
        return widest(told(SCOPES, _get_wait_scope, self.handle))

    def wait(self, timeout: float | None = None) -> None:
        """Return when the event is signalled; raise TimeoutError after `timeout` seconds.

        >>> event = az.device().context().event()
        >>> event.wait(timeout=0.001)
        Traceback (most recent call last):
        anyzero.errors.TimeoutError: zeEventHostSynchronize NOT_READY: the event was not done after 0.001 seconds
        The work continues: wait again, with a longer timeout or none.
        """
        _wait(_synchronize, self.handle, timeout, "the event")
        if self.given_to is not None:
            self._let_go()
        if self.context.failures:
            raise self.context.failures.pop(0)

    def _let_go(self) -> None:
        lst = self.given_to() if self.given_to else None
        self.given_to = None
        # The signal may have come from elsewhere, so the list has to query its commands.
        if lst is not None:
            lst.release_finished()

    @property
    def done(self) -> bool:
        """Whether the event is signalled.

        >>> az.device().context().event().done
        False
        """
        result = _query(self.handle)
        if result and result != ZE_RESULT_NOT_READY:
            check(result, _query)
        return not result

    def signal(self) -> None:
        """Signal the event from the host; commands and threads that wait for it continue.

        >>> event = az.device().context().event()
        >>> event.signal(); event.done
        True
        """
        if result := _signal(self.handle):
            check(result, _signal)

    def reset(self) -> None:
        """Reset the event, so that it can be signalled again.

        >>> event = az.device().context().event()
        >>> event.signal(); event.reset(); event.done
        False
        """
        if result := _reset(self.handle):
            check(result, _reset)

    @property
    def timestamps(self) -> Timestamps:
        """Start and end of its command; raises NotReady before that, and InvalidHandle for an event without timing.

        >>> ctx = az.device().context()
        >>> event = ctx.event(timing=True)
        >>> with ctx.immediate() as lst:
        ...     lst.barrier(signal=event).wait()
        >>> event.timestamps.end >= event.timestamps.start
        True
        """
        return Timestamps(*ticks(self.handle))

    @property
    def kernel_ns(self) -> int:
        """The duration of its command on the device, in nanoseconds."""
        return elapsed_ns(self.handle, self.context.device)
