"""Sub-groups: membership, convergence, and the values that their collectives exchange."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from anyzero.compiler.reference import run
from tests.compiler.reference.kernels import compute, kernel

A = np.arange(100, 108, dtype=np.uint32)


@pytest.mark.parametrize(
    ("name", "operand", "source"),
    [
        ("GroupNonUniformShuffle", 2, lambda lane, n: 2),
        ("GroupNonUniformBroadcast", 3, lambda lane, n: 3),
        ("GroupNonUniformShuffleXor", 3, lambda lane, n: lane ^ 3),
        ("GroupNonUniformShuffleUp", 1, lambda lane, n: lane - 1),
        ("GroupNonUniformShuffleDown", 2, lambda lane, n: lane + 2),
        ("GroupNonUniformRotateKHR", 3, lambda lane, n: (lane + 3) % n),
    ],
)
def test_shuffles(name: str, operand: int, source: Callable[[int, int], int]) -> None:
    b = np.full(8, operand, np.uint32)
    found = compute(f"%r = Op{name} %i32 %c3 %a %b", np.uint32, A, b, group=8, sub_group=4)
    for item, value in enumerate(found.tolist()):
        lane = source(item % 4, 4)
        if 0 <= lane < 4:
            assert value == 100 + item // 4 * 4 + lane


def test_rotation_within_clusters() -> None:
    b = np.ones(8, np.uint32)
    found = compute("%r = OpGroupNonUniformRotateKHR %i32 %c3 %a %b %c2", np.uint32, A, b, group=8, sub_group=8)
    assert found.tolist() == [101, 100, 103, 102, 105, 104, 107, 106]


def test_shuffles_of_intel() -> None:
    b = np.array([1, 0, 3, 2, 1, 0, 3, 2], np.uint32)
    found = compute("%r = OpSubgroupShuffleINTEL %i32 %a %b", np.uint32, A, b, group=8, sub_group=4)
    assert found.tolist() == [101, 100, 103, 102, 105, 104, 107, 106]
    found = compute("%r = OpSubgroupShuffleXorINTEL %i32 %a %c1", np.uint32, A, group=8, sub_group=4)
    assert found.tolist() == [101, 100, 103, 102, 105, 104, 107, 106]
    other = A + 100
    found = compute("%r = OpSubgroupShuffleDownINTEL %i32 %a %b %c1", np.uint32, A, other, group=8, sub_group=4)
    assert found.tolist() == [101, 102, 103, 200, 105, 106, 107, 204]
    found = compute("%r = OpSubgroupShuffleUpINTEL %i32 %a %b %c1", np.uint32, A, other, group=8, sub_group=4)
    assert found.tolist() == [103, 200, 201, 202, 107, 204, 205, 206]


def test_reading_one_invocation() -> None:
    found = compute("%r = OpSubgroupReadInvocationKHR %i32 %a %c2", np.uint32, A, group=8, sub_group=4)
    assert found.tolist() == [102] * 4 + [106] * 4
    for line in ("OpSubgroupFirstInvocationKHR %i32 %a", "OpGroupNonUniformBroadcastFirst %i32 %c3 %a"):
        found = compute(f"%r = {line}", np.uint32, A, group=8, sub_group=4)
        assert found.tolist() == [100] * 4 + [104] * 4
    assert compute("%r = OpGroupBroadcast %i32 %c3 %a %c1", np.uint32, A, group=8, sub_group=4).tolist() == [
        *[101] * 4,
        *[105] * 4,
    ]


def test_vectors_are_shuffled_whole() -> None:
    a = np.arange(16, dtype=np.float32).reshape(4, 4)
    found = compute("%r = OpGroupNonUniformShuffleXor %v4f32 %c3 %a %c1", np.float32, a, group=4)
    assert found.tolist() == a[[1, 0, 3, 2]].tolist()


def test_ballots() -> None:
    a = np.array([1, 0, 1, 1, 0, 0, 1, 0], np.bool_)
    bits = 0b01001101
    for line in ("OpGroupNonUniformBallot %v4i32 %c3 %a", "OpSubgroupBallotKHR %v4i32 %a"):
        assert compute(f"%r = {line}", np.uint32, a, group=8, count=4).tolist() == [[bits, 0, 0, 0]] * 8
    ballot = np.array([[bits, 0, 0, 0]] * 8, np.uint32)
    found = compute("%r = OpGroupNonUniformInverseBallot %bool %c3 %a", np.bool_, ballot, group=8, count=1)
    assert found.tolist() == a.tolist()
    found = compute("%r = OpGroupNonUniformBallotBitExtract %bool %c3 %a %c2", np.bool_, ballot, group=8, count=1)
    assert found.tolist() == [True] * 8
    upto: Any = np.cumsum(a)
    for operation, expected in [
        ("Reduce", [4] * 8),
        ("InclusiveScan", upto.tolist()),
        ("ExclusiveScan", (upto - a).tolist()),
    ]:
        line = f"%r = OpGroupNonUniformBallotBitCount %i32 %c3 {operation} %a"
        assert compute(line, np.uint32, ballot, group=8, count=1).tolist() == expected
    for name, place in [("LSB", 0), ("MSB", 6)]:
        found = compute(f"%r = OpGroupNonUniformBallotFind{name} %i32 %c3 %a", np.uint32, ballot, group=8, count=1)
        assert found.tolist() == [place] * 8


def test_bits_of_lanes_that_are_not_there_do_not_count() -> None:
    ballot = np.array([[0xFFFFFFFF, 1, 0, 0]] * 6, np.uint32)
    line = "%r = OpGroupNonUniformBallotBitCount %i32 %c3 Reduce %a"
    assert compute(line, np.uint32, ballot, group=6, sub_group=4, count=1).tolist() == [4] * 4 + [2] * 2


def test_votes() -> None:
    a = np.array([1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0], np.bool_)
    every, some, alike = [True, False, False], [True, True, False], [True, False, True]
    for line, expected in [
        ("OpSubgroupAllKHR %bool %a", every),
        ("OpSubgroupAnyKHR %bool %a", some),
        ("OpSubgroupAllEqualKHR %bool %a", alike),
        ("OpGroupNonUniformAll %bool %c3 %a", every),
        ("OpGroupNonUniformAny %bool %c3 %a", some),
        ("OpGroupNonUniformAllEqual %bool %c3 %a", alike),
        ("OpGroupAll %bool %c3 %a", every),
    ]:
        found = compute(f"%r = {line}", np.bool_, a, group=12, sub_group=4)
        assert found.tolist() == [value for value in expected for _ in range(4)], line
    found = compute("%r = OpGroupNonUniformElect %bool %c3", np.bool_, a, group=12, sub_group=4)
    assert found.tolist() == [True, False, False, False] * 3


@pytest.mark.parametrize(
    ("name", "combine"),
    [
        ("IAdd", sum),
        ("IMul", lambda v: int(np.prod([int(x) for x in v])) % 2**32),
        ("UMin", min),
        ("UMax", max),
        ("SMin", min),
        ("SMax", max),
        ("BitwiseAnd", np.bitwise_and.reduce),
        ("BitwiseOr", np.bitwise_or.reduce),
        ("BitwiseXor", np.bitwise_xor.reduce),
    ],
)
def test_arithmetic(name: str, combine: Callable[[Any], Any]) -> None:
    found = compute(f"%r = OpGroupNonUniform{name} %i32 %c3 Reduce %a", np.uint32, A, group=8, sub_group=4)
    assert found.tolist() == [combine(A[:4])] * 4 + [combine(A[4:])] * 4
    line = f"%r = OpGroupNonUniform{name} %i32 %c3 ClusteredReduce %a %c2"
    found = compute(line, np.uint32, A, group=8, sub_group=4)
    assert found.tolist() == [combine(A[at : at + 2]) for at in (0, 0, 2, 2, 4, 4, 6, 6)]


def test_floats_and_truth() -> None:
    a = np.array([1, 2, 4, 8], np.float32)
    for name, expected in [("FAdd", 15), ("FMul", 64), ("FMin", 1), ("FMax", 8)]:
        found = compute(f"%r = OpGroupNonUniform{name} %f32 %c3 Reduce %a", np.float32, a, group=4)
        assert found.tolist() == [expected] * 4
    b = np.array([1, 0, 1, 1], np.bool_)
    for name, truth in [("LogicalAnd", False), ("LogicalOr", True), ("LogicalXor", True)]:
        found = compute(f"%r = OpGroupNonUniform{name} %bool %c3 Reduce %a", np.bool_, b, group=4)
        assert found.tolist() == [truth] * 4


# In one branch some count themselves; where the branches meet, all do. %ones and %all are what they find.
DIVERGED = """
    %k = OpUConvert %i32 %i
    %low = OpULessThan %bool %k %c3
    OpSelectionMerge %join None
    OpBranchConditional %low %left %right
    %left = OpLabel
    %x = OpGroupNonUniformIAdd %i32 %c3 Reduce %c1
    OpBranch %join
    %right = OpLabel
    %y = OpGroupNonUniformIAdd %i32 %c3 Reduce %c1
    OpBranch %join
    %join = OpLabel
    %ones = OpPhi %i32 %x %left %y %right
    %all = OpGroupNonUniformIAdd %i32 %c3 Reduce %c1
    %ten = OpIMul %i32 %all %c10
    %v = OpIAdd %i32 %ten %ones
    %to = OpInBoundsPtrAccessChain %global_i32 %p0 %i
    OpStore %to %v"""


def test_branches_part_and_meet() -> None:
    out = np.zeros(8, np.uint32)
    run(kernel(DIVERGED, "%global_i32", "%c10 = OpConstant %i32 10"), "main", [out], 8, 8, sub_group_size=8)
    assert out.tolist() == [83] * 3 + [85] * 5


# Item i runs i + 1 iterations; each counts the active items, and only odd iterations of even items take the long path.
LOOP = """
    %k = OpUConvert %i32 %i
    OpBranch %loop
    %exit = OpLabel
    %after = OpGroupNonUniformIAdd %i32 %c3 Reduce %c1
    %scaled = OpIMul %i32 %after %c100
    %v = OpIAdd %i32 %scaled %sum
    %to = OpInBoundsPtrAccessChain %global_i32 %p0 %i
    OpStore %to %v
    OpReturn
    %loop = OpLabel
    %turn = OpPhi %i32 %c0 %entry %next %latch
    %old = OpPhi %i32 %c0 %entry %sum %latch
    %even = OpBitwiseAnd %i32 %k %c1
    %other = OpBitwiseXor %i32 %even %turn
    %parity = OpBitwiseAnd %i32 %other %c1
    %long = OpIEqual %bool %parity %c0
    OpBranchConditional %long %detour %latch
    %detour = OpLabel
    %met = OpGroupNonUniformIAdd %i32 %c3 Reduce %c1
    OpBranch %latch
    %latch = OpLabel
    %found = OpPhi %i32 %c0 %loop %met %detour
    %sum = OpIAdd %i32 %old %found
    %next = OpIAdd %i32 %turn %c1
    %more = OpULessThan %bool %turn %k
    OpBranchConditional %more %loop %exit
    %unused = OpLabel"""


def test_turns_of_a_loop_are_not_mixed() -> None:
    out = np.zeros(4, np.uint32)
    run(kernel(LOOP, "%global_i32", "%c100 = OpConstant %i32 100"), "main", [out], 4, 4, sub_group_size=4)
    # In turn t, those with i >= t and the parity of t meet: {0, 2}, {1, 3}, {2}, {3}.
    assert out.tolist() == [402, 402, 403, 403]


def test_a_sub_group_does_not_wait_for_another() -> None:
    body = """
        %low = OpULessThan %bool %i %l4
        OpBranchConditional %low %one %join
        %one = OpLabel
        OpControlBarrier %c3 %c3 %c0
        OpBranch %join
        %join = OpLabel
        OpControlBarrier %c2 %c2 %c0"""
    run(kernel(body, "", "%l4 = OpConstant %i64 4"), "main", [], 8, 8, sub_group_size=4)


def test_those_who_have_ended_are_not_waited_for() -> None:
    body = """
        %low = OpULessThan %bool %i %l1
        OpBranchConditional %low %gone %stay
        %gone = OpLabel
        OpReturn
        %stay = OpLabel
        %n = OpGroupNonUniformIAdd %i32 %c3 Reduce %c1
        %to = OpInBoundsPtrAccessChain %global_i32 %p0 %i
        OpStore %to %n"""
    out = np.zeros(4, np.uint32)
    run(kernel(body, "%global_i32"), "main", [out], 4, 4)
    assert out.tolist() == [0, 3, 3, 3]


def test_calls_keep_those_apart_who_came_from_different_places() -> None:
    functions = """
        %nullary = OpTypeFunction %i32
        %count = OpFunction %i32 None %nullary
        %b0 = OpLabel
        %n = OpGroupNonUniformIAdd %i32 %c3 Reduce %c1
        OpReturnValue %n
        OpFunctionEnd"""
    body = """
        %low = OpULessThan %bool %i %l1
        OpBranchConditional %low %left %right
        %left = OpLabel
        %x = OpFunctionCall %i32 %count
        OpBranch %join
        %right = OpLabel
        %y = OpFunctionCall %i32 %count
        OpBranch %join
        %join = OpLabel
        %ones = OpPhi %i32 %x %left %y %right
        %to = OpInBoundsPtrAccessChain %global_i32 %p0 %i
        OpStore %to %ones"""
    out = np.zeros(4, np.uint32)
    run(kernel(body, "%global_i32", functions=functions), "main", [out], 4, 4)
    assert out.tolist() == [1, 3, 3, 3]


def test_a_whole_group_need_not_come_to_what_is_not_uniform() -> None:
    body = """
        %low = OpULessThan %bool %i %l3
        OpBranchConditional %low %some %join
        %some = OpLabel
        %n = OpGroupNonUniformIAdd %i32 %c2 Reduce %c1
        %to = OpInBoundsPtrAccessChain %global_i32 %p0 %i
        OpStore %to %n
        OpBranch %join
        %join = OpLabel"""
    out = np.zeros(4, np.uint32)
    run(kernel(body, "%global_i32", "%l3 = OpConstant %i64 3"), "main", [out], 4, 4, sub_group_size=2)
    assert out.tolist() == [3, 3, 3, 0]


def test_blocks_of_memory() -> None:
    body = """
        %v = OpSubgroupBlockReadINTEL %v2i32 %p0
        %x = OpCompositeExtract %i32 %v 0
        %y = OpCompositeExtract %i32 %v 1
        %w = OpCompositeConstruct %v2i32 %y %x
        OpSubgroupBlockWriteINTEL %p1 %w"""
    source, out = np.arange(8, dtype=np.uint32), np.zeros(8, np.uint32)
    run(kernel(body, "%global_i32 %global_i32"), "main", [source, out], 4, 4, sub_group_size=4)
    assert out.tolist() == [4, 5, 6, 7, 0, 1, 2, 3]


def test_a_kernel_may_ask_for_a_size() -> None:
    body = """
        %n = OpGroupNonUniformIAdd %i32 %c3 Reduce %c1
        %to = OpInBoundsPtrAccessChain %global_i32 %p0 %i
        OpStore %to %n"""
    out = np.zeros(8, np.uint32)
    made = kernel(body, "%global_i32", prologue="OpExecutionMode %main SubgroupSize 2")
    run(made, "main", [out], 8, 8, sub_group_size=4)
    assert out.tolist() == [2] * 8


def test_time_passes() -> None:
    a = np.zeros(3, np.uint32)
    found = compute("%r = OpReadClockKHR %i64 %c1", np.uint64, a)
    assert (np.diff(found.astype(np.int64)) > 0).all()
