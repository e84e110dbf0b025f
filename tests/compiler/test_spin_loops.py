"""Spin loops: kernels that may wait for another work-item or the host."""

from __future__ import annotations

import pytest

from anyzero.compiler.analysis.spin_loops import may_wait
from anyzero.compiler.transform.loop_simplify import loop_simplify
from anyzero.compiler.transform.mem2reg import mem2reg
from tests.compiler.samples import function
from tests.compiler.translate.programs import body_of

PARAMETERS = "%global_i32 %global_i32 %i32 %local_i32"
SYSTEM = "%c0 %c2"  # across devices; acquire

LOCK = """
        %before = OpAtomicCompareExchange %i32 %p0 %c0 %c2 %c2 %c1 %c0
        %mine = OpIEqual %bool %before %c0
        %seen = OpSelect %i32 %mine %c1 %c0
"""


def waits(body: str) -> bool:
    text = function(f"{body}\nOpReturn", parameters=PARAMETERS, declarations="%c256 = OpConstant %i32 256")
    made = body_of(text)
    mem2reg(made)
    return may_wait(made, loop_simplify(made))


def until(read: str) -> str:
    """Turn after turn until what is read is not zero."""
    return f"""
        OpBranch %head
        %head = OpLabel
        {read}
        %ready = OpINotEqual %bool %seen %c0
        OpBranchConditional %ready %exit %head
        %exit = OpLabel
    """


def counted(work: str) -> str:
    """As many turns as %p2 says."""
    return f"""
        OpBranch %head
        %head = OpLabel
        %i = OpPhi %i32 %c0 %entry %next %latch
        %inside = OpSLessThan %bool %i %p2
        OpBranchConditional %inside %work %exit
        %work = OpLabel
        {work}
        OpBranch %latch
        %latch = OpLabel
        %next = OpIAdd %i32 %i %c1
        OpBranch %head
        %exit = OpLabel
    """


@pytest.mark.parametrize(
    "read",
    [
        "%seen = OpLoad %i32 %p0 Volatile|Aligned 4",
        f"%seen = OpAtomicLoad %i32 %p0 {SYSTEM}",
        f"%seen = OpAtomicIAdd %i32 %p0 {SYSTEM} %c0",
        f"%seen = OpAtomicExchange %i32 %p0 {SYSTEM} %c0",
        LOCK,
        "OpMemoryBarrier %c1 %c2\n%seen = OpLoad %i32 %p0 Aligned 4",
        "OpControlBarrier %c2 %c2 %c256\n%seen = OpLoad %i32 %p0 Aligned 4",
        f"%other = OpAtomicIAdd %i32 %p1 {SYSTEM} %c1\n%seen = OpLoad %i32 %p0 Aligned 4",
    ],
    ids=["volatile", "atomic", "add", "exchange", "lock", "fence", "barrier", "plain beside an atomic"],
)
def test_a_loop_until_memory_changes(read: str) -> None:
    assert waits(until(read))


@pytest.mark.parametrize(
    "read",
    [
        "%seen = OpLoad %i32 %p0 Aligned 4",
        f"%seen = OpAtomicLoad %i32 %p3 {SYSTEM}",
        "%seen = OpLoad %i32 %p3 Volatile|Aligned 4",
    ],
    ids=["plain", "atomic in local memory", "volatile in local memory"],
)
def test_a_loop_that_no_other_can_end(read: str) -> None:
    assert not waits(until(read))


@pytest.mark.parametrize(
    "work",
    [
        f"%before = OpAtomicIAdd %i32 %p0 {SYSTEM} %c1",
        "%value = OpLoad %i32 %p0 Volatile|Aligned 4\nOpStore %p1 %value Aligned 4",
        "OpMemoryBarrier %c1 %c2\n%value = OpLoad %i32 %p0 Aligned 4\nOpStore %p1 %value Aligned 4",
    ],
    ids=["atomic", "volatile", "fence"],
)
def test_a_loop_that_counts_waits_for_nobody(work: str) -> None:
    assert not waits(counted(work))
    assert not waits(work)


def test_a_branch_that_decides_about_the_end() -> None:
    body = """
        OpBranch %head
        %head = OpLabel
        %value = OpLoad %i32 %p0 Volatile|Aligned 4
        %there = OpINotEqual %bool %value %c0
        OpBranchConditional %there %one %merge
        %one = OpLabel
        OpBranch %merge
        %merge = OpLabel
        %done = OpPhi %i32 %c0 %head %c1 %one
        %ready = OpINotEqual %bool %done %c0
        OpBranchConditional %ready %exit %head
        %exit = OpLabel
    """
    assert waits(body)


def test_a_branch_that_decides_about_something_else() -> None:
    work = f"""
        %before = OpAtomicIAdd %i32 %p0 {SYSTEM} %c1
        %odd = OpINotEqual %bool %before %c7
        OpBranchConditional %odd %one %merge
        %one = OpLabel
        OpStore %p1 %before Aligned 4
        OpBranch %merge
        %merge = OpLabel
    """
    assert not waits(counted(work))


def test_what_went_through_private_memory() -> None:
    body = """
        %place = OpVariable %private_i32 Function
        %alias = OpPtrCastToGeneric %generic_i32 %place
        OpBranch %head
        %head = OpLabel
        %value = OpLoad %i32 %p0 Volatile|Aligned 4
        OpStore %alias %value Aligned 4
        %seen = OpLoad %i32 %place Aligned 4
        %ready = OpINotEqual %bool %seen %c0
        OpBranchConditional %ready %exit %head
        %exit = OpLabel
    """
    assert waits(body)


def test_trying_until_nobody_was_faster() -> None:
    """How sums of floats are often written."""
    body = """
        %first = OpLoad %i32 %p0 Aligned 4
        OpBranch %head
        %head = OpLabel
        %expected = OpPhi %i32 %first %entry %before %head
        %sum = OpIAdd %i32 %expected %p2
        %before = OpAtomicCompareExchange %i32 %p0 %c0 %c2 %c2 %sum %expected
        %done = OpIEqual %bool %before %expected
        OpBranchConditional %done %exit %head
        %exit = OpLabel
    """
    assert not waits(body)
    assert waits(body.replace("%sum %expected", "%sum %c0").replace("%before %expected", "%before %c0"))


@pytest.mark.parametrize(("memory", "expected"), [("Volatile|Aligned 4", True), ("Aligned 4", False)])
def test_a_loop_with_two_entries(memory: str, expected: bool) -> None:
    body = f"""
        %side = OpINotEqual %bool %p2 %c0
        OpBranchConditional %side %one %other
        %one = OpLabel
        %value = OpLoad %i32 %p0 {memory}
        %more = OpINotEqual %bool %value %c1
        OpBranchConditional %more %other %exit
        %other = OpLabel
        OpBranch %one
        %exit = OpLabel
    """
    assert waits(body) is expected


def test_a_branch_that_leads_to_the_exit_waits_as_well() -> None:
    body = """
        OpBranch %head
        %head = OpLabel
        %value = OpLoad %i32 %p0 Volatile|Aligned 4
        %ready = OpINotEqual %bool %value %c0
        OpBranchConditional %ready %asked %latch
        %asked = OpLabel
        %done = OpINotEqual %bool %p2 %c0
        OpBranchConditional %done %exit %latch
        %latch = OpLabel
        OpBranch %head
        %exit = OpLabel
    """
    assert waits(body)
