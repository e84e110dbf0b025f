"""Random command-list programs on several queues and lists leave memory as a model does that runs them in order."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_void_p
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from anyzero import ze
from tests.abi.calls import COPY, OK, SOON, SYNCHRONOUS, Calls, HostFunction, handles, read, waiting, write
from tests.properties.programs import (
    BUFFERS,
    LISTS,
    SIZE,
    AppendLists,
    Barrier,
    Command,
    Copy,
    Execute,
    Fill,
    HostAdd,
    Memory,
    Model,
    Now,
    Record,
    Region,
    Reset,
    Step,
    steps,
)
from tests.thorough import examples


class Machine:
    """Runs the steps on the device. Different places are chained by events, so that the steps keep their order."""

    def __init__(self, az: Calls, scale: int) -> None:
        self.az, self.scale = az, scale
        self.context = az.context()
        self.kept: list[Any] = []
        self.size = SIZE * scale
        kinds = ("host", "device", "shared")
        self.buffers = [az.memory(self.context, self.size, kinds[index % 3]) for index in range(BUFFERS)]
        for address, content in zip(self.buffers, Memory(scale).buffers, strict=True):
            write(address, bytes(content))
        self.lists = [self.list(index % 2) for index in range(LISTS)]
        self.closed = [False] * LISTS
        # Two places per engine: queues 0 and 2 compute, 1 and 3 copy; one of each waits for its work itself.
        modes = [0, 0, SYNCHRONOUS, 2]
        self.queues = [az.queue(self.context, ordinal=i % 2, mode=mode) for i, mode in enumerate(modes)]
        self.immediate = [az.immediate(self.context, ordinal=i % 2, mode=mode) for i, mode in enumerate(modes)]
        self.last: tuple[str, int] | None = None
        self.event: c_void_p | None = None

    def list(self, engine: int) -> c_void_p:
        return self.az.list(self.context, commandQueueGroupOrdinal=COPY if engine else 0)

    def new_event(self) -> c_void_p:
        return self.az.events(self.context, 1)[0]

    def append(self, lst: c_void_p, command: Command, signal: Any = None, waits: tuple[Any, ...] = ()) -> None:
        az, end = self.az, (signal, *waiting(waits))
        match command:
            case Copy(to, to_at, source, source_at, size):
                places = (self.buffers[to] + to_at * self.scale, self.buffers[source] + source_at * self.scale)
                args = (*places, size * self.scale)
                az.ok("zeCommandListAppendMemoryCopy", lst, *args, *end)
            case Fill(to, at, pattern, times):
                data = ctypes.create_string_buffer(pattern, len(pattern))
                args = (self.buffers[to] + at * self.scale, data, len(pattern), len(pattern) * times * self.scale)
                az.ok("zeCommandListAppendMemoryFill", lst, *args, *end)
            case Region():
                width = command.width * self.scale
                shapes = [
                    ze.ze_copy_region_t(originX=x * self.scale, originY=y, width=width, height=command.height, depth=1)
                    for x, y in (command.to_origin, command.source_origin)
                ]
                args = (self.buffers[command.to], byref(shapes[0]), command.to_pitch * self.scale, 0)
                args += (self.buffers[command.source], byref(shapes[1]), command.source_pitch * self.scale, 0)
                az.ok("zeCommandListAppendMemoryCopyRegion", lst, *args, *end)
            case Barrier(event):
                if event:
                    inner = self.new_event()
                    az.ok("zeCommandListAppendSignalEvent", lst, inner)
                    az.ok("zeCommandListAppendBarrier", lst, None, 1, handles([inner]))
                    az.ok("zeCommandListAppendEventReset", lst, inner)
                az.ok("zeCommandListAppendBarrier", lst, *end)
            case HostAdd():
                az.ok("zeCommandListAppendHostFunction", lst, self.host_add(command), None, None, *end)

    def host_add(self, command: HostAdd) -> Any:
        def add(_: int | None) -> None:
            address = self.buffers[command.to]
            write(address, command.added(read(address, self.size)))

        callback = HostFunction(add)
        self.kept.append(callback)
        return callback

    def hop(self, place: tuple[str, int]) -> tuple[tuple[Any, ...], c_void_p | None]:
        """What a submission at `place` waits for and signals."""
        waits = (self.event,) if self.event and self.last != place else ()
        self.last, self.event = place, self.new_event()
        return waits, self.event

    def run(self, step: Step) -> None:
        az = self.az
        match step:
            case Record(lst, command):
                if self.closed[lst]:
                    az.ok("zeCommandListReset", self.lists[lst])
                    self.closed[lst] = False
                self.append(self.lists[lst], command)
            case Reset(lst):
                az.ok("zeCommandListReset", self.lists[lst])
                self.closed[lst] = False
            case Now(lst, command):
                waits, signal = self.hop(("immediate", lst))
                self.append(self.immediate[lst], command, signal, waits)
            case AppendLists(lst, lists):
                chosen = self.close(lists)
                waits, signal = self.hop(("immediate", lst))
                args = (self.immediate[lst], len(chosen), handles(chosen), signal, *waiting(waits))
                az.ok("zeCommandListImmediateAppendCommandListsExp", *args)
            case Execute(queue, lists, fence):
                chosen = self.close(lists)
                waits, signal = self.hop(("queue", queue))
                before, after = self.list(queue % 2), self.list(queue % 2)
                az.barrier(before, None, waits)
                az.barrier(after, signal)
                az.close(before, after)
                made = az.fence(self.queues[queue]) if fence else None
                az.execute(self.queues[queue], before, *chosen, after, fence=made)
                for once in (before, after):
                    az.ok("zeCommandListDestroy", once)
                if made:
                    self.kept.append(made)

    def close(self, lists: tuple[int, ...]) -> list[c_void_p]:
        for lst in lists:
            az_list = self.lists[lst]
            self.az.ok("zeCommandListClose", az_list)
            self.closed[lst] = True
        return [self.lists[lst] for lst in lists]

    def finish(self) -> list[bytes]:
        az = self.az
        for immediate in self.immediate:
            az.ok("zeCommandListHostSynchronize", immediate, SOON)
        for queue in self.queues:
            az.ok("zeCommandQueueSynchronize", queue, SOON)
        for kept in self.kept:
            if isinstance(kept, c_void_p):
                assert az.call("zeFenceQueryStatus", kept) == OK
        result = [read(address, self.size) for address in self.buffers]
        for name, objects in (
            ("zeCommandListDestroy", [*self.immediate, *self.lists]),
            ("zeCommandQueueDestroy", self.queues),
        ):
            for each in objects:
                az.ok(name, each)
        az.ok("zeContextDestroy", self.context)
        return result


def compare(az: Calls, program: list[Step], scale: int) -> None:
    machine, model = Machine(az, scale), Model(Memory(scale))
    for step in program:
        machine.run(step)
        model.run(step)
    found = machine.finish()
    for index, (got, expected) in enumerate(zip(found, model.memory.buffers, strict=True)):
        if got != bytes(expected):
            note(f"buffer {index}: {got.hex()} instead of {expected.hex()}")
        assert got == bytes(expected)


@pytest.mark.parametrize("scale", [1, 300, 2500])
@settings(max_examples=examples(100, 300), deadline=None)
@given(program=st.lists(steps, min_size=3, max_size=40))
def test_programs_agree_with_the_model(az: Calls, scale: int, program: list[Step]) -> None:
    """Small commands run on the caller's thread, middling ones on an engine, large ones are shared out."""
    compare(az, program, scale)
