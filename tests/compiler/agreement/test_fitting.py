"""Code for groups of one size: it gives what the code for any size gives."""

from __future__ import annotations

import pytest

from anyzero.compiler.compiled import Options
from benchmarks.kernels.case import Case
from tests.compiler.agreement.cases import compiled, through_compiler
from tests.compiler.agreement.isolation import isolated
from tests.compiler.agreement.test_suite import HERE
from tests.kernels.suite import case
from tests.thorough import every

CHOSEN = ["matmul_tiled", "histogram", "reduce_int", "scan_group", "transpose"]


def _group(each: Case) -> tuple[int, int, int]:
    x, y, z, *_ = *each.group_size, 1, 1
    return x, y, z


def _trouble(each: Case) -> str | None:
    if not compiled(each, Options(level=1)).fits_groups:
        return None
    fitted = compiled(each, Options(level=1, group=_group(each)))
    # Nobody asks again, and programs do not see that it is for one size.
    assert not fitted.fits_groups
    assert fitted.required_group_size is None
    return each.mismatch(through_compiler(each, Options(level=1, group=_group(each))))


@pytest.mark.parametrize("name", sorted({*CHOSEN, *(each.name for each in every(40, HERE) if each.group_size)}))
def test_code_for_one_size_of_groups_gives_the_same(name: str) -> None:
    outcome = isolated(lambda: _trouble(case(name)))
    assert not outcome.trouble, outcome.trouble
    assert outcome.value is None, outcome.value


FIT = {"reduce_int": True, "saxpy": False, "sub_groups_shuffles_of_20": False}


@pytest.mark.parametrize(("name", "fits"), FIT.items())
def test_only_kernels_that_know_their_groups_fit(name: str, fits: bool) -> None:
    """Those without groups have blocks of the engine's choice, and programs see the size of sub-groups."""
    for options in (Options(), Options(quick=True)):
        assert compiled(case(name), options).fits_groups == fits
    assert not compiled(case(name), Options(level=0)).fits_groups


def test_vectors_suit_the_rows_of_the_groups() -> None:
    def lanes(group: tuple[int, int, int]) -> int:
        return compiled(case("reduce_int"), Options(group=group)).lanes

    assert (lanes((4, 16, 1)), lanes((1, 64, 1))) == (4, 1)


def test_a_tree_over_a_group_of_known_size_has_no_loop() -> None:
    """Each step has its own regions, so nothing is asked at run time."""
    each = case("reduce_int")
    general, fitted = (compiled(each, Options(group=group)) for group in (None, (32, 1, 1)))
    assert general.turns == "arguments"
    assert fitted.turns == "constant"
