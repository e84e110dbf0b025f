"""Stores under masks that fill some registers of a vector, leave out others, and split one."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.compiler import reference
from anyzero.compiler.compiled import Options
from anyzero.compiler.pipeline import compile_kernel, form
from anyzero.compiler.spirv import Module, read
from tests.compiler.agreement.isolation import isolated
from tests.compiler.native import Loaded

N = 96


@az.kernel
def bytes_(out: az.ptr[az.i8], data: az.ptr[az.i8], first: az.i32, last: az.i32) -> None:
    i = az.global_id(0)
    if i >= first and i <= last and i != 40:
        out[i] = data[i] + data[i + 1]


@az.kernel
def floats(out: az.ptr[az.f32], data: az.ptr[az.f32], first: az.i32, last: az.i32) -> None:
    i = az.global_id(0)
    if i >= first and i <= last and i != 40:
        out[i] = data[i] + data[i + 1]


@az.kernel
def longs(out: az.ptr[az.i64], data: az.ptr[az.i64], first: az.i32, last: az.i32) -> None:
    i = az.global_id(0)
    if i >= first and i <= last and i != 40:
        out[i] = data[i] + data[i + 1]


@az.kernel
def pairs(out: az.ptr[az.float2], data: az.ptr[az.f32], first: az.i32, last: az.i32) -> None:
    i = az.global_id(0)
    if i >= first and i <= last and i != 40:
        out[i] = az.float2(data[i], data[i + 1])


KERNELS = {bytes_: np.int8, floats: np.float32, longs: np.int64, pairs: np.float32}


@cache
def _module(kernel: Any) -> Module:
    return read(kernel.spirv)


@pytest.mark.parametrize("cpu", ["x86-64-v2", "haswell", ""])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda each: each.__name__)
def test_given_any_range_of_lanes_then_only_those_are_stored(kernel: Any, cpu: str) -> None:
    code = compile_kernel(_module(kernel), kernel.__name__, Options(cpu=cpu, level=1, lanes=32))
    data = np.arange(N + 1).astype(KERNELS[kernel])

    def wrong() -> list[tuple[int, int]]:
        run = Loaded(code)
        found = []
        for first, last in [(0, 95), (1, 94), (7, 8), (8, 15), (3, 70), (31, 64), (50, 20), (90, 200)]:
            out, expected = (np.full(2 * N, -1, KERNELS[kernel]) for _ in range(2))
            bounds = np.int32(first), np.int32(last)
            run([out, data, *bounds], (N,), (N,))
            reference.run(_module(kernel), kernel.__name__, [expected, data, *bounds], (N,), (N,))
            found += [] if (out == expected).all() else [(first, last)]
        return found

    outcome = isolated(wrong)
    assert not outcome.trouble, outcome.trouble
    assert outcome.value == []


def _stores(kernel: Any, cpu: str) -> set[str]:
    text = form(_module(kernel), kernel.__name__, Options(cpu=cpu, lanes=32), "ir")
    return set(re.findall(r"call void @llvm.masked.store.(\w+)", text))


def test_given_no_registers_for_masks_then_each_register_may_be_stored_whole() -> None:
    # The interior version stores whole vectors.
    assert _stores(floats, "haswell") == {"v8f32", "v32f32"}
    assert _stores(floats, "x86-64-v2") == {"v4f32", "v32f32"}
    assert _stores(floats, "x86-64-v4") == {"v32f32"}


def test_given_data_that_decides_then_there_are_no_branches_that_cannot_be_predicted() -> None:
    @az.kernel
    def positive(out: az.ptr[az.f32], data: az.ptr[az.f32]) -> None:
        i = az.global_id(0)
        if data[i] > 0:
            out[i] = data[i]

    assert _stores(positive, "haswell") == {"v32f32"}


@az.kernel
def margin(out: az.ptr[az.i32], data: az.ptr[az.i32], first: az.i32, last: az.i32) -> None:
    """Shorts of an `int`, by one lane."""
    kept = az.local[az.i16, 17]
    lane = az.i32(az.local_id(0))
    i = az.i32(az.global_id(0))
    kept[lane + 1] = az.i16(data[i])
    if lane < 1:
        kept[lane] = az.i16(data[min(max(i - 1, first), last)])
    az.barrier()
    out[i] = az.i32(kept[lane]) - 3 * az.i32(kept[lane + 1])


@pytest.mark.parametrize("cpu", ["", "haswell", "x86-64-v2"])
def test_given_a_single_lane_then_what_lies_behind_is_kept(cpu: str) -> None:
    data = np.random.default_rng(1).integers(-9999, 9999, 32, np.int32)

    def wrong() -> list[int]:
        run = Loaded(compile_kernel(_module(margin), "margin", Options(cpu=cpu, lanes=16, group=(16, 1, 1))))
        out, expected = np.zeros(32, np.int32), np.zeros(32, np.int32)
        given = [data, np.int32(0), np.int32(31)]
        run([out, *given], (32,), (16,))
        reference.run(_module(margin), "margin", [expected, *given], (32,), (16,))
        return list(np.flatnonzero(out != expected))

    outcome = isolated(wrong)
    assert not outcome.trouble, outcome.trouble
    assert outcome.value == []
