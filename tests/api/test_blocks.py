"""Kernels that do not know their groups run in blocks that the engine chooses: each work-item once, in any groups."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import anyzero as az
from tests.compiler.assembler import assemble
from tests.compiler.samples import PROLOGUE, TYPES

COUNT = assemble(
    f"""
    {PROLOGUE}
    OpEntryPoint Kernel %main "count" %number
    OpDecorate %number BuiltIn GlobalLinearId
    {TYPES}
    %global_i64 = OpTypePointer CrossWorkgroup %i64
    %input_i64 = OpTypePointer Input %i64
    %number = OpVariable %input_i64 Input
    %one = OpConstant %i64 1
    %main_type = OpTypeFunction %void %global_i64
    %main = OpFunction %void None %main_type
    %out = OpFunctionParameter %global_i64
    %entry = OpLabel
    %at = OpLoad %i64 %number
    %place = OpInBoundsPtrAccessChain %global_i64 %out %at
    %before = OpLoad %i64 %place
    %after = OpIAdd %i64 %before %one
    OpStore %place %after
    OpReturn
    OpFunctionEnd
    """,
    (1, 6),
)


@st.composite
def launches(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Groups, and how many of them; many rows, long rows and odd sizes among them."""
    group = tuple(draw(st.lists(st.sampled_from([1, 2, 3, 7, 10]), min_size=1, max_size=3)))
    most = (400, 40, 5)
    count = tuple(draw(st.integers(1, limit)) for limit in most[: len(group)])
    return group, count


@settings(max_examples=25, deadline=None)
@given(launches())
def test_every_work_item_runs_once(launch: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    group, count = launch
    size = tuple(each * n for each, n in zip(group, count, strict=True))
    with az.device().context() as context:
        kernel = context.module(COUNT)["count"]
        seen = context.zeros(int(np.prod(size)), np.int64)
        # Once more when it is known how long a work-item takes, which the size of blocks depends on.
        for _ in range(3):
            kernel[size](seen, group=group)
        assert (seen.copy_to() == 3).all()
