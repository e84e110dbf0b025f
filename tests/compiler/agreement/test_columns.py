"""Work-items that each go along a row of a matrix: several iterations are one load."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.compiler import pipeline, reference
from anyzero.compiler.analysis.uniformity import analyse
from anyzero.compiler.compiled import Options
from anyzero.compiler.ir import Op
from anyzero.compiler.spirv import read
from anyzero.compiler.transform.check import check
from anyzero.compiler.transform.loop_simplify import loop_simplify
from anyzero.compiler.transform.unroll_columns import unroll_columns
from benchmarks.kernels.case import FOLDER, Argument, Array, Case
from tests.compiler.agreement.cases import module_of, through_compiler
from tests.compiler.native import Loaded

ROWS = 40
LONG = ("long_sums", "downward_longs")
WAYS = [Options(level=1), *(Options(level=1, cpu=cpu, lanes=8) for cpu in ("haswell", "x86-64-v2"))]


def case(name: str, n: int) -> Case:
    wide = name in LONG
    kind = np.int64 if wide else np.int32
    pairs = (2,) if name == "pair_sums" else ()

    def arguments() -> list[Argument]:
        random = np.random.default_rng(n)
        columns = 48 if name == "fixed_sums" else n
        given: list[Argument] = [np.zeros(ROWS, kind), random.integers(-9, 9, (ROWS, columns, *pairs), kind)]
        if name == "row_sums":
            given.append(random.integers(-9, 9, n, kind))
        return [*given, kind(n)]

    def expected(given: list[Any]) -> dict[int, Array]:
        a = given[1][:, :n]
        if name == "row_sums":
            return {0: a @ given[2]}
        if name == "pair_sums":
            sums = a.sum(1, dtype=kind)
            return {0: np.where(np.arange(ROWS) % 3, sums[:, 0] - 2 * sums[:, 1], 0).astype(kind)}
        found = np.arange(ROWS, dtype=kind) if wide else np.zeros(ROWS, kind)
        with np.errstate(over="ignore"):
            for k in range(n):
                found = found * kind(3 if wide else 5) + a[:, k]
        return {0: found}

    return Case(name, FOLDER / "columns.spv", name, arguments, (ROWS,), (ROWS,), expected)


NAMES = ["row_sums", "long_sums", "pair_sums", "fixed_sums", "pointer_sums"]
NAMES += ["downward_sums", "downward_pairs", "downward_longs"]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way.cpu or 'native'}-{way.lanes}")
@pytest.mark.parametrize("name", NAMES)
def test_all_iterations_are_run(name: str, way: Options) -> None:
    for n in (1, 8, 16, 35):
        each = case(name, n)
        assert each.mismatch(through_compiler(each, way)) is None, n


def _loads(name: str, lanes: int) -> list[Op]:
    body = pipeline.simplified(module_of(FOLDER / "columns.spv"), name).body
    flow = loop_simplify(body)
    unroll_columns(body, flow, analyse(body, flow, lanes, flat=True))
    loop_simplify(body)
    check(body)
    return [op for op in body.ops if op.name == "load"]


@pytest.mark.parametrize(("name", "count"), [(name, 4 if name in LONG else 8) for name in NAMES])
def test_given_rows_then_lanes_load_so_many_components_at_once(name: str, count: int) -> None:
    assert max(op.info.count for op in _loads(name, 16)) == count


@az.kernel
def products(c: az.ptr[az.i32], a: az.ptr[az.i32], n: az.i32) -> None:
    j, i = az.i32(az.global_id(0)), az.i32(az.global_id(1))
    total = az.i32(0)
    for k in range(n):
        total += a[i * n + k] * a[j * n + k]
    c[i * 24 + j] = total


@pytest.mark.parametrize("cpu", ["haswell", ""])
def test_given_rows_that_share_columns_then_all_products_are_right(cpu: str) -> None:
    module = read(products.spirv)
    run = Loaded(pipeline.compile_kernel(module, "products", Options(level=1, cpu=cpu)))
    for n in (0, 1, 8, 35):
        made, expected = (np.zeros(24 * 24, np.int32) for _ in range(2))
        given = [np.random.default_rng(n).integers(-9, 9, 24 * max(n, 1), np.int32), np.int32(n)]
        run([made, *given], (24, 24), (24, 1))
        reference.run(module, "products", [expected, *given], (24, 24), (24, 1))
        assert (made == expected).all(), n


def test_given_rows_that_share_columns_then_few_registers_hold_one_register_of_lanes() -> None:
    module = read(products.spirv)
    assert pipeline.compile_kernel(module, "products", Options(level=1, cpu="haswell")).lanes == 8


def test_given_a_single_lane_then_the_loop_stays() -> None:
    assert [op.info.count for op in _loads("row_sums", 1)] == [1, 1]
