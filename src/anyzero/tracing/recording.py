"""A recording as the engine wrote it: calls, commands, layers and compilations, with their times.

`spec/layouts.toml` describes the file. It is read while or after its process wrote it, and may be damaged: a file that
is no recording is refused, and records that make no sense are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from anyzero import mapped_files
from anyzero.layouts.planner import ReplyOrigin
from anyzero.layouts.trace import (
    TRACE_HEAD_BYTES,
    TRACE_HEAD_ROOM,
    TRACE_MAGIC,
    TRACE_POSITION_BITS,
    TRACE_QUEUE_BYTES,
    TRACE_RECORD_BYTES,
    TRACE_THREAD_BYTES,
    TraceCommand,
    TraceGraphValue,
    TraceHead,
    TraceHolds,
    TraceKind,
    TraceLayerValue,
    TraceLineValue,
    TraceQueue,
    TraceRecord,
    TraceRequestValue,
    TraceThread,
)
from anyzero.mapped_files import FileBytes

__all__ = [
    "Call",
    "Command",
    "GraphStep",
    "Layer",
    "Recording",
    "Request",
    "read",
    "read_folder",
]

_ORIGINS: dict[int, str] = {
    ReplyOrigin.MADE: "compiled",
    ReplyOrigin.MADE_QUICKLY: "first stage",
    ReplyOrigin.DISK: "disk cache",
    ReplyOrigin.MEMORY: "memory",
}


_KINDS: dict[int, str] = {each: each.name.lower().replace("_", " ") for each in TraceCommand}


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the API by the program. Times are in nanoseconds since the recording began."""

    name: str
    start: int
    end: int
    thread: int
    result: int
    arguments: dict[str, int]
    queue: int
    """The queue or immediate list that received a command by it; 0 for none."""
    position: int
    """Index of the command in the queue, from 1 on."""
    file: str = ""
    """Source file of the call in a Python program; else empty."""
    line: int = 0
    function: str = ""


@dataclass(frozen=True, slots=True)
class Command:
    """A command that a queue or an immediate list ran."""

    kind: str
    name: str
    """The kernel of a launch, the model of an inference; else the kind."""
    start: int
    end: int
    thread: int
    queue: int
    position: int
    nbytes: int
    groups: tuple[int, int, int]
    group_size: tuple[int, int, int]
    waited_since: int | None
    """Start of the wait, if an event delayed the command."""
    waited_for: int
    signal: int
    """The handle of the event or fence that it signalled."""
    engine: tuple[int, int]
    """The ordinal of the queue group and the index in it."""
    device: int

    @property
    def work_items(self) -> int:
        """The work-items of a launch; 0 for other commands."""
        groups, size = self.groups, self.group_size
        return groups[0] * groups[1] * groups[2] * size[0] * size[1] * size[2]


@dataclass(frozen=True, slots=True)
class Request:
    """A request to the planner: a module is built, a kernel compiled, a graph prepared."""

    name: str
    start: int
    end: int
    thread: int
    asked: int
    answered: int
    origin: str = ""
    """The origin of the answer: "compiled", "first stage", "disk cache", "memory"; empty if it is not about code."""
    kernel: str = ""
    """The kernel that was compiled."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer of an inference.

    OpenVINO measures how long layers take, not when they begin: each is placed behind the one before it.
    """

    name: str
    type: str
    implementation: str
    """The code that OpenVINO chose for it."""
    start: int
    end: int
    thread: int
    queue: int
    position: int
    """Index of the inference in its queue, from 1 on."""
    model: str


@dataclass(frozen=True, slots=True)
class GraphStep:
    """A step in creating a graph: a cache lookup, a compilation, the import of a compiled model."""

    name: str
    model: str
    """Empty where the step had no model yet: a lookup that found nothing."""
    start: int
    end: int
    thread: int
    nbytes: int
    """Bytes that the step read or wrote."""


@dataclass(slots=True)
class Recording:
    """The recording of one process."""

    process: int
    wall_clock: int
    """Nanoseconds since 1970 when it began."""
    threads: dict[int, str] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    layers: list[Layer] = field(default_factory=list)
    """Layers of inferences; only graphs with profiling have them."""
    graph_steps: list[GraphStep] = field(default_factory=list)
    lost: int = 0
    """Records that newer ones have replaced."""
    dropped: int = 0
    """Records that the file system had no room for, at least so many."""

    @property
    def end(self) -> int:
        """End of the last call, command, request or step."""
        everything: list[Call | Command | Request | GraphStep] = [
            *self.calls,
            *self.commands,
            *self.requests,
            *self.graph_steps,
        ]
        return max((each.end for each in everything), default=0)


def read(path: Path) -> Recording:
    """Read the file of a recording; raise :class:`anyzero.mapped_files.DamagedFileError` where it is none."""
    return mapped_files.read(path, "recording", _read)


def _read(data: FileBytes) -> Recording:
    head = TraceHead.unpack(data[:TRACE_HEAD_BYTES])
    if head.magic != TRACE_MAGIC:
        raise ValueError("it begins with other bytes")
    queues_at = TRACE_HEAD_ROOM + head.thread_capacity * TRACE_THREAD_BYTES
    texts_at = queues_at + head.queue_capacity * TRACE_QUEUE_BYTES
    rings_at = texts_at + head.text_bytes
    if rings_at + head.thread_capacity * head.record_capacity * TRACE_RECORD_BYTES > len(data):
        raise ValueError("it was cut off")
    texts = data[texts_at : texts_at + min(head.texts, head.text_bytes)]
    reader = _Reader(head, data[queues_at:texts_at], texts)
    made = Recording(head.process, head.wall_clock)
    for index in range(min(head.threads, head.thread_capacity)):
        at = TRACE_HEAD_ROOM + index * TRACE_THREAD_BYTES
        thread = TraceThread.unpack(data[at : at + TRACE_THREAD_BYTES])
        name = thread.name.split(b"\0")[0].decode(errors="replace")
        made.threads[thread.id] = name
        made.lost += max(thread.records - head.record_capacity, 0)
        made.dropped += thread.dropped
        ring = rings_at + index * head.record_capacity * TRACE_RECORD_BYTES
        used = min(thread.records, head.record_capacity) * TRACE_RECORD_BYTES
        records = data[ring : ring + used]
        # The oldest records first: a source line applies to the calls behind it.
        replaced = thread.records > head.record_capacity
        first = thread.records % head.record_capacity * TRACE_RECORD_BYTES if replaced else 0
        for place in (*range(first, used, TRACE_RECORD_BYTES), *range(0, first, TRACE_RECORD_BYTES)):
            reader.add(made, thread.id, TraceRecord.unpack(records, place))
        reader.end_thread()
    for listed in (made.calls, made.commands, made.requests, made.layers, made.graph_steps):
        listed.sort(key=lambda each: (each.start, -each.end))
    return made


class _Reader:
    """Converts records to objects with names."""

    def __init__(self, head: TraceHead, queues: bytes, texts: bytes) -> None:
        self._texts = texts
        self._queues = queues
        self._first = head.first_tick
        passed = head.last_tick - head.first_tick
        self._rate = head.nanoseconds / passed if passed > 0 else 1.0
        self._names: dict[int, str] = {}
        self._functions = [self._signature(text) for text in texts.split(b"\0")[: head.functions]]
        self._pending: list[TraceRecord] = []
        """Layers that were recorded before their inference."""
        self._wait: TraceRecord | None = None
        """Wait before the thread's next command."""
        self._more: tuple[int, ...] = ()
        """Further values of the thread's next call."""
        self._line = ("", 0, "")
        """Source line of the thread's next calls."""

    @staticmethod
    def _signature(text: bytes) -> tuple[str, list[str]]:
        name, _, listed = text.decode(errors="replace").rstrip(")").partition("(")
        return name, listed.split(", ") if listed else []

    def _text(self, at: int) -> str:
        if (known := self._names.get(at)) is None:
            known = self._texts[at : max(self._texts.find(b"\0", at), 0)].decode(errors="replace") or "?"
            self._names[at] = known
        return known

    def _time(self, tick: int) -> int:
        return round((tick - self._first) * self._rate)

    def add(self, to: Recording, thread: int, record: TraceRecord) -> None:
        if record.kind == TraceKind.MORE:
            self._more = (record.start, record.end, record.command, *record.values)
            return
        start, end = self._time(record.start), self._time(record.end)
        if not 0 <= start <= end:
            return  # written while it was read, or damaged
        if record.kind == TraceKind.CALL and record.which < len(self._functions):
            name, parameters = self._functions[record.which]
            values, self._more = (*record.values, *self._more), ()
            arguments = {parameter: next(given, 0) for given in (iter(values),) for parameter in parameters}
            result = record.values[-1] if record.holds == TraceHolds.RESULT else record.what
            queue, position = _place(record)
            to.calls.append(Call(name, start, end, thread, result, arguments, queue, position, *self._line))
        elif record.kind == TraceKind.EXTENSION:
            name = f"ze{self._text(record.what)}"
            queue, position = _place(record)
            to.calls.append(Call(name, start, end, thread, record.values[0], {}, queue, position, *self._line))
        elif record.kind == TraceKind.LINE:
            number = record.values[TraceLineValue.LINE]
            function = self._text(record.values[TraceLineValue.FUNCTION]) if number else ""
            self._line = (self._text(record.what), number, function) if number else ("", 0, "")
        elif record.kind == TraceKind.COMMAND:
            command = self._command(thread, record, start, end)
            to.commands.append(command)
            to.layers.extend(self._layers(command))
        elif record.kind == TraceKind.WAIT:
            self._wait = record
        elif record.kind == TraceKind.LAYER:
            self._pending.append(record)
        elif record.kind == TraceKind.GRAPH:
            model, nbytes = record.values[TraceGraphValue.MODEL], record.values[TraceGraphValue.BYTES]
            step = self._text(record.what)
            to.graph_steps.append(
                GraphStep(step, self._text(model - 1) if model else "", start, end, thread, nbytes),
            )
        elif record.kind == TraceKind.PLANNING:
            to.requests.append(self._request(record, start, end, thread))

    def _request(self, record: TraceRecord, start: int, end: int, thread: int) -> Request:
        values = record.values
        subject = values[TraceRequestValue.SUBJECT]
        return Request(
            self._text(record.what),
            start,
            end,
            thread,
            values[TraceRequestValue.ASKED],
            values[TraceRequestValue.ANSWERED],
            _ORIGINS.get(values[TraceRequestValue.ORIGIN], ""),
            self._text(subject - 1) if subject else "",
        )

    def end_thread(self) -> None:
        """Drop what belongs to a record that did not come, and the source line."""
        self._pending, self._wait, self._more, self._line = [], None, (), ("", 0, "")

    def _layers(self, command: Command) -> Iterator[Layer]:
        """The layers that the thread recorded inside of the command."""
        found, self._pending = self._pending, []
        found = [
            each for each in found if command.start <= self._time(each.start) <= self._time(each.end) <= command.end
        ]
        total = sum(each.values[TraceLayerValue.DURATION] for each in found)
        if command.kind != "inference" or not total:
            return
        # Times of a request that ran before are means over its runs, so the sum may be longer than this run.
        begin = self._time(found[0].start)
        scale = min(1.0, (self._time(found[0].end) - begin) / total)
        for each in found:
            offset, took = each.values[TraceLayerValue.OFFSET], each.values[TraceLayerValue.DURATION]
            yield Layer(
                name=self._text(each.what),
                type=self._text(each.values[TraceLayerValue.TYPE]),
                implementation=self._text(each.values[TraceLayerValue.IMPLEMENTATION]),
                start=min(begin + int(offset * scale), command.end),
                end=min(begin + int((offset + took) * scale), command.end),
                thread=command.thread,
                queue=command.queue,
                position=command.position,
                model=command.name,
            )

    def _command(self, thread: int, record: TraceRecord, start: int, end: int) -> Command:
        low = 0xFFFFFFFF
        queue, position = _place(record)
        kind = _KINDS.get(record.which, "?")
        groups = size = (0, 0, 0)
        if record.holds == TraceHolds.GROUPS:
            (x, y), (z, width), (height, depth) = ((each & low, each >> 32) for each in record.values[:3])
            groups, size = (x, y, z), (width, height, depth)
        wait, self._wait = self._wait, None
        engine, device = self._engine(queue)
        return Command(
            kind=kind,
            name=self._text(record.what - 1) if record.what else kind,
            start=start,
            end=end,
            thread=thread,
            queue=queue,
            position=position,
            nbytes=record.values[0] if record.holds == TraceHolds.BYTES else 0,
            groups=groups,
            group_size=size,
            waited_since=max(self._time(wait.start), 0) if wait else None,
            waited_for=wait.values[0] if wait else 0,
            signal=record.values[-1],
            engine=engine,
            device=device,
        )

    def _engine(self, number: int) -> tuple[tuple[int, int], int]:
        """Ordinal and index of a queue's engine, and its device; zeros where another queue has taken its place."""
        rows = len(self._queues) // TRACE_QUEUE_BYTES
        queue = TraceQueue.unpack(self._queues, number % rows * TRACE_QUEUE_BYTES) if rows else None
        if queue is None or queue.number != number:
            return (0, 0), 0
        return (queue.engine & 0xFFFFFFFF, queue.engine >> 32), queue.device


def _place(record: TraceRecord) -> tuple[int, int]:
    """The queue of a record's command, and the position in it."""
    return record.command >> TRACE_POSITION_BITS, record.command & ((1 << TRACE_POSITION_BITS) - 1)


def read_folder(folder: Path, damaged: Callable[[str], None]) -> list[Recording]:
    """The recordings in a folder, one for each process that used the driver, in the order in which they began."""
    found = mapped_files.read_all(folder.glob("*.aztrace"), read, damaged)
    return sorted(found, key=lambda each: each.wall_clock)
