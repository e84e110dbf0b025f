"""What queues and immediate lists are asked for alike."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Final, Literal

from anyzero import errors, ze
from anyzero.api._flags import QUEUE, together
from anyzero.api._hot import Address
from anyzero.api._sizes import place_within
from anyzero.api.properties import QueueGroup

if TYPE_CHECKING:
    from anyzero.api.command_list import CommandList

Mode = Literal["asynchronous", "synchronous"]
Priority = Literal["normal", "low", "high"]

_MODES: Final = ("asynchronous", "synchronous")
_PRIORITIES: Final[dict[str, int]] = {
    "normal": ze.ZE_COMMAND_QUEUE_PRIORITY_NORMAL,
    "low": ze.ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW,
    "high": ze.ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH,
}


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
    """What the commands of recorded lists use, or None, and how much memory that is."""
    if len(lists) == 1:
        only = lists[0]
        return only.kept or None, only.kept_bytes
    kept = [each.kept for each in lists if each.kept]
    return kept or None, sum(each.kept_bytes for each in lists)
