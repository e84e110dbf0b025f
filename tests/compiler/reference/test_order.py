"""The order in which a sub-group walks: what leads to a block before it, a loop in one piece."""

from __future__ import annotations

import numpy as np

from anyzero.compiler.reference import run
from anyzero.compiler.reference.order import order
from anyzero.compiler.spirv import Module, verify_function
from tests.compiler.reference.kernels import kernel


def row(made: Module) -> tuple[list[str], dict[str, list[str]]]:
    """The named blocks in order, and the loops around each."""
    function = made.kernels["main"].function
    found = order(function, verify_function(function))
    names = {label: made.name(label) or "entry" for label in function.blocks}
    return [names[label] for label in found.row], {
        names[label]: [names[head] for head in heads] for label, heads in found.loops.items()
    }


def named(body: str) -> Module:
    labels = [line.split()[0] for line in body.splitlines() if "OpLabel" in line]
    return kernel(body, prologue="\n".join(f'OpName {label} "{label[1:]}"' for label in labels))


def test_a_loop_stands_in_one_piece() -> None:
    # The exit hangs on a block in the middle, and is written before it.
    found, loops = row(
        named("""
        OpBranch %head
        %exit = OpLabel
        OpReturn
        %side = OpLabel
        OpBranch %latch
        %head = OpLabel
        OpBranchConditional %true %test %side
        %test = OpLabel
        OpBranchConditional %true %exit %latch
        %latch = OpLabel
        OpBranch %head
        %unused = OpLabel""")
    )
    assert found[:2] == ["entry", "head"]
    assert found[-1] == "exit"
    assert set(found[2:5]) == {"side", "test", "latch"}
    assert found[4] == "latch"
    assert loops["latch"] == loops["head"] == ["head"]
    assert loops["exit"] == []


def test_loops_inside_of_loops() -> None:
    found, loops = row(
        named("""
        OpBranch %outer
        %outer = OpLabel
        OpBranch %inner
        %inner = OpLabel
        OpBranchConditional %true %inner %after
        %after = OpLabel
        OpBranchConditional %true %outer %exit
        %exit = OpLabel""")
    )
    assert found == ["entry", "outer", "inner", "after", "exit"]
    assert loops["inner"] == ["outer", "inner"]
    assert loops["after"] == ["outer"]


CYCLE = """
    %low = OpULessThan %bool %i %l1
    OpBranchConditional %low %left %right
    %left = OpLabel
    %x = OpPhi %i64 %i %entry %y1 %right
    %x1 = OpIAdd %i64 %x %l1
    OpBranch %right
    %right = OpLabel
    %y = OpPhi %i64 %i %entry %x1 %left
    %y1 = OpIAdd %i64 %y %l1
    %more = OpULessThan %bool %y1 %l9
    OpBranchConditional %more %left %exit
    %exit = OpLabel
    %n = OpGroupNonUniformIAdd %i32 %c3 Reduce %c1
    %to = OpInBoundsPtrAccessChain %global_i32 %p0 %i
    OpStore %to %n"""


def test_cycles_with_two_entries_run_too() -> None:
    made = kernel(CYCLE, "%global_i32", "%l9 = OpConstant %i64 9")
    function = made.kernels["main"].function
    assert len(order(function, verify_function(function)).row) == 4
    out = np.zeros(4, np.uint32)
    run(made, "main", [out], 4, 4)
    assert out.tolist() == [4] * 4
