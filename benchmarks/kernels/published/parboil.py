"""Programs after Parboil: arguments, and by numpy what must come out."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from benchmarks.kernels.case import MEASURED, Argument, Array, Case
from benchmarks.kernels.program import MEMORY, Program
from benchmarks.kernels.programs import numbers
from benchmarks.kernels.published.rodinia import up

__all__ = ["PROGRAMS"]

FILE: Final = MEASURED / "parboil.spv"


def stencil(kernel: str, nx: int, ny: int, nz: int, group: tuple[int, int, int] = (32, 4, 1)) -> Case:
    centre, around = np.float32(1 / 6), np.float32(1 / 36)

    def arguments() -> list[Argument]:
        shape = (nz, ny, nx)
        return [centre, around, numbers(1, shape), np.zeros(shape, np.float32), *map(np.int32, (nx, ny, nz))]

    def expected(given: list[Any]) -> dict[int, Array]:
        old, made = given[2:4]
        middle = slice(1, -1)
        sides = old[:-2, middle, middle] + old[2:, middle, middle] + old[middle, :-2, middle]
        sides += old[middle, 2:, middle] + old[middle, middle, :-2] + old[middle, middle, 2:]
        made[middle, middle, middle] = around * sides - centre * old[middle, middle, middle]
        return {3: made}

    size = (up(nx - 2, group[0]), up(ny - 2, group[1]), nz - 2)
    return Case(kernel, FILE, kernel, arguments, size, group, expected, rtol=1e-4, atol=1e-6)


COLUMNS, DEPTH = 16, 8
ROWS: Final = COLUMNS * DEPTH


def sgemm(kernel: str, m: int, n: int, k: int) -> Case:
    """Matrices by columns; the second one is given transposed."""

    def arguments() -> list[Argument]:
        a, b, c = numbers(1, (k, m)), numbers(2, (k, n)), numbers(3, (n, m))
        scales = np.float32(1.0), np.float32(0.5)
        return [a, np.int32(m), b, np.int32(n), c, np.int32(m), np.int32(k), *scales]

    def expected(given: list[Any]) -> dict[int, Array]:
        return {4: given[2].T @ given[0] + given[4] / 2}

    size = (m // ROWS * COLUMNS, n // COLUMNS * DEPTH)
    return Case(kernel, FILE, kernel, arguments, size, (COLUMNS, DEPTH), expected, rtol=1e-3, atol=1e-6 * k)


def mri_q(kernel: str, voxels: int, samples: int, group: int = 256) -> Case:
    def arguments() -> list[Argument]:
        places = [numbers(seed, voxels) for seed in (1, 2, 3)]
        made = [np.zeros(voxels, np.float32), np.zeros(voxels, np.float32)]
        return [*places, *made, numbers(4, (samples, 4)), np.int32(samples)]

    def expected(given: list[Any]) -> dict[int, Array]:
        x, y, z, real, imaginary, k, _ = (np.asarray(each, np.float64) for each in given)
        # In pieces, so that all pairs need not fit into memory.
        for begin in range(0, voxels, 4096):
            part = slice(begin, begin + 4096)
            angle = 2 * np.pi * (np.outer(x[part], k[:, 0]) + np.outer(y[part], k[:, 1]) + np.outer(z[part], k[:, 2]))
            real[part] += np.cos(angle) @ k[:, 3]
            imaginary[part] += np.sin(angle) @ k[:, 3]
        return {3: real, 4: imaginary}

    return Case(kernel, FILE, kernel, arguments, (voxels,), (group,), expected, rtol=1e-3, atol=1e-4 * samples)


BLOCK: Final = 16


def sad(kernel: str, width: int, height: int, reach: int, group: int = 61) -> Case:
    side, across, down = 2 * reach + 1, width // BLOCK, height // BLOCK

    def arguments() -> list[Argument]:
        rng = np.random.default_rng(1)
        frame = rng.integers(0, 256, (height, width), np.uint8)
        reference = rng.integers(0, 256, (height + 2 * reach, width + 2 * reach), np.uint8)
        sums = np.zeros((across * down, side, side), np.uint32)
        return [frame, reference, sums, *map(np.int32, (width, reach, across))]

    def expected(given: list[Any]) -> dict[int, Array]:
        frame, reference, sums = (each.astype(np.int32) for each in given[:3])
        for dy in range(side):
            for dx in range(side):
                apart = np.abs(frame - reference[dy : dy + height, dx : dx + width])
                blocks = apart[: down * BLOCK, : across * BLOCK].reshape(down, BLOCK, across, BLOCK)
                sums[:, dy, dx] = blocks.sum(axis=(1, 3)).ravel()
        return {2: sums.astype(np.uint32)}

    size = (up(side * side, group), across * down)
    return Case(kernel, FILE, kernel, arguments, size, (group, 1), expected)


BINS: Final = 32


def tpacf(kernel: str, points: int, group: int = 256) -> Case:
    def arguments() -> list[Argument]:
        places = numbers(1, (3, points)).astype(np.float64)
        places /= np.sqrt((places**2).sum(axis=0))
        bounds = np.cos(np.linspace(0, np.pi, BINS + 1))[:BINS].astype(np.float32)
        return [*places.astype(np.float32), bounds, np.zeros(BINS, np.uint32), np.int32(points)]

    def expected(given: list[Any]) -> dict[int, Array]:
        x, y, z, bounds, bins, _ = given
        for i in range(points):
            cosine = x[i] * x[i + 1 :] + y[i] * y[i + 1 :] + z[i] * z[i + 1 :]
            # The bin's bound is the last one above.
            places = np.searchsorted(-bounds, -cosine, side="left") - 1
            bins += np.bincount(np.clip(places, 0, BINS - 1), minlength=BINS).astype(np.uint32)
        return {4: bins}

    # A cosine that rounding moves across a bound counts elsewhere.
    size = (points * group,)
    return Case(kernel, FILE, kernel, arguments, size, (group,), expected, atol=2 + points / 50)


PROGRAMS: Final = (
    Program("stencil", "stencil", stencil, (20, 11, 6), (256, 256, 32), (512, 512, 64), limit=MEMORY),
    Program("sgemm", "SGEMM", sgemm, (128, 32, 24), (512, 496, 528), (1024, 992, 1056)),
    Program("mri_q", "MRI-Q", mri_q, (256, 20), (8192, 256), (16_384, 512)),
    Program("sad", "SAD", sad, (48, 32, 3), (176, 144, 8), (352, 288, 16)),
    Program("tpacf", "TPACF", tpacf, (60,), (1024,), (2048,), restored=(4,)),
)
