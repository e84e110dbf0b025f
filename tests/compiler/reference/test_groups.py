"""Work-groups: barriers, collectives, copies by all; and what happens when not all arrive."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from anyzero.compiler.reference import Divergence, Fault, Local, OutOfBounds, run
from tests.compiler.reference.kernels import compute, kernel

LOCAL_ID = """
    OpDecorate %lid BuiltIn LocalInvocationId"""
LOCALS = """
    %lid = OpVariable %input_v3i64 Input
    %fence = OpConstant %i32 0x110"""
LID = """
    %lids = OpLoad %v3i64 %lid
    %l = OpCompositeExtract %i64 %lids 0"""


def test_a_barrier_shows_what_the_others_wrote() -> None:
    body = f"""
        {LID}
        %mine = OpInBoundsPtrAccessChain %local_i32 %p1 %l
        %k = OpUConvert %i32 %i
        OpStore %mine %k
        OpControlBarrier %c2 %c2 %fence
        %last = OpISub %i64 %l7 %l
        %theirs = OpInBoundsPtrAccessChain %local_i32 %p1 %last
        %v = OpLoad %i32 %theirs
        %to = OpInBoundsPtrAccessChain %global_i32 %p0 %i
        OpStore %to %v"""
    made = kernel(body, "%global_i32 %local_i32", f"{LOCALS}\n%l7 = OpConstant %i64 7", LOCAL_ID)
    out = np.zeros(24, np.uint32)
    run(made, "main", [out, Local(32)], 24, 8)
    assert out.tolist() == [*range(7, -1, -1), *range(15, 7, -1), *range(23, 15, -1)]


def test_split_barriers() -> None:
    body = """
        %one = OpIAdd %i64 %i %l1
        %four = OpUMod %i64 %one %l4
        %mine = OpInBoundsPtrAccessChain %global_i32 %p0 %i
        %next = OpInBoundsPtrAccessChain %global_i32 %p0 %four
        %k = OpUConvert %i32 %i
        OpStore %mine %k
        OpControlBarrierArriveINTEL %c2 %c2 %c0
        OpControlBarrierWaitINTEL %c2 %c2 %c0
        %v = OpLoad %i32 %next
        OpControlBarrier %c2 %c2 %c0
        OpStore %mine %v"""
    out = np.zeros(4, np.uint32)
    run(kernel(body, "%global_i32", "%l4 = OpConstant %i64 4"), "main", [out], 4, 4)
    assert out.tolist() == [1, 2, 3, 0]


# A tree of sums in local memory: a barrier in a loop, as every reduction has it.
TREE = f"""
    {LID}
    %mine = OpInBoundsPtrAccessChain %local_i32 %p1 %l
    %k = OpUConvert %i32 %i
    OpStore %mine %k
    OpBranch %loop
    %loop = OpLabel
    %step = OpPhi %i64 %l8 %entry %half_step %latch
    %more = OpUGreaterThan %bool %step %l0
    OpBranchConditional %more %body %exit
    %body = OpLabel
    OpControlBarrier %c2 %c2 %fence
    %low = OpULessThan %bool %l %step
    OpBranchConditional %low %add %latch
    %add = OpLabel
    %far = OpIAdd %i64 %l %step
    %other = OpInBoundsPtrAccessChain %local_i32 %p1 %far
    %x = OpLoad %i32 %mine
    %y = OpLoad %i32 %other
    %s = OpIAdd %i32 %x %y
    OpStore %mine %s
    OpBranch %latch
    %latch = OpLabel
    %half_step = OpShiftRightLogical %i64 %step %l1
    OpBranch %loop
    %exit = OpLabel
    %first = OpIEqual %bool %l %l0
    OpBranchConditional %first %put %done
    %put = OpLabel
    %total = OpLoad %i32 %p1
    %group = OpUDiv %i64 %i %l16
    %to = OpInBoundsPtrAccessChain %global_i32 %p0 %group
    OpStore %to %total
    OpBranch %done
    %done = OpLabel"""


def test_a_barrier_in_a_loop() -> None:
    declarations = f"{LOCALS}\n%l8 = OpConstant %i64 8\n%l16 = OpConstant %i64 16"
    out = np.zeros(3, np.uint32)
    run(kernel(TREE, "%global_i32 %local_i32", declarations, LOCAL_ID), "main", [out, Local(64)], 48, 16)
    assert out.tolist() == [sum(range(16)), sum(range(16, 32)), sum(range(32, 48))]


def test_a_barrier_inside_of_a_function() -> None:
    functions = """
        %nullary = OpTypeFunction %void %i32
        %pass = OpFunction %void None %nullary
        %k2 = OpFunctionParameter %i32
        %b0 = OpLabel
        %old = OpAtomicIAdd %i32 %count %c2 %c0 %k2
        OpControlBarrier %c2 %c2 %c0
        OpReturn
        OpFunctionEnd"""
    body = """
        %k = OpUConvert %i32 %i
        %nothing = OpFunctionCall %void %pass %k
        %v = OpLoad %i32 %count
        %again = OpFunctionCall %void %pass %c0
        %to = OpInBoundsPtrAccessChain %global_i32 %p0 %i
        OpStore %to %v"""
    made = kernel(body, "%global_i32", "%count = OpVariable %local_i32 Workgroup", functions=functions)
    out = np.zeros(8, np.uint32)
    run(made, "main", [out], 8, 4)
    assert out.tolist() == [6] * 4 + [22] * 4


SOME = """
    %some = OpULessThan %bool %i %l1
    OpBranchConditional %some %yes %no
    %yes = OpLabel
    OpControlBarrier %c2 %c2 %c0
    OpBranch %join
    %no = OpLabel
    {other}
    OpBranch %join
    %join = OpLabel"""


@pytest.mark.parametrize(
    ("other", "reason"),
    [("", "have ended"), ("OpControlBarrier %c2 %c2 %c0", "1 of 4 work-items .* 3 at word")],
)
def test_a_barrier_that_not_all_reach(other: str, reason: str) -> None:
    with pytest.raises(Divergence, match=reason) as caught:
        run(kernel(SOME.format(other=other)), "main", [], 4, 4)
    assert isinstance(caught.value, Fault)
    assert "OpControlBarrier" in str(caught.value)


def test_a_barrier_that_some_reach_more_often() -> None:
    body = """
        OpBranch %loop
        %loop = OpLabel
        %k = OpPhi %i64 %l0 %entry %next %loop
        OpControlBarrier %c2 %c2 %c0
        %next = OpIAdd %i64 %k %l1
        %more = OpULessThan %bool %k %i
        OpBranchConditional %more %loop %exit
        %exit = OpLabel
        OpControlBarrier %c2 %c2 %c0"""
    with pytest.raises(Divergence, match="1 at word"):
        run(kernel(body), "main", [], 4, 2)


VALUES = np.array([3, 2**32 - 5, 7, 1, 0, 2**31, 9, 2], np.uint32)
SIGNED = VALUES.view(np.int32).astype(np.int64)


def scans(values: Any, combine: Any, neutral: Any) -> tuple[list[Any], list[Any]]:
    upto = [combine(values[: index + 1]) for index in range(len(values))]
    return upto, [neutral, *upto[:-1]]


def wrapped(value: int) -> int:
    return int(value) % 2**32


@pytest.mark.parametrize(
    ("name", "combine", "neutral"),
    [
        ("GroupIAdd", lambda v: wrapped(sum(map(int, v))), 0),
        ("GroupIMulKHR", lambda v: wrapped(np.prod(v.astype(object))), 1),
        ("GroupUMin", lambda v: int(min(v)), 2**32 - 1),
        ("GroupUMax", lambda v: int(max(v)), 0),
        ("GroupSMin", lambda v: wrapped(min(v.view(np.int32))), 2**31 - 1),
        ("GroupSMax", lambda v: wrapped(max(v.view(np.int32))), 2**31),
        ("GroupBitwiseAndKHR", lambda v: int(np.bitwise_and.reduce(v)), 2**32 - 1),
        ("GroupBitwiseOrKHR", lambda v: int(np.bitwise_or.reduce(v)), 0),
        ("GroupBitwiseXorKHR", lambda v: int(np.bitwise_xor.reduce(v)), 0),
    ],
)
@pytest.mark.parametrize("scope", ["%c2", "%c3"])
def test_integers_of_a_group(name: str, combine: Any, neutral: int, scope: str) -> None:
    upto, before = scans(VALUES, combine, neutral)
    for operation, expected in [("Reduce", [upto[-1]] * 8), ("InclusiveScan", upto), ("ExclusiveScan", before)]:
        found = compute(f"%r = Op{name} %i32 {scope} {operation} %a", np.uint32, VALUES, group=8)
        assert found.tolist() == expected, operation


@pytest.mark.parametrize(
    ("name", "combine", "neutral"),
    [
        ("GroupFAdd", sum, 0.0),
        ("GroupFMulKHR", np.prod, 1.0),
        ("GroupFMin", min, np.inf),
        ("GroupFMax", max, -np.inf),
    ],
)
def test_floats_of_a_group(name: str, combine: Any, neutral: float) -> None:
    values = np.array([1, 2, -4, 0.5, 8, 0.25, 2, 4], np.float32)
    upto, before = scans(values, combine, neutral)
    for operation, expected in [("Reduce", [upto[-1]] * 8), ("InclusiveScan", upto), ("ExclusiveScan", before)]:
        found = compute(f"%r = Op{name} %f32 %c2 {operation} %a", np.float32, values, group=8)
        assert found.tolist() == expected, operation


def test_vectors_of_a_group() -> None:
    a = np.arange(16, dtype=np.float32).reshape(4, 4)
    found = compute("%r = OpGroupFAdd %v4f32 %c2 InclusiveScan %a", np.float32, a, group=4)
    assert found.tolist() == np.cumsum(a, axis=0).tolist()
    found = compute("%r = OpGroupFAdd %v4f32 %c2 ExclusiveScan %a", np.float32, a, group=4)
    assert found[0].tolist() == [0] * 4


def test_votes_of_a_group() -> None:
    a = np.array([1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0], np.bool_)
    assert compute("%r = OpGroupAll %bool %c2 %a", np.bool_, a, group=4).tolist() == [True] * 4 + [False] * 8
    assert compute("%r = OpGroupAny %bool %c2 %a", np.bool_, a, group=4).tolist() == [True] * 8 + [False] * 4
    b = np.array([1, 0, 1, 0, 0, 1, 1, 1], np.bool_)
    found = compute("%r = OpGroupLogicalXorKHR %bool %c2 InclusiveScan %a", np.bool_, b, group=4)
    assert found.tolist() == [True, True, False, False, False, True, False, True]


def test_broadcast_in_two_dimensions() -> None:
    body = """
        %j = OpCompositeExtract %i64 %ids 1
        %n = OpIMul %i64 %j %l4
        %m = OpIAdd %i64 %n %i
        %v = OpGroupBroadcast %i64 %c2 %m %where
        %to = OpInBoundsPtrAccessChain %to_i64 %p0 %m
        OpStore %to %v"""
    declarations = """
        %to_i64 = OpTypePointer CrossWorkgroup %i64
        %l4 = OpConstant %i64 4
        %v2i64 = OpTypeVector %i64 2
        %l3 = OpConstant %i64 3
        %where = OpConstantComposite %v2i64 %l3 %l1"""
    out = np.zeros(8, np.uint64)
    run(kernel(body, "%to_i64", declarations), "main", [out], (4, 2), (4, 2))
    assert out.tolist() == [7] * 8


COPY = """
    %events = OpVariable %private_event Function
    %to = OpInBoundsPtrAccessChain %local_i32 %p1 %l0
    %e = OpGroupAsyncCopy %event %c2 %to %p0 %p3 %l2 %nothing
    OpStore %events %e
    OpGroupWaitEvents %c2 %c1 %events
    %k = OpInBoundsPtrAccessChain %local_i32 %p1 %i
    %v = OpLoad %i32 %k
    %w = OpIAdd %i32 %v %c1
    OpStore %k %w
    OpControlBarrier %c2 %c2 %c0
    %f = OpGroupAsyncCopy %event %c2 %p2 %to %p3 %l2 %nothing
    OpStore %events %f
    OpGroupWaitEvents %c2 %c1 %events"""
COPIED = """
    %event = OpTypeEvent
    %private_event = OpTypePointer Function %event
    %nothing = OpConstantNull %event
    %l2 = OpConstant %i64 2"""


def test_copies_by_a_group() -> None:
    made = kernel(COPY, "%global_i32 %local_i32 %global_i32 %i64", COPIED)
    source, out = np.arange(8, dtype=np.uint32), np.zeros(8, np.uint32)
    run(made, "main", [source, Local(16), out, 4], 4, 4)
    assert out.tolist() == [1, 0, 3, 0, 5, 0, 7, 0]
    with pytest.raises(OutOfBounds, match="OpGroupAsyncCopy"):
        run(made, "main", [source, Local(16), out, 5], 4, 4)
