"""The benchmarks' kernels: what each computes, and how large it is for a test, a first impression and a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from benchmarks.kernels.case import FOLDER, Argument, Array, Case, Image, Local
from benchmarks.kernels.program import LAUNCH, MEMORY, Program

__all__ = ["PROGRAMS"]

GROUP: Final = 256
TILE: Final = 16


def numbers(seed: int, shape: int | tuple[int, ...], low: float = -1.0, high: float = 1.0, dtype: Any = "f4") -> Array:
    return np.random.default_rng(seed).uniform(low, high, shape).astype(dtype)


def divisor(n: int, at_most: int) -> int:
    """The largest size of a group that divides `n`."""
    return next(size for size in range(min(n, at_most), 0, -1) if n % size == 0)


def square(n: int) -> tuple[int, int]:
    """The group that most people write for two dimensions: 16 × 16, or what of it divides `n`."""
    return divisor(n, TILE), divisor(n, TILE)


def streaming(kernel: str, n: int) -> Case:
    def arguments() -> list[Argument]:
        size = [] if kernel == "saxpy_unchecked" else [np.uint64(n) if kernel == "saxpy" else np.int32(n)]
        return [numbers(1, n), numbers(2, n), np.float32(1.5), *size]

    def expected(given: list[Any]) -> dict[int, Array]:
        y, x, a, *_ = given
        return {0: a * x + y}

    return Case(
        kernel, FOLDER / "saxpy.spv", kernel, arguments, (n,), (divisor(n, GROUP),), expected, rtol=1e-6, atol=1e-6
    )


def triad(kernel: str, n: int) -> Case:
    def arguments() -> list[Argument]:
        return [np.zeros(n, np.float32), numbers(1, n), numbers(2, n), np.float32(3.0)]

    def expected(given: list[Any]) -> dict[int, Array]:
        _, b, c, s = given
        return {0: b + s * c}

    return Case(
        kernel, FOLDER / "saxpy.spv", kernel, arguments, (n,), (divisor(n, GROUP),), expected, rtol=1e-6, atol=1e-6
    )


def matmul(kernel: str, n: int) -> Case:
    def arguments() -> list[Argument]:
        size = np.uint64(n) if kernel == "matmul_size_t" else np.int32(n)
        return [np.zeros((n, n), np.float32), numbers(1, (n, n)), numbers(2, (n, n)), size]

    def expected(given: list[Any]) -> dict[int, Array]:
        _, a, b, _ = given
        return {0: a @ b}

    spv = FOLDER / "matmul.spv"
    return Case(kernel, spv, kernel, arguments, (n, n), square(n), expected, rtol=1e-4, atol=1e-6 * n)


def nbody(kernel: str, n: int, file: str = "nbody.spv") -> Case:
    real: Any = np.float32 if kernel.endswith("f32") else np.float64

    def arguments() -> list[Argument]:
        bodies = numbers(1, (n, 4), dtype=real)
        bodies[:, 3] = np.abs(bodies[:, 3])
        return [np.zeros((n, 4), real), bodies, np.int32(n), real(0.01)]

    def expected(given: list[Any]) -> dict[int, Array]:
        _, bodies, _, softening = given
        made = np.zeros((n, 4), real)
        # In pieces, so that all pairs need not fit into memory.
        for begin in range(0, n, 256):
            piece = slice(begin, begin + 256)
            apart = [bodies[None, :, axis] - bodies[piece, None, axis] for axis in range(3)]
            inverse = 1 / np.sqrt(apart[0] ** 2 + apart[1] ** 2 + apart[2] ** 2 + softening)
            pull = bodies[None, :, 3] * inverse**3
            for axis in range(3):
                made[piece, axis] = (apart[axis] * pull).sum(axis=1)
        return {0: made}

    rtol, atol = (1e-3, 2e-5 * n) if real is np.float32 else (1e-9, 1e-12 * n)
    needs = frozenset() if real is np.float32 else frozenset({"double"})
    group = (divisor(n, GROUP),)
    return Case(kernel, FOLDER / file, kernel, arguments, (n,), group, expected, rtol, atol, needs=needs)


def scalar_nbody(kernel: str, n: int) -> Case:
    return nbody(kernel, n, "nbody.scalar.spv")


def mandelbrot(kernel: str, n: int, limit: int = 256) -> Case:
    step = np.float32(3.0 / n)

    def arguments() -> list[Argument]:
        return [np.zeros((n, n), np.uint32), np.float32(-2.0), np.float32(-1.5), step, np.uint32(limit)]

    def expected(given: list[Any]) -> dict[int, Array]:
        counts, left, top, _, _ = given
        re = (left + step * np.arange(n, dtype=np.float32))[None, :] + np.zeros((n, 1), np.float32)
        im = (top + step * np.arange(n, dtype=np.float32))[:, None] + np.zeros((1, n), np.float32)
        at = np.arange(n * n)
        re, im = re.ravel(), im.ravel()
        x, y = np.zeros_like(re), np.zeros_like(im)
        flat = counts.ravel()
        for _ in range(limit):
            inside = x * x + y * y <= 4
            at, re, im, x, y = (values[inside] for values in (at, re, im, x, y))
            x, y = x * x - y * y + re, 2 * x * y + im
            flat[at] += 1
        return {0: flat.reshape(n, n)}

    return Case(kernel, FOLDER / "mandelbrot.spv", kernel, arguments, (n, n), square(n), expected, outliers=0.02)


def black_scholes(kernel: str, n: int) -> Case:
    real: Any = np.float32 if kernel.endswith("f32") else np.float64

    def arguments() -> list[Argument]:
        return [
            *(np.zeros(n, real), np.zeros(n, real)),
            numbers(1, n, 5, 30, real),
            numbers(2, n, 1, 100, real),
            numbers(3, n, 0.25, 10, real),
            *(real(0.02), real(0.3)),
        ]

    def distribution(d: Array) -> Array:
        k = 1 / (1 + 0.2316419 * np.abs(d))
        tail = 0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))
        area = 0.39894228040143267794 * np.exp(-0.5 * d * d) * k * tail
        return np.where(d > 0, 1 - area, area)

    def expected(given: list[Any]) -> dict[int, Array]:
        _, _, s, x, t, rate, volatility = (np.float64(value) for value in given)
        spread = volatility * np.sqrt(t)
        d1 = (np.log(s / x) + (rate + 0.5 * volatility**2) * t) / spread
        n1, n2 = distribution(d1), distribution(d1 - spread)
        discounted = x * np.exp(-rate * t)
        return {0: s * n1 - discounted * n2, 1: discounted * (1 - n2) - s * (1 - n1)}

    near = 1e-4 if real is np.float32 else 1e-12
    needs = frozenset() if real is np.float32 else frozenset({"double"})
    spv = FOLDER / "black_scholes.spv"
    return Case(kernel, spv, kernel, arguments, (n,), (divisor(n, GROUP),), expected, near, near, needs=needs)


def reduction(kernel: str, n: int, group: int = GROUP) -> Case:
    groups = -(-n // group)

    def arguments() -> list[Argument]:
        size = np.uint64(n) if kernel == "reduce_size_t" else np.int32(n)
        return [np.zeros(groups, np.float32), numbers(1, n, 0, 1), Local(4 * group), size]

    def expected(given: list[Any]) -> dict[int, Array]:
        padded = np.zeros(groups * group)
        padded[:n] = given[1]
        return {0: padded.reshape(groups, group).sum(axis=1)}

    spv = FOLDER / "reduction.spv"
    return Case(kernel, spv, kernel, arguments, (groups * group,), (group,), expected, rtol=1e-5)


def histogram(kernel: str, n: int, per_group: int = 1 << 14, group: int = GROUP) -> Case:
    groups = -(-n // per_group)

    def arguments() -> list[Argument]:
        data = np.random.default_rng(1).integers(0, 256, n, np.uint8)
        return [np.zeros(256, np.uint32), data, np.uint32(n), np.uint32(per_group)]

    def expected(given: list[Any]) -> dict[int, Array]:
        return {0: np.bincount(given[1], minlength=256).astype(np.uint32)}

    return Case(kernel, FOLDER / "histogram.spv", kernel, arguments, (groups * group,), (group,), expected)


def convolution(kernel: str, n: int) -> Case:
    def arguments() -> list[Argument]:
        weights = np.outer([1, 4, 6, 4, 1], [1, 4, 6, 4, 1]).astype(np.float32) / 256
        return [np.zeros((n, n), np.float32), numbers(1, (n, n)), weights, np.int32(n), np.int32(n)]

    def expected(given: list[Any]) -> dict[int, Array]:
        padded = np.pad(given[1], 2, mode="edge")
        taps = [given[2][dy, dx] * padded[dy : dy + n, dx : dx + n] for dy in range(5) for dx in range(5)]
        return {0: np.add.reduce(taps)}

    spv = FOLDER / "convolution.spv"
    return Case(kernel, spv, kernel, arguments, (n, n), square(n), expected, rtol=1e-5, atol=1e-6)


def transposition(kernel: str, width: int, height: int) -> Case:
    def arguments() -> list[Argument]:
        matrix = numbers(1, (height, width))
        return [np.zeros((width, height), np.float32), matrix, np.int32(width), np.int32(height)]

    def expected(given: list[Any]) -> dict[int, Array]:
        return {0: given[1].T.copy()}

    size = (-(-width // TILE) * TILE, -(-height // TILE) * TILE)
    return Case(kernel, FOLDER / "transposition.spv", kernel, arguments, size, (TILE, TILE), expected)


def scan(kernel: str, n: int) -> Case:
    def arguments() -> list[Argument]:
        return [np.zeros(n, np.int32), np.random.default_rng(1).integers(-100, 100, n, np.int32)]

    def expected(given: list[Any]) -> dict[int, Array]:
        return {0: np.cumsum(given[1].reshape(-1, GROUP), axis=1, dtype=np.int32).ravel()}

    return Case(kernel, FOLDER / "scan.spv", kernel, arguments, (n,), (GROUP,), expected)


def bitonic(kernel: str, n: int) -> Case:
    def arguments() -> list[Argument]:
        data = np.random.default_rng(1).integers(0, 1 << 32, n, np.uint32)
        return [data, np.uint32(1), np.uint32(2)]

    def expected(given: list[Any]) -> dict[int, Array]:
        return {0: np.sort(given[0])}

    stages = [1 << s for s in range(1, n.bit_length())]
    steps = [(stage, stage >> shift) for stage in stages for shift in range(1, stage.bit_length())]
    launches = tuple({1: np.uint32(distance), 2: np.uint32(stage)} for stage, distance in steps)
    spv = FOLDER / "bitonic.spv"
    return Case(kernel, spv, kernel, arguments, (n,), (divisor(n, GROUP),), expected, launches=launches)


def spmv(kernel: str, n: int) -> Case:
    def arguments() -> list[Argument]:
        rng = np.random.default_rng(1)
        starts = np.zeros(n + 1, np.int32)
        starts[1:] = np.cumsum(rng.integers(0, 32, n))
        entries = int(starts[-1])
        columns = rng.integers(0, n, entries, np.int32)
        return [np.zeros(n, np.float32), starts, columns, numbers(2, entries), numbers(3, n), np.int32(n)]

    def expected(given: list[Any]) -> dict[int, Array]:
        _, starts, columns, values, x, _ = given
        sums = np.concatenate([[0.0], np.cumsum(values.astype(np.float64) * x[columns])])
        return {0: sums[starts[1:]] - sums[starts[:-1]]}

    spv = FOLDER / "spmv.spv"
    return Case(kernel, spv, kernel, arguments, (n,), (divisor(n, GROUP),), expected, rtol=1e-4, atol=1e-5)


def hashing(kernel: str, n: int, rounds: int = 32) -> Case:
    def arguments() -> list[Argument]:
        return [np.zeros(n, np.uint32), np.arange(n, dtype=np.uint32), np.uint32(rounds)]

    def expected(given: list[Any]) -> dict[int, Array]:
        h = given[1].copy()
        for number in range(rounds):
            h ^= h >> 16
            h *= np.uint32(0x85EBCA6B)
            h ^= h >> 13
            h *= np.uint32(0xC2B2AE35)
            h ^= h >> 16
            h += np.uint32(number)
        return {0: h}

    return Case(kernel, FOLDER / "hash.spv", kernel, arguments, (n,), (divisor(n, GROUP),), expected)


def interpolated(pixels: Array, scale: int) -> Array:
    height, width = pixels.shape[:2]

    def axis(size: int) -> tuple[Array, Array, Array]:
        where = (np.arange(size * scale) + 0.5) / scale - 0.5
        low = np.floor(where).astype(int)
        return np.clip(low, 0, size - 1), np.clip(low + 1, 0, size - 1), where - low

    x0, x1, a = axis(width)
    y0, y1, b = axis(height)
    rows = pixels[y0] * (1 - b)[:, None, None] + pixels[y1] * b[:, None, None]
    return np.asarray(rows[:, x0] * (1 - a)[:, None] + rows[:, x1] * a[:, None])


def bilinear(kernel: str, n: int, scale: int = 2) -> Case:
    large = (n * scale, n * scale, 4)

    def arguments() -> list[Argument]:
        pixels = np.random.default_rng(1).integers(0, 256, (n, n, 4), np.uint8)
        if kernel == "bilinear_image":
            return [Image(np.zeros(large, np.uint8), normalized=True, access="write"), Image(pixels, normalized=True)]
        pixels = pixels if kernel == "bilinear_uchar4" else pixels.astype(np.float32)
        return [np.zeros(large, pixels.dtype), pixels, np.int32(n), np.int32(n)]

    def expected(given: list[Any]) -> dict[int, Array]:
        pixels = given[1].pixels if isinstance(given[1], Image) else given[1]
        made = interpolated(pixels.astype(np.float64), scale)
        return {0: made if kernel == "bilinear_float4" else np.rint(made).astype(np.uint8)}

    spv = FOLDER / "bilinear.spv"
    images = frozenset({"images"}) if kernel == "bilinear_image" else frozenset()
    # A sampler's weights may have as few as eight bits.
    atol = 1e-3 if kernel == "bilinear_float4" else 1.0
    return Case(kernel, spv, kernel, arguments, large[:2], square(n * scale), expected, 1e-5, atol, needs=images)


def empty(kernel: str, n: int, launches: int = 1) -> Case:
    nothing: Mapping[int, np.generic] = {}
    spv = FOLDER / "empty.spv"
    return Case(kernel, spv, kernel, list, (n,), (n,), lambda given: {}, launches=(nothing,) * launches)


def crowd(kernel: str, groups: int, group: int) -> Case:
    """Many groups that have nothing to do: what remains is what a group costs."""

    def arguments() -> list[Argument]:
        return [np.zeros(1, np.int32)]

    spv = FOLDER / "empty.spv"
    return Case(kernel, spv, kernel, arguments, (groups * group,), (group,), lambda given: {0: given[0]})


def exchange(kernel: str, groups: int, group: int) -> Case:
    """Small groups with barriers, which no compiler takes for one long row."""

    def arguments() -> list[Argument]:
        given = np.random.default_rng(1).integers(-100, 100, groups * group, np.int32)
        return [np.zeros(groups * group, np.int32), given, Local(4 * group)]

    def expected(given: list[Any]) -> dict[int, Array]:
        own = given[1].reshape(groups, group)
        left, right = np.roll(own, 1, axis=1), np.roll(own, -1, axis=1)
        return {0: (own + left - right + (left * right)[:, ::-1]).ravel()}

    spv = FOLDER / "barriers.spv"
    return Case(kernel, spv, kernel, arguments, (groups * group,), (group,), expected)


K: Final = 1 << 10
M: Final = 1 << 20

PROGRAMS: Final = (
    Program("saxpy", "saxpy", streaming, (300,), (4 * M,), (16 * M,), limit=MEMORY),
    Program("saxpy_int", "saxpy, int index", streaming, (300,), (4 * M,), (16 * M,), limit=MEMORY),
    Program("saxpy_unchecked", "saxpy, int index, no bound", streaming, (300,), (4 * M,), (16 * M,), limit=MEMORY),
    Program("triad", "triad", triad, (300,), (4 * M,), (16 * M,), limit=MEMORY),
    Program("matmul_int", "matmul, int indices", matmul, (20,), (512,), (1024,)),
    Program("matmul_size_t", "matmul, size_t indices", matmul, (20,), (512,), (1024,)),
    Program("matmul_tiled", "matmul, tiled 16×16", matmul, (16,), (512,), (1024,)),
    Program("nbody_f32", "n-body f32", nbody, (40,), (4 * K,), (8 * K,)),
    Program(
        "nbody_f32_scalar", "n-body f32, no short vectors", scalar_nbody, (40,), (4 * K,), (8 * K,), kernel="nbody_f32"
    ),
    Program("nbody_f64", "n-body f64", nbody, (40,), (2 * K,), (4 * K,)),
    Program("mandelbrot", "Mandelbrot", mandelbrot, (20, 50), (512,), (1024,)),
    Program("black_scholes_f32", "Black-Scholes f32", black_scholes, (100,), (M,), (4 * M,)),
    Program("black_scholes_f64", "Black-Scholes f64", black_scholes, (100,), (256 * K,), (M,)),
    Program("reduce_int", "reduction, int indices", reduction, (230, 64), (4 * M,), (16 * M,), limit=MEMORY),
    Program("reduce_size_t", "reduction, size_t indices", reduction, (230, 64), (4 * M,), (16 * M,), limit=MEMORY),
    Program("histogram", "histogram", histogram, (1000, 300, 64), (4 * M,), (16 * M,), restored=(0,)),
    Program("convolve", "5×5 convolution", convolution, (20,), (1024,), (2048,)),
    Program("transpose", "transposition", transposition, (20, 13), (2048, 2048), (4096, 4096), limit=MEMORY),
    Program("scan_group", "scan per group of 256", scan, (512,), (M,), (4 * M,), limit=MEMORY),
    Program("bitonic_step", "bitonic sort", bitonic, (64,), (1 << 16,), (1 << 18,), restored=(0,), limit=MEMORY),
    Program("spmv", "sparse matrix × vector", spmv, (100,), (64 * K,), (256 * K,), limit=MEMORY),
    Program("hash", "integer hash × 32", hashing, (100,), (M,), (4 * M,)),
    Program("bilinear_uchar4", "bilinear scaling, uchar4", bilinear, (10,), (512,), (1024,)),
    Program("bilinear_float4", "bilinear scaling, float4", bilinear, (10,), (512,), (1024,), limit=MEMORY),
    Program("bilinear_image", "bilinear scaling, images", bilinear, (10,), (256,), (1024,)),
    Program("empty", "empty kernel, launch and wait", empty, (1,), (1,), (1,), repeats=1000, limit=LAUNCH),
    Program(
        *("empty_queued", "empty kernel, of 1,000 queued", empty, (1, 3), (1, 1000), (1, 1000)),
        parts=1000,
        kernel="empty",
        limit=LAUNCH,
    ),
    Program(
        *("empty_groups", "empty kernel, 1,000,000 groups, per group", crowd, (7, 64), *[(1_000_000, 64)] * 2),
        parts=1_000_000,
        kernel="empty_one_argument",
        limit=LAUNCH,
    ),
    Program(
        *("empty_billion", "empty kernel, 1,000,000,000 work-items", crowd, (3, 50), *[(1_000_000, 1000)] * 2),
        kernel="empty_one_argument",
        limit=LAUNCH,
    ),
    Program(
        *("small_groups", "groups of 16 with three barriers, per group", exchange, (7, 16), *[(100_000, 16)] * 2),
        parts=100_000,
        kernel="neighbours",
        limit=LAUNCH,
    ),
)
