"""Objects that commands use are held until the commands are done, also when their list or queue is gone by then."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Final

from anyzero.ze.constants import ZE_RESULT_NOT_READY

if TYPE_CHECKING:
    from anyzero.api.command_graph import CommandGraph
    from anyzero.api.immediate import ImmediateCommandList

Call = Callable[..., int]

# An event or a fence is signalled a moment before its queue counts as idle, and programs close right after a wait.
_GRACE_NS: Final = 100_000

HEAVY: Final = 1 << 20
"""Bytes used by commands since the last `look` after which another one is worth its microsecond."""
_EACH: Final = HEAVY >> 6

_parked: list[tuple[int, Call, Call, Held]] = []

in_progress: dict[int, CommandGraph] = {}
"""The graphs that are being captured, by handle."""


class Held:
    """Objects that the commands of one list or queue use, in the order of the commands, until those are done.

    Commands run in order, so there are two queries: whether all are done, or else those before the mark, a command that
    only signals that it was reached. There is one mark at a time. Any thread may add, preferably once the command is
    given; one thread at a time looks, and others skip it.
    """

    __slots__ = ("_entries", "_marked", "_turn", "mark", "weight")

    def __init__(self) -> None:
        self._entries: deque[object] = deque()
        self._turn = Lock()
        # The number of oldest entries before the mark.
        self._marked = 0
        self.mark: int | None = None
        self.weight = 0

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, kept: object, nbytes: int) -> None:
        """Hold `kept`, of `nbytes`, for a command that was given just now."""
        self._entries.append(kept)
        self.weight += nbytes + _EACH

    def look(self, handle: int, synchronize: Call, query: Call, place: Callable[[int | None], int]) -> None:
        """Release the objects of commands that are done by now, without waiting.

        `place` puts a mark behind all commands so far, the old one if there is one, and returns it; `query` queries it.
        """
        if not self._turn.acquire(blocking=False):
            return
        try:
            self.weight = 0
            # Entries present now belong to commands given before; entries added meanwhile are not covered.
            count = len(self._entries)
            if synchronize(handle, 0) != ZE_RESULT_NOT_READY:
                self._drop(count)
            elif not self._marked or query(self.mark) != ZE_RESULT_NOT_READY:
                count -= self._marked
                self._drop(self._marked)
                if count:
                    # After a Ctrl-C in between, the position of the old mark is unknown.
                    mark, self.mark = self.mark, None
                    self.mark = place(mark)
                    self._marked = count
        finally:
            self._turn.release()

    def clear(self) -> None:
        """Release everything: no command is pending any more."""
        if self._turn.acquire(blocking=False):
            try:
                self._drop(len(self._entries))
            finally:
                self._turn.release()

    def _drop(self, count: int) -> None:
        self._marked = max(self._marked - count, 0)
        for _ in range(count):
            self._entries.popleft()


class Captured(Held):
    """Replaces `Held` of a list that captures: its commands run with the graph, so the graph holds their objects."""

    __slots__ = ("before", "graph")

    def __init__(self, graph: CommandGraph, before: Held) -> None:
        super().__init__()
        self.graph = graph
        self.before = before

    def add(self, kept: object, nbytes: int) -> None:
        """Hold `kept` for as long as the graph may run."""
        if kept is not None:
            self.graph.kept.append(kept)
            self.graph.kept_bytes += nbytes

    def look(self, handle: int, synchronize: Call, query: Call, place: Callable[[int | None], int]) -> None:
        """Do nothing: no command is done before the graph is."""


def join(graph: CommandGraph, lst: ImmediateCommandList) -> None:
    """Let the graph hold the objects that commands use from now on, of a list that captures into it."""
    graph.lists.append(lst)
    lst.held = Captured(graph, lst.held)


def destroy_when_idle(handle: int, synchronize: Call, destroy: Call, held: Held) -> None:
    """Destroy a list or queue: now, or, while it runs commands that use held objects, as soon as they are done."""
    if held and synchronize(handle, _GRACE_NS) == ZE_RESULT_NOT_READY:
        _parked.append((handle, synchronize, destroy, held))
    else:
        destroy(handle)
        held.clear()


def any_parked() -> bool:
    """Whether something is still to be destroyed."""
    return bool(_parked)


def sweep() -> None:
    """Destroy the parked lists and queues that are idle by now."""
    # Taken out first, so that another thread that comes here meanwhile does not destroy the same ones.
    waiting, _parked[:] = _parked[:], []
    for each in waiting:
        destroy_when_idle(*each)
