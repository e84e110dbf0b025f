"""Kernels with one mistake each that concerns work-items among themselves, on the line whose comment names them, and
right kernels beside them. The tests run this file in check mode.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

import anyzero as az

ctx = az.device().context()


# Races in local memory


@az.kernel(group=16)
def no_barrier(a: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    tile = az.local[az.i32, 16]
    own = az.i32(az.local_id(0))
    tile[own] = a[own]
    a[own] = tile[15 - own]  # no_barrier


@az.kernel(group=16)
def no_second_barrier(a: az.ptr[az.i32], b: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    tile = az.local[az.i32, 16]
    own = az.i32(az.local_id(0))
    for turn in range(2):
        tile[own] = a[own + 16 * turn]  # no_second_barrier
        az.barrier()
        b[own + 16 * turn] = tile[15 - own]


@az.kernel(group=32)
def tree_without_barrier(a: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    sums = az.local[az.i32, 32]
    own = az.i32(az.local_id(0))
    sums[own] = a[own]
    az.barrier()
    step = 16
    while step > 0:
        if own < step:
            sums[own] += sums[own + step]  # tree_without_barrier
        step = step // 2
    az.barrier()
    a[own] = sums[0]


@az.kernel(group=16)
def all_write_one(a: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    one = az.local[az.i32, 1]
    own = az.i32(az.local_id(0))
    one[0] = own  # all_write_one
    az.barrier()
    a[own] = one[0]


@az.kernel(group=16)
def histogram_without_barrier(a: az.ptr[az.i32], counts: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    own_counts = az.local[az.i32, 16]
    own = az.i32(az.local_id(0))
    own_counts[own] = 0
    az.atomic_add(own_counts, (a[own] + 1) % 16, 1)  # histogram_without_barrier
    az.barrier()
    counts[own] = own_counts[own]


# Races in global memory


@az.kernel
def same_element(a: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    i = az.i32(az.global_id(0))
    a[i // 2] = i  # same_element


@az.kernel
def counter(a: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    a[0] += 1  # counter


@az.kernel
def shift_in_place(a: az.ptr[az.i32], n: az.i32):  # type: ignore[no-untyped-def]
    i = az.i32(az.global_id(0))
    if i + 1 < n:
        a[i] = a[i + 1]  # shift_in_place


@az.kernel(group=8)
def between_groups(a: az.ptr[az.i32], sums: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    own, group = az.i32(az.local_id(0)), az.i32(az.group_id(0))
    if own == 0:
        sums[group] = a[8 * group]
    az.barrier()
    if own == 0 and group > 0:
        a[8 * group] = sums[group - 1]  # between_groups


@az.kernel(group=8)
def within_a_group(a: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    i, own = az.i32(az.global_id(0)), az.i32(az.local_id(0))
    a[i] = own
    if own > 0:
        a[i] = a[i - 1] + 1  # within_a_group


@az.kernel
def atomic_and_plain(a: az.ptr[az.i32], b: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    az.atomic_add(a, 0, 1)
    b[az.global_id(0)] = a[0]  # atomic_and_plain


@az.kernel
def bytes_apart(a: az.ptr[az.u8], b: az.ptr[az.u8]):  # type: ignore[no-untyped-def]
    i = az.i32(az.global_id(0))
    a[i] = az.u8(i)
    a[i + 1] = az.u8(i)  # bytes_apart


@az.kernel(group=16)
def same_index_of_groups(a: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    a[az.local_id(0)] = az.i32(az.group_id(0))  # same_index_of_groups


@az.kernel
def steps_of_a_loop(a: az.ptr[az.i32], n: az.i32):  # type: ignore[no-untyped-def]
    i = az.i32(az.global_id(0))
    for step in range(n):
        a[(i + step) % 16] = step  # steps_of_a_loop


# Right kernels


@az.kernel(group=16)
def same_values_of_groups(a: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    own = az.i32(az.local_id(0))
    a[own] = 3 * own


@az.kernel(group=16)
def reversed_tile(a: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    tile = az.local[az.i32, 16]
    own, i = az.i32(az.local_id(0)), az.i32(az.global_id(0))
    tile[own] = a[i]
    az.barrier()
    a[i] = tile[15 - own]


@az.kernel(group=32)
def tree(a: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    sums = az.local[az.i32, 32]
    own = az.i32(az.local_id(0))
    sums[own] = a[own]
    az.barrier()
    step = 16
    while step > 0:
        if own < step:
            sums[own] += sums[own + step]
        az.barrier()
        step = step // 2
    a[own] = sums[0]


@az.kernel(group=16)
def histogram(a: az.ptr[az.i32], counts: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    own_counts = az.local[az.i32, 16]
    own = az.i32(az.local_id(0))
    own_counts[own] = 0
    az.barrier()
    az.atomic_add(own_counts, a[az.global_id(0)] % 16, 1)
    az.barrier()
    az.atomic_add(counts, own, own_counts[own])


@az.kernel
def found_one(a: az.ptr[az.i32], found: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    if a[az.global_id(0)] == 0:
        found[0] = 1


@az.kernel
def neighbours(a: az.ptr[az.u8], b: az.ptr[az.u8]):  # type: ignore[no-untyped-def]
    i = az.i32(az.global_id(0))
    b[i] = a[i] + a[i + 1]


@az.kernel(group=16)
def last_group_sums(a: az.ptr[az.i32], sums: az.ptr[az.i32], ticket: az.ptr[az.i32], total: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    is_last = az.local[az.i32, 1]
    own, group = az.i32(az.local_id(0)), az.i32(az.group_id(0))
    found = az.group_sum(a[az.global_id(0)])
    if own == 0:
        sums[group] = found
        az.fence()
        is_last[0] = az.i32(az.atomic_add(ticket, 0, 1) == az.i32(az.num_groups(0)) - 1)
    az.barrier()
    if is_last[0] == 1 and own == 0:
        collected = 0
        for j in range(az.i32(az.num_groups(0))):
            collected += sums[j]
        total[0] = collected


@az.kernel(group=8)
def collective_between(a: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    tile = az.local[az.i32, 8]
    own = az.i32(az.local_id(0))
    tile[own] = a[own]
    together = az.group_sum(own)
    a[own] = tile[7 - own] + together


# Memory that nobody has written


@az.kernel
def reads_nothing(a: az.ptr[az.i32], b: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    i = az.global_id(0)
    b[i] = a[i] + 1  # reads_nothing


@az.kernel
def reads_a_part(a: az.ptr[az.i32], b: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    i = az.global_id(0)
    b[i] = a[i] * 2  # reads_a_part


@az.kernel
def adds_to_nothing(a: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    az.atomic_add(a, 0, 1)  # adds_to_nothing


@az.kernel(group=16)
def local_nothing(a: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    tile = az.local[az.i32, 16]
    own = az.i32(az.local_id(0))
    if own < 15:
        tile[own] = a[own]
    az.barrier()
    a[own] = tile[15 - own] + 1  # local_nothing


@az.kernel
def writes(a: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    i = az.i32(az.global_id(0))
    a[i] = i


@az.kernel
def reads_written(a: az.ptr[az.i32], b: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    i = az.global_id(0)
    b[i] = a[i] + 1


@az.kernel
def only_copies(a: az.ptr[az.i32], b: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    i = az.global_id(0)
    b[i] = a[i]


# Work-items that do not come


@az.kernel(group=16)
def barrier_in_a_branch(a: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    own = az.i32(az.local_id(0))
    if a[own] > 3:
        az.barrier()  # barrier_in_a_branch
    a[own] = own


@az.kernel(group=16)
def early_return(a: az.ptr[az.i32], n: az.i32):  # type: ignore[no-untyped-def]
    i = az.i32(az.global_id(0))
    if i >= n:
        return
    az.barrier()  # early_return
    a[i] = i


@az.kernel(group=64)
def loop_of_own_length(a: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    own = az.i32(az.local_id(0))
    for _ in range(a[own]):
        az.barrier()  # loop_of_own_length
    a[own] = own


@az.kernel(group=16)
def sum_in_a_branch(a: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    own = az.i32(az.local_id(0))
    if a[own] > 3:
        a[own] = az.group_sum(a[own])  # sum_in_a_branch


@az.kernel(group=16)
def sub_group_in_a_branch(a: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    own = az.i32(az.local_id(0))
    if own % 2 == 0:
        a[own] = az.sub_group_sum(a[own])  # sub_group_in_a_branch


@az.kernel(group=16)
def barriers_for_all(a: az.ptr[az.i32], n: az.i32):  # type: ignore[no-untyped-def]
    own = az.i32(az.local_id(0))
    for _ in range(n):
        az.barrier()
    if n > 2:
        az.barrier()
    a[own] = own + az.group_sum(1)


def ints(count: int) -> az.Buffer:
    return ctx.to_device(np.arange(count, dtype=np.int32))


def zeros(count: int) -> az.Buffer:
    return ctx.to_device(np.zeros(count, np.int32))


def floats(count: int) -> az.Buffer:
    return ctx.to_device(np.ones(count, np.float32))


def octets(count: int) -> az.Buffer:
    return ctx.to_device(np.zeros(count, np.uint8))


def nothing(count: int) -> az.Buffer:
    return ctx.empty(count, np.int32)


def read_a_part() -> None:
    a = nothing(64)
    writes[60](a)
    reads_a_part[64](a, zeros(64))


def read_written() -> None:
    a = nothing(64)
    writes[64](a)
    reads_written[64](a, zeros(64))


RUNS: dict[str, Callable[[], object]] = {
    "no_barrier": lambda: no_barrier[16](ints(16)),
    "no_second_barrier": lambda: no_second_barrier[16](ints(32), zeros(32)),
    "tree_without_barrier": lambda: tree_without_barrier[32](ints(32)),
    "all_write_one": lambda: all_write_one[16](ints(16)),
    "histogram_without_barrier": lambda: histogram_without_barrier[16](ints(16), zeros(16)),
    "same_element": lambda: same_element[64](zeros(32)),
    "counter": lambda: counter[64](zeros(1)),
    "shift_in_place": lambda: shift_in_place[64](ints(64), 64),
    "between_groups": lambda: between_groups[64](ints(64), zeros(8)),
    "within_a_group": lambda: within_a_group[64](ints(64)),
    "atomic_and_plain": lambda: atomic_and_plain[64](zeros(1), zeros(64)),
    "bytes_apart": lambda: bytes_apart[64](octets(65), octets(64)),
    "same_index_of_groups": lambda: same_index_of_groups[64](zeros(16)),
    "steps_of_a_loop": lambda: steps_of_a_loop[16](zeros(16), 3),
    "same_values_of_groups": lambda: same_values_of_groups[1 << 14](zeros(16)),
    "reversed_tile": lambda: reversed_tile[64](ints(64)),
    "tree": lambda: tree[32](ints(32)),
    "histogram": lambda: histogram[64](ints(64), zeros(16)),
    "found_one": lambda: found_one[64](zeros(64), zeros(1)),
    "neighbours": lambda: neighbours[64](octets(65), octets(64)),
    "last_group_sums": lambda: last_group_sums[64](ints(64), zeros(4), zeros(1), zeros(1)),
    "collective_between": lambda: collective_between[8](ints(8)),
    "reads_nothing": lambda: reads_nothing[64](nothing(64), zeros(64)),
    "reads_a_part": read_a_part,
    "adds_to_nothing": lambda: adds_to_nothing[8](nothing(1)),
    "local_nothing": lambda: local_nothing[16](ints(16)),
    "reads_written": read_written,
    "only_copies": lambda: only_copies[64](nothing(64), zeros(64)),
    "barrier_in_a_branch": lambda: barrier_in_a_branch[16](ints(16)),
    "early_return": lambda: early_return[32](ints(32), 20),
    "loop_of_own_length": lambda: loop_of_own_length[64](ints(64)),
    "sum_in_a_branch": lambda: sum_in_a_branch[16](ints(16)),
    "sub_group_in_a_branch": lambda: sub_group_in_a_branch[16](ints(16)),
    "barriers_for_all": lambda: barriers_for_all[16](ints(16), 3),
}

module = ctx.module(Path(__file__).with_name("racing.spv"))
"""The same mistakes, and others, in OpenCL C."""

IN_C: dict[str, Callable[[], object]] = {
    "read_other": lambda: module["read_other"][16](ints(16), group=16),
    "read_argument": lambda: module["read_argument"][16](ints(16), az.local(16, np.int32), group=16),
    "write_then_write": lambda: module["write_then_write"][16](ints(16), group=16),
    "wrong_fence_local": lambda: module["wrong_fence_local"][16](ints(16), group=16),
    "halo": lambda: module["halo"][16](ints(18), zeros(16), group=16),
    "wrong_fence_global": lambda: module["wrong_fence_global"][32](ints(32), group=16),
    "histogram_without_atomics": lambda: module["histogram_without_atomics"][64](ints(64), zeros(16)),
    "whole_and_part": lambda: (a := zeros(64), module["whole_and_part"][64](a, a)),
    "neighbours_group": lambda: module["neighbours_group"][32](ints(32), group=16),
    "decides_by_nothing": lambda: module["decides_by_nothing"][64](nothing(64), zeros(64)),
    "sums_nothing": lambda: module["sums_nothing"][16](ints(16), group=16),
    "two_barriers": lambda: module["two_barriers"][16](ints(16), group=16),
    "sub_group_of_some": lambda: module["sub_group_of_some"][16](ints(16), group=16),
    "right_transposition": lambda: module["right_transposition"][16, 24](ints(384), zeros(384), group=(8, 8)),
    "right_product": lambda: module["right_product"][16, 16](floats(256), floats(256), floats(256), 16, group=(8, 8)),
    "right_sub_groups": lambda: module["right_sub_groups"][64](ints(64), group=64),
    "right_async": lambda: module["right_async"][32](ints(32), zeros(32), group=16),
    "right_lock": lambda: module["right_lock"][16](zeros(1), zeros(1), group=4),
}

if __name__ == "__main__":
    for each in (*RUNS.values(), *IN_C.values()):
        each()
