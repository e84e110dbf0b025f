"""Everything that is measured: keys, what they mean, and what we aim at.

The programs that measure (`submission.cpp`, `through_python.py`) only know the keys. All times are nanoseconds per
operation; an item with `bandwidth` is shown in bytes moved per second instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

__all__ = ["ITEMS", "Item", "measured_keys", "select"]

APPEND: Final = 150.0
ROUND_TRIP: Final = 1200.0
REPLAY: Final = 100.0
COPY: Final = 0.95


@dataclass(frozen=True, slots=True)
class Item:
    """One row of the table."""

    key: str
    group: str
    title: str
    at_most: float | None = None
    """Target: nanoseconds."""
    against: str | None = None
    """Key of the yardstick that took turns with this item; the ratio is yardstick's time ÷ ours."""
    at_least: float | None = None
    """Target: that ratio."""
    part_of: str | None = None
    """Not measured itself: a share of that item."""
    parts: int = 1
    bandwidth: bool = False
    crowded: bool = False
    """Keeps several threads busy, so that a busy neighbour changes what is measured."""


RECORD: Final = "recording into a regular list, per command"
EXECUTE: Final = "executing on a queue"
IMMEDIATE: Final = "immediate lists"
EVENTS: Final = "events"
BESIDE: Final = "immediate lists beside regular lists on a queue, taking turns (ratio: regular ÷ immediate)"
MEMORY: Final = "device memory, allocate and free"
OWN: Final = "64 MiB, taking turns, each on device buffers of its own"
SAME: Final = "64 MiB, taking turns, all on the same device buffers"


def _beside(key: str, immediate: str, regular: str = "… recorded, executed") -> tuple[Item, Item]:
    """The same work through an immediate list and through a regular one."""
    return (
        Item(f"{key}_immediate", BESIDE, immediate, against=f"{key}_regular"),
        Item(f"{key}_regular", BESIDE, regular),
    )


ITEMS: Final = (
    Item("append_copy", RECORD, "copy of 64 bytes", at_most=APPEND),
    Item("append_barrier", RECORD, "barrier", at_most=APPEND),
    Item("append_copy_events", RECORD, "copy of 64 bytes that waits for an event and signals one", at_most=APPEND),
    Item("execute_empty", EXECUTE, "empty list: execute, synchronize"),
    Item("replay_1000", EXECUTE, "list of 1,000 copies of 64 bytes: execute, synchronize"),
    Item("replay_command", EXECUTE, "… per replayed copy", at_most=REPLAY, part_of="replay_1000", parts=1000),
    Item("fence_round_trip", EXECUTE, "empty list with a fence: execute, wait, reset"),
    Item("two_thread_execute", EXECUTE, "empty list, two threads executing on one queue, per execution", crowded=True),
    Item("engine_round_trip", EXECUTE, "compute engine → copy engine → compute engine through events", crowded=True),
    Item("immediate_round_trip", IMMEDIATE, "barrier that signals an event: append, wait, reset", at_most=ROUND_TRIP),
    Item("immediate_copy_wait", IMMEDIATE, "copy of 64 bytes: append, synchronize", at_most=ROUND_TRIP),
    Item("synchronous_copy", IMMEDIATE, "copy of 64 bytes on a synchronous list", at_most=ROUND_TRIP),
    Item("immediate_append", IMMEDIATE, "copy of 64 bytes, append alone"),
    Item("immediate_queued", IMMEDIATE, "copy of 64 bytes, append alone behind a wait that holds all up"),
    Item("event_signal", EVENTS, "host signal"),
    Item("event_query", EVENTS, "query"),
    Item("event_reset", EVENTS, "host reset"),
    Item("event_create", EVENTS, "create and destroy"),
    *_beside("create", "create and destroy", "a queue and a list: create and destroy"),
    *_beside("submit", "copy of 64 bytes, the call alone", "… reset, append, close, execute"),
    *_beside("wait", "copy of 64 bytes: append, synchronize", "… reset, append, close, execute, synchronize"),
    *_beside("barrier", "copies with barriers between: append, synchronize, per pair"),
    *_beside("event_to_host", "copy that signals an event the host waits for", "… recorded before: execute, wait"),
    *_beside("event_from_host", "copy that waits for an event of the host, and back", "… recorded before"),
    *_beside("event_chain", "copies that each wait for the event of the one before, per copy"),
    Item("alloc_4k", MEMORY, "4 KiB"),
    Item("alloc_64m", MEMORY, "64 MiB"),
    Item("copy_immediate", OWN, "copy, immediate list", against="stream_copy", at_least=COPY, bandwidth=True),
    Item("copy_queue", OWN, "copy, list on a queue", against="stream_copy", at_least=COPY, bandwidth=True),
    Item("stream_copy", OWN, "by hand: two threads, non-temporal stores", bandwidth=True),
    Item("stream_copy_heap", OWN, "by hand, on memory from malloc instead", bandwidth=True),
    Item("memcpy", OWN, "memcpy, one thread", bandwidth=True),
    Item(
        "copy_immediate_same", SAME, "copy, immediate list", against="stream_copy_same", at_least=COPY, bandwidth=True
    ),
    Item("copy_queue_same", SAME, "copy, list on a queue", against="stream_copy_same", at_least=COPY, bandwidth=True),
    Item("stream_copy_same", SAME, "by hand: two threads, non-temporal stores", bandwidth=True),
    Item("memcpy_same", SAME, "memcpy, one thread", bandwidth=True),
    Item("fill_immediate", SAME, "fill, immediate list", against="stream_fill", bandwidth=True),
    Item("stream_fill", SAME, "fill by hand: two threads, non-temporal stores", bandwidth=True),
    Item("memset", SAME, "memset, one thread", bandwidth=True),
)


def select(text: str) -> tuple[Item, ...]:
    """The items whose key, title or group holds `text`, and the yardsticks that they need."""
    wanted = {item.key for item in ITEMS if text.lower() in f"{item.key} {item.title} {item.group}".lower()}
    wanted |= {item.against for item in ITEMS if item.key in wanted and item.against}
    return tuple(item for item in ITEMS if item.key in wanted)


def measured_keys(items: Iterable[Item]) -> tuple[str, ...]:
    """What a program must measure to fill these rows, each key once."""
    return tuple(dict.fromkeys(item.part_of or item.key for item in items))
