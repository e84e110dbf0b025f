"""Short loops through private memory, turn by turn."""

from __future__ import annotations

import pytest

from anyzero.compiler.ir import Body
from anyzero.compiler.transform.check import check
from anyzero.compiler.transform.mem2reg import mem2reg
from anyzero.compiler.transform.unroll import unroll
from tests.compiler.samples import function
from tests.compiler.translate.machine import Machine
from tests.compiler.translate.programs import body_of, names

TYPES = """
    %c4 = OpConstant %i32 4
    %array = OpTypeArray %i32 %c4
    %private_array = OpTypePointer Function %array
    %values = OpConstantComposite %array %c7 %c1 %c3 %c2
"""


def text(body: str, parameters: str = "%i32") -> str:
    return function(body, parameters=parameters, result="i32", declarations=TYPES)


def loop(limit: str, start: str = "%c0", step: str = "%c1", compare: str = "ULessThan", extra: str = "") -> str:
    """Adds the loop's counter to each element, and the elements together."""
    return f"""
        %v = OpVariable %private_array Function %values
        OpBranch %head
        %head = OpLabel
        %i = OpPhi %i32 {start} %entry %next %work
        %sum = OpPhi %i32 %p0 %entry %more %work
        %inside = Op{compare} %bool %i {limit}
        OpBranchConditional %inside %work %exit
        %work = OpLabel
        %p = OpInBoundsAccessChain %private_i32 %v %i
        %x = OpLoad %i32 %p
        %y = OpIAdd %i32 %x %i
        OpStore %p %y
        %z = OpLoad %i32 %p
        {extra}
        %more = OpIAdd %i32 %sum %z
        %next = OpIAdd %i32 %i {step}
        OpBranch %head
        %exit = OpLabel
        OpReturnValue %sum
    """


def unrolled(source: str) -> Body:
    body = body_of(source)
    mem2reg(body)
    assert unroll(body)
    check(body)
    mem2reg(body)
    check(body)
    return body


def results(body: Body, value: int) -> list[int]:
    return Machine(body, parameters=(value,)).run()


@pytest.mark.parametrize(
    ("source", "total"),
    [
        (loop("%c4"), 13 + 6),
        (loop("%c3"), 11 + 3),
        (loop("%c4", step="%c2"), 10 + 2),
        (loop("%c4", start="%c1"), 6 + 6),
        (loop("%c0"), 0),
        (loop("%c4", compare="INotEqual"), 19),
    ],
)
def test_arrays_become_values(source: str, total: int) -> None:
    body = unrolled(text(source))
    assert results(body, 100) == [100 + total]
    assert len(body.blocks) == 1
    assert body.variables == []


def test_a_loop_that_asks_at_its_end() -> None:
    source = text("""
        %v = OpVariable %private_array Function %values
        OpBranch %work
        %work = OpLabel
        %i = OpPhi %i32 %c0 %entry %next %work
        %sum = OpPhi %i32 %p0 %entry %more %work
        %p = OpInBoundsAccessChain %private_i32 %v %i
        %x = OpLoad %i32 %p
        %more = OpIAdd %i32 %sum %x
        %next = OpIAdd %i32 %i %c1
        %again = OpSLessThan %bool %next %c4
        OpBranchConditional %again %work %exit
        %exit = OpLabel
        OpReturnValue %more
    """)
    body = unrolled(source)
    assert results(body, 5) == [18]
    assert body.variables == []


def test_branches_inside_of_a_loop() -> None:
    source = text("""
        %v = OpVariable %private_array Function %values
        OpBranch %head
        %head = OpLabel
        %i = OpPhi %i32 %c0 %entry %next %join
        %sum = OpPhi %i32 %p0 %entry %more %join
        %inside = OpULessThan %bool %i %c4
        OpBranchConditional %inside %work %exit
        %work = OpLabel
        %p = OpInBoundsAccessChain %private_i32 %v %i
        %x = OpLoad %i32 %p
        %odd = OpBitwiseAnd %i32 %sum %c1
        %is_odd = OpIEqual %bool %odd %c1
        OpBranchConditional %is_odd %twice %join
        %twice = OpLabel
        %xx = OpIAdd %i32 %x %x
        OpBranch %join
        %join = OpLabel
        %taken = OpPhi %i32 %x %work %xx %twice
        %more = OpIAdd %i32 %sum %taken
        %next = OpIAdd %i32 %i %c1
        OpBranch %head
        %exit = OpLabel
        OpReturnValue %sum
    """)
    body = unrolled(source)
    for value in (0, 1, 2):
        assert results(body, value) == results(body_of(source), value)
    assert names(body).count("phi") == 4
    assert body.variables == []


def test_loops_within_loops() -> None:
    source = text("""
        %v = OpVariable %private_array Function %values
        OpBranch %outer
        %outer = OpLabel
        %j = OpPhi %i32 %c0 %entry %nextj %done
        %sum = OpPhi %i32 %p0 %entry %inner_sum %done
        %insidej = OpULessThan %bool %j %c3
        OpBranchConditional %insidej %start %exit
        %start = OpLabel
        OpBranch %head
        %head = OpLabel
        %i = OpPhi %i32 %c0 %start %next %work
        %inner_sum = OpPhi %i32 %sum %start %more %work
        %inside = OpULessThan %bool %i %c4
        OpBranchConditional %inside %work %done
        %work = OpLabel
        %p = OpInBoundsAccessChain %private_i32 %v %i
        %x = OpLoad %i32 %p
        %y = OpIAdd %i32 %x %j
        OpStore %p %y
        %more = OpIAdd %i32 %inner_sum %y
        %next = OpIAdd %i32 %i %c1
        OpBranch %head
        %done = OpLabel
        %nextj = OpIAdd %i32 %j %c1
        OpBranch %outer
        %exit = OpLabel
        OpReturnValue %sum
    """)
    body = unrolled(source)
    assert results(body, 1) == results(body_of(source), 1)
    assert body.variables == []


@pytest.mark.parametrize(
    "source",
    [
        loop("%p0"),
        loop("%c4", start="%p0"),
        loop("%c4", step="%c0"),
        loop("%c4", step="%x"),
        loop("%c4", start="%c7", step="%c7", compare="UGreaterThan"),
    ],
    ids=["limit", "start", "endless", "step", "long"],
)
def test_loops_of_unknown_length_stay(source: str) -> None:
    body = body_of(text(source))
    mem2reg(body)
    before = names(body)
    assert not unroll(body)
    assert names(body) == before


def summing(turns: int, extra: str = "", added: str = "%x") -> str:
    """Adds numbers that lie in global memory."""
    return function(
        f"""
        OpBranch %head
        %head = OpLabel
        %i = OpPhi %i32 %c0 %entry %next %work
        %sum = OpPhi %i32 %c0 %entry %more %work
        %inside = OpULessThan %bool %i %turns
        OpBranchConditional %inside %work %exit
        %work = OpLabel
        %p = OpInBoundsPtrAccessChain %global_i32 %p0 %i
        %x = OpLoad %i32 %p
        {extra}
        %more = OpIAdd %i32 %sum {added}
        %next = OpIAdd %i32 %i %c1
        OpBranch %head
        %exit = OpLabel
        OpReturnValue %sum
        """,
        parameters="%global_i32",
        result="i32",
        declarations=f"%turns = OpConstant %i32 {turns}",
    )


def test_tiny_loops_are_written_out() -> None:
    body = body_of(summing(16))
    assert unroll(body)
    check(body)
    assert len(body.blocks) == 1
    assert names(body).count("load") == 16


def test_long_loops_without_private_memory_stay() -> None:
    body = body_of(summing(300))
    assert not unroll(body)


def test_loops_of_much_code_without_private_memory_stay() -> None:
    assert not unroll(body_of(summing(16, "%e = OpUDiv %i32 %x %turns", "%e")))


def test_short_loops_of_many_operations_without_private_memory_stay() -> None:
    much = "\n".join(f"%e{at} = OpIMul %i32 %x %{f'e{at - 1}' if at else 'i'}" for at in range(40))
    assert unroll(body_of(summing(5, much, "%e39")))
    assert not unroll(body_of(summing(6, much, "%e39")))
