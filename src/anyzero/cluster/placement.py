"""Placement of workers: one for each device or tile, on its own processors, with the device's memory as the limit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import dask
from dask.utils import parse_bytes
from distributed.system import MEMORY_LIMIT

import anyzero as az
from anyzero.cluster.spilling import DeviceHostDisk
from anyzero.cluster.worker_setup import WorkerSetup

__all__ = ["Seat", "nanny_options", "seats"]

DEVICE_SHARE: Final = 0.8
"""The part of a device's memory that values may fill before they go to the host; kernels need some, too."""

KEPT_SHARE: Final = 32
"""The driver of a worker keeps freed memory for its next allocations up to this part of the worker's limit."""


@dataclass(frozen=True, slots=True)
class Seat:
    """The place of one worker: a device or a tile of this machine."""

    selector: str
    """The device, as in ANYZERO_DEVICE."""
    name: str
    backend: str
    memory: int
    threads: int
    processors: tuple[int, ...]
    """The processors that the worker is pinned to."""

    @property
    def resources(self) -> dict[str, float]:
        """The worker's resources for the scheduler, for ``resources=`` of tasks."""
        return {"device": 1, self.backend: 1, "device-memory": self.memory}


def _described(environment: Mapping[str, str]) -> list[dict[str, Any]]:
    """The devices that a process with these variables has, in the order of their selectors."""
    run = subprocess.run(
        [sys.executable, "-m", "anyzero.tools", "info", "--json"],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        raise az.DeviceNotFound(f"no devices for the workers: {run.stderr.strip().removeprefix('anyzero: error: ')}")
    return [device for driver in json.loads(run.stdout)["drivers"] for device in driver["devices"]]


def seats(environment: Mapping[str, str] | None = None, devices: Sequence[str] | None = None) -> list[Seat]:
    """A place for each device or tile of this machine, or for those that `devices` names.

    NPUs run models and no kernels, so they get a worker only where they are named.

    >>> [seat.selector for seat in seats({"ANYZERO_DEVICES": "cpu:tiles=2,cpu"})]
    ['0.0', '0.1', '1']
    """
    found: list[tuple[str, dict[str, Any]]] = []
    counts: dict[str, int] = {}
    aliases: dict[str, str] = {}
    for index, device in enumerate(_described(environment or {})):
        backend = device["backend"]
        place = counts[backend] = counts.get(backend, -1) + 1
        parts = [(f"{index}.{tile}", each) for tile, each in enumerate(device["tiles"])] or [(str(index), device)]
        found += [(selector, {**each, "backend": backend}) for selector, each in parts]
        for selector, _ in parts:
            tile = selector.partition(".")[2]
            aliases[f"{backend}:{place}" + (f".{tile}" if tile else "")] = selector
            if place == 0 and not tile:
                aliases[backend] = selector
    known = dict(found)
    if devices is None:
        wanted = [selector for selector, device in found if device["backend"] != "npu"]
    else:
        wanted = [aliases.get(str(each), str(each)) for each in devices]
        unknown = [given for given, selector in zip(devices, wanted, strict=True) if selector not in known]
        if unknown or not wanted:
            there = ", ".join(known)
            raise az.DeviceNotFound(
                f"no device or tile is called {unknown[0]!r}" if unknown else "no device is named",
                remedy=f"There are {there}; `anyzero info` shows them.",
            )
    shares = _processors([known[selector] for selector in wanted])
    return [
        Seat(
            selector=selector,
            name=known[selector]["name"],
            backend=known[selector]["backend"],
            memory=int(known[selector]["memory_total"]),
            threads=int(known[selector]["compute_units"]),
            processors=share,
        )
        for selector, share in zip(wanted, shares, strict=True)
    ]


def _processors(devices: Sequence[dict[str, Any]]) -> list[tuple[int, ...]]:
    """The processors of each device: a GPU has those near it; the CPU's devices share all of this process."""
    everything = sorted(os.sched_getaffinity(0))
    near = {at: _near(device, everything) for at, device in enumerate(devices) if device["backend"] != "cpu"}
    ours = [at for at in range(len(devices)) if at not in near]
    total = max(sum(int(devices[at]["compute_units"]) for at in ours), 1)
    shares: list[tuple[int, ...]] = []
    before = 0
    for at, device in enumerate(devices):
        if at in near:
            shares.append(near[at])
            continue
        first = before * len(everything) // total
        before += int(device["compute_units"])
        last = before * len(everything) // total
        # More devices than processors: some share one.
        shares.append(tuple(everything[first:last]) or (everything[min(first, len(everything) - 1)],))
    return shares


def _near(device: Mapping[str, Any], everything: Sequence[int]) -> tuple[int, ...]:
    """The processors of the same NUMA node, as the kernel reports them."""
    try:
        text = Path("/sys/bus/pci/devices", device["pci_address"], "local_cpulist").read_text()
        spans = [part.partition("-") for part in text.strip().split(",")]
        near = {number for low, _, high in spans for number in range(int(low), int(high or low) + 1)}
    except (OSError, KeyError, ValueError):
        return tuple(everything)
    return tuple(number for number in everything if number in near) or tuple(everything)


def nanny_options(
    seat: Seat,
    count: int,
    *,
    environment: Mapping[str, str] | None = None,
    memory_limit: Any = "auto",
    device_memory_limit: Any = None,
    resources: Mapping[str, float] | None = None,
    nthreads: int = 1,
) -> dict[str, Any]:
    """The options of the `distributed.Nanny` of one of `count` workers on this machine."""
    share = MEMORY_LIMIT // max(count, 1)
    # CPUs and NPUs have the memory of the machine, all of them together.
    own_memory = seat.backend not in ("cpu", "npu")
    if memory_limit in (None, "auto"):
        limit = share if own_memory else min(seat.memory, share)
    else:
        limit = parse_bytes(memory_limit) or share
    device_limit = parse_bytes(device_memory_limit) if device_memory_limit else int(seat.memory * DEVICE_SHARE)
    target = int(limit * (dask.config.get("distributed.worker.memory.target") or 1.0))
    pause = dask.config.get("distributed.worker.memory.pause") or 1.0
    most = dask.config.get("distributed.worker.memory.max-spill")
    spilling = {
        "device_limit": device_limit if own_memory else None,
        "target": target if own_memory else min(target, device_limit),
        "ceiling": int(limit * pause),
        "process_limit": target,
        "max_spill": parse_bytes(most) if most else False,
    }
    return {
        "nthreads": nthreads,
        "memory_limit": limit,
        "resources": {**seat.resources, **(resources or {})},
        "env": {**_engine(seat, limit), **(environment or {}), "ANYZERO_DEVICE": seat.selector},
        "data": (DeviceHostDisk, spilling),
        "plugins": [WorkerSetup(seat.processors)],
    }


def _engine(seat: Seat, limit: int) -> dict[str, str]:
    """Variables of the driver in a worker on the CPU; those of this process are the worker's, too."""
    if seat.backend != "cpu":
        return {}
    made = {
        # The worker sees fewer processors than this process; its devices shall have as many threads as here.
        "ANYZERO_THREADS": len(os.sched_getaffinity(0)),
        # Dask counts the memory of the process: freed memory that the driver keeps would pause the worker.
        "ANYZERO_KEPT_MEMORY": min(limit // KEPT_SHARE, 256 << 20),
    }
    return {name: str(value) for name, value in made.items() if name not in os.environ}
