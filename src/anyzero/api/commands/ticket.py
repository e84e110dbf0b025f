"""Completions of commands of immediate lists: counter-based events, lent by the list and reused."""

from __future__ import annotations

import ctypes
from collections import deque
from sys import getrefcount
from typing import TYPE_CHECKING, Final

from anyzero import ze
from anyzero.api.calls.hot import hot
from anyzero.api.calls.waiting import wait as _wait
from anyzero.api.commands.held import HEAVY
from anyzero.api.commands.waits import elapsed_ns
from anyzero.api.completion import Completion
from anyzero.api.library import check, create, function
from anyzero.ze.constants import ZE_RESULT_NOT_READY

if TYPE_CHECKING:
    from anyzero.api.immediate import ImmediateCommandList

__all__ = ["ALONE", "DONE", "Done", "Ticket", "new_event"]

_create_event: Final = function("zeEventCounterBasedCreate")
_destroy_event: Final = function("zeEventDestroy")
_synchronize_event: Final = hot("zeEventHostSynchronize")
_query_event: Final = hot("zeEventQueryStatus")


def new_event(lst: ImmediateCommandList) -> int:
    """The handle of a new counter-based event for the commands of a list."""
    flags = ze.ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE | ze.ZE_EVENT_COUNTER_BASED_FLAG_HOST_VISIBLE
    if lst.timing:
        flags |= ze.ZE_EVENT_COUNTER_BASED_FLAG_DEVICE_TIMESTAMP
    scope = ze.ZE_EVENT_SCOPE_FLAG_HOST
    desc = ze.ze_event_counter_based_desc_t(flags=flags, signal=scope, wait=scope)
    return create(_create_event, lst.lifetime.handle, lst.device.handle, ctypes.byref(desc))


class Ticket(Completion):
    """The completion of one command: a counter-based event, lent by the list."""

    __slots__ = ("_list", "_timing", "context", "handle")
    is_event = True

    def __init__(self, owner: ImmediateCommandList) -> None:
        self._list = owner.reference
        self.context = owner.context
        self._timing = owner.timing
        try:
            self.handle = owner.spare.pop()
        except IndexError:
            self.handle = new_event(owner)

    def wait(self, timeout: float | None = None) -> None:
        """Implements `Completion`."""
        _wait(_synchronize_event, self.handle, timeout, "the command")
        self._let_go()
        if self.context.failures:
            raise self.context.failures.pop(0)

    def _let_go(self) -> None:
        owner = self._list()
        if owner is not None and owner.held.weight > HEAVY:
            owner.release_finished()

    @property
    def done(self) -> bool:
        """Implements `Completion`."""
        result = _query_event(self.handle)
        if result == ZE_RESULT_NOT_READY:
            return False
        if result:
            check(result, _query_event)
        self._let_go()
        return True

    @property
    def kernel_ns(self) -> int:
        """Implements `Completion`."""
        if not self._timing:
            return super().kernel_ns
        return elapsed_ns(self.handle, self.context.device)

    def __del__(self) -> None:
        try:
            self._list().spare.append(self.handle)  # type: ignore[union-attr]
        except Exception:
            # The list is closed, or was never complete; or the interpreter exits, and anything may be gone already.
            try:  # noqa: SIM105 (contextlib may be gone as well)
                _destroy_event(self.handle)
            except Exception:
                pass

    def __repr__(self) -> str:
        return "<Completion of a command>"


class Done(Completion):
    """The completion of a command that was done when its call returned."""

    __slots__ = ()
    is_event = True
    handle: Final = None

    def wait(self, timeout: float | None = None) -> None:
        """Implements `Completion`."""

    @property
    def done(self) -> bool:
        """Implements `Completion`."""
        return True

    def __repr__(self) -> str:
        return "<Completion of a command, done>"


DONE: Final = Done()


def _references_of_one_alone() -> int:
    made = deque([Done()])
    done = made.popleft()
    return getrefcount(done)


ALONE: Final = _references_of_one_alone()
"""References to a completion that only its list holds, as `getrefcount` counts them: versions of Python differ."""
