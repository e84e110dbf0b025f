"""Loads, stores, copies, and the addresses of parts."""

from __future__ import annotations

import pytest

from anyzero.compiler.errors import CompileError
from anyzero.compiler.ir import Access, Op
from tests.compiler.samples import function
from tests.compiler.translate.programs import AT, body_of, ran, run

TYPES = """
    %struct = OpTypeStruct %i8 %v3f32 %i64 %bool
    %array = OpTypeArray %struct %c3
    %global_array = OpTypePointer CrossWorkgroup %array
    %global_struct = OpTypePointer CrossWorkgroup %struct
    %global_v3 = OpTypePointer CrossWorkgroup %v3f32
    %private_struct = OpTypePointer Function %struct
    %private_i64 = OpTypePointer Function %i64
    %global_i64 = OpTypePointer CrossWorkgroup %i64
    %global_bool = OpTypePointer CrossWorkgroup %bool
    %v4b = OpTypePointer CrossWorkgroup %v4bool
"""


def text(body: str, parameters: str, result: str = "void", declarations: str = "") -> str:
    return function(body, parameters=parameters, result=result, declarations=TYPES + declarations)


def ops(source: str, name: str) -> list[Op]:
    return [op for op in body_of(source).ops if op.name == name]


def test_a_vector_is_one_load_with_parts() -> None:
    source = text("%v = OpLoad %v3f32 %p0\nOpReturnValue %v", "%global_v3", "v3f32")
    (load,) = ops(source, "load")
    assert load.type == "float"
    assert load.info == Access(3, 16, space="global")
    assert [op.info for op in ops(source, "part")] == [0, 1, 2]


def test_a_structure_is_a_load_for_each_member_where_it_lies() -> None:
    source = text("%v = OpLoad %struct %p0\nOpStore %p1 %v Aligned 4\nOpReturn", "%global_struct %global_struct")
    loads, stores = ops(source, "load"), ops(source, "store")
    assert [(op.type, op.info.count, op.info.alignment) for op in loads] == [
        ("i8", 1, 16),
        ("float", 3, 16),
        ("i64", 1, 16),
        ("i8", 1, 8),
    ]
    assert [op.info.alignment for op in stores] == [4, 4, 4, 4]
    assert [op.args[0].args[1].info for op in loads[1:]] == [16, 32, 40]


@pytest.mark.parametrize(
    ("said", "access"),
    [
        ("", Access(1, 8, space="global")),
        ("Aligned 2", Access(1, 2, space="global")),
        ("Volatile|Aligned 4", Access(1, 4, volatile=True, space="global")),
        ("Nontemporal", Access(1, 8, nontemporal=True, space="global")),
    ],
)
def test_what_an_access_says_is_kept(said: str, access: Access) -> None:
    source = text(f"%v = OpLoad %i64 %p0 {said}\nOpStore %p0 %v {said}\nOpReturn", "%global_i64")
    assert [op.info for op in (*ops(source, "load"), *ops(source, "store"))] == [access, access]


@pytest.mark.parametrize("value", [0, 1, 2, 255])
def test_truth_values_are_bytes_in_memory(value: int) -> None:
    source = text(
        "%v = OpLoad %bool %p0\n%n = OpLogicalNot %bool %v\nOpStore %p0 %n\nOpReturnValue %v", "%global_bool", "bool"
    )
    assert ran(source, AT[0], regions=(bytes([value]),)) == ([value != 0], [bytes([value == 0])])
    assert ops(source, "load")[0].type == "i8"
    vectors = text("%v = OpLoad %v4bool %p0\nOpStore %p0 %v\nOpReturn", "%v4b")
    assert ops(vectors, "store")[0].info.count == 4


def test_an_address_is_strides_and_then_one_constant() -> None:
    source = text(
        """
        %p = OpInBoundsPtrAccessChain %global_f32 %p0 %p1 %p2 %c1 %p3
        %q = OpInBoundsPtrAccessChain %global_f32 %p %l1
        %v = OpLoad %f32 %q
        OpReturnValue %v
        """,
        "%global_array %i64 %i32 %i8",
        "f32",
    )
    pointer = ops(source, "load")[0].args[0]
    assert pointer.name == "offset"
    assert pointer.args[1].info == 16 + 4
    strides = []
    while pointer.args[0].name == "offset":
        pointer = pointer.args[0]
        by = pointer.args[1]
        assert by.name == "mul"
        assert by.flags == "nsw"
        strides.append(by.args[1].info)
    assert strides == [4, 48, 144]
    casts = [(op.info, op.args[0].type) for op in ops(source, "cast")]
    assert casts == [("sext", "i32"), ("sext", "i8")]


def test_known_indices_cost_nothing() -> None:
    source = text(
        "%p = OpAccessChain %global_i64 %p0 %c2 %c2\n%v = OpLoad %i64 %p\nOpReturnValue %v", "%global_array", "i64"
    )
    (offset,) = ops(source, "offset")
    assert offset.args[1].info == 2 * 48 + 32


def test_negative_indices() -> None:
    source = text(
        "%p = OpPtrAccessChain %global_i64 %p0 %back\n%v = OpLoad %i64 %p\nOpReturnValue %v",
        "%global_i64",
        "i64",
        "%back = OpConstant %i32 -1",
    )
    assert run(source, AT[0] + 8, regions=(bytes([5]) + bytes(15),)) == [5]


def test_copies_keep_the_lesser_alignment() -> None:
    source = text(
        "OpCopyMemory %p0 %p1 Aligned 16 Aligned 4\nOpCopyMemorySized %p0 %p1 %p2 Aligned 8\n"
        "OpCopyMemorySized %p0 %p1 %l0\nOpReturn",
        "%global_struct %global_struct %i32",
    )
    first, second = ops(source, "copy")
    assert first.info.alignment == 4
    assert first.args[2].info == 48
    assert second.info.alignment == 8
    assert second.args[2].name == "cast"
    source = text("OpCopyMemorySized %p0 %p1 %l1\nOpReturn", "%global_i64 %global_bool")
    assert ops(source, "copy")[0].info.alignment == 1


def test_variables_begin_with_their_initializer_at_every_call() -> None:
    source = text(
        """
        OpBranch %loop
        %loop = OpLabel
        %i = OpPhi %i32 %c0 %entry %j %loop
        %j = OpFunctionCall %i32 %step %i
        %more = OpULessThan %bool %j %c3
        OpBranchConditional %more %loop %exit
        %exit = OpLabel
        OpReturnValue %j
        """,
        "",
        "i32",
        """
        %unary = OpTypeFunction %i32 %i32
        %step = OpFunction %i32 None %unary
        %given = OpFunctionParameter %i32
        %step_entry = OpLabel
        %counter = OpVariable %private_i32 Function %c1
        %old = OpLoad %i32 %counter
        %new = OpIAdd %i32 %old %given
        OpStore %counter %new
        OpReturnValue %new
        OpFunctionEnd
        """,
    )
    assert run(source) == [3]


def test_differences_of_pointers_count_elements() -> None:
    source = text("%d = OpPtrDiff %i32 %p0 %p1\nOpReturnValue %d", "%global_struct %global_struct", "i32")
    assert run(source, 480, 144) == [7]
    source = text("%d = OpPtrDiff %i64 %p0 %p1\nOpReturnValue %d", "%global_i64 %global_i64", "i64")
    assert run(source, 16, 32) == [2**64 - 2]


def test_values_too_large_for_registers_are_refused() -> None:
    declared = """
        %many = OpConstant %i32 5000
        %huge = OpTypeArray %i32 %many
        %global_huge = OpTypePointer CrossWorkgroup %huge
    """
    source = text("%v = OpLoad %huge %p0\nOpStore %p0 %v\nOpReturn", "%global_huge", "void", declared)
    with pytest.raises(CompileError, match=r"OpLoad.*5000 components; 4096 are possible"):
        body_of(source)
    copied = text("OpCopyMemory %p0 %p0\nOpReturn", "%global_huge", "void", declared)
    assert ops(copied, "copy")[0].args[2].info == 20000


def test_constants_with_parts_are_copied_from_where_they_lie() -> None:
    declared = """
        %two = OpTypeArray %i32 %c2
        %global_two = OpTypePointer CrossWorkgroup %two
        %both = OpConstantComposite %two %c3 %c7
    """
    source = text("OpStore %p0 %both\nOpReturn", "%global_two", "void", declared)
    assert ran(source, AT[0], regions=(bytes(8),))[1] == [bytes([3, 0, 0, 0, 7, 0, 0, 0])]


def test_where_a_generic_pointer_leads() -> None:
    body = """
        %v = OpVariable %private_i32 Function
        %g = OpPtrCastToGeneric %generic_i32 %v
        %m = OpGenericPtrMemSemantics %i32 %g
        %n = OpGenericPtrMemSemantics %i32 %p0
        %s = OpIAdd %i32 %m %n
        OpReturnValue %s
    """
    source = text(body, "%generic_i32", "i32")
    assert [op.args[0].name for op in ops(source, "space_of")] == ["parameter"]
    source = text(
        "%q = OpGenericCastToPtrExplicit %global_i32 %p0 CrossWorkgroup\nOpReturnValue %q",
        "%generic_i32",
        "global_i32",
    )
    (select,) = ops(source, "select")
    assert select.args[2].info == 0
