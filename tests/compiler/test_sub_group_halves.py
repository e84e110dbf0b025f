"""Sub-groups of 16 whose lanes only speak to their half, which run as two vectors of 8."""

from __future__ import annotations

import numpy as np
import pytest

from anyzero.compiler import pipeline
from anyzero.compiler.compiled import Options
from anyzero.compiler.reference import run
from tests.compiler.native import Loaded
from tests.compiler.reference.kernels import kernel

PLACES = {
    "divided": "%part = OpSDiv %i32 %lane %n8\n%start = OpIMul %i32 %part %n8",
    "shifted": "%part = OpShiftRightLogical %i32 %lane %c3\n%start = OpShiftLeftLogical %i32 %part %c3",
    "cut off": "%start = OpBitwiseAnd %i32 %lane %not7",
    "taken away": "%part = OpUMod %i32 %lane %n8\n%start = OpISub %i32 %lane %part",
}
BODY = """
    %gy = OpCompositeExtract %i64 %ids 1
    %all = OpLoad %v3i64 %sizes
    %width = OpCompositeExtract %i64 %all 0
    %rows = OpIMul %i64 %gy %width
    %number = OpIAdd %i64 %rows %i
    %x = OpUConvert %i32 %number
    %lane = OpLoad %i32 %lane_id
    %group = OpLoad %i32 %group_number
    %groups = OpLoad %i32 %group_count
    {half}
    %place = OpIAdd %i32 %start %{by}
    %first = OpSubgroupShuffleINTEL %i32 %x %start
    %other = OpSubgroupShuffleINTEL %i32 %x %place
    %turned = OpSubgroupShuffleXorINTEL %i32 %x %c3
    %tripled = OpIMul %i32 %first %c3
    %sum = OpIAdd %i32 %tripled %other
    %sum2 = OpIMul %i32 %sum %c3
    %sum3 = OpIAdd %i32 %sum2 %turned
    %sum4 = OpIMul %i32 %sum3 %n100
    %sum5 = OpIAdd %i32 %sum4 %lane
    %sum6 = OpIMul %i32 %sum5 %n100
    %sum7 = OpIAdd %i32 %sum6 %group
    %sum8 = OpIMul %i32 %sum7 %n100
    %sum9 = OpIAdd %i32 %sum8 %groups
    %to = OpInBoundsPtrAccessChain %global_i32 %p0 %number
    OpStore %to %sum9"""
DECLARATIONS = """
    %n8 = OpConstant %i32 8
    %n5 = OpConstant %i32 5
    %n9 = OpConstant %i32 9
    %n100 = OpConstant %i32 100
    %not7 = OpConstant %i32 0xfffffff8
    %input_i32 = OpTypePointer Input %i32
    %sizes = OpVariable %input_v3i64 Input
    %lane_id = OpVariable %input_i32 Input
    %group_number = OpVariable %input_i32 Input
    %group_count = OpVariable %input_i32 Input"""
PROLOGUE = """
    OpExecutionMode %main SubgroupSize 16
    OpDecorate %sizes BuiltIn GlobalSize
    OpDecorate %lane_id BuiltIn SubgroupLocalInvocationId
    OpDecorate %group_number BuiltIn SubgroupId
    OpDecorate %group_count BuiltIn NumSubgroups"""


@pytest.mark.parametrize("target", ["haswell", ""])
@pytest.mark.parametrize("group", [(8, 4), (16, 2), (24, 1), (4, 4), (3, 8), (8, 3)])
def test_two_vectors_are_one_sub_group(group: tuple[int, ...], target: str) -> None:
    half = PLACES[list(PLACES)[group[0] * group[1] % len(PLACES)]]
    module = kernel(BODY.format(half=half, by="n5"), "%global_i32", DECLARATIONS, PROLOGUE)
    size = tuple(2 * each for each in group)
    wanted, found = np.zeros(int(np.prod(size)), np.uint32), np.zeros(int(np.prod(size)), np.uint32)
    run(module, "main", [wanted], size, group, sub_group_size=16)
    made = pipeline.compile_kernel(module, "main", Options(level=1, cpu=target))
    Loaded(made)([found], size, group)
    assert found.tolist() == wanted.tolist()


@pytest.mark.parametrize("name", PLACES)
def test_given_places_in_the_own_half_then_vectors_are_that_long(name: str) -> None:
    module = kernel(BODY.format(half=PLACES[name], by="n5"), "%global_i32", DECLARATIONS, PROLOGUE)
    made = pipeline.compile_kernel(module, "main", Options(level=0, cpu="haswell"))
    assert (made.lanes, made.required_sub_group_size) == (8, 16)


def test_given_a_place_in_the_other_half_then_a_sub_group_is_a_vector() -> None:
    module = kernel(BODY.format(half=PLACES["cut off"], by="n9"), "%global_i32", DECLARATIONS, PROLOGUE)
    assert pipeline.compile_kernel(module, "main", Options(level=0, cpu="haswell")).lanes == 16
