"""Functions that are called by their address, compiled."""

from __future__ import annotations

import numpy as np
import pytest

from anyzero.compiler import pipeline
from anyzero.compiler.compiled import Options
from anyzero.compiler.reference import run
from tests.compiler.native import Loaded
from tests.compiler.reference.kernels import kernel
from tests.compiler.reference.test_control import FUNCTIONS

CODE = """
    %code = OpTypePointer CodeSectionINTEL %unary
    %to_twice = OpConstantFunctionPointerINTEL %code %twice
    %to_quad = OpConstantFunctionPointerINTEL %code %quad"""
VARYING = """
    %k = OpUConvert %i32 %i
    %bit = OpBitwiseAnd %i32 %k %c1
    %odd = OpINotEqual %bool %bit %c0
    %pointer = OpSelect %code %odd %to_quad %to_twice
    %v = OpFunctionPointerCallINTEL %i32 %pointer %k
    %to = OpInBoundsPtrAccessChain %global_i32 %p0 %i
    OpStore %to %v"""
UNIFORM = VARYING.replace("%bit = OpBitwiseAnd %i32 %k %c1", "%bit = OpBitwiseAnd %i32 %c1 %c1")


@pytest.mark.parametrize("lanes", [1, 8, 16, None])
@pytest.mark.parametrize("body", [VARYING, UNIFORM], ids=["varying", "uniform"])
def test_lanes_call_the_function_they_point_to(body: str, lanes: int | None) -> None:
    module = kernel(body, "%global_i32", declarations=CODE, functions=FUNCTIONS)
    wanted, found = np.zeros(37, np.uint32), np.zeros(37, np.uint32)
    run(module, "main", [wanted], 37)
    Loaded(pipeline.compile_kernel(module, "main", Options(lanes=lanes)))([found], (37,), (37,))
    assert found.tolist() == wanted.tolist()
