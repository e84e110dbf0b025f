"""A cluster on this machine: a scheduler, and one worker process for each device or tile."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from distributed import Nanny, Scheduler, Security, SpecCluster

from anyzero.cluster.placement import nanny_options, seats

__all__ = ["LocalZeroCluster"]


class LocalZeroCluster(SpecCluster):
    """One worker process for each device or tile of this machine, with a scheduler beside them.

    `topology` gives the workers other devices than this process has, as in ANYZERO_DEVICES: ``"cpu:tiles=4"`` is four
    workers that share the processors and the memory. `devices` names some of them (``["0.0", "npu"]``); without it
    all compute devices have a worker. A worker runs one task at a time, keeps to the processors of its device, and
    tells the scheduler the resources ``device``, its backend (``cpu``) and ``device-memory``.

    Memory limits are those of the device: values beyond `device_memory_limit` go to the host, and beyond Dask's share
    of `memory_limit` to `local_directory`. `security` is Dask's, with TLS. The dashboard has any free port, or
    `dashboard_address` (``":8787"``); None is none. Further options go to the workers (`distributed.Worker`).

    >>> from distributed import Client
    >>> with az.cluster.LocalZeroCluster(topology="cpu:tiles=2") as cluster, Client(cluster) as client:
    ...     x = client.submit(lambda n: az.cluster.context().full(n, 2.0), 3)
    ...     client.submit(lambda x: (x * x).sum().item(), x).result()
    12.0
    """

    def __init__(
        self,
        *,
        topology: str | None = None,
        devices: Sequence[str] | None = None,
        memory_limit: Any = "auto",
        device_memory_limit: Any = None,
        threads_per_worker: int = 1,
        resources: Mapping[str, float] | None = None,
        environment: Mapping[str, str] | None = None,
        security: Security | bool | None = None,
        host: str = "127.0.0.1",
        scheduler_port: int = 0,
        dashboard_address: str | None = "auto",
        protocol: str | None = None,
        local_directory: str | None = None,
        name: str | None = None,
        asynchronous: bool = False,
        silence_logs: Any = logging.WARNING,
        **worker_options: Any,
    ) -> None:
        variables = {**(environment or {}), **({"ANYZERO_DEVICES": topology} if topology else {})}
        trusted: Any = Security.temporary() if security is True else security or Security()
        protocol = protocol or ("tls://" if trusted.require_encryption else "tcp://")
        places = seats(variables, devices)
        common = {"host": host, "security": trusted, "protocol": protocol, "local_directory": local_directory}
        workers = {}
        for at, seat in enumerate(places):
            options = nanny_options(
                seat,
                len(places),
                environment=variables,
                memory_limit=memory_limit,
                device_memory_limit=device_memory_limit,
                resources=resources,
                nthreads=threads_per_worker,
            )
            served = {
                "silence_logs": silence_logs,
                "dashboard": dashboard_address is not None,
                "dashboard_address": f"{host}:0",
            }
            workers[at] = {"cls": Nanny, "options": {**common, **served, **options, **worker_options}}
        scheduler = {
            "cls": Scheduler,
            "options": {
                "host": host,
                "port": scheduler_port,
                "security": trusted,
                "protocol": protocol,
                "dashboard": dashboard_address is not None,
                "dashboard_address": f"{host}:0" if dashboard_address in (None, "auto") else dashboard_address,
            },
        }
        self.seats = places
        super().__init__(
            workers=workers,
            scheduler=scheduler,
            security=trusted,
            asynchronous=asynchronous,
            silence_logs=silence_logs,
            name=name,
        )

    def _update_worker_status(self, op: str, msg: Any) -> None:
        # A nanny restarts its worker, however long that takes. SpecCluster would give up both after some seconds.
        super(SpecCluster, self)._update_worker_status(op, msg)
