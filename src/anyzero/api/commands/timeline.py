"""The base of queues and immediate lists: commands run one after the other, and can be waited for."""

from __future__ import annotations

import ctypes
from types import TracebackType
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from anyzero import errors, ze
from anyzero.api.calls.flags import QUEUE, together
from anyzero.api.calls.hot import Address
from anyzero.api.calls.waiting import wait as _wait
from anyzero.api.commands.held import Call, Held, destroy_when_idle
from anyzero.api.memory.sizes import place_within
from anyzero.api.properties import QueueGroup
from anyzero.api.resource import Resource
from anyzero.ze.constants import ZE_RESULT_NOT_READY

if TYPE_CHECKING:
    from anyzero.api.command_list import CommandList
    from anyzero.api.context import Context

Mode = Literal["asynchronous", "synchronous"]
Priority = Literal["normal", "low", "high"]

_MODES: Final = ("asynchronous", "synchronous")
_PRIORITIES: Final[dict[str, int]] = {
    "normal": ze.ZE_COMMAND_QUEUE_PRIORITY_NORMAL,
    "low": ze.ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW,
    "high": ze.ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH,
}


class Timeline(Resource):
    """Runs commands in order, and holds the objects that they use until they are done."""

    # Its users are Recorders too, and only one base may bring attributes of its own.
    __slots__ = ()

    _synchronize: ClassVar[Call]
    _query_mark: ClassVar[Call]
    _destroy_mark: ClassVar[Call]
    _noun: ClassVar[str]

    context: Context
    synchronous: bool
    held: Held
    spare: list[int]
    """Handles of completions without a reference, to be used again."""

    def synchronize(self, timeout: float | None = None) -> None:
        """Return when everything given so far is done; raise TimeoutError after `timeout` seconds.

        >>> az.device().context().queue().synchronize(timeout=5)
        """
        cls = type(self)
        _wait(cls._synchronize, self.handle, timeout, self._noun)
        if self.held:
            self.release_finished()
        if self.context.failures:
            raise self.context.failures.pop(0)

    def release_finished(self) -> None:
        """Release the objects that finished commands used."""
        if self.closed:
            return
        cls = type(self)
        self.held.look(self.handle, cls._synchronize, cls._query_mark, self._place_mark)

    def _place_mark(self, mark: int | None) -> int:
        """Put a mark behind everything so far, the old one if there is one, and return it."""
        raise NotImplementedError

    def is_idle(self) -> bool:
        """Whether everything given so far is done, or the object is closed."""
        cls = type(self)
        return self.closed or cls._synchronize(self.handle, 0) != ZE_RESULT_NOT_READY

    def _release(self, handle: int) -> None:
        cls = type(self)
        destroy_when_idle(handle, cls._synchronize, cls._destroy, self.held)
        spare = self.spare
        if self.held.mark is not None:
            spare.append(self.held.mark)
        # From now on a completion that is destroyed finds no list to return its handle to.
        del self.spare
        while spare:
            cls._destroy_mark(spare.pop())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            # After an exception, no thread may be left to signal the events that commands wait for.
            if kind is None and not self.closed:
                self.synchronize()
        finally:
            self.close()


def queue_desc(
    group: QueueGroup,
    mode: Mode,
    priority: Priority,
    index: int,
    *,
    in_order: bool = False,
    explicit_only: bool = False,
    copy_offload: bool = False,
) -> ze.ze_command_queue_desc_t:
    """The descriptor of a queue, from words."""
    if mode not in _MODES:
        raise ValueError(f"mode={mode!r} is not one of {', '.join(_MODES)}")
    if priority not in _PRIORITIES:
        raise ValueError(f"priority={priority!r} is not one of {', '.join(_PRIORITIES)}")
    return ze.ze_command_queue_desc_t(
        ordinal=group.ordinal,
        index=place_within(index, 32, "the queue's index"),
        flags=together(QUEUE, in_order=in_order, explicit_only=explicit_only, copy_offload=copy_offload),
        # Also where calls wait for their commands: nothing would interrupt a wait inside the driver.
        mode=ze.ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS,
        priority=_PRIORITIES[priority],
    )


def pack_lists(lists: tuple[CommandList, ...]) -> Address:
    """Recorded lists as the C API takes them; raise InvalidArgument for one that is still recorded, or for none."""
    for each in lists:
        if each.recording:
            raise errors.InvalidArgument(
                "the command list is still being recorded", remedy="Leave its `with` block, or call its end()."
            )
    if len(lists) == 1:
        return lists[0].array
    if not lists:
        raise errors.InvalidArgument("there is no command list to submit")
    return Address((ctypes.c_void_p * len(lists))(*(each.handle for each in lists)))


def kept_of(lists: tuple[CommandList, ...]) -> tuple[object, int]:
    """The objects that commands of recorded lists use, or None, and their size in bytes."""
    if len(lists) == 1:
        only = lists[0]
        return only.kept or None, only.kept_bytes
    kept = [each.kept for each in lists if each.kept]
    return kept or None, sum(each.kept_bytes for each in lists)
