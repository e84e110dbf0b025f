"""Kernels of any size and of many shapes, as SPIR-V: what is added to them makes compiling take as much longer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from tests.compiler.assembler import assemble
from tests.compiler.samples import PROLOGUE, TYPES

__all__ = ["SHAPES", "large"]

Lines = Iterator[str]

_HEAD = """
    %id = OpLoad %v3i64 %gid Aligned 32
    %g = OpCompositeExtract %i64 %id 0
    %at = OpInBoundsPtrAccessChain %global_i32 %out %g
    %x = OpLoad %i32 %at Aligned 4
"""


def large(shape: str, size: int) -> bytes:
    """A module with the kernel "main"(int* out, int n) of one of the SHAPES."""
    numbers = "\n".join(f"%k{i} = OpConstant %i32 {3 * i + 5}" for i in range(size))
    return assemble(f"""
        {PROLOGUE}
        OpEntryPoint Kernel %main "main" %gid
        OpDecorate %gid BuiltIn GlobalInvocationId
        {TYPES}
        %fence = OpConstant %i32 272
        {numbers}
        %count = OpConstant %i32 {size}
        %block = OpTypeArray %i32 %count
        %local_block = OpTypePointer Workgroup %block
        %private_block = OpTypePointer Function %block
        %gid = OpVariable %input_v3i64 Input
        %shared = OpVariable %local_block Workgroup
        %main_type = OpTypeFunction %void %global_i32 %i32
        %unary = OpTypeFunction %i32 %i32
        %step = OpFunction %i32 None %unary
        %given = OpFunctionParameter %i32
        %step_entry = OpLabel
        %step_more = OpIMul %i32 %given %c7
        %step_odd = OpSGreaterThan %bool %step_more %c3
        OpBranchConditional %step_odd %step_then %step_end
        %step_then = OpLabel
        OpReturnValue %step_more
        %step_end = OpLabel
        OpReturnValue %given
        OpFunctionEnd
        %main = OpFunction %void None %main_type
        %out = OpFunctionParameter %global_i32
        %n = OpFunctionParameter %i32
        %entry = OpLabel
        {chr(10).join(SHAPES[shape](size))}
        OpReturn
        OpFunctionEnd
    """)


def _ifs(size: int, asked: str = "%x") -> Lines:
    yield _HEAD
    yield "OpBranch %b0\n%b0 = OpLabel"
    before, value = "%b0", "%x"
    for i in range(size):
        yield f"""
            %ask{i} = OpSGreaterThan %bool {asked} %k{i}
            OpBranchConditional %ask{i} %then{i} %b{i + 1}
            %then{i} = OpLabel
            %more{i} = OpIMul %i32 {value} %k{i}
            OpBranch %b{i + 1}
            %b{i + 1} = OpLabel
            %v{i} = OpPhi %i32 {value} {before} %more{i} %then{i}
        """
        before, value = f"%b{i + 1}", f"%v{i}"
    yield f"OpStore %at {value} Aligned 4"


def _same_ifs(size: int) -> Lines:
    """Which all work-items take together."""
    yield from _ifs(size, "%n")


def _writing_ifs(size: int) -> Lines:
    yield _HEAD
    for i in range(size):
        yield f"""
            %ask{i} = OpSGreaterThan %bool %x %k{i}
            OpBranchConditional %ask{i} %then{i} %b{i + 1}
            %then{i} = OpLabel
            %old{i} = OpLoad %i32 %at Aligned 4
            %more{i} = OpIMul %i32 %old{i} %k{i}
            OpStore %at %more{i} Aligned 4
            OpBranch %b{i + 1}
            %b{i + 1} = OpLabel
        """


def _nested_ifs(size: int) -> Lines:
    yield _HEAD
    for i in range(size):
        value = f"%more{i - 1}" if i else "%x"
        yield f"""
            %ask{i} = OpSGreaterThan %bool {value} %k{i}
            OpBranchConditional %ask{i} %then{i} %end{i}
            %then{i} = OpLabel
            %more{i} = OpIMul %i32 {value} %k{i}
        """
    yield f"OpBranch %end{size - 1}"
    for i in reversed(range(size)):
        inner = f"%v{i + 1} %end{i + 1}" if i < size - 1 else f"%more{i} %then{i}"
        head = f"%then{i - 1}" if i else "%entry"
        value = f"%more{i - 1}" if i else "%x"
        yield f"%end{i} = OpLabel\n%v{i} = OpPhi %i32 {value} {head} {inner}"
        if i:
            yield f"OpBranch %end{i - 1}"
    yield "OpStore %at %v0 Aligned 4"


def _returns(size: int) -> Lines:
    yield _HEAD
    for i in range(size):
        yield f"""
            %ask{i} = OpIEqual %bool %x %k{i}
            OpBranchConditional %ask{i} %then{i} %b{i + 1}
            %then{i} = OpLabel
            OpStore %at %c{i % 4 if i % 4 else 7} Aligned 4
            OpReturn
            %b{i + 1} = OpLabel
        """


def _loops(size: int, turns: str = "%n") -> Lines:
    yield _HEAD
    yield "OpBranch %b0\n%b0 = OpLabel"
    before, value = "%b0", "%x"
    for i in range(size):
        yield f"""
            OpBranch %loop{i}
            %loop{i} = OpLabel
            %turn{i} = OpPhi %i32 %c0 {before} %next{i} %loop{i}
            %w{i} = OpPhi %i32 {value} {before} %v{i} %loop{i}
            %m{i} = OpIMul %i32 %w{i} %k{i}
            %v{i} = OpIAdd %i32 %m{i} %turn{i}
            %next{i} = OpIAdd %i32 %turn{i} %c1
            %ask{i} = OpSLessThan %bool %next{i} {turns}
            OpBranchConditional %ask{i} %loop{i} %b{i + 1}
            %b{i + 1} = OpLabel
        """
        before, value = f"%b{i + 1}", f"%v{i}"
    yield f"OpStore %at {value} Aligned 4"


def _own_loops(size: int) -> Lines:
    """Whose turns differ between work-items."""
    yield from _loops(size, "%x")


def _breaks(size: int) -> Lines:
    """One loop that is left in many places."""
    yield _HEAD
    yield "OpBranch %loop\n%loop = OpLabel"
    yield "%i = OpPhi %i32 %c0 %entry %next %latch\n%w = OpPhi %i32 %x %entry %last %latch"
    yield "OpBranch %b0\n%b0 = OpLabel"
    value = "%w"
    for i in range(size):
        yield f"""
            %v{i} = OpIMul %i32 {value} %k{i}
            %ask{i} = OpIEqual %bool %v{i} %k{i}
            OpBranchConditional %ask{i} %exit %b{i + 1}
            %b{i + 1} = OpLabel
        """
        value = f"%v{i}"
    yield f"""
        OpBranch %latch
        %latch = OpLabel
        %last = OpIAdd %i32 {value} %i
        %next = OpIAdd %i32 %i %c1
        %again = OpSLessThan %bool %next %n
        OpBranchConditional %again %loop %exit
        %exit = OpLabel
        OpStore %at %c7 Aligned 4
    """


def _straight(size: int) -> Lines:
    yield _HEAD
    value = "%x"
    for i in range(size):
        yield f"%m{i} = OpIMul %i32 {value} %k{i}\n%v{i} = OpBitwiseXor %i32 %m{i} %x"
        value = f"%v{i}"
    yield f"OpStore %at {value} Aligned 4"


def _wide(size: int) -> Lines:
    """All values wait for the end."""
    yield _HEAD
    for i in range(size):
        yield f"%m{i} = OpIMul %i32 %x %k{i}"
    value = "%x"
    for i in range(size):
        yield f"%v{i} = OpBitwiseXor %i32 {value} %m{i}"
        value = f"%v{i}"
    yield f"OpStore %at {value} Aligned 4"


def _variables(size: int) -> Lines:
    """As code looks that was compiled without optimisation."""
    for i in range(size):
        yield f"%p{i} = OpVariable %private_i32 Function"
    yield _HEAD
    for i in range(size):
        yield f"OpStore %p{i} %x Aligned 4"
    for i in range(size):
        yield f"""
            %u{i} = OpLoad %i32 %p{i} Aligned 4
            %ask{i} = OpSGreaterThan %bool %u{i} %k{i}
            OpBranchConditional %ask{i} %then{i} %b{i + 1}
            %then{i} = OpLabel
            %w{i} = OpLoad %i32 %p{(7 * i) % size} Aligned 4
            %more{i} = OpIMul %i32 %w{i} %k{i}
            OpStore %p{(i + 1) % size} %more{i} Aligned 4
            OpBranch %b{i + 1}
            %b{i + 1} = OpLabel
        """
    yield f"%result = OpLoad %i32 %p{size - 1} Aligned 4\nOpStore %at %result Aligned 4"


def _phis(size: int) -> Lines:
    """A loop that hands many values around."""
    yield _HEAD
    yield "OpBranch %loop\n%loop = OpLabel\n%i = OpPhi %i32 %c0 %entry %next %loop"
    for i in range(size):
        yield f"%w{i} = OpPhi %i32 %k{i} %entry %v{(i + 1) % size} %loop"
    for i in range(size):
        yield f"%v{i} = OpIAdd %i32 %w{i} %x"
    yield """
        %next = OpIAdd %i32 %i %c1
        %again = OpSLessThan %bool %next %n
        OpBranchConditional %again %loop %exit
        %exit = OpLabel
        OpStore %at %v0 Aligned 4
    """


def _switch(size: int) -> Lines:
    yield _HEAD
    yield "OpSwitch %x %other " + " ".join(f"{5 * i + 1} %case{i}" for i in range(size))
    for i in range(size):
        yield f"%case{i} = OpLabel\n%v{i} = OpIMul %i32 %x %k{i}\nOpBranch %exit"
    yield "%other = OpLabel\nOpBranch %exit\n%exit = OpLabel"
    yield "%result = OpPhi %i32 %x %other " + " ".join(f"%v{i} %case{i}" for i in range(size))
    yield "OpStore %at %result Aligned 4"


def _else_ifs(size: int) -> Lines:
    yield _HEAD
    for i in range(size):
        yield f"""
            %ask{i} = OpIEqual %bool %x %k{i}
            OpBranchConditional %ask{i} %then{i} %b{i + 1}
            %then{i} = OpLabel
            %v{i} = OpIMul %i32 %x %k{i}
            OpBranch %exit
            %b{i + 1} = OpLabel
        """
    yield "OpBranch %exit\n%exit = OpLabel"
    yield f"%result = OpPhi %i32 %x %b{size} " + " ".join(f"%v{i} %then{i}" for i in range(size))
    yield "OpStore %at %result Aligned 4"


def _jumps(size: int) -> Lines:
    """Past each other, so that no block comes on all paths."""
    yield _HEAD
    yield "OpBranch %b0"
    for i in range(size):
        yield f"""
            %b{i} = OpLabel
            %old{i} = OpLoad %i32 %at Aligned 4
            %more{i} = OpIMul %i32 %old{i} %k{i}
            OpStore %at %more{i} Aligned 4
            %ask{i} = OpSGreaterThan %bool %more{i} %x
            OpBranchConditional %ask{i} %b{i + 1} %b{min(i + 3, size)}
        """
    yield f"%b{size} = OpLabel"


def _long_branch(size: int) -> Lines:
    """As of a kernel that asks first whether its id is in range."""
    yield _HEAD
    yield "%ask = OpSLessThan %bool %x %n\nOpBranchConditional %ask %then %exit\n%then = OpLabel"
    value = "%x"
    for i in range(size):
        yield f"%m{i} = OpIMul %i32 {value} %k{i}\n%v{i} = OpBitwiseXor %i32 %m{i} %x"
        value = f"%v{i}"
    yield f"OpStore %at {value} Aligned 4\nOpBranch %exit\n%exit = OpLabel"


def _long_loop(size: int) -> Lines:
    """One loop with many branches."""
    yield _HEAD
    yield "OpBranch %loop\n%loop = OpLabel"
    yield f"%i = OpPhi %i32 %c0 %entry %next %b{size}\n%w = OpPhi %i32 %x %entry %v{size - 1} %b{size}"
    yield "OpBranch %b0\n%b0 = OpLabel"
    before, value = "%b0", "%w"
    for i in range(size):
        yield f"""
            %ask{i} = OpSGreaterThan %bool {value} %k{i}
            OpBranchConditional %ask{i} %then{i} %b{i + 1}
            %then{i} = OpLabel
            %more{i} = OpIMul %i32 {value} %k{i}
            OpBranch %b{i + 1}
            %b{i + 1} = OpLabel
            %v{i} = OpPhi %i32 {value} {before} %more{i} %then{i}
        """
        before, value = f"%b{i + 1}", f"%v{i}"
    yield f"""
        %next = OpIAdd %i32 %i %c1
        %again = OpSLessThan %bool %next %n
        OpBranchConditional %again %loop %exit
        %exit = OpLabel
        OpStore %at {value} Aligned 4
    """


def _calls(size: int) -> Lines:
    yield _HEAD
    value = "%x"
    for i in range(size):
        yield f"%m{i} = OpIAdd %i32 {value} %k{i}\n%v{i} = OpFunctionCall %i32 %step %m{i}"
        value = f"%v{i}"
    yield f"OpStore %at {value} Aligned 4"


def _accesses(size: int) -> Lines:
    """To one array, at indices that nothing is known about."""
    yield _HEAD
    for i in range(size):
        value = f"%r{i - 1}" if i else "%x"
        yield f"""
            %p{i} = OpInBoundsPtrAccessChain %global_i32 %out {value}
            %r{i} = OpLoad %i32 %p{i} Aligned 4
            %q{i} = OpInBoundsPtrAccessChain %global_i32 %at %k{i}
            OpStore %q{i} %r{i} Aligned 4
        """


def _elements(size: int) -> Lines:
    """Of a private array, each with a known place."""
    yield "%array = OpVariable %private_block Function"
    yield _HEAD
    for i in range(size):
        yield f"%n{i} = OpBitwiseXor %i32 %x %k{i}\n%s{i} = OpUMod %i32 %n{i} %count"
        yield f"%e{i} = OpInBoundsAccessChain %private_i32 %array %s{i}\nOpStore %e{i} %n{i} Aligned 4"
    value = "%x"
    for i in range(size):
        yield f"%r{i} = OpLoad %i32 %e{i} Aligned 4\n%v{i} = OpIAdd %i32 {value} %r{i}"
        value = f"%v{i}"
    yield f"OpStore %at {value} Aligned 4"


def _barriers(size: int) -> Lines:
    yield _HEAD
    yield "%low = OpUConvert %i32 %g\n%slot = OpUMod %i32 %low %count"
    yield "%place = OpInBoundsAccessChain %local_i32 %shared %slot"
    value = "%x"
    for i in range(size):
        yield f"""
            OpStore %place {value} Aligned 4
            OpControlBarrier %c2 %c2 %fence
            %from{i} = OpInBoundsAccessChain %local_i32 %shared %c{i % 4}
            %r{i} = OpLoad %i32 %from{i} Aligned 4
            %v{i} = OpIAdd %i32 {value} %r{i}
            OpControlBarrier %c2 %c2 %fence
        """
        value = f"%v{i}"
    yield f"OpStore %at {value} Aligned 4"


def _across(size: int) -> Lines:
    """Values that barriers divide from their uses."""
    yield _HEAD
    yield "%place = OpInBoundsAccessChain %local_i32 %shared %c0"
    for i in range(size):
        yield f"%m{i} = OpLoad %i32 %at Volatile|Aligned 4"
    yield "OpControlBarrier %c2 %c2 %fence"
    value = "%x"
    for i in range(size):
        yield f"%v{i} = OpBitwiseXor %i32 {value} %m{i}"
        value = f"%v{i}"
        if i % 16 == 15:
            yield "OpControlBarrier %c2 %c2 %fence"
    yield f"OpStore %at {value} Aligned 4"


SHAPES: Final[dict[str, Callable[[int], Lines]]] = {
    "ifs": _ifs,
    "same_ifs": _same_ifs,
    "writing_ifs": _writing_ifs,
    "nested_ifs": _nested_ifs,
    "returns": _returns,
    "loops": _loops,
    "own_loops": _own_loops,
    "breaks": _breaks,
    "straight": _straight,
    "wide": _wide,
    "variables": _variables,
    "phis": _phis,
    "switch": _switch,
    "else_ifs": _else_ifs,
    "jumps": _jumps,
    "long_branch": _long_branch,
    "long_loop": _long_loop,
    "calls": _calls,
    "accesses": _accesses,
    "elements": _elements,
    "barriers": _barriers,
    "across": _across,
}
