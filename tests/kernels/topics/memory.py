"""Memory: atomics, loads and stores of vectors, generic pointers, constants, variables of the program, printing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.kernels.case import Argument, Array, Case, Local
from tests.kernels.topics.making import SIZES, launch, nearest, wrapped

__all__ = ["CASES"]

N, GROUP = SIZES
GROUPS = N // GROUP


def _whole(seed: int, shape: Any, low: int, high: int, dtype: Any = np.int32) -> Array:
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


CELLS = (7, 1000, 50, -50, -1, 0, 12345, 100, 200, 5, 9)
"""What the eleven cells hold before each of them gets its own operation."""


def _operated(cells: Array, x: list[int], numbers: range) -> Array:
    """The cells after all items, whatever their order: item number 3 is the only one that exchanges."""
    dtype = cells.dtype
    total, low, high, both, any_bit, odd = 0, int(cells[2]), int(cells[3]), int(cells[4]), int(cells[5]), int(cells[6])
    for i, value in zip(numbers, x, strict=True):
        total += value
        low, high = min(low, value), max(high, value)
        both &= ~(1 << i % 32)
        any_bit |= 1 << i % 32
        odd ^= value
    made = [int(cells[0]) + total, int(cells[1]) - total, low, high, both, any_bit, odd]
    made += [int(cells[7]) + len(x), int(cells[8]) - len(x), 77, x[numbers.index(3)]]
    return np.array([wrapped(value, dtype) for value in made], dtype)


def _cells(dtype: Any) -> Array:
    return np.array([wrapped(value, dtype) for value in CELLS], dtype)


def _old_atomics() -> Iterator[Case]:
    for name, dtype in (("int", np.int32), ("long", np.int64)):
        high = 1 << (20 if name == "int" else 50)

        def arguments(dtype: Any = dtype, high: int = high) -> list[Argument]:
            return [_cells(dtype), _whole(1, N, -high, high, dtype)]

        def expected(given: list[Any]) -> dict[int, Array]:
            return {0: _operated(given[0], given[1].tolist(), range(N))}

        needs = {"int64_atomics"} if name == "long" else set()
        yield launch("atomics", f"global_{name}", arguments, expected, needs=needs)

    unsigned: tuple[tuple[str, Any], ...] = (("uint", np.uint32), ("ulong", np.uint64))
    for name, dtype in unsigned:
        high = 1 << (20 if name == "uint" else 50)

        def per_group(dtype: Any = dtype, high: int = high) -> list[Argument]:
            return [np.tile(_cells(dtype), (GROUPS, 1)), _whole(2, N, 0, high, dtype)]

        def operated(given: list[Any]) -> dict[int, Array]:
            x = given[1].reshape(GROUPS, GROUP).tolist()
            return {0: np.stack([_operated(given[0][g], x[g], range(GROUP)) for g in range(GROUPS)])}

        needs = {"int64_atomics"} if name == "ulong" else set()
        yield launch("atomics", f"local_{name}", per_group, operated, needs=needs)


def _new_atomics() -> Iterator[Case]:
    def tickets() -> list[Argument]:
        return [np.zeros(N, np.uint32), np.zeros(1, np.uint32), np.zeros(N, np.uint32)]

    def each_once(_: list[Any]) -> dict[int, Array]:
        return {0: np.ones(N, np.uint32), 1: np.array([N], np.uint32), 2: np.ones(N, np.uint32)}

    yield launch("atomics", "tickets", tickets, each_once)

    def sparse(given: list[Any]) -> dict[int, Array]:
        counts = given[0].copy()
        for x in given[1].tolist():
            if x & 1:
                counts[x % 5] += x
            elif x % 3 == 0:
                counts[5] = max(counts[5], x)
        return {0: counts}

    yield launch("atomics", "sparse", lambda: [np.zeros(6, np.uint32), _whole(3, N, 0, 1000, np.uint32)], sparse)

    def added(given: list[Any]) -> dict[int, Array]:
        return {0: given[0] + np.array([given[1][k::3].sum() for k in range(3)])}

    # Whole numbers, so that the order of additions does not show.
    def floats(dtype: Any = np.float32) -> list[Argument]:
        return [np.array([1, 2, 3], dtype), _whole(4, N, -99, 99, dtype)]

    yield launch("atomics", "float_by_exchange", floats, added)
    yield launch("float_atomics", "float_add", floats, added, needs={"float_atomics"})
    needs = {"float_atomics", "double"}
    yield launch("float_atomics", "double_add", lambda: floats(np.float64), added, needs=needs)

    def bounds(given: list[Any]) -> dict[int, Array]:
        return {0: np.array([min(1, given[1].min()), max(2, given[1].max()), 3], np.float32)}

    yield launch("float_atomics", "float_min_max", floats, bounds, needs={"float_atomics"})

    def newer(given: list[Any]) -> dict[int, Array]:
        made = _operated(given[0], given[1].tolist(), range(N))
        made[7], made[8] = 5, given[0][8]
        return {0: made}

    yield launch("ordered_atomics", "newer", lambda: [_cells(np.int32), _whole(5, N, -9999, 9999)], newer)

    def newer_local(given: list[Any]) -> dict[int, Array]:
        sums = given[1].reshape(GROUPS, GROUP).sum(1) + 10
        return {0: np.repeat(sums * 10 + 1, GROUP).astype(np.int32)}

    yield launch("ordered_atomics", "newer_local", lambda: [np.zeros(N, np.int32), _whole(6, N, 0, 99)], newer_local)


def _found() -> Iterator[Case]:
    """What items find where others were before, whatever their order."""

    def chained(given: list[Any]) -> dict[int, Array]:
        cells, x = given[0], [value for value in given[2].tolist() if value % 5]
        even = sum(i // GROUP + 2 for i, value in enumerate(given[2].tolist()) if value % 5)
        made = cells + np.array([sum(x), -sum(x), 0, 0, 0, 0, 0, len(x), -len(x), even, -even], np.int32)
        kinds = (np.minimum, np.maximum, np.bitwise_and, np.bitwise_or, np.bitwise_xor)
        made[2:7] = [
            kind.reduce(np.array([start, *x], np.int32)) for kind, start in zip(kinds, cells[2:7], strict=True)
        ]
        return {0: made, 1: made - cells}

    yield launch(
        "atomics", "chained", lambda: [_cells(np.int32), np.zeros(11, np.int32), _whole(8, N, -9999, 9999)], chained
    )

    def reserved(given: list[Any]) -> dict[int, Array]:
        total = sum(wanted for wanted in (given[2] % 4).tolist() if wanted != 3)
        return {0: (np.arange(3 * N) < total).astype(np.uint64), 1: np.array([total], np.uint64)}

    def room() -> list[Argument]:
        return [np.zeros(3 * N, np.uint64), np.zeros(1, np.uint64), _whole(9, N, 0, 99, np.uint32)]

    yield launch("atomics", "reserved", room, reserved, needs={"int64_atomics"})


def _copies() -> Iterator[Case]:
    kinds = (("char", "i1", 2), ("uchar", "u1", 3), ("short", "i2", 4), ("int", "i4", 8), ("float", "f4", 3))
    for name, dtype, length in (*kinds, ("float", "f4", 16), ("long", "i8", 2), ("double", "f8", 4)):

        def arguments(dtype: str = dtype, length: int = length) -> list[Argument]:
            return [np.zeros(N * length + 2, dtype), _whole(7, N * length + 2, 0, 99, dtype)]

        def expected(given: list[Any]) -> dict[int, Array]:
            out = given[1].copy()
            out[0] = out[-1] = 0
            return {0: out}

        needs = {"double"} if name == "double" else set()
        yield launch("loads_stores", f"copy_{name}{length}", arguments, expected, needs=needs)

    def shared(given: list[Any]) -> dict[int, Array]:
        out = np.zeros((N, 2), np.int32)
        for i in range(N):
            group, item = divmod(i, GROUP)
            local = given[1][group * GROUP : (group + 1) * GROUP].ravel()
            start = 4 * (GROUP // 2 - 1 - item // 2)
            own = local[start : start + 4]
            out[i] = own[item & 3], own[3]
        return {0: out}

    def pairs() -> list[Argument]:
        return [np.zeros((N, 2), np.int32), _whole(8, (N, 2), -99, 99)]

    yield launch("loads_stores", "from_local_and_private", pairs, shared)

    half: Any = np.float16

    def halves() -> list[Argument]:
        x = np.random.default_rng(9).uniform(-1000, 1000, N).astype(half)
        x[:6] = 0, np.inf, -np.inf, np.nan, 65504, 6e-8
        return [np.zeros((6, N), half), x]

    def rounded(given: list[Any]) -> dict[int, Array]:
        x = given[1].astype(np.float32)
        scaled = x * np.float32(1.1)
        rows = [[nearest(float(v), half, mode) for v in scaled] for mode in ("rte", "rte", "rtz", "rtp", "rtn")]
        rows.append([nearest(float(v) * 0.3, half, "rte") for v in x])
        return {0: np.array(rows, half)}

    labels = ("vstore_half", "rte", "rtz", "rtp", "rtn", "double")
    yield launch("loads_stores", "halves", halves, rounded, labels=labels, needs={"double"})

    def vectors(given: list[Any]) -> dict[int, Array]:
        x = given[1].astype(np.float32)
        out = np.zeros(12 * N, half)
        out[: 4 * N] = (x[: 4 * N].reshape(N, 4)[:, ::-1] + np.float32(1)).ravel().astype(half)
        out[4 * N :] = [nearest(float(v), half, "rtz") for v in x[: 8 * N] * np.float32(0.7)]
        return {0: out}

    def many() -> list[Argument]:
        return [np.zeros(12 * N, half), np.random.default_rng(10).uniform(-99, 99, 8 * N).astype(half)]

    yield launch("loads_stores", "half_vectors", many, vectors)

    three = np.dtype({"names": ["xyz"], "formats": [("f2", 3)], "itemsize": 8})

    def aligned() -> list[Argument]:
        x = np.zeros(N, three)
        x["xyz"] = _whole(11, (N, 3), -99, 99)
        return [np.zeros(N, three), x]

    def turned(given: list[Any]) -> dict[int, Array]:
        out = np.zeros(N, three)
        out["xyz"] = given[1]["xyz"][:, ::-1]
        return {0: out}

    yield launch("loads_stores", "aligned_halves", aligned, turned)


def _pointers() -> Iterator[Case]:
    items = np.arange(N)
    kinds = _whole(12, N, 0, 3)

    def spread() -> list[Argument]:
        return [np.zeros(N, np.int32), _whole(13, N + 1, -99, 99), Local(4 * GROUP), kinds]

    def any_space(given: list[Any]) -> dict[int, Array]:
        x, item = given[1], items % GROUP
        which = np.choose(kinds, [x[:N], item, items])
        out = x[:N] + x[1:] + item * (item + 1) + (3 + items) * 3 + which * 5 + 9
        return {0: out.astype(np.int32)}

    yield launch("pointers", "any_space", spread, any_space)

    def flagged() -> list[Argument]:
        return [np.zeros((N, 3), np.int32), *spread()[1:]]

    # Where all memory is one, a pointer does not tell.
    spaces = np.eye(3, dtype=np.int32)[kinds]
    yield launch("pointers", "spaces", flagged, lambda given: {0: spaces}, needs={"tagged_pointers"})

    def constants(given: list[Any]) -> dict[int, Array]:
        table = np.array([3, 1, 4, 1, 5, 9, 2])
        weights, links = np.array([1.5, 2.5, 4.0]), np.array([[1, 2], [0, 2], [1, 0]])
        at = table[items % 7] % 3
        total = weights[at] + weights[links[at, items & 1]] * 10
        text = np.frombuffer(b"kernels", np.uint8)
        return {0: (total + text[items % 7] * 100.0 + given[1][(items + 3) % 5]).astype(np.float32)}

    def more() -> list[Argument]:
        return [np.zeros(N, np.float32), np.array([10, 20, 30, 40, 50], np.int32)]

    yield launch("pointers", "constants", more, constants)

    def program(_: list[Any]) -> dict[int, Array]:
        return {0: (505 + np.array([1, 2, 4, 8])[items & 3]).astype(np.float32)}

    yield launch("pointers", "read_program", lambda: [np.zeros(N, np.float32)], program, needs={"program_variables"})

    def counted(_: list[Any]) -> dict[int, Array]:
        return {0: np.array([43], np.int32)}

    launches: Any = ({}, {}, {})
    start = [np.zeros(1, np.int32)]
    needs = {"program_variables"}
    yield launch("pointers", "count_launches", lambda: [*start], counted, launches=launches, needs=needs)


def _printing() -> Iterator[Case]:
    x = _whole(14, 8, -9999, 9999)

    def nothing(_: list[Any]) -> dict[int, Array]:
        return {}

    lines = tuple(
        f"item {i} has {v:5d}|{i * 7:<6d}|{v & 0xFFFF:x}|{f'0{i:o}' if i else '0'}|{v:+d}"
        for i, v in enumerate(x.tolist())
    )
    yield launch("printing", "numbers", lambda: [x.copy()], nothing, (8, 4), printed=lines, needs={"printf"})

    others = (
        "1.500000 -2.25 3.000000e+10 0.0001 0x1p+0",
        "text: ok 100% -5000000000 18446744073709551615 -7 -8",
        "1,-2,3,-4|0.500000,1.500000|1.0,2.0,3.0|1,10,ff,0",
        "   3.142|3.142   |-003.142| 42|   ab|ab",
        "no arguments",
    )
    reals = np.array([1.5, -2.25, 3e10, 1e-4], np.float32)
    yield launch("printing", "other_types", lambda: [reals.copy()], nothing, (8, 8), printed=others, needs={"printf"})

    loop = tuple(f"{i}:{k}" for i in range(6) for k in range(7) if (k + i) % 3 == 0)
    yield launch("printing", "in_a_loop", lambda: [np.int32(7)], nothing, (6, 3), printed=loop, needs={"printf"})


CASES = (*_old_atomics(), *_new_atomics(), *_found(), *_copies(), *_pointers(), *_printing())
