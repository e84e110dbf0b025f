"""Integer division of vectors by a number that all lanes share: they multiply by its inverse, and lose nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from anyzero.compiler import pipeline
from anyzero.compiler.compiled import Options
from anyzero.compiler.spirv import read
from tests.compiler.assembler import assemble
from tests.compiler.native import Loaded
from tests.compiler.samples import PROLOGUE, TYPES


def kernel(bits: int, signed: bool) -> str:
    """Quotients and remainders of the third buffer's numbers by the last argument."""
    divide, remainder = ("OpSDiv", "OpSRem") if signed else ("OpUDiv", "OpUMod")
    type_, pointer = f"%i{bits}", f"%global_{bits}"
    return f"""
        {PROLOGUE}
        OpEntryPoint Kernel %main "main" %gid
        OpDecorate %gid BuiltIn GlobalInvocationId
        {TYPES}
        {pointer} = OpTypePointer CrossWorkgroup {type_}
        %gid = OpVariable %input_v3i64 Input
        %main_type = OpTypeFunction %void {pointer} {pointer} {pointer} {type_}
        %main = OpFunction %void None %main_type
        %quotients = OpFunctionParameter {pointer}
        %remainders = OpFunctionParameter {pointer}
        %numbers = OpFunctionParameter {pointer}
        %d = OpFunctionParameter {type_}
        %entry = OpLabel
        %ids = OpLoad %v3i64 %gid
        %g = OpCompositeExtract %i64 %ids 0
        %at = OpInBoundsPtrAccessChain {pointer} %numbers %g
        %a = OpLoad {type_} %at Aligned {bits // 8}
        %q = {divide} {type_} %a %d
        %r = {remainder} {type_} %a %d
        %q_at = OpInBoundsPtrAccessChain {pointer} %quotients %g
        OpStore %q_at %q Aligned {bits // 8}
        %r_at = OpInBoundsPtrAccessChain {pointer} %remainders %g
        OpStore %r_at %r Aligned {bits // 8}
        OpReturn
        OpFunctionEnd
    """


def divisors(least: int, most: int) -> list[int]:
    """Small ones, powers of two with their neighbours, the ends of the range, and some anywhere in it."""
    powers = [sign * (1 << bit) + by for bit in range(32) for by in (-1, 0, 1) for sign in (1, -1)]
    anywhere = np.random.default_rng(1).integers(least, most + 1, 40).tolist()
    found = dict.fromkeys([*range(-20, 21), *powers, *anywhere, least, most])
    return [each for each in found if least <= each <= most and each]


def dividends(d: int, least: int, most: int, dtype: Any) -> Any:
    """Multiples and their neighbours, where a quotient that is too small or too large by next to nothing shows."""
    rng = np.random.default_rng(2)
    whole = rng.integers(least // abs(d), most // abs(d) + 1, 40).astype(object) * d
    given = [*whole, *(whole - 1), *(whole + 1), *rng.integers(least, most + 1, 60), least, most, 0, 1, most - 1]
    inside = [int(each) for each in given if least <= each <= most and not (each == least < 0 and d == -1)]
    return np.array([*inside, *[5] * (197 - len(inside))], dtype)


@pytest.mark.parametrize("lanes", [4, 32, None])
@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4"])
def test_dividing_by_what_all_lanes_share_is_exact(dtype: str, lanes: int | None) -> None:
    signed, bits = dtype[0] == "i", 8 * int(dtype[1])
    limits = np.iinfo(dtype)
    module = read(assemble(kernel(bits, signed)))
    run = Loaded(pipeline.compile_kernel(module, "main", Options(lanes=lanes)))
    for d in divisors(int(limits.min), int(limits.max)):
        numbers = dividends(d, int(limits.min), int(limits.max), dtype)
        found = np.zeros((2, len(numbers)), dtype)
        run([found[0], found[1], numbers, np.array(d, dtype)[()]], (len(numbers),), (len(numbers),))
        quotients = [abs(int(a)) // abs(d) * (1 if (a < 0) == (d < 0) else -1) for a in numbers]
        assert found[0].tolist() == quotients, d
        assert found[1].tolist() == [int(a) - q * d for a, q in zip(numbers, quotients, strict=True)], d
