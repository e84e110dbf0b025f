"""Loops that nothing leaves: they compile, do no harm where nobody enters them, and end with their time."""

from __future__ import annotations

import numpy as np
import pytest

from anyzero.compiler.compiled import Options
from anyzero.compiler.pipeline import compile_kernel
from anyzero.compiler.spirv import Module, read, verify
from tests.abi.calls import run_python
from tests.compiler import native
from tests.compiler.assembler import assemble
from tests.compiler.samples import PROLOGUE, TYPES

TAIL = "OpStore %at %c1\nOpReturn"

SPIN = "OpBranch %spin\n%spin = OpLabel\nOpStore %at %c1\nOpBranch %spin"

NEVER = f"""
    %asked = OpIEqual %bool %limit %c1
    OpBranchConditional %asked %forever %rest
    %forever = OpLabel
    {SPIN}
    %rest = OpLabel
    {TAIL}
"""

SOME = f"""
    %narrow = OpUConvert %i32 %g
    %asked = OpIEqual %bool %narrow %limit
    OpBranchConditional %asked %forever %rest
    %forever = OpLabel
    {SPIN}
    %rest = OpLabel
    {TAIL}
"""

INSIDE = f"""
    OpBranch %head
    %head = OpLabel
    %i = OpPhi %i32 %c0 %entry %next %again
    %next = OpIAdd %i32 %i %c1
    %narrow = OpUConvert %i32 %g
    %asked = OpIEqual %bool %narrow %limit
    OpBranchConditional %asked %forever %again
    %forever = OpLabel
    {SPIN}
    %again = OpLabel
    %enough = OpIEqual %bool %next %c1
    OpBranchConditional %enough %rest %head
    %rest = OpLabel
    {TAIL}
"""

BARRIERS = f"""
    %asked = OpIEqual %bool %limit %c1
    OpBranchConditional %asked %forever %rest
    %forever = OpLabel
    OpBranch %spin
    %spin = OpLabel
    OpControlBarrier %c2 %c2 %fence
    OpBranch %spin
    %rest = OpLabel
    {TAIL}
"""

BODIES = {"never": NEVER, "some": SOME, "inside": INSIDE, "barriers": BARRIERS, "all": SPIN}


def text(body: str) -> str:
    return f"""
        {PROLOGUE}
        OpEntryPoint Kernel %main "main" %gid
        OpDecorate %gid BuiltIn GlobalInvocationId
        {TYPES}
        %fence = OpConstant %i32 528
        %gid = OpVariable %input_v3i64 Input
        %main_type = OpTypeFunction %void %global_i32 %i32
        %main = OpFunction %void None %main_type
        %out = OpFunctionParameter %global_i32
        %limit = OpFunctionParameter %i32
        %entry = OpLabel
        %ids = OpLoad %v3i64 %gid
        %g = OpCompositeExtract %i64 %ids 0
        %at = OpInBoundsPtrAccessChain %global_i32 %out %g
        {body}
        OpFunctionEnd
    """


def module(name: str) -> Module:
    made = read(assemble(text(BODIES[name])))
    verify(made)
    return made


@pytest.mark.parametrize("lanes", [1, 8, 16])
@pytest.mark.parametrize("name", ["never", "some", "inside", "barriers"])
def test_given_nobody_enters_then_all_is_as_ever(name: str, lanes: int) -> None:
    loaded = native.Loaded(compile_kernel(module(name), "main", Options(lanes=lanes, level=1)))
    out = np.zeros(48, np.int32)
    loaded([out, np.int32(999)], (40,), (20,))
    assert out.tolist() == [1] * 40 + [0] * 8


def test_given_everybody_enters_then_it_compiles() -> None:
    assert compile_kernel(module("all"), "main", Options(level=1)).object


@pytest.mark.parametrize("name", ["never", "some", "inside", "barriers", "all"])
def test_given_a_time_limit_then_it_ends(name: str) -> None:
    code = f"""
        import numpy as np
        import anyzero as az
        from tests.compiler.test_endless import BODIES, assemble, text
        ctx = az.device().context()
        kernel = ctx.module(assemble(text(BODIES[{name!r}])))["main"]
        out = ctx.zeros(64, np.int32)
        try:
            kernel[64](out, 1, group=32)
        except az.DeviceLost as error:
            assert "main" in str(error), error
        else:
            raise SystemExit("it went on")
        # The others work.
        other = az.device().context()
        assert other.full(4, 3, np.int32).copy_to().sum() == 12
    """
    run_python(code, ANYZERO_KERNEL_TIMEOUT="0.2")
