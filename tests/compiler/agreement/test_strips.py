"""Loops that are cut into strips, with strips of a few turns: blocks at edges and away from them, and loops that no
whole number of strips fills.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from anyzero.compiler.compiled import Options
from anyzero.compiler.transform import strip_mine
from benchmarks.kernels.case import FOLDER, Argument, Array, Case
from tests.compiler.agreement.cases import compiled, through_code, through_compiler

M = 23


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strip_mine, "TURNS", 5)


def bounded(c: Array, a: Array, b: Array) -> Array:
    return a @ b


def backwards(c: Array, a: Array, b: Array) -> Array:
    found = np.zeros_like(c) + np.arange(c.shape[1], dtype=np.int32)
    for k in range(M - 1, -1, -3):
        found = found * np.int32(3) + np.outer(a[:, k], b[k])
    return found


def two_loops(c: Array, a: Array, b: Array) -> Array:
    first = (a[:, :, None] ^ b[None]).sum(axis=1, dtype=np.int32)
    second = np.zeros_like(c) + np.arange(len(c), dtype=np.int32)[:, None]
    for k in range(1, M):
        second = second + b[k] * first if b[k, 0] & 1 else second - a[:, k, None]
    return first - second


def early(c: Array, a: Array, b: Array) -> Array:
    turns, sums = np.zeros_like(c), np.zeros_like(c)
    for k in range(M):
        on = (sums < a[:, :1]) & (turns == k)
        sums += np.where(on, b[k] & 7, 0)
        turns += on
    return sums * np.int32(1000) + turns


def below(c: Array, a: Array, b: Array) -> Array:
    return a.sum(axis=1, dtype=np.int32)[:, None] - b.sum(axis=0, dtype=np.int32)


def case(result: Callable[[Array, Array, Array], Array], n: int, size: int, block: tuple[int, int]) -> Case:
    def arguments() -> list[Argument]:
        rng = np.random.default_rng(1)
        a, b = rng.integers(-50, 50, (n, M), np.int32), rng.integers(-50, 50, (M, n), np.int32)
        return [np.zeros((n, n), np.int32), a, b, np.int32(n), np.int32(M)]

    def expected(given: list[Any]) -> dict[int, Array]:
        return {0: result(*given[:3])}

    name = result.__name__
    return Case(name, FOLDER / "strips.spv", name, arguments, (size, size), block, expected)


@pytest.mark.parametrize("rows", [None, 2, 4])
@pytest.mark.parametrize("lanes", [8, 16, None])
@pytest.mark.parametrize("result", [two_loops, early, below], ids=lambda each: each.__name__)
def test_all_work_items_are_inside(result: Any, lanes: int | None, rows: int | None) -> None:
    blocks = [(16, 4), (32, 8), (64, 64), (64, 3), (24, 16)]
    code = compiled(case(result, 64, 64, blocks[0]), Options(level=1, lanes=lanes, rows=rows))
    for block in blocks:
        each = case(result, 64, 64, block)
        assert each.mismatch(through_code(each, code)) is None, block


@pytest.mark.parametrize("rows", [None, 2, 4])
@pytest.mark.parametrize("lanes", [8, 16, None])
@pytest.mark.parametrize("result", [bounded, backwards], ids=lambda each: each.__name__)
def test_some_work_items_are_outside(result: Any, lanes: int | None, rows: int | None) -> None:
    blocks = [(64, (64, 8)), (50, (32, 8)), (33, (16, 4)), (63, (64, 64))]
    code = compiled(case(result, 64, 64, (64, 8)), Options(level=1, lanes=lanes, rows=rows))
    for n, block in blocks:
        each = case(result, n, 64, block)
        assert each.mismatch(through_code(each, code)) is None, (n, block)


def test_blocks_have_a_depth() -> None:
    def arguments() -> list[Argument]:
        rng = np.random.default_rng(1)
        a, b = rng.integers(-50, 50, (6, 32, M), np.int32), rng.integers(-50, 50, (M, 32), np.int32)
        return [np.zeros((6, 32, 32), np.int32), a, b, np.int32(32), np.int32(M)]

    def expected(given: list[Any]) -> dict[int, Array]:
        return {0: given[1] @ given[2] + np.arange(6, dtype=np.int32)[:, None, None]}

    spv = FOLDER / "strips.spv"
    each = Case("in_depth", spv, "in_depth", arguments, (32, 32, 6), (16, 8, 4), expected)
    assert each.mismatch(through_compiler(each, Options(level=1, lanes=8))) is None


def test_steps_may_wrap_around() -> None:
    def arguments() -> list[Argument]:
        a = np.random.default_rng(1).integers(-50, 50, 64, np.int32)
        return [np.zeros((64, 64), np.int32), a, np.uint32(1 << 30), np.int32(M)]

    def expected(given: list[Any]) -> dict[int, Array]:
        total = np.zeros_like(given[1])
        for _ in range(0, M, 4):
            total = total * np.int32(3) + given[1]
        return {0: np.tile(total, (64, 1))}

    each = Case("wraps", FOLDER / "strips.spv", "wraps", arguments, (64, 64), (16, 4), expected)
    assert each.mismatch(through_compiler(each, Options(level=1, lanes=8))) is None


@pytest.mark.parametrize(("result", "cut"), [(bounded, True), (two_loops, True), (early, False)])
def test_only_loops_that_all_leave_together_are_cut(result: Any, cut: bool) -> None:
    made = compiled(case(result, 64, 64, (16, 4)), Options(level=1, lanes=8))
    assert (made.scratch_per_vector > 0) == cut
    assert made.flat
    assert not made.barriers
