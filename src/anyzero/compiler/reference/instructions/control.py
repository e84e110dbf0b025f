"""Control flow and calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from anyzero.compiler.reference import memory
from anyzero.compiler.reference.decoder import (
    ITEM,
    RESULT,
    Decoder,
    Leave,
    Pause,
    Registers,
    Section,
    Step,
    Waiting,
    handles,
    leaves,
)
from anyzero.compiler.reference.errors import BadFunctionPointer, Missing, Unreachable
from anyzero.compiler.reference.instructions.access import nothing
from anyzero.compiler.reference.instructions.lanewise import width_of
from anyzero.compiler.reference.work_item import Item, execute
from anyzero.compiler.spirv.function import Block
from anyzero.compiler.spirv.instruction import Instruction, switch_cases
from anyzero.compiler.spirv.tables import Op

Callee = Callable[[Registers], int]


@leaves(Op.Branch)
def branch(decoder: Decoder, block: Block) -> Leave:
    return decoder.jump(block, block.terminator.operands[0])


@leaves(Op.BranchConditional)
def branch_conditional(decoder: Decoder, block: Block) -> Leave:
    condition = decoder.slot(block.terminator.operands[0])
    yes, no = (decoder.jump(block, label) for label in block.terminator.operands[1:3])
    return lambda r: yes(r) if r[condition] else no(r)


@leaves(Op.Switch)
def switch(decoder: Decoder, block: Block) -> Leave:
    selector, otherwise = block.terminator.operands[:2]
    slot, default = decoder.slot(selector), decoder.jump(block, otherwise)
    cases = switch_cases(block.terminator, width_of(decoder.type_of(selector)))
    targets = {value: decoder.jump(block, label) for value, label in cases}
    return lambda r: targets.get(r[slot], default)(r)


@leaves(Op.Return)
def return_(decoder: Decoder, block: Block) -> Leave:
    return lambda r: None


@leaves(Op.ReturnValue)
def return_value(decoder: Decoder, block: Block) -> Leave:
    value = decoder.slot(block.terminator.operands[0])

    def leave(r: Registers) -> Section | None:
        r[RESULT] = r[value]
        return None

    return leave


@leaves(Op.Unreachable)
def unreachable(decoder: Decoder, block: Block) -> Leave:
    def leave(r: Registers) -> Section | None:
        raise Unreachable("executes OpUnreachable")

    return leave


@handles(Op.FunctionCall)
def call(decoder: Decoder, instruction: Instruction) -> Pause:
    callee, *arguments = instruction.operands
    return _call(decoder, instruction, arguments, lambda r: callee)


@handles(Op.FunctionPointerCallINTEL)
def call_pointer(decoder: Decoder, instruction: Instruction) -> Pause:
    pointer, *arguments = instruction.operands
    program, slot = decoder.program, decoder.slot(pointer)
    wanted = len(arguments)

    def callee(r: Registers) -> int:
        found = program.function_at(r[slot])
        if found is None or len(decoder.module.functions[found].parameters) != wanted:
            raise BadFunctionPointer(f"calls {r[slot]:#x}, which is no function of {wanted} parameters")
        return found

    return _call(decoder, instruction, arguments, callee)


def _call(decoder: Decoder, instruction: Instruction, ids: list[int], callee: Callee) -> Pause:
    from_, to = decoder.slot_list(tuple(ids)), decoder.result(instruction)
    position, program = decoder.position(instruction), decoder.program

    def begin(r: Registers) -> Waiting:
        item, function = r[ITEM], callee(r)
        code = program.codes.get(function)
        if code is None:
            raise Missing(f"calls {decoder.module.functions[function]}, which no module defines")
        outer = item.path
        item.path = (*outer, *position(r), function)
        arguments = [r[slot] for slot in from_]
        copies = [_copy(item, arguments, index, size) for index, size in code.copied.items()]
        r[to] = yield from execute(code, item, arguments)
        for address in copies:
            item.release(address)
        item.path = outer

    return Pause(begin)


def _copy(item: Item, arguments: list[Any], index: int, size: int) -> int:
    """Copies a byval argument, so that the caller does not see changes."""
    data = memory.read(item.regions, arguments[index], size)
    arguments[index] = item.allocate(size, f"argument {index}")
    memory.write(item.regions, arguments[index], data)
    return int(arguments[index])


@handles(Op.AssumeTrueKHR)
def assume(decoder: Decoder, instruction: Instruction) -> Step:
    return nothing
