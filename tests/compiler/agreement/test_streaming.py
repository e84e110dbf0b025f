"""Stores past the caches leave the same in memory as any others. Tests are too small for them, unless the caches are
taken to hold nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from anyzero.compiler.compiled import Options
from benchmarks.kernels.case import Array, Case
from benchmarks.kernels.programs import program
from tests.compiler.agreement.cases import through_compiler
from tests.compiler.agreement.fenced import fenced
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


def placed(arrays: Callable[[], list[Any]], move: int) -> Callable[[], list[Any]]:
    """The same arguments, whose arrays begin so many bytes behind the begin of a line."""

    def moved(array: Array) -> Array:
        room = fenced(np.zeros(array.nbytes + move, np.uint8), at_the_end=False)
        found = room[move:].view(array.dtype).reshape(array.shape)
        found[...] = array
        return found

    return lambda: [moved(each) if isinstance(each, np.ndarray) else each for each in arrays()]


def case(key: str, move: int) -> Case:
    made = program(key).make(key, *SIZES[key])
    return replace(made, arguments=placed(made.arguments, move))


@pytest.mark.parametrize("move", [0, 16])
@pytest.mark.parametrize("key", SIZES)
def test_given_a_large_launch_then_the_results_are_the_same(key: str, move: int) -> None:
    each = case(key, move)

    def mismatches() -> list[str | None]:
        return [each.mismatch(through_compiler(each, way)) for way in WAYS]

    outcome = isolated(mismatches, 100)
    assert not outcome.trouble, outcome.trouble
    assert outcome.value == [None] * len(WAYS)
