"""Arrays in local memory that stay in registers: results in groups of any size, and where memory is needed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyzero.compiler import pipeline
from anyzero.compiler.compiled import Options
from anyzero.compiler.lower.tile_contents import RegisterTiles
from anyzero.compiler.passes import Pass
from benchmarks.kernels.case import Case
from benchmarks.kernels.programs import scan
from benchmarks.kernels.shapes import FAMILIES
from tests.compiler.agreement.cases import module_of, through_compiler
from tests.compiler.agreement.isolation import isolated

SMOOTH, REDUCE = (next(each for each in FAMILIES if each.key == key) for key in ("smooth", "reduce_int"))


def tiles_of(each: Case, options: Options) -> RegisterTiles | None:
    found: list[RegisterTiles | None] = []

    def observe(done: Pass, unit: object) -> None:
        if done.name == "write-regions":
            made = unit.interior_groups or unit.general  # type: ignore[attr-defined]
            found.append(made.ready.schedule and made.ready.schedule.tiles)

    pipeline.compile_kernel(module_of(each.spv), each.kernel, options, observe=observe)
    return found[0]


def check(each: Case, options: Options) -> None:
    outcome = isolated(lambda: each.mismatch(through_compiler(each, options)))
    assert not outcome.trouble, outcome.trouble
    assert outcome.value is None, outcome.value


@settings(max_examples=12, deadline=None)
@given(
    vectors=st.integers(1, 4),
    high=st.integers(1, 5),
    lanes=st.sampled_from([4, 8, 16]),
    n=st.integers(3, 80),
    cpu=st.sampled_from(["haswell", ""]),
)
def test_given_a_stencil_then_the_mean_is_right_in_groups_of_every_size(
    vectors: int, high: int, lanes: int, n: int, cpu: str
) -> None:
    group = (vectors * lanes, high)
    check(SMOOTH.make("smooth", n, group), Options(level=1, group=(*group, 1), lanes=lanes, cpu=cpu))


@settings(max_examples=12, deadline=None)
@given(size=st.sampled_from([8, 16, 32, 64, 128, 256]), lanes=st.sampled_from([4, 8, 16, 32]), n=st.integers(1, 3000))
def test_given_a_tree_then_the_sum_is_right_in_groups_of_every_size(size: int, lanes: int, n: int) -> None:
    check(REDUCE.make("reduce_int", n, (size,)), Options(level=1, group=(size, 1, 1), lanes=lanes))


@pytest.mark.parametrize("lanes", [16, 32, 64])
def test_given_a_scan_then_its_array_is_in_registers(lanes: int) -> None:
    each, options = scan("scan_group", 1024), Options(level=1, group=(256, 1, 1), lanes=lanes)
    assert tiles_of(each, options) is not None
    check(each, options)


@pytest.mark.parametrize("group", [(8, 8), (32, 4), (64, 4)])
def test_given_a_stencil_then_each_load_takes_lanes_of_two_vectors_at_most(group: tuple[int, int]) -> None:
    tiles = tiles_of(SMOOTH.make("smooth", 64, group), Options(level=1, group=(*group, 1), lanes=min(group[0], 32)))
    assert tiles is not None
    sources = [places for visit in tiles.visits for places in visit.loads.values()]
    assert {len({place[0] for place in places if place is not None}) for places in sources} == {1, 2}


@pytest.mark.parametrize(
    "options",
    [
        Options(level=1),
        Options(level=1, group=(256, 1, 1), quick=True),
        Options(level=1, group=(256, 1, 1), check_memory=True),
        Options(level=1, group=(256, 1, 1), lanes=4),
        Options(level=1, group=(256, 1, 1), lanes=1),
    ],
)
def test_given_groups_of_any_size_checks_or_many_vectors_then_arrays_are_in_memory(options: Options) -> None:
    assert tiles_of(REDUCE.make("reduce_int", 1024, (256,)), options) is None


def test_given_short_registers_and_many_vectors_then_tiles_are_in_memory() -> None:
    each = SMOOTH.make("smooth", 64, (16, 16))
    assert tiles_of(each, Options(level=1, group=(16, 16, 1), lanes=16, cpu="haswell")) is None
    assert tiles_of(each, Options(level=1, group=(16, 16, 1), lanes=16, cpu="znver4")) is not None
