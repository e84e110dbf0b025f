"""Functions that are called by their address, compiled."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from anyzero.compiler import pipeline
from anyzero.compiler.compiled import Options
from anyzero.compiler.errors import CompileError
from anyzero.compiler.globals import layout_globals
from anyzero.compiler.reference import run
from anyzero.compiler.spirv import Module
from tests.compiler.agreement.cases import globals_of
from tests.compiler.agreement.isolation import isolated
from tests.compiler.loading import load
from tests.compiler.native import Loaded
from tests.compiler.reference.kernels import kernel
from tests.compiler.reference.test_control import FUNCTIONS

CODE = """
    %code = OpTypePointer CodeSectionINTEL %unary
    %to_twice = OpConstantFunctionPointerINTEL %code %twice
    %to_quad = OpConstantFunctionPointerINTEL %code %quad"""
VARYING = """
    %k = OpUConvert %i32 %i
    %bit = OpBitwiseAnd %i32 %k %c1
    %odd = OpINotEqual %bool %bit %c0
    %pointer = OpSelect %code %odd %to_quad %to_twice
    %v = OpFunctionPointerCallINTEL %i32 %pointer %k
    %to = OpInBoundsPtrAccessChain %global_i32 %p0 %i
    OpStore %to %v"""
UNIFORM = VARYING.replace("%bit = OpBitwiseAnd %i32 %k %c1", "%bit = OpBitwiseAnd %i32 %c1 %c1")


@pytest.mark.parametrize("lanes", [1, 8, 16, None])
@pytest.mark.parametrize("body", [VARYING, UNIFORM], ids=["varying", "uniform"])
def test_lanes_call_the_function_they_point_to(body: str, lanes: int | None) -> None:
    _agree(kernel(body, "%global_i32", declarations=CODE, functions=FUNCTIONS), lanes)


def _agree(module: Module, lanes: int | None) -> np.ndarray:
    wanted, found = np.zeros(37, np.uint32), np.zeros(37, np.uint32)
    run(module, "main", [wanted], 37)
    compiled = pipeline.compile_kernel(module, "main", Options(lanes=lanes))
    Loaded(compiled, globals_of(module))([found], (37,), (37,))
    assert found.tolist() == wanted.tolist()
    return found


TABLE = f"""
    {CODE}
    %codes = OpTypeArray %code %c2
    %row = OpTypeStruct %i32 %codes %global_i32 %i8
    %to_row = OpTypePointer {{space}} %row
    %to_code = OpTypePointer {{space}} %code
    %to_number = OpTypePointer {{space}} %i32
    %to_pointer = OpTypePointer {{space}} %global_i32
    %shared = OpVariable %global_i32 CrossWorkgroup %c7
    %five = OpConstant %i8 5
    %both = OpConstantComposite %codes %to_twice %to_quad
    %row_values = OpConstantComposite %row %c3 %both %shared %five
    %table = OpVariable %to_row {{space}} %row_values
    %to_to_row = OpTypePointer {{space}} %to_row
    %object = OpVariable %to_to_row {{space}} %table"""
BY_TABLE = """
    %k = OpUConvert %i32 %i
    %odd = OpBitwiseAnd %i32 %k %{mask}
    %rows = OpLoad %to_row %object
    %place = OpInBoundsAccessChain %to_code %{rows} %c1 %odd
    %pointer = OpLoad %code %place
    %v = OpFunctionPointerCallINTEL %i32 %pointer %k
    %first = OpInBoundsAccessChain %to_number %table %c0
    %three = OpLoad %i32 %first
    %third = OpInBoundsAccessChain %to_pointer %rows %c2
    %other = OpLoad %global_i32 %third
    %seven = OpLoad %i32 %other
    %part = OpIMul %i32 %three %seven
    %whole = OpIAdd %i32 %v %part
    %to = OpInBoundsPtrAccessChain %global_i32 %p0 %i
    OpStore %to %whole"""


@pytest.mark.parametrize("lanes", [1, 8, 16, None])
@pytest.mark.parametrize("mask", ["c1", "c0"], ids=["varying", "known"])
@pytest.mark.parametrize("rows", ["table", "rows"], ids=["direct", "through a pointer"])
@pytest.mark.parametrize("space", ["UniformConstant", "CrossWorkgroup"])
def test_functions_are_found_in_constant_tables(space: str, rows: str, mask: str, lanes: int | None) -> None:
    constant = "OpDecorate %table Constant\nOpDecorate %object Constant" if space == "CrossWorkgroup" else ""
    module = kernel(
        BY_TABLE.format(rows=rows, mask=mask),
        "%global_i32",
        declarations=TABLE.format(space=space),
        prologue=f'{constant}\nOpDecorate %table LinkageAttributes "table" Export',
        functions=FUNCTIONS,
    )
    found = _agree(module, lanes)
    assert found[:5].tolist() == [21, 25 if mask == "c1" else 23, 25, 33 if mask == "c1" else 27, 29]


def test_a_table_that_could_be_written_to_is_refused() -> None:
    module = kernel("", declarations=TABLE.format(space="CrossWorkgroup"), functions=FUNCTIONS)
    with pytest.raises(CompileError, match="only a constant can"):
        layout_globals(module)


GENERIC = f"""
    {CODE}
    %generic = OpTypePointer Generic %unary
    %generics = OpTypeArray %generic %c2
    %any_twice = OpSpecConstantOp %generic PtrCastToGeneric %to_twice
    %any_quad = OpSpecConstantOp %generic PtrCastToGeneric %to_quad
    %both = OpConstantComposite %generics %any_twice %any_quad
    %to_generics = OpTypePointer CrossWorkgroup %generics
    %to_generic = OpTypePointer CrossWorkgroup %generic
    %table = OpVariable %to_generics CrossWorkgroup %both"""
VIRTUAL = """
    %k = OpUConvert %i32 %i
    %odd = OpBitwiseAnd %i32 %k %c1
    %place = OpInBoundsAccessChain %to_generic %table %odd
    %any = OpLoad %generic %place
    %pointer = OpGenericCastToPtr %code %any
    %v = OpFunctionPointerCallINTEL %i32 %pointer %k
    %to = OpInBoundsPtrAccessChain %global_i32 %p0 %i
    OpStore %to %v"""


@pytest.mark.parametrize("lanes", [1, 8, 16])
def test_tables_may_hold_generic_pointers(lanes: int) -> None:
    module = kernel(VIRTUAL, "%global_i32", GENERIC, "OpDecorate %table Constant", FUNCTIONS)
    assert _agree(module, lanes)[:4].tolist() == [0, 4, 4, 12]


OTHERS = """
    {declared}
    %codes = OpTypeArray %code %c2
    %to_codes = OpTypePointer CrossWorkgroup %codes
    %to_code = OpTypePointer CrossWorkgroup %code
    %table = OpVariable %to_codes CrossWorkgroup {contents}"""


@pytest.mark.parametrize("lanes", [1, 8])
def test_a_table_may_come_from_another_module(lanes: int) -> None:
    body = """
        %k = OpUConvert %i32 %i
        %odd = OpBitwiseAnd %i32 %k %c1
        %place = OpInBoundsAccessChain %to_code %table %odd
        %pointer = OpLoad %code %place
        %v = OpFunctionPointerCallINTEL %i32 %pointer %k
        %to = OpInBoundsPtrAccessChain %global_i32 %p0 %i
        OpStore %to %v"""
    constant = 'OpDecorate %table Constant\nOpDecorate %table LinkageAttributes "table" {kind}'
    typed = "%unary = OpTypeFunction %i32 %i32\n%code = OpTypePointer CodeSectionINTEL %unary"
    user = kernel(body, "%global_i32", OTHERS.format(declared=typed, contents=""), constant.format(kind="Import"))
    composite = f"{CODE}\n%both = OpConstantComposite %codes %to_quad %to_twice"
    giver = kernel(
        "", "", OTHERS.format(declared=composite, contents="%both"), constant.format(kind="Export"), FUNCTIONS
    )
    found = np.zeros(37, np.uint32)
    compiled = pipeline.compile_kernel(user, "main", Options(lanes=lanes), [giver])
    Loaded(compiled)([found], (37,), (37,))
    assert found.tolist() == [k * (2 if k % 2 else 4) for k in range(37)]


GIVEN = """
    %k = OpUConvert %i32 %i
    %v = OpFunctionPointerCallINTEL %i32 %p1 %k
    %to = OpInBoundsPtrAccessChain %global_i32 %p0 %i
    OpStore %to %v"""


def _called(lanes: int, function_lanes: int) -> list[int]:
    code = "%code = OpTypePointer CodeSectionINTEL %unary"
    exported = 'OpDecorate %quad LinkageAttributes "quad" Export'
    module = kernel(GIVEN, "%global_i32 %code", code, exported, FUNCTIONS)
    function = pipeline.compile_function(module, "quad", Options(lanes=function_lanes))
    library = load(function.object)
    address = ctypes.cast(library[function.entry], ctypes.c_void_p).value
    found = np.zeros(37, np.uint32)
    loaded = Loaded(pipeline.compile_kernel(module, "main", Options(lanes=lanes)))
    loaded([found, address], (37,), (37,))
    return found.tolist()


@pytest.mark.parametrize("lanes", [1, 8, 16])
def test_a_function_of_its_own_is_called_by_the_address_that_a_host_was_given(lanes: int) -> None:
    assert isolated(lambda: _called(lanes, lanes)).value == [4 * k for k in range(37)]


@pytest.mark.parametrize(("lanes", "function_lanes"), [(8, 16), (16, 8), (1, 8)])
def test_a_function_for_another_number_of_lanes_is_none(lanes: int, function_lanes: int) -> None:
    outcome = isolated(lambda: _called(lanes, function_lanes))
    assert outcome.value is None
    assert outcome.trouble == "ended by SIGABRT"
