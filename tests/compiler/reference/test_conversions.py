"""Conversions, with their rounding and saturation, and casts between address spaces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from anyzero.compiler.reference import Local, run
from tests.compiler.reference.kernels import compute, kernel, same_bits

FLOATS = {16: np.float16, 32: np.float32, 64: np.float64}
SIGNED = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
UNSIGNED = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


@pytest.mark.parametrize("width", UNSIGNED)
def test_integers_change_their_width(width: int) -> None:
    a = np.array([0, 1, 127, 128, 255, 2**31, 2**32 - 1, 0x12345678], np.uint32)
    assert same_bits(compute(f"%r = OpUConvert %i{width} %a", UNSIGNED[width], a), a.astype(UNSIGNED[width]))
    expected = a.view(np.int32).astype(SIGNED[width])
    assert same_bits(compute(f"%r = OpSConvert %i{width} %a", SIGNED[width], a), expected)


def test_integers_saturate() -> None:
    a = np.array([-1000, -1, 0, 100, 300, 70000], np.int32)
    assert compute("%r = OpSatConvertSToU %i8 %a", np.uint8, a).tolist() == [0, 0, 0, 100, 255, 255]
    assert compute("%r = OpSatConvertUToS %i8 %a", np.int8, a).tolist() == [127, 127, 0, 100, 127, 127]
    decorated = "OpDecorate %r SaturatedConversion"
    assert compute("%r = OpSConvert %i8 %a", np.int8, a, prologue=decorated).tolist() == [-128, -1, 0, 100, 127, 127]
    assert compute("%r = OpUConvert %i8 %a", np.uint8, a, prologue=decorated).tolist() == [255, 255, 0, 100, 255, 255]


@pytest.mark.parametrize("width", FLOATS)
def test_integers_become_the_nearest_float(width: int) -> None:
    a = np.array([0, 1, 2049, 2051, 65519, 65520, 2**24 + 1, 2**24 + 3, 2**53 + 1, 2**63 + 1025, 2**64 - 1], np.uint64)
    with np.errstate(over="ignore"):
        assert same_bits(compute(f"%r = OpConvertUToF %f{width} %a", FLOATS[width], a), a.astype(FLOATS[width]))
        expected = a.view(np.int64).astype(FLOATS[width])
        assert same_bits(compute(f"%r = OpConvertSToF %f{width} %a", FLOATS[width], a), expected)


def test_a_long_integer_is_rounded_once_on_its_way_to_a_float() -> None:
    # A double in between would round this to the tie, and then down.
    a = np.array([(1 << 62) + (1 << 38) + 1], np.int64)
    assert compute("%r = OpConvertSToF %f32 %a", np.float32, a)[0] == np.float32(2.0**62 + 2.0**39)


def test_floats_become_integers() -> None:
    a = np.array([0.0, 0.9, -0.9, 1.5, 2.5, -2.5, 100.7], np.float32)
    assert compute("%r = OpConvertFToS %i32 %a", np.int32, a).tolist() == [0, 0, 0, 1, 2, -2, 100]
    for mode, expected in [
        ("RTE", [0, 1, -1, 2, 2, -2, 101]),
        ("RTZ", [0, 0, 0, 1, 2, -2, 100]),
        ("RTP", [0, 1, 0, 2, 3, -2, 101]),
        ("RTN", [0, 0, -1, 1, 2, -3, 100]),
    ]:
        prologue = f"OpDecorate %r FPRoundingMode {mode}"
        assert compute("%r = OpConvertFToS %i32 %a", np.int32, a, prologue=prologue).tolist() == expected, mode


def test_saturated_conversions_take_everything() -> None:
    a = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 300.0, -3.0], np.float64)
    prologue = "OpDecorate %r SaturatedConversion"
    found = compute("%r = OpConvertFToU %i8 %a", np.uint8, a, prologue=prologue)
    assert found.tolist() == [0, 255, 0, 255, 0, 255, 0]
    found = compute("%r = OpConvertFToS %i8 %a", np.int8, a, prologue=prologue)
    assert found.tolist() == [0, 127, -128, 127, -128, 127, -3]


def test_floats_become_other_floats() -> None:
    a = np.array([1.0, 1 / 3, 1e-8, 1e-40, 65519.9, 65520.0, 1e300, -np.inf, np.nan, -0.0], np.float64)
    for width, dtype in FLOATS.items():
        with np.errstate(over="ignore", under="ignore"):
            expected = a.astype(dtype)
        np.testing.assert_array_equal(compute(f"%r = OpFConvert %f{width} %a", dtype, a), expected)


@pytest.mark.parametrize(("mode", "up"), [("RTZ", 0), ("RTP", 1), ("RTN", -1)])
def test_rounding_modes(mode: str, up: int) -> None:
    a = np.array([1 / 3, -1 / 3, 1e300, -1e300, 1e-60, -1e-60, 0.5], np.float64)
    found = compute("%r = OpFConvert %f32 %a", np.float32, a, prologue=f"OpDecorate %r FPRoundingMode {mode}")
    top, tiny = np.finfo(np.float32).max, np.finfo(np.float32).smallest_subnormal
    third = np.float32(1 / 3)
    below = np.nextafter(third, np.float32(0))
    nearest_is_above = float(third) > 1 / 3
    low, high = (below, third) if nearest_is_above else (third, np.nextafter(third, np.float32(1)))
    expected = {
        0: [low, -low, top, -top, 0.0, -0.0, 0.5],
        1: [high, -low, np.inf, -top, tiny, -0.0, 0.5],
        -1: [low, -high, top, -np.inf, 0.0, -tiny, 0.5],
    }[up]
    assert same_bits(found, np.array(expected, np.float32))


def test_bfloat16() -> None:
    a = np.array([0x3F800000, 0x3F808000, 0x3F818000, 0x3F808001, 0x7F7FFFFF, 0x7F800001, 0xFF800000], np.uint32)
    found = compute("%r = OpConvertFToBF16INTEL %i16 %a", np.uint16, a.view(np.float32))
    assert found.tolist() == [0x3F80, 0x3F80, 0x3F82, 0x3F81, 0x7F80, 0x7FC0, 0xFF80]
    back = compute("%r = OpConvertBF16ToFINTEL %f32 %a", np.float32, found)
    assert back.view(np.uint32).tolist() == [int(each) << 16 for each in found]


def test_tensor_floats() -> None:
    a = np.array([0x3F801000, 0x3F803000, 0x3F801001, 0x7F7FFFFF, 0x00001000, 0x80003000, 0xFF800000], np.uint32)
    found = compute("%r = OpRoundFToTF32INTEL %f32 %a", np.float32, a.view(np.float32))
    expected = [0x3F800000, 0x3F804000, 0x3F802000, 0x7F800000, 0x00000000, 0x80004000, 0xFF800000]
    assert found.view(np.uint32).tolist() == expected
    assert np.isnan(compute("%r = OpRoundFToTF32INTEL %f32 %a", np.float32, np.float32([np.nan]))).all()


def test_bitcasts_keep_every_bit() -> None:
    a = np.array([0x7F800001, 0xFFC12345, 0, 0x80000000, 0x3F800000], np.uint32)
    assert compute("%r = OpBitcast %f32 %a", np.float32, a).view(np.uint32).tolist() == a.tolist()
    wide = a.astype(np.uint64) << np.uint64(32) | np.uint64(0x0102030405060708 & 0xFFFFFFFF)
    found = compute("%r = OpBitcast %v4i16 %a", np.uint16, wide, count=4)
    assert found.tobytes() == wide.tobytes()
    three = np.arange(6, dtype=np.uint32).reshape(2, 3)
    found = compute("%r = OpBitcast %v3f32 %a", np.float32, three)
    assert found.tobytes() == three.tobytes()


def test_casts_to_and_from_generic_pointers() -> None:
    body = """
        %mine = OpVariable %private_i32 Function
        %c_global = OpPtrCastToGeneric %generic_i32 %p1
        %c_local = OpPtrCastToGeneric %generic_i32 %p2
        %c_mine = OpPtrCastToGeneric %generic_i32 %mine
        %g0 = OpGenericCastToPtrExplicit %global_i32 %c_global CrossWorkgroup
        %g1 = OpGenericCastToPtrExplicit %global_i32 %c_local CrossWorkgroup
        %g2 = OpGenericCastToPtrExplicit %local_i32 %c_local Workgroup
        %g3 = OpGenericCastToPtrExplicit %local_i32 %c_mine Workgroup
        %g4 = OpGenericCastToPtrExplicit %private_i32 %c_mine Function
        %g5 = OpGenericCastToPtrExplicit %private_i32 %c_global Function
        %n0 = OpConvertPtrToU %i64 %g0
        %n1 = OpConvertPtrToU %i64 %g1
        %n2 = OpConvertPtrToU %i64 %g2
        %n3 = OpConvertPtrToU %i64 %g3
        %n4 = OpConvertPtrToU %i64 %g4
        %n5 = OpConvertPtrToU %i64 %g5
        %q0 = OpConvertPtrToU %i64 %c_global
        %q2 = OpConvertPtrToU %i64 %c_local
        %q4 = OpConvertPtrToU %i64 %c_mine
        %s0 = OpGenericPtrMemSemantics %i32 %c_global
        %s2 = OpGenericPtrMemSemantics %i32 %c_local
        %size = OpSizeOf %i32 %p1
        %e0 = OpISub %i64 %n0 %q0
        %e2 = OpISub %i64 %n2 %q2
        %e4 = OpISub %i64 %n4 %q4
        %back = OpGenericCastToPtr %global_i32 %c_global
        %again = OpConvertUToPtr %global_i32 %q0
        OpStore %back %c7
        %seven = OpLoad %i32 %again
        %t0 = OpCompositeConstruct %v8 %e0 %n1 %e2 %n3 %e4 %n5 %l0 %l0
        OpStore %p0 %t0
        %u0 = OpCompositeConstruct %v4i32 %s0 %s2 %size %seven
        OpStore %p3 %u0"""
    declarations = """
        %v8 = OpTypeVector %i64 8
        %to_v8 = OpTypePointer CrossWorkgroup %v8
        %to_v4 = OpTypePointer CrossWorkgroup %v4i32"""
    made = kernel(body, "%to_v8 %global_i32 %local_i32 %to_v4", declarations)
    numbers, words = np.ones(8, np.uint64), np.zeros(4, np.uint32)
    run(made, "main", [numbers, np.zeros(1, np.uint32), Local(4), words], 1)
    assert numbers.tolist() == [0] * 8
    assert words.tolist() == [0x200, 0x100, 4, 7]


@pytest.mark.parametrize(("opcode", "to"), [("PtrCastToCrossWorkgroupINTEL", "global"), ("Bitcast", "device")])
def test_device_memory_is_global_memory(opcode: str, to: str) -> None:
    body = f"%q = Op{opcode} %{to}_i32 %p0\nOpStore %q %c7"
    made = kernel(body, "%device_i32", "%device_i32 = OpTypePointer DeviceOnlyALTERA %i32")
    out: Any = np.zeros(1, np.uint32)
    run(made, "main", [out], 1)
    assert out[0] == 7
