"""Ids without their upper bits, as clang extends an `int` that is not negative, around the place where they wrap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.compiler.compiled import Options
from anyzero.compiler.pipeline import compile_kernel, form
from anyzero.compiler.spirv import read
from tests.compiler.agreement.isolation import isolated
from tests.compiler.native import Loaded

N = 96
HALF = (1 << 31) - 1


@az.kernel
def alone(out: az.ptr[az.u64], _: az.ptr[az.u64], begin: az.u64) -> None:
    i = az.u64(az.global_id(0))
    out[i - begin] = (i & az.u64(0x7FFFFFFF)) * az.u64(3)


@az.kernel
def in_groups(out: az.ptr[az.u64], places: az.ptr[az.u64], begin: az.u64) -> None:
    i = az.u64(az.global_id(0))
    out[i - begin] = (i & az.u64(0x7FFFFFFF)) * az.u64(3)
    places[i - begin] = az.u64(az.local_id(0))


@az.kernel
def shifted(out: az.ptr[az.u8], given: az.ptr[az.u8], _: az.u64) -> None:
    i = az.u64(az.global_id(0))
    out[i] = given[i & az.u64(0x7FFFFFFF)]


@pytest.mark.parametrize("cpu", ["x86-64-v2", "haswell", ""])
@pytest.mark.parametrize("begin", [0, HALF - 40, HALF - 63, HALF - 2, (1 << 32) - 19])
@pytest.mark.parametrize("kernel", [alone, in_groups], ids=lambda each: each.__name__)
def test_given_ids_that_wrap_inside_of_a_vector_then_each_lane_has_its_own(kernel: Any, begin: int, cpu: str) -> None:
    def found() -> bool:
        out, places = np.zeros(N, np.uint64), np.zeros(N, np.uint64)
        code = compile_kernel(read(kernel.spirv), kernel.__name__, Options(cpu=cpu, level=1))
        Loaded(code)([out, places, np.uint64(begin)], (N,), (N,), (begin, 0, 0))
        ids = np.arange(N, dtype=np.uint64) + np.uint64(begin)
        return bool((out == (ids & np.uint64(HALF)) * np.uint64(3)).all())

    outcome = isolated(found)
    assert not outcome.trouble, outcome.trouble
    assert outcome.value


def test_given_vectors_that_end_where_ids_wrap_then_memory_is_accessed_contiguously() -> None:
    text = form(read(shifted.spirv), "shifted", Options(cpu="x86-64-v4", lanes=16), "ir")
    assert "load i8" not in text
