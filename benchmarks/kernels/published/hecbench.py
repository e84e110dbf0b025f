"""Programs after HeCBench: arguments, and by numpy what must come out."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from benchmarks.kernels.case import MEASURED, Argument, Array, Case, Local
from benchmarks.kernels.program import Program
from benchmarks.kernels.programs import numbers
from benchmarks.kernels.published.rodinia import up

__all__ = ["PROGRAMS"]

FILE: Final = MEASURED / "hecbench.spv"
GROUP: Final = 256
TILE: Final = 16
ROUNDS: Final = 10


def _words(seed: int, shape: int | tuple[int, ...]) -> Array:
    return np.random.default_rng(seed).integers(0, 1 << 32, shape, np.uint32)


def table_cipher(kernel: str, blocks: int) -> Case:
    def arguments() -> list[Argument]:
        return [_words(1, (blocks, 4)), np.zeros((blocks, 4), np.uint32), _words(2, (4, 256)), _words(3, 4 * ROUNDS)]

    def expected(given: list[Any]) -> dict[int, Array]:
        state, _, tables, keys = given
        for number in range(ROUNDS):
            words = []
            for column in range(4):
                bytes_ = [(state[:, (column + k) % 4] >> (24 - 8 * k)) & 255 for k in range(4)]
                mixed = tables[0][bytes_[0]] ^ tables[1][bytes_[1]] ^ tables[2][bytes_[2]] ^ tables[3][bytes_[3]]
                words.append(mixed ^ keys[4 * number + column])
            state = np.stack(words, axis=1)
        return {1: state}

    return Case(kernel, FILE, kernel, arguments, (blocks,), (GROUP,), expected)


def median_filter(kernel: str, width: int, height: int) -> Case:
    def arguments() -> list[Argument]:
        pixels = np.random.default_rng(1).integers(0, 256, (height, width), np.uint8)
        return [pixels, np.zeros((height, width), np.uint8), np.int32(width), np.int32(height)]

    def expected(given: list[Any]) -> dict[int, Array]:
        padded = np.pad(given[0], 1, mode="edge")
        nine = [padded[dy : dy + height, dx : dx + width] for dy in range(3) for dx in range(3)]
        return {1: np.sort(np.stack(nine), axis=0)[4]}

    size = (up(width, TILE), up(height, TILE))
    return Case(kernel, FILE, kernel, arguments, size, (TILE, TILE), expected)


def floyd_warshall(kernel: str, n: int) -> Case:
    def arguments() -> list[Argument]:
        distance = np.random.default_rng(1).integers(1, 1000, (n, n), np.uint32)
        np.fill_diagonal(distance, 0)
        return [distance, np.int32(n), np.int32(0)]

    def expected(given: list[Any]) -> dict[int, Array]:
        distance = given[0]
        for k in range(n):
            distance = np.minimum(distance, distance[:, k, None] + distance[k])
        return {0: distance}

    launches = tuple({2: np.int32(k)} for k in range(n))
    return Case(kernel, FILE, kernel, arguments, (n, n), (TILE, TILE), expected, launches=launches)


def softmax(kernel: str, rows: int, columns: int) -> Case:
    def arguments() -> list[Argument]:
        shape = (rows, columns)
        return [numbers(1, shape, -4, 4), np.zeros(shape, np.float32), np.int32(rows), np.int32(columns)]

    def expected(given: list[Any]) -> dict[int, Array]:
        powers = np.exp(given[0].astype(np.float64))
        return {1: powers / powers.sum(axis=1, keepdims=True)}

    return Case(kernel, FILE, kernel, arguments, (up(rows, GROUP),), (GROUP,), expected, rtol=1e-4)


def layer_norm(kernel: str, rows: int, columns: int) -> Case:
    def arguments() -> list[Argument]:
        shape = (rows, columns)
        return [
            *(numbers(1, shape), np.zeros(shape, np.float32)),
            *(numbers(2, columns), numbers(3, columns), np.int32(columns)),
        ]

    def expected(given: list[Any]) -> dict[int, Array]:
        values, _, weight, bias, _ = given
        values = values.astype(np.float64)
        centred = values - values.mean(axis=1, keepdims=True)
        scale = 1 / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)
        return {1: centred * scale * weight + bias}

    return Case(kernel, FILE, kernel, arguments, (rows * GROUP,), (GROUP,), expected, rtol=1e-4, atol=1e-4)


def attention(kernel: str, count: int, width: int) -> Case:
    def arguments() -> list[Argument]:
        given = [numbers(seed, (count, width)) for seed in (1, 2, 3)]
        made = np.zeros((count, width), np.float32)
        return [*given, made, Local(4 * count), np.int32(count), np.int32(width)]

    def expected(given: list[Any]) -> dict[int, Array]:
        queries, keys, values = (each.astype(np.float64) for each in given[:3])
        weights = np.exp(queries @ keys.T / np.sqrt(width))
        return {3: weights @ values / weights.sum(axis=1, keepdims=True)}

    return Case(kernel, FILE, kernel, arguments, (count * GROUP,), (GROUP,), expected, rtol=1e-3, atol=1e-4)


def monte_carlo(kernel: str, items: int, draws: int) -> Case:
    def arguments() -> list[Argument]:
        return [_words(1, items) | np.uint32(1), np.zeros(items, np.uint32), np.int32(draws)]

    def expected(given: list[Any]) -> dict[int, Array]:
        state, hits, _ = given
        for _ in range(draws):
            point = []
            for _ in range(2):
                state ^= state << np.uint32(13)
                state ^= state >> np.uint32(17)
                state ^= state << np.uint32(5)
                point.append((state >> np.uint32(8)) * np.float32(2**-24))
            hits += point[0] * point[0] + point[1] * point[1] < 1
        return {1: hits}

    # A product and a sum that are rounded together may fall on the other side.
    return Case(kernel, FILE, kernel, arguments, (items,), (GROUP,), expected, atol=1.0)


PROGRAMS: Final = (
    Program("table_cipher", "cipher by tables", table_cipher, (256,), (65_536,), (262_144,)),
    Program("median_filter", "median filter", median_filter, (30, 21), (960, 540), (1920, 1080)),
    Program("floyd_warshall", "Floyd-Warshall", floyd_warshall, (16,), (128,), (256,), restored=(0,)),
    Program("softmax", "softmax", softmax, (100, 30), (8192, 128), (32_768, 128)),
    Program("layer_norm", "layer normalization", layer_norm, (3, 300), (1024, 768), (4096, 768)),
    Program("attention", "attention", attention, (70, 20), (256, 64), (1024, 64)),
    Program("monte_carlo", "Monte Carlo", monte_carlo, (256, 10), (65_536, 64), (262_144, 64)),
)
