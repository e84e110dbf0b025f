"""What the workers of the measurements run."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

import anyzero as az

__all__ = ["chunk_of", "counted", "heavy", "heavy_chunk", "small_launch", "small_numpy"]


@az.kernel
def add_one(out: az.ptr[az.f32], x: az.ptr[az.f32]):  # type: ignore[no-untyped-def]
    i = az.global_id(0)
    out[i] = x[i] + 1


@az.kernel
def heavy(out: az.ptr[az.f32], x: az.ptr[az.f32]):  # type: ignore[no-untyped-def]
    i = az.global_id(0)
    value = x[i]
    for _ in range(20_000):
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
    """A task of some tens of milliseconds."""
    ctx = az.cluster.context()
    x = ctx.full(1 << 15, n, np.float32)
    out = ctx.buffer(x.shape, np.float32)
    heavy[x.size](out, x)
    return float(out[:1].copy_to()[0])


def counted(n: int) -> tuple[int, int]:
    """A result that can be checked, and who made it."""
    return int(small_launch(n % 1000)) + n // 1000 * 1000, os.getpid()


def chunk_of(seed: int, nbytes: int) -> az.Buffer:
    """Numbers that no compression makes smaller."""
    random: npt.NDArray[Any] = np.random.default_rng(seed).integers(0, 255, nbytes, np.uint8)
    return az.cluster.context().to_device(random)
