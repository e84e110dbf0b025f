"""Loads, stores, copies, addresses, and the variables of functions and modules."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from anyzero.compiler.reference import Local, Memory, run
from anyzero.compiler.reference.layout import from_bytes, to_bytes
from anyzero.compiler.spirv.types import Array, Bool, Float, Int, Pointer, Struct, Type, Vector
from tests.compiler.reference.kernels import kernel

LOOSE = """
    OpDecorate %packed CPacked"""
STRUCTS = """
    %packed = OpTypeStruct %i8 %i64 %v3f32
    %row = OpTypeArray %i16 %c3
    %loose = OpTypeStruct %i8 %f64 %row %packed
    %to_loose = OpTypePointer CrossWorkgroup %loose
    %to_f32 = OpTypePointer CrossWorkgroup %f32
    %to_i16 = OpTypePointer CrossWorkgroup %i16
    %to_f64 = OpTypePointer CrossWorkgroup %f64"""


def test_members_are_where_c_puts_them() -> None:
    body = """
        %m = OpInBoundsPtrAccessChain %to_f64 %p0 %i %c1
        %number = OpConvertUToF %f64 %i
        OpStore %m %number
        %n = OpInBoundsPtrAccessChain %to_i16 %p0 %i %c2 %i
        %short = OpUConvert %i16 %i
        OpStore %n %short
        %o = OpInBoundsPtrAccessChain %to_f32 %p0 %i %c3 %c2 %c1
        OpStore %o %half"""
    out = np.zeros(3 * 48, np.uint8)
    run(kernel(body, "%to_loose", STRUCTS, LOOSE), "main", [out], 3)
    for index in range(3):
        one = bytes(out[index * 48 : index * 48 + 48])
        row, floats = [0, 0, 0], [0.0, 0.5, 0.0]
        row[index] = index
        # One byte and its padding, a double, three shorts; then, packed, a byte, eight bytes and three floats.
        expected = struct.pack("<b7xd3h", 0, float(index), *row) + struct.pack("<bq3f", 0, 0, *floats)
        assert one[: len(expected)] == expected


def test_a_structure_goes_through_memory_as_one_value() -> None:
    body = """
        %v = OpVariable %private_loose Function
        %from = OpInBoundsPtrAccessChain %to_loose %p0 %i
        %to = OpInBoundsPtrAccessChain %to_loose %p1 %i
        %value = OpLoad %loose %from
        OpStore %v %value
        %again = OpLoad %loose %v
        OpStore %to %again"""
    made = kernel(body, "%to_loose %to_loose", f"{STRUCTS}\n%private_loose = OpTypePointer Function %loose", LOOSE)
    data = np.arange(48, dtype=np.uint8)
    out = np.full(48, 255, np.uint8)
    run(made, "main", [data, out], 1)
    touched = [0, *range(8, 22), *range(22, 22 + 9 + 12)]
    assert out[touched].tolist() == data[touched].tolist()
    assert all(out[1:8] == 255), "padding belongs to nobody"


def test_three_components_touch_the_room_of_three() -> None:
    body = """
        %v = OpLoad %v3f32 %p0
        OpStore %p1 %v"""
    made = kernel(body, "%to_v3 %to_v3", "%to_v3 = OpTypePointer CrossWorkgroup %v3f32")
    out = np.zeros(4, np.float32)
    run(made, "main", [np.array([1, 2, 3], np.float32), out], 1)
    assert out.tolist() == [1, 2, 3, 0]


def test_copies() -> None:
    body = """
        %v = OpVariable %private_i32 Function %c7
        OpLifetimeStart %v 4
        %one = OpInBoundsPtrAccessChain %global_i32 %p0 %l1
        OpCopyMemory %one %v
        OpCopyMemorySized %p0 %p1 %l3
        OpCopyMemorySized %p0 %p1 %l0
        OpLifetimeStop %v 4"""
    out = np.full(2, 0xFFFFFFFF, np.uint32)
    run(kernel(body, "%global_i32 %global_i32", "%l3 = OpConstant %i64 3"), "main", [out, np.zeros(1, np.uint32)], 1)
    assert out.tolist() == [0xFF000000, 7]


def test_indices_are_signed_whatever_their_width() -> None:
    body = """
        %minus = OpSNegate %i32 %c1
        %small = OpSConvert %i8 %minus
        %one = OpPtrAccessChain %global_i32 %p0 %l1
        %zero = OpPtrAccessChain %global_i32 %one %minus
        OpStore %zero %c7
        %two = OpPtrAccessChain %global_i32 %p0 %c2
        %back = OpPtrAccessChain %global_i32 %two %small
        OpStore %back %c3
        %d = OpPtrDiff %i64 %back %two
        %n = OpUConvert %i32 %d
        OpStore %two %n"""
    out = np.zeros(3, np.int32)
    run(kernel(body, "%global_i32"), "main", [out], 1)
    assert out.tolist() == [7, 3, -1]


def test_several_indices_at_once() -> None:
    body = """
        %minus = OpISub %i64 %i %l2
        %back = OpSNegate %i32 %c1
        %middle = OpPtrAccessChain %to_row %p0 %l2
        %at = OpPtrAccessChain %global_i32 %middle %minus %i
        OpStore %at %c7
        %next = OpPtrAccessChain %to_row %middle %l1
        %before = OpPtrAccessChain %global_i32 %next %i %back
        OpStore %before %c3"""
    declarations = """
        %l2 = OpConstant %i64 2
        %row3 = OpTypeArray %i32 %c3
        %to_row = OpTypePointer CrossWorkgroup %row3"""
    out = np.zeros((5, 3), np.uint32)
    run(kernel(body, "%to_row", declarations), "main", [out], 2)
    assert out.tolist() == [[7, 0, 0], [0, 7, 0], [0, 0, 3], [0, 0, 3], [0, 0, 0]]


GLOBALS = """
    %array = OpTypeArray %i32 %c3
    %to_array = OpTypePointer CrossWorkgroup %array
    %values = OpConstantComposite %array %c1 %c2 %c3
    %table = OpVariable %to_array CrossWorkgroup %values
    %constant_i32 = OpTypePointer UniformConstant %i32
    %fixed = OpVariable %constant_i32 UniformConstant %c7
    %plain = OpVariable %global_i32 CrossWorkgroup
    %address = OpSpecConstantOp %global_i32 InBoundsAccessChain %table %c2
    %pointers = OpTypePointer CrossWorkgroup %global_i32
    %link = OpVariable %pointers CrossWorkgroup %address
    %shared = OpVariable %local_i32 Workgroup"""


def test_variables_of_a_module() -> None:
    body = """
        %third = OpLoad %global_i32 %link
        %x = OpLoad %i32 %third
        %y = OpLoad %i32 %fixed
        %z = OpLoad %i32 %plain
        %next = OpIAdd %i32 %x %y
        OpStore %address %next
        OpStore %plain %x
        %sum = OpIAdd %i32 %next %z
        OpStore %p0 %sum"""
    made = kernel(body, "%global_i32", GLOBALS)
    out = np.zeros(1, np.int32)
    for _ in range(2):
        run(made, "main", [out], 1)
        assert out[0] == 10, "a launch of its own begins with what the module says"
    memory = Memory()
    for expected in (10, 20, 34):
        run(made, "main", [out], 1, memory=memory)
        assert out[0] == expected


def test_local_memory_is_a_groups_own() -> None:
    body = """
        %k = OpUConvert %i32 %i
        %old = OpAtomicIAdd %i32 %shared %c2 %c0 %c1
        %other = OpAtomicIAdd %i32 %p1 %c2 %c0 %c1
        %both = OpIAdd %i32 %old %other
        %to = OpInBoundsPtrAccessChain %global_i32 %p0 %i
        OpStore %to %both"""
    out = np.zeros(8, np.int32)
    run(kernel(body, "%global_i32 %local_i32", GLOBALS), "main", [out, Local(4)], 8, 4)
    assert out.tolist() == [0, 2, 4, 6, 0, 2, 4, 6]


def test_pointers_inside_buffers() -> None:
    body = """
        %member = OpInBoundsPtrAccessChain %pointers %p0 %i %c1
        %data = OpLoad %global_i32 %member
        %at = OpInBoundsPtrAccessChain %global_i32 %data %l1
        %k = OpUConvert %i32 %i
        OpStore %at %k"""
    declarations = """
        %pair = OpTypeStruct %i32 %global_i32
        %to_pair = OpTypePointer CrossWorkgroup %pair
        %pointers = OpTypePointer CrossWorkgroup %global_i32"""
    memory = Memory()
    arrays = [np.zeros(2, np.uint32) for _ in range(3)]
    table = np.array([word for array in arrays for word in (0, memory.add(array))], np.uint64)
    run(kernel(body, "%to_pair", declarations), "main", [memory.add(table)], 3, memory=memory)
    assert [array.tolist() for array in arrays] == [[0, 0], [0, 1], [0, 2]]
    assert memory.read(memory.add(arrays[2]), 8) == bytes([0, 0, 0, 0, 2, 0, 0, 0])


def test_one_array_for_two_parameters_is_one_buffer() -> None:
    body = """
        OpStore %p0 %c7
        %v = OpLoad %i32 %p1
        %same = OpPtrEqual %bool %p0 %p1
        %differs = OpPtrNotEqual %bool %p0 %p1
        %s = OpSelect %i32 %same %v %c0
        %t = OpSelect %i32 %differs %c1 %c0
        %u = OpIAdd %i32 %s %t
        OpStore %p1 %u"""
    out = np.zeros(1, np.uint32)
    run(kernel(body, "%global_i32 %global_i32"), "main", [out, out], 1)
    assert out[0] == 7


BYTE, SHORT, WORD, LONG = Int(8), Int(16), Int(32), Int(64)


@pytest.mark.parametrize(
    ("type_", "value", "data"),
    [
        (Bool(), True, b"\1"),
        (SHORT, 0x1234, b"\x34\x12"),
        (Float(16), 1.5, b"\x00\x3e"),
        (Float(32), -2.0, b"\0\0\0\xc0"),
        (Vector(BYTE, 3), (1, 2, 3), b"\1\2\3\0"),
        (Array(Vector(WORD, 2), 2), ((1, 2), (3, 4)), struct.pack("<4I", 1, 2, 3, 4)),
        (Struct(1, (BYTE, LONG)), (5, 6), struct.pack("<B7xQ", 5, 6)),
        (Pointer(5, WORD), 0x123456789, struct.pack("<Q", 0x123456789)),
    ],
)
def test_values_and_bytes(type_: Type, value: Any, data: bytes) -> None:
    assert to_bytes(type_, value) == data
    assert from_bytes(type_, data) == value


@pytest.mark.parametrize(("width", "bits"), [(16, 0x7C01), (32, 0xFF812345), (64, 0x7FF0000000000001)])
def test_a_signalling_nan_stays_what_it_is(width: int, bits: int) -> None:
    data = bits.to_bytes(width // 8, "little")
    assert to_bytes(Float(width), from_bytes(Float(width), data)) == data
    vector = Vector(Float(width), 2)
    assert to_bytes(vector, from_bytes(vector, data * 2)) == data * 2
