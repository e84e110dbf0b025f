"""Accesses of neighbouring elements that become one, and those that must not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.compiler import pipeline, reference
from anyzero.compiler.compiled import Options
from anyzero.compiler.ir import Op
from anyzero.compiler.passes import Pass
from anyzero.compiler.spirv import read
from tests.compiler.agreement.isolation import isolated
from tests.compiler.native import Loaded

N = 150
"""Not a multiple of any vector."""


@az.kernel
def pairs(out: az.ptr[az.i32], given: az.ptr[az.i32], n: az.i32) -> None:
    i = az.i32(az.global_id(0))
    if i < n:
        a, b = given[2 * i], given[2 * i + 1]
        out[2 * i] = a + b
        out[2 * i + 1] = a - b


@az.kernel
def grey(out: az.ptr[az.u8], given: az.ptr[az.u8], n: az.i32) -> None:
    i = az.i32(az.global_id(0))
    if i < n:
        r, g, b = az.u32(given[3 * i]), az.u32(given[3 * i + 1]), az.u32(given[3 * i + 2])
        out[i] = az.u8((r * az.u32(77) + g * az.u32(151) + b * az.u32(28)) >> az.u32(8))


@az.kernel
def gaps(out: az.ptr[az.i32], given: az.ptr[az.i32], n: az.i32) -> None:
    """Some components are neither read nor written, and one is read behind a store that might meet it: not in the
    version for separate memory.
    """
    i = az.global_id(0)
    if i < n:
        out[4 * i + 3] = given[4 * i] - given[4 * i + 2]
        out[4 * i] = given[4 * i + 3]
        out[4 * i + 1] = i


@az.kernel
def in_place(a: az.ptr[az.i32], _: az.ptr[az.i32], n: az.i32) -> None:
    """Each component is loaded behind the store of the one before."""
    i = az.i32(az.global_id(0))
    if i < n:
        x = a[3 * i] + 5
        a[3 * i] = x
        y = a[3 * i + 1] + x
        a[3 * i + 1] = y
        a[3 * i + 2] += y


@az.kernel
def again(a: az.ptr[az.i32], _: az.ptr[az.i32], n: az.i32) -> None:
    """The same element is written twice, and read between."""
    i = az.i32(az.global_id(0))
    if i < n:
        a[2 * i] = i
        a[2 * i + 1] = a[2 * i] * 3
        a[2 * i] = a[2 * i + 1] + 1


@az.kernel
def beside(out: az.ptr[az.i32], given: az.ptr[az.i32], n: az.i32) -> None:
    """Neighbours of neighbours: lanes read the same elements."""
    i = az.i32(az.global_id(0))
    if i < n:
        out[i] = given[i] + 2 * given[i + 1] + 3 * given[i + 2] + given[2 * i] * given[2 * i + 3]


@az.kernel
def rows(out: az.ptr[az.i32], given: az.ptr[az.i32], n: az.i32) -> None:
    i = az.i32(az.global_id(0))
    if i < n:
        k = 4 * (given[i] & 63)
        out[i] = given[k] + 2 * given[k + 1] + 3 * given[k + 2] - given[k + 3]


@az.kernel
def short_indices(out: az.ptr[az.i32], given: az.ptr[az.i32], n: az.i32) -> None:
    """A tile of four columns, with indices of 16 bits, one of them a sum that wraps around."""
    tile = az.local[az.i32, 256]
    own, i = az.i32(az.local_id(0)), az.i32(az.global_id(0))
    for k in range(4):
        tile[4 * own + k] = given[(i + 37 * k) % n]
    az.barrier()
    at = az.u16((az.u32(own) ^ az.u32(3)) << az.u32(2))
    if at >= az.u16(200):
        at = az.u16(0)
    a, b = tile[at], tile[at | az.u16(1)]
    c, d = tile[at | az.u16(2)], tile[at + az.u16(3)]
    wrapped = az.u16(at + az.u16(65532))
    if at < az.u16(4):
        wrapped = at
    out[i] = a + 2 * b + 3 * c - d + 5 * tile[wrapped]


@az.kernel
def structures(out: az.ptr[az.i32], given: az.ptr[az.i32], n: az.i32) -> None:
    """Eight members, read from the last to the first, and a store between those of the others."""
    i = az.i32(az.global_id(0))
    if i < n // 2:
        h, g, f, e = given[8 * i + 7], given[8 * i + 6], given[8 * i + 5], given[8 * i + 4]
        d, c, b, a = given[8 * i + 3], given[8 * i + 2], given[8 * i + 1], given[8 * i]
        out[8 * i + 1] = a - h
        out[8 * i + 3] = b - g
        out[8 * i] = c * e
        out[8 * i + 2] = d + f
        out[8 * i + 5] = out[8 * i + 1] + 3


@az.kernel
def crossing(a: az.ptr[az.i32], _: az.ptr[az.i32], n: az.i32) -> None:
    """Joined, the stores would pass the second load, and the loads the first store."""
    i = az.i32(az.global_id(0))
    if i < n:
        a[2 * i + 1] = 1
        a[2 * i] += 3
        a[2 * i + 1] += 5


@az.kernel
def in_any_order(out: az.ptr[az.i32], given: az.ptr[az.i32], n: az.i32) -> None:
    """Four members of a structure whose place is computed, for two in three work-items."""
    i = az.i32(az.global_id(0))
    if i < n and i % 3 != 1:
        k = 4 * ((i * 7) % n)
        a = given[i]
        out[k + 2] = a * 3
        out[k] = a
        out[k + 1] = a * 2
        out[k + 3] = a * 4


KERNELS = (pairs, grey, gaps, in_place, again, beside, rows, short_indices, structures, crossing, in_any_order)
WAYS = [Options(level=1), *(Options(level=1, cpu="haswell", lanes=lanes) for lanes in (None, 8, 32))]
WAYS += [Options(level=1, cpu="x86-64-v2")]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way.cpu or 'native'}-{way.lanes}")
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda each: each.__name__)
def test_merged_accesses_read_and_write_the_same(kernel: Any, way: Options) -> None:
    module = read(kernel.spirv)
    type_ = np.uint8 if kernel is grey else np.int32

    def wrong() -> list[int]:
        run = Loaded(pipeline.compile_kernel(module, kernel.__name__, way))
        found = []
        for n in (N, 64, 1):
            random = np.random.default_rng(n)
            made, given = (random.integers(0, 200, 4 * N, type_) for _ in range(2))
            expected = made.copy()
            run([made, given, np.int32(n)], (N,), (50,))
            reference.run(module, kernel.__name__, [expected, given, np.int32(n)], (N,), (50,))
            found += [] if (made == expected).all() else [n]
        return found

    outcome = isolated(wrong)
    assert not outcome.trouble, outcome.trouble
    assert outcome.value == []


def _accesses(kernel: Any, name: str, options: Options | None = None) -> list[int]:
    """Components of each load or store, in their order."""
    found: list[Op] = []

    def observe(done: Pass, unit: Any) -> None:
        if done.name == "streaming-stores" and unit.name == "general":
            found.extend(op for op in unit.body.ops if op.name == name)

    options = options or Options(cpu="haswell", level=1, lanes=16)
    pipeline.compile_kernel(read(kernel.spirv), kernel.__name__, options, observe=observe)
    return [op.info.count for op in found]


@pytest.mark.parametrize(
    ("kernel", "loads", "stores"),
    [
        (pairs, [2], [2]),
        (grey, [3], [1]),
        (gaps, [3, 1, 4], [1, 1, 2, 2]),
        (in_place, [3], [3]),
        (again, [1, 1], [1, 1, 1]),
        (beside, [1, 1, 1, 1, 1], [1]),
        (rows, [1, 4], [1]),
        (structures, [4, 4, 1], [1, 4]),
        (in_any_order, [1], [4]),
    ],
    ids=lambda each: each.__name__ if hasattr(each, "spirv") else "",
)
def test_accesses_have_so_many_components(kernel: Any, loads: list[int], stores: list[int]) -> None:
    assert (_accesses(kernel, "load"), sorted(_accesses(kernel, "store"))) == (loads, stores)


def test_given_checks_of_accesses_then_each_stays() -> None:
    assert _accesses(pairs, "load", Options(cpu="haswell", level=1, lanes=16, check_memory=True)) == [1, 1]
