"""Execution of inferences: command lists that are recorded once and submitted for every inference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import anyzero as az

if TYPE_CHECKING:
    from anyzero.npu.executor import Executor
    from anyzero.npu.tensor import Tensor

__all__ = ["Binding", "DiscretePipeline", "IntegratedPipeline", "Pipeline", "bind", "make_pipeline"]


class Binding:
    """The memory of one argument, for all items of a batch, and an optional array that is copied to or from it."""

    __slots__ = ("argument", "buffer", "staged")

    def __init__(self, argument: az.GraphArgument, buffer: az.Buffer, staged: npt.NDArray[Any] | None = None) -> None:
        self.argument = argument
        self.buffer = buffer
        self.staged = None if staged is None else staged.reshape(-1).view(np.uint8)

    def item(self, number: int) -> az.Buffer:
        """The slice of the buffer for an item."""
        size = self.argument.nbytes
        return self.buffer[number * size : (number + 1) * size]

    def staged_item(self, number: int, count: int) -> npt.NDArray[np.uint8]:
        """The slice of the array for an item of `count`."""
        assert self.staged is not None
        size = self.staged.nbytes // count
        return self.staged[number * size : (number + 1) * size]


class Pipeline:
    """Command lists of one request. `push` submits all items of a batch and `pull` waits for them, natively."""

    by_events = False

    def __init__(self, executor: Executor, bindings: Iterable[Binding]) -> None:
        self.executor = executor
        self.queues = executor.queues
        self.bindings = {each.argument.index: each for each in bindings}
        self.batch = executor.description.batch
        self.profiler = executor.graph.profiler(self.batch) if executor.settings.perf_count else None
        self.fences = [] if self.by_events else [self.last_queue.fence() for _ in range(self.batch)]
        self.begun = False
        self.record()

    @property
    def last_queue(self) -> az.CommandQueue:
        """The queue of an inference's last commands."""
        raise NotImplementedError

    def record(self) -> None:
        """Record all lists for the current bindings."""
        raise NotImplementedError

    def submit(self, item: int) -> None:
        """Submit the lists of an item."""
        raise NotImplementedError

    def rebind(self, changes: Mapping[int, Binding]) -> None:
        """Use other memory for some arguments; no inference may be in flight."""
        self.bindings.update(changes)
        self.record()

    def push(self) -> None:
        """Start an inference."""
        for item in range(self.batch):
            self.submit(item)
        self.begun = True

    def pull(self, timeout: float | None = None) -> None:
        """Wait for the inference; raise TimeoutError after `timeout` seconds."""
        for fence in self.fences:
            fence.wait(timeout)

    @property
    def done(self) -> bool:
        """True if the inference is done."""
        return all(fence.done for fence in self.fences)

    def layers(self) -> list[az.LayerTime]:
        """Layer times of the batch's first item."""
        return [] if self.profiler is None else self.profiler[0].layers

    def _profile(self, item: int) -> az.GraphProfile | None:
        return None if self.profiler is None else self.profiler[item]


class IntegratedPipeline(Pipeline):
    """For a device on host memory: one list per item, which runs the graph on the tensors in place.

    The list copies arrays that the device cannot access, before and after.
    """

    def __init__(self, executor: Executor, bindings: Iterable[Binding]) -> None:
        self.lists: list[az.CommandList] = []
        self.commands: list[az.GraphCommand] = []
        self.by_events = executor.settings.npu_sync == "EVENT"
        self.events: list[az.Event] = []
        super().__init__(executor, bindings)

    @property
    def last_queue(self) -> az.CommandQueue:
        """Implements `Pipeline`."""
        return self.queues.compute

    def record(self) -> None:
        """Implements `Pipeline`."""
        context = self.executor.context
        if not self.lists:
            self.lists = [context.command_list(mutable=True) for _ in range(self.batch)]
            self.events = context.events(self.batch) if self.by_events else []
        self.commands = []
        staged = [each for each in self.bindings.values() if each.staged is not None]
        for item, lst in enumerate(self.lists):
            if not lst.recording:
                lst.reset()
            for each in staged:
                if each.argument.direction == "input":
                    array = each.staged_item(item, self.batch)
                    lst.copy(each.item(item)[: array.nbytes], array)
            memory = {index: each.item(item) for index, each in self.bindings.items()}
            command = lst.execute_mutable(self.executor.graph, memory, profile=self._profile(item))
            self.commands.append(command)
            for each in staged:
                if each.argument.direction == "output":
                    array = each.staged_item(item, self.batch)
                    lst.copy(array, each.item(item)[: array.nbytes])
            if self.by_events:
                lst.signal(self.events[item])
            lst.end()

    def rebind(self, changes: Mapping[int, Binding]) -> None:
        """Update the lists if only addresses change; record them again if copies are added or removed."""
        old = [self.bindings[index] for index in changes]
        if any(each.staged is not None for each in (*old, *changes.values())):
            super().rebind(changes)
            return
        self.bindings.update(changes)
        for item, command in enumerate(self.commands):
            for index, each in changes.items():
                command.set(index, each.item(item))

    def submit(self, item: int) -> None:
        """Implements `Pipeline`."""
        if self.by_events:
            self.events[item].reset()
            self.queues.compute.submit(self.lists[item])
            return
        fence = self.fences[item]
        if self.begun:
            fence.reset()
        self.queues.compute.submit(self.lists[item], fence=fence)

    def pull(self, timeout: float | None = None) -> None:
        """Implements `Pipeline`."""
        for each in self.events or self.fences:
            each.wait(timeout)

    @property
    def done(self) -> bool:
        """Implements `Pipeline`."""
        return all(each.done for each in self.events or self.fences)


class DiscretePipeline(Pipeline):
    """For a device with its own memory: upload, execute and readback, each a list on a queue, chained by events.

    Uploads and readbacks have separate queues. On one in-order queue, the upload of a request would wait behind the
    readback of another, which waits for a graph that may need this upload.
    """

    def __init__(self, executor: Executor, bindings: Iterable[Binding]) -> None:
        self.stages: list[tuple[az.CommandList, az.CommandList, az.CommandList]] = []
        self.local: list[dict[int, az.Buffer]] = []
        self.events: list[tuple[az.Event, az.Event]] = []
        super().__init__(executor, bindings)

    @property
    def last_queue(self) -> az.CommandQueue:
        """Implements `Pipeline`."""
        return self.queues.readback

    def record(self) -> None:
        """Implements `Pipeline`."""
        if not self.stages:
            self._allocate()
        for item, (upload, execute, readback) in enumerate(self.stages):
            uploaded, executed = self.events[item]
            for lst in (upload, execute, readback):
                if not lst.recording:
                    lst.reset()
            for index, local in self.local[item].items():
                each = self.bindings[index]
                given: Any = each.item(item) if each.staged is None else each.staged_item(item, self.batch)
                if each.argument.direction == "input":
                    upload.copy(local[: given.nbytes], given)
                else:
                    readback.copy(given, local[: given.nbytes], wait=executed)
            upload.signal(uploaded)
            memory = {index: each.item(item) for index, each in self.bindings.items()} | self.local[item]
            profile = self._profile(item)
            execute.execute(self.executor.graph, memory, profile=profile, wait=uploaded, signal=executed)
            readback.wait(executed)
            readback.reset_event(uploaded)
            readback.reset_event(executed)
            for lst in (upload, execute, readback):
                lst.end()

    def _allocate(self) -> None:
        context = self.executor.context
        copies = self.queues.copies
        for _ in range(self.batch):
            self.stages.append(
                (
                    context.command_list(kind=copies),
                    context.command_list(kind="compute"),
                    context.command_list(kind=copies),
                )
            )
            # States stay in memory that the program can access.
            local = {
                index: context.buffer(each.argument.nbytes, np.uint8, alignment=4096)
                for index, each in self.bindings.items()
                if each.argument.role != "state"
            }
            self.local.append(local)
            uploaded, executed = context.events(2)
            self.events.append((uploaded, executed))

    def submit(self, item: int) -> None:
        """Implements `Pipeline`."""
        upload, execute, readback = self.stages[item]
        fence = self.fences[item]
        if self.begun:
            fence.reset()
        self.queues.upload.submit(upload)
        self.queues.compute.submit(execute)
        self.queues.readback.submit(readback, fence=fence)


def make_pipeline(executor: Executor, bindings: Iterable[Binding]) -> Pipeline:
    """The pipeline for the device, or the requested one."""
    return (DiscretePipeline if executor.discrete else IntegratedPipeline)(executor, bindings)


def bind(argument: az.GraphArgument, own: Tensor, given: Tensor | None, executor: Executor) -> Binding:
    """The memory of an argument: the program's tensor if given, else the request's own."""
    memory = own.buffer
    assert memory is not None
    if given is None:
        return Binding(argument, memory)
    direct = given.buffer
    needed = argument.nbytes * executor.description.batch
    if direct is not None and direct.context is executor.context and direct.nbytes >= needed:
        return Binding(argument, direct)
    return Binding(argument, memory, given.data)
