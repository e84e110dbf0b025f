"""Kernels that compiled code and the interpreter once disagreed about, each as small as it could be made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from anyzero.compiler.compiled import Options
from tests.compiler.agreement.comparison import disagreement
from tests.compiler.agreement.function import Shape
from tests.compiler.agreement.generator import Program
from tests.compiler.samples import PROLOGUE, TYPES

DECLARATIONS = """
    %global_i64 = OpTypePointer CrossWorkgroup %i64
    %l7 = OpConstant %i64 7
    %gid = OpVariable %input_v3i64 Input
"""


def kernel(body: str, parameters: str, declarations: str = "") -> str:
    """Parameters are types, and become %p0, %p1 …; %g is the global id, %at the place in the first buffer."""
    lines = "\n".join(f"%p{index} = OpFunctionParameter {type_}" for index, type_ in enumerate(parameters.split()))
    pointer = parameters.split()[0]
    return f"""
        {PROLOGUE}
        OpEntryPoint Kernel %main "main" %gid %linear
        OpExecutionMode %main ContractionOff
        OpDecorate %gid BuiltIn GlobalInvocationId
        OpDecorate %linear BuiltIn GlobalLinearId
        {TYPES}
        {DECLARATIONS}
        {declarations}
        %input_i64 = OpTypePointer Input %i64
        %linear = OpVariable %input_i64 Input
        %main_type = OpTypeFunction %void {parameters}
        %main = OpFunction %void None %main_type
        {lines}
        %entry = OpLabel
        %ids = OpLoad %v3i64 %gid
        %g = OpCompositeExtract %i64 %ids 0
        %number = OpLoad %i64 %linear
        %at = OpInBoundsPtrAccessChain {pointer} %p0 %number
        {body}
        OpReturn
        OpFunctionEnd
    """


def agree(text: str, *arguments: Any, offset: int = 0, sub_group: int = 0) -> None:
    shape = Shape((40, 1, 1), (20, 1, 1), (offset, 0, 0), sub_group)
    lanes = [sub_group] if sub_group else [4, 32, 16, None]
    ways = [Options(level=1, lanes=each) for each in lanes]
    assert disagreement(Program(text, list(arguments), [], shape), ways=ways) is None


def test_lane_0_was_taken_for_one_of_those_who_are_here() -> None:
    text = kernel(
        """
        %low = OpUConvert %i8 %g
        %few = OpULessThan %bool %low %five
        OpBranchConditional %few %some %end
        %some = OpLabel
        %first = OpGroupNonUniformBroadcastFirst %i64 %c3 %g
        OpStore %at %first
        OpBranch %end
        %end = OpLabel
        """,
        "%global_i64",
        "%five = OpConstant %i8 5",
    )
    agree(text, np.zeros(40, np.int64), offset=250, sub_group=16)


def test_a_difference_of_numbers_that_wrap_was_taken_for_the_same_in_all_lanes() -> None:
    text = kernel(
        """
        %low = OpUConvert %i32 %g
        %a = OpIAdd %i32 %low %near
        %b = OpIAdd %i32 %low %nearer
        %wide_a = OpSConvert %i64 %a
        %wide_b = OpSConvert %i64 %b
        %difference = OpISub %i64 %wide_a %wide_b
        %usual = OpIEqual %bool %difference %l7
        OpBranchConditional %usual %some %end
        %some = OpLabel
        OpStore %at %difference
        OpBranch %end
        %end = OpLabel
        """,
        "%global_i64",
        "%near = OpConstant %i32 0x7ffffff9\n%nearer = OpConstant %i32 0x7ffffff2",
    )
    agree(text, np.zeros(40, np.int64))


OUTER_FROM_INNER = """
    %few = OpBitwiseAnd %i64 %g %l7
    %narrow = OpUConvert %i32 %few
    %limit = OpIAdd %i32 %narrow %c3
    OpBranch %outer
    %outer = OpLabel
    %fuel_out = OpPhi %i32 %c2 %entry %less %inner
    %count_out = OpPhi %i32 %c0 %entry %more %inner
    OpBranch %inner
    %inner = OpLabel
    %fuel = OpPhi %i32 %fuel_out %outer %less %again
    %count = OpPhi %i32 %count_out %outer %more %again
    %less = OpISub %i32 %fuel %c1
    %more = OpIAdd %i32 %count %c1
    """

INNER_AGAIN = """
    OpBranchConditional %back %outer %on
    %on = OpLabel
    %stay = OpSLessThan %bool %more %limit
    OpBranchConditional %stay %again %end
    %again = OpLabel
    OpBranch %inner
    %end = OpLabel
    OpStore %at %more
    """


@pytest.mark.parametrize(
    "condition",
    [
        "%back = OpSGreaterThan %bool %fuel %c0",
        "%own = OpISub %i32 %fuel %narrow\n%back = OpSGreaterThan %bool %own %c0",
    ],
    ids=["together", "one_by_one"],
)
def test_an_outer_loop_that_starts_over_from_inside_an_inner_one_never_ended(condition: str) -> None:
    agree(kernel(f"{OUTER_FROM_INNER}\n{condition}\n{INNER_AGAIN}", "%global_i32"), np.zeros(40, np.int32))


def test_an_index_of_32_bits_did_not_come_over_a_barrier() -> None:
    text = kernel(
        """
        %low = OpUConvert %i32 %number
        %first = OpInBoundsPtrAccessChain %global_i32 %p1 %low %c0
        OpStore %first %c7
        OpControlBarrier %c2 %c2 %all
        %second = OpInBoundsPtrAccessChain %global_i32 %p0 %low
        OpStore %second %c3
        """,
        "%global_i32 %global_three",
        """
        %three = OpTypeStruct %i32 %i32 %i32
        %global_three = OpTypePointer CrossWorkgroup %three
        %all = OpConstant %i32 0x110
        """,
    )
    agree(text, np.zeros(40, np.int32), np.zeros(120, np.int32))


def test_lanes_were_lost_behind_two_loops_in_a_row() -> None:
    text = kernel(
        """
        %odd = OpBitwiseAnd %i64 %g %l1
        %even = OpIEqual %bool %odd %l0
        OpBranch %first
        %first = OpLabel
        %once = OpPhi %i32 %c1 %entry %c0 %on
        OpBranchConditional %even %on %second
        %on = OpLabel
        %more = OpSGreaterThan %bool %once %c0
        OpBranchConditional %more %first %second
        %second = OpLabel
        %left = OpPhi %i32 %once %first %c0 %on %c0 %second
        %again = OpSGreaterThan %bool %left %c0
        OpBranchConditional %again %second %end
        %end = OpLabel
        OpStore %at %c7
        """,
        "%global_i32",
    )
    agree(text, np.zeros(40, np.int32))


@pytest.mark.parametrize("times", [0x10000000, 0x40000000, 0x80000000])
def test_an_index_that_wraps_many_times_was_taken_for_strided(times: int) -> None:
    text = kernel(
        """
        %low = OpUConvert %i32 %g
        %index = OpIMul %i32 %low %times
        %inside = OpULessThan %bool %index %c3
        OpBranchConditional %inside %some %end
        %some = OpLabel
        %wide = OpSConvert %i64 %index
        %from = OpInBoundsPtrAccessChain %global_i32 %p1 %wide
        %found = OpLoad %i32 %from
        OpStore %at %found
        OpBranch %end
        %end = OpLabel
        """,
        "%global_i32 %global_i32",
        f"%times = OpConstant %i32 {times}",
    )
    agree(text, np.zeros(40, np.int32), np.arange(7, 10, dtype=np.int32))
