"""Small groups that run region by region, several at a time, each in local memory of its own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anyzero.compiler import pipeline
from anyzero.compiler.compiled import Options
from anyzero.compiler.lower import register_tiles
from anyzero.compiler.passes import Pass
from anyzero.layouts.kernel import LOCAL_ROOM
from benchmarks.kernels.case import Argument, Case, Local
from benchmarks.kernels.shapes import FAMILIES
from tests.compiler.agreement.cases import module_of, through_compiler
from tests.compiler.agreement.isolation import isolated

SMOOTH, REDUCE = (next(each for each in FAMILIES if each.key == key) for key in ("smooth", "reduce_int"))


@pytest.fixture(autouse=True)
def tiles_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if every group had too many vectors for tiles in registers, which take the place of batches."""
    monkeypatch.setattr(register_tiles, "VECTORS", 0)


def smooth(n: int, group: tuple[int, int], local: int = 0) -> Case:
    """`local` is the size of the tile's memory, where that is more than the tile."""
    made = SMOOTH.make("smooth", n, group)

    def arguments() -> list[Argument]:
        return [Local(local) if isinstance(each, Local) and local else each for each in made.arguments()]

    return replace(made, arguments=arguments)


def batch_of(each: Case, options: Options) -> int:
    found: list[int] = []

    def observe(done: Pass, unit: object) -> None:
        if done.name == "write-group-loops":
            found.append(unit.batch)  # type: ignore[attr-defined]

    pipeline.compile_kernel(module_of(each.spv), each.kernel, options, observe=observe)
    return found[0]


def check(each: Case, options: Options) -> None:
    outcome = isolated(lambda: each.mismatch(through_compiler(each, options)))
    assert not outcome.trouble, outcome.trouble
    assert outcome.value is None, outcome.value


@pytest.mark.parametrize(
    ("n", "group", "batch"), [(75, (8, 8), 4), (40, (8, 8), 4), (64, (8, 4), 8), (70, (32, 16), 1), (300, (32, 8), 4)]
)
def test_given_a_stencil_then_groups_of_a_batch_do_not_disturb_each_other(
    n: int, group: tuple[int, int], batch: int
) -> None:
    each, options = smooth(n, group), Options(level=1, group=(*group, 1), lanes=min(group[0], 32))
    assert batch_of(each, options) == batch
    check(each, options)


@pytest.mark.parametrize("local", [LOCAL_ROOM // 4, LOCAL_ROOM // 3, LOCAL_ROOM, LOCAL_ROOM + 1, 4 * LOCAL_ROOM])
def test_given_much_local_memory_then_fewer_groups_run_together(local: int) -> None:
    """More than there is room for would run over what lies in front of it."""
    check(smooth(75, (8, 8), local), Options(level=1, group=(8, 8, 1), lanes=8))


def test_given_a_tree_then_groups_run_one_by_one() -> None:
    assert batch_of(REDUCE.make("reduce_int", 4096, (256,)), Options(level=1, group=(256, 1, 1))) == 1


def test_given_groups_of_any_size_then_they_run_one_by_one() -> None:
    each = smooth(75, (8, 8))
    assert batch_of(each, Options(level=1)) == 1
    assert batch_of(each, Options(level=1, group=(8, 8, 1), quick=True)) == 1


def test_given_tiles_in_registers_then_groups_run_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    each, options = smooth(75, (8, 8)), Options(level=1, group=(8, 8, 1), lanes=8)
    assert batch_of(each, options) > 1
    monkeypatch.undo()
    assert batch_of(each, options) == 1
