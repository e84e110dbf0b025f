"""Groups: local memory and barriers, collective functions, sub-groups, copies that a group makes together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.kernels.case import Argument, Array, Case, Local
from tests.kernels.topics.making import SIZES, launch, row_case

__all__ = ["CASES"]

N, GROUP = SIZES
GROUPS = N // GROUP


def _whole(seed: int, shape: Any, low: int, high: int, dtype: Any = np.int32) -> Array:
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


def _by_group(
    kernel: str, function: Callable[..., Array], low: int = -100, high: int = 100, more: Any = (), **extra: Any
) -> Case:
    """A barrier kernel; `function` turns the numbers of one group into its results, given the group's number."""
    items, size = extra.pop("sizes", SIZES)

    def arguments() -> list[Argument]:
        return [np.zeros(items, np.int32), *extra.get("before", ()), _whole(1, items, low, high), *more]

    def expected(given: list[Any]) -> dict[int, Array]:
        x = given[1 + len(extra.get("before", ()))]
        made = [function(x[begin : begin + size], begin // size) for begin in range(0, items, size)]
        return {0: np.concatenate(made).astype(np.int32)}

    name = extra.get("name", f"barriers_{kernel}")
    return launch("barriers", kernel, arguments, expected, (items, size), name=name)


def _neighbours(own: Array, _: int) -> Array:
    left, right = np.roll(own, 1), np.roll(own, -1)
    return own + left - right + (left * right)[::-1]


def _in_a_loop(rounds: int) -> Callable[[Array, int], Array]:
    def function(x: Array, _: int) -> Array:
        a, kept = x.copy(), np.arange(len(x)) * 3
        for k in range(rounds):
            b = np.roll(a, -k) + kept
            kept = kept + (np.roll(b, -1) & 7)
            a = b[::-1]
        return a + kept

    return function


MODES = np.array([0, 2, 1], np.int32)


def _in_an_if(x: Array, group: int) -> Array:
    if MODES[group] == 1:
        return x[::-1]
    if MODES[group] == 2:
        shared = x
        for _ in range(group + 1):
            shared = np.roll(shared, -1) + 1
        return x + 1000 + shared
    return x


def _around_divergence(x: Array, _: int) -> Array:
    rest, steps = [], []
    for value in x.tolist():
        count = 0
        while value > 3:
            value, count = value - 3 if value & 1 else value // 2, count + 1
        rest.append(value)
        steps.append(count)
    best = []
    for own in steps:
        high = 0
        for other in steps:
            if other > own:
                break
            high = max(high, other)
        best.append(high)
    shared = [best[k] + rest[k] if k % 3 == 0 else steps[k] for k in range(len(steps))]
    return np.array([shared[k // 3 * 3] + best[k] for k in range(len(steps))])


def _in_a_function(x: Array, _: int) -> Array:
    a = np.roll(x, -1)
    return a * 1000 + (a + x)[::-1]


def _kept_arrays(x: Array, _: int) -> Array:
    items = np.arange(len(x))
    own = x[:, None] + np.arange(4) * items[:, None]
    for k in range(4):
        own[items, (k + items) & 3] += np.roll(own[:, k], -1)
    return own @ np.array([1, 2, 3, 4])


def _barriers() -> Iterator[Case]:
    yield _by_group("neighbours", _neighbours, more=(Local(4 * GROUP),))
    for rounds in (0, 1, 5):
        name = f"barriers_in_a_loop_{rounds}"
        yield _by_group("in_a_loop", _in_a_loop(rounds), more=(np.int32(rounds),), name=name)
    for size in (1, 16, 17, 64):
        sizes, name = (2 * size, size), f"barriers_group_of_{size}"
        yield _by_group("in_a_loop", _in_a_loop(3), more=(np.int32(3),), name=name, sizes=sizes)
    yield _by_group("in_an_if", _in_an_if, more=(MODES,))
    yield _by_group("around_divergence", _around_divergence, 0, 200)

    def through_global(x: Array, _: int) -> Array:
        return 2 * (np.roll(x, -5) + np.roll(x, -1))

    yield _by_group("through_global", through_global, before=(np.zeros(N, np.int32),))
    yield _by_group("in_a_function", _in_a_function, more=(Local(4 * GROUP),))
    yield _by_group("kept_arrays", _kept_arrays)

    def box(given: list[Any]) -> dict[int, Array]:
        x = given[1]
        out = np.zeros_like(x)
        for z, y, begin in np.ndindex(2, 2, 2):
            cell = np.s_[3 * z : 3 * z + 3, 2 * y : 2 * y + 2, 4 * begin : 4 * begin + 4]
            shared = x[cell]
            turned = np.roll(np.roll(shared, -1, 0)[:, ::-1], -1, 2)
            out[cell] = turned * 2 + shared
        return {0: out}

    shape = (6, 4, 8)
    sizes = ((8, 4, 6), (4, 2, 3))
    given = [np.zeros(shape, np.int32), _whole(2, shape, -99, 99)]
    yield launch("barriers", "three_dimensions", lambda: [each.copy() for each in given], box, sizes)

    def locals_(_: list[Any]) -> dict[int, Array]:
        items = np.arange(GROUP)
        other = GROUP - 1 - items
        made = other + (other + 1) * 100.0 + (other + 2) * 10000.0 + 1000 * (items % 3)
        return {0: np.tile(made.astype(np.float32), GROUPS)}

    def local_arguments() -> list[Argument]:
        return [np.zeros(N, np.float32), Local(4 * GROUP), Local(GROUP), Local(8 * GROUP)]

    yield launch("barriers", "several_locals", local_arguments, locals_, needs={"double"})


def _grouped(x: Array) -> Array:
    return x.reshape(GROUPS, GROUP)


def _everywhere(per_group: Array) -> Array:
    return np.repeat(per_group, GROUP)


def _shifted(running: Array, first: Any) -> Array:
    """From inclusive to exclusive."""
    made = np.full_like(running, first)
    made[:, 1:] = running[:, :-1]
    return made.ravel()


def _collectives() -> Iterator[Case]:
    def ints() -> list[Array]:
        return [_whole(3, N, -99, 99)]

    def int_rows(x: Array) -> Iterator[tuple[str, Array]]:
        g = _grouped(x)
        i32: Any = np.iinfo(np.int32)
        sums = g.cumsum(1, dtype=np.int32)
        low, high = np.minimum.accumulate(g, 1), np.maximum.accumulate(g, 1)
        yield "reduce_add", _everywhere(sums[:, -1])
        yield "reduce_min", _everywhere(low[:, -1])
        yield "reduce_max", _everywhere(high[:, -1])
        yield "scan_inclusive_add", sums.ravel()
        yield "scan_exclusive_add", _shifted(sums, 0)
        yield "scan_inclusive_min", low.ravel()
        yield "scan_exclusive_min", _shifted(low, i32.max)
        yield "scan_inclusive_max", high.ravel()
        yield "scan_exclusive_max", _shifted(high, i32.min)
        yield "broadcast", _everywhere(g[:, 3])
        yield "all", _everywhere((g > -90).all(1)).astype(np.int32)
        yield "any", _everywhere((g > 95).any(1)).astype(np.int32)

    yield row_case("work_groups", "collectives_int", np.int32, ints, int_rows)

    def longs() -> list[Array]:
        return [_whole(4, N, 0, 1 << 62, np.uint64) * np.uint64(3)]

    def long_rows(x: Array) -> Iterator[tuple[str, Array]]:
        g = _grouped(x)
        low, high = np.minimum.accumulate(g, 1), np.maximum.accumulate(g, 1)
        yield "reduce_add", _everywhere(g.sum(1, dtype=np.uint64))
        yield "reduce_min", _everywhere(low[:, -1])
        yield "scan_inclusive_max", high.ravel()
        yield "scan_exclusive_max", _shifted(high, 0)
        yield "scan_exclusive_min", _shifted(low, np.iinfo(np.uint64).max)
        yield "broadcast", _everywhere(g[range(GROUPS), range(GROUPS)])

    yield row_case("work_groups", "collectives_ulong", np.uint64, longs, long_rows)

    def floats() -> list[Array]:
        return [_whole(5, N, -999, 999, np.float32)]

    def float_rows(x: Array) -> Iterator[tuple[str, Array]]:
        # Whole numbers: whatever the order, their sums are exact.
        g = _grouped(x)
        sums = g.cumsum(1)
        yield "reduce_add", _everywhere(sums[:, -1])
        yield "reduce_min", _everywhere(g.min(1))
        yield "reduce_max", _everywhere(g.max(1))
        yield "scan_inclusive_add", sums.ravel()
        yield "scan_exclusive_add", _shifted(sums, 0)
        yield "scan_exclusive_max", _shifted(np.maximum.accumulate(g, 1), -np.inf)

    yield row_case("work_groups", "collectives_float", np.float32, floats, float_rows)

    def in_a_loop(given: list[Any]) -> dict[int, Array]:
        x = _grouped(given[1]).copy()
        total = np.zeros(GROUPS, int)
        for k in range(4):
            total += np.fmod(x + k * 7, 13).max(1)
            x += np.arange(GROUP, dtype=np.int32)
        return {0: (_everywhere(total) * 100 + x.ravel()).astype(np.int32)}

    yield launch("work_groups", "in_a_loop", lambda: [np.zeros(N, np.int32), _whole(6, N, -99, 99)], in_a_loop)

    def two_dimensions(given: list[Any]) -> dict[int, Array]:
        x = given[1]
        out = x.copy()
        for y, begin in np.ndindex(2, 3):
            out[3 * y : 3 * y + 3, 4 * begin : 4 * begin + 4] += x[3 * y + 2, 4 * begin + 1]
        return {0: out}

    def plane() -> list[Argument]:
        return [np.zeros((6, 12), np.int32), _whole(7, (6, 12), -99, 99)]

    yield launch("work_groups", "broadcast_two_dimensions", plane, two_dimensions, ((12, 6), (4, 3)))


def _sub_groups() -> Iterator[Case]:
    """Each item reports what it found wrong: nothing is expected."""

    def silent(kernel: str, dtype: Any, size: int, name: str = "", low: int = -99, high: int = 99) -> Case:
        def arguments() -> list[Argument]:
            given = [] if kernel == "sizes" else [_whole(8, 2 * size, low, high, dtype)]
            return [np.full(2 * size, 0xDEADBEEF, np.uint32), *given]

        def expected(_: list[Any]) -> dict[int, Array]:
            return {0: np.zeros(2 * size, np.uint32)}

        label = f"sub_groups_{name or kernel}_of_{size}"
        needs = {"sub_groups"} if kernel in {"sizes", "votes"} or "uniform" in kernel else {"sub_groups", kernel}
        return launch("sub_groups", kernel, arguments, expected, (2 * size, size), name=label, needs=needs)

    for size in (64, 20, 7, 1):
        yield silent("sizes", None, size)
        yield silent("uniform_int", np.int32, size)
        yield silent("votes", np.int32, size)
        for kernel in ("shuffles", "ballots", "some_of_them", "clusters"):
            yield silent(kernel, np.int32, size)
    yield silent("uniform_ulong", np.uint64, 48, low=0, high=1 << 62)
    yield silent("uniform_float", np.float32, 48)


def _async_copies() -> Iterator[Case]:
    def back(given: list[Any]) -> dict[int, Array]:
        return {0: _grouped(given[1])[:, ::-1].ravel() * 2}

    def there() -> list[Argument]:
        return [np.zeros(N, np.int32), _whole(9, N, -999, 999), Local(4 * GROUP)]

    yield launch("async_copies", "there_and_back", there, back)

    def several(given: list[Any]) -> dict[int, Array]:
        a, b = (each.reshape(GROUPS, GROUP, 4) for each in given[1:])
        return {0: (a[:, ::-1] + np.roll(b, -1, 1)).reshape(N, 4)}

    def vectors() -> list[Argument]:
        return [np.zeros((N, 4), np.float32), *(_whole(seed, (N, 4), -99, 99, np.float32) for seed in (10, 11))]

    yield launch("async_copies", "several", vectors, several)

    def strided(given: list[Any]) -> dict[int, Array]:
        out = given[0].copy()
        out[::2] = given[1][::3] + 1
        return {0: out}

    def shorts() -> list[Argument]:
        return [np.full(2 * N, -7, np.int16), _whole(12, 3 * N, -999, 999, np.int16)]

    yield launch("async_copies", "strided", shorts, strided)


CASES = (*_barriers(), *_collectives(), *_sub_groups(), *_async_copies())
