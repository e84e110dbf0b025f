"""Shuffles by numbers that are known at run time, of every type and length, compiled and interpreted."""

from __future__ import annotations

import numpy as np
import pytest

from anyzero.compiler import pipeline
from anyzero.compiler.compiled import Options
from anyzero.compiler.reference import run
from tests.compiler.agreement.isolation import isolated
from tests.compiler.native import Loaded
from tests.compiler.reference.kernels import kernel

ITEMS = 64
TYPES = {"i8": "u1", "i16": "u2", "i32": "u4", "i64": "u8", "f16": "f2", "f32": "f4", "f64": "f8"}
KINDS = ("ShuffleXor", "ShuffleUp", "ShuffleDown")
CAPABILITIES = "OpCapability GroupNonUniformShuffle\nOpCapability GroupNonUniformShuffleRelative"


def _wrong(type_: str, kind: str, lanes: int, cpu: str) -> bool:
    """Every work-item has a number of its own. None leads out of the sub-group, where results are undefined."""
    module = kernel(
        f"""
        %from = OpInBoundsPtrAccessChain %to_given %p0 %i
        %given = OpLoad %{type_} %from
        %at = OpInBoundsPtrAccessChain %to_i32 %p1 %i
        %place = OpLoad %i32 %at
        %r = OpGroupNonUniform{kind} %{type_} %c3 %given %place
        %to = OpInBoundsPtrAccessChain %to_given %p2 %i
        OpStore %to %r""",
        "%to_given %to_i32 %to_given",
        f"%to_given = OpTypePointer CrossWorkgroup %{type_}\n%to_i32 = OpTypePointer CrossWorkgroup %i32",
        CAPABILITIES,
    )
    random = np.random.default_rng(lanes)
    lane = np.arange(ITEMS) % lanes
    most = {"ShuffleUp": lane, "ShuffleDown": lanes - 1 - lane}.get(kind, np.full(ITEMS, lanes - 1))
    places = random.integers(0, most + 1).astype(np.uint32)
    given = random.integers(0, 250, ITEMS).astype(TYPES[type_])
    results = [np.zeros_like(given) for _ in range(2)]
    run(module, "main", [given, places, results[0]], ITEMS, ITEMS, (0, 0, 0), lanes)
    loaded = Loaded(pipeline.compile_kernel(module, "main", Options(cpu=cpu, level=1, lanes=lanes)))
    loaded([given, places, results[1]], (ITEMS,), (ITEMS,))
    return bool((results[0] != results[1]).any())


WAYS = [
    *((lanes, cpu) for lanes in (4, 8, 16, 32) for cpu in ("", "haswell", "x86-64-v2")),
    (2, ""),
    (64, ""),
]


@pytest.mark.parametrize(("lanes", "cpu"), WAYS)
def test_given_any_lane_of_a_sub_group_then_its_value_is_found(lanes: int, cpu: str) -> None:
    tried = [(type_, "Shuffle") for type_ in TYPES] + [("i32", kind) for kind in KINDS]

    def wrong() -> list[tuple[str, str]]:
        return [(type_, kind) for type_, kind in tried if _wrong(type_, kind, lanes, cpu)]

    outcome = isolated(wrong)
    assert not outcome.trouble, outcome.trouble
    assert outcome.value == []


@pytest.mark.parametrize("cpu", ["skylake-avx512", "haswell"])
def test_given_lanes_of_a_register_then_one_instruction_permutes_them(cpu: str) -> None:
    module = kernel(
        """
        %from = OpInBoundsPtrAccessChain %to_f32 %p0 %i
        %given = OpLoad %f32 %from
        %r = OpGroupNonUniformShuffleXor %f32 %c3 %given %p1
        OpStore %from %r""",
        "%to_f32 %i32",
        "%to_f32 = OpTypePointer CrossWorkgroup %f32",
        CAPABILITIES,
    )
    assert "vperm" in pipeline.form(module, "main", Options(cpu=cpu, level=1), "asm")
