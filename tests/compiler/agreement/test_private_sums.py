"""Atomic operations that each thread collects: the same buffers as by the reference, whichever way they are updated."""

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
GROUPS = 5
BINS = 256


@az.kernel(group=N)
def bytes_counted(out: az.ptr[az.u32], data: az.ptr[az.i32], fine: az.ptr[az.u8]) -> None:
    az.atomic_add(out, fine[az.global_id(0)], az.u32(1))


@az.kernel(group=N)
def remainders(out: az.ptr[az.u32], data: az.ptr[az.i32], fine: az.ptr[az.u8]) -> None:
    value = az.u32(data[az.global_id(0)])
    az.atomic_add(out, value % 100, value)
    az.atomic_add(out, (value & 63) + 100, az.u32(2))
    az.atomic_sub(out, min(value, az.u32(200)), az.u32(3))


@az.kernel(group=N)
def group_histogram(out: az.ptr[az.u32], data: az.ptr[az.i32], fine: az.ptr[az.u8]) -> None:
    own = az.local[az.u32, BINS]
    for place in range(az.local_id(0), BINS, az.local_size(0)):
        own[place] = az.u32(0)
    az.barrier()
    az.atomic_add(own, fine[az.global_id(0)], az.u32(1))
    az.barrier()
    for place in range(az.local_id(0), BINS, az.local_size(0)):
        if own[place] != 0:
            az.atomic_add(out, place, own[place])


@az.kernel(group=N)
def extremes(out: az.ptr[az.i32], data: az.ptr[az.i32], fine: az.ptr[az.u8]) -> None:
    az.atomic_min(out, fine[az.global_id(0)] & 7, data[az.global_id(0)])


@az.kernel(group=N)
def unsigned_extremes(out: az.ptr[az.u32], data: az.ptr[az.i32], fine: az.ptr[az.u8]) -> None:
    az.atomic_max(out, az.u32(5), az.u32(data[az.global_id(0)]))


@az.kernel(group=N)
def flags(out: az.ptr[az.u32], data: az.ptr[az.i32], fine: az.ptr[az.u8]) -> None:
    az.atomic_or(out, az.u32(fine[az.global_id(0)]) >> 5, az.u32(1) << az.u32(fine[az.global_id(0)] & 31))


@az.kernel(group=N)
def masks(out: az.ptr[az.i32], data: az.ptr[az.i32], fine: az.ptr[az.u8]) -> None:
    az.atomic_and(out, fine[az.global_id(0)] & 3, data[az.global_id(0)] | 0x0F0F)


@az.kernel(group=N)
def parities(out: az.ptr[az.i32], data: az.ptr[az.i32], fine: az.ptr[az.u8]) -> None:
    az.atomic_xor(out, az.local_id(0), data[az.global_id(0)])


@az.kernel(group=N)
def float_sums(out: az.ptr[az.f32], data: az.ptr[az.i32], fine: az.ptr[az.u8]) -> None:
    """Small integers, whose sums are exact."""
    az.atomic_add(out, fine[az.global_id(0)] & 15, az.f32(data[az.global_id(0)]))


@az.kernel(group=N)
def one_counter(out: az.ptr[az.u32], data: az.ptr[az.i32], fine: az.ptr[az.u8]) -> None:
    if data[az.global_id(0)] > 0:
        az.atomic_add(out, 0, az.u32(1))


@az.kernel(group=N)
def two_buffers(out: az.ptr[az.u32], data: az.ptr[az.u32], fine: az.ptr[az.u8]) -> None:
    place = fine[az.global_id(0)]
    az.atomic_add(out, place, az.u32(1))
    az.atomic_add(data, place, az.u32(5))


@az.kernel(group=N)
def stored_before(out: az.ptr[az.i32], data: az.ptr[az.i32], fine: az.ptr[az.u8]) -> None:
    """A plain store, and then an update of the same element by the same work-item."""
    if az.global_id(0) == 0:
        data[0] = 7
        az.atomic_add(data, 0, 3)


COLLECTED = [
    *(bytes_counted, remainders, group_histogram, extremes, unsigned_extremes, flags, masks, parities, float_sums),
    *(one_counter, two_buffers, stored_before),
]


@az.kernel(group=N)
def read_behind(out: az.ptr[az.i32], data: az.ptr[az.i32], fine: az.ptr[az.u8]) -> None:
    if az.global_id(0) == 70:
        az.atomic_add(out, 3, 5)
        data[1] = out[3]


@az.kernel(group=N)
def stored_behind(out: az.ptr[az.i32], data: az.ptr[az.i32], fine: az.ptr[az.u8]) -> None:
    if az.global_id(0) == 70:
        az.atomic_add(out, 3, 5)
        out[3] = 11


@az.kernel(group=N)
def read_by_the_next_iteration(out: az.ptr[az.i32], data: az.ptr[az.i32], fine: az.ptr[az.u8]) -> None:
    if az.global_id(0) == 70:
        for _ in range(data[0] & 7 | 1):
            az.atomic_add(out, out[3] & 7, 3)


@az.kernel(group=N)
def read_behind_a_barrier(out: az.ptr[az.i32], data: az.ptr[az.i32], fine: az.ptr[az.u8]) -> None:
    if az.group_id(0) == 0:
        az.atomic_add(out, 3, 1)
    az.barrier()
    if az.group_id(0) == 0:
        data[az.global_id(0)] = out[3]


@az.kernel(group=N)
def result_used(out: az.ptr[az.i32], data: az.ptr[az.i32], fine: az.ptr[az.u8]) -> None:
    if az.global_id(0) == 70:
        data[3] = az.atomic_add(out, 3, 1)


@az.kernel(group=N)
def last_one(out: az.ptr[az.i32], data: az.ptr[az.i32], fine: az.ptr[az.u8]) -> None:
    """Another atomic operation could tell how many have updated."""
    if az.global_id(0) == 70:
        az.atomic_add(out, 3, 1)
        data[5] = az.atomic_exchange(out, 3, 4)


@az.kernel(group=N)
def two_kinds(out: az.ptr[az.i32], data: az.ptr[az.i32], fine: az.ptr[az.u8]) -> None:
    if az.global_id(0) == 0:
        az.atomic_add(out, 3, 100)
        az.atomic_min(out, 3, 50)
        az.atomic_add(out, 3, 100)


@az.kernel(group=N)
def anywhere(out: az.ptr[az.i32], data: az.ptr[az.i32], fine: az.ptr[az.u8]) -> None:
    az.atomic_add(out, az.global_id(0), 3)


@az.kernel(group=N)
def maybe_negative(out: az.ptr[az.i32], data: az.ptr[az.i32], fine: az.ptr[az.u8]) -> None:
    place = data[az.global_id(0)]
    if place < 100 and place > -1:
        az.atomic_add(out, place, 1)


KEPT = [
    *(read_behind, stored_behind, read_by_the_next_iteration, read_behind_a_barrier, result_used, last_one, two_kinds),
    *(anywhere,),
]


def _compiled(kernel: Any, options: Options) -> tuple[CompiledKernel, int]:
    """The code, and the number of buffers whose updates are collected."""
    found = []

    def observe(done: Pass, unit: Any) -> None:
        if done.name == "private-sums":
            found.append(len(unit.sums))

    code = compile_kernel(read(kernel.spirv), kernel.__name__, options, observe=observe)
    return code, sum(found)


def _given(kernel: Any) -> list[Any]:
    random = np.random.default_rng(1)
    out = np.float32 if kernel is float_sums else np.int32
    return [
        random.integers(-50, 50, GROUPS * N).astype(out),
        random.integers(-999, 999, GROUPS * N, np.int32),
        random.integers(0, 256, GROUPS * N, np.uint8),
    ]


def _run(code: CompiledKernel, kernel: Any, same: bool = False) -> list[list[float]]:
    def results() -> list[list[float]]:
        found = _given(kernel)
        if same:
            found[1] = found[0]
        Loaded(code)(found, (GROUPS * N,), (N,))
        return [each.tolist() for each in found]

    outcome = isolated(results)
    assert not outcome.trouble, outcome.trouble
    return list(outcome.value)


def _expected(kernel: Any) -> list[list[float]]:
    given = _given(kernel)
    reference.run(read(kernel.spirv), kernel.__name__, given, (GROUPS * N,), (N,))
    return [each.tolist() for each in given]


@pytest.mark.parametrize("cpu", ["x86-64-v2", "haswell", ""])
@pytest.mark.parametrize("kernel", [*COLLECTED, *KEPT, maybe_negative], ids=lambda each: each.__name__)
def test_results_are_those_of_the_reference(kernel: Any, cpu: str) -> None:
    code, _ = _compiled(kernel, Options(level=1, cpu=cpu))
    assert _run(code, kernel) == _expected(kernel)


@pytest.mark.parametrize("kernel", COLLECTED, ids=lambda each: each.__name__)
def test_given_few_elements_and_no_access_behind_then_updates_are_collected(kernel: Any) -> None:
    assert _compiled(kernel, Options(level=1))[1] == (2 if kernel is two_buffers else 1)


@pytest.mark.parametrize("kernel", KEPT, ids=lambda each: each.__name__)
def test_given_something_that_could_tell_then_each_update_is_done_at_once(kernel: Any) -> None:
    assert _compiled(kernel, Options(level=1))[1] == 0


def test_given_checks_then_each_update_is_done_at_once() -> None:
    assert _compiled(bytes_counted, Options(check_memory=True))[1] == 0


def test_given_two_pointers_to_the_same_memory_then_both_update_it() -> None:
    code, _ = _compiled(two_buffers, Options(level=1))
    before, _, fine = _given(two_buffers)
    expected = before + 6 * np.bincount(fine, minlength=GROUPS * N).astype(np.int32)
    assert _run(code, two_buffers, same=True)[0] == expected.tolist()


def test_given_many_launches_then_no_update_is_lost() -> None:
    n = 1 << 18
    data = np.random.default_rng(2).integers(0, 256, n, np.uint8)
    with az.device().context() as ctx:
        out, unused, fine = ctx.zeros(BINS, np.uint32), ctx.zeros(1, np.int32), ctx.to_device(data)
        with ctx.immediate() as lst:
            for _ in range(20):
                bytes_counted[n](out, unused, fine, on=lst)
        assert out.copy_to().tolist() == (20 * np.bincount(data, minlength=BINS)).tolist()
