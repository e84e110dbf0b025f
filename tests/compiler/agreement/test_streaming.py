"""Stores past the caches leave the same in memory as any others. Tests are too small for them, unless the caches are
taken to hold nothing.
"""

from __future__ import annotations

from typing import Any

import pytest

from anyzero.compiler.compiled import Options
from benchmarks.kernels.suites import program
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
