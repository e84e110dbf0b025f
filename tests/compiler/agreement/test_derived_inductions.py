"""Several induction variables in a loop with barriers: the same results from the counter alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.compiler import reference
from anyzero.compiler.compiled import Options
from anyzero.compiler.passes import Pass
from anyzero.compiler.pipeline import compile_kernel
from anyzero.compiler.spirv import read
from tests.compiler.native import Loaded

ITEMS = 64


@az.kernel
def tiles(out: az.ptr[az.i32], data: az.ptr[az.i32], n: az.i32, step: az.i32) -> None:
    tile = az.local[az.i32, 16]
    own = az.i32(az.local_id(0))
    at, back, total = az.i32(az.global_id(0)), az.i64(n) * 3, 0
    k = az.i64(5)
    while k < az.i64(n):
        tile[own] = data[at]
        az.barrier()
        total += tile[15 - own] * az.i32(back)
        az.barrier()
        at += step
        back -= 7
        k += 4
    out[az.global_id(0)] = total + at + az.i32(back)


@az.kernel
def changing(out: az.ptr[az.i32], data: az.ptr[az.i32], n: az.i32, step: az.i32) -> None:
    """The second variable advances by what the loop computes."""
    tile = az.local[az.i32, 16]
    own = az.i32(az.local_id(0))
    at, total = az.i32(az.global_id(0)), 0
    k = az.i64(0)
    while k < az.i64(n):
        tile[own] = data[at]
        az.barrier()
        total += tile[15 - own]
        az.barrier()
        at += (az.i32(k) + step) % 3
        k += 1
    out[az.global_id(0)] = total


@pytest.mark.parametrize("cpu", ["haswell", ""])
@pytest.mark.parametrize("kernel", [tiles, changing], ids=lambda each: each.__name__)
def test_given_several_induction_variables_then_results_agree_with_the_interpreter(kernel: Any, cpu: str) -> None:
    module = read(kernel.spirv)
    run = Loaded(compile_kernel(module, kernel.__name__, Options(cpu=cpu, level=1)))
    data = np.random.default_rng(1).integers(-99, 99, 4000).astype(np.int32)
    for n in (0, 5, 6, 9, 40):
        for step in (0, 1, 24):
            found, expected = np.zeros(ITEMS, np.int32), np.zeros(ITEMS, np.int32)
            run([found, data, np.int32(n), np.int32(step)], (ITEMS,), (16,))
            reference.run(module, kernel.__name__, [expected, data, np.int32(n), np.int32(step)], (ITEMS,), (16,))
            assert np.array_equal(found, expected), (n, step)


@pytest.mark.parametrize(("kernel", "left"), [(tiles, 2), (changing, 3)], ids=["tiles", "changing"])
def test_only_the_counter_and_what_follows_from_no_counter_is_carried(kernel: Any, left: int) -> None:
    carried = []

    def observe(done: Pass, unit: Any) -> None:
        if done.name == "derive-inductions":
            (loop,) = unit.flow.loops.all
            carried.append(len(loop.header.phis))

    compile_kernel(read(kernel.spirv), kernel.__name__, Options(), observe=observe)
    assert carried == [left]
