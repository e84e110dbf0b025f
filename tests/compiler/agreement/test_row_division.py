"""Ids divided by a uniform number: once for a vector where that is right, else lane by lane."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.compiler import reference
from anyzero.compiler.compiled import Options
from anyzero.compiler.pipeline import compile_kernel, form
from anyzero.compiler.spirv import read
from tests.compiler.agreement.isolation import isolated
from tests.compiler.native import Loaded

N = 96


@az.kernel
def u64(out: az.ptr[az.u64], begin: az.u64, by: az.u64) -> None:
    i = az.u64(az.global_id(0))
    out[2 * (i - begin)] = (i * az.u64(3) - az.u64(30)) // by
    out[2 * (i - begin) + 1] = i % by + i % az.u64(1000)


@az.kernel
def i64(out: az.ptr[az.i64], begin: az.i64, by: az.i64) -> None:
    i = az.i64(az.global_id(0))
    out[2 * (i - begin)] = (i * az.i64(3) - az.i64(30)) // by
    out[2 * (i - begin) + 1] = (i - az.i64(40)) % by


@az.kernel
def u32(out: az.ptr[az.u32], begin: az.u32, by: az.u32) -> None:
    i = az.u32(az.global_id(0))
    out[2 * (i - begin)] = (i * az.u32(3) - az.u32(30)) // by
    out[2 * (i - begin) + 1] = i % by + i % az.u32(1000)


@az.kernel
def i32(out: az.ptr[az.i32], begin: az.i32, by: az.i32) -> None:
    i = az.i32(az.global_id(0))
    out[2 * (i - begin)] = (i * 3 - 30) // by
    out[2 * (i - begin) + 1] = (i - 40) % by


KERNELS = {u64: np.uint64, i64: np.int64, u32: np.uint32, i32: np.int32}
BY = {
    u64: (1, 3, 31, 47, 64, 1000, (1 << 30) - 1, (1 << 31) - 1, 1 << 31, (1 << 63) + 5),
    i64: (1, 3, -7, 47, 64, 1000, -1, (1 << 31) - 1, 1 << 40, -(1 << 63)),
    u32: (1, 3, 31, 47, 64, 1000, (1 << 30) - 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 5),
    i32: (1, 3, -7, 47, 64, 1000, -1, (1 << 31) - 1, -(1 << 31)),
}


@pytest.mark.parametrize("cpu", ["x86-64-v2", ""])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda each: each.__name__)
def test_given_any_divisor_then_quotients_and_remainders_are_right(kernel: Any, cpu: str) -> None:
    type_ = KERNELS[kernel]
    module = read(kernel.spirv)

    def wrong() -> list[tuple[int, int]]:
        run = Loaded(compile_kernel(module, kernel.__name__, Options(cpu=cpu, level=1, lanes=16)))
        found = []
        for by in BY[kernel]:
            for begin in (0, 990, (1 << 31) - 48, (1 << 32) - 48):
                if begin > np.iinfo(type_).max - N:
                    continue
                made, expected = (np.zeros(2 * N, type_) for _ in range(2))
                given = [type_(begin), type_(by)]
                run([made, *given], (N,), (N,), (begin, 0, 0))
                reference.run(module, kernel.__name__, [expected, *given], (N,), (N,), (begin, 0, 0))
                found += [] if (made == expected).all() else [(by, begin)]
        return found

    outcome = isolated(wrong)
    assert not outcome.trouble, outcome.trouble
    assert outcome.value == []


def test_a_vector_takes_one_division() -> None:
    """Another one is there for divisors that are too small or too large."""

    @az.kernel
    def column(out: az.ptr[az.u64], width: az.u64) -> None:
        i = az.u64(az.global_id(0))
        out[i] = i % width

    @az.kernel
    def narrow(out: az.ptr[az.u32], width: az.u32) -> None:
        i = az.u32(az.global_id(0))
        out[i] = i % width

    text = form(read(column.spirv), "column", Options(lanes=16), "ir")
    assert "udiv i64" in text
    assert "udiv i32" in form(read(narrow.spirv), "narrow", Options(lanes=16), "ir")
    chosen = compile_kernel(read(column.spirv), "column", Options())
    assert chosen.lanes > 1
