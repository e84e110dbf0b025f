"""Stores past the caches leave the same in memory as any others. Tests are too small for them, unless the caches are
taken to hold nothing.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.compiler import pipeline
from anyzero.compiler.compiled import Options
from anyzero.compiler.spirv import read
from benchmarks.kernels.suites import program
from tests.compiler import native
from tests.compiler.agreement.cases import compiled, through_code
from tests.compiler.agreement.isolation import apart

SIZES: dict[str, tuple[Any, ...]] = {
    "triad": (1000,),
    "hash": (1000,),
    "black_scholes_f64": (300,),
    "mandelbrot": (64, 20),
    "convolve": (64,),
    "transpose": (64, 48),
    "bilinear_uchar4": (32,),
    "bilinear_float4": (32,),
}
WAYS = [
    Options(level=1, lanes=lanes, cache_bytes=0, cpu=cpu, features=features)
    for lanes, cpu, features in [(None, "", ""), (16, "", ""), (8, "haswell", "+avx,+avx2,+fma"), (16, "x86-64", "")]
]


MOVES = [0, 16]
"""Bytes from the begin of a line of the cache to where the buffers begin."""


def _mismatches(key: str) -> list[str | None]:
    each = program(key).make(key, *SIZES[key])
    codes = [compiled(each, way) for way in WAYS]
    return [each.mismatch(through_code(each, code, move)) for code in codes for move in MOVES]


@pytest.mark.parametrize("key", SIZES)
def test_given_a_large_launch_then_the_results_are_the_same(key: str) -> None:
    outcome = apart(_mismatches, key)
    assert not outcome.trouble, outcome.trouble
    assert outcome.value == [None] * len(WAYS) * len(MOVES)


@az.kernel
def turned(out: az.ptr[az.f32], given: az.ptr[az.f32], n: az.i32) -> None:
    """Three components of each element: a vector of them has a length that is no power of two."""
    i = az.i32(az.global_id(0))
    if i < n:
        x, y, z = given[3 * i], given[3 * i + 1], given[3 * i + 2]
        out[3 * i] = z
        out[3 * i + 1] = x + y
        out[3 * i + 2] = y


@az.kernel
def turned_bytes(out: az.ptr[az.u8], given: az.ptr[az.u8], n: az.i32) -> None:
    i = az.i32(az.global_id(0))
    if i < n:
        x, y, z = given[3 * i], given[3 * i + 1], given[3 * i + 2]
        out[3 * i] = z
        out[3 * i + 1] = x + y
        out[3 * i + 2] = y


@pytest.mark.parametrize("cpu", ["x86-64-v2", "haswell", "skylake-avx512"])
@pytest.mark.parametrize(("kernel", "type_"), [(turned, np.float32), (turned_bytes, np.uint8)], ids=["floats", "bytes"])
def test_three_components_are_stored_as_vectors(kernel: Any, type_: Any, cpu: str) -> None:
    """LLVM takes a vector of 96 elements apart where it lives longer than its block."""
    options = Options(level=1, cache_bytes=0, cpu=cpu)
    module = read(kernel.spirv)
    text = pipeline.form(module, kernel.__name__, options, "llvm")
    lengths = {int(each) for each in re.findall(r"store <(\d+) x .*!nontemporal", text)}
    assert bool(lengths) == (type_ is np.float32 and cpu != "skylake-avx512")
    assert all(each & (each - 1) == 0 for each in lengths)
    run = native.Loaded(pipeline.compile_kernel(module, kernel.__name__, options))
    for n in (1, 100, 1000):
        given = np.random.default_rng(n).integers(0, 99, (n, 3)).astype(type_)
        memory = np.zeros(3 * n * given.itemsize + 128, np.uint8)
        start = -memory.ctypes.data % 64
        out = memory[start : start + given.nbytes].view(type_).reshape(n, 3)
        run([out, given, np.int32(n)], (n + 7,), (n + 7,))
        np.testing.assert_array_equal(out, np.stack([given[:, 2], given[:, 0] + given[:, 1], given[:, 1]], axis=1))
