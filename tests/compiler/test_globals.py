"""Variables of a module: where they lie, and what they begin with."""

from __future__ import annotations

import pytest

from anyzero.compiler.errors import CompileError
from anyzero.compiler.globals import layout
from anyzero.compiler.spirv import Module
from tests.compiler.translate.machine import Machine, Memory
from tests.compiler.translate.programs import kernel, kernel_module

DECLARED = """
    %array = OpTypeArray %i32 %c3
    %global_array = OpTypePointer CrossWorkgroup %array
    %constant_array = OpTypePointer UniformConstant %array
    %constant_i32 = OpTypePointer UniformConstant %i32
    %global_pointer = OpTypePointer CrossWorkgroup %global_i32
    %global_i8 = OpTypePointer CrossWorkgroup %i8
    %values = OpConstantComposite %array %c1 %c2 %c7
    %empty = OpVariable %global_i32 CrossWorkgroup
    %byte = OpVariable %global_i8 CrossWorkgroup %b5
    %b5 = OpConstant %i8 5
    %table = OpVariable %global_array CrossWorkgroup %values
    %third = OpSpecConstantOp %global_i32 InBoundsAccessChain %table %c2
    %pointer = OpVariable %global_pointer CrossWorkgroup %third
    %own = OpVariable %constant_array UniformConstant %values
    %shown = OpVariable %constant_array UniformConstant %values
"""
NAMES = """
    OpName %byte "byte"
    OpDecorate %table LinkageAttributes "table" Export
    OpDecorate %shown LinkageAttributes "shown" Export
    OpDecorate %empty Alignment 64
"""


def sample(body: str = "OpReturn", parameters: str = "") -> Module:
    return kernel_module(body, parameters=parameters, declarations=DECLARED, prologue=NAMES)


def test_the_block_holds_what_others_can_reach() -> None:
    found = layout(sample())
    assert found.alignment == 64
    assert found.names["table"][1] == 12
    assert set(found.names) == {"byte", "table", "shown"}
    for name, data in (("byte", bytes([5])), ("table", bytes([1, 0, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0]))):
        offset, size = found.names[name]
        assert found.image[offset : offset + size] == data
    ((at, target),) = found.relocations
    assert target == found.names["table"][0] + 8
    assert found.image[at : at + 8] == bytes(8)
    # What begins with zeros needs no room in the image.
    assert found.size == len(found.image) + found.size - len(found.image)
    assert len(found.image) < found.size
    assert len(found.offsets) == 5


def test_a_constant_of_its_own_lies_in_the_code() -> None:
    body = """
        %a = OpInBoundsAccessChain %constant_i32 %own %c2
        %b = OpInBoundsAccessChain %constant_i32 %shown %c1
        %x = OpLoad %i32 %a
        %y = OpLoad %i32 %b
        %p = OpLoad %global_i32 %pointer
        %z = OpLoad %i32 %p
        %s = OpIAdd %i32 %x %y
        %t = OpIAdd %i32 %s %z
        OpStore %p0 %t
        OpReturn
    """
    found = sample(body, "%global_i32")
    made, block = kernel(found), layout(found)
    spaces = {each.space for each in made.body.variables}
    assert spaces == {"constant", "global"}
    memory = Memory()
    image = bytearray(block.image.ljust(block.size, b"\0"))
    base = memory.place(image)
    for at, target in block.relocations:
        image[at : at + 8] = (base + target).to_bytes(8, "little")
    out = memory.place(4)
    Machine(made.body, out.to_bytes(8, "little"), memory, blocks={0: base}).run()
    assert memory.load(out, 4) == 7 + 2 + 7


def test_imported_variables_need_a_module_that_has_them() -> None:
    found = kernel_module(
        "OpStore %outside %c7\nOpReturn",
        declarations="%outside = OpVariable %global_i32 CrossWorkgroup",
        prologue='OpDecorate %outside LinkageAttributes "outside" Import',
    )
    assert layout(found).size == 0
    with pytest.raises(CompileError, match='the variable "outside" is in none'):
        kernel(found)


HOLDING = """
    %code = OpTypePointer CodeSectionINTEL %main_type
    %global_code = OpTypePointer CrossWorkgroup %code
    %address = OpConstantFunctionPointerINTEL %code %main
    %held = OpVariable %global_code CrossWorkgroup %address
    %there = OpTypePointer CrossWorkgroup %global_code
    %holder = OpVariable %there CrossWorkgroup %held
"""


def test_constants_that_lead_to_functions_stay_out_of_the_block() -> None:
    constant = "OpDecorate %held Constant\nOpDecorate %holder Constant"
    assert layout(kernel_module("OpReturn", declarations=HOLDING, prologue=constant)).size == 0


@pytest.mark.parametrize("constant", ["", "OpDecorate %held Constant"])
def test_variables_that_lead_to_functions_are_refused(constant: str) -> None:
    with pytest.raises(CompileError, match="only a constant can"):
        layout(kernel_module("OpReturn", declarations=HOLDING, prologue=constant))
