"""Arithmetic, bits and comparisons against numpy."""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.compiler.reference.kernels import Array, compute, same_bits

RANDOM = np.random.default_rng(3)

UNSIGNED = [np.uint8, np.uint16, np.uint32, np.uint64]
FLOATS = [np.float16, np.float32, np.float64]


def integers(dtype: Any, count: int = 40) -> Array:
    info = np.iinfo(dtype)
    edges = [0, 1, 2, info.max, info.max - 1, info.max // 2, info.max // 2 + 1]
    values = RANDOM.integers(0, info.max, count, dtype, endpoint=True)
    return np.concatenate([np.array(edges, dtype), values])


def pairs(dtype: Any) -> tuple[Array, Array]:
    first = integers(dtype)
    return first, RANDOM.permutation(first)


def numbers(dtype: Any, count: int = 60) -> Array:
    info = np.finfo(dtype)
    edges = [0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, info.max, info.tiny, info.smallest_subnormal, info.eps]
    values = RANDOM.standard_normal(count) * 10.0 ** RANDOM.integers(-3, 3, count)
    return np.concatenate([np.array(edges, dtype), values.astype(dtype)])


def float_pairs(dtype: Any) -> tuple[Array, Array]:
    values = numbers(dtype)
    first, second = np.meshgrid(values, values)
    pick = RANDOM.permutation(first.size)[:300]
    return first.ravel()[pick], second.ravel()[pick]


def quiet(operation: Callable[..., Any], *operands: Any) -> Any:
    with np.errstate(all="ignore"):
        return operation(*operands)


@pytest.mark.parametrize("dtype", UNSIGNED)
@pytest.mark.parametrize(
    ("name", "operation"),
    [
        ("IAdd", operator.add),
        ("ISub", operator.sub),
        ("IMul", operator.mul),
        ("BitwiseAnd", operator.and_),
        ("BitwiseOr", operator.or_),
        ("BitwiseXor", operator.xor),
    ],
)
def test_integers(name: str, operation: Callable[..., Any], dtype: Any) -> None:
    a, b = pairs(dtype)
    type_ = f"i{a.itemsize * 8}"
    assert same_bits(compute(f"%r = Op{name} %{type_} %a %b", dtype, a, b), operation(a, b))


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_division_rounds_towards_zero_and_remainders_follow(dtype: Any) -> None:
    info = np.iinfo(dtype)
    a = np.array([7, -7, 7, -7, info.max, info.min, 1, 0], dtype)
    b = np.array([2, 2, -2, -2, -3, 7, info.min, 5], dtype)
    type_ = f"%i{a.itemsize * 8}"
    whole, small = [int(x) for x in a], [int(x) for x in b]
    towards_zero = [int(Fraction(x, y)) for x, y in zip(whole, small, strict=True)]
    rest = [x - q * y for x, y, q in zip(whole, small, towards_zero, strict=True)]
    assert compute(f"%r = OpSDiv {type_} %a %b", dtype, a, b).tolist() == towards_zero
    assert compute(f"%r = OpSRem {type_} %a %b", dtype, a, b).tolist() == rest
    assert compute(f"%r = OpSMod {type_} %a %b", dtype, a, b).tolist() == [
        x % y for x, y in zip(whole, small, strict=True)
    ]


def test_the_lowest_number_divided_by_minus_one_wraps() -> None:
    a, b = np.array([-128], np.int8), np.array([-1], np.int8)
    assert compute("%r = OpSDiv %i8 %a %b", np.int8, a, b).tolist() == [-128]
    assert compute("%r = OpSRem %i8 %a %b", np.int8, a, b).tolist() == [0]


@pytest.mark.parametrize("dtype", UNSIGNED)
def test_unsigned_division(dtype: Any) -> None:
    a, b = pairs(dtype)
    b[b == 0] = 3
    type_ = f"%i{a.itemsize * 8}"
    assert same_bits(compute(f"%r = OpUDiv {type_} %a %b", dtype, a, b), a // b)
    assert same_bits(compute(f"%r = OpUMod {type_} %a %b", dtype, a, b), a % b)


@pytest.mark.parametrize("dtype", UNSIGNED)
def test_shifts(dtype: Any) -> None:
    a = integers(dtype)
    width = a.itemsize * 8
    by = (np.arange(len(a)) % width).astype(dtype)
    signed = a.view(np.dtype(dtype).name[1:])
    assert same_bits(compute(f"%r = OpShiftLeftLogical %i{width} %a %b", dtype, a, by), a << by)
    assert same_bits(compute(f"%r = OpShiftRightLogical %i{width} %a %b", dtype, a, by), a >> by)
    expected = (signed >> by.view(signed.dtype)).view(dtype)
    assert same_bits(compute(f"%r = OpShiftRightArithmetic %i{width} %a %b", dtype, a, by), expected)


def test_one_operand() -> None:
    a = integers(np.uint32)
    assert same_bits(compute("%r = OpSNegate %i32 %a", np.uint32, a), (0 - a).astype(np.uint32))
    assert same_bits(compute("%r = OpNot %i32 %a", np.uint32, a), ~a)
    assert compute("%r = OpBitCount %i32 %a", np.uint32, a).tolist() == [int(x).bit_count() for x in a]
    expected = [int(f"{int(x):032b}"[::-1], 2) for x in a]
    assert compute("%r = OpBitReverse %i32 %a", np.uint32, a).tolist() == expected


def test_bits_of_a_vector_are_counted_in_another_type() -> None:
    a = np.array([[1, 255, 7, 0]], np.uint8)
    assert compute("%r = OpBitCount %v4i32 %a", np.uint32, a).tolist() == [[1, 8, 3, 0]]


def test_bit_fields() -> None:
    a, b = pairs(np.uint32)
    offset, count = (np.arange(len(a)) % 20).astype(np.uint32), (np.arange(len(a)) % 13).astype(np.uint32)
    for x, y, at, n, inserted, low, high in zip(
        a.tolist(),
        b.tolist(),
        offset.tolist(),
        count.tolist(),
        compute("%r = OpBitFieldInsert %i32 %a %b %c %d", np.uint32, a, b, offset, count).tolist(),
        compute("%r = OpBitFieldUExtract %i32 %a %b %c", np.uint32, a, offset, count).tolist(),
        compute("%r = OpBitFieldSExtract %i32 %a %b %c", np.int32, a, offset, count).tolist(),
        strict=True,
    ):
        field = (1 << n) - 1
        assert inserted == x & ~(field << at) | (y & field) << at
        assert low == x >> at & field
        assert high == (low - (1 << n) if n and low >> (n - 1) else low)


def test_carries_and_high_halves() -> None:
    a, b = pairs(np.uint32)
    declared = "%pair = OpTypeStruct %i32 %i32"
    wide, other = [int(x) for x in a], [int(x) for x in b]
    sums = {
        "IAddCarry": [(x + y) % 2**32 + ((x + y) >> 32 << 32) for x, y in zip(wide, other, strict=True)],
        "ISubBorrow": [(x - y) % 2**32 + (int(x < y) << 32) for x, y in zip(wide, other, strict=True)],
        "UMulExtended": [x * y for x, y in zip(wide, other, strict=True)],
        "SMulExtended": [int(x) * int(y) % 2**64 for x, y in zip(a.view(np.int32), b.view(np.int32), strict=True)],
    }
    for name, expected in sums.items():
        lines = f"""
            %s = Op{name} %pair %a %b
            %low = OpCompositeExtract %i32 %s 0
            %high = OpCompositeExtract %i32 %s 1
            %both = OpCompositeConstruct %v2i32 %low %high
            %r = OpBitcast %i64 %both"""
        assert compute(lines, np.uint64, a, b, declarations=declared).tolist() == expected, name


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("name", "operation"),
    [("FAdd", np.add), ("FSub", np.subtract), ("FMul", np.multiply), ("FDiv", np.divide), ("FRem", np.fmod)],
)
def test_floats_are_rounded_once(name: str, operation: Callable[..., Any], dtype: Any) -> None:
    a, b = float_pairs(dtype)
    expected = quiet(operation, a, b)
    found = compute(f"%r = Op{name} %f{a.itemsize * 8} %a %b", dtype, a, b)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    zeros = expected == 0
    assert np.array_equal(np.signbit(found[zeros]), np.signbit(expected[zeros]))


def test_modulo_has_the_sign_of_the_divisor() -> None:
    a, b = np.array([7, -7, 7, -7, 0, 6], np.float32), np.array([3, 3, -3, -3, -2, -2], np.float32)
    found = compute("%r = OpFMod %f32 %a %b", np.float32, a, b)
    assert found.tolist() == [1, 2, -2, -1, 0, 0]
    assert np.signbit(found).tolist() == [False, False, True, True, True, True]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_negation_keeps_every_bit_but_the_sign(dtype: Any) -> None:
    word = np.dtype(f"u{np.dtype(dtype).itemsize}")
    sign = 1 << (word.itemsize * 8 - 1)
    signalling = (np.array(np.inf, dtype).view(word) | 1).astype(word)
    bits = np.array([0, sign, signalling, int(signalling) | sign, int(np.array(1.5, dtype).view(word))], word)
    found = compute(f"%r = OpFNegate %f{word.itemsize * 8} %a", dtype, bits.view(dtype))
    assert (found.view(word) ^ bits).tolist() == [sign] * 5


def test_products_of_vectors() -> None:
    a = RANDOM.standard_normal((9, 4)).astype(np.float32)
    b = RANDOM.standard_normal((9, 4)).astype(np.float32)
    factor = RANDOM.standard_normal(9).astype(np.float32)
    assert same_bits(compute("%r = OpVectorTimesScalar %v4f32 %a %b", np.float32, a, factor), a * factor[:, None])
    product = a * b
    expected = ((product[:, 0] + product[:, 1]) + product[:, 2]) + product[:, 3]
    assert same_bits(compute("%r = OpDot %f32 %a %b", np.float32, a, b, count=1), expected)


def test_integer_dot_products() -> None:
    a = RANDOM.integers(0, 255, (20, 4), np.uint8, endpoint=True)
    b = RANDOM.integers(0, 255, (20, 4), np.uint8, endpoint=True)
    start = RANDOM.integers(0, 2**32 - 1, 20, np.uint32, endpoint=True)
    start[:2] = 2**31 - 1, 2**32 - 1
    a[:2], b[:2] = 127, 127
    for name, first, second in [("S", np.int8, np.int8), ("U", np.uint8, np.uint8), ("SU", np.int8, np.uint8)]:
        exact = (a.view(first).astype(np.int64) * b.view(second).astype(np.int64)).sum(axis=1)
        found = compute(f"%r = Op{name}Dot %i32 %a %b", np.uint32, a, b, count=1)
        assert same_bits(found, exact.astype(np.uint32))
        packed = f"%r = Op{name}Dot %i32 %a %b PackedVectorFormat4x8Bit"
        assert same_bits(compute(packed, np.uint32, a.view(np.uint32).ravel(), b.view(np.uint32).ravel()), found)
        base = start.view(np.int32).astype(np.int64) if name != "U" else start.astype(np.int64)
        low, high = (0, 2**32 - 1) if name == "U" else (-(2**31), 2**31 - 1)
        saturated = np.clip(exact + base, low, high).astype(np.uint32)
        assert same_bits(compute(f"%r = Op{name}DotAccSat %i32 %a %b %c", np.uint32, a, b, start, count=1), saturated)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint64])
def test_order_of_integers(dtype: Any) -> None:
    a, b = pairs(dtype)
    b[::5] = a[::5]
    signs = [("U", a, b), ("S", a.view(np.dtype(dtype).name[1:]), b.view(np.dtype(dtype).name[1:]))]
    for sign, x, y in signs:
        for name, expected in [
            ("GreaterThan", x > y),
            ("GreaterThanEqual", x >= y),
            ("LessThan", x < y),
            ("LessThanEqual", x <= y),
        ]:
            assert same_bits(compute(f"%r = Op{sign}{name} %bool %a %b", np.bool_, a, b), expected)
    assert same_bits(compute("%r = OpIEqual %bool %a %b", np.bool_, a, b), a == b)
    assert same_bits(compute("%r = OpINotEqual %bool %a %b", np.bool_, a, b), a != b)


def test_order_of_floats() -> None:
    a, b = float_pairs(np.float32)
    b[::4] = a[::4]
    ordered = ~(np.isnan(a) | np.isnan(b))
    for name, expected in [
        ("Equal", a == b),
        ("NotEqual", ordered & (a != b)),
        ("LessThan", a < b),
        ("GreaterThan", a > b),
        ("LessThanEqual", a <= b),
        ("GreaterThanEqual", a >= b),
    ]:
        assert same_bits(compute(f"%r = OpFOrd{name} %bool %a %b", np.bool_, a, b), expected)
        assert same_bits(compute(f"%r = OpFUnord{name} %bool %a %b", np.bool_, a, b), expected | ~ordered)
    assert same_bits(compute("%r = OpOrdered %bool %a %b", np.bool_, a, b), ordered)
    assert same_bits(compute("%r = OpUnordered %bool %a %b", np.bool_, a, b), ~ordered)
    assert same_bits(compute("%r = OpLessOrGreater %bool %a %b", np.bool_, a, b), ordered & (a != b))


@pytest.mark.parametrize("dtype", FLOATS)
def test_questions_about_floats(dtype: Any) -> None:
    a = numbers(dtype)
    normal = np.isfinite(a) & (np.abs(a) >= np.finfo(dtype).tiny)
    for name, expected in [
        ("IsNan", np.isnan(a)),
        ("IsInf", np.isinf(a)),
        ("IsFinite", np.isfinite(a)),
        ("IsNormal", normal),
        ("SignBitSet", np.signbit(a)),
    ]:
        assert same_bits(compute(f"%r = Op{name} %bool %a", np.bool_, a), expected)


def test_logic() -> None:
    a: Array = np.array([0, 0, 1, 1], np.bool_)
    b: Array = np.array([0, 1, 0, 1], np.bool_)
    for name, expected in [
        ("LogicalEqual", a == b),
        ("LogicalNotEqual", a != b),
        ("LogicalOr", a | b),
        ("LogicalAnd", a & b),
    ]:
        assert same_bits(compute(f"%r = Op{name} %bool %a %b", np.bool_, a, b), expected)
    assert same_bits(compute("%r = OpLogicalNot %bool %a", np.bool_, a), ~a)
    four: Any = np.array([[0, 0, 0, 0], [0, 1, 0, 0], [1, 1, 1, 1]], np.bool_)
    assert same_bits(compute("%r = OpAny %bool %a", np.bool_, four, count=1), four.any(axis=1))
    assert same_bits(compute("%r = OpAll %bool %a", np.bool_, four, count=1), four.all(axis=1))


def test_select() -> None:
    a = RANDOM.standard_normal((6, 4)).astype(np.float32)
    b = RANDOM.standard_normal((6, 4)).astype(np.float32)
    each = RANDOM.integers(0, 1, (6, 4), endpoint=True).astype(np.bool_)
    one = each[:, 0].copy()
    assert same_bits(compute("%r = OpSelect %v4f32 %c %a %b", np.float32, a, b, each), np.where(each, a, b))
    assert same_bits(compute("%r = OpSelect %v4f32 %c %a %b", np.float32, a, b, one), np.where(one[:, None], a, b))
