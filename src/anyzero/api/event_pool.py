"""Event pools: storage for events, which other processes can open."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from anyzero import ze
from anyzero.api.calls.flags import EventScope
from anyzero.api.commands.pool_handle import create_pool, open_pool
from anyzero.api.event import Event
from anyzero.api.library import check, function
from anyzero.api.memory.sizes import place_of, size_within
from anyzero.api.resource import Resource

if TYPE_CHECKING:
    from anyzero.api.context import Context

__all__ = ["EventPool"]

_get_ipc: Final = function("zeEventPoolGetIpcHandle")


class EventPool(Resource):
    """Storage for `count` events. ``pool[i]`` is the event with index `i`, always the same object.

    With ``ipc=True`` another process can open the pool by `ipc_handle` and shares the events by their indices. Any
    thread may use a pool.

    >>> pool = az.device().context().event_pool(2)
    >>> pool[0].signal()
    >>> [event.done for event in pool]
    [True, False]
    """

    __slots__ = ("_events", "_scopes", "context", "count", "lifetime", "timing")

    def __init__(
        self,
        context: Context,
        count: int,
        *,
        timing: bool = False,
        ipc: bool = False,
        signal_scope: EventScope = "host",
        wait_scope: EventScope = "host",
        handle: bytes | None = None,
    ) -> None:
        self._scopes: dict[str, EventScope] = {"signal_scope": signal_scope, "wait_scope": wait_scope}
        self.context = context
        self.count = size_within(count, 32, "the number of events")
        self._events: dict[int, Event] = {}
        if handle is None:
            self.lifetime = create_pool(context, count, timing=timing, ipc=ipc)
        else:
            self.lifetime = open_pool(context, handle)
        self.timing = self.lifetime.timing
        self.handle = self.lifetime.handle

    def _release(self, handle: int) -> None:
        # The driver's pool is destroyed with the last of its events.
        self._events = {}
        del self.lifetime

    def __getitem__(self, index: int) -> Event:
        place = place_of(index, self.count, "an index of a pool is an integer")
        found = self._events.get(place)
        if found is None or found.closed:
            self.handle  # noqa: B018 (raises when the pool is closed)
            found = self._events[place] = Event(self.context, self.lifetime, place, **self._scopes)
        return found

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Event]:
        return (self[index] for index in range(self.count))

    def ipc_handle(self) -> bytes:
        """A handle with which another process of the same user opens this pool; see `Context.open_event_pool`.

        >>> len(az.device().context().event_pool(1, ipc=True).ipc_handle())
        64
        """
        made = ze.ze_ipc_event_pool_handle_t()
        check(_get_ipc(self.handle, ctypes.byref(made)), _get_ipc)
        return bytes(made)
