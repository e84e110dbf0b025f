"""Amounts over time that follow from a recording: memory, commands in flight, bytes per second."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import groupby

from anyzero.tracing.recording import Command, Recording

__all__ = ["bandwidth", "in_flight", "queued", "usage"]

_KINDS = {"zeMemAllocDevice": "device", "zeMemAllocHost": "host", "zeMemAllocShared": "shared"}
_FREES = ("zeMemFree", "zeMemFreeExt")


def usage(recording: Recording) -> Iterator[tuple[int, dict[str, int]]]:
    """The bytes of each kind after every allocation and every free; memory from before the recording is not known."""
    held: dict[int, tuple[str, int]] = {}
    amounts = dict.fromkeys(_KINDS.values(), 0)
    for call in sorted(recording.calls, key=lambda each: each.end):
        if call.result:
            continue
        if (kind := _KINDS.get(call.name)) is not None:
            size = call.arguments.get("size", 0)
            held[call.arguments.get("pptr", 0)] = kind, size
            amounts[kind] += size
        elif call.name in _FREES and (freed := held.pop(call.arguments.get("ptr", 0), None)) is not None:
            amounts[freed[0]] -= freed[1]
        else:
            continue
        yield call.end, dict(amounts)


def queued(recording: Recording) -> Iterator[tuple[Command, int]]:
    """Commands and when the call that submitted them began; commands from before the recording are left out."""
    submitted: dict[int, list[tuple[int, int]]] = {}
    for call in recording.calls:
        if call.queue:
            submitted.setdefault(call.queue, []).append((call.position, call.start))
    positions = {}
    for queue, found in submitted.items():
        found.sort()
        positions[queue] = [position for position, _ in found]
    for command in recording.commands:
        # One call may submit several commands: the position is that of the first.
        place = bisect_right(positions.get(command.queue, ()), command.position) - 1
        if place >= 0 and (start := submitted[command.queue][place][1]) <= command.start:
            yield command, start


def in_flight(recording: Recording) -> Iterator[tuple[int, int]]:
    """The number of commands submitted and not ended yet, after every change."""
    changes = [change for command, start in queued(recording) for change in ((start, 1), (command.end, -1))]
    yield from ((time, round(amount)) for time, amount in _sums(changes))


def bandwidth(recording: Recording) -> Iterator[tuple[int, float]]:
    """The GB/s of the copies and fills that run, after every change."""
    changes = []
    for command in recording.commands:
        took = command.end - command.start
        if command.nbytes and took and command.kind != "inference":
            changes += [(command.start, command.nbytes / took), (command.end, -command.nbytes / took)]
    yield from ((time, max(round(amount, 3), 0.0)) for time, amount in _sums(changes))


def _sums(changes: Iterable[tuple[int, float]]) -> Iterator[tuple[int, float]]:
    amount = 0.0
    for time, group in groupby(sorted(changes), key=lambda change: change[0]):
        amount += sum(change for _, change in group)
        yield time, amount
