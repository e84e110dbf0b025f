"""Atomic operations: what was there, and what is there then."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from anyzero.compiler.reference import run
from tests.compiler.reference.kernels import kernel

OLD, NEW = 0xFFFFFFF0, 5


@pytest.mark.parametrize(
    ("name", "after"),
    [
        ("Exchange", NEW),
        ("IAdd", (OLD + NEW) & 0xFFFFFFFF),
        ("ISub", OLD - NEW),
        ("SMin", OLD),
        ("SMax", NEW),
        ("UMin", NEW),
        ("UMax", OLD),
        ("And", OLD & NEW),
        ("Or", OLD | NEW),
        ("Xor", OLD ^ NEW),
    ],
)
def test_read_modify_write(name: str, after: int) -> None:
    body = f"""
        %old = OpAtomic{name} %i32 %p0 %c1 %c0 %p1
        OpStore %p2 %old"""
    value, old = np.array([OLD], np.uint32), np.zeros(1, np.uint32)
    run(kernel(body, "%global_i32 %i32 %global_i32"), "main", [value, NEW, old], 1)
    assert (old[0], value[0]) == (OLD, after)


@pytest.mark.parametrize(("name", "after"), [("IIncrement", 0), ("IDecrement", 0xFFFFFFFE)])
def test_steps(name: str, after: int) -> None:
    value = np.array([0xFFFFFFFF], np.uint32)
    run(kernel(f"%old = OpAtomic{name} %i32 %p0 %c1 %c0", "%global_i32"), "main", [value], 1)
    assert value[0] == after


def test_load_and_store() -> None:
    body = """
        %v = OpAtomicLoad %f32 %p0 %c1 %c0
        %w = OpFAdd %f32 %v %half
        OpAtomicStore %p0 %c1 %c0 %w"""
    value = np.array([1.5], np.float32)
    run(kernel(body, "%global_f32"), "main", [value], 1)
    assert value[0] == 2.0


@pytest.mark.parametrize("name", ["CompareExchange", "CompareExchangeWeak"])
def test_compare_exchange(name: str) -> None:
    body = f"""
        %to = OpInBoundsPtrAccessChain %global_i32 %p0 %i
        %old = OpAtomic{name} %i32 %to %c1 %c0 %c0 %c7 %c3"""
    value = np.array([3, 4], np.uint32)
    run(kernel(body, "%global_i32"), "main", [value], 2)
    assert value.tolist() == [7, 4]


def test_floats_are_compared_as_bits() -> None:
    body = """
        %to = OpInBoundsPtrAccessChain %global_f32 %p0 %i
        %old = OpAtomicCompareExchange %f32 %to %c1 %c0 %c0 %half %p1"""
    value = np.array([0.0, -0.0, 1.0], np.float32)
    run(kernel(body, "%global_f32 %f32"), "main", [value, 0.0], 3)
    assert value.tolist() == [0.5, 0.0, 1.0]
    value = np.array([np.nan], np.float32)
    run(kernel(body, "%global_f32 %f32"), "main", [value, np.float32(np.nan)], 1)
    assert value.tolist() == [0.5]


@pytest.mark.parametrize(("name", "expected"), [("FAdd", 6.0), ("FMin", 0.0), ("FMax", 3.0)])
def test_floats(name: str, expected: float) -> None:
    body = f"""
        %x = OpConvertUToF %f32 %i
        %old = OpAtomic{name}EXT %f32 %p0 %c1 %c0 %x"""
    start: Any = {"FAdd": 0.0, "FMin": np.nan, "FMax": -np.inf}[name]
    value = np.array([start], np.float32)
    run(kernel(body, "%global_f32"), "main", [value], 4)
    assert value[0] == expected


def test_flags() -> None:
    body = """
        %first = OpAtomicFlagTestAndSet %bool %p0 %c1 %c0
        %second = OpAtomicFlagTestAndSet %bool %p0 %c1 %c0
        OpAtomicFlagClear %p0 %c1 %c0
        OpMemoryBarrier %c1 %c0
        %x = OpSelect %i32 %first %c1 %c0
        %y = OpSelect %i32 %second %c2 %c0
        %sum = OpIAdd %i32 %x %y
        OpStore %p1 %sum"""
    flag, out = np.zeros(1, np.uint32), np.zeros(1, np.uint32)
    run(kernel(body, "%global_i32 %global_i32"), "main", [flag, out], 1)
    assert (flag[0], out[0]) == (0, 2)


def test_everybody_counts() -> None:
    body = """
        %old = OpAtomicIIncrement %i32 %p0 %c1 %c0
        %to = OpInBoundsPtrAccessChain %global_i32 %p1 %i
        OpStore %to %old"""
    count, out = np.zeros(1, np.uint32), np.zeros(100, np.uint32)
    run(kernel(body, "%global_i32 %global_i32"), "main", [count, out], 100)
    assert count[0] == 100
    assert sorted(out) == list(range(100))
