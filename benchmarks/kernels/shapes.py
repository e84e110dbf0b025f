"""The same kernels in groups and sizes of every kind: does it matter which ones an author happens to write?

Sizes that are no multiple of the group are launched as people do: rounded up, with a bound in the kernel. Without a
group the launch has exactly as many work-items as there are elements, and the driver chooses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from benchmarks.kernels.case import MEASURED, Argument, Array, Case, Local
from benchmarks.kernels.program import COMPUTE, MEMORY, Program
from benchmarks.kernels.programs import convolution, mandelbrot, numbers, reduction, streaming

__all__ = ["FAMILIES", "SHAPES", "Family", "Shape", "shapes"]

Group = tuple[int, ...]
NONE: Final[Group] = ()
FILE: Final = MEASURED / "shapes.spv"


def launched(size: tuple[int, ...], group: Group) -> tuple[int, ...]:
    """The global size: rounded up to whole groups.

    >>> launched((1000, 1000), (16, 16)), launched((1000, 1000), ())
    ((1008, 1008), (1000, 1000))
    """
    return tuple(-(-n // part) * part for n, part in zip(size, group, strict=True)) if group else size


def _streaming(kernel: str, n: int, group: Group) -> Case:
    case = streaming(kernel, n)
    return Case(
        *(kernel, case.spv, kernel, case.arguments, launched((n,), group), group, case.expected, case.rtol, case.atol)
    )


def _reduction(kernel: str, n: int, group: Group) -> Case:
    return reduction(kernel, n, group[0])


def _multiply(kernel: str, n: int, group: Group) -> Case:
    def arguments() -> list[Argument]:
        return [np.zeros((n, n), np.float32), numbers(1, (n, n)), numbers(2, (n, n)), np.int32(n)]

    def expected(given: list[Any]) -> dict[int, Array]:
        return {0: given[1] @ given[2]}

    return Case(kernel, FILE, kernel, arguments, launched((n, n), group), group, expected, rtol=1e-4, atol=1e-6 * n)


def _convolution(kernel: str, n: int, group: Group) -> Case:
    case = convolution(kernel, n)
    return Case(
        *(kernel, case.spv, kernel, case.arguments, launched((n, n), group), group, case.expected, case.rtol, case.atol)
    )


def _escape(kernel: str, n: int, group: Group, limit: int = 64) -> Case:
    case = mandelbrot("mandelbrot", n, limit)

    def arguments() -> list[Argument]:
        return [*case.arguments(), np.int32(n)]

    def expected(given: list[Any]) -> dict[int, Array]:
        return case.expected(given[:-1])

    size = launched((n, n), group)
    return Case(kernel, FILE, kernel, arguments, size, group, expected, outliers=case.outliers)


def _turn(kernel: str, n: int, group: Group) -> Case:
    def arguments() -> list[Argument]:
        return [np.zeros((n, n), np.float32), numbers(1, (n, n)), np.int32(n)]

    def expected(given: list[Any]) -> dict[int, Array]:
        return {0: given[1].T.copy()}

    return Case(kernel, FILE, kernel, arguments, launched((n, n), group), group, expected)


def _smooth(kernel: str, n: int, group: Group) -> Case:
    tile = 4 * (group[0] + 2) * (group[1] + 2)

    def arguments() -> list[Argument]:
        return [np.zeros((n, n), np.float32), numbers(1, (n, n)), Local(tile), np.int32(n)]

    def expected(given: list[Any]) -> dict[int, Array]:
        padded = np.pad(given[1].astype(np.float64), 1, mode="edge")
        return {0: np.add.reduce([padded[dy : dy + n, dx : dx + n] for dy in range(3) for dx in range(3)]) / 9}

    return Case(kernel, FILE, kernel, arguments, launched((n, n), group), group, expected, rtol=1e-5, atol=1e-6)


def _diffuse(kernel: str, n: int, group: Group) -> Case:
    def arguments() -> list[Argument]:
        return [np.zeros((n, n, n), np.float32), numbers(1, (n, n, n)), np.float32(0.1), np.int32(n)]

    def expected(given: list[Any]) -> dict[int, Array]:
        after, old, rate, _ = given
        inner = slice(1, -1)
        around = sum(
            np.roll(old, step, axis)[inner, inner, inner] for axis in range(3) for step in (-1, 1)
        )  # the outermost layer, which would wrap around, is cut off
        centre = old[inner, inner, inner]
        after[inner, inner, inner] = centre + rate * (around - 6 * centre)
        return {0: after}

    size = launched((n, n, n), group)
    return Case(kernel, FILE, kernel, arguments, size, group, expected, rtol=1e-4, atol=1e-5)


@dataclass(frozen=True, slots=True)
class Family:
    """A kernel with the sizes and groups that it is measured with."""

    key: str
    title: str
    make: Callable[[str, int, Group], Case]
    sizes: tuple[int, ...]
    """The first one with every group, the others, which no group divides, with the usual ones."""
    quick: tuple[int, ...]
    groups: tuple[Group, ...]
    usual: tuple[Group, ...]
    dimensions: int
    """Of the work: how it grows with the size."""
    limit: str = COMPUTE
    knows: bool = False
    """The kernel uses its group: local memory, barriers."""
    blas: bool = False
    """BLAS has a routine for it."""
    native: bool = False
    """Plain C++ has it for any size."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One of them."""

    family: Family
    size: int
    group: Group
    program: Program

    @property
    def title(self) -> str:
        return f"{self.size} in {'×'.join(map(str, self.group))}" if self.group else f"{self.size}, no group"

    @property
    def work(self) -> float:
        """Beside that of the family's first size."""
        return float((self.size / self.family.sizes[0]) ** self.family.dimensions)


PLANE: Final = ((8, 8), (16, 16), (32, 4), (64, 4), (256, 1), NONE)
SQUARE: Final = ((16, 16), NONE)
SIZES: Final = (1024, 1000, 1023, 1021)
SMALL: Final = (512, 500, 511, 509)

FAMILIES: Final = (
    Family(
        *("saxpy_int", "saxpy, int index", _streaming, (8_388_608, 8_388_593), (2_097_152, 2_097_143)),
        *(((32,), (64,), (256,), (1024,), NONE), ((256,), NONE), 1, MEMORY),
        native=True,
    ),
    Family("multiply", "matmul", _multiply, SIZES, SMALL, PLANE, SQUARE, 3, blas=True),
    Family(
        *("multiply_by_groups", "matmul, ids from groups", _multiply, SIZES[:1], SMALL[:1], PLANE, SQUARE, 3),
    ),
    Family("convolve", "5×5 convolution", _convolution, SIZES, SMALL, PLANE, SQUARE, 2, native=True),
    Family("escape_times", "Mandelbrot", _escape, SIZES, SMALL, PLANE, SQUARE, 2),
    Family(
        *("turn", "plain transposition", _turn, (2048, 2000, 2047, 2039), SIZES, PLANE, SQUARE, 2, MEMORY),
        native=True,
    ),
    Family(
        *("diffuse", "3-D diffusion", _diffuse, (128, 100, 127), (64, 50, 61)),
        *(((8, 8, 4), (16, 16, 1), (32, 4, 1), (64, 4, 1), (128, 1, 1), NONE), ((8, 8, 4), NONE), 3, MEMORY),
        native=True,
    ),
    Family("smooth", "3×3 mean in local memory", _smooth, SIZES, SMALL, PLANE[:-1], SQUARE[:-1], 2, knows=True),
    Family(
        *("reduce_int", "reduction in local memory", _reduction, (8_388_608, 8_388_593), (2_097_152, 2_097_143)),
        *(((32,), (64,), (256,), (1024,)), ((256,),), 1, MEMORY, True),
    ),
)


def _shape(family: Family, number: int, group: Group) -> Shape:
    size = family.sizes[number]
    name = "x".join(map(str, group)) or "none"
    program = Program(
        *(f"{family.key}@{size}@{name}", f"{family.title}, {size}, {name}", family.make),
        *((19, group), (family.quick[number], group), (size, group)),
        limit=family.limit,
        kernel=family.key,
    )
    return Shape(family, size, group, program)


def shapes(family: Family) -> tuple[Shape, ...]:
    """Those of one size stand together."""
    return tuple(
        _shape(family, number, group)
        for number in range(len(family.sizes))
        for group in (family.groups if number == 0 else family.usual)
    )


SHAPES: Final = tuple(shape for family in FAMILIES for shape in shapes(family))
