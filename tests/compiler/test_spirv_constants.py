"""Specialization constants, and what is computed from them."""

from __future__ import annotations

import math

import pytest

from anyzero.compiler.spirv import Module, SpirvError, read, specialize, types, verify
from anyzero.compiler.spirv.constants import Composite, Constant, Scalar, Undef, bits_of, float_of
from tests.compiler.assembler import assemble
from tests.compiler.samples import MODULES, function


def special(module: Module) -> dict[int, int | float | bool]:
    return {number: constant.value for number, constant in module.specializable.items()}


def array_length(module: Module) -> int:
    return next(each.length for each in module.types.values() if isinstance(each, types.Array))


def test_defaults() -> None:
    module = read(MODULES["special"])
    assert special(module) == {4: 8, 5: True, 6: 1.5, 7: 0xFFFFFFFFFFFFFFFF}
    assert module.specializable[7].signed == -1
    assert module.kernels["special"].required_group_size == (8, 1, 1)
    assert array_length(module) == 16


def test_values_by_number() -> None:
    module = specialize(read(MODULES["special"]), {4: 3, 6: -0.25, 7: 2})
    verify(module)
    assert special(module) == {4: 3, 5: True, 6: -0.25, 7: 2}
    assert module.kernels["special"].required_group_size == (3, 1, 1)
    assert array_length(module) == 6
    assert array_length(specialize(module, {5: False})) == 7


def test_values_as_they_lie_in_memory() -> None:
    module = read(MODULES["special"], {4: b"\x05\0\0\0", 5: b"\0", 6: b"\0\0\x80\x3f", 7: b"\xfe" + b"\xff" * 7})
    assert special(module) == {4: 5, 5: False, 6: 1.0, 7: 0xFFFFFFFFFFFFFFFE}


def test_a_number_that_no_constant_has() -> None:
    with pytest.raises(SpirvError, match="has no specialization constant 9"):
        specialize(read(MODULES["special"]), {9: 1})


DECLARATIONS = """
    %m1 = OpConstant %i32 -1
    %m7 = OpConstant %i32 -7
    %b = OpConstant %i8 -128
    %big = OpConstant %i64 0x7fffffffffffffff
    %third = OpConstant %f32 0.3333333
    %inf = OpConstant %f32 inf
    %zero = OpConstant %f32 0
    %huge = OpConstant %f64 1e300
    %false = OpConstantFalse %bool
    %v = OpConstantComposite %v2i32 %m1 %c2
    %bits = OpConstantComposite %v2bool %true %false
    %v2bool = OpTypeVector %bool 2
    %n = OpConstantNull %v2i32
    %u = OpUndef %i32
    %pair = OpTypeStruct %i32 %v2i32
    %p = OpConstantComposite %pair %c7 %v
"""


def computed(type_: str, operation: str) -> Constant:
    text = function("OpReturn", declarations=f"{DECLARATIONS}\n%result = OpSpecConstantOp %{type_} {operation}")
    module = read(assemble(text))
    verify(module)
    return list(module.constants.values())[-1]


@pytest.mark.parametrize(
    ("type_", "operation", "value"),
    [
        ("i32", "IAdd %m1 %c2", 1),
        ("i32", "ISub %c0 %c1", -1),
        ("i32", "IMul %m1 %m7", 7),
        ("i32", "SNegate %m7", 7),
        ("i32", "Not %c0", -1),
        ("i32", "UDiv %m1 %c2", 0x7FFFFFFF),
        ("i32", "SDiv %m7 %c2", -3),
        ("i32", "UMod %c7 %c2", 1),
        ("i32", "SRem %m7 %c2", -1),
        ("i32", "SMod %m7 %c2", 1),
        ("i32", "ShiftLeftLogical %c7 %l1", 14),
        ("i32", "ShiftRightLogical %m1 %c1", 0x7FFFFFFF),
        ("i32", "ShiftRightArithmetic %m7 %c1", -4),
        ("i32", "BitwiseAnd %m7 %c3", 1),
        ("i32", "BitwiseOr %c1 %c2", 3),
        ("i32", "BitwiseXor %c7 %c2", 5),
        ("i32", "SConvert %b", -128),
        ("i32", "UConvert %b", 128),
        ("i8", "UConvert %m7", -7),
        ("i32", "ConvertFToS %half", 0),
        ("i32", "ConvertFToU %third", 0),
        ("i32", "Select %true %c1 %c2", 1),
        ("i32", "CompositeExtract %v 0", -1),
        ("i32", "CompositeExtract %p 1 1", 2),
        ("i32", "CompositeExtract %n 1", 0),
        ("i32", "Bitcast %half", 0x3F000000),
    ],
)
def test_integers(type_: str, operation: str, value: int) -> None:
    result = computed(type_, operation)
    assert isinstance(result, Scalar)
    assert result.signed == value


@pytest.mark.parametrize(
    ("operation", "value"),
    [
        ("IEqual %c1 %c2", False),
        ("INotEqual %c1 %c2", True),
        ("UGreaterThan %m1 %c2", True),
        ("SGreaterThan %m1 %c2", False),
        ("ULessThan %m1 %c2", False),
        ("SLessThan %m1 %c2", True),
        ("SLessThanEqual %c2 %c2", True),
        ("UGreaterThanEqual %c1 %c2", False),
        ("LogicalAnd %true %false", False),
        ("LogicalOr %true %false", True),
        ("LogicalNot %true", False),
        ("LogicalEqual %false %false", True),
        ("LogicalNotEqual %false %false", False),
    ],
)
def test_truth_values(operation: str, value: bool) -> None:
    result = computed("bool", operation)
    assert isinstance(result, Scalar)
    assert result.value is value


@pytest.mark.parametrize(
    ("type_", "operation", "value"),
    [
        ("f32", "FAdd %half %half", 1.0),
        ("f32", "FSub %half %third", 0.5 - float_of(bits_of(0.3333333, 32), 32)),
        ("f32", "FDiv %half %zero", math.inf),
        ("f32", "FMul %inf %half", math.inf),
        ("f32", "FNegate %half", -0.5),
        ("f32", "FRem %half %third", math.fmod(0.5, float_of(bits_of(0.3333333, 32), 32))),
        ("f32", "ConvertSToF %m7", -7.0),
        ("f32", "ConvertUToF %m1", 4294967296.0),
        ("f32", "ConvertSToF %big", 9.223372036854775807e18),
        ("f32", "FConvert %huge", math.inf),
        ("f16", "FConvert %third", 0.333251953125),
    ],
)
def test_floats(type_: str, operation: str, value: float) -> None:
    result = computed(type_, operation)
    assert isinstance(result, Scalar)
    assert result.value == value


@pytest.mark.parametrize(
    ("type_", "operation"),
    [("i32", "SDiv %c1 %c0"), ("i32", "UMod %c1 %c0"), ("i32", "IAdd %u %c1"), ("i32", "ConvertFToS %inf")],
)
def test_what_has_no_value_is_any(type_: str, operation: str) -> None:
    assert isinstance(computed(type_, operation), Undef)


@pytest.mark.parametrize(
    ("type_", "operation", "values"),
    [
        ("v2i32", "IAdd %v %v", [-2, 4]),
        ("v2i32", "VectorShuffle %v %n 1 2", [2, 0]),
        ("v2i32", "CompositeInsert %c7 %v 1", [-1, 7]),
        ("v2i32", "Select %bits %v %n", [-1, 0]),
        ("v2i32", "Bitcast %big", [-1, 0x7FFFFFFF]),
        ("v2i32", "CompositeExtract %p 1", [-1, 2]),
    ],
)
def test_vectors(type_: str, operation: str, values: list[int]) -> None:
    result = computed(type_, operation)
    assert isinstance(result, Composite)
    assert [each.signed for each in result.elements if isinstance(each, Scalar)] == values


@pytest.mark.parametrize(
    ("type_", "operation", "reason"),
    [
        ("i32", "IAdd %c1 %l1", "different types"),
        ("i32", "IAdd %v %v", "other lengths"),
        ("i32", "FAdd %half %half", "cannot be computed"),
        ("i32", "CompositeExtract %v 2", "a part that the constant does not have"),
        ("i32", "DPdx %half", "cannot be computed"),
        ("i32", "Bitcast %big", "their sizes differ"),
        ("pair", "CompositeInsert %c1 %p 0", "only components of vectors"),
        ("v2i32", "VectorShuffle %v %v 0 9", "names components"),
        ("i32", "Select %c1 %c1 %c2", "needs a constant condition"),
    ],
)
def test_what_cannot_be_computed(type_: str, operation: str, reason: str) -> None:
    with pytest.raises(SpirvError, match=reason):
        computed(type_, operation)


def test_a_nan_keeps_its_payload() -> None:
    text = function("OpReturn", declarations="%nan = OpConstant %f32 !0x7fc12345")
    constant = list(read(assemble(text)).constants.values())[-1]
    assert isinstance(constant, Scalar)
    assert constant.bits == 0x7FC12345
    assert math.isnan(constant.value)
