"""The programs once more, as Python functions with `@az.kernel`: what does it cost to write them so?

Each has the name, the parameters and the algorithm of its twin in OpenCL C, so that the twin's case runs it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import anyzero as az
from benchmarks import sources
from benchmarks.kernels.case import Argument, Case, Sampler

__all__ = ["TWINS", "twin"]

TILE: Final = 16
BINS: Final = 256
GROUP: Final = 256
REACH: Final = 2


@az.kernel
def saxpy(y: az.ptr[az.f32], x: az.ptr[az.f32], a: az.f32, n: az.u64) -> None:
    i = az.u64(az.global_id(0))
    if i < n:
        y[i] = a * x[i] + y[i]


@az.kernel
def saxpy_int(y: az.ptr[az.f32], x: az.ptr[az.f32], a: az.f32, n: az.i32) -> None:
    i = az.global_id(0)
    if i < n:
        y[i] = a * x[i] + y[i]


@az.kernel
def saxpy_unchecked(y: az.ptr[az.f32], x: az.ptr[az.f32], a: az.f32) -> None:
    i = az.global_id(0)
    y[i] = a * x[i] + y[i]


@az.kernel
def triad(a: az.ptr[az.f32], b: az.ptr[az.f32], c: az.ptr[az.f32], s: az.f32) -> None:
    i = az.global_id(0)
    a[i] = b[i] + s * c[i]


@az.kernel
def matmul_int(c: az.ptr[az.f32], a: az.ptr[az.f32], b: az.ptr[az.f32], n: az.i32) -> None:
    column, row = az.global_id(0), az.global_id(1)
    total = 0.0
    for k in range(n):
        total += a[row * n + k] * b[k * n + column]
    c[row * n + column] = total


@az.kernel
def matmul_size_t(c: az.ptr[az.f32], a: az.ptr[az.f32], b: az.ptr[az.f32], n: az.u64) -> None:
    column, row = az.u64(az.global_id(0)), az.u64(az.global_id(1))
    total = 0.0
    for k in range(n):
        total += a[row * n + k] * b[k * n + column]
    c[row * n + column] = total


@az.kernel(group=(TILE, TILE))
def matmul_tiled(c: az.ptr[az.f32], a: az.ptr[az.f32], b: az.ptr[az.f32], n: az.i32) -> None:
    left = az.local[az.f32, TILE, TILE]
    right = az.local[az.f32, TILE, TILE]
    x, y = az.local_id(0), az.local_id(1)
    column, row = az.global_id(0), az.global_id(1)
    total = 0.0
    for tile in range(0, n, TILE):
        left[y, x] = a[row * n + tile + x]
        right[y, x] = b[(tile + y) * n + column]
        az.barrier()
        for k in range(TILE):
            total += left[y, k] * right[k, x]
        az.barrier()
    c[row * n + column] = total


@az.kernel
def nbody(acceleration, bodies, n: az.i32, softening) -> None:  # type: ignore[no-untyped-def]
    i = az.global_id(0)
    own = bodies[i]
    x, y, z = 0.0, 0.0, 0.0
    for j in range(n):
        other = bodies[j]
        dx, dy, dz = other.x - own.x, other.y - own.y, other.z - own.z
        inverse = az.math.rsqrt(dx * dx + dy * dy + dz * dz + softening)
        pull = other.w * inverse * inverse * inverse
        x += dx * pull
        y += dy * pull
        z += dz * pull
    own.x = x
    own.y = y
    own.z = z
    own.w = 0.0
    acceleration[i] = own


@az.kernel
def mandelbrot(counts: az.ptr[az.u32], left: az.f32, top: az.f32, step: az.f32, limit: az.u32) -> None:
    column, row = az.global_id(0), az.global_id(1)
    re, im = left + step * column, top + step * row
    x, y = 0.0, 0.0
    count = az.u32(0)
    while count < limit and x * x + y * y <= 4.0:
        x, y = x * x - y * y + re, 2.0 * x * y + im
        count += 1
    counts[row * az.global_size(0) + column] = count


@az.function
def distribution(d):  # type: ignore[no-untyped-def]
    """The normal distribution by the usual polynomial, for both types of numbers."""
    k = 1.0 / (1.0 + 0.2316419 * abs(d))
    tail = k * 1.330274429 - 1.821255978
    tail = 1.781477937 + k * tail
    tail = k * tail - 0.356563782
    tail = 0.31938153 + k * tail
    area = 0.39894228040143267794 * math.exp(-0.5 * d * d) * k * tail
    return 1.0 - area if d > 0.0 else area


@az.kernel
def black_scholes(call, put, price, strike, years, rate, volatility):  # type: ignore[no-untyped-def]
    i = az.global_id(0)
    s, x, t = price[i], strike[i], years[i]
    spread = volatility * math.sqrt(t)
    d1 = (math.log(s / x) + (rate + 0.5 * volatility * volatility) * t) / spread
    n1, n2 = distribution(d1), distribution(d1 - spread)
    discounted = x * math.exp(-rate * t)
    call[i] = s * n1 - discounted * n2
    put[i] = discounted * (1.0 - n2) - s * (1.0 - n1)


@az.kernel
def reduce_int(sums: az.ptr[az.f32], data: az.ptr[az.f32], scratch: az.local[az.f32], n: az.i32) -> None:  # type: ignore[valid-type]
    item, i = az.local_id(0), az.global_id(0)
    scratch[item] = data[i] if i < n else 0.0
    az.barrier()
    width = az.local_size(0) // 2
    while width > 0:
        if item < width:
            scratch[item] += scratch[item + width]
        az.barrier()
        width //= 2
    if item == 0:
        sums[az.group_id(0)] = scratch[0]


@az.kernel
def reduce_size_t(sums: az.ptr[az.f32], data: az.ptr[az.f32], scratch: az.local[az.f32], n: az.u64) -> None:  # type: ignore[valid-type]
    item, i = az.local_id(0), az.u64(az.global_id(0))
    scratch[item] = data[i] if i < n else 0.0
    az.barrier()
    width = az.local_size(0) // 2
    while width > 0:
        if item < width:
            scratch[item] += scratch[item + width]
        az.barrier()
        width //= 2
    if item == 0:
        sums[az.group_id(0)] = scratch[0]


@az.kernel
def histogram(counts: az.ptr[az.u32], data: az.ptr[az.u8], n: az.u32, per_group: az.u32) -> None:
    own = az.local[az.u32, BINS]
    for b in range(az.local_id(0), BINS, az.local_size(0)):
        own[b] = 0
    az.barrier()
    begin = az.u32(az.group_id(0)) * per_group
    end = min(begin + per_group, n)
    for i in range(begin + az.u32(az.local_id(0)), end, az.u32(az.local_size(0))):
        az.atomic_add(own, data[i], 1)
    az.barrier()
    for b in range(az.local_id(0), BINS, az.local_size(0)):
        if own[b]:
            az.atomic_add(counts, b, own[b])


@az.kernel
def convolve(
    to: az.ptr[az.f32], source: az.ptr[az.f32], weights: az.ptr[az.f32], width: az.i32, height: az.i32
) -> None:
    x, y = az.i32(az.global_id(0)), az.i32(az.global_id(1))
    if x >= width or y >= height:
        return
    total = 0.0
    for dy in range(-REACH, REACH + 1):
        for dx in range(-REACH, REACH + 1):
            column = az.math.clamp(x + dx, 0, width - 1)
            row = az.math.clamp(y + dy, 0, height - 1)
            total += weights[(dy + REACH) * (2 * REACH + 1) + dx + REACH] * source[row * width + column]
    to[y * width + x] = total


@az.kernel(group=(TILE, TILE))
def transpose(to: az.ptr[az.f32], source: az.ptr[az.f32], width: az.i32, height: az.i32) -> None:
    tile = az.local[az.f32, TILE, TILE + 1]
    x, y = az.global_id(0), az.global_id(1)
    if x < width and y < height:
        tile[az.local_id(1), az.local_id(0)] = source[y * width + x]
    az.barrier()
    column = az.group_id(1) * TILE + az.local_id(0)
    row = az.group_id(0) * TILE + az.local_id(1)
    if column < height and row < width:
        to[row * height + column] = tile[az.local_id(0), az.local_id(1)]


@az.kernel(group=GROUP)
def scan_group(sums: az.ptr[az.i32], data: az.ptr[az.i32]) -> None:
    partial = az.local[az.i32, GROUP]
    item = az.local_id(0)
    partial[item] = data[az.global_id(0)]
    az.barrier()
    distance = 1
    while distance < GROUP:
        left = partial[item - distance] if item >= distance else 0
        az.barrier()
        partial[item] += left
        az.barrier()
        distance *= 2
    sums[az.global_id(0)] = partial[item]


@az.kernel
def bitonic_step(data: az.ptr[az.u32], distance: az.u32, stage: az.u32) -> None:
    i = az.u32(az.global_id(0))
    partner = i ^ distance
    if partner <= i:
        return
    low, high = data[i], data[partner]
    ascending = (i & stage) == 0
    if (low > high) == ascending:
        data[i] = high
        data[partner] = low


@az.kernel
def spmv(
    y: az.ptr[az.f32],
    row_starts: az.ptr[az.i32],
    columns: az.ptr[az.i32],
    values: az.ptr[az.f32],
    x: az.ptr[az.f32],
    rows: az.i32,
) -> None:
    row = az.global_id(0)
    if row >= rows:
        return
    total = 0.0
    for k in range(row_starts[row], row_starts[row + 1]):
        total += values[k] * x[columns[k]]
    y[row] = total


@az.kernel(group=None)
def hash(to: az.ptr[az.u32], source: az.ptr[az.u32], rounds: az.u32) -> None:  # noqa: A001 (the twin's name)
    i = az.global_id(0)
    h = source[i]
    for number in range(rounds):
        h ^= h >> 16
        h *= 0x85EBCA6B
        h ^= h >> 13
        h *= 0xC2B2AE35
        h ^= h >> 16
        h += number
    to[i] = h


uchar4 = az.vector[az.u8, 4]


@az.function
def corners(width: az.i32, height: az.i32):  # type: ignore[no-untyped-def]
    """The four pixels around a place, and how far it is between them."""
    x, y = az.i32(az.global_id(0)), az.i32(az.global_id(1))
    u = (x + 0.5) * width / az.global_size(0) - 0.5
    v = (y + 0.5) * height / az.global_size(1) - 0.5
    left, top = math.floor(u), math.floor(v)
    x0, x1 = az.math.clamp(int(left), 0, width - 1), az.math.clamp(int(left) + 1, 0, width - 1)
    y0, y1 = az.math.clamp(int(top), 0, height - 1), az.math.clamp(int(top) + 1, 0, height - 1)
    return y0 * width + x0, y0 * width + x1, y1 * width + x0, y1 * width + x1, u - left, v - top


@az.kernel
def bilinear_uchar4(to: az.ptr[uchar4], source: az.ptr[uchar4], width: az.i32, height: az.i32) -> None:  # type: ignore[valid-type]
    p, q, r, s, a, b = corners(width, height)
    upper = az.math.mix(az.float4(source[p]), az.float4(source[q]), az.float4(a))
    lower = az.math.mix(az.float4(source[r]), az.float4(source[s]), az.float4(a))
    mixed = az.math.clamp(az.math.rint(az.math.mix(upper, lower, az.float4(b))), az.float4(0.0), az.float4(255.0))
    to[az.global_id(1) * az.global_size(0) + az.global_id(0)] = uchar4(mixed)


@az.kernel
def bilinear_float4(to: az.ptr[az.float4], source: az.ptr[az.float4], width: az.i32, height: az.i32) -> None:
    p, q, r, s, a, b = corners(width, height)
    upper = az.math.mix(source[p], source[q], az.float4(a))
    lower = az.math.mix(source[r], source[s], az.float4(a))
    to[az.global_id(1) * az.global_size(0) + az.global_id(0)] = az.math.mix(upper, lower, az.float4(b))


@az.kernel
def bilinear_image(to: az.output_image[az.f32, 2], source: az.image[az.f32, 2], smooth: az.sampler) -> None:
    x, y = az.i32(az.global_id(0)), az.i32(az.global_id(1))
    to.write(x, y, source.sample(smooth, (x + 0.5) / to.width, (y + 0.5) / to.height))


@az.kernel
def empty() -> None:
    pass


@az.kernel
def empty_one_argument(unused: az.ptr[az.i32]) -> None:
    pass


@az.kernel
def neighbours(out: az.ptr[az.i32], source: az.ptr[az.i32], shared: az.local[az.i32]) -> None:  # type: ignore[valid-type]
    item, size = az.i32(az.local_id(0)), az.i32(az.local_size(0))
    own = source[az.global_id(0)]
    shared[item] = own
    az.barrier()
    left, right = shared[(item + size - 1) % size], shared[(item + 1) % size]
    az.barrier()
    shared[item] = left * right
    az.barrier()
    out[az.global_id(0)] = own + left - right + shared[size - 1 - item]


_PLAIN: Final = (
    *(saxpy, saxpy_int, saxpy_unchecked, triad, matmul_int, matmul_size_t, matmul_tiled, mandelbrot),
    *(reduce_int, reduce_size_t, histogram, convolve, transpose, scan_group, bitonic_step, spmv, hash),
    *(bilinear_uchar4, bilinear_float4, bilinear_image, empty, empty_one_argument, neighbours),
)


def _options(of: Any) -> Any:
    pointer = az.ptr[of]  # type: ignore[valid-type]
    return black_scholes.specialized(*[pointer] * 5, of, of)


def _bodies(of: Any, vector: Any) -> Any:
    pointer = az.ptr[vector]  # type: ignore[valid-type]
    return nbody.specialized(pointer, pointer, az.i32, of)


TWINS: Final[dict[str, Any]] = {
    **{each.source.name: each for each in _PLAIN},
    "black_scholes_f32": _options(az.f32),
    "black_scholes_f64": _options(az.f64),
    "nbody_f32": _bodies(az.f32, az.float4),
    "nbody_f64": _bodies(az.f64, az.double4),
}
"""The kernels by the names of their twins: a kernel, or one for certain types."""


def twin(case: Case) -> Case:
    """The same case with the kernel in Python."""
    made = TWINS[case.kernel]
    path: Path = sources.BUILD / "python" / f"{case.kernel}.spv"
    spirv = made.spirv
    if not path.exists() or path.read_bytes() != spirv:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(spirv)
    # A generic kernel has one name for all types.
    name = case.kernel.removesuffix("_f32").removesuffix("_f64")
    arguments = case.arguments
    if case.kernel == "bilinear_image":
        # The twin has a sampler of its own.
        def arguments() -> list[Argument]:
            return [*case.arguments(), Sampler(normalized=True, address="edge", linear=True)]

    return replace(case, spv=path, kernel=name, arguments=arguments)
