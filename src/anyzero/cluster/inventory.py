"""The devices of a cluster, with the nodes that they are on."""

from __future__ import annotations

import os
import socket
from typing import Any, NamedTuple

from distributed import Client, get_client

import anyzero as az

__all__ = ["ClusterDevice", "devices"]


class ClusterDevice(NamedTuple):
    """A device of a worker."""

    node: str
    """The name of the machine."""
    worker: str
    """The worker's address, for ``workers=`` of tasks."""
    name: str
    """The device's name."""
    backend: str
    uuid: str
    memory: int
    """Bytes."""
    threads: int
    """Its compute units."""
    processors: tuple[int, ...]
    """The processors that the worker is pinned to."""


def _described() -> tuple[Any, ...]:
    """The description of a worker's device."""
    device = az.device()
    told = (device.name, device.backend, str(device.uuid), device.memory_total, device.compute_units)
    return (socket.gethostname(), *told, tuple(sorted(os.sched_getaffinity(0))))


def devices(client: Client | None = None) -> list[ClusterDevice]:
    """The devices of all workers, by node and worker. Workers without anyzero have none.

    >>> from distributed import Client
    >>> with Client(processes=False, n_workers=1, dashboard_address="127.0.0.1:0"):      # one worker, in this process
    ...     [device.backend for device in az.cluster.devices()]
    ['cpu']
    """
    found = (client or get_client()).run(_described, on_error="return")
    listed = [
        ClusterDevice(told[0], worker, *told[1:]) for worker, told in found.items() if not isinstance(told, Exception)
    ]
    return sorted(listed)
