"""Control flow, indices and places: what items do that their neighbours do not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.kernels.case import Argument, Array, Case
from tests.kernels.topics.making import SIZES, launch, truncated, wrapped

__all__ = ["CASES"]

N = SIZES[0]


def _whole(seed: int, n: int, low: int, high: int, dtype: Any = np.int32) -> Array:
    return np.random.default_rng(seed).integers(low, high, n).astype(dtype)


def _scalar_flow(kernel: str, low: int, high: int, function: Callable[[int], int], **more: Any) -> Case:
    """A kernel that stores one number per item, which depends on nothing but the item's own input."""

    def arguments() -> list[Argument]:
        return [np.zeros(N, np.int32), _whole(1, N, low, high)]

    def expected(given: list[Any]) -> dict[int, Array]:
        return {0: np.array([function(x) for x in given[1].tolist()], np.int32)}

    return launch("control_flow", kernel, arguments, expected, **more)


def _early_returns(x: int) -> int:
    if x < 10:
        return 0
    if x >= 50:
        return 11
    return 2 if x & 1 else 13


def _collatz(x: int) -> int:
    steps = 0
    while x != 1:
        x = 3 * x + 1 if x & 1 else x // 2
        steps += 1
    return steps


def _break_and_continue(limit: int) -> int:
    total = 0
    for k in range(40):
        if k % 3 == limit % 3:
            continue
        if k > limit:
            break
        total += k
        if total > 200:
            return -total
    return total


def _nested_loops(x: int) -> int:
    n, count = x % 7, 0
    for a in range(n):
        for b in range(a, n):
            if a * b == 6:
                return 1000 + count
            count += b - a
        c = n
        while True:
            count += 1
            c -= 2
            if c <= a:
                break
    return count


def _switches(x: int) -> int:
    by_case = {0: 10, 1: 23, 2: 3, 5: 56, 6: 56, 7: 103, -3: -3}
    return by_case.get(x - 12 * truncated(x, 12), -1)


def _into_the_middle(x: int) -> int:
    count, at_top = 0, not x & 1
    while True:
        if at_top:
            count += 1
            x -= 3
            if x < 0:
                break
        count += 100
        x -= 2
        at_top = True
        if x <= 0:
            break
    return count * 1000 + x


def _state_machine(x: int) -> int:
    trace, state = 0, "a"
    while state != "end":
        trace = trace * 4 + " abc".index(state)
        if state == "a":
            if x > 60:
                x, state = x - 25, "b"
            else:
                state = "c" if x & 1 else "end"
        elif state == "b":
            x -= 10
            state = "a" if x & 2 else "c"
        else:
            x = truncated(x, 2)
            state = "a" if x > 3 else "end"
    return wrapped(trace, np.int32)


def _classify(x: int) -> int:
    if x < 20:
        return 1
    return next((k for k in range(2, 10) if x % k == 0), 2 * x)


def _calls(x: int) -> int:
    y = _classify(x) if x & 1 else 0
    while y < 30:
        y = 2 * y + 1
    return y if x % 5 else 0


def _flows() -> Iterator[Case]:
    def nested(given: list[Any]) -> dict[int, Array]:
        out = np.zeros(2 * N, np.int32)
        for i, x in enumerate(given[1].tolist()):
            if x & 1:
                y = x * 3
                if x & 2:
                    y = -(y + 100) if x & 4 else y + 100
                elif x & 8:
                    y -= 7
                out[i] = y
            elif x > 50:
                out[N + i] = x
            else:
                out[i] = 5
        return {0: out}

    yield launch("control_flow", "nested_ifs", lambda: [np.zeros(2 * N, np.int32), _whole(2, N, 0, 100)], nested)
    yield _scalar_flow("early_returns", 0, 100, _early_returns)
    yield _scalar_flow("collatz", 1, 100, _collatz)
    yield _scalar_flow("break_and_continue", 0, 45, _break_and_continue)
    yield _scalar_flow("nested_loops", 0, 100, _nested_loops)
    yield _scalar_flow("switches", -20, 40, _switches)
    yield _scalar_flow("into_the_middle", -5, 60, _into_the_middle)
    yield _scalar_flow("state_machine", 0, 130, _state_machine)
    yield _scalar_flow("calls", 0, 100, _calls)

    def keys() -> list[Argument]:
        values = np.random.default_rng(3).choice(np.array([1 << 32, -1, 7, 0, 0xFFFFFFFF], np.int64), N)
        return [np.zeros(N, np.int32), values]

    def wide_switch(given: list[Any]) -> dict[int, Array]:
        by_case = {1 << 32: 1, -1: 2, 7: 3}
        return {0: np.array([by_case.get(x, 4) for x in given[1].tolist()], np.int32)}

    yield launch("control_flow", "wide_switch", keys, wide_switch)

    for mode in (2, 5):

        def uniform(given: list[Any], mode: int = mode) -> dict[int, Array]:
            x = given[1] * mode if mode > 3 else -given[1]
            for k in range(mode if mode > 3 else 0):
                x ^= k
            x[SIZES[1] : 2 * SIZES[1]] += 1000
            return {0: x}

        def given_mode(mode: int = mode) -> list[Argument]:
            return [np.zeros(N, np.int32), _whole(4, N, -99, 99), np.int32(mode)]

        name = f"control_flow_uniform_branches_{mode}"
        yield launch("control_flow", "uniform_branches", given_mode, uniform, name=name)

    table = np.array([0, 5, 0, 7, 1, 0, 3, 2], np.int32)

    def looked_up() -> list[Argument]:
        # Far out of the table, where only an item that asks first may look.
        at = _whole(5, N, 0, 12)
        at[at > 7] = 1 << 30
        return [np.full(N, -5, np.int32), at, table, np.int32(len(table))]

    def guarded(given: list[Any]) -> dict[int, Array]:
        made = [1000 // table[at] if at < 8 and table[at] else -5 for at in given[1].tolist()]
        return {0: np.array(made, np.int32)}

    yield launch("control_flow", "guarded", looked_up, guarded)

    def logic(given: list[Any]) -> dict[int, Array]:
        made = []
        for at in given[1].tolist():
            found = bool(at < 8 and table[at] and table[table[at]] > 3)
            odd = bool(at & 1)
            number = at & 15 if found and not odd else 3
            made.append(found | odd << 1 | (found != odd) << 2 | number << 4)
        return {0: np.array(made, np.int32)}

    yield launch("control_flow", "logic", looked_up, logic)

    def last_values(given: list[Any]) -> dict[int, Array]:
        made = []
        for start in given[1].tolist():
            x, previous, k = start, 0.0, 0
            while x > 1:
                previous, x, k = x, x * 0.5, k + 1
                if k == 6:
                    break
            made.append((x, previous, k))
        return {0: np.array(made, np.float32)}

    def reals() -> list[Argument]:
        return [np.zeros((N, 3), np.float32), np.random.default_rng(6).uniform(0, 200, N).astype(np.float32)]

    yield launch("control_flow", "last_values", reals, last_values)


def _indices() -> Iterator[Case]:
    i = np.arange(N)

    def reading(
        kernel: str,
        cells: int,
        more: list[Any],
        function: Callable[[Array], Array],
        dtype: Any = np.int32,
        **extra: Any,
    ) -> Case:
        def arguments() -> list[Argument]:
            return [np.zeros(extra.get("out", N), dtype), _whole(7, cells, 0, 9999, dtype), *more]

        sizes = extra.get("sizes", SIZES)
        name = extra.get("name", f"indices_{kernel}")
        return launch("indices", kernel, arguments, lambda given: {0: function(given[1])}, sizes, name=name)

    yield reading("narrow", 256, [], lambda x: x[(i + 200) & 0xFF], np.uint32)

    def unsigned_wrap(x: Array) -> Array:
        at = (i + 0xFFFFFFE0) & 0xFFFFFFFF
        return x[at & 0xFF] + np.where(at < i, 1000000, 0).astype(np.uint32)

    yield reading("unsigned_wrap", 256, [np.uint32(0xFFFFFFE0)], unsigned_wrap, np.uint32)
    yield reading("below_zero", N, [np.int32(25)], lambda x: np.where(i >= 25, x[i - 25], -x[abs(25 - i)]))
    yield reading("before_the_pointer", 2 * N, [], lambda x: x[N - 1 - i] + x[i])
    for stride in (0, 1, 3, 5):

        def strided(x: Array, stride: int = stride) -> Array:
            return x[i * stride] + x[i * 2 + 1] + x[i // 4 * 4] + x[i % 3]

        yield reading("strided", 5 * N, [np.int32(stride)], strided, name=f"indices_strided_by_{stride}")

    def wide_product(given: list[Any]) -> dict[int, Array]:
        product = i.astype(np.uint64) * np.uint64(given[1])
        return {0: np.stack([product & np.uint64(0xFFFFFFFF), product], 1)}

    factor = np.uint32(0xF0000001)
    yield launch("indices", "wide_product", lambda: [np.zeros((N, 2), np.uint64), factor], wide_product)
    yield reading("backwards", N, [np.int32(N)], lambda x: x[::-1].copy())

    def two_dimensions(x: Array) -> Array:
        rows, columns = np.mgrid[0:9, 0:14]
        return x[rows * 20 + columns] + x[columns * 20 + rows]

    sizes = ((14, 9), (7, 3))
    yield reading("two_dimensions", 20 * 20, [np.int32(20)], two_dimensions, out=(9, 14), sizes=sizes)

    def same_place(x: Array) -> Array:
        sums = np.asarray(sum(x[k * 3] * (i - k) for k in range(5)))
        return np.append(sums, sums[7]).astype(np.int32)

    yield reading("same_place", 16, [], same_place, out=N + 1)

    def pointers(given: list[Any]) -> dict[int, Array]:
        other = np.where(i & 1, 17, 2 * i)
        read = given[1][np.where(i & 2, i, other)] + 4 * i
        return {0: np.stack([other - i, i < other, i == other, read], 1).astype(np.int64)}

    def pointed() -> list[Argument]:
        return [np.zeros((N, 4), np.int64), _whole(8, 2 * N, 0, 999), np.int32(17)]

    yield launch("indices", "pointers", pointed, pointers)


def _places(name: str, sizes: tuple[tuple[int, ...], tuple[int, ...]], offset: tuple[int, ...] = ()) -> Case:
    whole, group = ((*size, 1, 1)[:3] for size in sizes)
    start = (*offset, 0, 0, 0)[:3]
    items = int(np.prod(whole))

    def expected(_: list[Any]) -> dict[int, Array]:
        out = np.zeros((items, 28), np.uint64)
        numbers = np.arange(items)
        own = [numbers % whole[0], numbers // whole[0] % whole[1], numbers // (whole[0] * whole[1])]
        for d in range(3):
            count = whole[d] // group[d]
            answers = [
                own[d] + start[d],
                own[d] % group[d],
                own[d] // group[d],
                whole[d],
                group[d],
                count,
                start[d],
                group[d],
            ]
            for k, answer in enumerate(answers):
                out[:, 8 * d + k] = answer
        out[:, 24] = len(sizes[0])
        out[:, 25] = numbers
        local = [own[d] % group[d] for d in range(3)]
        out[:, 26] = local[0] + group[0] * (local[1] + group[1] * local[2])
        out[:, 27] = whole[1] * 100 + local[1]
        return {0: out}

    def arguments() -> list[Argument]:
        return [np.zeros((items, 28), np.uint64), np.uint32(1)]

    needs = {"offset"} if offset else set()
    return launch("work_items", "places", arguments, expected, sizes, name=name, offset=offset, needs=needs)


def _work_items() -> Iterator[Case]:
    yield _places("work_items_one_dimension", ((60,), (20,)))
    yield _places("work_items_two_dimensions", ((10, 6), (5, 3)))
    yield _places("work_items_three_dimensions", ((6, 4, 6), (3, 2, 2)))
    yield _places("work_items_one_item", ((1,), (1,)))
    yield _places("work_items_wide_group", ((51, 2), (17, 2)))
    yield _places("work_items_offset", ((12, 4, 2), (6, 2, 1)), (100, 7, 3_000_000_000))

    def required(_: list[Any]) -> dict[int, Array]:
        rows, columns = np.mgrid[0:6, 0:15]
        return {0: ((columns % 5 + 5 * (rows % 2)) * 100 + 52).astype(np.uint32)}

    sizes = ((15, 6), (5, 2))
    yield launch("work_items", "required", lambda: [np.zeros((6, 15), np.uint32)], required, sizes)


CASES = (*_flows(), *_indices(), *_work_items())
