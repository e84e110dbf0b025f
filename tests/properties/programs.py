"""Random programs of commands, and a model of memory that runs them one after another."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

BUFFERS = 4
SIZE = 160
LISTS = 4
"""Recorded lists; the odd ones are for the copy engine."""


class Memory:
    """The buffers as plain bytes; every size and place in a program is in units of `scale` bytes."""

    def __init__(self, scale: int) -> None:
        self.scale = scale
        whole = bytes(range(256)) * (SIZE * scale // 256 + 2)
        self.buffers = [bytearray(whole[7 * buffer : 7 * buffer + SIZE * scale]) for buffer in range(BUFFERS)]


@dataclass(frozen=True)
class Copy:
    to: int
    to_at: int
    source: int
    source_at: int
    size: int

    def run(self, memory: Memory) -> None:
        to, source, size = self.to_at * memory.scale, self.source_at * memory.scale, self.size * memory.scale
        memory.buffers[self.to][to : to + size] = bytes(memory.buffers[self.source][source : source + size])


@dataclass(frozen=True)
class Fill:
    to: int
    at: int
    pattern: bytes
    times: int

    def run(self, memory: Memory) -> None:
        data = self.pattern * (self.times * memory.scale)
        memory.buffers[self.to][self.at * memory.scale : self.at * memory.scale + len(data)] = data


@dataclass(frozen=True)
class Region:
    to: int
    to_origin: tuple[int, int]
    to_pitch: int
    source: int
    source_origin: tuple[int, int]
    source_pitch: int
    width: int
    height: int

    def run(self, memory: Memory) -> None:
        width = self.width * memory.scale
        for row in range(self.height):
            a = (self.source_origin[0] + (self.source_origin[1] + row) * self.source_pitch) * memory.scale
            b = (self.to_origin[0] + (self.to_origin[1] + row) * self.to_pitch) * memory.scale
            memory.buffers[self.to][b : b + width] = memory.buffers[self.source][a : a + width]


@dataclass(frozen=True)
class Barrier:
    """Waits for nothing, or for an event that the command before it signals and the one after it resets."""

    event: bool

    def run(self, memory: Memory) -> None:
        pass


@dataclass(frozen=True)
class HostAdd:
    """A host function that adds to every byte of a buffer."""

    to: int
    amount: int

    def run(self, memory: Memory) -> None:
        memory.buffers[self.to][:] = self.added(bytes(memory.buffers[self.to]))

    def added(self, data: bytes) -> bytes:
        return data.translate(bytes((value + self.amount) % 256 for value in range(256)))


Command = Copy | Fill | Region | Barrier | HostAdd


@dataclass(frozen=True)
class Record:
    """Append to a list; a list that was closed is reset first."""

    lst: int
    command: Command


@dataclass(frozen=True)
class Execute:
    """Close and run lists on a queue; every list of one submission belongs to the queue's engine."""

    queue: int
    lists: tuple[int, ...]
    fence: bool


@dataclass(frozen=True)
class Now:
    """One command on an immediate list."""

    lst: int
    command: Command


@dataclass(frozen=True)
class AppendLists:
    lst: int
    lists: tuple[int, ...]


@dataclass(frozen=True)
class Reset:
    lst: int


Step = Record | Execute | Now | AppendLists | Reset


@dataclass
class Model:
    """What memory looks like when all steps have run in the order they were given."""

    memory: Memory
    recorded: list[list[Command]] = field(default_factory=lambda: [[] for _ in range(LISTS)])
    closed: list[bool] = field(default_factory=lambda: [False] * LISTS)

    def run(self, step: Step) -> None:
        match step:
            case Record(lst, command):
                if self.closed[lst]:
                    self.recorded[lst], self.closed[lst] = [], False
                self.recorded[lst].append(command)
            case Execute(_, lists, _) | AppendLists(_, lists):
                for lst in lists:
                    self.closed[lst] = True
                    for command in self.recorded[lst]:
                        command.run(self.memory)
            case Now(_, command):
                command.run(self.memory)
            case Reset(lst):
                self.recorded[lst], self.closed[lst] = [], False


buffers = st.integers(0, BUFFERS - 1)


@st.composite
def copies(draw: st.DrawFn) -> Copy:
    size = draw(st.integers(0, SIZE))
    offsets = st.integers(0, SIZE - size)
    return Copy(draw(buffers), draw(offsets), draw(buffers), draw(offsets), size)


@st.composite
def fills(draw: st.DrawFn) -> Fill:
    pattern = draw(st.sampled_from([1, 2, 4, 8, 16]).flatmap(lambda size: st.binary(min_size=size, max_size=size)))
    times = draw(st.integers(0, SIZE // len(pattern)))
    return Fill(draw(buffers), draw(st.integers(0, SIZE - times * len(pattern))), pattern, times)


@st.composite
def regions(draw: st.DrawFn) -> Region:
    to = draw(buffers)
    source = draw(buffers.filter(lambda buffer: buffer != to))
    width, height = draw(st.integers(1, 12)), draw(st.integers(1, 8))

    def place() -> tuple[tuple[int, int], int]:
        pitch = draw(st.integers(width, 18))
        row = draw(st.integers(0, max(0, SIZE // pitch - height - 1)))
        return (draw(st.integers(0, pitch - width)), row), pitch

    (to_origin, to_pitch), (origin, pitch) = place(), place()
    return Region(to, to_origin, to_pitch, source, origin, pitch, width, height)


commands = st.one_of(
    copies(),
    fills(),
    regions(),
    st.builds(Barrier, st.booleans()),
    st.builds(HostAdd, buffers, st.integers(1, 255)),
)


@st.composite
def submissions(draw: st.DrawFn) -> Execute | AppendLists:
    engine = draw(st.integers(0, 1))
    lists = tuple(
        2 * index + engine for index in draw(st.lists(st.integers(0, LISTS // 2 - 1), min_size=1, max_size=3))
    )
    place = 2 * draw(st.integers(0, 1)) + engine
    if draw(st.booleans()):
        return Execute(place, lists, draw(st.booleans()))
    return AppendLists(place, lists)


steps: st.SearchStrategy[Step] = st.one_of(
    st.builds(Record, st.integers(0, LISTS - 1), commands),
    st.builds(Record, st.integers(0, LISTS - 1), commands),
    submissions(),
    st.builds(Now, st.integers(0, 3), commands),
    st.builds(Reset, st.integers(0, LISTS - 1)),
)
