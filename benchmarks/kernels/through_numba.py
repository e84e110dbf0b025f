"""The programs as numba has them: the loops that a person would write, in parallel over the outermost."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit, prange

from benchmarks.kernels.case import Case
from benchmarks.kernels.host import Work

__all__ = ["functions"]

# What OpenCL allows, too: a product and a sum may be rounded together.
parallel: Callable[[Any], Any] = njit(parallel=True, fastmath={"contract"})
inlined: Callable[[Any], Any] = njit(fastmath={"contract"}, inline="always")


@parallel
def saxpy(y: Any, x: Any, a: Any) -> None:
    for i in prange(y.size):
        y[i] = a * x[i] + y[i]


@parallel
def triad(a: Any, b: Any, c: Any, s: Any) -> None:
    for i in prange(a.size):
        a[i] = b[i] + s * c[i]


@parallel
def matmul(c: Any, a: Any, b: Any) -> None:
    n = c.shape[0]
    for row in prange(n):
        c[row, :] = 0
        for k in range(n):
            factor = a[row, k]
            for column in range(n):
                c[row, column] += factor * b[k, column]


@parallel
def nbody(out: Any, bodies: Any, softening: Any) -> None:
    one = softening / softening
    for i in prange(out.shape[0]):
        x, y, z = 0 * one, 0 * one, 0 * one
        for j in range(bodies.shape[0]):
            dx = bodies[j, 0] - bodies[i, 0]
            dy = bodies[j, 1] - bodies[i, 1]
            dz = bodies[j, 2] - bodies[i, 2]
            inverse = one / math.sqrt(dx * dx + dy * dy + dz * dz + softening)
            pull = bodies[j, 3] * inverse * inverse * inverse
            x += dx * pull
            y += dy * pull
            z += dz * pull
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = x, y, z, 0


@parallel
def mandelbrot(counts: Any, left: Any, top: Any, step: Any, limit: Any) -> None:
    four, two = np.float32(4), np.float32(2)
    for row in prange(counts.shape[0]):
        for column in range(counts.shape[1]):
            re = left + step * np.float32(column)
            im = top + step * np.float32(row)
            x, y = np.float32(0), np.float32(0)
            count = 0
            while count < limit and x * x + y * y <= four:
                x, y = x * x - y * y + re, two * x * y + im
                count += 1
            counts[row, column] = count


@inlined
def distribution(d: Any, one: Any) -> Any:
    k = one / (one + one * 0.2316419 * abs(d))
    tail = 0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))
    area = 0.39894228040143267794 * math.exp(-0.5 * d * d) * k * tail
    return one - area if d > 0 else area


@parallel
def black_scholes(call: Any, put: Any, price: Any, strike: Any, years: Any, rate: Any, volatility: Any) -> None:
    one = volatility / volatility
    for i in prange(call.size):
        s, x, t = price[i], strike[i], years[i]
        spread = volatility * math.sqrt(t)
        d1 = (math.log(s / x) + (rate + volatility * volatility / 2) * t) / spread
        n1, n2 = distribution(d1, one), distribution(d1 - spread, one)
        discounted = x * math.exp(-rate * t)
        call[i] = s * n1 - discounted * n2
        put[i] = discounted * (one - n2) - s * (one - n1)


@parallel
def reduce(sums: Any, data: Any) -> None:
    size = data.size // sums.size
    for group in prange(sums.size):
        total = np.float32(0)
        for i in range(group * size, (group + 1) * size):
            total += data[i]
        sums[group] = total


@parallel
def histogram(counts: Any, data: Any) -> None:
    parts = 64
    own = np.zeros((parts, 256), np.uint32)
    size = -(-data.size // parts)
    for part in prange(parts):
        for i in range(part * size, min((part + 1) * size, data.size)):
            own[part, data[i]] += 1
    for part in range(parts):
        for value in range(256):
            counts[value] += own[part, value]


@parallel
def convolve(to: Any, source: Any, weights: Any) -> None:
    height, width = to.shape
    for y in prange(height):
        for x in range(width):
            total = np.float32(0)
            for dy in range(-2, 3):
                for dx in range(-2, 3):
                    row, column = min(max(y + dy, 0), height - 1), min(max(x + dx, 0), width - 1)
                    total += weights[dy + 2, dx + 2] * source[row, column]
            to[y, x] = total


@parallel
def transpose(to: Any, source: Any) -> None:
    height, width = source.shape
    for tile in prange(-(-height // 16)):
        for left in range(0, width, 16):
            for x in range(left, min(left + 16, width)):
                for y in range(tile * 16, min(tile * 16 + 16, height)):
                    to[x, y] = source[y, x]


@parallel
def scan(sums: Any, data: Any) -> None:
    for group in prange(data.size // 256):
        total = 0
        for i in range(group * 256, group * 256 + 256):
            total += data[i]
            sums[i] = total


@parallel
def bitonic_step(data: Any, distance: Any, stage: Any) -> None:
    for pair in prange(data.size // 2):
        low = pair // distance * 2 * distance + pair % distance
        high = low + distance
        a, b = data[low], data[high]
        if (a > b) == ((low & stage) == 0):
            data[low], data[high] = b, a


@parallel
def spmv(y: Any, starts: Any, columns: Any, values: Any, x: Any) -> None:
    for row in prange(y.size):
        total = np.float32(0)
        for k in range(starts[row], starts[row + 1]):
            total += values[k] * x[columns[k]]
        y[row] = total


@parallel
def hashed(to: Any, source: Any, rounds: Any) -> None:
    for i in prange(to.size):
        h = source[i]
        for number in range(rounds):
            h ^= h >> np.uint32(16)
            h = np.uint32(h * np.uint32(0x85EBCA6B))
            h ^= h >> np.uint32(13)
            h = np.uint32(h * np.uint32(0xC2B2AE35))
            h ^= h >> np.uint32(16)
            h = np.uint32(h + np.uint32(number))
        to[i] = h


@parallel
def bilinear(to: Any, source: Any, whole: Any) -> None:
    height, width = source.shape[0], source.shape[1]
    half, up, across = np.float32(0.5), np.float32(height / to.shape[0]), np.float32(width / to.shape[1])
    for y in prange(to.shape[0]):
        v = (np.float32(y) + half) * up - half
        top = math.floor(v)
        b = np.float32(v - np.float32(top))
        y0, y1 = min(max(top, 0), height - 1), min(max(top + 1, 0), height - 1)
        for x in range(to.shape[1]):
            u = (np.float32(x) + half) * across - half
            left = math.floor(u)
            a = np.float32(u - np.float32(left))
            x0, x1 = min(max(left, 0), width - 1), min(max(left + 1, 0), width - 1)
            for c in range(4):
                first, second = np.float32(source[y0, x0, c]), np.float32(source[y0, x1, c])
                third, fourth = np.float32(source[y1, x0, c]), np.float32(source[y1, x1, c])
                upper, lower = first + (second - first) * a, third + (fourth - third) * a
                mixed = upper + (lower - upper) * b
                to[y, x, c] = round(mixed) if whole else mixed


def _of(function: Any, count: int) -> Work:
    return lambda arguments, _: function(*arguments[:count])


def _sort(arguments: list[Any], case: Case) -> None:
    for changes in case.launches:
        bitonic_step(arguments[0], int(changes[1]), int(changes[2]))


def functions() -> dict[str, Work]:
    by_key: dict[str, Work] = {key: _of(saxpy, 3) for key in ("saxpy", "saxpy_int", "saxpy_unchecked")}
    by_key |= {key: _of(matmul, 3) for key in ("matmul_int", "matmul_size_t", "matmul_tiled")}
    by_key |= {key: lambda a, _: nbody(a[0], a[1], a[3]) for key in ("nbody_f32", "nbody_f64")}
    by_key |= {key: _of(black_scholes, 7) for key in ("black_scholes_f32", "black_scholes_f64")}
    by_key |= {key: _of(reduce, 2) for key in ("reduce_int", "reduce_size_t")}
    by_key |= {"triad": _of(triad, 4), "mandelbrot": _of(mandelbrot, 5), "histogram": _of(histogram, 2)}
    by_key |= {"convolve": _of(convolve, 3), "transpose": _of(transpose, 2), "scan_group": _of(scan, 2)}
    by_key |= {"bitonic_step": _sort, "spmv": _of(spmv, 5), "hash": _of(hashed, 3)}
    by_key["bilinear_uchar4"] = lambda a, _: bilinear(a[0], a[1], True)
    by_key["bilinear_float4"] = lambda a, _: bilinear(a[0], a[1], False)
    return by_key
