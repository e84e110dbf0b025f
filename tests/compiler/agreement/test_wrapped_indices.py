"""Indices that wrap around the edges of a grid, and those that are split into rows and columns by division."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.compiler import pipeline, reference
from anyzero.compiler.compiled import Options
from anyzero.compiler.passes import Pass
from anyzero.compiler.spirv import read
from tests.compiler.agreement.isolation import isolated
from tests.compiler.native import Loaded

WIDTH, HEIGHT = 72, 9


@az.kernel
def torus(out: az.ptr[az.i32], given: az.ptr[az.i32], width: az.i32, height: az.i32) -> None:
    x, y = az.i32(az.global_id(0)), az.i32(az.global_id(1))
    left, right, up = (x - 1 + width) % width, (x + 1) % width, (y + height - 1) % height
    if x < width and y < height:
        out[y * width + x] = given[y * width + left] - 2 * given[y * width + right] + 3 * given[up * width + x]


@az.kernel
def unsigned_torus(out: az.ptr[az.i32], given: az.ptr[az.i32], width: az.u32, height: az.u32) -> None:
    x, y = az.u32(az.global_id(0)), az.u32(az.global_id(1))
    left, right = (x + width - az.u32(2)) % width, (x + az.u32(2)) % width
    if x < width and y < height:
        out[y * width + x] = given[y * width + left] * 5 - given[y * width + right]


@az.kernel
def flat(out: az.ptr[az.i32], given: az.ptr[az.i32], width: az.u32, height: az.u32) -> None:
    i = az.u32(az.global_id(0) + az.global_size(0) * az.global_id(1))
    if i < width * height:
        row = i // width
        out[i] = given[i % width + row * width] + az.i32(row)


@az.kernel
def butterfly(out: az.ptr[az.i32], _: az.ptr[az.i32], width: az.u32, height: az.u32) -> None:
    i = az.u32(az.global_id(0) + az.global_size(0) * az.global_id(1))
    if i < width * (height // az.u32(2)):
        row = i // width
        first = az.u32(2) * width * row + (i - row * width)
        a, b = out[first], out[first + width]
        out[first] = a + b
        out[first + width] = a - b


KERNELS = (torus, unsigned_torus, flat, butterfly)


@pytest.mark.parametrize("cpu", ["haswell", "x86-64-v2", ""])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda each: each.__name__)
def test_given_grids_of_any_size_then_all_work_items_are_right(kernel: Any, cpu: str) -> None:
    module = read(kernel.spirv)
    number = np.int32 if kernel is torus else np.uint32

    def wrong() -> list[tuple[int, int]]:
        run = Loaded(pipeline.compile_kernel(module, kernel.__name__, Options(cpu=cpu, level=1)))
        found = []
        for width, height in ((WIDTH, HEIGHT), (WIDTH - 7, HEIGHT - 1), (33, 2), (16, 4), (5, 3), (2, 2)):
            random = np.random.default_rng(width)
            made, given = (random.integers(-99, 99, WIDTH * HEIGHT, np.int32) for _ in range(2))
            expected, size = made.copy(), [number(width), number(height)]
            run([made, given, *size], (WIDTH, HEIGHT), (8, 3))
            reference.run(module, kernel.__name__, [expected, given, *size], (WIDTH, HEIGHT), (8, 3))
            found += [] if (made == expected).all() else [(width, height)]
        return found

    outcome = isolated(wrong)
    assert not outcome.trouble, outcome.trouble
    assert outcome.value == []


def _remainders(kernel: Any) -> dict[str, int]:
    found: dict[str, int] = {}

    def observe(done: Pass, unit: Any) -> None:
        if done.name == "streaming-stores":
            found[unit.name] = sum(op.name in ("srem", "urem") for op in unit.body.ops)

    pipeline.compile_kernel(read(kernel.spirv), kernel.__name__, Options(cpu="haswell", level=1), observe=observe)
    return found


@pytest.mark.parametrize(("kernel", "count"), [(torus, 3), (unsigned_torus, 2)], ids=["torus", "unsigned"])
def test_away_from_the_edges_nothing_wraps(kernel: Any, count: int) -> None:
    assert _remainders(kernel) == {"general": count, "interior": 0}


def test_columns_of_a_flat_grid_are_not_taken_for_its_first_row() -> None:
    assert 0 not in _remainders(flat).values()


@pytest.mark.parametrize("kernel", [flat, butterfly], ids=lambda each: each.__name__)
def test_given_rows_of_a_flat_grid_then_neighbours_are_loaded_as_one(kernel: Any) -> None:
    text = pipeline.form(read(kernel.spirv), kernel.__name__, Options(cpu="haswell", lanes=8), "ir")
    assert "@llvm.masked.load.v8i32" in text


@az.kernel
def short_numbers(out: az.ptr[az.i32], given: az.ptr[az.i32], width: az.i32, height: az.i32) -> None:
    """Bytes and shorts wrap around inside of a buffer, also where they are widened."""
    i = az.i32(az.global_id(0))
    out[i] = given[az.i32(az.i8(i + 120)) + 128] + given[az.i32(az.i16(i * 3 + 32700)) + 32768]


@pytest.mark.parametrize("cpu", ["haswell", "x86-64-v2", ""])
def test_short_numbers_wrap_around_between_lanes(cpu: str) -> None:
    module = read(short_numbers.spirv)
    for lanes in (8, 16, None):
        options = Options(cpu=cpu, lanes=lanes)
        run = Loaded(pipeline.compile_kernel(module, "short_numbers", options))
        out, given = np.zeros(300, np.int32), np.arange(1 << 16, dtype=np.int32)
        run([out, given, np.int32(0), np.int32(0)], (300,), (300,))
        i = np.arange(300)
        expected = (i + 120).astype(np.int8).astype(np.int32) + 128 + (i * 3 + 32700).astype(np.int16) + 32768
        np.testing.assert_array_equal(out, expected)
