"""The base of command lists: the ways to append a command."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from anyzero.api.commands.waits import Waits
from anyzero.api.resource import Resource

if TYPE_CHECKING:
    from anyzero.api.context import Context
    from anyzero.api.device import Device
    from anyzero.api.event import Event
    from anyzero.api.launches.enqueue import Enqueue
    from anyzero.api.launches.grid import Grid
    from anyzero.api.properties import QueueGroup

__all__ = ["Appended", "Appending"]

Appended = TypeVar("Appended")


class Appending(Resource, Generic[Appended]):
    """The ways to append a command; recorded and immediate lists implement each."""

    __slots__ = ("context", "device", "group")

    context: Context
    device: Device
    group: QueueGroup

    def _append(
        self,
        command: Callable[..., int],
        arguments: tuple[Any, ...],
        signal: Event | None,
        wait: Waits,
        kept: object,
        nbytes: int = 0,
    ) -> Appended:
        """Append a command whose parameters end in signal and waits; hold `kept`, of `nbytes`, until it is done."""
        raise NotImplementedError

    def append_launch(
        self,
        enqueue: Enqueue,
        kernel: int,
        sizes: Grid,
        given: tuple[Any, ...],
        signal: Event | None,
        wait: Waits,
    ) -> Appended:
        """Append a launch; a method of its own, because one more call would be measurable in every launch."""
        values, kept, nbytes = enqueue.collect(given)
        return self._append(enqueue.append, (kernel, sizes, values), signal, wait, kept, nbytes)

    def _append_bare(
        self, command: Callable[..., int], arguments: tuple[Any, ...], kept: object, nbytes: int = 0
    ) -> Appended:
        """Append a command without signal and waits."""
        raise NotImplementedError

    def _has_host_functions(self) -> None:
        """Called before each host function is appended."""
        raise NotImplementedError
