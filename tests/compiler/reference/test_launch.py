"""Launches: ids, sizes, arguments of every kind, and what is refused; and the faults of kernels."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from anyzero.compiler.reference import (
    BadArgument,
    DivisionByZero,
    Fault,
    LimitReached,
    Local,
    Memory,
    OutOfBounds,
    ReadOnly,
    run,
)
from tests.compiler.reference.kernels import Array, kernel, module
from tests.compiler.samples import PROLOGUE, SAXPY, TYPES


def builtin(name: str, type_: str, *launch: Any, **options: Any) -> Array:
    """The variable as every work-item finds it, by linear id."""
    body = f"""
        %linear = OpLoad %i64 %number
        %value = OpLoad {type_} %variable
        %to = OpInBoundsPtrAccessChain %to_type %p0 %linear
        OpStore %to %value"""
    declarations = f"""
        %input = OpTypePointer Input {type_}
        %input_i64 = OpTypePointer Input %i64
        %variable = OpVariable %input Input
        %number = OpVariable %input_i64 Input
        %to_type = OpTypePointer CrossWorkgroup {type_}"""
    prologue = f"""
        OpDecorate %variable BuiltIn {name}
        OpDecorate %number BuiltIn GlobalLinearId"""
    counts = {"%i64": (1, np.uint64), "%i32": (1, np.uint32), "%v3i64": (4, np.uint64), "%v4i32": (4, np.uint32)}
    count, dtype = counts[type_]
    out = np.zeros((np.prod(launch[0]), count), dtype)
    run(kernel(body, "%to_type", declarations, prologue), "main", [out], *launch, **options)
    return out[:, :3] if type_ == "%v3i64" else out


def test_ids_and_sizes() -> None:
    launch = (4, 2, 2), (2, 2, 1), (10, 0, 5)
    for name, expected in [
        ("NumWorkgroups", [2, 1, 2]),
        ("WorkgroupSize", [2, 2, 1]),
        ("EnqueuedWorkgroupSize", [2, 2, 1]),
        ("GlobalSize", [4, 2, 2]),
        ("GlobalOffset", [10, 0, 5]),
    ]:
        assert builtin(name, "%v3i64", *launch).tolist() == [expected] * 16
    ids = [[x, y, z] for z in range(2) for y in range(2) for x in range(4)]
    assert builtin("GlobalInvocationId", "%v3i64", *launch).tolist() == [[x + 10, y, z + 5] for x, y, z in ids]
    assert builtin("LocalInvocationId", "%v3i64", *launch).tolist() == [[x % 2, y, 0] for x, y, z in ids]
    assert builtin("WorkgroupId", "%v3i64", *launch).tolist() == [[x // 2, 0, z] for x, y, z in ids]
    assert builtin("LocalInvocationIndex", "%i64", *launch).ravel().tolist() == [x % 2 + 2 * y for x, y, z in ids]
    assert builtin("WorkDim", "%i32", *launch).ravel().tolist() == [3] * 16
    assert builtin("WorkDim", "%i32", (4, 1, 1), 4).ravel().tolist() == [1] * 4


def test_sub_groups_of_a_launch() -> None:
    launch: dict[str, Any] = {"sub_group_size": 4}
    size = [4, 4, 4, 4, 2, 2]
    assert builtin("SubgroupSize", "%i32", 6, 6, **launch).ravel().tolist() == size
    assert builtin("SubgroupMaxSize", "%i32", 6, 6, **launch).ravel().tolist() == [4] * 6
    assert builtin("NumSubgroups", "%i32", 6, 6, **launch).ravel().tolist() == [2] * 6
    assert builtin("NumEnqueuedSubgroups", "%i32", 6, 6, **launch).ravel().tolist() == [2] * 6
    assert builtin("SubgroupId", "%i32", 6, 6, **launch).ravel().tolist() == [0, 0, 0, 0, 1, 1]
    assert builtin("SubgroupLocalInvocationId", "%i32", 6, 6, **launch).ravel().tolist() == [0, 1, 2, 3, 0, 1]
    for name, expected in [
        ("Eq", [1, 2, 4, 8, 1, 2]),
        ("Ge", [15, 14, 12, 8, 15, 14]),
        ("Gt", [14, 12, 8, 0, 14, 12]),
        ("Le", [1, 3, 7, 15, 1, 3]),
        ("Lt", [0, 1, 3, 7, 0, 1]),
    ]:
        found = builtin(f"Subgroup{name}Mask", "%v4i32", 6, 6, **launch)
        assert found.tolist() == [[each, 0, 0, 0] for each in expected]


def test_masks_of_wide_sub_groups() -> None:
    found = builtin("SubgroupLtMask", "%v4i32", 64, 64, sub_group_size=64)
    assert found[40].tolist() == [0xFFFFFFFF, 0xFF, 0, 0]


def test_a_component_of_a_builtin_by_address() -> None:
    body = """
        %at = OpInBoundsAccessChain %input_i64 %gid %c1
        %y = OpLoad %i64 %at
        OpStore %p0 %y"""
    declarations = "%input_i64 = OpTypePointer Input %i64\n%to_i64 = OpTypePointer CrossWorkgroup %i64"
    out = np.zeros(1, np.uint64)
    run(kernel(body, "%to_i64", declarations), "main", [out], (1, 1), offset=(0, 9))
    assert out[0] == 9


@pytest.mark.parametrize(
    ("type_", "given", "bytes_"),
    [
        ("%i8", -1, b"\xff"),
        ("%i16", np.int16(-2), b"\xfe\xff"),
        ("%i64", 2**63, struct.pack("<Q", 2**63)),
        ("%f32", 0.1, struct.pack("<f", 0.1)),
        ("%f16", np.float16(1.5), b"\0\x3e"),
        ("%f64", 1, struct.pack("<d", 1.0)),
        ("%bool", True, b"\1"),
        ("%v4i32", (1, 2, 3, -4), struct.pack("<4i", 1, 2, 3, -4)),
        ("%v4f32", np.arange(4, dtype=np.float32), struct.pack("<4f", 0, 1, 2, 3)),
        ("%v3f32", struct.pack("<4f", 1, 2, 3, 4), struct.pack("<4f", 1, 2, 3, 0)),
        ("%pair", struct.pack("<b3xf", 5, 1.5), struct.pack("<b3xf", 5, 1.5)),
        ("%i32", b"\1\2\3\4", b"\1\2\3\4"),
    ],
)
def test_values(type_: str, given: Any, bytes_: bytes) -> None:
    declarations = f"%pair = OpTypeStruct %i8 %f32\n%to_type = OpTypePointer CrossWorkgroup {type_}"
    out = np.zeros(len(bytes_), np.uint8)
    run(kernel("OpStore %p0 %p1", f"%to_type {type_}", declarations), "main", [out, given], 1)
    assert out.tobytes() == bytes_


def test_a_structure_by_value_is_every_items_own() -> None:
    body = """
        %member = OpInBoundsAccessChain %private_i32 %p1 %c1
        %old = OpLoad %i32 %member
        %new = OpIAdd %i32 %old %c1
        OpStore %member %new
        %to = OpInBoundsPtrAccessChain %global_i32 %p0 %i
        OpStore %to %new"""
    declarations = "%pair = OpTypeStruct %i64 %i32\n%private_pair = OpTypePointer Function %pair"
    made = kernel(body, "%global_i32 %private_pair", declarations, "OpDecorate %p1 FuncParamAttr ByVal")
    out = np.zeros(3, np.uint32)
    run(made, "main", [out, struct.pack("<qi4x", 1, 41)], 3)
    assert out.tolist() == [42] * 3


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        ([], "has 4 parameters and got 0"),
        ([1.5, None, 1.0, 1], 'argument 0 "y" is a pointer and takes an array or an address, not a float'),
        ([np.zeros((4, 4), np.float32)[:, :2], None, 1.0, 1], "contiguous"),
        ([None, None, "x", 1], "is f32 and takes bytes, not a str"),
        ([None, None, b"\0", 1], "is f32 and takes 4 bytes, not 1"),
    ],
)
def test_arguments_that_do_not_fit(args: list[Any], reason: str) -> None:
    with pytest.raises(BadArgument, match=reason) as caught:
        run(module(SAXPY), "saxpy", args, 4)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("launch", "reason"),
    [
        (((4,), 3), "do not divide"),
        (((4, 1, 1, 1),), "one to three"),
        (((-4,),), "no global size"),
        (((4,), 0), "do not divide"),
        (((4,), 2, 0, 0), "sub-groups of 0"),
    ],
)
def test_sizes_that_do_not_fit(launch: tuple[Any, ...], reason: str) -> None:
    with pytest.raises(BadArgument, match=reason):
        run(kernel(""), "main", [], *launch)


def test_unknown_kernels() -> None:
    with pytest.raises(BadArgument, match='no kernel "other"; there are main'):
        run(kernel(""), "other", [], 1)


def test_a_launch_of_nothing() -> None:
    made = kernel("OpUnreachable\n%never = OpLabel")
    run(made, "main", [], 0)
    with pytest.raises(Fault, match="OpUnreachable"):
        run(made, "main", [], 1)


def test_a_required_group_size() -> None:
    body = """
        %size = OpLoad %v3i64 %variable
        %x = OpCompositeExtract %i64 %size 0
        OpStore %p0 %x"""
    declarations = "%variable = OpVariable %input_v3i64 Input\n%to_i64 = OpTypePointer CrossWorkgroup %i64"
    prologue = "OpDecorate %variable BuiltIn WorkgroupSize\nOpExecutionMode %main LocalSize 3 1 1"
    out = np.zeros(1, np.uint64)
    run(kernel(body, "%to_i64", declarations, prologue), "main", [out], 9)
    assert out[0] == 3


def test_saxpy() -> None:
    x, y = np.arange(100, dtype=np.float32), np.ones(100, dtype=np.float32)
    run(module(SAXPY), "saxpy", [y, x, 2.0, 90], 100, 10)
    expected = np.where(np.arange(100) < 90, 2 * x + 1, 1)
    assert y.tolist() == expected.tolist()


def test_leaving_a_buffer() -> None:
    x, y = np.zeros(3, np.float32), np.zeros(4, np.float32)
    with pytest.raises(OutOfBounds) as caught:
        run(module(SAXPY), "saxpy", [y, x, 2.0, 4], 4)
    fault = caught.value
    assert (fault.buffer, fault.offset, fault.item) == ("argument 1", 12, (3, 0, 0))
    text = str(fault)
    assert "4 bytes at offset 12 of argument 1 (global memory), which has 12 bytes" in text
    assert "OpLoad" in text
    assert "saxpy.cl:5:9" in text


@pytest.mark.parametrize("opcode", ["UDiv", "SDiv", "UMod", "SRem", "SMod"])
def test_division_by_zero(opcode: str) -> None:
    with pytest.raises(DivisionByZero) as caught:
        run(kernel(f"%q = Op{opcode} %i32 %c7 %p0", "%i32"), "main", [0], 1)
    assert isinstance(caught.value, Fault)
    run(kernel(f"%q = Op{opcode} %i32 %c7 %p0", "%i32"), "main", [1], 1)


def test_before_a_buffer() -> None:
    body = """
        %minus = OpSNegate %i64 %l1
        %at = OpPtrAccessChain %global_i32 %p0 %minus
        OpStore %at %c7"""
    with pytest.raises(OutOfBounds) as caught:
        run(kernel(body, "%global_i32"), "main", [np.zeros(1, np.uint32)], 1)
    assert caught.value.offset == -4


def test_null_pointers() -> None:
    with pytest.raises(OutOfBounds, match="null pointer"):
        run(kernel("OpStore %p0 %c7", "%global_i32"), "main", [None], 1)


def test_memory_that_is_read_only() -> None:
    data = np.zeros(1, np.uint32)
    data.flags.writeable = False
    with pytest.raises(ReadOnly, match="argument 0"):
        run(kernel("OpStore %p0 %c7", "%global_i32"), "main", [data], 1)


def test_private_memory_of_another_item_is_out_of_reach() -> None:
    body = """
        %mine = OpVariable %private_i32 Function
        %address = OpConvertPtrToU %i64 %mine
        %first = OpIEqual %bool %i %l0
        OpBranchConditional %first %tell %use
        %tell = OpLabel
        OpStore %p0 %address
        OpControlBarrier %c2 %c2 %c0
        OpReturn
        %use = OpLabel
        %theirs = OpLoad %i64 %p0
        %pointer = OpConvertUToPtr %private_i32 %theirs
        OpStore %pointer %c7"""
    made = kernel(body, "%to_i64", "%to_i64 = OpTypePointer CrossWorkgroup %i64")
    with pytest.raises(OutOfBounds, match="in no memory that this work-item can reach"):
        run(made, "main", [np.zeros(1, np.uint64)], 2, 2)


def test_a_variable_of_a_function_that_has_ended() -> None:
    functions = """
        %nullary = OpTypeFunction %private_i32
        %leak = OpFunction %private_i32 None %nullary
        %b0 = OpLabel
        %own = OpVariable %private_i32 Function
        OpReturnValue %own
        OpFunctionEnd"""
    body = """
        %gone = OpFunctionCall %private_i32 %leak
        OpStore %gone %c7"""
    with pytest.raises(OutOfBounds):
        run(kernel(body, functions=functions), "main", [], 1)


def test_local_memory_has_its_size() -> None:
    body = """
        %at = OpInBoundsPtrAccessChain %local_i32 %p0 %i
        OpStore %at %c7"""
    made = kernel(body, "%local_i32")
    run(made, "main", [Local(16)], 4, 4)
    with pytest.raises(OutOfBounds, match="argument 0"):
        run(made, "main", [Local(12)], 4, 4)
    with pytest.raises(BadArgument, match=r"takes Local\(bytes\)"):
        run(made, "main", [16], 4, 4)


def test_memory_of_another_launch() -> None:
    memory = Memory()
    address = memory.add(np.zeros(4, np.uint32), "table")
    made = kernel("OpStore %p0 %c7", "%global_i32")
    run(made, "main", [address + 12], 1, memory=memory)
    assert memory.read(address + 12, 4) == b"\7\0\0\0"
    memory.write(address, b"\1")
    with pytest.raises(OutOfBounds, match="16 of table"):
        run(made, "main", [address + 16], 1, memory=memory)
    with pytest.raises(OutOfBounds):
        run(made, "main", [address], 1)


def test_more_memory_than_there_is() -> None:
    declarations = """
        %many = OpConstant %i64 0x4000000000
        %huge = OpTypeArray %i8 %many
        %private_huge = OpTypePointer Function %huge"""
    with pytest.raises(LimitReached, match="274877906944 bytes"):
        run(kernel("%v = OpVariable %private_huge Function", "", declarations), "main", [], 1)


def test_names_of_modules_without_kernels() -> None:
    with pytest.raises(BadArgument, match="there are none"):
        run(module(f"{PROLOGUE}{TYPES}"), "main", [], 1)
