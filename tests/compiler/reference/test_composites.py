"""Vectors, arrays and structures as values."""

from __future__ import annotations

import numpy as np

from tests.compiler.reference.kernels import compute, same_bits

FOUR = np.arange(8, dtype=np.float32).reshape(2, 4)
OTHER = FOUR + 100


def test_a_component_by_index() -> None:
    index = np.array([3, 1], np.uint32)
    assert compute("%r = OpVectorExtractDynamic %f32 %a %b", np.float32, FOUR, index, count=1).tolist() == [3, 5]
    value = np.array([-1, -2], np.float32)
    found = compute("%r = OpVectorInsertDynamic %v4f32 %a %b %c", np.float32, FOUR, value, index)
    assert found.tolist() == [[0, 1, 2, -1], [4, -2, 6, 7]]


def test_shuffles() -> None:
    found = compute("%r = OpVectorShuffle %v4f32 %a %b 7 0 4 3", np.float32, FOUR, OTHER)
    assert found.tolist() == [[103, 0, 100, 3], [107, 4, 104, 7]]
    anything = compute("%r = OpVectorShuffle %v4f32 %a %b 1 0xFFFFFFFF 5 0xFFFFFFFF", np.float32, FOUR, OTHER)
    assert anything[:, [0, 2]].tolist() == [[1, 101], [5, 105]]


def test_vectors_of_scalars_and_shorter_vectors() -> None:
    three = np.arange(6, dtype=np.float32).reshape(2, 3)
    one = np.array([-1, -2], np.float32)
    found = compute("%r = OpCompositeConstruct %v4f32 %a %b", np.float32, three, one, count=4)
    assert found.tolist() == [[0, 1, 2, -1], [3, 4, 5, -2]]
    found = compute("%r = OpCompositeConstruct %v4f32 %b %b %b %b", np.float32, three, one, count=4)
    assert found.tolist() == [[-1] * 4, [-2] * 4]


def test_structures_and_arrays() -> None:
    declared = """
        %array = OpTypeArray %f32 %c3
        %struct = OpTypeStruct %v4f32 %array
        %nothing = OpConstantNull %struct"""
    lines = """
        %list = OpCompositeConstruct %array %b %half %b
        %whole = OpCompositeConstruct %struct %a %list
        %changed = OpCompositeInsert %struct %half %whole 1 2
        %again = OpCompositeInsert %struct %b %changed 0 1
        %x = OpCompositeExtract %f32 %again 0 1
        %y = OpCompositeExtract %f32 %again 1 2
        %z = OpCompositeExtract %f32 %whole 1 2
        %list2 = OpCompositeExtract %array %again 1
        %w = OpCompositeExtract %f32 %list2 0
        %copy = OpCopyObject %f32 %w
        %frozen = OpFreezeKHR %f32 %copy
        %fenced = OpArithmeticFenceEXT %f32 %frozen
        %expected = OpExpectKHR %f32 %fenced %half
        %r = OpCompositeConstruct %v4f32 %x %y %z %expected"""
    lines = lines.replace("%expected = OpExpectKHR %f32 %fenced %half\n", "").replace("%expected", "%fenced")
    value = np.array([-1, -2], np.float32)
    found = compute(lines, np.float32, FOUR, value, declarations=declared)
    assert found.tolist() == [[-1, 0.5, -1, -1], [-2, 0.5, -2, -2]]


def test_expectations_change_nothing() -> None:
    a = np.array([1, 2], np.uint32)
    assert compute("OpAssumeTrueKHR %true\n%r = OpExpectKHR %i32 %a %c7", np.uint32, a).tolist() == [1, 2]


def test_undefined_values_are_values() -> None:
    a = np.array([5, 6], np.uint32)
    lines = """
        %u = OpUndef %v4i32
        %v = OpCompositeInsert %v4i32 %a %u 2
        %r = OpCompositeExtract %i32 %v 2"""
    assert same_bits(compute(lines, np.uint32, a), a)
