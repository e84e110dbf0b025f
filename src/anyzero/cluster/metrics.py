"""Statistics of the models served in this worker, on the Prometheus endpoint that Dask serves."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

__all__ = ["Window", "of_model"]

_LATENCIES: Final = 2048
_SECONDS: Final = 60.0
_windows: dict[str, Window] = {}
_lock: Final = threading.Lock()


@dataclass
class Window:
    """The last latencies of a model, and its totals."""

    requests: int = 0
    batches: int = 0
    errors: int = 0
    latencies: deque[float] = field(default_factory=lambda: deque(maxlen=_LATENCIES))
    times: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=_LATENCIES))

    def add(self, latencies: Sequence[float]) -> None:
        """Add one batch."""
        self.requests += len(latencies)
        self.batches += 1
        self.latencies.extend(latencies)
        self.times.append((time.monotonic(), len(latencies)))

    def quantile(self, part: float) -> float:
        """A quantile of the last latencies, in seconds; 0 without any.

        >>> window = Window()
        >>> window.add([1.0, 2.0, 3.0])
        >>> window.quantile(0.5), window.requests
        (2.0, 3)
        """
        values = list(self.latencies)
        return float(np.quantile(values, part)) if values else 0.0

    def throughput(self) -> float:
        """Requests per second, over the last minute or since the first of the window."""
        now = time.monotonic()
        recent = [(at, count) for at, count in list(self.times) if now - at <= _SECONDS]
        if not recent:
            return 0.0
        return sum(count for _, count in recent) / max(now - recent[0][0], 1e-3)


def of_model(name: str) -> Window:
    """The window of a model of this worker; the first one puts all of them on the endpoint."""
    with _lock:
        if not _windows:
            _register()
        return _windows.setdefault(name, Window())


def _register() -> None:
    try:
        from prometheus_client import REGISTRY
    except ModuleNotFoundError:
        return  # then Dask serves no metrics at all
    REGISTRY.register(_Collector())


class _Collector:
    """Called by Prometheus for the current values."""

    def describe(self) -> list[Any]:
        return []

    def collect(self) -> Iterator[Any]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        name = "anyzero_serve"
        requests = CounterMetricFamily(f"{name}_requests", "Requests that were answered", labels=["model"])
        batches = CounterMetricFamily(f"{name}_batches", "Batches that were run", labels=["model"])
        failures = CounterMetricFamily(f"{name}_errors", "Batches that failed", labels=["model"])
        rate = GaugeMetricFamily(f"{name}_throughput", "Requests in a second", labels=["model"])
        latency = GaugeMetricFamily(
            f"{name}_latency_seconds", "From the request to its result", labels=["model", "quantile"]
        )
        for model, window in sorted(_windows.items()):
            requests.add_metric([model], window.requests)
            batches.add_metric([model], window.batches)
            failures.add_metric([model], window.errors)
            rate.add_metric([model], window.throughput())
            for part in (0.5, 0.99):
                latency.add_metric([model, str(part)], window.quantile(part))
        yield from (requests, batches, failures, rate, latency)
