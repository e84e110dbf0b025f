"""Private memory into values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyzero.compiler.ir import Body
from anyzero.compiler.transform.check import check
from anyzero.compiler.transform.mem2reg import mem2reg
from tests.compiler.samples import function
from tests.compiler.translate.programs import AT, body_of, names, ran, run

TYPES = """
    %pair = OpTypeStruct %i32 %f32
    %nested = OpTypeStruct %pair %pair
    %array = OpTypeArray %i32 %c3
    %private_pair = OpTypePointer Function %pair
    %private_nested = OpTypePointer Function %nested
    %private_array = OpTypePointer Function %array
    %private_i64 = OpTypePointer Function %i64
    %private_i8 = OpTypePointer Function %i8
    %private_pointer = OpTypePointer Function %private_i32
    %global_pair = OpTypePointer CrossWorkgroup %pair
    %global_nested = OpTypePointer CrossWorkgroup %nested
    %l8 = OpConstant %i64 8
"""


def text(body: str, parameters: str = "", result: str = "i32", declarations: str = "") -> str:
    return function(body, parameters=parameters, result=result, declarations=TYPES + declarations)


def promoted(source: str) -> Body:
    body = body_of(source)
    mem2reg(body)
    check(body)
    return body


def memory_of(source: str) -> set[str]:
    """What is still done with memory."""
    return {"load", "store", "copy", "variable"} & set(names(promoted(source)))


def test_a_variable_becomes_its_last_value() -> None:
    source = text(
        """
        %v = OpVariable %private_i32 Function
        OpStore %v %p0
        %a = OpLoad %i32 %v
        %b = OpIAdd %i32 %a %c7
        OpStore %v %b
        %c = OpLoad %i32 %v
        OpReturnValue %c
        """,
        "%i32",
    )
    assert run(source, 5) == [12]
    assert memory_of(source) == set()


def test_ways_that_meet_join_in_a_phi() -> None:
    source = text(
        """
        %v = OpVariable %private_i32 Function %c1
        OpBranchConditional %p0 %a %b
        %a = OpLabel
        OpStore %v %c2
        OpBranch %join
        %b = OpLabel
        OpBranch %join
        %join = OpLabel
        %r = OpLoad %i32 %v
        OpReturnValue %r
        """,
        "%bool",
    )
    assert [run(source, each) for each in (0, 1)] == [[1], [2]]
    assert names(promoted(source)).count("phi") == 1


def test_loops_carry_only_what_is_asked_for_later() -> None:
    source = text(
        """
        %i = OpVariable %private_i32 Function %c0
        %sum = OpVariable %private_i32 Function %c0
        %inner = OpVariable %private_i32 Function
        OpBranch %head
        %head = OpLabel
        %n = OpLoad %i32 %i
        %more = OpULessThan %bool %n %p0
        OpBranchConditional %more %work %exit
        %work = OpLabel
        OpStore %inner %n
        %s = OpLoad %i32 %sum
        %m = OpLoad %i32 %inner
        %t = OpIAdd %i32 %s %m
        OpStore %sum %t
        %next = OpIAdd %i32 %n %c1
        OpStore %i %next
        OpBranch %head
        %exit = OpLabel
        %r = OpLoad %i32 %sum
        OpReturnValue %r
        """,
        "%i32",
    )
    assert run(source, 5) == [10]
    assert memory_of(source) == set()
    assert names(promoted(source)).count("phi") == 2


def test_structures_are_taken_apart() -> None:
    source = text(
        """
        %v = OpVariable %private_nested Function
        %whole = OpLoad %nested %p0
        OpStore %v %whole
        %f = OpInBoundsAccessChain %private_i32 %v %c1 %c0
        OpStore %f %c7
        %again = OpLoad %nested %v
        OpStore %p0 %again
        %p = OpInBoundsAccessChain %private_i32 %v %c0 %c0
        %r = OpLoad %i32 %p
        OpReturnValue %r
        """,
        "%global_nested",
    )
    given_ = b"".join(n.to_bytes(4, "little") for n in (1, 2, 3, 4))
    expected = b"".join(n.to_bytes(4, "little") for n in (1, 2, 7, 4))
    assert ran(source, AT[0], regions=(given_,)) == ([1], [expected])
    assert "variable" not in memory_of(source)


@given(value=st.integers(0, 2**32 - 1))
def test_the_same_bytes_as_another_type(value: int) -> None:
    source = text(
        """
        %v = OpVariable %private_f32 Function
        %q = OpBitcast %private_i32 %v
        OpStore %q %p0
        %f = OpLoad %f32 %v
        OpReturnValue %f
        """,
        "%i32",
        "f32",
    )
    assert run(source, value) == [value]
    assert memory_of(source) == set()


@given(value=st.integers(0, 2**64 - 1), part=st.integers(0, 2**16 - 1))
def test_parts_of_an_integer_are_its_bits(value: int, part: int) -> None:
    source = text(
        """
        %v = OpVariable %private_i64 Function
        %s = OpBitcast %private_i16 %v
        %w = OpBitcast %private_i32 %v
        OpStore %v %p0
        %third = OpInBoundsPtrAccessChain %private_i16 %s %c2
        OpStore %third %p1
        %second = OpInBoundsPtrAccessChain %private_i32 %w %c1
        %r = OpLoad %i32 %second
        OpReturnValue %r
        """,
        "%i64 %i16",
        declarations="%private_i16 = OpTypePointer Function %i16",
    )
    assert run(source, value, part) == [value >> 48 << 16 | part]
    assert memory_of(source) == set()


def test_parts_that_fit_into_no_integer_stay_in_memory() -> None:
    source = text(
        """
        %v = OpVariable %private_nested Function
        %q = OpBitcast %private_i64 %v
        %b = OpBitcast %private_i8 %v
        %odd = OpInBoundsPtrAccessChain %private_i8 %b %c7
        %wide = OpBitcast %private_i64 %odd
        OpStore %q %p0
        OpStore %wide %p1
        %r = OpLoad %i64 %q
        OpReturnValue %r
        """,
        "%i64 %i64",
        "i64",
    )
    assert run(source, 0x1122334455667788, 0xAB) == [0xAB22334455667788]
    assert memory_of(source) == {"load", "store", "variable"}


@pytest.mark.parametrize("index", range(3))
def test_an_index_that_is_a_value_keeps_the_array(index: int) -> None:
    source = text(
        """
        %v = OpVariable %private_array Function %values
        %p = OpInBoundsAccessChain %private_i32 %v %p0
        %r = OpLoad %i32 %p
        OpReturnValue %r
        """,
        "%i32",
        declarations="%values = OpConstantComposite %array %c7 %c1 %c3",
    )
    assert run(source, index) == [(7, 1, 3)[index]]
    assert "variable" in memory_of(source)


def test_constants_come_out_of_their_copies() -> None:
    source = text(
        """
        %v = OpVariable %private_array Function %values
        %p = OpInBoundsAccessChain %private_i32 %v %c2
        %r = OpLoad %i32 %p
        OpReturnValue %r
        """,
        declarations="%values = OpConstantComposite %array %c7 %c1 %c3",
    )
    assert run(source) == [3]
    assert names(promoted(source)) == ["result"]


def test_copies_between_variables_and_memory() -> None:
    source = text(
        """
        %a = OpVariable %private_nested Function
        %b = OpVariable %private_nested Function
        OpCopyMemory %a %p0 Aligned 4
        %pa = OpInBoundsAccessChain %private_pair %a %c1
        %pb = OpInBoundsAccessChain %private_pair %b %c0
        %qb = OpInBoundsAccessChain %private_pair %b %c1
        OpCopyMemorySized %pb %pa %l8
        OpCopyMemorySized %qb %pa %l8
        %x = OpInBoundsAccessChain %private_i32 %pb %c0
        OpStore %x %c7
        OpCopyMemory %p0 %b
        %r = OpLoad %i32 %x
        OpReturnValue %r
        """,
        "%global_nested",
    )
    given_ = b"".join(n.to_bytes(4, "little") for n in (1, 2, 3, 4))
    expected = b"".join(n.to_bytes(4, "little") for n in (7, 4, 3, 4))
    assert ran(source, AT[0], regions=(given_,)) == ([7], [expected])
    assert "variable" not in memory_of(source)


def test_what_only_passes_through_a_variable_is_not_lost() -> None:
    source = text(
        """
        %a = OpVariable %private_nested Function
        OpCopyMemory %a %p0
        OpCopyMemory %p1 %a
        OpReturnValue %c0
        """,
        "%global_nested %global_nested",
    )
    given_ = bytes(range(16))
    assert ran(source, AT[0], AT[1], regions=(given_, bytes(16)))[1] == [given_, given_]
    assert "variable" not in memory_of(source)


def test_a_pointer_that_lay_in_a_variable_no_longer_hides_another() -> None:
    source = text(
        """
        %v = OpVariable %private_i32 Function
        %p = OpVariable %private_pointer Function
        OpStore %p %v
        %q = OpLoad %private_i32 %p
        OpStore %q %p0
        %r = OpLoad %i32 %v
        OpReturnValue %r
        """,
        "%i32",
    )
    assert run(source, 9) == [9]
    assert memory_of(source) == set()


def test_an_address_that_leaves_keeps_its_variable() -> None:
    source = text(
        """
        %v = OpVariable %private_i32 Function %c1
        %n = OpConvertPtrToU %i64 %v
        %w = OpUConvert %i32 %n
        OpReturnValue %w
        """
    )
    assert "variable" in memory_of(source)


def test_volatile_accesses_stay() -> None:
    source = text(
        """
        %v = OpVariable %private_i32 Function
        OpStore %v %p0 Volatile
        %r = OpLoad %i32 %v Volatile
        OpReturnValue %r
        """,
        "%i32",
    )
    assert run(source, 3) == [3]
    assert memory_of(source) == {"load", "store", "variable"}


def test_what_was_never_written_is_undefined() -> None:
    source = text("%v = OpVariable %private_i32 Function\n%r = OpLoad %i32 %v\nOpReturnValue %r")
    assert names(promoted(source)) == ["undef", "result"]


steps = st.lists(
    st.tuples(st.sampled_from(["store", "add", "copy", "branch", "loop"]), st.integers(0, 2), st.integers(0, 2)),
    min_size=1,
    max_size=12,
)


@given(steps=steps, seed=st.integers(0, 2**32 - 1))
def test_random_programs_compute_the_same(steps: list[tuple[str, int, int]], seed: int) -> None:
    """Three variables, stores and copies between them, under branches and in loops."""
    lines = [f"%v{n} = OpVariable %private_pair Function" for n in range(3)]
    lines += ["%count = OpVariable %private_i32 Function"]
    lines += [f"%m{n} = OpInBoundsAccessChain %private_i32 %v{n} %c0\nOpStore %m{n} %p0" for n in range(3)]
    for at, (what, a, b) in enumerate(steps):
        if what == "store":
            lines.append(f"OpStore %m{a} %c7")
        elif what == "add":
            lines += [f"%ld{at} = OpLoad %i32 %m{a}", f"%k{at} = OpLoad %i32 %m{b}"]
            lines += [f"%s{at} = OpIAdd %i32 %ld{at} %k{at}", f"OpStore %m{a} %s{at}"]
        elif what == "copy":
            lines.append(f"OpCopyMemory %v{a} %v{b}")
        elif what == "branch":
            lines += [f"%ld{at} = OpLoad %i32 %m{a}", f"%k{at} = OpBitwiseAnd %i32 %ld{at} %c1"]
            lines += [f"%t{at} = OpIEqual %bool %k{at} %c0", f"OpBranchConditional %t{at} %yes{at} %no{at}"]
            lines += [f"%yes{at} = OpLabel", f"OpStore %m{b} %ld{at}", f"OpCopyMemory %v{a} %v{b}", f"OpBranch %no{at}"]
            lines += [f"%no{at} = OpLabel"]
        else:
            lines += ["OpStore %count %c0", f"OpBranch %head{at}", f"%head{at} = OpLabel"]
            lines += [f"%ii{at} = OpLoad %i32 %count", f"%t{at} = OpULessThan %bool %ii{at} %c3"]
            lines += [f"OpBranchConditional %t{at} %do{at} %done{at}", f"%do{at} = OpLabel"]
            lines += [f"%ld{at} = OpLoad %i32 %m{a}", f"%k{at} = OpIAdd %i32 %ld{at} %ii{at}", f"OpStore %m{b} %k{at}"]
            lines += [f"%n{at} = OpIAdd %i32 %ii{at} %c1", f"OpStore %count %n{at}", f"OpBranch %head{at}"]
            lines += [f"%done{at} = OpLabel"]
    lines += [f"%r{n} = OpLoad %i32 %m{n}" for n in range(3)]
    lines += ["%x = OpIMul %i32 %r0 %c3", "%y = OpIAdd %i32 %x %r1", "%z = OpIMul %i32 %y %c7"]
    lines += ["%w = OpIAdd %i32 %z %r2", "OpReturnValue %w"]
    source = text("\n".join(lines), "%i32")
    run(source, seed)
    assert memory_of(source) == set()
