"""Vectors, structures and private arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.kernels.case import Argument, Array, Case
from tests.kernels.topics.making import SIZES, launch, row_case

__all__ = ["CASES"]

N = SIZES[0]

THREE = np.dtype({"names": ["xyz"], "formats": [("f4", 3)], "itemsize": 16})
"""The fourth component is unspecified, and not compared."""

ARITHMETIC = (
    *(("int", np.int32, length) for length in (2, 3, 4, 8, 16)),
    *(("uchar", np.uint8, length) for length in (3, 16)),
    ("ushort", np.uint16, 8),
    ("long", np.int64, 4),
    *(("float", np.float32, length) for length in (3, 4, 16)),
    *(("double", np.float64, length) for length in (2, 8)),
)


def _whole(seed: int, shape: int | tuple[int, ...], low: int, high: int, dtype: Any = np.int32) -> Array:
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


def _arithmetic(name: str, dtype: Any, length: int) -> Case:
    signed = np.dtype(dtype).kind != "u"

    # Small whole numbers, so that every type computes them exactly, fused or not.
    def inputs() -> list[Array]:
        return [_whole(seed, length * N, -50 if signed else 0, 50, dtype) for seed in (1, 2)]

    def rows(a: Array, b: Array) -> Iterator[tuple[str, Array]]:
        yield "a * b + 3 - a", a * b + dtype(3) - a

    needs = {"double"} if name == "double" else set()
    return row_case("vectors", f"arithmetic_{name}{length}", dtype, inputs, rows, needs=needs)


def _components() -> Iterator[Case]:
    def vectors() -> list[Array]:
        return [_whole(3, 4 * N, -1000, 1000)]

    def swizzles(given: Array) -> Iterator[tuple[str, Array]]:
        v = given.reshape(N, 4)
        yield "wzyx", v[:, [3, 2, 1, 0]].ravel()
        yield "xxyy", v[:, [0, 0, 1, 1]].ravel()
        yield "lo, hi.yx", v[:, [0, 1, 3, 2]].ravel()
        yield "even, odd", v[:, [0, 2, 1, 3]].ravel()
        w = v[:, [0, 0, 3, 3]]
        w[:, 3] = 100
        yield "assignment to components", w.ravel()
        wide = np.concatenate([v, v + 10], 1)
        yield "s0246 + s7531", (wide[:, [0, 2, 4, 6]] + wide[:, [7, 5, 3, 1]]).ravel()
        yield "s37bf", np.concatenate([wide, -wide], 1)[:, [3, 7, 11, 15]].ravel()
        yield "xyz, 5", np.concatenate([v[:, :3], np.full((N, 1), 5, np.int32)], 1).ravel()
        yield "zyxx of three", v[:, [3, 2, 1, 1]].ravel()

    yield row_case("vectors", "swizzles", np.int32, vectors, swizzles)

    def masked() -> list[Array]:
        return [*vectors(), _whole(4, 4 * N, 0, 1 << 16, np.uint32)]

    def shuffles(given: Array, masks: Array) -> Iterator[tuple[str, Array]]:
        v, mask = given.reshape(N, 4), masks.reshape(N, 4).astype(int)
        yield "shuffle", np.take_along_axis(v, mask % 4, 1).ravel()
        yield "shuffle2", np.take_along_axis(np.concatenate([v, v + 100], 1), mask % 8, 1).ravel()
        lo, hi = (np.take_along_axis(v, m % 4, 1) for m in (mask, mask[:, ::-1]))
        yield "wider", (lo - hi).ravel()

    yield row_case("vectors", "shuffles", np.int32, masked, shuffles)

    def chosen_arguments() -> list[Argument]:
        return [np.zeros((N, 2), np.float32), _whole(5, (N, 4), -99, 99, np.float32), _whole(6, N, 0, 99)]

    def chosen(given: list[Any]) -> dict[int, Array]:
        _, v, which = given
        k = which & 3
        wide = np.concatenate([v, v * 2], 1)
        items = np.arange(N)
        wide[items, k + 3] = -1
        return {0: np.stack([v[items, k], wide[:, [0, 3, 4, 5, 6]].sum(1)], 1)}

    yield launch("vectors", "chosen_component", chosen_arguments, chosen)

    def three_arguments() -> list[Argument]:
        given = np.zeros(N, THREE)
        given["xyz"] = _whole(7, (N, 3), -99, 99)
        return [np.zeros(N, THREE), given, np.float32(2)]

    def three(given: list[Any]) -> dict[int, Array]:
        made = np.zeros(N, THREE)
        made["xyz"] = given[1]["xyz"][:, [2, 0, 1]] * given[2]
        return {0: made}

    yield launch("vectors", "three_in_memory", three_arguments, three)

    def mixed_arguments() -> list[Argument]:
        scale = np.array((1, 2, 3, 4), np.float32).view("V16")[0]
        shift = np.array((5, -6), np.int8).view("V2")[0]
        return [np.zeros((N, 4), np.float32), _whole(8, (N, 4), -99, 99, np.int8), scale, shift]

    def mixed(given: list[Any]) -> dict[int, Array]:
        v = given[1].astype(np.float32)
        v[:, 0] += 5
        v[:, 1] -= 6
        return {0: v * np.array((1, 2, 3, 4), np.float32)}

    yield launch("vectors", "mixed", mixed_arguments, mixed)


INNER = np.dtype([("tag", "i1"), ("count", "i4"), ("values", "f4", 3), ("pair", "i2", 2)], align=True)
OUTER = np.dtype(
    {
        "names": ["kind", "weight", "inner", "axis"],
        "formats": ["u1", "f8", (INNER, 2), ("f4", 3)],
        "offsets": [0, 8, 16, 64],
        "itemsize": 80,
    }
)
PACKED = np.dtype([("kind", "u1"), ("number", "i4"), ("small", "u2")])


def _inner(seed: int, shape: Any) -> Array:
    made = np.zeros(shape, INNER)
    made["tag"] = _whole(seed, shape, -100, 100)
    made["count"] = _whole(seed + 1, shape, -1000, 1000)
    made["values"] = _whole(seed + 2, (*np.shape(made), 3), -100, 100)
    made["pair"] = _whole(seed + 3, (*np.shape(made), 2), -100, 100)
    return made


def _packed(seed: int, n: int) -> Array:
    made = np.zeros(n, PACKED)
    made["kind"] = _whole(seed, n, 0, 256)
    made["number"] = _whole(seed + 1, n, -(10**6), 10**6)
    made["small"] = _whole(seed + 2, n, 0, 1 << 16)
    return made


def _structs() -> Iterator[Case]:
    items = np.arange(N)

    def outer() -> list[Argument]:
        one = np.zeros(N, OUTER)
        one["kind"] = items
        one["weight"] = items * 0.5
        one["inner"] = _inner(9, (N, 2))
        one["axis"] = _whole(13, (N, 3), -9, 9)
        return [np.zeros(N, OUTER), one]

    def nested(given: list[Any]) -> dict[int, Array]:
        one = given[1].copy()
        one["kind"] += 1
        one["weight"] *= 2
        one["inner"] = one["inner"][:, ::-1]
        for i in range(N):
            one["inner"][i, i & 1]["values"][i % 3] += 10
        one["inner"]["pair"][:, 0] = one["inner"]["pair"][:, 0, ::-1]
        one["axis"] = one["axis"][:, [1, 2, 0]]
        return {0: one}

    yield launch("structs", "nested", outer, nested, needs={"double"})

    def squeezed() -> list[Argument]:
        return [np.zeros(N, PACKED), _packed(14, N)]

    def packed(given: list[Any]) -> dict[int, Array]:
        made = np.zeros(N, PACKED)
        made["kind"] = given[1]["kind"] ^ 0xFF
        made["number"] = given[1]["number"] + given[1]["small"].astype(np.int32)
        made["small"] = given[1]["number"].astype(np.uint16)
        return {0: made}

    yield launch("structs", "packed", squeezed, packed)

    def values() -> list[Argument]:
        return [np.zeros(N, np.int32), _inner(17, 1)[0], _packed(21, 1)[0]]

    def by_value(given: list[Any]) -> dict[int, Array]:
        _, one, two = given
        fixed = int(one["tag"]) + int(one["count"]) + int(one["pair"][1]) + int(two["number"]) * int(two["kind"])
        return {0: (fixed + items + one["values"].astype(np.int32)[items % 3]).astype(np.int32)}

    yield launch("structs", "by_value", values, by_value)

    def inners() -> list[Argument]:
        return [np.zeros(N, INNER), _inner(24, N)]

    def through_functions(given: list[Any]) -> dict[int, Array]:
        made = given[1].copy()
        odd = items % 2 == 1
        made["count"] += np.where(odd, items + 100, items).astype(np.int32)
        made["values"][:, 1] = np.where(odd, 100, items)
        return {0: made}

    yield launch("structs", "through_functions", inners, through_functions)

    def reals() -> list[Argument]:
        return [np.zeros(N, np.uint32), np.linspace(-3, 3, N, dtype=np.float32)]

    yield launch("structs", "unions", reals, lambda given: {0: (-given[1]).view(np.uint32)})


def _arrays() -> Iterator[Case]:
    items = np.arange(N)

    def eight() -> list[Argument]:
        return [np.zeros((N, 8), np.int32), _whole(30, (N, 8), -99, 99)]

    yield launch("private_arrays", "sorted", eight, lambda given: {0: np.sort(given[1], axis=1)})

    def which(dtype: Any, high: int) -> Any:
        return lambda: [np.zeros(N, dtype), _whole(31, N, 0, high)]

    def looked_up(given: list[Any]) -> dict[int, Array]:
        table = np.tile(np.array([1, -2, 4.5, 8, 0.25], np.float32), (N, 1))
        k = given[1] % 5
        table[items, k] += items
        return {0: table[items, (k + 1) % 5] + table[items, k]}

    yield launch("private_arrays", "looked_up", which(np.float32, 100), looked_up)

    def two_dimensions(given: list[Any]) -> dict[int, Array]:
        made = []
        for i, at in enumerate(given[1].tolist()):
            grid = [[row * 10 + column + i for column in range(3)] for row in range(4)]
            grid[at & 3][at % 3] = -1
            total = 0
            for row in range(4):
                total = total * 3 + grid[row][(at + row) % 3]
            made.append(total)
        return {0: np.array(made, np.int32)}

    yield launch("private_arrays", "two_dimensions", which(np.int32, 100), two_dimensions)

    def pointer_to_one_of(given: list[Any]) -> dict[int, Array]:
        made = []
        for i, at in enumerate(given[1].tolist()):
            values = [10, 20, 30, 40]
            values[2 * (at & 1) + (at >> 1 & 1)] += i
            made.append(sum(factor * value for factor, value in enumerate(values, 1)))
        return {0: np.array(made, np.int32)}

    yield launch("private_arrays", "pointer_to_one_of", which(np.int32, 4), pointer_to_one_of)

    def words() -> list[Argument]:
        return [np.zeros((N, 2), np.uint32), _whole(32, N, 0, 1 << 32, np.uint32)]

    def bytes_of(given: list[Any]) -> dict[int, Array]:
        pairs = np.stack([given[1], ~given[1]], 1)
        octets = pairs.view(np.uint8).copy()
        for i in range(N):
            a, b = i & 7, 7 - (i & 7)
            octets[i, [a, b]] = octets[i, [b, a]]
        return {0: octets.view(np.uint32)}

    yield launch("private_arrays", "bytes_of", words, bytes_of)


def _made() -> Iterator[Case]:
    for name, dtype, length in ARITHMETIC:
        yield _arithmetic(name, dtype, length)
    yield from _components()
    yield from _structs()
    yield from _arrays()


CASES = tuple(_made())
