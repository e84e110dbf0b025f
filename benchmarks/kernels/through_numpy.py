"""The programs as numpy has them: whole arrays at a time, and a library's routine where there is one."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.kernels.case import Array, Case
from benchmarks.kernels.host import Work

__all__ = ["functions"]


def _saxpy(arguments: list[Any], _: Case) -> None:
    y, x, a = arguments[:3]
    y += a * x


def _triad(arguments: list[Any], _: Case) -> None:
    a, b, c, s = arguments
    np.multiply(c, s, out=a)
    a += b


def _matmul(arguments: list[Any], _: Case) -> None:
    np.matmul(arguments[1], arguments[2], out=arguments[0])


def _distribution(d: Array) -> Array:
    k = 1 / (1 + d.dtype.type(0.2316419) * np.abs(d))
    tail = 0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))
    area = 0.39894228040143267794 * np.exp(-0.5 * d * d) * k * tail
    return np.asarray(np.where(d > 0, 1 - area, area))


def _black_scholes(arguments: list[Any], _: Case) -> None:
    call, put, s, x, t, rate, volatility = arguments
    spread = volatility * np.sqrt(t)
    d1 = (np.log(s / x) + (rate + volatility * volatility / 2) * t) / spread
    n1, n2 = _distribution(d1), _distribution(d1 - spread)
    discounted = x * np.exp(-rate * t)
    np.subtract(s * n1, discounted * n2, out=call)
    np.subtract(discounted * (1 - n2), s * (1 - n1), out=put)


def _reduce(arguments: list[Any], case: Case) -> None:
    np.sum(arguments[1].reshape(-1, case.group_size[0]), axis=1, out=arguments[0])


def _histogram(arguments: list[Any], _: Case) -> None:
    arguments[0] += np.bincount(arguments[1], minlength=256).astype(np.uint32)


def _convolve(arguments: list[Any], _: Case) -> None:
    to, source, weights = arguments[:3]
    height, width = to.shape
    padded = np.pad(source, 2, mode="edge")
    to[...] = 0
    for dy in range(5):
        for dx in range(5):
            to += weights[dy, dx] * padded[dy : dy + height, dx : dx + width]


def _transpose(arguments: list[Any], _: Case) -> None:
    np.copyto(arguments[0], arguments[1].T)


def _scan(arguments: list[Any], _: Case) -> None:
    np.cumsum(arguments[1].reshape(-1, 256), axis=1, out=arguments[0].reshape(-1, 256))


def _sort(arguments: list[Any], _: Case) -> None:
    arguments[0].sort()


def _hash(arguments: list[Any], _: Case) -> None:
    to, source, rounds = arguments
    np.copyto(to, source)
    for number in range(int(rounds)):
        to ^= to >> 16
        to *= np.uint32(0x85EBCA6B)
        to ^= to >> 13
        to *= np.uint32(0xC2B2AE35)
        to ^= to >> 16
        to += np.uint32(number)


def functions() -> dict[str, Work]:
    by_key: dict[str, Work] = dict.fromkeys(("saxpy", "saxpy_int", "saxpy_unchecked"), _saxpy)
    by_key |= dict.fromkeys(("matmul_int", "matmul_size_t", "matmul_tiled", "multiply"), _matmul)
    by_key |= dict.fromkeys(("black_scholes_f32", "black_scholes_f64"), _black_scholes)
    by_key |= dict.fromkeys(("reduce_int", "reduce_size_t"), _reduce)
    by_key |= {"triad": _triad, "histogram": _histogram, "convolve": _convolve, "transpose": _transpose}
    return by_key | {"scan_group": _scan, "bitonic_step": _sort, "hash": _hash}
