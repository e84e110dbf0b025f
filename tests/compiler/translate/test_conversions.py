"""Conversions between numbers, bits and pointers."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.compiler.samples import function
from tests.compiler.translate.machine import bits, number, signed
from tests.compiler.translate.programs import body_of, evaluate, run

WIDTHS = (8, 16, 32, 64)


@given(value=st.integers(0, 2**64 - 1), source=st.sampled_from(WIDTHS), target=st.sampled_from(WIDTHS))
def test_integers_of_other_widths(value: int, source: int, target: int) -> None:
    value &= (1 << source) - 1
    operand, kept = [(f"%i{source}", value)], (1 << target) - 1
    assert evaluate(f"%r = OpUConvert %i{target} %p0", operand, f"i{target}") == [value & kept]
    assert evaluate(f"%r = OpSConvert %i{target} %p0", operand, f"i{target}") == [signed(value, source) & kept]


@given(value=st.integers(0, 2**64 - 1), source=st.sampled_from(WIDTHS), target=st.sampled_from(WIDTHS))
def test_saturated_integers(value: int, source: int, target: int) -> None:
    value &= (1 << source) - 1
    operand, kept, high = [(f"%i{source}", value)], (1 << target) - 1, (1 << (target - 1)) - 1
    as_signed = signed(value, source)
    for line, expected in (
        ("SatConvertSToU", min(max(as_signed, 0), kept)),
        ("SatConvertUToS", min(value, high)),
    ):
        assert evaluate(f"%r = Op{line} %i{target} %p0", operand, f"i{target}") == [expected & kept]
    for line, expected in (
        ("UConvert", min(value, kept)),
        ("SConvert", min(max(as_signed, -high - 1), high)),
    ):
        text = function(
            f"%r = Op{line} %i{target} %p0\nOpReturnValue %r",
            parameters=f"%i{source}",
            result=f"i{target}",
            prologue="OpDecorate %r SaturatedConversion",
        )
        assert run(text, value) == [expected & kept]


@pytest.mark.parametrize(
    ("line", "from_", "to", "decorations", "kind"),
    [
        ("ConvertFToS", "f32", "i32", "", "fptosi"),
        ("ConvertFToS", "f32", "i32", "FPRoundingMode RTZ", "fptosi"),
        ("ConvertFToS", "f32", "i32", "FPRoundingMode RTE", "fptosi.rte"),
        ("ConvertFToU", "f64", "i8", "SaturatedConversion", "fptoui.sat"),
        ("ConvertSToF", "i64", "f32", "", "sitofp"),
        ("ConvertUToF", "i64", "f32", "FPRoundingMode RTP", "uitofp.rtp"),
        ("ConvertUToF", "i64", "f32", "FPRoundingMode RTE", "uitofp"),
        ("FConvert", "f64", "f32", "FPRoundingMode RTN", "fptrunc.rtn"),
        ("FConvert", "f16", "f32", "FPRoundingMode RTN", "fpext"),
    ],
)
def test_rounding_and_saturation(line: str, from_: str, to: str, decorations: str, kind: str) -> None:
    prologue = f"OpDecorate %r {decorations}" if decorations else ""
    text = function(f"%r = Op{line} %{to} %p0\nOpReturnValue %r", parameters=f"%{from_}", result=to, prologue=prologue)
    assert [op.info for op in body_of(text).ops if op.name == "cast"] == [kind]


def test_saturation_and_rounding_together() -> None:
    text = function(
        "%r = OpConvertFToS %i8 %p0\nOpReturnValue %r",
        parameters="%f32",
        result="i8",
        prologue="OpDecorate %r SaturatedConversion\nOpDecorate %r FPRoundingMode RTE",
    )
    assert [op.info for op in body_of(text).ops if op.name == "cast"] == ["fptosi.sat.rte"]
    assert run(text, bits(1000.0, "float")) == [127]
    assert run(text, bits(2.5, "float")) == [2]


@given(value=st.floats(width=32))
def test_brain_floats(value: float) -> None:
    given_ = bits(value, "float")
    (found,) = evaluate("%r = OpConvertFToBF16INTEL %i16 %p0", [("%f32", given_)], "i16")
    (back,) = evaluate("%r = OpConvertBF16ToFINTEL %f32 %p0", [("%i16", found)], "f32")
    assert back == found << 16
    if math.isnan(value):
        assert math.isnan(number(back, "float"))
    else:
        below = given_ >> 16
        rest, half = given_ & 0xFFFF, 0x8000
        assert found == below + (rest > half or (rest == half and below & 1))


@given(value=st.integers(0, 2**64 - 1))
def test_bits_as_components_of_other_widths(value: int) -> None:
    shorts = [value >> at & 0xFFFF for at in (0, 16, 32, 48)]
    declared = "%v4i16 = OpTypeVector %i16 4\n%v2f32 = OpTypeVector %f32 2"
    assert evaluate("%r = OpBitcast %v4i16 %p0", [("%i64", value)], "v4i16", declared) == shorts
    text = function(
        "%r = OpBitcast %i64 %p0\nOpReturnValue %r", parameters="%v4i16", result="i64", declarations=declared
    )
    assert run(text, *shorts) == [value]
    floats = function(
        "%r = OpBitcast %v2f32 %p0\nOpReturnValue %r", parameters="%v4i16", result="v2f32", declarations=declared
    )
    assert run(floats, *shorts) == [value & 0xFFFFFFFF, value >> 32]


def test_a_pointer_cast_is_the_same_address() -> None:
    body = """
    %g = OpPtrCastToGeneric %generic_i32 %p0
    %n = OpConvertPtrToU %i64 %g
    %s = OpIAdd %i64 %n %p1
    %q = OpConvertUToPtr %global_i32 %s
    %b = OpBitcast %global_f32 %q
    %r = OpConvertPtrToU %i64 %b
    OpReturnValue %r
    """
    text = function(body, parameters="%global_i32 %i64", result="i64")
    assert run(text, 4096, 12) == [4108]
    assert "offset" in [op.name for op in body_of(text).ops]


@given(value=st.integers(0, 2**32 - 1), by=st.sampled_from([8, 16, 24]))
def test_what_stands_for_a_narrower_number_becomes_one(value: int, by: int) -> None:
    """There is no shorter way to say it in some producers."""
    for shift, extend in (("Arithmetic", "sext"), ("Logical", "zext")):
        line = f"%a = OpShiftLeftLogical %i32 %p0 %by\n%r = OpShiftRight{shift} %i32 %a %by"
        declared = f"%by = OpConstant %i32 {by}"
        kept = value & ((1 << (32 - by)) - 1)
        expected = signed(kept, 32 - by) & 0xFFFFFFFF if extend == "sext" else kept
        assert evaluate(line, [("%i32", value)], "i32", declared) == [expected]
        text = function(f"{line}\nOpReturnValue %r", parameters="%i32", result="i32", declarations=declared)
        casts = [op.info for op in body_of(text).ops if op.name == "cast"]
        assert casts == (["trunc", extend] if by != 8 else [])


@given(value=st.floats(allow_nan=False), rounding=st.sampled_from(["RTE", "RTZ", "RTP", "RTN"]))
def test_floats_to_integers(value: float, rounding: str) -> None:
    assume(abs(value) < 2.0**62)
    whole = {"RTE": round, "RTZ": math.trunc, "RTP": math.ceil, "RTN": math.floor}[rounding](value)
    text = function(
        "%r = OpConvertFToS %i64 %p0\nOpReturnValue %r",
        parameters="%f64",
        result="i64",
        prologue=f"OpDecorate %r FPRoundingMode {rounding}",
    )
    assert run(text, bits(value, "double")) == [whole & (2**64 - 1)]
