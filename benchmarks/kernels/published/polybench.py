"""Programs after PolyBench/GPU: arguments, and by numpy what must come out."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from benchmarks.kernels.case import MEASURED, Argument, Array, Case
from benchmarks.kernels.program import MEMORY, Program
from benchmarks.kernels.programs import numbers
from benchmarks.kernels.published.rodinia import up

__all__ = ["PROGRAMS"]

FILE: Final = MEASURED / "polybench.spv"
ROW: Final = 256
PLANE: Final = (32, 8)
ALPHA, BETA = np.float32(1.5), np.float32(0.5)


def syrk(kernel: str, n: int, m: int) -> Case:
    def arguments() -> list[Argument]:
        return [numbers(1, (n, m)), numbers(2, (n, n)), ALPHA, BETA, np.int32(m), np.int32(n)]

    def expected(given: list[Any]) -> dict[int, Array]:
        a, c = given[:2]
        return {1: BETA * c + ALPHA * (a @ a.T)}

    size = (up(n, PLANE[0]), up(n, PLANE[1]))
    return Case(kernel, FILE, kernel, arguments, size, PLANE, expected, rtol=1e-3, atol=2e-6 * m)


def gesummv(kernel: str, n: int) -> Case:
    def arguments() -> list[Argument]:
        made = np.zeros(n, np.float32), np.zeros(n, np.float32)
        return [numbers(1, (n, n)), numbers(2, (n, n)), numbers(3, n), *made, ALPHA, BETA, np.int32(n)]

    def expected(given: list[Any]) -> dict[int, Array]:
        a, b, x = given[:3]
        return {3: ALPHA * (a @ x) + BETA * (b @ x), 4: a @ x}

    return Case(kernel, FILE, kernel, arguments, (up(n, ROW),), (ROW,), expected, rtol=1e-3, atol=1e-5 * n)


def bicg(kernel: str, nx: int, ny: int) -> Case:
    def arguments() -> list[Argument]:
        return [numbers(1, (nx, ny)), numbers(2, nx), np.zeros(ny, np.float32), np.int32(nx), np.int32(ny)]

    def expected(given: list[Any]) -> dict[int, Array]:
        return {2: given[1] @ given[0]}

    return Case(kernel, FILE, kernel, arguments, (up(ny, ROW),), (ROW,), expected, rtol=1e-3, atol=1e-5 * nx)


def covariance(kernel: str, m: int, n: int) -> Case:
    def arguments() -> list[Argument]:
        return [np.zeros((m, m), np.float32), numbers(1, (n, m)), np.int32(m), np.int32(n)]

    def expected(given: list[Any]) -> dict[int, Array]:
        return {0: given[1].T @ given[1]}

    return Case(kernel, FILE, kernel, arguments, (up(m, ROW),), (ROW,), expected, rtol=1e-3, atol=1e-5 * n)


def jacobi2d(kernel: str, n: int) -> Case:
    def arguments() -> list[Argument]:
        return [numbers(1, (n, n)), np.zeros((n, n), np.float32), np.int32(n)]

    def expected(given: list[Any]) -> dict[int, Array]:
        a, b, _ = given
        sides = a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1]
        b[1:-1, 1:-1] = (a[1:-1, 1:-1] + sides) / 5
        return {1: b}

    size = (up(n, PLANE[0]), up(n, PLANE[1]))
    return Case(kernel, FILE, kernel, arguments, size, PLANE, expected, rtol=1e-4, atol=1e-5)


PROGRAMS: Final = (
    Program("syrk", "SYRK", syrk, (20, 13), (256, 256), (512, 512), restored=(1,)),
    Program("gesummv", "GESUMMV", gesummv, (100,), (1024,), (2048,), limit=MEMORY),
    Program("bicg", "BICG", bicg, (60, 100), (1024, 1024), (2048, 2048), limit=MEMORY),
    Program("covariance", "covariance", covariance, (40, 30), (512, 256), (1024, 256)),
    Program("jacobi2d", "Jacobi 2-D", jacobi2d, (45,), (1000,), (2600,), limit=MEMORY),
)
