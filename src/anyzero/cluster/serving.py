"""Inference as a service of a cluster: replicas, batches of concurrent requests, and a bounded queue."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future as Result
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from distributed import CancelledError, Client, KilledWorker, get_client

import anyzero as az
from anyzero.cluster.inventory import devices
from anyzero.cluster.metrics import Window
from anyzero.cluster.replica import ServedModel, infer, served

__all__ = ["Overloaded", "Service", "Statistics", "serve"]

_LOST: Final = (CancelledError, KilledWorker, OSError)
"""The exceptions of Dask for a worker that is gone, and with it the data of a task."""


class Overloaded(az.Unavailable):
    """The queue of a service is full: requests arrive faster than its replicas answer them."""


class Statistics(NamedTuple):
    """Statistics of a service, as its caller sees it."""

    requests: int
    batches: int
    retries: int
    waiting: int
    """Requests in the queue."""
    p50: float
    """Seconds from a request to its result, the median of the last ones."""
    p99: float
    throughput: float
    """Requests per second."""


@dataclass(eq=False)
class _Request:
    inputs: dict[Any, npt.NDArray[Any]]
    rows: int
    arrived: float = field(default_factory=time.monotonic)
    result: Result[Any] = field(default_factory=Result)


class Service:
    """A model with replicas in a cluster; `az.cluster.serve` makes it. Any thread may call it."""

    def __init__(
        self,
        client: Client,
        model: ServedModel,
        workers: list[str],
        *,
        batch: int,
        wait: float,
        queue: int,
        in_flight: int,
        retries: int,
    ) -> None:
        self.model = model
        self.batch, self.wait, self.queue, self.retries = batch, wait, queue, retries
        self._client = client
        self._in_flight = in_flight
        self._held = client.scatter(model, broadcast=True, hash=False)
        self._busy: dict[str, int] = dict.fromkeys(workers, 0)
        self._waiting: deque[_Request] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._running: set[Any] = set()
        self._retried = 0
        self._window = Window()
        self._thread = threading.Thread(target=self._serve, name="anyzero serve", daemon=True)
        self._thread.start()

    # Requests

    def submit(self, inputs: Any, *, timeout: float | None = 0) -> Result[Any]:
        """Ask for an inference; the result is a `concurrent.futures.Future`.

        `inputs` is an array, or a mapping of the names of inputs to arrays. Their first axis is that of the samples. A
        full queue raises `Overloaded`, after `timeout` seconds; None waits as long as it takes.
        """
        given = dict(inputs) if isinstance(inputs, Mapping) else {0: inputs}
        arrays = {name: np.asarray(each) for name, each in given.items()}
        rows = {len(each) if each.ndim else 0 for each in arrays.values()}
        if len(rows) != 1 or 0 in rows:
            raise az.InvalidArgument("inputs have a first axis for samples, of the same length in all of them")
        if max(rows) > self.batch:
            raise az.InvalidArgument(f"{max(rows)} samples are more than a batch of {self.batch}")
        request = _Request(arrays, rows.pop())
        with self._changed:
            room = self._changed.wait_for(lambda: self._closed or len(self._waiting) < self.queue, timeout)
            if self._closed:
                raise az.ClosedError("the service is closed")
            if not room:
                raise Overloaded(
                    f"{len(self._waiting)} requests wait for {self.model.name}, and the queue has no more places",
                    remedy="Ask later or with timeout=, or serve it with more replicas or a longer queue=.",
                )
            self._waiting.append(request)
            self._changed.notify_all()
        return request.result

    def __call__(self, inputs: Any, timeout: float | None = None) -> Any:
        """One inference: wait for a place in the queue, and for the result."""
        return self.submit(inputs, timeout=timeout).result(timeout)

    @property
    def replicas(self) -> list[str]:
        """The addresses of the workers that have one."""
        with self._changed:
            return sorted(self._busy)

    def statistics(self) -> Statistics:
        """The statistics so far; the workers' Prometheus endpoints have the same for each replica."""
        with self._changed:
            window = self._window
            return Statistics(
                requests=window.requests,
                batches=window.batches,
                retries=self._retried,
                waiting=len(self._waiting),
                p50=window.quantile(0.5),
                p99=window.quantile(0.99),
                throughput=window.throughput(),
            )

    # Serving

    def _serve(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or (self._waiting and self._free() is not None))
                if self._closed:
                    return
                # More requests may arrive; a full batch does not wait.
                end = self._waiting[0].arrived + self.wait
                self._changed.wait_for(lambda: self._closed or self._complete(), max(end - time.monotonic(), 0))
                worker = self._free()
                if self._closed or worker is None or not self._waiting:
                    continue
                requests = self._taken()
                self._busy[worker] += 1
                self._changed.notify_all()
            self._send(worker, requests, self.retries)

    def _free(self) -> str | None:
        """The replica with the fewest batches in flight; None while all are busy."""
        worker = min(self._busy, key=self._busy.__getitem__, default=None)
        return worker if worker is not None and self._busy[worker] < self._in_flight else None

    def _complete(self) -> bool:
        return sum(each.rows for each in self._waiting) >= self.batch

    def _taken(self) -> list[_Request]:
        """Requests of one batch, which have the same inputs."""
        first = self._waiting[0]
        kind = _kind(first)
        taken: list[_Request] = []
        rows = 0
        while self._waiting and rows + self._waiting[0].rows <= self.batch and _kind(self._waiting[0]) == kind:
            rows += self._waiting[0].rows
            taken.append(self._waiting.popleft())
        return taken

    def _send(self, worker: str, requests: list[_Request], attempts: int) -> None:
        try:
            names = requests[0].inputs
            inputs = {name: np.concatenate([each.inputs[name] for each in requests]) for name in names}
            now = time.monotonic()
            future = self._client.submit(
                infer,
                self._held,
                inputs,
                [each.rows for each in requests],
                [now - each.arrived for each in requests],
                workers=[worker],
                allow_other_workers=True,
                resources={} if self.model.is_function else {"npu": 1},
                pure=False,
                priority=10,
            )
        except Exception as error:  # the cluster is gone
            self._finish(worker, requests, error)
            return
        with self._changed:
            self._running.add(future)
        future.add_done_callback(lambda done: self._done(done, worker, requests, attempts))

    def _done(self, future: Any, worker: str, requests: list[_Request], attempts: int) -> None:
        """Runs in a thread of Dask's, which must not wait for the cluster."""
        with self._changed:
            self._running.discard(future)
        try:
            found = future.result(timeout=60)
        except _LOST as error:
            if attempts and not self._closed:
                threading.Thread(target=self._again, args=(worker, requests, attempts), daemon=True).start()
            else:
                self._finish(worker, requests, error)
            return
        except BaseException as error:
            self._finish(worker, requests, error)
            return
        now = time.monotonic()
        with self._changed:
            self._window.add([now - each.arrived for each in requests])
        self._finish(worker, requests, None)
        for each, values in zip(requests, found, strict=True):
            if each.result.set_running_or_notify_cancel():
                each.result.set_result(values)

    def _again(self, worker: str, requests: list[_Request], attempts: int) -> None:
        """A replica has died with a batch: the model goes to the remaining workers, and the batch to one of them."""
        try:
            self._client.wait_for_workers(1, timeout=60)
            alive = _replicas(self._client, self.model)
            held = self._client.scatter(self.model, broadcast=True, hash=False)
            with self._changed:
                self._retried += 1
                self._held = held
                self._busy = {each: self._busy.get(each, 0) for each in alive} or self._busy
                target = min(self._busy, key=self._busy.__getitem__)
                self._busy[target] += 1
                if worker in self._busy:
                    self._busy[worker] -= 1
        except Exception as error:
            self._finish(worker, requests, error)
            return
        self._send(target, requests, attempts - 1)

    def _finish(self, worker: str, requests: list[_Request], error: BaseException | None) -> None:
        with self._changed:
            if self._busy.get(worker):
                self._busy[worker] -= 1
            self._changed.notify_all()
        if error is not None:
            for each in requests:
                if each.result.set_running_or_notify_cancel():
                    each.result.set_exception(error)

    def close(self) -> None:
        """Refuse new requests, and cancel those that wait. The cluster stays."""
        with self._changed:
            self._closed = True
            left = [*self._waiting]
            self._waiting.clear()
            self._changed.notify_all()
        for each in left:
            each.result.cancel()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Service of {self.model.name}, {len(self._busy)} replicas>"


def _kind(request: _Request) -> Any:
    return {name: (each.shape[1:], each.dtype.str) for name, each in request.inputs.items()}


def _replicas(client: Client, model: ServedModel) -> list[str]:
    """The workers that can run a model: those with an NPU, or for a function all with a device."""
    return [each.worker for each in devices(client) if model.is_function or each.backend == "npu"]


def serve(
    model: Any,
    *,
    batch: int = 8,
    wait: float = 0.002,
    queue: int = 1024,
    in_flight: int = 2,
    retries: int = 3,
    config: Mapping[str, Any] | None = None,
    client: Client | None = None,
) -> Service:
    """Serve a model from all NPUs of a cluster.

    `model` is a file (IR, ONNX, …) or an ``openvino.Model``, with a replica on each worker whose device is an NPU; or a
    function of an array with a replica on every worker. Requests that arrive within `wait` seconds run together, in
    batches of up to `batch` samples, for which the model is compiled. A replica has at most `in_flight` batches; up to
    `queue` requests wait, and then callers do, or get `Overloaded`. If a replica dies, its batches run elsewhere, up to
    `retries` times.

    >>> from distributed import Client
    >>> with Client(processes=False, n_workers=1, dashboard_address="127.0.0.1:0"):
    ...     with az.cluster.serve(lambda x: x * 2, batch=4) as double:
    ...         double(np.ones((1, 3)))
    array([[2., 2., 2.]])
    """
    if batch < 1 or queue < 1 or in_flight < 1:
        raise az.InvalidArgument("batch, queue and in_flight are at least 1")
    caller = client or get_client()
    sent, size = served(model, batch=batch, config=dict(config or {}))
    workers = _replicas(caller, sent)
    if not workers:
        raise az.DeviceNotFound(
            f"no worker has an NPU for {sent.name}",
            remedy="Start one: LocalZeroCluster(devices=['npu']), or anyzero worker SCHEDULER --device npu.",
        )
    return Service(caller, sent, workers, batch=size, wait=wait, queue=queue, in_flight=in_flight, retries=retries)
