"""Names and forms of Python's with a meaning in kernels: divmod, sum, math.gcd, `:=`; and samplers of a kernel."""

from __future__ import annotations

import math

import numpy as np

import anyzero as az
from tests.language.running import agree, context, validate

N = 12
INTS = np.array([-7, -6, -1, 0, 1, 5, 6, 7, 100, -100, 12345, -2147483648], np.int32)
LINEAR = az.sampler(filter="linear", normalized=True)


def test_functions_of_python() -> None:
    @az.kernel(contract=False)
    def k(out: az.array[az.f32, 2], x: az.ptr[az.i32], y: az.ptr[az.i32], v: az.ptr[az.float4]) -> None:
        i = az.global_id(0)
        halves = az.private[az.f32, 5]
        bytes_ = az.private[az.u8, 3]
        for at in range(5):
            halves[at] = x[i] * 0.5 + at
        for at in range(3):
            bytes_[at] = 200
        quotient, rest = divmod(x[i], y[i])
        out[0, i] = quotient
        out[1, i] = rest
        out[2, i] = sum(halves)
        out[3, i] = sum((x[i], y[i], 2.5))
        out[4, i] = sum(v[0]) + sum(divmod(7, 3)) + sum(bytes_)
        out[5, i] = math.gcd(x[i], y[i])
        out[6, i] = math.gcd(12, 18) + math.gcd(az.u8(24), 18)

    y = np.array([3, -4, 5, 1, -1, 5, -9, 49, 75, 30, -15, 2147483647], np.int32)
    out, *_ = agree(k, N, np.zeros((7, N), np.float32), INTS, y, np.arange(4, dtype=np.float32))
    np.testing.assert_array_equal(out[:2], np.array(np.divmod(INTS, y), np.float32))
    np.testing.assert_array_equal(out[5], np.abs(np.gcd(INTS.astype(np.int64), y)).astype(np.float32))
    assert out[4, 0] == 6 + 3 + 600
    assert out[6, 0] == 12


def test_assignment_in_an_expression() -> None:
    @az.kernel
    def k(out: az.ptr[az.i32], x: az.ptr[az.i32]) -> None:
        i = az.global_id(0)
        left, count = az.i64(x[i]), 0
        while (half := left // 2) > 0:
            left = half
            count += 1
        if count > 3 and (more := count * 2) < 20:
            count += more
        out[i] = count + az.i32(half)

    agree(k, N, np.zeros(N, np.int32), INTS)


def test_samplers_of_a_kernel() -> None:
    @az.function
    def at(image, sampler, x, y):  # type: ignore[no-untyped-def]
        return image.sample(sampler, x, y)

    @az.kernel
    def k(out: az.ptr[az.float4], source: az.image[az.f32, 2]) -> None:
        x, y = az.i32(az.global_id(0)), az.i32(az.global_id(1))
        repeated = az.sampler(address="repeat", filter="linear", normalized=True)
        found = source.sample(repeated, x * 0.6, y * 0.3) + source.sample(LINEAR, x * 0.3, y * 0.7)
        out[y * 3 + x] = found + at(source, az.sampler(address="border"), x + 0.5, y + 0.5)

    texels = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    image = context().image((2, 3), az.ImageFormat.of(texels.dtype, 4), kind="2d")
    image.copy_from(texels)
    validate(k.spirv)
    out, simulated = context().zeros(24, np.float32), np.zeros(24, np.float32)
    k[3, 2](out, image)
    k.simulate[3, 2](simulated, image)
    np.testing.assert_allclose(out.copy_to(), simulated, rtol=1e-5)
