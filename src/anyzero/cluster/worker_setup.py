"""Start of a worker: pin it to its processors, load the package, and announce it to its neighbours."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from distributed import WorkerPlugin

import anyzero as az
from anyzero.cluster import neighbours
from anyzero.cluster.process_context import context
from anyzero.cluster.registration import register

__all__ = ["WorkerSetup"]


class WorkerSetup(WorkerPlugin):
    """The plugin of every worker that this package starts; `Client.register_plugin` adds it to others.

    >>> WorkerSetup().name
    'anyzero'
    """

    name = "anyzero"

    def __init__(self, processors: Sequence[int] = ()) -> None:
        self.processors = tuple(processors)
        self._page: az.Buffer | None = None
        self._worker: Any = None
        self._closing: asyncio.Task[Any] | None = None

    def setup(self, worker: Any) -> None:
        """Called by Dask in the worker."""
        if self.processors:
            _keep_to(self.processors)
        register()
        import_module("anyzero.cluster.arrays")  # registers buffers with Dask's array functions
        context()
        self._worker = worker
        with contextlib.suppress(ValueError):  # a worker that does not listen has no address, and nothing to tell
            self._page = neighbours.announce(worker.address)
        plain = worker.handlers["get_data"]

        async def get_data(comm: Any, keys: Any, who: str | None = None, serializers: Any = None) -> Any:
            # The memory that handles stand for lives until the receiver has answered, which ends this call.
            with neighbours.deliver_to(who):
                return await plain(comm, keys=keys, who=who, serializers=serializers)

        worker.handlers["get_data"] = get_data

    def teardown(self, worker: Any) -> None:
        """Called by Dask when the worker ends."""
        with contextlib.suppress(ValueError):
            neighbours.withdraw(worker.address)
        self._page = None

    def transition(self, key: Any, start: str, finish: str, **more: Any) -> None:
        """Restarts a worker whose device is lost; Dask computes its values again."""
        if finish == "error" and self._closing is None and az.device().status == "lost":
            self._closing = asyncio.get_running_loop().create_task(self._worker.close_gracefully(restart=True))


def _keep_to(processors: Sequence[int]) -> None:
    """Pin all threads of this process: a worker has several before it loads a plugin."""
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # a thread that has ended
            os.sched_setaffinity(int(task.name), processors)
