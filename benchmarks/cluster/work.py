"""What the workers of the measurements run."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

import anyzero as az

__all__ = [
    *(
        "CHUNK",
        "NOISE",
        "TURNS",
        "alone",
        "chunk_of",
        "counted",
        "expected_sum",
        "heavy",
        "heavy_chunk",
        "heavy_launch",
    ),
    *("heavy_launch", "most_memory", "small_launch", "small_numpy", "sum_of"),
]

CHUNK: Final = 1 << 14
"""Work-items of a compute-bound task."""
TURNS: Final = 500_000
"""Turns of the loop of each."""
NOISE: Final = 1 << 20
"""Bytes of random numbers that large values repeat."""


@az.kernel
def add_one(out: az.ptr[az.f32], x: az.ptr[az.f32]):  # type: ignore[no-untyped-def]
    i = az.global_id(0)
    out[i] = x[i] + 1


@az.kernel
def heavy(out: az.ptr[az.f32], x: az.ptr[az.f32], turns: az.i32):  # type: ignore[no-untyped-def]
    i = az.global_id(0)
    value = x[i]
    for _ in range(turns):
        value = value * 0.999 + 0.001
    out[i] = value


def small_numpy(n: int) -> float:
    """A task of plain Dask: an array, one operation, a number."""
    x = np.full(16, n, np.float32)
    return float((x + 1)[3])


def small_launch(n: int) -> float:
    """The same on the device: two buffers, a launch, a copy."""
    ctx = az.cluster.context()
    x = ctx.to_device(np.full(16, n, np.float32))
    out = ctx.buffer(16, np.float32)
    add_one[16](out, x)
    return float(out.copy_to()[3])


def heavy_chunk(n: int) -> float:
    """A task of some hundred milliseconds."""
    ctx = az.cluster.context()
    x = ctx.full(CHUNK, n, np.float32)
    out = ctx.buffer(x.shape, np.float32)
    heavy[x.size](out, x, TURNS)
    return float(out[:1].copy_to()[0])


def alone(ready: Any, processor: int, tasks: int) -> None:
    """So many tasks in a process of its own on one processor, between two meetings at `ready`."""
    os.environ["ANYZERO_THREADS"] = "1"
    os.sched_setaffinity(0, {processor})
    heavy_chunk(0)  # compiles
    ready.wait()
    for n in range(tasks):
        heavy_chunk(n)
    ready.wait()


def heavy_launch(size: int) -> None:
    """The work of `size // CHUNK` such tasks in one launch, which the devices share."""
    az.cluster.run(heavy, size, [np.zeros(size, np.float32), np.ones(size, np.float32), TURNS])


def counted(n: int) -> tuple[int, int]:
    """A result that can be checked, and who made it."""
    return int(small_launch(n % 1000)) + n // 1000 * 1000, os.getpid()


@cache
def _noise() -> npt.NDArray[np.uint8]:
    return np.random.default_rng(7).integers(0, 256, NOISE, np.uint8)


def chunk_of(seed: int, nbytes: int) -> az.Buffer:
    """Numbers that no compression makes smaller."""
    return az.cluster.context().to_device(np.tile(_noise() + np.uint8(seed % 256), nbytes // NOISE))


def sum_of(chunk: az.Buffer) -> int:
    return int(chunk.sum(dtype=np.uint64).item())


def expected_sum(seed: int, nbytes: int) -> int:
    """What `sum_of` must return for `chunk_of`."""
    return int((_noise() + np.uint8(seed % 256)).sum(dtype=np.uint64)) * (nbytes // NOISE)


def most_memory() -> int:
    """The most memory that this process has had, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))
