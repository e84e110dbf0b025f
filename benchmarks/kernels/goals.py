"""What we aim at, program by program: marked in the tables, gating nothing."""

from __future__ import annotations

from typing import Final

__all__ = ["AT_MOST", "MEAN", "MEAN_TO_NATIVE", "TO_NATIVE", "mark", "to_opencl"]

MEAN: Final = 0.67
"""The geometric mean of our time divided by that of the best OpenCL implementation."""
MEAN_TO_NATIVE: Final = 1.0
"""The same for plain C++."""

_BARRIERS: Final = ("reduce_int", "reduce_size_t", "scan_group", "histogram", "convolve")
"""Where every OpenCL implementation is eight times and more behind plain C++."""

_TO_OPENCL: Final = {
    **dict.fromkeys(_BARRIERS, 0.3),
    **dict.fromkeys(("matmul_int", "matmul_size_t"), 0.4),
    **dict.fromkeys(("nbody_f64", "black_scholes_f64"), 0.9),
}

TO_NATIVE: Final = {
    **dict.fromkeys(("saxpy", "saxpy_int", "saxpy_unchecked", "triad", "transpose", "hash"), 1.3),
    **dict.fromkeys(("nbody_f32", "nbody_f32_scalar", "nbody_f64", "black_scholes_f32", "black_scholes_f64"), 1.3),
    **dict.fromkeys(("bilinear_uchar4", "bilinear_float4"), 1.3),
    **dict.fromkeys(_BARRIERS, 3.0),
}
"""Our time divided by that of plain C++ (`-O3 -march=native -fopenmp`), with or without `-ffast-math`: the faster."""

AT_MOST: Final = {"empty_groups": 5.0}
"""Our own time, in nanoseconds."""


def to_opencl(key: str) -> float:
    """Our time divided by that of the best OpenCL implementation: never slower, and much faster where they are slow."""
    return _TO_OPENCL.get(key, 1.0)


def mark(value: float | None, goal: float | None, doubtful: bool = False) -> str:
    """A goal and whether it is reached; a question mark where the measurement was disturbed.

    >>> mark(0.5, 1.0), mark(1.5, 1.3), mark(0.5, 1.0, doubtful=True), mark(None, 3.0), mark(2.0, None)
    ('≤ 1 ✓', '≤ 1.3 ✗', '≤ 1 ?', '≤ 3', '')
    """
    if goal is None:
        return ""
    text = f"≤ {goal:g}"
    if value is None:
        return text
    return f"{text} {'?' if doubtful else '✓' if value <= goal else '✗'}"
