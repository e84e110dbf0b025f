"""Kernels with one mistake each, on the line whose comment names them. The tests run this file in check mode."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import anyzero as az

ctx = az.device().context()


@az.kernel
def read_behind(a: az.ptr[az.i32], b: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    i = az.global_id(0)
    b[i] = a[i + 1]  # read_behind


@az.kernel
def read_before(a: az.ptr[az.i32], b: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    i = az.i32(az.global_id(0))
    b[i] = a[i - 1]  # read_before


@az.kernel
def write_behind(a: az.ptr[az.i32], n: az.i32):  # type: ignore[no-untyped-def]
    i = az.i32(az.global_id(0))
    if i < n:
        a[i] = i  # write_behind


@az.kernel
def write_far(a: az.ptr[az.i32], index: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    i = az.global_id(0)
    a[index[i]] = 1  # write_far


@az.kernel
def read_vector(a: az.ptr[az.float4], b: az.ptr[az.f32]):  # type: ignore[no-untyped-def]
    i = az.global_id(0)
    b[i] = a[i].x  # read_vector


@az.kernel
def same_place(a: az.ptr[az.i32], b: az.ptr[az.i32], n: az.i32):  # type: ignore[no-untyped-def]
    b[az.global_id(0)] = a[n]  # same_place


@az.kernel
def strided(a: az.ptr[az.i32], b: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    i = az.global_id(0)
    b[i] = a[i * 3]  # strided


@az.kernel(group=8)
def local_array(a: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    other = az.local[az.i32, 8]
    tile = az.local[az.i32, 8]
    own = az.local_id(0)
    other[own] = 5
    tile[own] = 6
    az.barrier()
    tile[own + 1] = a[az.global_id(0)]  # local_array
    az.barrier()
    a[az.global_id(0)] = tile[own] + other[own]


@az.kernel
def local_argument(a: az.ptr[az.i32], tile: az.local[az.i32]):  # type: ignore[no-untyped-def]
    own = az.local_id(0)
    tile[own] = a[own]  # local_argument
    az.barrier()
    a[own] = tile[0]


@az.kernel
def private_array(a: az.ptr[az.i32], index: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    table = az.private[az.i32, 4]
    for j in range(4):
        table[j] = a[j]
    i = az.global_id(0)
    a[i] = table[index[i]]  # private_array


@az.kernel
def atomic(a: az.ptr[az.i32], index: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    az.atomic_add(a, index[az.global_id(0)], 1)  # atomic


@az.kernel
def in_a_loop(a: az.ptr[az.i32], n: az.i32):  # type: ignore[no-untyped-def]
    total = 0
    for j in range(n):
        total += a[j]  # in_a_loop
    a[0] = total


@az.kernel
def freed(a: az.ptr[az.i32], b: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    i = az.global_id(0)
    b[i] = a[i]  # freed


@az.kernel
def in_a_function(a: az.ptr[az.i32]):  # type: ignore[no-untyped-def]
    inner(a, az.global_id(0))


@az.function
def inner(a: az.ptr[az.i32], i: az.i64):  # type: ignore[no-untyped-def]
    a[i] = 1  # in_a_function


@az.kernel
def rows(a: az.ptr[az.i32], width: az.i32):  # type: ignore[no-untyped-def]
    x, y = az.i32(az.global_id(0)), az.i32(az.global_id(1))
    a[y * width + x] = 1  # rows


@az.kernel
def right(a: az.ptr[az.i32], b: az.ptr[az.i32], n: az.i32):  # type: ignore[no-untyped-def]
    i = az.i32(az.global_id(0))
    if i < n:
        b[i] = a[i] + a[n - 1 - i]


def ints(count: int) -> az.Buffer:
    return ctx.to_device(np.zeros(count, np.int32))


def numbers(*values: int) -> az.Buffer:
    return ctx.to_device(np.array(values, np.int32))


def use_freed() -> None:
    a, b = ints(64), ints(64)
    address = a.pointer
    a.close()
    freed[64](address, b)


RUNS: dict[str, Callable[[], object]] = {
    "right": lambda: right[1000](ints(900), ints(900), 900),
    "read_behind": lambda: read_behind[100](ints(100), ints(100)),
    "read_before": lambda: read_before[100](ints(100), ints(100)),
    "write_behind": lambda: write_behind[128](ints(100), 101),
    "write_far": lambda: write_far[4](ints(100), numbers(1, 2, 100_000, 3)),
    "read_vector": lambda: read_vector[8](
        ctx.to_device(np.zeros(30, np.float32)), ctx.to_device(np.zeros(8, np.float32))
    ),
    "same_place": lambda: same_place[16](ints(10), ints(16), 10),
    "strided": lambda: strided[8](ints(20), ints(8)),
    "local_array": lambda: local_array[16](ints(16)),
    "local_argument": lambda: local_argument[8](ints(8), az.local(7, np.int32), group=8),
    "private_array": lambda: private_array[4](ints(4), numbers(0, 1, 5, 3)),
    "atomic": lambda: atomic[4](ints(10), numbers(0, 1, 2, 10)),
    "in_a_loop": lambda: in_a_loop[1](ints(10), 11),
    "freed": use_freed,
    "in_a_function": lambda: in_a_function[40](ints(39)),
    "rows": lambda: rows[8, 4](ints(31), 8, group=(4, 2)),
}

if __name__ == "__main__":
    for each in RUNS.values():
        each()
