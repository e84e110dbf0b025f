"""Arithmetic, bits, comparisons and logic, each against Python's own numbers."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from anyzero.compiler.ir import Op
from tests.compiler.samples import function
from tests.compiler.translate.machine import bits, number, signed
from tests.compiler.translate.programs import body_of, evaluate, names, run

WORD = 0xFFFFFFFF
words = st.one_of(st.integers(0, WORD), st.sampled_from([0, 1, 7, 0x7FFFFFFF, 0x80000000, WORD]))
floats = st.floats(width=32)


def _s(value: int) -> int:
    return signed(value, 32)


def _quotient(a: int, b: int) -> int:
    return int(abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1)


INTEGER: dict[str, Callable[[int, int], int]] = {
    "IAdd": lambda a, b: a + b,
    "ISub": lambda a, b: a - b,
    "IMul": lambda a, b: a * b,
    "UDiv": lambda a, b: a // b,
    "UMod": lambda a, b: a % b,
    "SDiv": lambda a, b: _quotient(_s(a), _s(b)),
    "SRem": lambda a, b: _s(a) - _quotient(_s(a), _s(b)) * _s(b),
    "SMod": lambda a, b: _s(a) % _s(b),
    "BitwiseOr": lambda a, b: a | b,
    "BitwiseXor": lambda a, b: a ^ b,
    "BitwiseAnd": lambda a, b: a & b,
}
ORDER: dict[str, Callable[[int, int], bool]] = {
    "IEqual": lambda a, b: a == b,
    "INotEqual": lambda a, b: a != b,
    "UGreaterThan": lambda a, b: a > b,
    "UGreaterThanEqual": lambda a, b: a >= b,
    "ULessThan": lambda a, b: a < b,
    "ULessThanEqual": lambda a, b: a <= b,
    "SGreaterThan": lambda a, b: _s(a) > _s(b),
    "SGreaterThanEqual": lambda a, b: _s(a) >= _s(b),
    "SLessThan": lambda a, b: _s(a) < _s(b),
    "SLessThanEqual": lambda a, b: _s(a) <= _s(b),
}
CONSTANTS = {7: "%c7", 1: "%c1", 0: "%c0", WORD: "%ones"}


@pytest.mark.parametrize("name", INTEGER)
@given(a=words, b=words)
def test_integers(name: str, a: int, b: int) -> None:
    assume(b != 0 or ("Div" not in name and "Mod" not in name and "Rem" not in name))
    assume(name not in ("SDiv", "SRem", "SMod") or (a, b) != (0x80000000, WORD))
    assert evaluate(f"%r = Op{name} %i32 %p0 %p1", [("%i32", a), ("%i32", b)], "i32") == [INTEGER[name](a, b) & WORD]


@pytest.mark.parametrize("name", INTEGER)
@given(a=words, b=st.sampled_from(list(CONSTANTS)))
def test_integers_by_constants_are_folded_rightly(name: str, a: int, b: int) -> None:
    assume(b != 0 or ("Div" not in name and "Mod" not in name and "Rem" not in name))
    assume(b != WORD or name not in ("SDiv", "SRem", "SMod"))
    declared = "%ones = OpConstant %i32 0xFFFFFFFF"
    found = evaluate(f"%r = Op{name} %i32 %p0 {CONSTANTS[b]}", [("%i32", a)], "i32", declared)
    assert found == [INTEGER[name](a, b) & WORD]
    if INTEGER[name] and "Div" not in name and "Mod" not in name and "Rem" not in name:
        found = evaluate(f"%r = Op{name} %i32 {CONSTANTS[b]} %p0", [("%i32", a)], "i32", declared)
        assert found == [INTEGER[name](b, a) & WORD]


@pytest.mark.parametrize("name", ORDER)
@given(a=words, b=words)
def test_comparisons(name: str, a: int, b: int) -> None:
    operands = [("%i32", a), ("%i32", b)]
    assert evaluate(f"%r = Op{name} %bool %p0 %p1", operands, "bool") == [ORDER[name](a, b)]
    by_constant = evaluate(f"%r = Op{name} %bool %c7 %p0", [("%i32", a)], "bool")
    assert by_constant == [ORDER[name](7, a)]


@given(a=words, by=st.integers(0, 31))
def test_shifts(a: int, by: int) -> None:
    """The distance may be of another width."""
    for name, expected in (
        ("ShiftLeftLogical", a << by & WORD),
        ("ShiftRightLogical", a >> by),
        ("ShiftRightArithmetic", _s(a) >> by & WORD),
    ):
        assert evaluate(f"%r = Op{name} %i32 %p0 %p1", [("%i32", a), ("%i64", by)], "i32") == [expected]


@given(a=words)
def test_one_operand(a: int) -> None:
    given_ = [("%i32", a)]
    assert evaluate("%r = OpSNegate %i32 %p0", given_, "i32") == [-a & WORD]
    assert evaluate("%r = OpNot %i32 %p0", given_, "i32") == [~a & WORD]
    assert evaluate("%r = OpBitCount %i64 %p0", given_, "i64") == [a.bit_count()]
    assert evaluate("%r = OpBitReverse %i32 %p0", given_, "i32") == [int(f"{a:032b}"[::-1], 2)]


@given(a=words, b=words)
def test_results_in_two_words(a: int, b: int) -> None:
    pair, operands = "%pair = OpTypeStruct %i32 %i32", [("%i32", a), ("%i32", b)]
    for name, low, high in (
        ("IAddCarry", a + b, a + b > WORD),
        ("ISubBorrow", a - b, a < b),
        ("UMulExtended", a * b, a * b >> 32),
        ("SMulExtended", a * b, _s(a) * _s(b) >> 32),
    ):
        assert evaluate(f"%r = Op{name} %pair %p0 %p1", operands, "pair", pair) == [low & WORD, high & WORD]


@given(base=words, new=words, offset=st.integers(0, 32), count=st.integers(0, 32))
def test_bit_fields(base: int, new: int, offset: int, count: int) -> None:
    assume(offset + count <= 32)
    mask = (1 << count) - 1
    places = [("%i16", offset), ("%i64", count)]
    inserted = evaluate("%r = OpBitFieldInsert %i32 %p0 %p1 %p2 %p3", [("%i32", base), ("%i32", new), *places], "i32")
    assert inserted == [base & ~(mask << offset) & WORD | (new & mask) << offset]
    field = base >> offset & mask
    operands = [("%i32", base), *places]
    assert evaluate("%r = OpBitFieldUExtract %i32 %p0 %p1 %p2", operands, "i32") == [field]
    expected = signed(field, count) & WORD if count else 0
    assert evaluate("%r = OpBitFieldSExtract %i32 %p0 %p1 %p2", operands, "i32") == [expected]


FLOAT: dict[str, Callable[[float, float], float]] = {
    "FAdd": lambda a, b: a + b,
    "FSub": lambda a, b: a - b,
    "FMul": lambda a, b: a * b,
    "FDiv": lambda a, b: a / b,
    "FRem": math.fmod,
    "FMod": lambda a, b: a % b,
}


@pytest.mark.parametrize("name", FLOAT)
@given(a=st.floats(-1e6, 1e6, width=32), b=st.floats(0.0009765625, 1e6, width=32), sign=st.sampled_from([1, -1]))
def test_floats(name: str, a: float, b: float, sign: int) -> None:
    b *= sign
    operands = [("%f32", bits(a, "float")), ("%f32", bits(b, "float"))]
    (found,) = evaluate(f"%r = Op{name} %f32 %p0 %p1", operands, "f32")
    expected = FLOAT[name](a, b)
    if name == "FMod":
        # Python adds the divisor in double precision.
        assert number(found, "float") == pytest.approx(expected, rel=1e-6, abs=1e-6 * abs(b))
    else:
        assert number(found, "float") == number(bits(expected, "float"), "float")


ORDERED: dict[str, Callable[[float, float], bool]] = {
    "Equal": lambda a, b: a == b,
    "NotEqual": lambda a, b: a != b,
    "LessThan": lambda a, b: a < b,
    "GreaterThan": lambda a, b: a > b,
    "LessThanEqual": lambda a, b: a <= b,
    "GreaterThanEqual": lambda a, b: a >= b,
}


@pytest.mark.parametrize("name", ORDERED)
@given(a=floats, b=floats)
def test_comparisons_of_floats(name: str, a: float, b: float) -> None:
    operands = [("%f32", bits(a, "float")), ("%f32", bits(b, "float"))]
    comparable = a == a and b == b
    for prefix, otherwise in (("FOrd", False), ("FUnord", True)):
        expected = ORDERED[name](a, b) if comparable else otherwise
        assert evaluate(f"%r = Op{prefix}{name} %bool %p0 %p1", operands, "bool") == [expected]
        inverted = f"%n = Op{prefix}{name} %bool %p0 %p1\n%r = OpLogicalNot %bool %n"
        assert evaluate(inverted, operands, "bool") == [not expected]


@given(value=st.one_of(floats, st.sampled_from([0.0, -0.0, 1e-40, 1.1754943508222875e-38, math.inf, -math.inf])))
def test_classes_of_floats(value: float) -> None:
    value = number(bits(value, "float"), "float")
    operand = [("%f32", bits(value, "float"))]
    for name, expected in (
        ("IsNan", math.isnan(value)),
        ("IsInf", math.isinf(value)),
        ("IsFinite", math.isfinite(value)),
        ("IsNormal", math.isfinite(value) and abs(value) >= 2.0**-126),
        ("SignBitSet", math.copysign(1.0, value) < 0),
    ):
        assert evaluate(f"%r = Op{name} %bool %p0", operand, "bool") == [expected], name


@given(a=st.booleans(), b=st.booleans())
def test_truth_values(a: bool, b: bool) -> None:
    operands = [("%bool", a), ("%bool", b)]
    for name, expected in (
        ("LogicalEqual", a == b),
        ("LogicalNotEqual", a != b),
        ("LogicalOr", a or b),
        ("LogicalAnd", a and b),
    ):
        assert evaluate(f"%r = Op{name} %bool %p0 %p1", operands, "bool") == [expected]


def test_vectors_are_computed_component_by_component() -> None:
    text = function("%r = OpIMul %v2i32 %p0 %p0\nOpReturnValue %r", parameters="%v2i32", result="v2i32")
    assert names(body_of(text)).count("mul") == 2
    assert run(text, 3, 5) == [9, 25]


@given(values=st.lists(st.integers(0, 255), min_size=8, max_size=8), total=words)
def test_integer_dot_products(values: list[int], total: int) -> None:
    first, second = values[:4], values[4:]
    packed = [int.from_bytes(bytes(each), "little") for each in (first, second)]
    operands = [("%i32", packed[0]), ("%i32", packed[1])]
    s, u = [signed(each, 8) for each in first], first
    t, v = [signed(each, 8) for each in second], second
    for name, a, b in (("SDot", s, t), ("UDot", u, v), ("SUDot", s, v)):
        expected = sum(x * y for x, y in zip(a, b, strict=True))
        line = f"%r = Op{name} %i32 %p0 %p1 PackedVectorFormat4x8Bit"
        assert evaluate(line, operands, "i32") == [expected & WORD]
        line = f"%r = Op{name}AccSat %i32 %p0 %p1 %p2 PackedVectorFormat4x8Bit"
        (found,) = evaluate(line, [*operands, ("%i32", total)], "i32")
        if name == "UDot":
            assert found == min(expected + total, WORD)
        else:
            assert _s(found) == min(max(expected + _s(total), -(1 << 31)), (1 << 31) - 1)


def _only(text: str, name: str) -> Op:
    (found,) = [op for op in body_of(text).ops if op.name == name]
    return found


def test_promises_about_wrapping_become_flags() -> None:
    text = function(
        "%r = OpIAdd %i32 %p0 %p0\nOpReturnValue %r",
        parameters="%i32",
        result="i32",
        prologue="OpDecorate %r NoSignedWrap\nOpDecorate %r NoUnsignedWrap",
    )
    assert _only(text, "add").flags == "nsw nuw"


@pytest.mark.parametrize(
    ("decoration", "flags"),
    [
        ("", "contract"),
        ("OpDecorate %r FPFastMathMode NotNaN|NotInf|NSZ|AllowRecip", "nnan ninf nsz arcp contract"),
        ("OpDecorate %r FPFastMathMode Fast", "fast"),
        ("OpDecorate %r NoContraction", ""),
    ],
)
def test_what_floats_allow_becomes_flags(decoration: str, flags: str) -> None:
    text = function("%r = OpFMul %f32 %p0 %p0\nOpReturnValue %r", parameters="%f32", result="f32", prologue=decoration)
    assert _only(text, "fmul").flags == flags
