"""The verifier takes what has a meaning, and names the instruction that has none."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import pytest

from anyzero.compiler.spirv import (
    SpirvError,
    grammar,
    read,
    verify,
    verify_declarations,
    verify_function,
    verify_kernel,
)
from anyzero.compiler.spirv.grammar import opcode_name
from anyzero.compiler.spirv.rules.check import RULES
from anyzero.compiler.spirv.tables import LAYOUT_OF_OPENCL, Op
from tests.compiler.assembler import assemble
from tests.compiler.bodies import BODIES
from tests.compiler.samples import MODULES, PROLOGUE, SAXPY, TYPES, function


def verified(text: str) -> None:
    verify(read(assemble(text)))


def refusal(text: str) -> str:
    with pytest.raises(SpirvError) as caught:
        verified(text)
    assert caught.value.offset is not None
    assert caught.value.instruction
    return str(caught.value)


@pytest.mark.parametrize("name", MODULES)
def test_samples_are_fine(name: str) -> None:
    module = read(MODULES[name])
    verify(module)
    for kernel in module.kernels:
        verify_kernel(module, kernel)


@pytest.mark.parametrize("name", BODIES)
def test_every_chapter_is_fine(name: str) -> None:
    verify(read(BODIES[name].module))


def test_every_rule_is_used() -> None:
    functions = [each for body in BODIES.values() for each in read(body.module).functions.values()]
    blocks = [block for each in functions for block in each.blocks.values()]
    instructions = [each for block in blocks for each in (*block.instructions, block.terminator)]
    assert {opcode_name(opcode) for opcode in RULES} - {each.name for each in instructions} == set()
    assert LAYOUT_OF_OPENCL.keys() - {each.operands[1] for each in instructions if each.opcode == Op.ExtInst} == set()


def spoiled(data: bytes) -> Iterator[tuple[str, bytes]]:
    """The module with one operand or result type of its last function replaced by what fits nowhere."""
    module = read(data)
    main = list(module.functions.values())[-1]
    value = main.parameters[0]
    type_ = next(id_ for id_, each in module.types.items() if each is main.type.parameters[0])
    context = grammar.Context(is_opencl=module.opencl_sets.__contains__)
    at = main.first
    while at < main.stop:
        opcode, stop = module.words[at] & 0xFFFF, at + (module.words[at] >> 16)
        for operand in grammar.operands(opcode, module.words, at, stop, context):
            if operand.kind in grammar.IDS and operand.kind != "IdResult" and opcode != Op.Label:
                words = array("I", data)
                words[operand.start] = type_ if operand.kind == "IdResultType" else value
                yield f"{opcode_name(opcode)} word {operand.start - at}", words.tobytes()
        at = stop


@pytest.mark.parametrize("name", BODIES)
def test_what_does_not_fit_is_refused(name: str) -> None:
    cases = list(spoiled(BODIES[name].module))
    assert len(cases) > 10
    accepted = [place for place, data in cases if not refused(data)]
    assert set(accepted) <= {"OpUndef word 1", "OpPoisonKHR word 1"}


def refused(data: bytes) -> bool:
    try:
        verify(read(data))
    except SpirvError as error:
        return error.offset is not None
    return False


LOOP = """
    OpBranch %loop
    %body = OpLabel
    %next = OpIAdd %i32 %index %c1
    OpBranch %loop
    %loop = OpLabel
    %index = OpPhi %i32 %c0 %entry %next %body
    %more = OpSLessThan %bool %index %c7
    OpBranchConditional %more %body %exit
    %exit = OpLabel
    OpReturn
"""


def test_blocks_may_stand_in_any_order() -> None:
    verified(function(LOOP))


def test_a_value_must_be_computed_on_every_way() -> None:
    body = """
        OpBranchConditional %true %left %right
        %left = OpLabel
        %value = OpIAdd %i32 %c1 %c1
        OpBranch %right
        %right = OpLabel
        %use = OpIAdd %i32 %value %value
        OpReturn
    """
    message = refusal(function(body))
    assert "does not dominate this use" in message
    assert "OpIAdd" in message


def test_a_value_must_come_before_its_use_in_its_block() -> None:
    message = refusal(function("%a = OpIAdd %i32 %b %c1\n%b = OpIAdd %i32 %c1 %c1\nOpReturn"))
    assert "does not dominate this use" in message


def test_what_cannot_be_reached_need_not_be_dominated() -> None:
    verified(function("OpReturn\n%lost = OpLabel\n%a = OpIAdd %i32 %b %c1\n%b = OpIAdd %i32 %a %c1\nOpReturn"))
    assert "instead of i32" in refusal(function("OpReturn\n%lost = OpLabel\n%a = OpIAdd %i32 %true %c1\nOpReturn"))


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("%c0 %entry %next %body", "%c0 %entry", "names 1 different blocks, but its block has 2 predecessors"),
        (
            "%c0 %entry %next %body",
            "%c0 %entry %next %entry",
            "names 1 different blocks, but its block has 2 predecessors",
        ),
        ("%c0 %entry %next %body", "%c0 %exit %next %body", "has no value for the predecessor"),
        ("%c0 %entry %next %body", "%l0 %entry %next %body", "is i64 instead of i32"),
        ("%c0 %entry %next %body", "%next %entry %next %body", "does not dominate this use"),
        ("OpBranch %loop\n    %body", "OpBranch %c0\n    %body", "is not a block of this function"),
        ("OpBranch %loop\n    %body", "%body", "has no terminator"),
        ("OpBranch %loop\n    %loop", "OpBranch %entry\n    %loop", "which nothing may branch to"),
        ("%more %body %exit", "%index %body %exit", "instead of a boolean"),
        ("%index = OpPhi", "%first = OpIAdd %i32 %c1 %c1\n%index = OpPhi", "comes after other instructions"),
        ("OpReturn", "OpReturn\nOpReturn", "is outside of every block"),
        ("OpReturn", "OpReturnValue %c0", "but the function returns none"),
    ],
)
def test_control_flow_is_checked(before: str, after: str, reason: str) -> None:
    assert before in LOOP
    assert reason in refusal(function(LOOP.replace(before, after)))


def test_merges_may_stand_anywhere_and_name_blocks() -> None:
    merge = "OpSelectionMerge %entry None"
    verified(function(f"{merge}\n%a = OpIAdd %i32 %c1 %c1\n{merge}\nOpReturn"))
    assert "is not a block" in refusal(function("OpSelectionMerge %c0 None\nOpReturn"))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("%a = OpIAdd %i32 %c1 %l1\nOpReturn", "is i64 instead of i32"),
        ("%a = OpFAdd %f32 %c1 %half\nOpReturn", "is i32 instead of f32"),
        ("%a = OpLoad %i64 %p0\nOpReturn", "instead of a pointer to i64"),
        ("OpStore %p0 %half\nOpReturn", "is f32 instead of i32"),
        ("%a = OpLoad %i32 %p0 Aligned 3\nOpReturn", "no power of two"),
        ("%a = OpLoad %i32 %p0 MakePointerVisible %c1\nOpReturn", "MakePointerVisible"),
        ("%a = OpLoad %i32 %p0 AliasScopeINTELMask %c1\nOpReturn", "no list of alias scopes"),
        ("%a = OpIAdd %i32 %c1 %77777\nOpReturn", "%77777 is not declared"),
        ("%a = OpIAdd %i32 %c1 %entry\nOpReturn", "is not a value"),
        ("%a = OpVariable %private_i32 Function %p1\nOpReturn", "is not a constant of type i32"),
        (
            "OpBranch %b\n%b = OpLabel\n%a = OpVariable %private_i32 Function\nOpReturn",
            "outside of the function's first",
        ),
        ("%a = OpDPdx %f32 %half\nOpReturn", "OpDPdx is not supported in kernels; it requires Shader"),
        ("%a = OpExtInst %f32 %cl 999 %half\nOpReturn", "OpenCL.std has no instruction 999"),
        ("%a = OpExtInst %f32 %cl sin %c1\nOpReturn", "sin: %"),
        ("OpControlBarrier %p1 %c2 %c0\nOpReturn", "must be an integer constant"),
        ("OpControlBarrier %c1 %c2 %c0\nOpReturn", "is the scope 1"),
        ("OpSwitch %c1 %x 1 %x 1 %x\n%x = OpLabel\nOpReturn", "has a duplicate case value"),
        ("%a = OpGroupIAdd %i32 %c2 ClusteredReduce %p1\nOpReturn", "ClusteredReduce is not possible"),
        ("%a = OpVectorShuffle %v2i32 %v %v 0 4\nOpReturn", "no component 4 in 4"),
        ("%a = OpCompositeExtract %i32 %v 2\nOpReturn", "has no part 2"),
        ("%a = OpFunctionCall %void %main\nOpReturn", "calls itself"),
        ("%a = OpFunctionCall %void %c1\nOpReturn", "which is not a function"),
    ],
)
def test_mistakes_are_named(body: str, reason: str) -> None:
    declarations = "%v = OpConstantNull %v2i32"
    assert reason in refusal(function(body, parameters="%global_i32 %i32", declarations=declarations))


def test_a_message_names_instruction_word_function_and_source() -> None:
    text = SAXPY.replace("%sum = OpExtInst %f32 %cl mad %a %vx %vy", "%sum = OpFAdd %f32 %vx %i")
    data = assemble(text)
    with pytest.raises(SpirvError) as caught:
        verify(read(data))
    words = array("I", data)
    assert words[caught.value.offset or 0] == 5 << 16 | Op.FAdd
    message = str(caught.value)
    assert message.startswith(f"word {caught.value.offset}: %")
    assert "= OpFAdd %" in message
    assert "is i64 instead of f32 (in function %" in message
    assert '"saxpy", saxpy.cl:5:9)' in message


def test_recursion_is_refused() -> None:
    text = f"""
    {PROLOGUE}{TYPES}
    %type = OpTypeFunction %void
    %first = OpFunction %void None %type
    %a = OpLabel
    %x = OpFunctionCall %void %second
    OpReturn
    OpFunctionEnd
    %second = OpFunction %void None %type
    %b = OpLabel
    %y = OpFunctionCall %void %first
    OpReturn
    OpFunctionEnd
    """
    module = read(assemble(text))
    with pytest.raises(SpirvError, match="calls itself, directly or not"):
        verify_declarations(module)


@pytest.mark.parametrize("name", ["Shader", "RayTracingKHR", "Pipes", "ArbitraryPrecisionIntegersALTERA", "65000"])
def test_a_capability_that_nothing_makes_use_of_is_accepted(name: str) -> None:
    verified(function("OpReturn", prologue=f"OpCapability {name}"))


@pytest.mark.parametrize(
    ("capability", "line", "reason"),
    [
        ("Pipes", "%pipe = OpTypePipe ReadOnly", "is not supported outside of functions; it requires Pipes"),
        ("CooperativeMatrixKHR", "%m = OpTypeCooperativeMatrixKHR %f32 %c3 %c7 %c7 %c0", "it requires Cooperative"),
    ],
)
def test_types_of_unsupported_capabilities_are_refused(capability: str, line: str, reason: str) -> None:
    assert reason in refusal(function("OpReturn", prologue=f"OpCapability {capability}", declarations=line))


def test_instructions_of_unsupported_capabilities_are_refused() -> None:
    body = "%x = OpDPdx %f32 %p0\nOpReturn"
    assert "OpDPdx is not supported" in refusal(function(body, parameters="%f32", prologue="OpCapability Shader"))


@pytest.mark.parametrize("line", ["OpDecorate %main VectorComputeFunctionINTEL", "OpDecorate %main StackCallINTEL"])
def test_decorations_of_unsupported_capabilities_are_refused(line: str) -> None:
    reason = refusal(function("OpReturn", prologue=f"OpCapability VectorComputeINTEL\n{line}"))
    assert "which is not supported; it requires VectorComputeINTEL" in reason


def test_leniency_about_capabilities_and_extensions() -> None:
    verified(function("OpReturn", prologue="OpCapability SubgroupShuffleINTEL"))
    body = "%a = OpFAdd %f16 %p0 %p0\nOpReturn"
    text = function(body, parameters="%f16").replace("OpCapability Float16\n", "OpCapability Float16Buffer\n")
    assert "Float16Buffer" in text
    verified(text)
    verified(function(body, parameters="%f16").replace("OpCapability Float16\n", ""))


def test_builtins_are_known_ones() -> None:
    assert "the builtin FragCoord is not supported" in refusal(
        SAXPY.replace("BuiltIn GlobalInvocationId", "BuiltIn FragCoord")
    )
    assert "cannot be <3 x i64>" in refusal(SAXPY.replace("BuiltIn GlobalInvocationId", "BuiltIn SubgroupSize"))
    assert "is an input variable" in refusal(SAXPY.replace("OpDecorate %gid BuiltIn GlobalInvocationId", ""))


def test_operations_on_constants_follow_the_rules() -> None:
    good = "%a = OpSpecConstantOp %i64 ConvertPtrToU %g\n%g = OpVariable %global_i32 CrossWorkgroup"
    verified(function("OpReturn", declarations=good))
    bad = good.replace("%i64 ConvertPtrToU", "%f64 ConvertPtrToU")
    assert "ConvertPtrToU cannot return f64" in refusal(function("OpReturn", declarations=bad))
    wrong = "%a = OpSpecConstantOp %i64 IAdd %c1 %c1"
    assert "IAdd" in refusal(function("OpReturn", declarations=wrong))


@pytest.mark.parametrize(("instruction", "reason"), [
    ("OpConvertFToBF16INTEL %i16 %d", "is f64 instead of 1 × float of 32 bits"),
    ("OpConvertFToBF16INTEL %i16 %h", "is f16 instead of 1 × float of 32 bits"),
    ("OpConvertFToBF16INTEL %i32 %f", "ConvertFToBF16INTEL cannot return i32"),
    ("OpConvertBF16ToFINTEL %f32 %c1", "is i32 instead of 1 × int of 16 bits"),
    ("OpConvertBF16ToFINTEL %f64 %s", "ConvertBF16ToFINTEL cannot return f64"),
])  # fmt: skip
def test_brain_floats_have_the_upper_half_of_a_float(instruction: str, reason: str) -> None:
    given = """
        %d = OpConvertSToF %f64 %c1
        %h = OpConvertSToF %f16 %c1
        %f = OpConvertSToF %f32 %c1
        %s = OpConvertFToBF16INTEL %i16 %f
    """
    verified(function(f"{given}\n%x = OpConvertBF16ToFINTEL %f32 %s\nOpReturn"))
    assert reason in refusal(function(f"{given}\n%x = {instruction}\nOpReturn"))


def test_ids_belong_to_one_function() -> None:
    other = """
    %t = OpTypeFunction %void
    OpDecorate %f LinkageAttributes "f" Export
    %f = OpFunction %void None %t
    %l = OpLabel
    %a = OpIAdd %i32 %c1 %c1
    OpReturn
    OpFunctionEnd
    """
    assert "declares too" in refusal(function("%a = OpIAdd %i32 %c1 %c1\nOpReturn", declarations=other))


def test_names_are_exported_once() -> None:
    other = """
    OpDecorate %g LinkageAttributes "main" Export
    %g = OpVariable %global_i32 CrossWorkgroup
    """
    assert '"main" is exported twice' in refusal(function("OpReturn", declarations=other))


def test_a_function_is_verified_once() -> None:
    module = read(MODULES["mixed"])
    main = module.kernels["mixed"].function
    flow = verify_function(main)
    assert verify_function(main) is flow
    assert flow.order[0] == main.entry.label
    assert flow.unreachable == []
    assert {flow.dominators[label] for label in main.blocks if label != main.entry.label} <= set(main.blocks)
