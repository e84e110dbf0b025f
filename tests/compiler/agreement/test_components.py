"""Values that are computed alike from all components of neighbouring elements stay in the order of memory."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.compiler import pipeline, reference
from anyzero.compiler.compiled import Options
from anyzero.compiler.spirv import read
from tests.compiler import native

Pixel = az.vector[az.u8, 4]


@az.kernel
def products(out: az.ptr[az.float4], a: az.ptr[az.float4], b: az.ptr[az.float4], s: az.ptr[az.f32], f: az.f32) -> None:
    i = az.global_id(0)
    out[i] = a[i] * b[i] - a[i] / (b[i] + az.float4(2.0))


@az.kernel
def scaled(out: az.ptr[az.float4], a: az.ptr[az.float4], b: az.ptr[az.float4], s: az.ptr[az.f32], f: az.f32) -> None:
    """A number of each lane, one of all lanes, and one for each component."""
    i = az.global_id(0)
    out[i] = a[i] * s[i] + b[i] * f - az.float4(1.0, 2.0, f, -4.0)


@az.kernel
def turned(out: az.ptr[az.float4], a: az.ptr[az.float4], b: az.ptr[az.float4], s: az.ptr[az.f32], f: az.f32) -> None:
    """Components in another order."""
    i = az.global_id(0)
    x, y = a[i], b[i]
    out[i] = az.float4(x.y * y.x, x.x * y.x, x.w * y.z, x.z * y.z)


@az.kernel
def three(out: az.ptr[az.f32], a: az.ptr[az.f32], b: az.ptr[az.f32], s: az.ptr[az.f32], f: az.f32) -> None:
    """Scalars that become one access."""
    i = az.i32(az.global_id(0))
    x, y, z = a[3 * i] + f, a[3 * i + 1] + f, a[3 * i + 2] + f
    out[3 * i], out[3 * i + 1], out[3 * i + 2] = x, y, z


@az.kernel
def behind(out: az.ptr[az.float4], a: az.ptr[az.float4], b: az.ptr[az.float4], s: az.ptr[az.f32], f: az.f32) -> None:
    """Under a mask, and with a load in another block."""
    i = az.global_id(0)
    x = a[i]
    if s[i] > 0.5:
        out[i] = x + b[i]


@az.kernel
def unlike(out: az.ptr[az.float4], a: az.ptr[az.float4], b: az.ptr[az.float4], s: az.ptr[az.f32], f: az.f32) -> None:
    i = az.global_id(0)
    x, y = a[i], b[i]
    out[i] = az.float4(x.x + y.x, x.y - y.y, x.z * y.z, x.w)


@az.kernel
def pixels(out: az.ptr[Pixel], a: az.ptr[Pixel], b: az.ptr[Pixel], s: az.ptr[az.f32], f: az.f32) -> None:
    i = az.global_id(0)
    out[i] = (a[i] & b[i]) ^ Pixel(15)


KERNELS = (products, scaled, turned, three, behind, unlike, pixels)
WAYS = [Options(), Options(lanes=4), Options(cpu="haswell"), Options(cpu="x86-64-v2")]


@pytest.mark.parametrize("options", WAYS, ids=["own", "4", "avx2", "sse"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda each: each.__name__)
def test_results_are_those_of_the_interpreter(kernel: Any, options: Options) -> None:
    module = read(kernel.spirv)
    run = native.Loaded(pipeline.compile_kernel(module, kernel.__name__, options))
    for n in (1, 37, 200):
        random = np.random.default_rng(n)
        if kernel is pixels:
            arrays = [random.integers(0, 256, 4 * n).astype(np.uint8) for _ in range(3)]
        else:
            arrays = [random.integers(1, 99, 4 * n).astype(np.float32) for _ in range(3)]
        arrays.append(random.random(n, np.float32))
        expected = [each.copy() for each in arrays]
        run([*arrays, np.float32(0.3)], (n,), (n,))
        reference.run(module, kernel.__name__, [*expected, np.float32(0.3)], (n,), (n,))
        np.testing.assert_allclose(arrays[0], expected[0], rtol=1e-6, atol=1e-6)


ALIKE = {products: True, scaled: True, turned: True, three: True, unlike: False}


@pytest.mark.parametrize("kernel", ALIKE, ids=lambda each: each.__name__)
def test_components_are_not_taken_apart(kernel: Any) -> None:
    """Taken apart, a component's lanes are every third or fourth element of the load."""
    text = pipeline.form(read(kernel.spirv), kernel.__name__, Options(cpu="haswell", lanes=8), "llvm")
    assert (re.search(r"<8 x i32> <i32 0, i32 [34], i32 [68]", text) is None) == ALIKE[kernel]
