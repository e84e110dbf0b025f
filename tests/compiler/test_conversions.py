"""Conversions at the edges of types, compiled and interpreted: they saturate, round in a direction, and meet NaNs."""

from __future__ import annotations

import numpy as np
import pytest

from anyzero.compiler import pipeline
from anyzero.compiler.compiled import Options
from anyzero.compiler.reference import run
from tests.compiler.native import Loaded
from tests.compiler.reference.kernels import kernel

LANES = (1, 8, 16)
INTEGERS = {"i8": np.uint8, "i16": np.uint16, "i32": np.uint32, "i64": np.uint64}
FLOATS = {"f16": (np.float16, np.uint16), "f32": (np.float32, np.uint32), "f64": (np.float64, np.uint64)}


def _at_the_edges(width: int) -> list[int]:
    """Bit patterns around powers of two and their negations: integers, and floats of all kinds."""
    mask = (1 << width) - 1
    found = {(sign * ((1 << power) + near)) & mask for power in range(width) for near in (-1, 0, 1) for sign in (1, -1)}
    if width > 8:
        # Infinities, NaNs, and the largest numbers: an exponent of ones, and the numbers beside it.
        ones = {16: 0x7C00, 32: 0x7F800000, 64: 0x7FF0 << 48}[width]
        found |= {sign | ones + near for sign in (0, 1 << (width - 1)) for near in (-1, 0, 1 << (width // 3))}
    return sorted(found)


def _agree(source: str, target: str, line: str, decorated: str, lanes: int) -> None:
    width = int(source[1:])
    given = np.array(_at_the_edges(width), INTEGERS[f"i{width}"])
    number = FLOATS[target][0] if target in FLOATS else INTEGERS[target]
    module = kernel(
        f"""
        %from = OpInBoundsPtrAccessChain %to_{source} %p0 %i
        %given = OpLoad %{source} %from
        %r = {line} %{target} %given
        %to = OpInBoundsPtrAccessChain %to_{target} %p1 %i
        OpStore %to %r""",
        f"%to_{source} %to_{target}",
        "\n".join(f"%to_{each} = OpTypePointer CrossWorkgroup %{each}" for each in (source, target)),
        decorated,
    )
    wanted, found = (np.zeros(given.size, number) for _ in range(2))
    run(module, "main", [given, wanted], given.size)
    loaded = Loaded(pipeline.compile_kernel(module, "main", Options(level=1, lanes=lanes)))
    loaded([given, found], (given.size,), (1,))
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("mode", ["RTE", "RTZ", "RTP", "RTN"])
@pytest.mark.parametrize("target", FLOATS)
def test_given_any_integer_then_it_is_rounded_in_its_direction(target: str, mode: str, lanes: int) -> None:
    for source in INTEGERS:
        for line in ("OpConvertSToF", "OpConvertUToF"):
            _agree(source, target, line, f"OpDecorate %r FPRoundingMode {mode}", lanes)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("source", FLOATS)
def test_given_any_float_then_it_saturates(source: str, lanes: int) -> None:
    for target in INTEGERS:
        for line in ("OpConvertFToS", "OpConvertFToU"):
            _agree(source, target, line, "OpDecorate %r SaturatedConversion", lanes)
