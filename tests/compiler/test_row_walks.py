"""Kernels whose lanes follow a row of a matrix each, an element at a time, have few lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.compiler.compiled import Options
from anyzero.compiler.lanes.choice import SHORTEST
from anyzero.compiler.pipeline import compile_kernel
from anyzero.compiler.spirv import read
from tests.compiler.native import Loaded

Kernel = Callable[..., Any]
Array = az.ptr[az.f32]


@az.kernel
def smoothed(y: Array, x: Array, w: az.i32, r: az.i32) -> None:
    """A running sum, in whose loop there are bounds."""
    i = az.i32(az.global_id(0))
    total = az.f32(0)
    for j in range(w):
        if j + r < w:
            total += x[i * w + j + r]
        if j - r - 1 >= 0:
            total -= x[i * w + j - r - 1]
        y[i * w + j] = total


@az.kernel
def solved(y: Array, x: Array, w: az.i32, r: az.i32) -> None:
    """Each element needs the one before."""
    i = az.i32(az.global_id(0))
    for j in range(1, w):
        y[i * w + j] = x[i * w + j] / (y[i * w + j - 1] + 2)


@az.kernel
def windows(y: Array, x: Array, w: az.i32, r: az.i32) -> None:
    """Lanes are as far apart as an argument says that no loop knows: mostly an element or two."""
    i = az.i32(az.global_id(0))
    total = az.f32(0)
    for j in range(r):
        if j != 2:
            total += x[i * w + j] / total
    y[i] = total


@az.kernel
def looked_up(y: Array, x: Array, w: az.i32, r: az.i32) -> None:
    """Rows begin where memory says."""
    i = az.i32(az.global_id(0))
    first = az.i32(x[i]) * w
    total = az.f32(0)
    for j in range(w):
        if j != 2:
            total += x[first + j] / total
    y[i] = total


@az.kernel
def summed(y: Array, x: Array, w: az.i32, r: az.i32) -> None:
    """Eight iterations are one load for each lane."""
    i = az.i32(az.global_id(0))
    total = az.f32(0)
    for j in range(w):
        total += x[i * w + j]
    y[i] = total


@az.kernel
def in_columns(y: Array, x: Array, w: az.i32, r: az.i32) -> None:
    """Lanes are neighbours."""
    i = az.i32(az.global_id(0))
    total = az.f32(0)
    for j in range(w):
        if j + r < w:
            total += x[(j + r) * 64 + i]
        y[j * 64 + i] = total


def lanes(kernel: Kernel, cpu: str) -> int:
    made: Any = kernel
    return compile_kernel(read(made.spirv), kernel.__name__, Options(cpu=cpu)).lanes


@pytest.mark.parametrize("cpu", ["haswell", "skylake-avx512"])
@pytest.mark.parametrize("kernel", [smoothed, solved])
def test_given_a_row_for_each_lane_then_few_rows_are_open_at_a_time(kernel: Kernel, cpu: str) -> None:
    assert lanes(kernel, cpu) == SHORTEST


@pytest.mark.parametrize("cpu", ["haswell", "skylake-avx512"])
@pytest.mark.parametrize("kernel", [windows, looked_up, summed, in_columns])
def test_given_other_accesses_then_vectors_are_as_long_as_usual(kernel: Kernel, cpu: str) -> None:
    assert lanes(kernel, cpu) != SHORTEST


@pytest.mark.parametrize("w", [5, 64])
def test_given_few_lanes_then_rows_are_right(w: int) -> None:
    x = np.random.default_rng(2).random((37, w), np.float32)
    for kernel in (smoothed, solved):
        y = np.ones_like(x)
        Loaded(compile_kernel(read(kernel.spirv), kernel.__name__, Options()))(
            [y, x, np.int32(w), np.int32(3)], (37,), (37,)
        )
        expected = np.ones_like(x, np.float64)
        for j in range(w):
            if kernel is smoothed:
                begin = np.zeros(len(x)) if j == 0 else expected[:, j - 1]
                expected[:, j] = begin + (x[:, j + 3] if j + 3 < w else 0) - (x[:, j - 4] if j >= 4 else 0)
            elif j:
                expected[:, j] = x[:, j] / (expected[:, j - 1] + 2)
        np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4)
