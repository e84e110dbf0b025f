"""Kernels that number rows first: lanes lie along another dimension than the first one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from anyzero.compiler import reference
from anyzero.compiler.compiled import CompiledKernel, Options
from anyzero.compiler.pipeline import compile_kernel
from benchmarks.kernels.case import FOLDER, Argument
from tests.compiler import native
from tests.compiler.agreement.cases import module_of

KERNELS = FOLDER / "rows_first.spv"
Size = tuple[int, int, int]

random = np.random.default_rng(19)
A, B = random.integers(-99, 99, (2, 80 * 70)).astype(np.int32)
FLOATS = random.random((2, 80 * 70), np.float32)
BYTES = random.integers(0, 255, 80 * 70).astype(np.uint8)


def arguments(name: str, size: Size) -> list[Argument]:
    """For a matrix with a row and a column for each work-item, or somewhat less where the kernel has bounds."""
    m, n, k = size
    room = np.zeros(m * n * k, np.int32)
    bounds = [np.int32(m - 1), np.int32(max(n - 2, 1))]
    return {
        "add": [room.astype(np.float32), *FLOATS, *bounds],
        "product": [room, A, B, *bounds, np.int32(13)],
        "smooth": [room, A, np.int32(m), np.int32(n)],
        "escape": [room, np.int32(m), np.int32(n)],
        "block": [room.astype(np.int64), np.uint64(n), np.uint64(k)],
        "sizes": [room.astype(np.uint32)],
        "count": [np.zeros(16, np.int32), BYTES, np.int32(n)],
        "usual": [room, np.int32(m)],
        "grouped": [room, np.int32(n)],
    }[name]


DIMENSIONS = {
    **dict.fromkeys(["add", "product", "smooth", "escape", "sizes", "count"], 1),
    "block": 2,
    **dict.fromkeys(["usual", "grouped"], 0),
}


def kernel(name: str, options: Options) -> CompiledKernel:
    return compile_kernel(module_of(KERNELS), name, options)


@pytest.mark.parametrize("cpu", ["x86-64-v2", "haswell", "skylake-avx512"])
@pytest.mark.parametrize("name", DIMENSIONS)
def test_lanes_lie_along_the_dimension_of_neighbours(name: str, cpu: str) -> None:
    assert kernel(name, Options(cpu=cpu)).lane_dimension == DIMENSIONS[name]


@pytest.mark.parametrize(
    "options",
    [Options(quick=True), Options(level=0), Options(check_memory=True), Options(check_races=True)],
    ids=["first stage", "not optimised", "memory checked", "races checked"],
)
def test_code_that_is_made_quickly_or_names_work_items_keeps_the_order(options: Options) -> None:
    assert kernel("product", options).lane_dimension == 0


SIZES = [(64, 48, 1), (37, 41, 1), (3, 70, 1), (70, 3, 1), (80, 1, 1), (1, 70, 1)]


@pytest.mark.parametrize("options", [Options(), Options(lanes=8), Options(cpu="x86-64-v2")], ids=["own", "8", "sse"])
@pytest.mark.parametrize("exchanged", [True, False], ids=["exchanged", "not exchanged"])
@pytest.mark.parametrize("name", DIMENSIONS)
def test_both_orders_give_the_same(name: str, exchanged: bool, options: Options) -> None:
    """The engine exchanges the dimensions of a launch, or leaves them where too few work-items lie along the other."""
    loaded = native.Loaded(kernel(name, options))
    for size in [(5, 6, 19), (7, 3, 2)] if name == "block" else SIZES:
        offset = (3, 5, 2) if name == "sizes" else (0, 0, 0)
        given: list[Any] = arguments(name, size)
        loaded(given, size, size, offset, exchanged=exchanged)
        expected: list[Any] = arguments(name, size)
        reference.run(module_of(KERNELS), name, expected, size, size, offset)
        for one, other in zip(given, expected, strict=True):
            if isinstance(one, np.ndarray):
                np.testing.assert_array_equal(one, other, err_msg=str(size))
