"""Kernels: arguments, builtin variables, the module's variables, and what a launch has to know."""

from __future__ import annotations

from pathlib import Path

import pytest

from anyzero.compiler import translate
from anyzero.compiler.errors import CompileError
from anyzero.compiler.ir import Op
from anyzero.compiler.spirv import read, verify
from anyzero.compiler.transform.check import check
from anyzero.compiler.transform.mem2reg import mem2reg
from tests.compiler.samples import MODULES
from tests.compiler.translate.machine import Machine, Memory, bits, number
from tests.compiler.translate.programs import kernel, kernel_module, names

KERNELS = Path(__file__).parents[2] / "kernels"


def only(made: translate.Translation, name: str) -> Op:
    (found,) = [op for op in made.body.ops if op.name == name]
    return found


def test_arguments_are_packed_by_their_own_alignment() -> None:
    found = read(MODULES["mixed"])
    verify(found)
    made = kernel(found, "mixed")
    assert [(each.kind, each.size, each.offset, each.alignment) for each in made.arguments] == [
        ("value", 64, 0, 16),
        ("local", 8, 64, 8),
        ("global", 8, 72, 8),
        ("value", 1, 80, 1),
    ]
    assert made.args_bytes == 88
    assert made.uses.barriers
    assert made.uses.local
    assert made.kernel.required_group_size == (64, 1, 1)


def test_vectors_and_truth_values_as_arguments() -> None:
    found = kernel_module(
        "OpStore %p0 %p2\nOpReturn",
        parameters="%out %bool %v3f32",
        declarations="%out = OpTypePointer CrossWorkgroup %v3f32",
    )
    made = kernel(found)
    assert [each.offset for each in made.arguments] == [0, 8, 16]
    assert made.arguments[2].size == 16
    assert [op.info for op in made.body.ops if op.name == "argument"] == [0, 16, 20, 24]


STRUCT = """
    %pair = OpTypeStruct %i32 %i32
    %private_pair = OpTypePointer Function %pair
"""
BY_VALUE = "OpDecorate %p1 FuncParamAttr ByVal"
READ = "%m = OpInBoundsAccessChain %private_i32 %p1 %c1\n%v = OpLoad %i32 %m\nOpStore %p0 %v\n"


def test_a_structure_that_is_only_read_stays_among_the_arguments() -> None:
    parameters = "%global_i32 %private_pair"
    found = kernel_module(READ + "OpReturn", parameters=parameters, declarations=STRUCT, prologue=BY_VALUE)
    made = kernel(found)
    assert made.body.variables == []
    assert only(made, "argument_address").info == 8
    assert only(made, "load").info.space == "constant"
    written = f"%n = OpInBoundsAccessChain %private_i32 %p1 %c1\nOpStore %n %c7\n{READ}OpReturn"
    made = kernel(kernel_module(written, parameters=parameters, declarations=STRUCT, prologue=BY_VALUE))
    assert [each.space for each in made.body.variables] == ["private"]
    assert only(made, "copy").args[1].name == "argument_address"
    mem2reg(made.body)
    check(made.body)
    assert made.body.variables == []
    assert only(made, "store").args[1].info == 7


def builtin_kernel(name: str, type_: str, body: str, **more: str) -> translate.Translation:
    declared = f"%pointer = OpTypePointer Input {type_}\n%b = OpVariable %pointer Input"
    prologue = f"OpDecorate %b BuiltIn {name}\n" + more.pop("prologue", "")
    return kernel(
        kernel_module(
            f"{body}\nOpReturn",
            parameters="%out %i64",
            declarations=f"{declared}\n%out = OpTypePointer CrossWorkgroup %i64\n{more.pop('declarations', '')}",
            prologue=prologue,
            interface="%b",
            **more,
        )
    )


def run_one(made: translate.Translation, index: int = 0) -> int:
    memory = Memory()
    out = memory.place(8)
    arguments = out.to_bytes(8, "little") + index.to_bytes(8, "little")
    grid = {(name, dimension): value for name, values in GRID.items() for dimension, value in enumerate(values)}
    Machine(made.body, arguments, memory, grid).run()
    return memory.load(out, 8)


GRID = {
    "global_id": (105, 17, 9),
    "global_offset": (100, 10, 1),
    "global_size": (64, 32, 16),
    "group_size": (8, 4, 2),
    "group_count": (8, 8, 8),
    "group_id": (0, 1, 4),
    "local_id": (5, 3, 1),
    "work_dim": (3,),
    "sub_group_local_id": (5,),
    "sub_group_max_size": (16,),
}

WHOLE = "%v = OpLoad %v3i64 %b\n%x = OpCompositeExtract %i64 %v 1\nOpStore %p0 %x"
COMPONENT = "%c = OpInBoundsAccessChain %input_i64 %b %c1\n%x = OpLoad %i64 %c\nOpStore %p0 %x"
CHOSEN = "%c = OpInBoundsAccessChain %input_i64 %b %p1\n%x = OpLoad %i64 %c\nOpStore %p0 %x"
CAST = """
    %bytes = OpBitcast %input_i8 %b
    %further = OpInBoundsPtrAccessChain %input_i8 %bytes %l8
    %again = OpBitcast %input_i64 %further
    %x = OpLoad %i64 %again
    OpStore %p0 %x
"""
HALVES = """
    %bytes = OpBitcast %input_i32 %b
    %further = OpInBoundsPtrAccessChain %input_i32 %bytes %c2
    %h = OpLoad %i32 %further
    %x = OpUConvert %i64 %h
    OpStore %p0 %x
"""
ANYWHERE = """
    %bytes = OpBitcast %input_i8 %b
    %further = OpInBoundsPtrAccessChain %input_i8 %bytes %p1
    %h = OpLoad %i8 %further
    %x = OpUConvert %i64 %h
    OpStore %p0 %x
"""
POINTERS = """
    %input_i64 = OpTypePointer Input %i64
    %input_i32 = OpTypePointer Input %i32
    %input_i8 = OpTypePointer Input %i8
    %l8 = OpConstant %i64 8
"""


@pytest.mark.parametrize("body", [WHOLE, COMPONENT, CAST, HALVES])
def test_builtin_variables_however_they_are_read(body: str) -> None:
    made = builtin_kernel("GlobalInvocationId", "%v3i64", body, declarations=POINTERS)
    assert run_one(made) == 17
    assert made.body.variables == []
    assert made.uses.builtins == {"global_id"}


@pytest.mark.parametrize("index", range(3))
def test_a_dimension_that_is_a_value_is_chosen(index: int) -> None:
    made = builtin_kernel("LocalInvocationId", "%v3i64", CHOSEN, declarations=POINTERS)
    assert run_one(made, index) == GRID["local_id"][index]
    assert made.body.variables == []


def test_a_builtin_variable_read_byte_by_byte_lies_in_memory() -> None:
    made = builtin_kernel("GlobalInvocationId", "%v3i64", ANYWHERE, declarations=POINTERS)
    assert [run_one(made, index) for index in (0, 8, 9, 16)] == [105, 17, 0, 9]
    assert [each.space for each in made.body.variables] == ["private"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("LocalInvocationIndex", (1 * 4 + 3) * 8 + 5),
        ("GlobalLinearId", (8 * 32 + 7) * 64 + 5),
        ("WorkDim", 3),
        ("SubgroupLocalInvocationId", 5),
    ],
)
def test_single_builtin_variables(name: str, expected: int) -> None:
    for width in (32, 64):
        body = f"%n = OpLoad %i{width} %b\n%x = OpUConvert %i64 %n\nOpStore %p0 %x"
        assert run_one(builtin_kernel(name, f"%i{width}", body)) == expected


@pytest.mark.parametrize(("name", "mask"), [("Eq", 0x20), ("Lt", 0x1F), ("Le", 0x3F), ("Ge", 0xFFE0), ("Gt", 0xFFC0)])
def test_masks_of_a_sub_group(name: str, mask: int) -> None:
    body = "%v = OpLoad %v4i32 %b\n%n = OpCompositeExtract %i32 %v 0\n%x = OpUConvert %i64 %n\nOpStore %p0 %x"
    made = builtin_kernel(f"Subgroup{name}Mask", "%v4i32", body)
    assert run_one(made) == mask
    assert made.uses.sub_groups


def test_a_group_size_that_is_required_is_known() -> None:
    made = builtin_kernel("WorkgroupSize", "%v3i64", WHOLE, prologue="OpExecutionMode %main LocalSize 16 4 2")
    assert run_one(made) == 4
    assert "builtin" not in names(made.body)


def test_local_memory_is_laid_out_with_room_for_vectors() -> None:
    declared = """
        %small = OpTypePointer Workgroup %i8
        %a = OpVariable %small Workgroup
        %b = OpVariable %local_i32 Workgroup
        %unused = OpVariable %local_i32 Workgroup
    """
    found = kernel_module(
        "%x = OpLoad %i8 %a\nOpStore %b %c7\nOpStore %a %x\nOpReturn",
        declarations=declared,
    )
    made = kernel(found)
    assert {each.offset for each in made.body.variables} == {0, 16}
    assert made.local_bytes in (17, 20)
    zeros = kernel_module("OpStore %a %c7\nOpReturn", declarations="%a = OpVariable %local_i32 Workgroup %c0")
    assert [each.image for each in kernel(zeros).body.variables if each.space == "local"] == [b""]
    address = """
        %word = OpVariable %global_i32 CrossWorkgroup %c0
        %to_pointer = OpTypePointer Workgroup %global_i32
        %a = OpVariable %to_pointer Workgroup %word
    """
    pointer = kernel_module("%x = OpLoad %global_i32 %a\nOpReturn", declarations=address)
    with pytest.raises(CompileError, match="cannot begin with addresses"):
        kernel(pointer)


def test_private_variables_of_a_module_begin_anew_for_each_work_item() -> None:
    declared = "%mine = OpTypePointer Private %i32\n%counter = OpVariable %mine Private %c7"
    found = kernel_module(
        "%x = OpLoad %i32 %counter\n%y = OpIAdd %i32 %x %c1\nOpStore %counter %y\nOpStore %p0 %y\nOpReturn",
        parameters="%global_i32",
        declarations=declared,
    )
    made = kernel(found)
    memory = Memory()
    out = memory.place(4)
    machine = Machine(made.body, out.to_bytes(8, "little"), memory)
    for _ in range(2):
        machine.run()
        assert memory.load(out, 4) == 8


def test_contraction_can_be_forbidden() -> None:
    body = "%r = OpFMul %f32 %half %p1\nOpStore %p0 %r\nOpReturn"
    for mode, flags in (("", "contract"), ("OpExecutionMode %main ContractionOff", "")):
        made = kernel(kernel_module(body, parameters="%global_f32 %f32", prologue=mode))
        assert only(made, "fmul").flags == flags


def modules() -> list[Path]:
    return sorted(KERNELS.glob("*.spv"))


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.name)
def test_every_kernel_of_the_suite_translates(path: Path) -> None:
    found = read(path.read_bytes())
    for name in found.kernels:
        made = kernel(found, name)
        mem2reg(made.body)
        check(made.body)


@pytest.mark.parametrize("name", ["saxpy.spv", "saxpy.O0.spv"])
def test_saxpy(name: str) -> None:
    made = kernel(read((KERNELS / name).read_bytes()), "saxpy")
    for promoted in (False, True):
        if promoted:
            mem2reg(made.body)
        memory = Memory()
        x, y = (
            memory.place(b"".join(bits(float(n * k), "float").to_bytes(4, "little") for n in range(8))) for k in (1, 10)
        )
        arguments = bytearray(made.args_bytes)
        for each, value in zip(made.arguments, (y, x, bits(2.0, "float"), 6), strict=True):
            arguments[each.offset : each.offset + each.size] = value.to_bytes(each.size, "little")
        for index in range(8):
            Machine(made.body, bytes(arguments), memory, {("global_id", 0): index}).run()
        found = [number(memory.load(y + n * 4, 4), "float") for n in range(8)]
        assert found == [n * 12.0 if n < 6 else n * 10.0 for n in range(8)]
