"""Loops that lanes leave at different times, around loads of single lanes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.compiler.compiled import Options
from anyzero.compiler.pipeline import compile_kernel
from anyzero.compiler.spirv import read
from tests.compiler.native import Loaded

Floats = az.ptr[az.f32]
Integers = az.ptr[az.i32]


@az.kernel
def ranked(y: Floats, x: Floats, row: Integers, column: Integers, degree: Integers, n: az.i32) -> None:
    """Each of a sparse row's elements is three loads and a division."""
    i = az.i32(az.global_id(0))
    if i >= n:
        return
    total = az.f32(0)
    k = row[i]
    while k < row[i + 1]:
        j = column[k]
        total += x[j] / az.f32(degree[j])
        k += 1
    y[i] = total


@az.kernel
def together(y: Floats, x: Floats, row: Integers, column: Integers, degree: Integers, n: az.i32) -> None:
    """The same for rows of equal length, whose lanes stay together."""
    i = az.i32(az.global_id(0))
    if i >= n:
        return
    total = az.f32(0)
    for k in range(row[0]):
        j = column[k * n + i]
        total += x[j] / az.f32(degree[j])
    y[i] = total


def lanes(kernel: Any, cpu: str) -> int:
    return compile_kernel(read(kernel.spirv), kernel.__name__, Options(cpu=cpu)).lanes


@pytest.mark.parametrize(
    ("kernel", "cpu", "vectors"),
    [(ranked, "haswell", False), (ranked, "skylake-avx512", True), (together, "haswell", True)],
)
def test_given_no_gathers_then_loops_that_lanes_leave_one_by_one_seldom_pay(
    kernel: Any, cpu: str, vectors: bool
) -> None:
    assert (lanes(kernel, cpu) > 1) == vectors


@pytest.mark.parametrize("gathers", [None, False])
@pytest.mark.parametrize("size", [1, 4, 16])
def test_given_any_number_of_lanes_then_sums_are_right(size: int, gathers: bool | None) -> None:
    random, n = np.random.default_rng(3), 37
    row = np.concatenate([[0], np.cumsum(random.integers(0, 9, n))]).astype(np.int32)
    column = random.integers(0, n, row[-1], np.int32)
    degree, x, y = random.integers(1, 9, n, np.int32), random.random(n, np.float32), np.zeros(n, np.float32)
    options = Options(lanes=size, gathers=gathers)
    Loaded(compile_kernel(read(ranked.spirv), "ranked", options))([y, x, row, column, degree, np.int32(n)], (n,), (n,))
    expected = [(x[column[a:b]] / degree[column[a:b]]).sum() for a, b in pairwise(row)]
    np.testing.assert_allclose(y, expected, rtol=1e-5)
