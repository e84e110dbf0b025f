"""Kernels with arrays in local memory, in registers and in memory: the same buffers as by the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.compiler import reference
from anyzero.compiler.compiled import CompiledKernel, Options
from anyzero.compiler.lower.tile_contents import RegisterTiles
from anyzero.compiler.passes import Pass
from anyzero.compiler.pipeline import compile_kernel
from anyzero.compiler.spirv import read
from tests.compiler.agreement.isolation import isolated
from tests.compiler.native import Loaded

N = 64
GROUPS = 3


@az.kernel(group=N)
def reverse(out: az.ptr[az.i32], data: az.ptr[az.i32]) -> None:
    kept = az.local[az.i32, N]
    i = az.local_id(0)
    kept[i] = data[az.global_id(0)]
    az.barrier()
    out[az.global_id(0)] = kept[N - 1 - i]


@az.kernel(group=N)
def doubles(out: az.ptr[az.i32], data: az.ptr[az.i32]) -> None:
    kept = az.local[az.f64, N]
    i = az.local_id(0)
    kept[i] = az.f64(data[az.global_id(0)]) * 0.5
    az.barrier()
    out[az.global_id(0)] = az.i32(kept[(i + 1) % N] * 4.0)


@az.kernel(group=N)
def shorts(out: az.ptr[az.i32], data: az.ptr[az.i32]) -> None:
    kept = az.local[az.i16, N]
    i = az.local_id(0)
    kept[i] = az.i16(data[az.global_id(0)])
    az.barrier()
    out[az.global_id(0)] = az.i32(kept[i ^ 5])


@az.kernel(group=N)
def bytes_(out: az.ptr[az.i32], data: az.ptr[az.i32]) -> None:
    kept = az.local[az.u8, N]
    i = az.local_id(0)
    kept[i] = az.u8(data[az.global_id(0)])
    az.barrier()
    out[az.global_id(0)] = az.i32(kept[i ^ 1])


@az.kernel(group=N)
def two_arrays(out: az.ptr[az.i32], data: az.ptr[az.i32]) -> None:
    one = az.local[az.i32, N]
    other = az.local[az.f32, N]
    i = az.local_id(0)
    one[i] = data[az.global_id(0)]
    other[N - 1 - i] = az.f32(i)
    az.barrier()
    out[az.global_id(0)] = one[i ^ 3] + az.i32(other[i])


@az.kernel(group=N)
def one_of_two(out: az.ptr[az.i32], data: az.ptr[az.i32]) -> None:
    """The second array is indexed by data."""
    one = az.local[az.i32, N]
    other = az.local[az.i32, N]
    i = az.local_id(0)
    one[i] = data[az.global_id(0)]
    other[i] = i * 3
    az.barrier()
    out[az.global_id(0)] = one[i ^ 1] + other[data[az.global_id(0)] & (N - 1)]


@az.kernel(group=N)
def some_lanes(out: az.ptr[az.i32], data: az.ptr[az.i32]) -> None:
    """Each half of the array is stored under a condition on the local id."""
    kept = az.local[az.i32, N]
    i = az.local_id(0)
    if i & 1:
        kept[i] = data[az.global_id(0)]
    else:
        kept[i] = -i
    az.barrier()
    out[az.global_id(0)] = kept[i ^ 1]


@az.kernel(group=N)
def by_one_lane(out: az.ptr[az.i32], data: az.ptr[az.i32]) -> None:
    kept = az.local[az.i32, 2]
    i = az.local_id(0)
    if i == 5:
        kept[0] = data[az.global_id(0)]
    if i == N - 2:
        kept[1] = data[az.global_id(0)]
    az.barrier()
    out[az.global_id(0)] = kept[0] * 3 + kept[1]


@az.kernel(group=N)
def again(out: az.ptr[az.i32], data: az.ptr[az.i32]) -> None:
    """Later stores replace a part of the contents."""
    kept = az.local[az.i32, N]
    i = az.local_id(0)
    kept[i] = data[az.global_id(0)]
    az.barrier()
    other = kept[i ^ 1]
    az.barrier()
    if i < 20:
        kept[i + 10] = other
    az.barrier()
    out[az.global_id(0)] = kept[N - 1 - i]


@az.kernel(group=N)
def read_by_data(out: az.ptr[az.i32], data: az.ptr[az.i32]) -> None:
    """The condition of the load is unknown, its place is not."""
    kept = az.local[az.i32, N]
    i = az.local_id(0)
    kept[i] = i * 5
    az.barrier()
    found = 1
    if data[az.global_id(0)] > 0:
        found = kept[N - 1 - i]
    out[az.global_id(0)] = found


@az.kernel(group=N)
def stored_by_data(out: az.ptr[az.i32], data: az.ptr[az.i32]) -> None:
    kept = az.local[az.i32, N]
    i = az.local_id(0)
    kept[i] = 0
    az.barrier()
    if data[az.global_id(0)] > 0:
        kept[i] = i
    az.barrier()
    out[az.global_id(0)] = kept[i ^ 1]


@az.kernel(group=N)
def in_a_loop(out: az.ptr[az.i32], data: az.ptr[az.i32]) -> None:
    """The number of iterations is data, and each reads the element beside."""
    kept = az.local[az.i32, N]
    i = az.local_id(0)
    kept[i] = data[az.global_id(0)]
    az.barrier()
    total = 0
    for _ in range(data[az.global_id(0)] & 7):
        total = total * 2 + kept[i ^ 1]
    out[az.global_id(0)] = total


@az.kernel(group=N)
def stored_in_a_loop(out: az.ptr[az.i32], data: az.ptr[az.i32]) -> None:
    kept = az.local[az.i32, N]
    i = az.local_id(0)
    kept[i] = 1
    for turn in range(data[az.global_id(0)] & 7):
        kept[i] = turn
    az.barrier()
    out[az.global_id(0)] = kept[i ^ 1]


@az.kernel(group=N)
def its_own_store(out: az.ptr[az.i32], data: az.ptr[az.i32]) -> None:
    """A load behind a store of the same work-item, without a barrier."""
    kept = az.local[az.i32, N]
    i = az.local_id(0)
    kept[i] = data[az.global_id(0)]
    kept[i] = kept[i] + 1
    az.barrier()
    out[az.global_id(0)] = kept[i ^ 1]


@az.kernel(group=N)
def with_an_atomic(out: az.ptr[az.i32], data: az.ptr[az.i32]) -> None:
    kept = az.local[az.i32, N]
    i = az.local_id(0)
    kept[i] = data[az.global_id(0)]
    az.barrier()
    az.atomic_add(kept, i ^ 1, 3)
    az.barrier()
    out[az.global_id(0)] = kept[N - 1 - i]


@az.kernel(group=N)
def with_a_collective(out: az.ptr[az.i32], data: az.ptr[az.i32]) -> None:
    kept = az.local[az.i32, N]
    i = az.local_id(0)
    kept[i] = data[az.global_id(0)]
    az.barrier()
    total = az.group_sum(kept[i ^ 1] * i)
    out[az.global_id(0)] = total + kept[N - 1 - i]


@az.kernel(group=N)
def every_other(out: az.ptr[az.i32], data: az.ptr[az.i32]) -> None:
    """Pairs, as in an array of structures."""
    kept = az.local[az.i32, 2 * N]
    i = az.local_id(0)
    kept[2 * i] = data[az.global_id(0)]
    kept[2 * i + 1] = i
    az.barrier()
    out[az.global_id(0)] = kept[2 * (i ^ 1)] - kept[2 * (N - 1 - i) + 1]


@az.kernel(group=N)
def race(out: az.ptr[az.i32], data: az.ptr[az.i32]) -> None:
    """All work-items store to one place, and read without a barrier between."""
    kept = az.local[az.i32, N]
    i = az.local_id(0)
    kept[0] = data[az.global_id(0)]
    kept[i] = i
    az.barrier()
    kept[(i + 1) % N] = kept[i] + 1
    out[az.global_id(0)] = kept[i ^ 1]


@az.kernel(group=N)
def never_stored(out: az.ptr[az.i32], data: az.ptr[az.i32]) -> None:
    kept = az.local[az.i32, 2 * N]
    i = az.local_id(0)
    kept[i] = data[az.global_id(0)]
    az.barrier()
    out[az.global_id(0)] = kept[i + 5]


KEPT = [
    reverse,
    doubles,
    shorts,
    bytes_,
    two_arrays,
    one_of_two,
    some_lanes,
    by_one_lane,
    again,
    read_by_data,
]
IN_MEMORY = [
    in_a_loop,
    stored_by_data,
    stored_in_a_loop,
    its_own_store,
    with_an_atomic,
    with_a_collective,
]
UNDEFINED = [race, never_stored]
"""The specification leaves their results open."""


def _compiled(kernel: Any, options: Options) -> tuple[CompiledKernel, RegisterTiles | None]:
    found: list[RegisterTiles | None] = []

    def observe(done: Pass, unit: Any) -> None:
        if done.name == "write-regions":
            schedule = (unit.interior_groups or unit.general).ready.schedule
            found.append(schedule and schedule.tiles)

    return compile_kernel(read(kernel.spirv), kernel.__name__, options, observe=observe), found[0]


def _given() -> list[Any]:
    return [np.zeros(GROUPS * N, np.int32), np.random.default_rng(1).integers(-999, 999, GROUPS * N, np.int32)]


def _run(code: CompiledKernel) -> list[int]:
    def results() -> list[int]:
        found = _given()
        Loaded(code)(found, (GROUPS * N,), (N,))
        return [int(each) for each in found[0]]

    outcome = isolated(results)
    assert not outcome.trouble, outcome.trouble
    return list(outcome.value)


def _expected(kernel: Any) -> list[int]:
    given = _given()
    reference.run(read(kernel.spirv), kernel.__name__, given, (GROUPS * N,), (N,))
    return [int(each) for each in given[0]]


@pytest.mark.parametrize("cpu", ["haswell", ""])
@pytest.mark.parametrize("lanes", [8, 16, 32])
@pytest.mark.parametrize("kernel", [*KEPT, *IN_MEMORY, every_other], ids=lambda each: each.__name__)
def test_results_are_those_of_the_reference(kernel: Any, lanes: int, cpu: str) -> None:
    code, _ = _compiled(kernel, Options(level=1, lanes=lanes, cpu=cpu))
    assert _run(code) == _expected(kernel)


@pytest.mark.parametrize("kernel", KEPT, ids=lambda each: each.__name__)
def test_given_places_that_the_local_id_decides_then_arrays_are_in_registers(kernel: Any) -> None:
    _, tiles = _compiled(kernel, Options(level=1, lanes=32))
    assert tiles is not None


@pytest.mark.parametrize("kernel", [*IN_MEMORY, *UNDEFINED], ids=lambda each: each.__name__)
def test_given_stores_or_loads_that_nothing_decides_then_arrays_are_in_memory(kernel: Any) -> None:
    _, tiles = _compiled(kernel, Options(level=1, lanes=32))
    assert tiles is None


def test_given_an_index_from_memory_then_only_that_array_is_in_memory() -> None:
    _, tiles = _compiled(one_of_two, Options(level=1, lanes=32))
    assert tiles is not None
    assert {len(visit.loads) for visit in tiles.visits if visit.loads} == {1}


@pytest.mark.parametrize("kernel", UNDEFINED, ids=lambda each: each.__name__)
@pytest.mark.parametrize("lanes", [8, 32])
def test_given_a_race_then_the_kernel_ends(kernel: Any, lanes: int) -> None:
    code, _ = _compiled(kernel, Options(level=1, lanes=lanes))
    assert len(_run(code)) == GROUPS * N
