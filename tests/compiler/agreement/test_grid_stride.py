"""Grid-stride loops around a whole kernel: the same results, element by element, without the loop."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.compiler import reference
from anyzero.compiler.compiled import Options
from anyzero.compiler.passes import Pass
from anyzero.compiler.pipeline import compile_kernel
from anyzero.compiler.spirv import Module, read
from tests.compiler.native import Loaded

ITEMS = 96
ROOM = 2000


@az.kernel
def counted(out: az.ptr[az.i32], n: az.i32) -> None:
    for i in range(az.global_id(0), n, az.global_size(0)):
        out[i] = out[i] * 3 + az.i32(i)


@az.kernel
def narrow(out: az.ptr[az.i32], n: az.i32) -> None:
    i = az.i32(az.global_id(0))
    while i < n:
        out[i] = out[i] * 3 + i
        i += az.i32(az.global_size(0))


@az.kernel
def at_the_end(out: az.ptr[az.i32], n: az.i32) -> None:
    i = az.i32(az.global_id(0))
    if i < n:
        going = True
        while going:
            out[i] = out[i] * 3 + i
            i += az.i32(az.global_size(0))
            going = i < n


@az.kernel
def wide(out: az.ptr[az.i32], n: az.i32) -> None:
    i = az.i64(az.global_id(0))
    while i < az.i64(n):
        out[i] = out[i] * 3 + az.i32(i)
        i += az.i64(az.global_size(0))


@az.kernel
def branches(out: az.ptr[az.i32], n: az.i32) -> None:
    for i in range(az.global_id(0), n, az.global_size(0)):
        if out[i] % 2 == 0:
            continue
        for k in range(out[i] % 5):
            out[i] += k * az.i32(i)


@az.kernel
def in_order(out: az.ptr[az.i32], n: az.i32) -> None:
    """Each iteration reads the result of the one before."""
    size = az.global_size(0)
    for i in range(az.global_id(0), n, size):
        out[i + size] = out[i] + 1


@az.kernel
def carried(out: az.ptr[az.i32], n: az.i32) -> None:
    total = 0
    for i in range(az.global_id(0), n, az.global_size(0)):
        total += az.i32(i)
        out[i] = total


@az.kernel
def id_inside(out: az.ptr[az.i32], n: az.i32) -> None:
    for i in range(az.global_id(0), n, az.global_size(0)):
        out[i] = az.i32(az.global_id(0))


@az.kernel
def behind(out: az.ptr[az.i32], n: az.i32) -> None:
    for i in range(az.global_id(0), n, az.global_size(0)):
        out[i] = az.i32(i)
    out[ROOM // 2 + az.global_id(0)] += 1


@az.kernel
def leaves(out: az.ptr[az.i32], n: az.i32) -> None:
    for i in range(az.global_id(0), n, az.global_size(0)):
        if out[i] % 7 == 3:
            break
        out[i] += az.i32(i)


@az.kernel
def other_step(out: az.ptr[az.i32], n: az.i32) -> None:
    for i in range(az.global_id(0), n, az.global_size(0) * 2):
        out[i] += az.i32(i)


WITHOUT_LOOP = [counted, narrow, at_the_end, wide, branches, in_order]
OTHERS = [carried, id_inside, behind, leaves, other_step]


@cache
def _module(kernel: Any) -> Module:
    return read(kernel.spirv)


@pytest.mark.parametrize("cpu", ["haswell", ""])
@pytest.mark.parametrize("kernel", [*WITHOUT_LOOP, *OTHERS], ids=lambda each: each.__name__)
def test_given_any_bound_then_every_element_is_done_once_and_in_order(kernel: Any, cpu: str) -> None:
    run = Loaded(compile_kernel(_module(kernel), kernel.__name__, Options(cpu=cpu, level=1)))
    for n in (-5, 0, 1, 50, ITEMS, ITEMS + 1, 700, 960):
        for offset in ((0, 0, 0), (7, 0, 0)):
            first = np.arange(ROOM, dtype=np.int32) % 11
            expected, found = first.copy(), first.copy()
            reference.run(_module(kernel), kernel.__name__, [expected, np.int32(n)], (ITEMS,), (32,), offset)
            for group in ((32,), (40,)):
                found = first.copy()
                run([found, np.int32(n)], (ITEMS,), group, offset)
                assert np.array_equal(found, expected), (n, offset, group)


@pytest.mark.parametrize("kernel", [*WITHOUT_LOOP, *OTHERS], ids=lambda each: each.__name__)
def test_only_loops_around_the_whole_kernel_are_removed(kernel: Any) -> None:
    removed = []

    def observe(done: Pass, unit: Any) -> None:
        if done.name == "grid-stride":
            removed.append(unit.grid_stride is not None)

    compile_kernel(_module(kernel), kernel.__name__, Options(cpu="haswell"), observe=observe)
    assert removed == [kernel in WITHOUT_LOOP]


def test_a_launch_without_its_loop_ends_by_its_arguments() -> None:
    """The engine must not take it for short."""
    code = compile_kernel(_module(counted), "counted", Options())
    assert code.turns == "arguments"
