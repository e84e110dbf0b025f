"""What the number of turns of a kernel's loops depends on."""

from __future__ import annotations

import pytest

from anyzero.compiler.analysis.termination import UNKNOWN, Termination, termination
from anyzero.compiler.pipeline import simplified
from anyzero.compiler.spirv import read
from anyzero.compiler.transform.loop_simplify import loop_simplify
from tests.compiler.assembler import assemble
from tests.compiler.samples import PROLOGUE, TYPES

LIMIT = 16
"""Offset of the third parameter."""
ALWAYS = Termination(known=True)
BY_LIMIT = Termination(known=True, varies=True, arguments=frozenset({LIMIT}))


def found(body: str) -> Termination:
    text = f"""{PROLOGUE}
        OpEntryPoint Kernel %main "main"
        {TYPES}
        %c4000000 = OpConstant %i32 4000000
        %type = OpTypeFunction %void %global_i32 %global_i32 %i32
        %main = OpFunction %void None %type
        %p0 = OpFunctionParameter %global_i32
        %p1 = OpFunctionParameter %global_i32
        %p2 = OpFunctionParameter %i32
        %entry = OpLabel
        {body}
        OpReturn
        OpFunctionEnd
    """
    made = simplified(read(assemble(text)), "main").body
    return termination(made, loop_simplify(made))


def loop(bound: str, work: str = "", before: str = "", leaves: str = "", come_from: str = "%entry") -> str:
    """Counts up to `bound`; `leaves` may be a condition computed by `work` to end earlier."""
    early = f"OpBranchConditional {leaves} %exit %latch" if leaves else "OpBranch %latch"
    return f"""
        {before}
        OpBranch %head
        %head = OpLabel
        %i = OpPhi %i32 %c0 {come_from} %next %latch
        %inside = OpSLessThan %bool %i {bound}
        OpBranchConditional %inside %work %exit
        %work = OpLabel
        {work}
        OpStore %p1 %i Aligned 4
        {early}
        %latch = OpLabel
        %next = OpIAdd %i32 %i %c1
        OpBranch %head
        %exit = OpLabel
    """


READ = "%read = OpLoad %i32 %p0 Aligned 4"
SEEN = f"{READ}\n%seen = OpINotEqual %bool %read %c0"
GUARD = "OpBranchConditional {condition} %first %after\n%first = OpLabel"


def guarded(condition: str, before: str) -> str:
    """A long loop that only some enter."""
    inner = loop("%p2", before=f"{before}\n{GUARD.format(condition=condition)}", come_from="%first")
    return f"{inner}\nOpBranch %after\n%after = OpLabel"


def test_without_loops_it_ends() -> None:
    assert found(f"{READ}\nOpStore %p1 %read Aligned 4") == ALWAYS


@pytest.mark.parametrize("bound", ["%c7", "%c4000000"])
def test_a_constant_number_of_turns(bound: str) -> None:
    assert found(loop(bound, READ)) == ALWAYS


def test_as_many_turns_as_an_argument_says() -> None:
    assert found(loop("%p2", READ)) == BY_LIMIT


def test_memory_says_how_many() -> None:
    assert found(loop("%read", before=READ)) == UNKNOWN


def test_memory_ends_it_earlier() -> None:
    """Few turns at the most are few whatever memory says; many may have been few before."""
    assert found(loop("%c7", SEEN, leaves="%seen")) == ALWAYS
    assert found(loop("%p2", SEEN, leaves="%seen")) == UNKNOWN
    assert found(loop("%c4000000", SEEN, leaves="%seen")) == UNKNOWN


def test_whether_it_is_entered_counts_too() -> None:
    asked = "%asked = OpIEqual %bool %p2 %c7"
    assert found(guarded("%asked", asked)) == BY_LIMIT
    assert found(guarded("%seen", SEEN)) == UNKNOWN


def test_a_branch_inside_that_decides_about_something_else() -> None:
    work = f"""
        {SEEN}
        OpSelectionMerge %merge None
        OpBranchConditional %seen %one %merge
        %one = OpLabel
        OpStore %p1 %read Aligned 4
        OpBranch %merge
        %merge = OpLabel
    """
    assert found(loop("%p2", work)) == BY_LIMIT


def test_a_branch_that_decides_about_the_end() -> None:
    """Of which of two values the bound is."""
    before = f"""
        {SEEN}
        OpBranchConditional %seen %one %merge
        %one = OpLabel
        OpBranch %merge
        %merge = OpLabel
        %bound = OpPhi %i32 %c7 %entry %p2 %one
    """
    assert found(loop("%bound", before=before, come_from="%merge")) == UNKNOWN


def test_a_step_that_is_no_number() -> None:
    """Halving until nothing is left: not counted, but it follows from the argument."""
    body = """
        OpBranch %head
        %head = OpLabel
        %rest = OpPhi %i32 %p2 %entry %halved %work
        %more = OpINotEqual %bool %rest %c0
        OpBranchConditional %more %work %exit
        %work = OpLabel
        OpStore %p1 %rest Aligned 4
        %halved = OpShiftRightLogical %i32 %rest %c1
        OpBranch %head
        %exit = OpLabel
    """
    assert found(body) == BY_LIMIT


def test_a_loop_until_memory_changes() -> None:
    body = f"""
        OpBranch %head
        %head = OpLabel
        {SEEN}
        OpBranchConditional %seen %head %exit
        %exit = OpLabel
    """
    assert found(body) == UNKNOWN


def test_a_loop_with_two_entries() -> None:
    body = """
        %side = OpINotEqual %bool %p2 %c0
        OpBranchConditional %side %one %other
        %one = OpLabel
        %more = OpINotEqual %bool %p2 %c1
        OpBranchConditional %more %other %exit
        %other = OpLabel
        OpBranch %one
        %exit = OpLabel
    """
    assert found(body) == BY_LIMIT
