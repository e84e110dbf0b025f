"""Vectors that go from barrier to barrier together: what they keep, and rows that end early."""

from __future__ import annotations

import numpy as np
import pytest

from anyzero.compiler.compiled import CompiledKernel, Options
from anyzero.compiler.pipeline import compile_kernel
from anyzero.compiler.spirv import read, verify
from tests.compiler import native
from tests.compiler.assembler import assemble
from tests.compiler.samples import PROLOGUE, TYPES

Size = tuple[int, ...]

TREE = """
    %x = OpCompositeExtract %i64 %ids 0
    %own = OpInBoundsPtrAccessChain %local_i64 %shared %index
    %place = OpInBoundsPtrAccessChain %global_i64 %out %linear
    %kept = OpLoad %i64 %place
    OpStore %own %kept
    OpBranch %loop
    %loop = OpLabel
    %width = OpPhi %i64 %start %entry %half_width %latch
    %more = OpUGreaterThan %bool %width %l0
    OpBranchConditional %more %body %exit
    %body = OpLabel
    OpControlBarrier %c2 %c2 %fence
    COMPARISON
    OpBranchConditional %low %add %latch
    %add = OpLabel
    %far = OpIAdd %i64 %index %width
    %other = OpInBoundsPtrAccessChain %local_i64 %shared %far
    %a = OpLoad %i64 %own
    %b = OpLoad %i64 %other
    %s = OpIAdd %i64 %a %b
    OpStore %own %s
    OpBranch %latch
    %latch = OpLabel
    %half_width = OpShiftRightLogical %i64 %width %l1
    OpBranch %loop
    %exit = OpLabel
    OpControlBarrier %c2 %c2 %fence
    %row = OpISub %i64 %index %x
    %first = OpInBoundsPtrAccessChain %local_i64 %shared %row
    %total = OpLoad %i64 %first
    %mine = OpLoad %i64 %own
    %both = OpIAdd %i64 %total %mine
    %result = OpIAdd %i64 %both %kept
    OpStore %place %result
"""
"""Each row of a group is summed up in local memory; work-items add what they had and what their place holds."""

COMPARISONS = {
    "wide": "%low = OpULessThan %bool %x %width",
    "narrow": """
        %x_narrow = OpUConvert %i32 %x
        %w_narrow = OpUConvert %i32 %width
        %low = OpSGreaterThan %bool %w_narrow %x_narrow
    """,
    "up to": "%before = OpISub %i64 %width %l1\n%low = OpULessThanEqual %bool %x %before",
}


def compiled(group: Size, comparison: str, required: bool, options: Options) -> CompiledKernel:
    sizes = [*group, 1, 1][:3]
    text = f"""
        {PROLOGUE}
        OpEntryPoint Kernel %main "main" %vlinear %vids %vindex
        {f"OpExecutionMode %main LocalSize {sizes[0]} {sizes[1]} {sizes[2]}" if required else ""}
        OpDecorate %vlinear BuiltIn GlobalLinearId
        OpDecorate %vids BuiltIn LocalInvocationId
        OpDecorate %vindex BuiltIn LocalInvocationIndex
        {TYPES}
        %global_i64 = OpTypePointer CrossWorkgroup %i64
        %local_i64 = OpTypePointer Workgroup %i64
        %input_i64 = OpTypePointer Input %i64
        %start = OpConstant %i64 {group[0] // 2}
        %fence = OpConstant %i32 0x110
        %vlinear = OpVariable %input_i64 Input
        %vids = OpVariable %input_v3i64 Input
        %vindex = OpVariable %input_i64 Input
        %main_type = OpTypeFunction %void %global_i64 %local_i64
        %main = OpFunction %void None %main_type
        %out = OpFunctionParameter %global_i64
        %shared = OpFunctionParameter %local_i64
        %entry = OpLabel
        %linear = OpLoad %i64 %vlinear
        %ids = OpLoad %v3i64 %vids
        %index = OpLoad %i64 %vindex
        {TREE.replace("COMPARISON", COMPARISONS[comparison])}
        OpReturn
        OpFunctionEnd
    """
    module = read(assemble(text, (1, 6)))
    verify(module)
    return compile_kernel(module, "main", options)


def expected(data: np.ndarray, group: int) -> np.ndarray:
    """Rows of groups lie in rows of the whole, one behind the other."""
    rows = data.reshape(-1, group)
    sums = rows.copy()
    width = group // 2
    while width:
        sums[:, :width] += sums[:, width : 2 * width]
        width //= 2
    return (rows + sums + sums[:, :1]).reshape(-1)


def check(kernel: CompiledKernel, group: Size) -> None:
    size = (group[0] * 3, *group[1:])
    data = np.arange(int(np.prod(size)), dtype=np.int64) ** 2 % 1009
    found = data.copy()
    native.Loaded(kernel)([found, native.Local(8 * int(np.prod(group)))], size, group)
    assert (found == expected(data, group[0])).all()


@pytest.mark.parametrize("lanes", [1, 8, 16, 32])
@pytest.mark.parametrize("group", [(1,), (40,), (64,), (150,), (33, 2), (16, 3, 2), (70, 2, 2)])
def test_given_a_tree_then_rows_end_where_nothing_is_left_and_start_over_in_the_next(group: Size, lanes: int) -> None:
    check(compiled(group, "wide", False, Options(level=1, lanes=lanes)), group)


@pytest.mark.parametrize("comparison", COMPARISONS)
@pytest.mark.parametrize("cpu", ["", "haswell"])
def test_given_any_way_to_say_who_is_left_then_the_same_are(comparison: str, cpu: str) -> None:
    features = "+avx,+avx2,+bmi,+bmi2,+f16c,+fma" if cpu else ""
    for lanes in (16, 32, 64):
        check(compiled((75, 2), comparison, False, Options(level=1, lanes=lanes, cpu=cpu, features=features)), (75, 2))


@pytest.mark.parametrize("group", [(64,), (24,), (5,), (33, 2), (32, 4, 1)])
def test_given_a_size_that_the_kernel_requires_then_loops_count_to_it(group: Size) -> None:
    for lanes in (1, 8, 32):
        check(compiled(group, "wide", True, Options(level=1, lanes=lanes)), group)


def test_given_a_tree_then_vectors_keep_nothing_but_their_own() -> None:
    # Eight numbers of eight bytes; neither the loop's counter nor where a vector is.
    kernel = compiled((64,), "wide", False, Options(level=1, lanes=8))
    assert kernel.scratch_per_vector == 128
    # Of each work-item: it has no private memory, so all of this is kept because of barriers.
    assert kernel.private_bytes == 0
    assert kernel.spill_bytes >= 16
