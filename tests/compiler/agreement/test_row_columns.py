"""Transpositions: what several rows of work-items load or store lies side by side for each lane."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from anyzero.compiler.analysis.rows import Rows
from anyzero.compiler.compiled import Options
from anyzero.compiler.passes import Pass
from anyzero.compiler.pipeline import compile_kernel
from benchmarks.kernels.case import FOLDER, Argument, Array, Case
from tests.compiler.agreement.cases import module_of, through_compiler

SIZES = [(64, 32), (70, 37)]
WAYS = [Options(level=1), *(Options(level=1, cpu=cpu, lanes=8) for cpu in ("haswell", "x86-64-v2"))]


def case(name: str, width: int, height: int, block: tuple[int, int]) -> Case:
    def arguments() -> list[Argument]:
        random = np.random.default_rng(width)
        sizes = [np.int32(width), np.int32(height)]
        if name == "store_column":
            given = random.random((height, width), dtype=np.float32)
            return [np.zeros((width, height), np.float32), given, *sizes]
        if name == "store_both":
            given = random.random((height, width), dtype=np.float32)
            return [np.zeros((width, height), np.float32), np.zeros((height, width), np.float32), given, *sizes]
        if name == "load_column":
            return [np.zeros((height, width)), random.random((width, height)), *sizes]
        given = random.integers(0, 99, (width, height), np.uint32)
        return [np.zeros((width, height), np.uint32), given, np.int64(height)]

    def expected(given: list[Any]) -> dict[int, Array]:
        if name == "store_column":
            return {0: given[1].T.copy()}
        if name == "store_both":
            return {0: given[2].T.copy(), 1: given[2]}
        if name == "load_column":
            return {0: 2 * given[1].T}
        x, y = np.meshgrid(np.arange(width), np.arange(height), indexing="ij")
        return {0: (given[1] + 7 * x + y).astype(np.uint32)}

    # Only kernels with bounds may be launched with more work-items than there are elements.
    bounded = name != "both_columns"
    size = tuple(-(-n // b) * b for n, b in zip((width, height), block, strict=True)) if bounded else (width, height)
    return Case(name, FOLDER / "columns.spv", name, arguments, size, block, expected)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way.cpu or 'native'}-{way.lanes}")
@pytest.mark.parametrize("name", ["store_column", "store_both", "load_column", "both_columns"])
def test_all_elements_come_to_their_places(name: str, way: Options) -> None:
    for (width, height), block in zip(SIZES, [(64, 16), (35, 37)], strict=True):
        each = case(name, width, height, block)
        assert each.mismatch(through_compiler(each, way)) is None, (width, height)


def rows_of(name: str, options: Options) -> list[Rows | None]:
    """The decision about rows in each version."""
    found: list[Rows | None] = []

    def observe(done: Pass, unit: Any) -> None:
        if done.name == "rows":
            found.append(unit.rows)

    each = case(name, 64, 64, (64, 16))
    compile_kernel(module_of(each.spv), each.kernel, options, observe=observe)
    return found


@pytest.mark.parametrize(
    ("name", "count", "access"),
    [("store_both", 8, "store"), ("load_column", 4, "load"), ("store_column", 8, "load")],
)
def test_given_rows_side_by_side_then_they_run_together(name: str, count: int, access: str) -> None:
    """A column that is only stored is loaded instead, by lanes along the second dimension."""
    rows = rows_of(name, Options(level=1, cpu="haswell", lanes=16))[-1]
    assert rows is not None
    assert (rows.count, {op.name for op in rows.columns}) == (count, {access})


def test_given_indices_that_may_wrap_inside_of_a_buffer_then_rows_stay_apart() -> None:
    found = rows_of("store_both", Options(level=1, lanes=16, greater_than_4gb=True))
    assert found
    assert all(rows is None or not rows.columns for rows in found)
