"""Each construct of the language, compiled and simulated."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import anyzero as az
from tests.language.running import agree

N = 12
SCALE = 2.5
TYPED = np.float64(0.1)
INTS = np.array([-7, -6, -1, 0, 1, 5, 6, 7, 100, -100, 12345, -2147483648], np.int32)
FLOATS = np.array([-7.5, -2, -1, -0.0, 0.0, 0.3, 1, 2.5, 3.5, 1e6, -1e-3, 7], np.float32)


def test_arithmetic_of_integers() -> None:
    @az.kernel
    def k(out: az.array[az.i32, 2], x: az.ptr[az.i32]) -> None:
        i = az.global_id(0)
        v = x[i]
        out[0, i] = v + 3
        out[1, i] = v - 3
        out[2, i] = v * 1000003
        out[3, i] = v // 3
        out[4, i] = v % 3
        out[5, i] = v // -4
        out[6, i] = v % -4
        out[7, i] = v // 8
        out[8, i] = v % 8
        out[9, i] = v << 3
        out[10, i] = v >> 2
        out[11, i] = (v & 12) | (v ^ 5)
        out[12, i] = ~v
        out[13, i] = -v
        out[14, i] = v**3

    out, _ = agree(k, N, np.zeros((15, N), np.int32), INTS)
    np.testing.assert_array_equal(out[3], INTS // 3)
    np.testing.assert_array_equal(out[4], INTS % 3)
    np.testing.assert_array_equal(out[5], INTS // -4)
    np.testing.assert_array_equal(out[6], INTS % -4)
    np.testing.assert_array_equal(out[2], INTS * np.int32(1000003))


def test_tuples_go_to_elements_all_at_once() -> None:
    @az.function
    def both(v):  # type: ignore[no-untyped-def]
        return v * 2, v * 3

    @az.kernel
    def k(x: az.ptr[az.f32], y: az.array[az.f64, 2]) -> None:
        own = az.private[az.i32, 2]
        own[0], own[1] = 7, 9
        own[0], own[1] = own[1], own[0]
        x[0], x[1] = x[1], x[0]
        y[0, 0], y[0, 1] = 0.1, x[2]
        y[1, 0], y[1, 1] = both(x[3])
        x[4], x[5] = own[0], own[1]
        for j in range(2):
            x[6 + j], x[8 + j] = x[8 + j], x[6 + j]

    x, y = agree(k, 1, np.arange(10, dtype=np.float32), np.zeros((2, 2)))
    assert x.tolist() == [1, 0, 2, 3, 9, 7, 8, 9, 6, 7]
    assert y.tolist() == [[0.1, 2], [6, 9]]


def test_arithmetic_of_floats() -> None:
    @az.kernel(contract=False)
    def k(out: az.array[az.f32, 2], x: az.ptr[az.f32]) -> None:
        i = az.global_id(0)
        v = x[i]
        out[0, i] = v + 0.1
        out[1, i] = 1 - v
        out[2, i] = v * v * 3
        out[3, i] = v / 3
        out[4, i] = v // 2
        out[5, i] = v % 2
        out[6, i] = v % -2.5
        out[7, i] = v**2 + v**3 + v**4
        out[8, i] = -v
        out[9, i] = 1 / 3 * v

    out, _ = agree(k, N, np.zeros((10, N), np.float32), FLOATS)
    np.testing.assert_array_equal(out[0], FLOATS + np.float32(0.1))
    np.testing.assert_array_equal(out[5], FLOATS % np.float32(2))


def test_types_of_other_sizes() -> None:
    @az.kernel
    def k(a: az.ptr[az.i8], b: az.ptr[az.u16], c: az.ptr[az.i64], d: az.ptr[az.f64], e: az.ptr[az.u64]) -> None:
        i = az.global_id(0)
        wide = a[i] * 100 + b[i]
        c[i] = wide
        d[i] = wide / 3.0 + d[i]
        e[i] = e[i] // 3 + az.u64(i) * 0xFFFFFFFFFFFFFFFF
        b[i] += 65535
        a[i] = az.i8(wide)

    agree(
        k, 5, np.arange(-2, 3, dtype=np.int8), np.arange(5, dtype=np.uint16) * 13000, np.zeros(5, np.int64),
        np.full(5, 0.1), np.array([1, 2, 2**63, 2**64 - 1, 7], np.uint64),
    )  # fmt: skip


def test_halves() -> None:
    @az.kernel(contract=False)
    def k(x: az.ptr[az.f16]) -> None:
        i = az.global_id(0)
        x[i] = x[i] * 0.1 + x[i]

    agree(k, 4, np.array([1, 2, 3.5, 1000], np.float16))


def test_bools() -> None:
    @az.kernel
    def k(flags: az.ptr[bool], x: az.ptr[az.i32], turned: bool) -> None:
        i = az.global_id(0)
        odd = x[i] % 2 == 1
        flags[i] = odd != turned
        x[i] += odd
        if flags[i] and not (x[i] > 5 or x[i] == 0):
            x[i] = -1

    for turned in (False, True):
        agree(k, N, np.zeros(N, np.bool_), np.arange(N, dtype=np.int32), turned)


def test_comparisons_in_a_row_and_conditions() -> None:
    @az.kernel
    def k(out: az.ptr[az.i32], x: az.ptr[az.i32]) -> None:
        i = az.global_id(0)
        out[i] = 1 if -5 <= x[i] < 6 else 2 if x[i] else 3
        out[i] += az.i32(x[i] if x[i] > 0 else 0.5)

    agree(k, N, np.zeros(N, np.int32), INTS)


def test_loops() -> None:
    @az.kernel
    def k(out: az.array[az.i32, 2], n: az.i32) -> None:
        i = az.global_id(0)
        total = 0
        for j in range(n):
            if j == i:
                continue
            if j > 7:
                break
            total += j
        else:
            total = -total
        out[0, i] = total
        count = 0
        left = az.i32(i) * 3
        while left > 0:
            left -= 2
            count += 1
        else:
            count += 100
        out[1, i] = count
        down = 0
        for j in range(10, az.i32(i), -3):
            down = down * 2 + j
        out[2, i] = down
        for j in range(az.i32(i), n, az.i32(i) + 1):
            j += 5
            out[3, i] = j
        while True:
            total += 1
            if total > 50:
                break
        out[4, i] = total

    for n in (0, 5, 20):
        agree(k, N, np.zeros((5, N), np.int32), n)


def test_early_return_and_pass() -> None:
    @az.kernel
    def k(out: az.ptr[az.i32], n: az.i32) -> None:
        """With a docstring."""
        i = az.global_id(0)
        if i >= n:
            return
        if i == 2:
            pass
        elif i == 3:
            out[i] = 3
            return
        else:
            out[i] = 9
        out[i] += 1

    (out,) = agree(k, 8, np.zeros(8, np.int32), 6)
    assert out.tolist() == [10, 10, 1, 3, 10, 10, 0, 0]


def test_variables_take_the_type_of_what_follows() -> None:
    @az.kernel(contract=False)
    def k(out: az.ptr[az.f64], x: az.ptr[az.f64]) -> None:
        total = 0.0
        best = 0
        for j in range(4):
            total += x[j] / 3
            best = x[j] if x[j] > best else best
        count: az.u8 = 250
        for _ in range(10):
            count += 1
        out[0] = total
        out[1] = best
        out[2] = count

    out, _ = agree(k, 1, np.zeros(3), np.array([0.1, 3, 2, 1]))
    assert out[2] == 4


def test_tuples() -> None:
    @az.function
    def both(a, b):  # type: ignore[no-untyped-def]
        return a + b, a * 0.5

    @az.kernel(contract=False)
    def k(out: az.ptr[az.f32]) -> None:
        i = az.i32(az.global_id(0))
        a, b = 0, 1
        for _ in range(i):
            a, b = b, a + b
        pair = both(a, b)
        out[2 * i] = pair[0]
        total, half = both(i, out[2 * i])
        out[2 * i + 1] = total + half + len(pair)

    agree(k, 6, np.zeros(12, np.float32))


def test_functions() -> None:
    @az.function
    def clamp(x, low: az.f32 = 0.0, high: az.f32 = 1.0):  # type: ignore[no-untyped-def]
        if x < low:
            return low
        if x > high:
            return high
        return x

    @az.function
    def total(p: az.ptr[az.f32], n: az.i32) -> az.f32:
        found = 0.0
        for j in range(n):
            found += clamp(p[j], high=2.0)
        return found

    @az.function
    def put(p: az.ptr[az.f32], at, value) -> None:  # type: ignore[no-untyped-def]
        p[at] = value

    @az.kernel
    def k(out: az.ptr[az.f32], x: az.ptr[az.f32]) -> None:
        own = az.private[az.f32, 4]
        for j in range(4):
            put(own, j, x[j] + az.global_id(0))
        put(out, az.global_id(0), total(own, 4) + total(x + 1, 3))

    agree(k, 3, np.zeros(3, np.float32), np.array([-1, 0.5, 1.5, 7], np.float32))


def test_functions_have_local_memory_for_each_type() -> None:
    @az.function
    def swapped(p, q):  # type: ignore[no-untyped-def]
        own = az.local_id(0)
        first = az.local[az.i32, 4]
        first[own] = az.i32(p[own])
        az.barrier()
        q[own] = first[3 - own]

    @az.kernel(group=4)
    def k(a: az.ptr[az.i32], b: az.ptr[az.f32]) -> None:
        swapped(a, b)
        az.barrier()
        swapped(b, a)

    out, _ = agree(k, 4, np.arange(4, dtype=np.int32), np.zeros(4, np.float32))
    assert out.tolist() == [0, 1, 2, 3]


def test_vectors() -> None:
    @az.kernel(contract=False)
    def k(out: az.ptr[az.float4], x: az.ptr[az.float4], n: az.ptr[az.int2]) -> None:
        i = az.global_id(0)
        v = x[i]
        w = az.float4(v.w, v.xy, 1)
        w.x += 2
        w[1] = v[az.i32(i) % 4]
        u = -(v * 2 + w) / 3.0
        u.z = az.math.dot(v, w)
        out[i] = u + az.float4(0.5)
        pair = n[i] << az.int2(1, 2)
        n[i] = pair ^ az.int2(az.i32(len(pair)), pair.y)

    x = np.arange(20, dtype=np.float32).reshape(5, 4)
    agree(k, 5, np.zeros((5, 4), np.float32), x, np.arange(10, dtype=np.int32).reshape(5, 2))


def test_vectors_of_three_take_the_room_of_four() -> None:
    @az.kernel
    def k(x: az.ptr[az.float3]) -> None:
        i = az.global_id(0)
        x[i] = x[i].zyx * 2

    (out,) = agree(k, 2, np.arange(8, dtype=np.float32))
    assert out.tolist() == [4, 2, 0, 3, 12, 10, 8, 7]


def test_private_arrays() -> None:
    @az.kernel
    def k(out: az.ptr[az.i32]) -> None:
        i = az.i32(az.global_id(0))
        table = az.private[az.i32, 3, 4]
        for a in range(3):
            for b in range(4):
                table[a, b] = a * b + i
        total = 0
        for a in range(len(table)):
            total += table[a, (a + i) % 4]
        out[i] = total

    agree(k, 6, np.zeros(6, np.int32))


@pytest.mark.parametrize("group", [1, 4, 16])
def test_local_memory_and_barriers(group: int) -> None:
    @az.kernel
    def k(out: az.ptr[az.f32], x: az.ptr[az.f32]) -> None:
        tile = az.local[az.f32, 16]
        i, own = az.global_id(0), az.local_id(0)
        tile[own] = x[i]
        az.barrier()
        step = az.local_size(0) // 2
        while step > 0:
            if own < step:
                tile[own] += tile[own + step]
            az.barrier()
            step //= 2
        out[i] = tile[0]

    x = np.arange(16, dtype=np.float32)
    out, _ = agree(k, 16, np.zeros(16, np.float32), x, group=group)
    np.testing.assert_array_equal(out, x.reshape(-1, group).sum(1).repeat(group))


def test_local_memory_as_a_parameter() -> None:
    @az.kernel
    def fixed(x: az.ptr[az.i32], tile: az.local[az.i32, 8]) -> None:  # type: ignore[valid-type]
        own = az.local_id(0)
        tile[own] = x[az.global_id(0)]
        az.barrier()
        x[az.global_id(0)] = tile[7 - own]

    @az.kernel
    def given(x: az.ptr[az.i32], tile: az.local[az.i32]) -> None:  # type: ignore[valid-type]
        own = az.local_id(0)
        tile[own] = x[az.global_id(0)]
        az.barrier()
        x[az.global_id(0)] = tile[az.local_size(0) - 1 - own]

    (out,) = agree(fixed, 16, np.arange(16, dtype=np.int32), group=8)
    assert out.tolist() == [*range(7, -1, -1), *range(15, 7, -1)]
    from tests.language.running import run

    (out,) = run(given, 16, np.arange(16, dtype=np.int32), az.Local(32), group=8)
    assert out.tolist() == [*range(7, -1, -1), *range(15, 7, -1)]


def test_ids_and_sizes() -> None:
    @az.kernel
    def k(out: az.array[az.i64, 2]) -> None:
        at = az.global_linear_id()
        out[at, 0] = az.global_id(0) + 100 * az.global_id(1)
        out[at, 1] = az.local_id(0) + 100 * az.local_id(1)
        out[at, 2] = az.group_id(0) + 100 * az.group_id(1)
        out[at, 3] = az.global_size(0) + 100 * az.global_size(1)
        out[at, 4] = az.local_size(0) + 100 * az.local_size(1)
        out[at, 5] = az.num_groups(0) + 100 * az.num_groups(1)
        out[at, 6] = az.local_linear_id() + 100 * az.work_dim()
        out[at, 7] = az.global_offset(0) + az.global_size(2)

    agree(k, (6, 4), np.zeros((24, 8), np.int64), group=(3, 2))


def test_arrays_have_shapes() -> None:
    @az.kernel
    def k(out: az.array[az.i64, 3], x: az.array[az.f32, 2]) -> None:
        a, b, c = az.global_id(0), az.global_id(1), az.global_id(2)
        out[c, b, a] = out.shape[0] * 1000 + out.shape[-1] * 100 + len(x) * 10 + x.shape[1]
        out[c, b, a] += az.i64(x[b, a]) + out.strides[0] + out.size + out.ndim

    agree(k, (4, 3, 2), np.zeros((2, 3, 4), np.int64), np.arange(12, dtype=np.float32).reshape(3, 4))


def test_atomics() -> None:
    @az.kernel
    def k(x: az.ptr[az.i32], f: az.ptr[az.f32], u: az.array[az.u32, 2]) -> None:
        tile = az.local[az.i32, 2]
        i = az.i32(az.global_id(0))
        if az.local_id(0) < 2:
            tile[az.local_id(0)] = 0
        az.barrier()
        az.atomic_add(tile, i % 2, i)
        az.atomic_add(x, 0, 1)
        az.atomic_sub(x, 1, i)
        az.atomic_max(x, 2, i)
        az.atomic_min(x, 3, -i)
        az.atomic_or(x, 4, 1 << i)
        az.atomic_and(x, 5, ~(1 << i))
        az.atomic_xor(x, 6, 3)
        az.atomic_add(f, 0, 0.5)
        az.atomic_max(f, 1, az.f32(i))
        az.atomic_add(u, (1, 0), 2)
        old = az.atomic_compare_exchange(x, 7, 0, 5)
        if old == 0:
            az.atomic_store(x, 8, az.atomic_load(x, 7))
        if i == 0:
            x[9] = az.atomic_exchange(x, 10, 4)
        az.barrier()
        if i == 0:
            x[11] = tile[0] * 100 + tile[1]

    agree(k, 8, np.array([0, 0, 0, 0, 0, -1, 0, 0, 0, 0, 77, 0], np.int32), np.zeros(2, np.float32),
          np.zeros((2, 2), np.uint32), group=8)  # fmt: skip


def test_collectives_of_groups() -> None:
    @az.kernel
    def k(out: az.array[az.i32, 2], f: az.ptr[az.f32]) -> None:
        i = az.global_id(0)
        v = az.i32(i) * 3 - 5
        out[0, i] = az.group_sum(v)
        out[1, i] = az.group_min(v)
        out[2, i] = az.group_max(v)
        out[3, i] = az.group_inclusive_sum(v)
        out[4, i] = az.group_exclusive_sum(v)
        out[5, i] = az.i32(az.group_any(v > 3)) + 2 * az.i32(az.group_all(v > -20))
        out[6, i] = az.group_broadcast(v, 2)
        f[i] = az.group_sum(f[i])

    agree(k, 16, np.zeros((7, 16), np.int32), np.arange(16, dtype=np.float32), group=8)


def test_collectives_of_sub_groups() -> None:
    @az.kernel
    def k(out: az.array[az.i32, 2]) -> None:
        i = az.global_id(0)
        v = az.i32(i) + 1
        size = az.sub_group_size()
        out[0, i] = az.sub_group_sum(v) - size * (v - az.sub_group_local_id()) - size * (size - 1) // 2
        out[1, i] = az.sub_group_max(v) - v + az.sub_group_local_id() - size
        out[2, i] = az.sub_group_broadcast(v, 0) - v + az.sub_group_local_id()
        out[3, i] = az.sub_group_shuffle_xor(v, 0) - az.sub_group_shuffle(v, az.sub_group_local_id())
        out[4, i] = az.sub_group_inclusive_sum(1) - az.sub_group_exclusive_sum(1)
        out[5, i] = az.sub_group_id() * size + az.sub_group_local_id() - az.i32(az.local_id(0))
        out[6, i] = az.i32(az.sub_group_any(v > 0)) - az.i32(az.sub_group_all(v > 0))
        az.sub_group_barrier()
        out[7, i] = az.sub_group_min(v) - az.sub_group_broadcast(v, 0)

    agree(k, 32, np.zeros((8, 32), np.int32), group=32)


def test_mathematics_by_standard_names() -> None:
    @az.kernel
    def k(out: az.array[az.f32, 2], x: az.ptr[az.f32], n: az.ptr[az.i32]) -> None:
        i = az.global_id(0)
        v = abs(x[i]) + 0.1
        out[0, i] = math.sqrt(v) + math.sin(v) * math.pi
        out[1, i] = min(v, 2, x[0]) + max(v, 1.5)
        out[2, i] = math.floor(x[i]) + math.ceil(x[i]) + math.trunc(x[i]) + round(x[i])
        out[3, i] = math.atan2(v, 2.0) + math.pow(v, 0.3) + v**0.5
        out[4, i] = math.log(v) + math.exp(-v) + math.hypot(v, 1.0)
        out[5, i] = math.fmod(v, 0.7) + math.copysign(v, -1.0)
        n[i] = min(n[i], 5, max(n[i], -5)) + abs(n[i])
        n[i] += int(v) + az.math.popcount(n[i]) + az.math.clz(n[i])
        if math.isnan(v) or math.isinf(v) or not math.isfinite(v):
            n[i] = 0

    agree(k, N, np.zeros((6, N), np.float32), FLOATS, INTS // 3, rtol=1e-5)


def test_constants_from_outside() -> None:
    inner = 3

    @az.kernel
    def k(x: az.ptr[az.f32]) -> None:
        x[0] = SCALE * inner + N
        x[1] = TYPED + 1
        x[2] = math.inf
        x[3] = az.u32(-1) > 0

    (out,) = agree(k, 1, np.zeros(4, np.float32))
    assert out.tolist() == [19.5, np.float32(1.1), math.inf, 1]


def test_specialization_constants() -> None:
    @az.kernel
    def k(x: az.ptr[az.i32], width: az.const[az.i32], fast: az.const[bool]) -> None:  # type: ignore[valid-type]
        row = az.private[az.i32, width]
        for j in range(width):
            row[j] = j * width
        x[0] = row[width - 1] + (1000 if fast else 0)

    assert agree(k, 1, np.zeros(1, np.int32), 4, True)[0] == 1012
    assert agree(k, 1, np.zeros(1, np.int32), 3, False)[0] == 6
    assert "SpecId" in k.specialization((np.zeros(1, np.int32), 4, True)).spvasm


def test_one_kernel_for_several_types() -> None:
    @az.kernel
    def k(y, x, a):  # type: ignore[no-untyped-def]
        i = az.global_id(0)
        y[i] = a * x[i] + y[i]

    for dtype in (np.float32, np.float64, np.int32, np.uint64):
        x = np.arange(4, dtype=dtype)
        out, _ = agree(k, 4, x.copy(), x, dtype(2))
        assert out.tolist() == [0, 3, 6, 9]
    assert "ptr[f64]" in k.specialization((np.zeros(1), np.zeros(1), 2.0)).signature


def test_bits_of_another_type() -> None:
    @az.kernel
    def k(x: az.ptr[az.f32], u: az.ptr[az.u32]) -> None:
        i = az.global_id(0)
        u[i] = az.bitcast(x[i], az.u32)
        x[i] = az.bitcast(u[i] ^ 0x80000000, az.f32)

    agree(k, N, FLOATS, np.zeros(N, np.uint32))


def test_conditions_of_loops_are_tested_one_by_one() -> None:
    @az.kernel
    def k(out: az.ptr[az.i32], x: az.ptr[az.i32], n: az.i32) -> None:
        i = az.global_id(0)
        count, own = 0, x[i]
        while count < n and own > 0:
            own //= 2
            count += 1
        while 0 < count < n:
            count += 1
            if count == 7:
                continue
            if own == 3:
                break
        else:
            own += 100
        out[i] = count + own

    agree(k, N, np.zeros(N, np.int32), INTS, np.int32(9))
    # The first condition, which work-items share, is not joined with the second one, which they do not.
    assert "OpLogicalAnd" not in k.spvasm


def test_small_numbers_are_compared_in_32_bits() -> None:
    @az.kernel(group=4)
    def k(out: az.ptr[az.i64], n: az.i32) -> None:
        item = az.local_id(0)
        for b in range(az.local_id(0), 16, az.local_size(0)):
            out[b] = b + (item if item >= n else 7)

    def compared(spvasm: str) -> set[str]:
        types = dict(re.findall(r"(%\d+) = Op\w+ (%\d+)", spvasm))
        return {types[each] for each in re.findall(r"OpS(?:Less|Greater)Than\w* %\d+ (%\d+)", spvasm)}

    agree(k, 4, np.zeros(16, np.int64), np.int32(2))
    (word,) = re.findall(r"(%\d+) = OpTypeInt 32 0", k.spvasm)
    assert compared(k.spvasm) == {word}
