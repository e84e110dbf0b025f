"""Groups away from the edges of a launch run code without bounds checks, and give what all others give."""

from __future__ import annotations

import pytest

from anyzero.compiler import pipeline
from anyzero.compiler.compiled import Options
from anyzero.compiler.passes import Pass
from benchmarks.kernels.case import Case
from benchmarks.kernels.shapes import FAMILIES
from tests.compiler.agreement.cases import module_of, through_compiler
from tests.compiler.agreement.isolation import isolated

SMOOTH, REDUCE = (next(each for each in FAMILIES if each.key == key) for key in ("smooth", "reduce_int"))


def _smooth(n: int, x: int, y: int) -> Case:
    return SMOOTH.make("smooth", n, (x, y))


def _versions(each: Case, options: Options) -> set[str]:
    """Those whose text is written."""
    found: set[str] = set()

    def observe(done: Pass, unit: object) -> None:
        if done.name == "write-regions":
            found.update(unit.versions)  # type: ignore[attr-defined]

    pipeline.compile_kernel(module_of(each.spv), each.kernel, options, observe=observe)
    return found


@pytest.mark.parametrize(("n", "x", "y"), [(40, 8, 8), (37, 8, 8), (70, 16, 16), (100, 32, 4), (21, 4, 3), (9, 16, 16)])
def test_given_groups_inside_and_at_the_edges_then_all_are_right(n: int, x: int, y: int) -> None:
    each = _smooth(n, x, y)
    outcome = isolated(lambda: each.mismatch(through_compiler(each, Options(level=1, group=(x, y, 1)))))
    assert not outcome.trouble, outcome.trouble
    assert outcome.value is None, outcome.value


@pytest.mark.parametrize("n", [1024, 1000, 1])
def test_given_a_bound_in_a_tree_of_sums_then_the_last_group_is_right(n: int) -> None:
    each = REDUCE.make("reduce_int", n, (256,))
    outcome = isolated(lambda: each.mismatch(through_compiler(each, Options(level=1, group=(256, 1, 1)))))
    assert not outcome.trouble, outcome.trouble
    assert outcome.value is None, outcome.value


def test_only_code_for_one_size_of_groups_has_the_version() -> None:
    each = _smooth(40, 8, 8)
    assert "interior groups" in _versions(each, Options(level=1, group=(8, 8, 1)))
    assert "interior groups" not in _versions(each, Options(level=1))


def test_the_version_has_no_bounds_checks() -> None:
    """What is left of comparisons asks for local ids, in the loops that fill the tile."""
    compared: dict[str, set[str]] = {}

    def observe(done: Pass, unit: object) -> None:
        if done.name == "loop-simplify-copy" or (done.name == "uniformity" and unit.name == "general"):  # type: ignore[attr-defined]
            ops = list(unit.body.ops)  # type: ignore[attr-defined]
            held = {"clamp" for op in ops if op.name == "math" and op.info[0] == "s_clamp"}
            against = {"argument" for op in ops if op.name == "icmp" and op.args[1].name == "argument"}
            compared[unit.name] = held | against  # type: ignore[attr-defined]

    each = _smooth(40, 8, 8)
    options = Options(level=1, cpu="znver4", group=(8, 8, 1))
    pipeline.compile_kernel(module_of(each.spv), each.kernel, options, observe=observe)
    assert compared == {"general": {"clamp", "argument"}, "interior groups": set(), "merged groups": set()}
