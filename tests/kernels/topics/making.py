"""What the topics share: how cases are made, and arithmetic that numpy does not have."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np

from benchmarks.kernels.case import FOLDER, Argument, Array, Case

__all__ = [
    "INTEGERS",
    "SIZES",
    "clamped",
    "each",
    "extremes",
    "launch",
    "nearest",
    "round_to_integer",
    "row_case",
    "truncated",
    "wrapped",
]

INTEGERS: Final[Mapping[str, Any]] = {
    "char": np.int8,
    "uchar": np.uint8,
    "short": np.int16,
    "ushort": np.uint16,
    "int": np.int32,
    "uint": np.uint32,
    "long": np.int64,
    "ulong": np.uint64,
}
"""OpenCL's names of numpy's types."""

SIZES: Final = (60, 20)
"""Items and items per group where nothing speaks for another number: three groups, none of them a round number."""


def wrapped(value: int, dtype: Any) -> int:
    """What is left of a whole number in a type that is too narrow for it."""
    bits = np.dtype(dtype).itemsize * 8
    value &= (1 << bits) - 1
    return value - (1 << bits) if np.dtype(dtype).kind == "i" and value >> (bits - 1) else value


def clamped(value: int, dtype: Any) -> int:
    bounds = np.iinfo(dtype)
    return max(int(bounds.min), min(int(bounds.max), value))


def truncated(a: int, b: int) -> int:
    """The quotient as C has it: rounded towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def each(function: Callable[..., int], dtype: Any, *arrays: Array) -> Array:
    """`function` of the elements as Python's unbounded integers, wrapped into `dtype`."""
    columns = zip(*(array.ravel().tolist() for array in arrays), strict=True)
    return np.array([wrapped(int(function(*values)), dtype) for values in columns], dtype)


def extremes(seed: int, n: int, dtype: Any) -> Array:
    """The borders of an integer type in every combination that a few arrays can have, then random numbers."""
    rng = np.random.default_rng(seed)
    bounds = np.iinfo(dtype)
    values = rng.integers(bounds.min, bounds.max, n, dtype, endpoint=True)
    low, high = int(bounds.min), int(bounds.max)
    borders = np.array([low, high, 0, 1, low + 1, high - 1, 2, high // 2, -1 if low else 3], dtype)
    values[: n // 2] = rng.choice(borders, n // 2)
    return values


def round_to_integer(value: float, mode: str) -> int:
    """`value`, which is finite, rounded as the mode says: rte, rtz, rtp or rtn."""
    exact = Fraction(value)
    by_mode: dict[str, Callable[[Fraction], int]] = {
        "rte": round,
        "rtz": math.trunc,
        "rtp": math.ceil,
        "rtn": math.floor,
    }
    return by_mode[mode](exact)


def nearest(value: float | Fraction, dtype: Any, mode: str) -> Any:
    """A number as a floating-point type, exactly rounded as the mode says."""
    if isinstance(value, float) and not math.isfinite(value):
        return dtype(value)
    exact = Fraction(value)
    with np.errstate(over="ignore"):
        near = dtype(float(exact))
    infinity = dtype(np.inf)
    if np.isinf(near):
        near = np.copysign(np.finfo(dtype).max, near)
    with np.errstate(over="ignore", under="ignore"):
        below = near if Fraction(float(near)) <= exact else np.nextafter(near, -infinity)
        above = near if Fraction(float(near)) >= exact else np.nextafter(near, infinity)
    if below == above or mode == "rtn":
        return below
    if mode == "rtp":
        return above
    if mode == "rtz":
        return below if exact > 0 else above
    if np.isinf(below) or np.isinf(above):
        # Half a step beyond the largest number is where rounding to the nearest begins to overflow.
        largest = Fraction(float(np.finfo(dtype).max))
        step = largest - Fraction(float(np.nextafter(np.finfo(dtype).max, dtype(0))))
        finite, far = (below, above) if np.isinf(above) else (above, below)
        return far if abs(exact) >= largest + step / 2 else finite
    down, up = exact - Fraction(float(below)), Fraction(float(above)) - exact
    if down != up:
        return below if down < up else above
    bits = np.array([below], dtype).view(f"u{np.dtype(dtype).itemsize}")
    return above if int(bits[0]) & 1 else below


def launch(
    file: str,
    kernel: str,
    arguments: Callable[[], list[Argument]],
    expected: Callable[[list[Any]], Mapping[int, Array]],
    sizes: tuple[Any, Any] = SIZES,
    **more: Any,
) -> Case:
    """A case of `file`; sizes are items and items per group, each a number or one per dimension."""
    items, group = ((size,) if isinstance(size, int) else tuple(size) for size in sizes)
    name = more.pop("name", f"{file}_{kernel}" if kernel != file else kernel)
    needs = frozenset(more.pop("needs", ()))
    return Case(
        name, FOLDER / f"{file}.spv", kernel, arguments, items, group, lambda a: dict(expected(a)), needs=needs, **more
    )


def row_case(
    file: str,
    kernel: str,
    dtype: Any,
    inputs: Callable[[], Sequence[Array]],
    rows: Callable[..., Iterable[tuple[str, Array]]],
    **more: Any,
) -> Case:
    """A kernel whose first argument gets one row per operation; `rows` yields each one's name and results."""
    made = [(label, np.asarray(values)) for label, values in rows(*inputs())]

    def arguments() -> list[Argument]:
        return [np.zeros((len(made), *made[0][1].shape), dtype), *inputs()]

    def expected(_: list[Any]) -> dict[int, Array]:
        return {0: np.stack([values for _, values in made])}

    return launch(file, kernel, arguments, expected, labels=tuple(label for label, _ in made), **more)
