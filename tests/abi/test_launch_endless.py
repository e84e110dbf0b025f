"""An endless compiled kernel, in a separate process: appends return, other work continues, the process exits."""

from __future__ import annotations

from tests.abi.calls import run_python
from tests.compiler.samples import PROLOGUE, TYPES

COUNT = f"""{PROLOGUE}
    OpEntryPoint Kernel %count "count"
{TYPES}
    %c1_64 = OpConstant %i64 1
    %c0_64 = OpConstant %i64 0
    %global_i64 = OpTypePointer CrossWorkgroup %i64
    %type = OpTypeFunction %void %global_i64 %global_i32
    %count = OpFunction %void None %type
    %turns = OpFunctionParameter %global_i64
    %to = OpFunctionParameter %global_i32
    %entry = OpLabel
    %bound = OpLoad %i64 %turns Aligned 8
    OpBranch %head
    %head = OpLabel
    %i = OpPhi %i64 %c0_64 %entry %next %work
    %more = OpULessThan %bool %i %bound
    OpBranchConditional %more %work %exit
    %work = OpLabel
    %before = OpAtomicIAdd %i32 %to %c1 %c0 %c1
    %next = OpIAdd %i64 %i %c1_64
    OpBranch %head
    %exit = OpLabel
    OpReturn
    OpFunctionEnd
"""


def test_given_memory_makes_it_endless_then_the_rest_goes_on() -> None:
    said = run_python("""
        import numpy as np
        import anyzero as az
        from tests.abi.test_launch_endless import COUNT
        from tests.compiler.assembler import assemble

        spirv = assemble(COUNT)
        ctx = az.device().context()
        kernel = ctx.module(spirv)["count"]
        turns, to = ctx.full(1, 1, np.uint64, kind="shared"), ctx.zeros(1, np.int32, kind="shared")
        lst = ctx.immediate()
        for _ in range(50):
            lst.launch(kernel, 1, (turns, to), group=1).wait()
        assert np.asarray(to)[0] == 50
        np.asarray(turns)[0] = 1 << 62
        endless = lst.launch(kernel, 1, (turns, to), group=1)
        # Here it is, and another context gets its kernels done, with and without waiting at once.
        other = az.device().context()
        kernel = other.module(spirv)["count"]
        turns, to = other.full(1, 3, np.uint64, kind="shared"), other.zeros(1, np.int32, kind="shared")
        kernel[1](turns, to, group=1)
        second = other.immediate()
        second.launch(kernel, 1, (turns, to), group=1).wait()
        assert np.asarray(to)[0] == 6
        assert not endless.done
        try:
            endless.wait(timeout=0.001)
        except az.TimeoutError:
            print("all there")
    """)
    assert "all there" in said.stdout
