"""Loops over blocks visit the box of active work-items: those that pass the checks at the beginning of the kernel."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import anyzero as az
from anyzero.compiler.compiled import Options
from anyzero.compiler.passes import Pass
from anyzero.compiler.pipeline import compile_kernel
from anyzero.compiler.spirv import read
from tests.compiler.native import Loaded

LEAST, MOST = -(1 << 31), (1 << 31) - 1
WIDTH = 100
"""Of the rows in memory."""


@az.kernel
def framed(out: az.ptr[az.i32], data: az.ptr[az.i32], right: az.i32, shift: az.i32, low: az.i32) -> None:
    x, y = az.i32(az.global_id(0)), az.i32(az.global_id(1))
    if x + shift < right - 1 and x > 0 and y >= low and y < 11:
        out[y * 100 + x] += data[y * 100 + x]


@az.kernel
def unsigned(out: az.ptr[az.i32], data: az.ptr[az.i32], right: az.u32, shift: az.u32, low: az.u32) -> None:
    x, y = az.u32(az.global_id(0)), az.u32(az.global_id(1))
    if x + shift >= right or y <= low:
        return
    out[y * az.u32(100) + x] += data[y * az.u32(100) + x]


@az.kernel
def marked(out: az.ptr[az.i32], data: az.ptr[az.i32], right: az.i32, shift: az.i32, low: az.i32) -> None:
    """Every work-item has an effect before the last check."""
    x, y = az.i32(az.global_id(0)), az.i32(az.global_id(1))
    if x >= right:
        return
    out[y * 100 + x] += 1000
    if y < low or x < shift:
        return
    out[y * 100 + x] += data[y * 100 + x]


def _wrapped(value: int, unsigned: bool = False) -> int:
    value &= (1 << 32) - 1
    return value if unsigned or value <= MOST else value - (1 << 32)


def _framed(x: int, y: int, right: int, shift: int, low: int, value: int) -> int:
    there = _wrapped(x + shift) < _wrapped(right - 1) and x > 0 and low <= y < 11
    return value if there else 0


def _unsigned(x: int, y: int, right: int, shift: int, low: int, value: int) -> int:
    right, shift, low = (_wrapped(each, True) for each in (right, shift, low))
    return 0 if _wrapped(x + shift, True) >= right or y <= low else value


def _marked(x: int, y: int, right: int, shift: int, low: int, value: int) -> int:
    return 0 if x >= right else 1000 if y < low or x < shift else 1000 + value


KERNELS = {"framed": (framed, _framed), "unsigned": (unsigned, _unsigned), "marked": (marked, _marked)}
WAYS = (("haswell", 8), ("haswell", 32), ("x86-64-v2", 4), ("", 16), ("haswell", 1))
"""Processors and lanes; the last but one is the host."""


@cache
def _loaded(name: str, cpu: str, lanes: int) -> Loaded:
    return Loaded(compile_kernel(read(KERNELS[name][0].spirv), name, Options(cpu=cpu, lanes=lanes, level=1)))


bounds = st.one_of(st.integers(-5, 110), st.sampled_from([LEAST, LEAST + 1, MOST, MOST - 1]))


@pytest.mark.parametrize("name", sorted(KERNELS))
@given(
    *(st.integers(1, 90), st.integers(1, 14), st.integers(0, 9), st.integers(0, 3)),
    *(bounds, bounds, st.integers(-3, 14)),
    *(st.sampled_from([(8, 4), (64, 8), (128, 16), (24, 3)]), st.sampled_from(WAYS)),
)
@example(90, 14, 0, 0, LEAST, 0, 1, (64, 8), WAYS[0])
@example(90, 14, 0, 0, 50, MOST - 20, 1, (64, 8), WAYS[1])
@example(17, 14, 0, 0, 90, 0, 0, (128, 16), WAYS[3])
@example(89, 14, 0, 0, 86, 0, 0, (128, 16), WAYS[3])
def test_given_any_bounds_then_just_the_active_work_items_run_once(
    name: str,
    columns: int,
    rows: int,
    left: int,
    top: int,
    right: int,
    shift: int,
    low: int,
    block: tuple[int, int],
    way: tuple[str, int],
) -> None:
    out = np.zeros((32, WIDTH), np.int32)
    data = np.arange(out.size, dtype=np.int32).reshape(out.shape) + 1
    narrow = np.uint32 if name == "unsigned" else np.int32
    numbers: list[Any] = [narrow(_wrapped(each, name == "unsigned")) for each in (right, shift, low)]
    _loaded(name, *way)([out, data, *numbers], (columns, rows), block, (left, top))
    wanted = np.zeros_like(out)
    for y in range(top, top + rows):
        for x in range(left, left + columns):
            wanted[y, x] = KERNELS[name][1](x, y, right, shift, low, int(data[y, x]))
    assert (out == wanted).all()


@az.kernel
def accumulate(c: az.ptr[az.f32], a: az.ptr[az.f32], b: az.ptr[az.f32], n: az.i32) -> None:
    column, row = az.i32(az.global_id(0)), az.i32(az.global_id(1))
    if row >= n or column >= n:
        return
    total = az.f32(0)
    for k in range(n):
        total += a[row * n + k] * b[k * n + column]
    c[row * n + column] += total


@cache
def _accumulate(way: tuple[str, int | None]) -> Loaded:
    return Loaded(compile_kernel(read(accumulate.spirv), "accumulate", Options(cpu=way[0], lanes=way[1])))


@given(
    *(st.integers(1, 150), st.integers(0, 40), st.integers(0, 40)),
    *(st.sampled_from([(128, 128), (64, 32), (128, 16)]), st.sampled_from([("haswell", 8), ("", None)])),
)
@example(127, 1, 1, (128, 128), ("haswell", 8))
@example(127, 1, 1, (128, 128), ("", None))
@example(96, 0, 7, (128, 128), ("", None))
def test_given_a_part_of_a_block_then_strips_and_the_rest_are_right(
    n: int, right: int, below: int, block: tuple[int, int], way: tuple[str, int | None]
) -> None:
    random = np.random.default_rng(n)
    a, b = (random.integers(-4, 5, (n, n)).astype(np.float32) for _ in range(2))
    c = np.full((n, n), 7, np.float32)
    _accumulate(way)([c, a, b, np.int32(n)], (n + right, n + below), block)
    assert (c == a @ b + 7).all()


def _versions(kernel: Any, name: str, options: Options) -> set[str]:
    found: set[str] = set()

    def observe(done: Pass, unit: object) -> None:
        if done.name == "write-block-loops":
            checks = unit.checks  # type: ignore[attr-defined]
            found.update({"box"} if checks is not None else ())
            found.update({"settled"} if checks is not None and checks.settled else ())
            found.update({"strips"} & set(unit.versions))  # type: ignore[attr-defined]

    compile_kernel(read(kernel.spirv), name, options, observe=observe)
    return found


@pytest.mark.parametrize(
    ("name", "options", "there"),
    [
        ("framed", Options(cpu="haswell"), {"box", "settled"}),
        ("marked", Options(cpu="haswell"), {"box"}),
        ("framed", Options(cpu="haswell", quick=True), set()),
        ("framed", Options(cpu="haswell", count_lanes=True), set()),
        ("framed", Options(cpu="haswell", check_memory=True), set()),
        ("accumulate", Options(cpu="haswell"), {"box", "settled", "strips"}),
    ],
)
def test_the_general_version_is_not_needed_where_the_box_implies_all_checks(
    name: str, options: Options, there: set[str]
) -> None:
    kernel = accumulate if name == "accumulate" else KERNELS[name][0]
    assert _versions(kernel, name, options) == there
