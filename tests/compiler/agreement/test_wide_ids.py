"""Ids of 64 bits become floats, whether they fit in 32 bits or not."""

from __future__ import annotations

import numpy as np
import pytest

import anyzero as az
from anyzero.compiler.compiled import Options
from anyzero.compiler.pipeline import compile_kernel, form
from anyzero.compiler.spirv import read
from tests.compiler.agreement.isolation import isolated
from tests.compiler.native import Loaded

N = 64


@az.kernel
def unsigned(out: az.ptr[az.f32], doubles: az.ptr[az.f64], begin: az.u64) -> None:
    i = az.u64(az.global_id(0))
    out[i - begin] = az.f32(i)
    doubles[i - begin] = az.f64(i * az.u64(3))


@az.kernel
def signed(out: az.ptr[az.f32], doubles: az.ptr[az.f64], begin: az.i64) -> None:
    i = az.i64(az.global_id(0))
    out[i - begin] = az.f32(az.i64(40) - i)
    doubles[i - begin] = az.f64(i - az.i64(20))


@pytest.mark.parametrize("cpu", ["x86-64-v2", "haswell", ""])
@pytest.mark.parametrize("begin", [0, (1 << 31) - 96, (1 << 31) - 10, (1 << 32) - 33, (1 << 56) + 99])
def test_given_ids_of_any_size_then_floats_are_rounded_once(begin: int, cpu: str) -> None:
    def found() -> list[bool]:
        same = []
        for kernel, type_ in ((unsigned, np.uint64), (signed, np.int64)):
            ids = np.arange(N).astype(type_) + type_(begin)
            floats, doubles = np.zeros(N, np.float32), np.zeros(N)
            code = compile_kernel(read(kernel.spirv), kernel.__name__, Options(cpu=cpu, level=1))
            Loaded(code)([floats, doubles, type_(begin)], (N,), (N,), (begin, 0, 0))
            if kernel is unsigned:
                same += [floats == ids.astype(np.float32), doubles == (ids * type_(3)).astype(np.float64)]
            else:
                same += [
                    floats == (type_(40) - ids).astype(np.float32),
                    doubles == (ids - type_(20)).astype(np.float64),
                ]
        return [bool(each.all()) for each in same]

    outcome = isolated(found)
    assert not outcome.trouble, outcome.trouble
    assert outcome.value == [True] * 4


def test_only_processors_without_such_a_conversion_go_through_32_bits() -> None:
    def text(cpu: str) -> str:
        return form(read(unsigned.spirv), "unsigned", Options(cpu=cpu, lanes=16), "ir")

    assert "sitofp <16 x i32>" in text("haswell")
    assert "sitofp <16 x i32>" not in text("x86-64-v4")
