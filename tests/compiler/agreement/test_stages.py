"""Both stages of a kernel: what a program sees of it is the same, results to the last bit."""

from __future__ import annotations

from pathlib import Path

import pytest

from anyzero.compiler import spirv
from anyzero.compiler.compiled import CompiledKernel, Options
from anyzero.compiler.pipeline import form_after
from anyzero.layouts.container import ArgumentUse
from anyzero.lazy_dataclass import replace
from tests.compiler.agreement.cases import compiled, through_code
from tests.compiler.agreement.isolation import apart
from tests.compiler.agreement.test_suite import HERE
from tests.kernels.suite import case
from tests.thorough import every

KERNELS = Path(__file__).parents[2] / "kernels"

VERSIONS = ["matmul_int", "matmul_tiled", "convolve", "reduce_int", "histogram", "sub_groups_shuffles_of_20"]
"""Kernels of several versions, of which the first stage has one."""

OWN = {"object", "shares_rows", "divides_ids", "spill_bytes", "scratch_fixed", "scratch_per_vector", "provisional"}
"""What code may have for itself."""
SEPARATE = ArgumentUse.SEPARATE_READS | ArgumentUse.SEPARATE_WRITES
"""Uses by a version for unaliased launches, which the final stage alone may have."""


def _visible(kernel: CompiledKernel) -> list[object]:
    """Programs see lanes as sub-groups only."""
    own = OWN if kernel.sub_groups else OWN | {"lanes", "lanes_because"}
    seen = replace(kernel, arguments=tuple(replace(each, access=each.access & ~SEPARATE) for each in kernel.arguments))
    return [getattr(seen, name) for name in CompiledKernel.__dataclass_fields__ if name not in own]


def _difference(name: str) -> str | None:
    each = case(name)
    first, final = compiled(each, Options(quick=True)), compiled(each, Options())
    if _visible(first) != _visible(final):
        return "the stages do not look the same"
    after, before = through_code(each, final), through_code(each, first)
    wrong = [place for place, found in after.items() if found.tobytes() != before[place].tobytes()]
    return f"the stages differ in the arguments {wrong}" if wrong else each.mismatch(before)


@pytest.mark.parametrize("name", sorted({*VERSIONS, *(each.name for each in every(150, HERE))}))
def test_the_stages_of_a_kernel_give_the_same(name: str) -> None:
    outcome = apart(_difference, name)
    assert not outcome.trouble, outcome.trouble
    assert outcome.value is None, outcome.value


def test_the_first_stage_is_shorter_and_says_what_it_is() -> None:
    each = case("matmul_int")
    first, final = compiled(each, Options(quick=True)), compiled(each, Options())
    assert (first.provisional, final.provisional) == (True, False)
    assert len(first.object) < len(final.object)


def test_the_first_stage_of_a_small_kernel_has_all_versions() -> None:
    """Its versions take little time, and the last vector's masks would slow all others down."""
    module = spirv.read((KERNELS / "saxpy.spv").read_bytes())
    first, final = (form_after(module, "saxpy", Options(quick=quick), "write-module") for quick in (True, False))
    assert first == final
    assert compiled(case("saxpy"), Options(quick=True)).provisional


def test_only_the_final_stage_unrolls_loops_with_barriers() -> None:
    """Each step of a tree over a group would be regions of its own, and take as long to compile as the loop."""
    module = spirv.read((KERNELS / "reduction.spv").read_bytes())

    def barriers(*, quick: bool) -> int:
        return form_after(module, "reduce_int", Options(group=(256, 1, 1), quick=quick), "interleave").count("barrier")

    assert barriers(quick=True) == 2
    assert barriers(quick=False) > 8
