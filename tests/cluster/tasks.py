"""What the workers of these tests run; they import this file, and nothing of pytest."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np

import anyzero as az

SHARED = 1 << 18
"""Bytes, enough for a handle instead of bytes."""


@az.function
def twice(x):  # type: ignore[no-untyped-def]
    return x * 2


@az.kernel
def scale(out: az.ptr[az.f32], x: az.ptr[az.f32], factor: az.f32):  # type: ignore[no-untyped-def]
    i = az.global_id(0)
    out[i] = twice(x[i]) * factor


@az.kernel
def generic(out, x):  # type: ignore[no-untyped-def]
    i = az.global_id(0)
    out[i] = twice(x[i])


@az.kernel
def mean4(out: az.array[az.f32, 2], x: az.array[az.f32, 2]):  # type: ignore[no-untyped-def,type-arg]
    column, row = az.global_id(0), az.global_id(1)
    if row > 0 and row < x.shape[0] - 1 and column > 0 and column < x.shape[1] - 1:
        out[row, column] = (x[row - 1, column] + x[row + 1, column] + x[row, column - 1] + x[row, column + 1]) / 4
    else:
        out[row, column] = x[row, column]


@az.kernel
def outside(out: az.ptr[az.f32]):  # type: ignore[no-untyped-def]
    out[az.global_id(0) + 1_000_000_000_000] = az.f32(1)


@az.kernel
def numbered(out: az.ptr[az.i32], first: az.i32, table: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    i = az.global_id(0)
    out[i] = az.i32(i) + first + table[0]


def counted(n: int) -> az.Buffer:
    return az.cluster.context().to_device(np.arange(n, dtype=np.float32))


def launched(kernel: Any, x: az.Buffer, *numbers: float) -> az.Buffer:
    out = az.cluster.context().zeros(x.shape, x.dtype)
    kernel[x.size](out, x, *numbers)
    return out


def total(x: Any) -> float:
    return float(x.sum().item())


def total_of_all(values: list[Any]) -> float:
    return sum(map(total, values))


def faulting() -> None:
    outside[4](az.cluster.context().zeros(4, np.float32))


def handles() -> int:
    """How many neighbours this worker has sent handles to."""
    from anyzero.cluster import neighbours

    return sum(neighbours._known.values())


def identity(value: Any) -> int:
    return id(value)


def die_once(marker: str, value: float) -> float:
    """Kills its worker the first time."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return value
    os.kill(os.getpid(), signal.SIGKILL)
    return value


def filled(n: int, nbytes: int) -> az.Buffer:
    return az.cluster.context().full(nbytes, n, np.uint8)


def ends(x: az.Buffer) -> tuple[int, int]:
    return int(x[:1].copy_to()[0]), int(x[-1:].copy_to()[0])


def most_memory() -> tuple[int, int]:
    """Number and largest memory so far of this process, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return os.getpid(), next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))
