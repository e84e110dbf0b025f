"""Stores that one lane of each sub-group does, as for the result of a reduction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.compiler import pipeline, reference
from anyzero.compiler.compiled import Options
from anyzero.compiler.spirv import read
from tests.compiler.agreement.isolation import isolated
from tests.compiler.native import Loaded

LANES = 8
WIDTH = 40
"""Of a group: five sub-groups."""


@az.kernel
def total(out: az.ptr[az.i32], given: az.ptr[az.i32], n: az.i32) -> None:
    i = az.i32(az.global_id(0))
    found = az.sub_group_sum(given[i])
    if az.sub_group_local_id() == 0:
        out[i] = found


@az.kernel
def fourth(out: az.ptr[az.i32], given: az.ptr[az.i32], n: az.i32) -> None:
    """The value differs between lanes, and so does the address; the last sub-group may not have the lane."""
    i = az.i32(az.global_id(0))
    if i < n:
        at = given[i] % 16 + i
        if az.sub_group_local_id() == 3:
            out[at] = given[i] - i


@az.kernel
def last_of_four(out: az.ptr[az.i32], given: az.ptr[az.i32], n: az.i32) -> None:
    i = az.i32(az.global_id(0))
    lane = az.i32(az.sub_group_local_id())
    for j in range(given[i] % 3):
        if lane < 4:
            more = given[i + j] * i
            if lane > 2:
                out[i] += more


@az.kernel
def two_lanes(out: az.ptr[az.i32], given: az.ptr[az.i32], n: az.i32) -> None:
    i = az.i32(az.global_id(0))
    if az.sub_group_local_id() % az.u32(4) == 1:
        out[i] = given[i]


KERNELS = {total: False, fourth: False, last_of_four: False, two_lanes: True}
"""With whether there is a scatter, or a store under a mask."""


@pytest.mark.parametrize("cpu", ["haswell", "skylake-avx512", "x86-64-v2"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda each: each.__name__)
def test_given_a_store_of_one_lane_then_it_needs_no_scatter(kernel: Any, cpu: str) -> None:
    module = read(kernel.spirv)
    way = Options(cpu=cpu, lanes=LANES, level=1)
    text = pipeline.form(module, kernel.__name__, way, "ir")
    assert ("llvm.masked.scatter" in text or "llvm.masked.store" in text) == KERNELS[kernel]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda each: each.__name__)
def test_given_a_store_of_one_lane_then_memory_is_as_the_interpreter_leaves_it(kernel: Any) -> None:
    module = read(kernel.spirv)

    def wrong() -> list[int]:
        loaded = Loaded(pipeline.compile_kernel(module, kernel.__name__, Options(lanes=LANES, level=1)))
        found = []
        for groups in (1, 3):
            size = groups * WIDTH
            given = np.random.default_rng(groups).integers(0, 99, size + 2, np.int32)
            results = [np.zeros(size + 16, np.int32) for _ in range(2)]
            loaded([results[0], given, np.int32(size - 4)], (size,), (WIDTH,))
            arguments = [results[1], given, np.int32(size - 4)]
            reference.run(module, kernel.__name__, arguments, (size,), (WIDTH,), (0, 0, 0), LANES)
            found += [size] if (results[0] != results[1]).any() else []
        return found

    outcome = isolated(wrong)
    assert not outcome.trouble, outcome.trouble
    assert outcome.value == []
