"""`-g`: line tables and names in the object, from OpLine; the code stays what it is without."""

from __future__ import annotations

import numpy as np
import pytest

from anyzero.compiler import pipeline
from anyzero.compiler.compiled import Options
from anyzero.compiler.spirv import Module
from tests.compiler.dwarf import lines, names, section
from tests.compiler.native import Loaded
from tests.compiler.reference.kernels import kernel

PROLOGUE = """
    %file = OpString "prog\\"ram.cl"
    %header = OpString "header.h"
    OpName %square "square"
    OpName %fourth "fourth_power"
"""
FUNCTIONS = """
    %unary = OpTypeFunction %i32 %i32
    %square = OpFunction %i32 None %unary
    %t = OpFunctionParameter %i32
    %t_entry = OpLabel
    OpLine %header 3 12
    %squared = OpIMul %i32 %t %t
    OpReturnValue %squared
    OpFunctionEnd
    %fourth = OpFunction %i32 None %unary
    %f = OpFunctionParameter %i32
    %f_entry = OpLabel
    OpLine %file 20 5
    %once = OpFunctionCall %i32 %square %f
    OpLine %file 21 5
    %again = OpFunctionCall %i32 %square %once
    OpReturnValue %again
    OpFunctionEnd
"""
BODY = """
    OpLine %file 30 9
    %p = OpInBoundsPtrAccessChain %global_i32 %p0 %i
    %value = OpLoad %i32 %p
    OpLine %file 31 9
    %more = OpFunctionCall %i32 %fourth %value
    OpLine %file 310000 9
    OpStore %p %more
"""


def sample(body: str = BODY) -> Module:
    return kernel(body, "%global_i32", prologue=PROLOGUE, functions=FUNCTIONS)


@pytest.mark.parametrize("lanes", [1, 16])
def test_instructions_have_their_lines(lanes: int) -> None:
    made = pipeline.compile_kernel(sample(), "main", Options(lanes=lanes, debug=True))
    assert {3, 30, 310000} <= lines(made.object)
    assert {"main", "square", "fourth_power", 'prog"ram.cl'} <= names(made.object)
    values = np.arange(20, dtype=np.int32)
    Loaded(made)([values], (20,), (20,))
    assert values.tolist() == [n**4 for n in range(20)]


def test_calls_are_seen_through() -> None:
    """Both calls of `square` are in the tree below `fourth_power`, which is called once."""
    made = pipeline.compile_kernel(sample(), "main", Options(lanes=1, debug=True))
    text = section(made.object, ".debug_info")
    calls = {20, 21, 31}
    assert calls <= set(text)


SCOPES = """
    %set = OpExtInstImport "NonSemantic.Shader.DebugInfo.100"
    %inner_name = OpString "early"
    %outer_name = OpString "main"
"""
# DebugSource, two DebugFunctions, DebugInlinedAt.
NODES = """
    %source = OpExtInst %void %set 35 %file
    %inner = OpExtInst %void %set 20 %inner_name %void %source %c1 %c1 %source %inner_name %c1 %c1
    %outer = OpExtInst %void %set 20 %outer_name %void %source %c1 %c1 %source %outer_name %c1 %c1
    %call = OpExtInst %void %set 25 %c3 %outer
"""


def test_calls_that_were_inlined_before_are_seen_through() -> None:
    """As by clang, which leaves a DebugScope."""
    body = BODY.replace("%value =", "%scope = OpExtInst %void %set 23 %inner %call\n    OpLine %file 7 9\n    %value =")
    module = kernel(body, "%global_i32", prologue=SCOPES + PROLOGUE, functions=NODES + FUNCTIONS)
    made = pipeline.compile_kernel(module, "main", Options(lanes=1, debug=True))
    assert "early" in names(made.object)
    assert {7, 30} <= lines(made.object)


def test_the_code_is_the_same_without() -> None:
    bare = pipeline.compile_kernel(sample(without_lines()), "main", Options(lanes=16))
    plain = pipeline.compile_kernel(sample(), "main", Options(lanes=16))
    debug = pipeline.compile_kernel(sample(), "main", Options(lanes=16, debug=True))
    assert section(plain.object, ".debug_info") == b""
    assert section(bare.object, ".text") == section(plain.object, ".text") == section(debug.object, ".text")


def without_lines() -> str:
    return "\n".join(line for line in BODY.splitlines() if "OpLine" not in line)


def test_without_lines_there_are_names() -> None:
    made = pipeline.compile_kernel(sample(without_lines()), "main", Options(debug=True))
    assert "main" in names(made.object)


def test_a_barrier_does_not_lose_the_lines() -> None:
    body = """
        OpLine %file 40 1
        %p = OpInBoundsPtrAccessChain %global_i32 %p0 %i
        %value = OpLoad %i32 %p
        OpControlBarrier %c2 %c2 %c272
        OpLine %file 44 1
        %more = OpFunctionCall %i32 %square %value
        OpStore %p %more
    """
    made = kernel(body, "%global_i32", "%c272 = OpConstant %i32 272", PROLOGUE, FUNCTIONS)
    assert {40, 44, 3} <= lines(pipeline.compile_kernel(made, "main", Options(lanes=16, debug=True)).object)
