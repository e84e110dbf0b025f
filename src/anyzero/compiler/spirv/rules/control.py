"""Control flow and calls."""

from __future__ import annotations

from anyzero.compiler.spirv.errors import SpirvError
from anyzero.compiler.spirv.instruction import Instruction, switch_cases
from anyzero.compiler.spirv.rules.check import Check, rule, wrong
from anyzero.compiler.spirv.tables import Op
from anyzero.compiler.spirv.types import Bool, FunctionType, Void


@rule(Op.Branch, Op.Unreachable)
def nothing(check: Check, instruction: Instruction) -> None:
    """No checks: the decoder has checked the labels."""


@rule(Op.BranchConditional)
def branch_conditional(check: Check, instruction: Instruction) -> None:
    condition, weights = instruction.operands[0], instruction.operands[3:]
    if not isinstance(check.values[condition], Bool):
        raise wrong(condition, check.values[condition], "a boolean")
    if len(weights) not in (0, 2):
        raise SpirvError(f"has {len(weights)} branch weights instead of 2")


@rule(Op.Switch)
def switch(check: Check, instruction: Instruction) -> None:
    values = [value for value, _ in switch_cases(instruction, check.integer(instruction.operands[0]).width)]
    if len(set(values)) != len(values):
        raise SpirvError("has a duplicate case value")


@rule(Op.Return)
def return_(check: Check, instruction: Instruction) -> None:
    if not isinstance(check.function.type.result, Void):
        raise SpirvError(f"returns no value, but the function returns {check.function.type.result}")


@rule(Op.ReturnValue)
def return_value(check: Check, instruction: Instruction) -> None:
    if isinstance(check.function.type.result, Void):
        raise SpirvError("returns a value, but the function returns none")
    check.is_(instruction.operands[0], check.function.type.result)


@rule(Op.FunctionCall)
def call(check: Check, instruction: Instruction) -> None:
    callee, *arguments = instruction.operands
    function = check.module.functions.get(callee)
    if function is None:
        raise SpirvError(f"%{callee} is not a function")
    _arguments(check, instruction, function.type, arguments)


@rule(Op.FunctionPointerCallINTEL)
def call_pointer(check: Check, instruction: Instruction) -> None:
    if not instruction.operands:
        raise SpirvError("names no function")
    callee, *arguments = instruction.operands
    type_ = check.pointer(callee).pointee
    if not isinstance(type_, FunctionType):
        raise wrong(callee, check.values[callee], "a pointer to a function")
    _arguments(check, instruction, type_, arguments)


def _arguments(check: Check, instruction: Instruction, type_: FunctionType, arguments: list[int]) -> None:
    if check.types[instruction.type_id] is not type_.result:
        raise SpirvError(f"its type is {check.types[instruction.type_id]}, and the function's result is {type_.result}")
    if len(arguments) != len(type_.parameters):
        raise SpirvError(f"has {len(arguments)} arguments for a function with {len(type_.parameters)} parameters")
    for id_, wanted in zip(arguments, type_.parameters, strict=True):
        check.is_(id_, wanted)


@rule(Op.AssumeTrueKHR)
def assume(check: Check, instruction: Instruction) -> None:
    if not isinstance(check.values[instruction.operands[0]], Bool):
        raise wrong(instruction.operands[0], check.values[instruction.operands[0]], "a boolean")
