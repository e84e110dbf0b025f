"""Flags of the C API as words, in both directions."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeVar

from anyzero import ze
from anyzero.api.library import check

__all__ = ["EventScope", "ListFlag", "QueueFlag"]

ListFlag = Literal["in_order", "relaxed_ordering", "maximize_throughput", "explicit_only", "cloneable", "copy_offload"]
QueueFlag = Literal["in_order", "explicit_only", "copy_offload"]
EventScope = Literal["none", "subdevice", "device", "host"]
Word = TypeVar("Word", bound=str)

LIST: Final[dict[ListFlag, int]] = {
    "in_order": ze.ZE_COMMAND_LIST_FLAG_IN_ORDER,
    "relaxed_ordering": ze.ZE_COMMAND_LIST_FLAG_RELAXED_ORDERING,
    "maximize_throughput": ze.ZE_COMMAND_LIST_FLAG_MAXIMIZE_THROUGHPUT,
    "explicit_only": ze.ZE_COMMAND_LIST_FLAG_EXPLICIT_ONLY,
    "cloneable": ze.ZE_COMMAND_LIST_FLAG_EXP_CLONEABLE,
    "copy_offload": ze.ZE_COMMAND_LIST_FLAG_COPY_OFFLOAD_HINT,
}
QUEUE: Final[dict[QueueFlag, int]] = {
    "in_order": ze.ZE_COMMAND_QUEUE_FLAG_IN_ORDER,
    "explicit_only": ze.ZE_COMMAND_QUEUE_FLAG_EXPLICIT_ONLY,
    "copy_offload": ze.ZE_COMMAND_QUEUE_FLAG_COPY_OFFLOAD_HINT,
}
SCOPES: Final[dict[EventScope, int]] = {
    "none": 0,
    "subdevice": ze.ZE_EVENT_SCOPE_FLAG_SUBDEVICE,
    "device": ze.ZE_EVENT_SCOPE_FLAG_DEVICE,
    "host": ze.ZE_EVENT_SCOPE_FLAG_HOST,
}


def together(flags: Mapping[Word, int], **wanted: bool) -> int:
    """The bits of the requested flags."""
    return sum(flag for word, flag in flags.items() if wanted.get(word))


def told(flags: Mapping[Word, int], query: Callable[..., int], handle: int) -> frozenset[Word]:
    """The words for the bits that the driver reports."""
    found = ctypes.c_uint32()
    check(query(handle, ctypes.byref(found)), query)
    return frozenset(word for word, flag in flags.items() if found.value & flag)


def scope_of(word: EventScope, name: str) -> int:
    if word not in SCOPES:
        raise ValueError(f"{name}={word!r} is not one of {', '.join(SCOPES)}")
    return SCOPES[word]


def widest(scopes: frozenset[EventScope]) -> EventScope:
    """The scope that includes all others."""
    return max(scopes, key=SCOPES.__getitem__, default="none")
