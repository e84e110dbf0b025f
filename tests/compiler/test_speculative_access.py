"""Loads whose index starts over or is clamped: neighbours or lanes anywhere, whatever the vector finds."""

from __future__ import annotations

import numpy as np
import pytest

from anyzero.compiler import pipeline
from anyzero.compiler.compiled import Options
from anyzero.compiler.spirv import read
from anyzero.compiler.targets.cpu import host
from tests.compiler.assembler import assemble
from tests.compiler.native import Loaded
from tests.compiler.samples import PROLOGUE, TYPES

ITEMS = 203
CPUS = ["", "x86-64-v2", *(["haswell"] if "+avx2" in host().features else [])]

WAYS = {
    "signed": "%x = OpIAdd %i32 %i %by\n %r = OpSRem %i32 %x %size\n %at = OpSConvert %i64 %r",
    "unsigned": "%x = OpIAdd %i32 %i %by\n %r = OpUMod %i32 %x %size\n %at = OpUConvert %i64 %r",
    "wide": "%w = OpUConvert %i64 %by\n %s = OpUConvert %i64 %size\n %x = OpIAdd %i64 %g %w\n %at = OpUMod %i64 %x %s",
}
"""From `%i`, the low half of the global id `%g`, to the index."""


def kernel(index: str) -> str:
    return f"""
        {PROLOGUE}
        OpEntryPoint Kernel %main "main" %gid
        OpDecorate %gid BuiltIn GlobalInvocationId
        {TYPES}
        %gid = OpVariable %input_v3i64 Input
        %main_type = OpTypeFunction %void %global_i32 %global_i32 %i32 %i32 %i32
        %main = OpFunction %void None %main_type
        %to = OpFunctionParameter %global_i32
        %from = OpFunctionParameter %global_i32
        %by = OpFunctionParameter %i32
        %size = OpFunctionParameter %i32
        %begin = OpFunctionParameter %i32
        %entry = OpLabel
        %ids = OpLoad %v3i64 %gid
        %g = OpCompositeExtract %i64 %ids 0
        %i = OpUConvert %i32 %g
        %here = OpUGreaterThanEqual %bool %i %begin
        OpSelectionMerge %exit None
        OpBranchConditional %here %work %exit
        %work = OpLabel
        {index}
        %p = OpInBoundsPtrAccessChain %global_i32 %from %at
        %v = OpLoad %i32 %p Aligned 4
        %q = OpInBoundsPtrAccessChain %global_i32 %to %g
        OpStore %q %v Aligned 4
        OpBranch %exit
        %exit = OpLabel
        OpReturn
        OpFunctionEnd
    """


@pytest.mark.parametrize("gathers", [True, False])
@pytest.mark.parametrize("lanes", [4, 32, None])
@pytest.mark.parametrize("way", WAYS)
def test_every_lane_reads_its_own(way: str, lanes: int | None, gathers: bool) -> None:
    module = read(assemble(kernel(WAYS[way])))
    run = Loaded(pipeline.compile_kernel(module, "main", Options(lanes=lanes, gathers=gathers)))
    given = np.arange(1000, 2000, dtype=np.int32)
    for size in (1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 100, 1000):
        for by in (0, 1, size - 1, 5 * size + 3):
            for begin in (0, 5, 170):
                found = np.zeros(ITEMS, np.int32)
                run([found, given, by, size, begin], (ITEMS,), (ITEMS,))
                expected = [0 if i < begin else 1000 + (i + by) % size for i in range(ITEMS)]
                assert found.tolist() == expected, (size, by, begin)


CLAMPED = {
    "clamp": "%r = OpExtInst %i32 %cl s_clamp %x %c0 %last\n %at = OpSConvert %i64 %r",
    "min of max": "%m = OpExtInst %i32 %cl s_max %c0 %x\n %r = OpExtInst %i32 %cl s_min %m %last\n"
    " %at = OpSConvert %i64 %r",
    "max": "%r = OpExtInst %i32 %cl s_max %x %c0\n %at = OpSConvert %i64 %r",
    "min": "%r = OpExtInst %i32 %cl s_min %last %x\n %at = OpSConvert %i64 %r",
    "row": "%m = OpExtInst %i32 %cl s_clamp %x %c0 %last\n %r = OpIAdd %i32 %m %by\n %at = OpSConvert %i64 %r",
    "wide": "%w = OpSConvert %i64 %x\n %n = OpSConvert %i64 %last\n %at = OpExtInst %i64 %cl s_clamp %w %l0 %n",
}
"""From `%x`, a number that grows by 1 from lane to lane, to the index."""


def clamped(way: str, x: np.ndarray, by: int, size: int) -> np.ndarray:
    low = x if way == "min" else np.maximum(x, 0)
    both = low if way == "max" else np.minimum(low, size - 1)
    return both + by if way == "row" else both


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("lanes", [8, 32])
@pytest.mark.parametrize("way", CLAMPED)
def test_every_lane_reads_its_own_or_the_bound(way: str, lanes: int, cpu: str) -> None:
    index = f"%x = OpIAdd %i32 %i %by\n %last = OpISub %i32 %size %c1\n {CLAMPED[way]}"
    module = read(assemble(kernel(index)))
    run = Loaded(pipeline.compile_kernel(module, "main", Options(lanes=lanes, cpu=cpu)))
    around = np.arange(3000, dtype=np.int32)
    for size in (1, 2, 7, 17, 32, 100, 400):
        for by in (-500, -203, -40, -1, 0, 1, size - 2, size):
            for begin in (0, 5, 170):
                x = np.arange(ITEMS) + by
                found = np.zeros(ITEMS, np.int32)
                run([found, around[1000:], by, size, begin], (ITEMS,), (ITEMS,))
                expected = np.where(np.arange(ITEMS) < begin, 0, 1000 + clamped(way, x, by, size))
                assert found.tolist() == expected.tolist(), (size, by, begin)


def test_a_negative_remainder_is_behind_the_start() -> None:
    module = read(assemble(kernel(WAYS["signed"])))
    run = Loaded(pipeline.compile_kernel(module, "main", Options(lanes=16)))
    given = np.arange(200, dtype=np.int32)
    found = np.zeros(ITEMS, np.int32)
    run([found, given[100:], -90, 37, 0], (ITEMS,), (ITEMS,))
    assert found.tolist() == [100 + int(np.fmod(i - 90, 37)) for i in range(ITEMS)]
