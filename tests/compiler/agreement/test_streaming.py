"""Stores past the caches leave the same in memory as any others. Tests are too small for them, unless the caches are
taken to hold nothing.
"""

from __future__ import annotations

from typing import Any

import pytest

from anyzero.compiler.compiled import Options
from benchmarks.kernels.suites import program
from tests.compiler.agreement.cases import through_compiler
from tests.compiler.agreement.isolation import isolated

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


@pytest.mark.parametrize("move", [0, 16])
@pytest.mark.parametrize("key", SIZES)
def test_given_a_large_launch_then_the_results_are_the_same(key: str, move: int) -> None:
    each = program(key).make(key, *SIZES[key])

    def mismatches() -> list[str | None]:
        return [each.mismatch(through_compiler(each, way, move)) for way in WAYS]

    outcome = isolated(mismatches, 100)
    assert not outcome.trouble, outcome.trouble
    assert outcome.value == [None] * len(WAYS)
