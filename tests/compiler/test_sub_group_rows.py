"""Sub-groups of groups whose rows are no multiple of the lanes: neighbours by number, across the ends of rows."""

from __future__ import annotations

import numpy as np
import pytest

from anyzero.compiler import pipeline
from anyzero.compiler.compiled import Options
from anyzero.compiler.reference import run
from tests.compiler.native import Loaded
from tests.compiler.reference.kernels import kernel

BODY = """
    %gy = OpCompositeExtract %i64 %ids 1
    %gz = OpCompositeExtract %i64 %ids 2
    %ny = OpLoad %v3i64 %sizes
    %sx = OpCompositeExtract %i64 %ny 0
    %sy = OpCompositeExtract %i64 %ny 1
    %plane = OpIMul %i64 %gz %sy
    %row = OpIAdd %i64 %plane %gy
    %rows = OpIMul %i64 %row %sx
    %number = OpIAdd %i64 %rows %i
    %x = OpUConvert %i32 %number
    %sum = OpGroupNonUniformIAdd %i32 %c3 InclusiveScan %x
    %all = OpGroupIAdd %i32 %c2 ExclusiveScan %x
    %both = OpIAdd %i32 %sum %all
    %to = OpInBoundsPtrAccessChain %global_i32 %p0 %number
    OpStore %to %both"""
PROLOGUE = """
    OpDecorate %sizes BuiltIn GlobalSize"""
DECLARATIONS = "%sizes = OpVariable %input_v3i64 Input"


@pytest.mark.parametrize("group", [(16, 2), (8, 4), (5, 3), (24, 2), (3, 3, 3), (40,), (1, 7)])
@pytest.mark.parametrize("lanes", [1, 8, 16])
def test_neighbours_by_number(group: tuple[int, ...], lanes: int) -> None:
    module = kernel(BODY, "%global_i32", DECLARATIONS, PROLOGUE)
    size = tuple(2 * each for each in group)
    wanted, found = np.zeros(int(np.prod(size)), np.uint32), np.zeros(int(np.prod(size)), np.uint32)
    run(module, "main", [wanted], size, group, sub_group_size=lanes)
    Loaded(pipeline.compile_kernel(module, "main", Options(lanes=lanes, level=1)))([found], size, group)
    assert found.tolist() == wanted.tolist()
