"""Branches, loops, phis, calls, and calls by address."""

from __future__ import annotations

import numpy as np
import pytest

from anyzero.compiler.reference import BadFunctionPointer, Fault, LimitReached, Missing, Unreachable, run
from tests.compiler.reference.kernels import kernel


def test_phis_change_all_at_once() -> None:
    body = """
        %n = OpUConvert %i32 %i
        OpBranch %loop
        %loop = OpLabel
        %a = OpPhi %i32 %c0 %entry %b %body
        %b = OpPhi %i32 %c1 %entry %sum %body
        %k = OpPhi %i32 %c0 %entry %next %body
        %more = OpULessThan %bool %k %n
        OpLoopMerge %exit %body None
        OpBranchConditional %more %body %exit
        %body = OpLabel
        %sum = OpIAdd %i32 %a %b
        %next = OpIAdd %i32 %k %c1
        OpBranch %loop
        %exit = OpLabel
        %to = OpInBoundsPtrAccessChain %global_i32 %p0 %i
        OpStore %to %a"""
    out = np.zeros(10, np.uint32)
    run(kernel(body, "%global_i32"), "main", [out], 10)
    assert out.tolist() == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]


def test_two_values_can_trade_places() -> None:
    body = """
        %n = OpUConvert %i32 %i
        OpBranch %loop
        %loop = OpLabel
        %a = OpPhi %i32 %c3 %entry %b %loop
        %b = OpPhi %i32 %c7 %entry %a %loop
        %k = OpPhi %i32 %c0 %entry %next %loop
        %next = OpIAdd %i32 %k %c1
        %more = OpULessThan %bool %k %n
        OpBranchConditional %more %loop %exit
        %exit = OpLabel
        %to = OpInBoundsPtrAccessChain %global_i32 %p0 %i
        OpStore %to %a"""
    out = np.zeros(4, np.uint32)
    run(kernel(body, "%global_i32"), "main", [out], 4)
    assert out.tolist() == [3, 7, 3, 7]


def test_switch() -> None:
    body = """
        %s = OpISub %i64 %i %l1
        OpSwitch %s %otherwise 0 %zero 0xFFFFFFFFFFFFFFFF %minus 2 %zero
        %zero = OpLabel
        OpBranch %join
        %minus = OpLabel
        OpBranch %join
        %otherwise = OpLabel
        OpBranch %join
        %join = OpLabel
        %v = OpPhi %i32 %c1 %zero %c2 %minus %c3 %otherwise
        %to = OpInBoundsPtrAccessChain %global_i32 %p0 %i
        OpStore %to %v"""
    out = np.zeros(5, np.uint32)
    run(kernel(body, "%global_i32"), "main", [out], 5)
    assert out.tolist() == [2, 1, 3, 1, 3]


FUNCTIONS = """
    %unary = OpTypeFunction %i32 %i32
    %twice = OpFunction %i32 None %unary
    %x = OpFunctionParameter %i32
    %b0 = OpLabel
    %x2 = OpIAdd %i32 %x %x
    OpReturnValue %x2
    OpFunctionEnd
    %quad = OpFunction %i32 None %unary
    %y = OpFunctionParameter %i32
    %b1 = OpLabel
    %mine = OpVariable %private_i32 Function
    OpStore %mine %y
    %y1 = OpLoad %i32 %mine
    %y2 = OpFunctionCall %i32 %twice %y1
    %y4 = OpFunctionCall %i32 %twice %y2
    OpReturnValue %y4
    OpFunctionEnd"""


def test_calls() -> None:
    body = """
        %k = OpUConvert %i32 %i
        %v = OpFunctionCall %i32 %quad %k
        %to = OpInBoundsPtrAccessChain %global_i32 %p0 %i
        OpStore %to %v"""
    out = np.zeros(5, np.uint32)
    run(kernel(body, "%global_i32", functions=FUNCTIONS), "main", [out], 5)
    assert out.tolist() == [0, 4, 8, 12, 16]


def test_a_structure_by_value_is_the_callees_own() -> None:
    functions = """
        %taking = OpTypeFunction %i32 %private_i32
        %change = OpFunction %i32 None %taking
        %x = OpFunctionParameter %private_i32
        %b0 = OpLabel
        %old = OpLoad %i32 %x
        OpStore %x %c7
        OpReturnValue %old
        OpFunctionEnd"""
    body = """
        %mine = OpVariable %private_i32 Function %c3
        %v = OpFunctionCall %i32 %change %mine
        %kept = OpLoad %i32 %mine
        %both = OpIMul %i32 %v %kept
        OpStore %p0 %both"""
    out = np.zeros(1, np.uint32)
    run(
        kernel(body, "%global_i32", prologue="OpDecorate %x FuncParamAttr ByVal", functions=functions), "main", [out], 1
    )
    assert out[0] == 9
    run(kernel(body, "%global_i32", functions=functions), "main", [out], 1)
    assert out[0] == 21


CODE = """
    %code = OpTypePointer CodeSectionINTEL %unary
    %to_twice = OpConstantFunctionPointerINTEL %code %twice
    %to_quad = OpConstantFunctionPointerINTEL %code %quad
    %codes = OpTypeArray %code %c2
    %to_codes = OpTypePointer CrossWorkgroup %codes
    %to_code = OpTypePointer CrossWorkgroup %code
    %both = OpConstantComposite %codes %to_twice %to_quad
    %table = OpVariable %to_codes CrossWorkgroup %both"""
BY_ADDRESS = """
    %k = OpUConvert %i32 %i
    %odd = OpBitwiseAnd %i32 %k %c1
    %place = OpInBoundsAccessChain %to_code %table %odd
    %pointer = OpLoad %code %place
    %v = OpFunctionPointerCallINTEL %i32 %pointer %k
    %to = OpInBoundsPtrAccessChain %global_i32 %p0 %i
    OpStore %to %v"""


def test_calls_by_address() -> None:
    out = np.zeros(5, np.uint32)
    made = kernel(BY_ADDRESS, "%global_i32", declarations=CODE, functions=FUNCTIONS)
    run(made, "main", [out], 5)
    assert out.tolist() == [0, 4, 4, 12, 8]


def test_an_address_that_is_no_functions() -> None:
    body = """
        %pointer = OpConvertUToPtr %code %i
        %v = OpFunctionPointerCallINTEL %i32 %pointer %c1"""
    with pytest.raises(BadFunctionPointer, match="calls 0x0"):
        run(kernel(body, "", declarations=CODE, functions=FUNCTIONS), "main", [], 1)


def test_calls_by_address_that_never_come_back() -> None:
    functions = """
        %nullary = OpTypeFunction %void
        %again = OpFunction %void None %nullary
        %b0 = OpLabel
        %nothing = OpFunctionPointerCallINTEL %void %to_again
        OpReturn
        OpFunctionEnd"""
    declarations = """
        %code = OpTypePointer CodeSectionINTEL %nullary
        %to_again = OpConstantFunctionPointerINTEL %code %again"""
    body = "%nothing2 = OpFunctionCall %void %again"
    with pytest.raises(LimitReached, match="deep"):
        run(kernel(body, "", declarations, functions=functions), "main", [], 1)


def test_a_function_of_another_module() -> None:
    functions = """
        %unary = OpTypeFunction %i32 %i32
        %outside = OpFunction %i32 None %unary
        %x = OpFunctionParameter %i32
        OpFunctionEnd"""
    prologue = 'OpDecorate %outside LinkageAttributes "outside" Import'
    made = kernel("%v = OpFunctionCall %i32 %outside %c1", "", prologue=prologue, functions=functions)
    with pytest.raises(Missing, match="outside"):
        run(made, "main", [], 1)


def test_unreachable_is_not_reached() -> None:
    body = """
        %low = OpULessThan %bool %i %l1
        OpBranchConditional %low %fine %never
        %never = OpLabel
        OpUnreachable
        %fine = OpLabel"""
    made = kernel(body)
    run(made, "main", [], 1)
    with pytest.raises(Unreachable) as caught:
        run(made, "main", [], 2)
    assert caught.value.item == (1, 0, 0)
    assert "OpUnreachable" in caught.value.where


def test_a_loop_without_end_ends() -> None:
    body = """
        OpBranch %loop
        %loop = OpLabel
        OpBranchConditional %true %loop %exit
        %exit = OpLabel"""
    with pytest.raises(LimitReached) as caught:
        run(kernel(body), "main", [], 1, limit=1000)
    assert isinstance(caught.value, Fault)
