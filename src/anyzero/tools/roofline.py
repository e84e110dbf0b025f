"""The roofline of the machine: bytes per second of a copy, and operations per second.

Both are measured by the device itself, once in a process: a copy of buffers beyond the caches, and a kernel that does
nothing but multiply and add in registers.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from time import perf_counter

import numpy as np

import anyzero as az

__all__ = ["Roofline", "measure"]

_BYTES = 64 << 20
_ITEMS = 1 << 14
_TURNS = 2000
_CHAINS = 8
"""Multiplications and additions that do not wait for each other."""


@dataclass(frozen=True, slots=True)
class Roofline:
    """The peak rates of the default device with all of its threads."""

    bytes_per_second: float
    """Read and written by a copy."""
    operations_per_second: float
    """float32 multiplications and additions."""

    def __str__(self) -> str:
        ridge = self.operations_per_second / self.bytes_per_second
        return (
            f"this machine: {self.bytes_per_second / 1e9:.1f} GB/s of memory (copy), "
            f"{self.operations_per_second / 1e9:.0f} Gflop/s (float32); "
            f"kernels with fewer than {ridge:.1f} operations for each byte of memory cannot reach the second"
        )

    def as_json(self) -> dict[str, float]:
        """The rates as a dictionary for JSON."""
        return asdict(self)


@az.kernel
def _multiply_add(out: az.ptr[az.f32], turns: az.i32):  # type: ignore[no-untyped-def]
    i = az.global_id(0)
    a = az.f32(i)
    b, c, d, e, f, g, h = a + 1.0, a + 2.0, a + 3.0, a + 4.0, a + 5.0, a + 6.0, a + 7.0
    for _ in range(turns):
        a = a * 0.5 + 1.0
        b = b * 0.5 + 1.0
        c = c * 0.5 + 1.0
        d = d * 0.5 + 1.0
        e = e * 0.5 + 1.0
        f = f * 0.5 + 1.0
        g = g * 0.5 + 1.0
        h = h * 0.5 + 1.0
    out[i] = a + b + c + d + e + f + g + h


@cache
def measure() -> Roofline:
    """Measure the default device; about half a second on a machine that does nothing else."""
    with az.device().context() as context:
        source, target = (context.zeros(_BYTES, np.uint8) for _ in range(2))
        out = context.zeros(_ITEMS, np.float32)
        copied = _best(lambda: target.copy_from(source))
        computed = _best(lambda: _multiply_add[_ITEMS](out, _TURNS))
        for buffer in (source, target, out):
            buffer.close()
    return Roofline(2 * _BYTES / copied, 2 * _CHAINS * _TURNS * _ITEMS / computed)


def _best(action: object, rounds: int = 8) -> float:
    assert callable(action)
    times = []
    for _ in range(rounds):
        start = perf_counter()
        action()
        times.append(perf_counter() - start)
    return min(times)
