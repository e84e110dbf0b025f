"""Atomic minima and maxima: memory that is beyond the value is only read, unless the operation orders others."""

from __future__ import annotations

import numpy as np
import pytest

from anyzero.compiler import pipeline
from anyzero.compiler.compiled import Options
from anyzero.compiler.reference import run
from anyzero.compiler.spirv import Module
from tests.compiler.agreement.isolation import isolated
from tests.compiler.native import Loaded
from tests.compiler.reference.kernels import kernel

ITEMS = 96
PLACES = 8
KINDS = {"SMin": "i4", "SMax": "i8", "UMin": "u8", "UMax": "u4", "FMinEXT": "f4", "FMaxEXT": "f8"}
RELAXED, ACQUIRE_RELEASE = "%c0", "%both"


def _module(kind: str, order: str) -> Module:
    """Each work-item keeps what it found; some of them share an address, and the first eight of them all."""
    dtype = np.dtype(KINDS[kind])
    type_ = f"{'f' if dtype.kind == 'f' else 'i'}{dtype.itemsize * 8}"
    return kernel(
        f"""
        %from = OpInBoundsPtrAccessChain %to_element %p0 %i
        %given = OpLoad %{type_} %from
        %place = OpBitwiseAnd %i64 %i %l7
        %at = OpInBoundsPtrAccessChain %to_element %p1 %place
        %found = OpAtomic{kind} %{type_} %at %c1 {order} %given
        %kept = OpInBoundsPtrAccessChain %to_element %p2 %i
        OpStore %kept %found""",
        "%to_element %to_element %to_element",
        f"%to_element = OpTypePointer CrossWorkgroup %{type_}\n%l7 = OpConstant %i64 7\n%both = OpConstant %i32 8",
        "OpCapability AtomicFloat32MinMaxEXT\nOpCapability AtomicFloat64MinMaxEXT\nOpCapability Int64Atomics",
    )


@pytest.mark.parametrize("lanes", [1, 8, 16])
@pytest.mark.parametrize("kind", KINDS)
def test_given_any_values_then_memory_and_results_are_the_interpreters(kind: str, lanes: int) -> None:
    module = _module(kind, RELAXED)
    dtype = np.dtype(KINDS[kind])

    def wrong() -> list[str]:
        random = np.random.default_rng(lanes)
        given = random.integers(0, 99, ITEMS).astype(dtype)
        if dtype.kind == "f":
            given[::5] = np.nan
        begin = np.full(PLACES, 50, dtype)
        begin[::3] = np.nan if dtype.kind == "f" else 3
        results = [(given.copy(), begin.copy(), np.zeros(ITEMS, dtype)) for _ in range(2)]
        run(module, "main", list(results[0]), ITEMS, ITEMS)
        loaded = Loaded(pipeline.compile_kernel(module, "main", Options(level=1, lanes=lanes)))
        loaded(list(results[1]), (ITEMS,), (ITEMS,))
        names = ("given", "memory", "found")
        return [
            name
            for name, one, other in zip(names, *results, strict=True)
            if not np.array_equal(one, other, dtype.kind == "f")
        ]

    outcome = isolated(wrong)
    assert not outcome.trouble, outcome.trouble
    assert outcome.value == []


def test_given_an_operation_that_orders_others_then_it_always_writes() -> None:
    way = Options(level=1)
    assert "load atomic" in pipeline.form(_module("SMin", RELAXED), "main", way, "ir")
    assert "load atomic" not in pipeline.form(_module("SMin", ACQUIRE_RELEASE), "main", way, "ir")
