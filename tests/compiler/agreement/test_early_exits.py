"""Bounds checks by which work-items end early: the interior version is the one of the work-items that go on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.compiler import pipeline, reference
from anyzero.compiler.compiled import Options
from anyzero.compiler.passes import Pass
from anyzero.compiler.spirv import read
from tests.compiler.agreement.isolation import isolated
from tests.compiler.native import Loaded

N = 72


@az.kernel
def eliminate(a: az.ptr[az.i32], n: az.i32, k: az.i32) -> None:
    j, i = az.i32(az.global_id(0)), az.i32(az.global_id(1))
    if i > k and j > k and i < n and j < n:
        a[i * n + j] -= a[i * n + k] * a[k * n + j]


@az.kernel
def above(a: az.ptr[az.i32], n: az.i32, k: az.i32) -> None:
    j, i = az.i32(az.global_id(0)), az.i32(az.global_id(1))
    if j < i + k or j >= n or i >= n:
        return
    a[i * n + j] = a[i * n + j] * 3 + 1


@az.kernel
def border(a: az.ptr[az.i32], n: az.i32, k: az.i32) -> None:
    """The work is at the border, where the interior version does nothing."""
    j, i = az.i32(az.global_id(0)), az.i32(az.global_id(1))
    if j < n and i < n and (j == 0 or not i >= k):
        a[i * n + j] += 7


KERNELS = (eliminate, above, border)


@pytest.mark.parametrize("cpu", ["haswell", "x86-64-v2"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda each: each.__name__)
def test_given_bounds_anywhere_then_all_work_items_are_right(kernel: Any, cpu: str) -> None:
    module = read(kernel.spirv)

    def wrong() -> list[tuple[int, int]]:
        run = Loaded(pipeline.compile_kernel(module, kernel.__name__, Options(cpu=cpu, level=1)))
        found = []
        for n, k in ((N, 0), (N, 5), (N - 3, 33), (N - 8, N), (3, 1)):
            made = np.random.default_rng(n).integers(-9, 9, n * n, np.int32)
            expected = made.copy()
            # Two work-items read what a third one writes in no launch: row and column k are left as they are.
            run([made, np.int32(n), np.int32(k)], (N, N), (8, 8))
            reference.run(module, kernel.__name__, [expected, np.int32(n), np.int32(k)], (N, N), (8, 8))
            found += [] if (made == expected).all() else [(n, k)]
        return found

    outcome = isolated(wrong)
    assert not outcome.trouble, outcome.trouble
    assert outcome.value == []


def _counted(kernel: Any) -> dict[str, tuple[int, int]]:
    """Stores and comparisons of each version."""
    found: dict[str, tuple[int, int]] = {}

    def observe(done: Pass, unit: Any) -> None:
        if done.name == "streaming-stores":
            names = [op.name for op in unit.body.ops]
            found[unit.name] = names.count("store"), names.count("icmp")

    pipeline.compile_kernel(read(kernel.spirv), kernel.__name__, Options(cpu="haswell", level=1), observe=observe)
    return found


@pytest.mark.parametrize("kernel", [eliminate, above], ids=lambda each: each.__name__)
def test_given_an_id_above_an_argument_then_the_interior_version_does_the_work(kernel: Any) -> None:
    found = _counted(kernel)
    assert found["general"][1] > 2
    assert found["interior"] == (1, 0)
