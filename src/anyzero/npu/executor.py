"""The shared state of a compiled model's requests: the graph, and the queues of one device."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock, Thread, get_ident
from typing import TYPE_CHECKING, Any, Final, Literal

import anyzero as az
from anyzero.npu.settings import Settings

if TYPE_CHECKING:
    from anyzero.npu.network_description import NetworkDescription

__all__ = ["Executor", "Queues", "Watcher"]

_PRIORITIES: Final[dict[str, Literal["low", "normal", "high"]]] = {"LOW": "low", "MEDIUM": "normal", "HIGH": "high"}


class Queues:
    """The queues of a model. Uploads and readbacks have separate ones, which avoids a deadlock between them."""

    def __init__(self, context: az.Context, settings: Settings, *, discrete: bool) -> None:
        priority = _PRIORITIES[settings.model_priority]
        self.compute = context.queue(kind="compute", priority=priority, sequential=settings.run_inferences_sequentially)
        if settings.workload_type == "EFFICIENT":
            self.compute.set_background()
        self.copies = _copy_group(context.device)
        self.upload = self.readback = self.compute
        if discrete:
            self.upload = context.queue(kind=self.copies, priority=priority)
            self.readback = context.queue(kind=self.copies, priority=priority)


class Executor:
    """The state shared by all requests of a compiled model. Any thread may use it."""

    def __init__(
        self,
        context: az.Context,
        graph: az.Graph,
        description: NetworkDescription,
        settings: Settings,
        *,
        from_cache: bool = False,
    ) -> None:
        self.context = context
        self.graph = graph
        self.description = description
        self.settings = settings
        self.from_cache = from_cache
        kind = settings.npu_pipeline
        self.discrete = kind == "DISCRETE" or (kind == "AUTO" and not context.device.integrated)
        self.watcher = Watcher()
        self._turn = Lock()
        self._queues: Queues | None = None

    @property
    def queues(self) -> Queues:
        """The queues, created on demand."""
        with self._turn:
            if self._queues is None:
                self._queues = Queues(self.context, self.settings, discrete=self.discrete)
            return self._queues

    def renew(self, lost: Queues) -> None:
        """Replace queues that were lost by a fault."""
        with self._turn:
            if self._queues is lost:
                self._queues = None


class Watcher:
    """A thread that waits for inferences with a callback, in submission order, and runs the callbacks.

    It waits inside the driver, without the GIL. It starts with the first callback and ends with the process, or when
    the watcher is released.
    """

    def __init__(self) -> None:
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: Thread | None = None
        self._process = os.getpid()
        self._turn = Lock()

    def put(self, job: Callable[[], None]) -> None:
        """Enqueue `job`, which waits for its inference itself."""
        if self._process != os.getpid():
            # A forked child has the object, but not the thread.
            self._begin_anew()
        self._jobs.put(job)
        with self._turn:
            if self._thread is None:
                # Process exit does not wait for it.
                self._thread = Thread(target=_serve, args=(self._jobs,), name="anyzero npu", daemon=True)
                self._thread.start()

    @property
    def here(self) -> bool:
        """True on the watcher's own thread."""
        return self._thread is not None and self._thread.ident == get_ident()

    def __del__(self) -> None:
        # At interpreter exit, globals may already be gone.
        with suppress(Exception):
            self._jobs.put(None)


def _serve(jobs: SimpleQueue[Any]) -> None:
    while (job := jobs.get()) is not None:
        job()
        # Do not keep the last request alive until the next one.
        del job


def _copy_group(device: az.Device) -> az.QueueGroup:
    """The copy-only queue group if there is one, else any that copies."""
    for group in device.queue_groups:
        if group.kind == "copy":
            return group
    return device.queue_group("compute")
