"""Floats with fewer bits of fraction, bfloat16 and TF32, compiled and interpreted."""

from __future__ import annotations

import numpy as np
import pytest

from anyzero.compiler import pipeline
from anyzero.compiler.compiled import Options
from anyzero.compiler.reference import run
from tests.compiler.native import Loaded
from tests.compiler.reference.kernels import kernel

DECLARED = """
    %v4i16 = OpTypeVector %i16 4
    %to_floats = OpTypePointer CrossWorkgroup %v4f32
    %to_shorts = OpTypePointer CrossWorkgroup %v4i16"""
BODY = """
    %from = OpInBoundsPtrAccessChain %to_floats %p0 %i
    %floats = OpLoad %v4f32 %from
    %shorts = OpConvertFToBF16INTEL %v4i16 %floats
    %to = OpInBoundsPtrAccessChain %to_shorts %p1 %i
    OpStore %to %shorts
    %back = OpConvertBF16ToFINTEL %v4f32 %shorts
    %there = OpInBoundsPtrAccessChain %to_floats %p2 %i
    OpStore %there %back"""


def _floats() -> np.ndarray:
    """Ties and their neighbours among others, and everything that is no ordinary number."""
    bits = np.random.default_rng(5).integers(0, 1 << 32, 400, np.uint32)
    bits[:120] = (bits[:120] & 0xFFFF0000) + np.tile([0x7FFF, 0x8000, 0x8001], 40).astype(np.uint32)
    bits[120:132] = [
        0,
        1 << 31,
        1,
        0x7F800000,
        0xFF800000,
        0x7F800001,
        0xFFC00000,
        0x7FFFFFFF,
        0x7F7FFFFF,
        0x8000,
        0x18000,
        3,
    ]
    return bits.view(np.float32).reshape(100, 4)


@pytest.mark.parametrize("lanes", [1, 8, 16])
def test_rounded_to_even_and_back(lanes: int) -> None:
    module = kernel(BODY, "%to_floats %to_shorts %to_floats", DECLARED, "OpCapability BFloat16ConversionINTEL")
    floats = _floats()
    results = [(np.zeros(floats.shape, np.uint16), np.zeros_like(floats)) for _ in range(2)]
    run(module, "main", [floats, *results[0]], 100)
    Loaded(pipeline.compile_kernel(module, "main", Options(lanes=lanes)))([floats, *results[1]], (100,), (50,))
    (wanted, _), (found, back) = results
    assert found.tobytes() == wanted.tobytes()
    assert results[0][1].tobytes() == back.tobytes()
    nan = np.isnan(floats)
    assert np.isnan(back[nan]).all()
    # Of the two numbers around it, none is nearer, and on a tie the even one is taken.
    whole = floats.view(np.uint32).astype(np.uint64)
    half, kept = whole & 0xFFFF, whole >> 16
    up = (half > 0x8000) | ((half == 0x8000) & (kept & 1 == 1))
    assert (found.astype(np.uint64) == kept + up)[~nan].all()


TENSOR_FLOATS = """
    %from = OpInBoundsPtrAccessChain %to_floats %p0 %i
    %floats = OpLoad %v4f32 %from
    %rounded = OpRoundFToTF32INTEL %v4f32 %floats
    %to = OpInBoundsPtrAccessChain %to_floats %p1 %i
    OpStore %to %rounded"""


@pytest.mark.parametrize("lanes", [1, 16])
def test_tensor_floats_are_rounded_to_even(lanes: int) -> None:
    capability = "OpCapability TensorFloat32RoundingINTEL"
    module = kernel(TENSOR_FLOATS, "%to_floats %to_floats", DECLARED, capability)
    bits = _floats().view(np.uint32)
    bits[:20] = (bits[:20] & 0xFFFFE000) + np.tile([0xFFF, 0x1000, 0x1001, 0], 20).reshape(20, 4).astype(np.uint32)
    floats = bits.view(np.float32)
    wanted, found = np.zeros_like(floats), np.zeros_like(floats)
    run(module, "main", [floats, wanted], 100)
    Loaded(pipeline.compile_kernel(module, "main", Options(lanes=lanes)))([floats, found], (100,), (50,))
    nan = np.isnan(floats)
    assert (np.isnan(found) == nan).all()
    assert (found.view(np.uint32) == wanted.view(np.uint32))[~nan].all()
    assert (found.view(np.uint32) & 0x1FFF == 0).all()
