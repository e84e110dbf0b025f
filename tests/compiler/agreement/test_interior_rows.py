"""Rows are split into vectors at the edges and vectors between them, by bounds of every slope."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anyzero as az
from anyzero.compiler import pipeline
from anyzero.compiler.compiled import Options
from anyzero.compiler.passes import Pass
from anyzero.compiler.pipeline import compile_kernel
from anyzero.compiler.spirv import read
from benchmarks.kernels.case import FOLDER
from tests.compiler.native import Loaded

FAR = 1 << 40


@az.kernel
def between(out: az.ptr[az.i32], data: az.ptr[az.i32], begin: az.i64, high: az.i64, steep: az.i64) -> None:
    """Marks the work-items between bounds of different slopes: 17 and 34 below, two arguments above."""
    x = az.i64(az.global_id(0))
    if x > 17 and x * 3 >= 100 and x < high and x * 5 + 7 < steep:
        out[x - begin] = data[x - begin] + 1


LOADED = {
    (cpu, lanes): Loaded(compile_kernel(read(between.spirv), "between", Options(cpu=cpu, lanes=lanes, level=1)))
    for cpu, lanes in (("haswell", 8), ("haswell", 32), ("x86-64-v2", 4))
}

bounds = st.one_of(st.integers(-20, 1700), st.sampled_from([-FAR, FAR, -(1 << 63), -(1 << 63) + 1, (1 << 62)]))


@given(st.integers(1, 300), st.integers(0, 40), bounds, bounds, st.sampled_from(sorted(LOADED)))
def test_given_any_bounds_then_the_work_items_between_them_run(
    n: int, begin: int, high: int, steep: int, how: tuple[str, int]
) -> None:
    out, data = np.zeros(n, np.int32), np.arange(n, dtype=np.int32)
    LOADED[how]([out, data, np.int64(begin), np.int64(high), np.int64(steep)], (n,), (n,), (begin, 0, 0))
    inside = [x > 17 and 3 * x >= 100 and x < high and 5 * x + 7 < steep for x in range(begin, begin + n)]
    assert out.tolist() == [i + 1 if there else 0 for i, there in enumerate(inside)]


@az.kernel
def third(out: az.ptr[az.i32], data: az.ptr[az.i32], end: az.i64) -> None:
    """A bound with a factor is no side of the box of active work-items, in which the interior version always runs."""
    x = az.i64(az.global_id(0))
    if x * 3 < end:
        out[x] = data[x]


def _versions(cpu: str, module: bytes, kernel: str) -> set[str]:
    found: set[str] = set()

    def observe(done: Pass, unit: object) -> None:
        if done.name == "write-regions":
            found.update(unit.versions)  # type: ignore[attr-defined]

    pipeline.compile_kernel(read(module), kernel, Options(cpu=cpu, level=1), observe=observe)
    return found


@pytest.mark.parametrize(("cpu", "there"), [("haswell", True), ("znver5", True), ("znver4", False)])
def test_streams_have_an_interior_version_where_masked_loads_are_slow(cpu: str, there: bool) -> None:
    assert ("interior" in _versions(cpu, third.spirv, "third")) is there
    unchecked = (FOLDER / "saxpy.spv").read_bytes()
    assert "interior" not in _versions(cpu, unchecked, "saxpy_unchecked")


@pytest.mark.parametrize("cpu", ["haswell", "znver5", "znver4"])
def test_short_code_has_an_interior_version_where_it_replaces_the_general_one(cpu: str) -> None:
    assert "interior" in _versions(cpu, (FOLDER / "saxpy.spv").read_bytes(), "saxpy_int")
    assert "interior" not in _versions(cpu, (FOLDER / "mandelbrot.spv").read_bytes(), "mandelbrot")
