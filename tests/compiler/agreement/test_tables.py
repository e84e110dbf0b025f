"""Look-ups in tables of bytes and shorts: lane by lane for whole vectors, gathers for the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.compiler import pipeline, reference
from anyzero.compiler.compiled import Options
from anyzero.compiler.spirv import read
from tests.compiler import native


@az.kernel
def byte_by_byte(out: az.ptr[az.u8], table: az.ptr[az.u8], index: az.ptr[az.u8], n: az.i32) -> None:
    i = az.i32(az.global_id(0))
    if i < n:
        out[i] = table[index[i]]


@az.kernel
def short_by_byte(out: az.ptr[az.i16], table: az.ptr[az.i16], index: az.ptr[az.u8], n: az.i32) -> None:
    i = az.i32(az.global_id(0))
    if i < n:
        out[i] = table[index[i]] + az.i16(1)


@az.kernel
def byte_by_int(out: az.ptr[az.u8], table: az.ptr[az.u8], index: az.ptr[az.i32], n: az.i32) -> None:
    """Behind a condition, most lanes of a vector are inactive."""
    i = az.i32(az.global_id(0))
    if i < n and index[i] % 3 == 0:
        out[i] = table[index[i]]


@az.kernel
def twice(out: az.ptr[az.u8], table: az.ptr[az.u8], index: az.ptr[az.u8], n: az.i32) -> None:
    """A look-up of what another one has found."""
    i = az.i32(az.global_id(0))
    if i < n:
        out[i] = table[table[index[i]]]


@az.kernel
def marked(out: az.ptr[az.i32], table: az.ptr[az.u8], index: az.ptr[az.i32], n: az.i32) -> None:
    """The element that is looked up in a loop is an index of a store in another block."""
    i = az.i32(az.global_id(0))
    if i < n:
        for j in range(index[i] % 3):
            found = index[(i + j) % n]
            if table[found] > 100:
                out[found] = n


KERNELS = {
    byte_by_byte: "u1 u1 u1",
    short_by_byte: "i2 i2 u1",
    byte_by_int: "u1 u1 i4",
    twice: "u1 u1 u1",
    marked: "i4 u1 i4",
}
WAYS = [Options(), Options(lanes=16), Options(cpu="haswell"), Options(cpu="x86-64-v2"), Options(quick=True)]


@pytest.mark.parametrize("options", WAYS, ids=["own", "16", "avx2", "sse", "first stage"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda each: each.__name__)
def test_each_element_is_found(kernel: Any, options: Options) -> None:
    module = read(kernel.spirv)
    run = native.Loaded(pipeline.compile_kernel(module, kernel.__name__, options))
    types = KERNELS[kernel].split()
    for n in (1, 70, 500):
        random = np.random.default_rng(n)
        sizes = (max(n, 256), 256, n)
        arrays = [random.integers(0, 250, size).astype(type_) for size, type_ in zip(sizes, types, strict=True)]
        expected = [each.copy() for each in arrays]
        run([*arrays, np.int32(n)], (512,), (64,))
        reference.run(module, kernel.__name__, [*expected, np.int32(n)], (512,), (64,))
        np.testing.assert_array_equal(arrays[0], expected[0])


@pytest.mark.parametrize("cpu", ["haswell", "skylake-avx512"])
def test_indices_are_taken_from_a_register_eight_at_a_time(cpu: str) -> None:
    text = pipeline.form(read(byte_by_byte.spirv), "byte_by_byte", Options(cpu=cpu), "llvm")
    assert 'call i64 asm ""' in text
