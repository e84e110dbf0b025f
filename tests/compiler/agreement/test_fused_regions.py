"""Regions that one order of the vectors makes a single loop: the same memory as with a barrier between them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.compiler import reference
from anyzero.compiler.compiled import CompiledKernel, Options
from anyzero.compiler.passes import Pass
from anyzero.compiler.pipeline import compile_kernel
from anyzero.compiler.spirv import read
from tests.compiler.agreement.isolation import isolated
from tests.compiler.native import Loaded

N = 64
GROUPS = 3


@az.kernel(group=N)
def from_below(out: az.ptr[az.i32], data: az.ptr[az.i32]) -> None:
    kept = az.local[az.i32, N]
    i = az.local_id(0)
    kept[i] = data[az.global_id(0)]
    az.barrier()
    other = kept[i - 5] if i >= 5 else 7
    az.barrier()
    kept[i] += other * 3
    az.barrier()
    out[az.global_id(0)] = kept[N - 1 - i]


@az.kernel(group=N)
def from_below_in_32_bits(out: az.ptr[az.i32], data: az.ptr[az.i32]) -> None:
    """As clang writes `i - 5` of an `int` where it knows that it is not negative."""
    kept = az.local[az.i32, N]
    i = az.i64(az.local_id(0))
    kept[i] = data[az.global_id(0)]
    az.barrier()
    other = kept[az.u32(i + 0xFFFFFFFB)] if i >= 5 else 7
    az.barrier()
    kept[i] += other * 3
    az.barrier()
    out[az.global_id(0)] = kept[N - 1 - i]


@az.kernel(group=N)
def from_above(out: az.ptr[az.i32], data: az.ptr[az.i32]) -> None:
    kept = az.local[az.i32, N]
    i = az.local_id(0)
    kept[i] = data[az.global_id(0)]
    az.barrier()
    other = kept[i + 19] if i + 19 < N else 7
    az.barrier()
    kept[i] += other * 3
    az.barrier()
    out[az.global_id(0)] = kept[N - 1 - i]


@az.kernel(group=N)
def from_both_sides(out: az.ptr[az.i32], data: az.ptr[az.i32]) -> None:
    kept = az.local[az.i32, N]
    i = az.local_id(0)
    kept[i] = data[az.global_id(0)]
    az.barrier()
    other = (kept[i - 1] if i >= 1 else 7) - (kept[i + 1] if i + 1 < N else 9)
    az.barrier()
    kept[i] += other * 3
    az.barrier()
    out[az.global_id(0)] = kept[N - 1 - i]


@az.kernel(group=N)
def from_the_other_end(out: az.ptr[az.i32], data: az.ptr[az.i32]) -> None:
    kept = az.local[az.i32, N]
    i = az.local_id(0)
    kept[i] = data[az.global_id(0)]
    az.barrier()
    other = kept[N - 1 - i]
    az.barrier()
    kept[i] += other * 3
    az.barrier()
    out[az.global_id(0)] = kept[N - 1 - i]


@az.kernel(group=N)
def every_other(out: az.ptr[az.i32], data: az.ptr[az.i32]) -> None:
    kept = az.local[az.i32, 2 * N]
    i = az.local_id(0)
    kept[2 * i] = data[az.global_id(0)]
    kept[2 * i + 1] = i
    az.barrier()
    other = kept[i]
    az.barrier()
    kept[2 * i] += other * 3
    az.barrier()
    out[az.global_id(0)] = kept[2 * (N - 1 - i)]


@az.kernel(group=N)
def in_two_arrays(out: az.ptr[az.i32], data: az.ptr[az.i32]) -> None:
    kept = az.local[az.i32, N]
    made = az.local[az.i32, N]
    i = az.local_id(0)
    kept[i] = data[az.global_id(0)]
    az.barrier()
    other = kept[N - 1 - i]
    az.barrier()
    made[i] = other * 3
    az.barrier()
    out[az.global_id(0)] = made[N - 1 - i] + kept[i]


@az.kernel(group=N)
def in_global_memory(out: az.ptr[az.i32], data: az.ptr[az.i32]) -> None:
    i = az.local_id(0)
    at = az.global_id(0)
    other = data[at - 3] if i >= 3 else 7
    az.barrier()
    data[at] += other * 3
    az.barrier()
    out[at] = data[at] + data[at - i]


@az.kernel(group=N)
def in_one_step(out: az.ptr[az.i32], data: az.ptr[az.i32]) -> None:
    at = az.global_id(0)
    other = data[at - 3] if az.local_id(0) >= 3 else 7
    az.barrier()
    data[at] += other * 3
    out[at] = other


@az.kernel(group=N)
def between_buffers(out: az.ptr[az.i32], data: az.ptr[az.i32]) -> None:
    i = az.local_id(0)
    at = az.global_id(0)
    other = data[at - 3] if i >= 3 else 7
    az.barrier()
    out[at] = other * 3
    az.barrier()
    data[at] = out[at - i]


@az.kernel(group=N)
def with_an_atomic(out: az.ptr[az.i32], data: az.ptr[az.i32]) -> None:
    kept = az.local[az.i32, N]
    i = az.local_id(0)
    kept[i] = data[az.global_id(0)]
    az.barrier()
    other = kept[i - 5] if i >= 5 else 7
    az.barrier()
    az.atomic_add(kept, i, other * 3)
    az.barrier()
    out[az.global_id(0)] = kept[N - 1 - i]


UP, DOWN = "up", "down"
FUSED = {
    from_below: DOWN,
    from_below_in_32_bits: DOWN,
    from_above: UP,
    from_both_sides: None,
    from_the_other_end: None,
    every_other: None,
    in_two_arrays: UP,
    in_global_memory: DOWN,
    in_one_step: None,
    between_buffers: None,
    with_an_atomic: None,
}
"""The order in which vectors run the fused regions; None where none may be fused."""
BARRIERS = {in_global_memory: 2, in_one_step: 1, between_buffers: 2}
"""Three in the others."""


def _compiled(kernel: Any, options: Options) -> tuple[CompiledKernel, int, bool]:
    """With the number of regions, and whether vectors run one of them from the last to the first."""
    found: list[Any] = []

    def observe(done: Pass, unit: Any) -> None:
        if done.name == "lockstep":
            found.append(unit.ready.regions)

    code = compile_kernel(read(kernel.spirv), kernel.__name__, options, observe=observe)
    (regions,) = found
    return code, len(regions), any(region.descending for region in regions)


def _given() -> list[Any]:
    return [np.zeros(GROUPS * N, np.int32), np.random.default_rng(1).integers(-999, 999, GROUPS * N, np.int32)]


@pytest.mark.parametrize("lanes", [4, 32])
@pytest.mark.parametrize("kernel", FUSED, ids=lambda each: each.__name__)
def test_given_an_order_of_the_vectors_then_regions_are_fused_and_leave_the_same_memory(
    kernel: Any, lanes: int
) -> None:
    order = FUSED[kernel]
    code, regions, descending = _compiled(kernel, Options(lanes=lanes, level=1))
    before = BARRIERS.get(kernel, 3) + 1
    assert (regions, descending) == (before - (order is not None), order == DOWN)

    def differences() -> list[bool]:
        found, expected = _given(), _given()
        Loaded(code)(found, (GROUPS * N,), (N,))
        reference.run(read(kernel.spirv), kernel.__name__, expected, (GROUPS * N,), (N,))
        return [bool((one == other).all()) for one, other in zip(found, expected, strict=True)]

    outcome = isolated(differences)
    assert not outcome.trouble, outcome.trouble
    assert outcome.value == [True, True]


def test_groups_that_may_have_several_rows_keep_their_barriers() -> None:
    @az.kernel
    def rows(out: az.ptr[az.i32], data: az.ptr[az.i32]) -> None:
        kept = az.local[az.i32, N]
        i = az.local_id(0)
        if az.local_id(1) == 0:
            kept[i] = data[i]
        az.barrier()
        other = kept[i - 5] if i >= 5 else 7
        az.barrier()
        if az.local_id(1) == 0:
            kept[i] += other * 3
        az.barrier()
        out[i + N * az.local_id(1)] = kept[i] + other

    for group, regions in (((N, 1, 1), 2), ((16, 4, 1), 4), (None, 4)):
        assert _compiled(rows, Options(lanes=16, level=1, group=group))[1] == regions, group


def test_the_first_stage_keeps_its_loops_over_vectors() -> None:
    """Its code is short: vectors are unrolled in the second stage only."""
    sizes = [len(_compiled(from_below, Options(lanes=4, quick=quick))[0].object) for quick in (True, False)]
    assert sizes[0] < sizes[1]
