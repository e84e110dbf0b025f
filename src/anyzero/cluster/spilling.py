"""Storage of a worker's values: on its device, then on the host, then on disk."""

from __future__ import annotations

import mmap
from collections import OrderedDict
from collections.abc import Iterator, MutableMapping
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np
from dask.sizeof import sizeof
from distributed.protocol import deserialize, serialize
from distributed.spill import SpillBuffer

import anyzero as az

__all__ = ["DeviceHostDisk", "OnHost", "SpillError", "device_bytes"]


LARGE: Final = 1 << 20
"""Size in bytes of a value after which the memory of the process is checked."""


def process_memory() -> int:
    """Bytes of memory that this process has now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


class SpillError(az.OutOfHostMemory):
    """A worker cannot store one more value: its memory is full, and the disk for spilled values takes no more."""


def device_bytes(value: Any, depth: int = 4) -> int:
    """Bytes of device memory that a value holds.

    >>> x = az.cluster.context().zeros(4, np.float32)
    >>> device_bytes([x, {"a": x}, 5])
    32
    """
    if isinstance(value, az.Buffer):
        return value.nbytes if value.kind != "host" else 0
    if depth and isinstance(value, list | tuple | set | frozenset):
        return sum(device_bytes(each, depth - 1) for each in value)
    if depth and isinstance(value, dict):
        return sum(device_bytes(each, depth - 1) for each in value.values())
    return 0


class OnHost:
    """A value whose buffers were copied to the host."""

    __slots__ = ("frames", "header")

    def __init__(self, header: dict[str, Any], *frames: Any) -> None:
        self.header = header
        self.frames = frames

    def __reduce__(self) -> tuple[Any, ...]:
        return OnHost, (self.header, *(np.frombuffer(frame, np.uint8) for frame in self.frames))

    @property
    def nbytes(self) -> int:
        """Bytes of host memory."""
        return sum(memoryview(frame).nbytes for frame in self.frames)

    def restored(self) -> Any:
        """The value, on the device again."""
        return deserialize(self.header, list(self.frames))


sizeof.register(OnHost)(lambda value: value.nbytes)


class DeviceHostDisk(MutableMapping[Any, Any]):
    """The values of a worker. The least recently used go from the device to the host, and from there to disk.

    `device_limit` bounds the values on the device; None means that the device has no memory of its own, so that a copy
    on the host would save nothing, and values go straight to disk. Values without buffers begin on the host. `target`
    bounds the values in host memory, where Dask's own spilling begins. If that fails (the disk is full) and the values
    in memory exceed `ceiling`, a new value is refused with `SpillError`, so that its task fails instead of the worker.

    `process_limit` bounds the memory of the whole process, of which values are only a part: whenever a large value
    arrives or returns, others go to disk until the process is below it. Dask's own monitor does the same by the clock,
    ten times a second; on a busy machine its nanny may kill the worker first, and all values are lost.
    """

    def __init__(
        self,
        worker_local_directory: str,
        device_limit: int | None,
        target: int,
        ceiling: int,
        max_spill: int | bool = False,
        process_limit: int | None = None,
    ) -> None:
        self.device_limit = device_limit
        self.ceiling = ceiling
        self.process_limit = process_limit
        self.device: OrderedDict[Any, Any] = OrderedDict()
        self.device_total = 0
        self._sizes: dict[Any, int] = {}
        self.host = SpillBuffer(str(Path(worker_local_directory, "storage")), target=target, max_spill=max_spill)

    # A mapping

    def __setitem__(self, key: Any, value: Any) -> None:
        if key in self:
            del self[key]
        size = 0 if self.device_limit is None else device_bytes(value)
        if not size:
            self._keep_on_host(key, value)
        elif size > (self.device_limit or 0):
            self._keep_on_host(key, _moved(value))
        else:
            self._keep_on_device(key, value, size)

    def __getitem__(self, key: Any) -> Any:
        if key in self.device:
            self.device.move_to_end(key)
            return self.device[key]
        value = self.host[key]
        self._spill_for(key)
        if not isinstance(value, OnHost):
            return value
        found = value.restored()
        size = device_bytes(found)
        if self.device_limit and size <= self.device_limit:
            del self.host[key]
            self._keep_on_device(key, found, size)
        return found

    def __delitem__(self, key: Any) -> None:
        if key in self.device:
            self._forget(key)
        else:
            del self.host[key]

    def __contains__(self, key: object) -> bool:
        return key in self.device or key in self.host

    def __iter__(self) -> Iterator[Any]:
        return chain(list(self.device), list(self.host))

    def __len__(self) -> int:
        return len(self.device) + len(self.host)

    # Moving

    def _forget(self, key: Any) -> None:
        del self.device[key]
        self.device_total -= self._sizes.pop(key)

    def _keep_on_device(self, key: Any, value: Any, size: int) -> None:
        while self.device and self.device_total + size > (self.device_limit or 0):
            self._to_host()
        self.device[key] = value
        self._sizes[key] = size
        self.device_total += size

    def _to_host(self) -> int:
        """The least recently used value of the device."""
        key = next(iter(self.device))
        value, size = self.device[key], self._sizes[key]
        self._keep_on_host(key, _moved(value))
        self._forget(key)
        return size

    def _keep_on_host(self, key: Any, value: Any) -> None:
        self.host[key] = value
        held = self.host.fast.total_weight
        if held > self.host.fast.n and held + self.device_total > self.ceiling:
            # Spilling has failed; Dask's log says why.
            del self.host[key]
            raise SpillError(
                f"the worker holds {held + self.device_total} bytes of values in memory, and the disk takes no more",
                remedy="Free space in its local directory, name another one (--local-directory), raise the memory "
                "limit or Dask's setting distributed.worker.memory.max-spill, or add workers.",
            )
        self._spill_for(key)

    def _spill_for(self, key: Any) -> None:
        """Bring the process below its limit after a large value has come; the value itself stays in memory."""
        if self.process_limit is None or self.host.fast.weights.get(key, 0) < LARGE:
            return
        while len(self.host.fast) > 1 and process_memory() > self.process_limit and self.host.evict() != -1:
            pass

    # Interface of Dask's memory monitor

    @property
    def fast(self) -> int:
        """The number of values in memory."""
        return len(self.device) + len(self.host.fast)

    def evict(self) -> int:
        """Move the least recently used value of the host to disk, or one of the device to the host; -1 on failure."""
        if self.host.fast:
            return int(self.host.evict())
        try:
            return self._to_host() if self.device else -1
        except SpillError:
            return -1

    @property
    def memory(self) -> MutableMapping[Any, Any]:
        """The values in memory of the host."""
        found: MutableMapping[Any, Any] = self.host.fast
        return found

    @property
    def disk(self) -> MutableMapping[Any, Any]:
        """The values on disk."""
        found: MutableMapping[Any, Any] = self.host.slow
        return found

    @property
    def cumulative_metrics(self) -> Any:
        """Counters of reads and writes, for Dask's Prometheus endpoint."""
        return self.host.cumulative_metrics

    @property
    def spilled_total(self) -> Any:
        """Bytes on disk, as Dask's dashboard shows them."""
        return self.host.spilled_total


def _moved(value: Any) -> OnHost:
    header, frames = serialize(value, serializers=("dask", "pickle"), on_error="raise")
    return OnHost(header, *frames)
