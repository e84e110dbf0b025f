"""Recordings in the format of Chrome's tracing, which https://ui.perfetto.dev and chrome://tracing show.

Each process has two groups of tracks: its threads with the calls they made, and its queues with the commands they ran.
Arrows lead from the call that submitted a command to the command, and from the command that signalled an event to the
call that waited for it. Counters show memory, commands in flight, and the rate of copies and fills.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from typing import Any, TextIO

from anyzero.tracing.counters import bandwidth, in_flight, queued, usage
from anyzero.tracing.recording import Call, Command, Recording
from anyzero.tracing.results import result_name

__all__ = ["events", "write"]

_QUEUES_OF = 10_000_000
"""Added to the id of a process for the group of its queues: no process has an id as large."""
_ADDRESSES = 1 << 20
"""Numbers from here on are shown as addresses."""

Event = dict[str, Any]


def write(recordings: Iterable[Recording], file: TextIO) -> int:
    """Write the events of all recordings to one file; return their number."""
    file.write('{"displayTimeUnit": "ns", "traceEvents": [\n')
    written = 0
    for event in events(recordings):
        file.write((",\n" if written else "") + json.dumps(event, separators=(",", ":")))
        written += 1
    file.write("\n]}\n")
    return written


def events(recordings: Iterable[Recording]) -> Iterator[Event]:
    """The events of all recordings, on one time line that begins with the first of them."""
    listed = list(recordings)
    begin = min((each.wall_clock for each in listed), default=0)
    arrows = count(1)
    for recording in listed:
        yield from _Process(recording, recording.wall_clock - begin, arrows).events()


class _Process:
    def __init__(self, recording: Recording, offset: int, arrows: Iterator[int]) -> None:
        self.recording = recording
        self.process = recording.process
        self.queues = recording.process + _QUEUES_OF
        self.offset = offset
        self.arrows = arrows

    def events(self) -> Iterator[Event]:
        yield from self._names()
        for call in self.recording.calls:
            yield self._slice("call", call.name, call.start, call.end, self.process, call.thread, _about_call(call))
        for request in self.recording.requests:
            about: dict[str, Any] = {"request bytes": request.asked, "reply bytes": request.answered}
            about |= {"answer": request.origin} if request.origin else {}
            name = f"planner: {request.name} {request.kernel}".rstrip()
            yield self._slice("planning", name, request.start, request.end, self.process, request.thread, about)
        for step in self.recording.graph_steps:
            name, about = f"graph: {step.name}", {"model": step.model, "bytes": step.nbytes}
            yield self._slice("graph", name, step.start, step.end, self.process, step.thread, about)
        submitted = dict(queued(self.recording))
        for command in self.recording.commands:
            if command.waited_since is not None and command.waited_since < command.start:
                about = {"event": _shown(command.waited_for)}
                since, until = command.waited_since, command.start
                yield self._slice("wait", "wait for event", since, until, self.queues, command.queue, about)
            about = _about_command(command)
            if command in submitted:
                about["queued"] = f"{(command.start - submitted[command]) / 1000:g} µs"
            yield self._slice("command", command.name, command.start, command.end, self.queues, command.queue, about)
        for layer in self.recording.layers:
            about = {"type": layer.type, "implementation": layer.implementation}
            yield self._slice("layer", layer.name, layer.start, layer.end, self.queues, layer.queue, about)
        yield from self._submissions()
        yield from self._signals()
        for time, amounts in usage(self.recording):
            yield self._counter("memory", self.process, time, amounts)
        for time, number in in_flight(self.recording):
            yield self._counter("commands in flight", self.queues, time, {"commands": number})
        for time, rate in bandwidth(self.recording):
            yield self._counter("copies and fills", self.queues, time, {"GB/s": rate})

    def _counter(self, name: str, process: int, time: int, amounts: Mapping[str, float]) -> Event:
        return {"ph": "C", "name": name, "pid": process, "ts": self._time(time), "args": amounts}

    def _time(self, nanoseconds: int) -> float:
        """The time in microseconds, as the format requires it."""
        return (nanoseconds + self.offset) / 1000

    def _names(self) -> Iterator[Event]:
        def meta(kind: str, process: int, thread: int, name: str) -> Event:
            return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {"name": name}}

        yield meta("process_name", self.process, 0, f"process {self.process}")
        for thread, name in self.recording.threads.items():
            yield meta("thread_name", self.process, thread, name)
        yield meta("process_name", self.queues, 0, f"queues of process {self.process}")
        for queue, title in queue_titles(self.recording).items():
            yield meta("thread_name", self.queues, queue, title)

    def _slice(
        self, category: str, name: str, start: int, end: int, process: int, thread: int, about: dict[str, Any]
    ) -> Event:
        return {
            "ph": "X",
            "cat": category,
            "name": name,
            "pid": process,
            "tid": thread,
            "ts": self._time(start),
            "dur": (end - start) / 1000,
            "args": about,
        }

    def _arrow(self, name: str, begin: tuple[int, int, int], end: tuple[int, int, int]) -> Iterator[Event]:
        """An arrow from one slice to another, each as process, thread and a time inside of it."""
        number = next(self.arrows)
        for phase, (process, thread, time) in (("s", begin), ("f", end)):
            event: Event = {"ph": phase, "id": number, "cat": "flow", "name": name}
            event |= {"pid": process, "tid": thread, "ts": self._time(time)}
            yield event | ({"bp": "e"} if phase == "f" else {})

    def _submissions(self) -> Iterator[Event]:
        commands = {(each.queue, each.position): each for each in self.recording.commands}
        for call in self.recording.calls:
            command = commands.get((call.queue, call.position)) if call.queue else None
            if command is not None:
                end = (self.queues, command.queue, command.start)
                yield from self._arrow("submit", (self.process, call.thread, call.start), end)

    def _signals(self) -> Iterator[Event]:
        """Arrows from the last command that signalled an event or fence to the call that waited for it."""
        signals: dict[int, list[Command]] = {}
        for command in self.recording.commands:
            if command.signal:
                signals.setdefault(command.signal, []).append(command)
        for call in self.recording.calls:
            if call.name not in ("zeEventHostSynchronize", "zeFenceHostSynchronize"):
                continue
            awaited = call.arguments.get("hEvent") or call.arguments.get("hFence") or 0
            before = [each for each in signals.get(awaited, ()) if each.end <= call.end]
            if before and before[-1].end >= call.start:
                last = before[-1]
                begin = (self.queues, last.queue, last.start)
                yield from self._arrow("signal", begin, (self.process, call.thread, call.start))


def queue_titles(recording: Recording) -> dict[int, str]:
    """A name for each queue that ran commands."""
    devices: dict[int, int] = {}
    titles: dict[int, str] = {}
    for command in recording.commands:
        device = devices.setdefault(command.device, len(devices))
        if command.queue not in titles:
            ordinal, index = command.engine
            titles[command.queue] = f"queue {command.queue} (device {device}, group {ordinal}, engine {index})"
    return titles


def _shown(value: int) -> int | str:
    return hex(value) if value >= _ADDRESSES else value


def _about_call(call: Call) -> dict[str, Any]:
    about: dict[str, Any] = {"result": result_name(call.result)}
    if call.line:
        about["line"] = f"{call.file}:{call.line} ({call.function})"
    return {**about, **{name: _shown(value) for name, value in call.arguments.items()}}


def _about_command(command: Command) -> dict[str, Any]:
    about: dict[str, Any] = {"command": command.kind, "position": command.position}
    took = command.end - command.start
    if command.nbytes:
        about["bytes"] = command.nbytes
        if took and command.kind != "inference":
            about["GB/s"] = round(command.nbytes / took, 2)
    if command.kind == "inference":
        about["model"] = command.name
    if command.kind == "launch":
        about |= {"groups": list(command.groups), "group size": list(command.group_size)}
        about["work-items"] = command.work_items
    if command.signal:
        about["signals"] = _shown(command.signal)
    return about
