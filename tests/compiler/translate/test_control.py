"""Branches, switches, loops, calls and the ends of functions."""

from __future__ import annotations

import pytest

from anyzero.compiler import translate
from anyzero.compiler.errors import CompileError
from anyzero.compiler.translate import frame
from tests.compiler.samples import PROLOGUE, TYPES, function
from tests.compiler.translate.programs import body_of, kernel, kernel_module, module, names, run

SWITCH = """
    OpSwitch %p0 %other 1 %one 2 %few 3 %few 4 %few 9 %few 0xFFFFFFFFFFFFFFFF %last 7 %other
    %one = OpLabel
    OpBranch %join
    %few = OpLabel
    OpBranch %join
    %last = OpLabel
    OpBranch %join
    %other = OpLabel
    OpBranch %join
    %join = OpLabel
    %r = OpPhi %i32 %c1 %one %c2 %few %c3 %last %c0 %other
    OpReturnValue %r
"""


@pytest.mark.parametrize(
    ("value", "expected"), [(0, 0), (1, 1), (2, 2), (3, 2), (4, 2), (5, 0), (7, 0), (9, 2), (2**64 - 1, 3)]
)
def test_switches(value: int, expected: int) -> None:
    text = function(SWITCH, parameters="%i64", result="i32")
    assert run(text, value) == [expected]
    # One question for each place that it can lead to, neighbours together.
    assert names(body_of(text)).count("icmp") == 4
    known = function(SWITCH.replace("%p0", "%known"), result="i32", declarations=f"%known = OpConstant %i64 {value}")
    assert run(known) == [expected]
    assert len(body_of(known).blocks) == 1


def test_a_switch_that_meets_its_phis_directly() -> None:
    text = function(
        """
        OpSwitch %p0 %join 1 %join 5 %five
        %five = OpLabel
        OpBranch %join
        %join = OpLabel
        %r = OpPhi %i32 %c1 %entry %c7 %five
        OpReturnValue %r
        """,
        parameters="%i32",
        result="i32",
    )
    assert [run(text, value) for value in (0, 1, 5)] == [[1], [1], [7]]


LOOP = """
    OpBranch %head
    %head = OpLabel
    %i = OpPhi %i32 %c0 %entry %next %again
    %sum = OpPhi %i32 %c0 %entry %more %again
    %inside = OpULessThan %bool %i %p0
    OpBranchConditional %inside %work %exit
    %work = OpLabel
    %odd = OpBitwiseAnd %i32 %i %c1
    %is_odd = OpINotEqual %bool %odd %c0
    OpBranchConditional %is_odd %skip %take
    %take = OpLabel
    %taken = OpIAdd %i32 %sum %i
    OpBranch %again
    %skip = OpLabel
    OpBranch %again
    %again = OpLabel
    %more = OpPhi %i32 %sum %skip %taken %take
    %next = OpIAdd %i32 %i %c1
    OpBranch %head
    %exit = OpLabel
    OpReturnValue %sum
"""


def test_loops() -> None:
    text = function(LOOP, parameters="%i32", result="i32")
    assert run(text, 10) == [20]
    body = body_of(text)
    assert body.blocks[-1].successors == []


def test_a_branch_to_one_place_is_a_jump() -> None:
    text = function(
        "OpBranchConditional %p0 %a %a\n%a = OpLabel\nOpReturn",
        parameters="%bool",
    )
    assert len(body_of(text).blocks) == 1


def test_a_branch_that_is_known_forgets_the_other_way() -> None:
    text = function(
        """
        OpBranchConditional %true %a %b
        %a = OpLabel
        OpBranch %join
        %b = OpLabel
        OpBranch %join
        %join = OpLabel
        %r = OpPhi %i32 %c1 %a %c2 %b
        OpReturnValue %r
        """,
        result="i32",
    )
    assert run(text) == [1]
    assert len(body_of(text).blocks) == 1


CALLS = """
    %unary = OpTypeFunction %v2i32 %v2i32
    %bigger = OpFunction %v2i32 None %unary
    %x = OpFunctionParameter %v2i32
    %be = OpLabel
    %x0 = OpCompositeExtract %i32 %x 0
    %big = OpUGreaterThan %bool %x0 %c7
    OpBranchConditional %big %early %late
    %early = OpLabel
    OpReturnValue %x
    %late = OpLabel
    %y = OpFunctionCall %v2i32 %doubled %x
    OpReturnValue %y
    OpFunctionEnd
    %doubled = OpFunction %v2i32 None %unary
    %d = OpFunctionParameter %v2i32
    %de = OpLabel
    %dd = OpIAdd %v2i32 %d %d
    OpReturnValue %dd
    OpFunctionEnd
"""


def test_calls_are_resolved_each_on_its_own() -> None:
    text = function(
        "%a = OpFunctionCall %v2i32 %bigger %p0\n%b = OpFunctionCall %v2i32 %bigger %a\nOpReturnValue %b",
        parameters="%v2i32",
        result="v2i32",
        declarations=CALLS,
    )
    assert run(text, 3, 1) == [12, 4]
    assert run(text, 5, 1) == [10, 2]
    assert run(text, 9, 1) == [9, 1]
    assert "call" not in names(body_of(text))


def test_a_call_that_never_comes_back() -> None:
    text = function(
        "OpBranchConditional %p0 %a %b\n%a = OpLabel\n%r = OpFunctionCall %i32 %never\nOpReturnValue %r\n"
        "%b = OpLabel\nOpReturnValue %c7",
        parameters="%bool",
        result="i32",
        declarations="""
            %nullary = OpTypeFunction %i32
            %never = OpFunction %i32 None %nullary
            %ne = OpLabel
            OpUnreachable
            OpFunctionEnd
        """,
    )
    assert run(text, 0) == [7]
    assert names(body_of(text)).count("fault") == 1
    with pytest.raises(AssertionError, match="unreachable"):
        run(text, 1)


def test_endless_loops_have_no_end() -> None:
    text = function("OpBranch %loop\n%loop = OpLabel\nOpBranch %loop")
    body = body_of(text)
    assert body.blocks
    assert all(block.successors for block in body.blocks)


def chain(depth: int, calls: int, work: int = 0) -> str:
    """Functions that call the next one so many times."""
    lines = []
    for level in range(depth):
        lines += [f"%fn{level} = OpFunction %void None %nothing", f"%en{level} = OpLabel"]
        lines += [f"%w{level}_{n} = OpLoad %i32 %place Volatile" for n in range(work)]
        if level + 1 < depth:
            lines += [f"%r{level}_{n} = OpFunctionCall %void %fn{level + 1}" for n in range(calls)]
        lines += ["OpReturn", "OpFunctionEnd"]
    return "\n".join(lines)


def test_calls_have_a_limit_in_depth() -> None:
    declared = "%nothing = OpTypeFunction %void\n"
    text = function("%r = OpFunctionCall %void %fn0\nOpReturn", declarations=declared + chain(150, 1))
    assert names(body_of(text)) == []
    text = function("%r = OpFunctionCall %void %fn0\nOpReturn", declarations=declared + chain(300, 1))
    with pytest.raises(CompileError, match="called 200 calls deep"):
        body_of(text)


def test_calls_have_a_limit_in_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame, "LIMIT", frame.LIMIT // 20)
    declared = "%nothing = OpTypeFunction %void\n"
    text = function("%r = OpFunctionCall %void %fn0\nOpReturn", declarations=declared + chain(64, 2))
    with pytest.raises(CompileError, match="longer than"):
        body_of(text)


def library(name: str, result: str) -> str:
    return function(
        f"%r = OpIMul %i32 %p0 {result}\n%v = OpLoad %i32 %own\n%s = OpIAdd %i32 %r %v\nOpReturnValue %s",
        parameters="%i32",
        result="i32",
        declarations="%own = OpVariable %global_i32 CrossWorkgroup %c1",
    ).replace('"main"', f'"{name}"')


IMPORT = """
    %unary = OpTypeFunction %i32 %i32
    %outside = OpFunction %i32 None %unary
    %unused = OpFunctionParameter %i32
    OpFunctionEnd
"""


def test_imported_functions_come_from_linked_modules() -> None:
    found = kernel_module(
        "%r = OpFunctionCall %i32 %outside %c3\nOpStore %p0 %r\nOpReturn",
        parameters="%global_i32",
        functions=IMPORT,
        prologue='OpDecorate %outside LinkageAttributes "triple" Import',
    )
    with pytest.raises(CompileError, match=r'OpFunctionCall.*the function "triple" is in none of the modules'):
        translate.kernel(found, "k")
    made = translate.kernel(found, "k", [module(library("other", "%c2")), module(library("triple", "%c3"))])
    (variable,) = made.body.variables
    assert (variable.space, variable.module, variable.offset) == ("global", 2, 0)
    with pytest.raises(CompileError, match="none"):
        translate.kernel(found, "k", [module(library("other", "%c2"))])
    wrong = function("OpReturnValue %p0", parameters="%i64", result="i64").replace('"main"', '"triple"')
    with pytest.raises(CompileError, match="where it is exported"):
        translate.kernel(found, "k", [module(wrong)])


def test_functions_by_their_address() -> None:
    declared = """
        %unary = OpTypeFunction %v2i32 %v2i32
        %code_pointer = OpTypePointer CodeSectionINTEL %unary
        %code = OpConstantFunctionPointerINTEL %code_pointer %other
        %other = OpFunction %v2i32 None %unary
        %value = OpFunctionParameter %v2i32
        %other_entry = OpLabel
        OpReturnValue %value
        OpFunctionEnd
    """
    text = function(
        "%r = OpFunctionPointerCallINTEL %v2i32 %code %p0\nOpReturnValue %r",
        parameters="%v2i32",
        result="v2i32",
        declarations=declared,
    )
    body = body_of(text)
    (call,) = [op for op in body.ops if op.name == "call"]
    assert call.info.results == call.info.parameters == ("i32", "i32")
    assert call.args[0].name == "function"
    where, id_ = call.args[0].info
    assert where == 0
    assert names(translate.function(module(text), id_)) == ["parameter", "parameter", "result"]


def test_structures_by_value_are_copied_for_the_callee() -> None:
    declared = """
        %pair = OpTypeStruct %i32 %i32
        %private_pair = OpTypePointer Function %pair
        %taking = OpTypeFunction %i32 %private_pair
        %spoil = OpFunction %i32 None %taking
        %given = OpFunctionParameter %private_pair
        %se = OpLabel
        %m = OpInBoundsAccessChain %private_i32 %given %c1
        %old = OpLoad %i32 %m
        OpStore %m %c7
        OpReturnValue %old
        OpFunctionEnd
        %both = OpConstantComposite %pair %c1 %c2
    """
    body = """
        %v = OpVariable %private_pair Function %both
        %a = OpFunctionCall %i32 %spoil %v
        %b = OpFunctionCall %i32 %spoil %v
        %s = OpIAdd %i32 %a %b
        OpReturnValue %s
    """
    kept = function(body, result="i32", declarations=declared, prologue="OpDecorate %given FuncParamAttr ByVal")
    assert run(kept) == [4]
    assert run(function(body, result="i32", declarations=declared)) == [9]


def test_a_kernel_may_be_called_by_name_only_if_it_is_there() -> None:
    found = kernel_module("OpReturn")
    assert names(kernel(found).body) == []
    with pytest.raises(CompileError, match='no kernel "other"'):
        translate.kernel(found, "other")


def test_unreachable_blocks_are_left_out() -> None:
    text = f"""{PROLOGUE}
    OpDecorate %main LinkageAttributes "main" Export
    {TYPES}
    %main_type = OpTypeFunction %i32
    %main = OpFunction %i32 None %main_type
    %entry = OpLabel
    OpBranch %join
    %lost = OpLabel
    %x = OpIAdd %i32 %c1 %c2
    OpBranch %join
    %join = OpLabel
    %r = OpPhi %i32 %c7 %entry %x %lost
    OpReturnValue %r
    OpFunctionEnd
    """
    assert run(text) == [7]
    assert len(body_of(text).blocks) == 1
