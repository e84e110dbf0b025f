"""Decodes a function once into steps: one Python function per instruction, on a list of values.

A handler from the table returns the step of an instruction. An instruction that waits for other work-items or calls a
function returns a `Pause` instead.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from anyzero.compiler.reference.errors import Fault
from anyzero.compiler.reference.order import Order, order
from anyzero.compiler.spirv.float_controls import USUAL
from anyzero.compiler.spirv.function import Block, Function
from anyzero.compiler.spirv.grammar import opcode_name
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.tables import Decoration, FunctionParameterAttribute, Op
from anyzero.compiler.spirv.types import Pointer, Type
from anyzero.compiler.spirv.verifier import verify_function
from anyzero.lazy_dataclass import dataclass, field

if TYPE_CHECKING:
    from anyzero.compiler.reference.meetings import Arrival
    from anyzero.compiler.reference.program import Program

Registers = list[Any]
"""A frame: the work-item, the function's result, then one value per id."""
ITEM, RESULT = 0, 1

Step = Callable[[Registers], None]
Waiting = Generator["Arrival", Any, None]
Leave = Callable[[Registers], "Section | None"]


@dataclass(slots=True, eq=False)
class Pause:
    """A step that may wait for other work-items."""

    begin: Callable[[Registers], Waiting]


Handler = Callable[["Decoder", Instruction], "Step | Pause"]

HANDLERS: dict[int, Handler] = {}
"""By opcode; a test checks that every instruction that the verifier accepts is here. Branches are in EXITS."""

Exit = Callable[["Decoder", Block], Leave]
EXITS: dict[int, Exit] = {}
"""The same for terminators."""


def handles(*opcodes: int) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        for opcode in opcodes:
            assert opcode not in HANDLERS
            HANDLERS[opcode] = handler
        return handler

    return register


def leaves(*opcodes: int) -> Callable[[Exit], Exit]:
    def register(exit_: Exit) -> Exit:
        for opcode in opcodes:
            assert opcode not in EXITS
            EXITS[opcode] = exit_
        return exit_

    return register


@dataclass(slots=True, eq=False)
class Section:
    """A block: runs of plain steps separated by pauses, then the terminator."""

    runs: list[tuple[tuple[Step, ...], Pause | None]] = field(default_factory=list)
    length: int = 0
    leave: Leave = lambda registers: None


@dataclass(slots=True, eq=False)
class Code:
    function: Function
    entry: Section
    template: Registers
    """The initial frame: constants, and addresses of variables."""
    parameters: tuple[int, ...]
    variables: list[int]
    """Slots of the addresses of the function's variables."""
    offsets: dict[Any, int]
    """The word offset of each step's instruction."""
    copied: dict[int, int]
    """Indices of byval arguments, with their sizes."""


class Decoder:
    """Decodes one function; without a function, an operation on constants."""

    def __init__(self, program: Program, function: Function | None) -> None:
        self.program = program
        self.module = program.module
        self.function = function
        self.floats = program.floats.within(program.module, function.id) if function else USUAL
        self.template: Registers = [None, None]
        self.slots: dict[int, int] = {}
        self.sections: dict[int, Section] = {}
        self.variables: list[int] = []
        self.offsets: dict[Any, int] = {}
        self.turns: dict[int, int] = {}
        """The slot of a loop's iteration count, by the label of its header."""
        self.numbers: dict[int, int] = {}
        """Position in the order, by the offset of an instruction or the negated label of a loop header."""
        self.order: Order | None = None
        self.label = 0

    def new_slot(self, value: Any = None) -> int:
        self.template.append(value)
        return len(self.template) - 1

    def slot(self, id_: int) -> int:
        """The slot of a value. Values of the module are stored in the template."""
        found = self.slots.get(id_)
        if found is None:
            value = self.program.value(id_) if id_ in self.module.values else None
            found = self.slots[id_] = self.new_slot(value)
        return found

    def slot_list(self, ids: tuple[int, ...]) -> list[int]:
        return [self.slot(id_) for id_ in ids]

    def result(self, instruction: Instruction) -> int:
        return self.slot(instruction.result_id)

    def type(self, instruction: Instruction) -> Type:
        return self.module.types[instruction.type_id]

    def type_of(self, id_: int) -> Type:
        found = self.function.type_of(id_) if self.function else self.module.values.get(id_)
        if found is None:
            raise Fault(f"%{id_} is not a value")
        return found

    def constant(self, id_: int) -> int:
        """The value of a constant integer, such as a scope."""
        return int(self.program.value(id_))

    def step(self, instruction: Instruction) -> Step | Pause:
        handler = HANDLERS.get(instruction.opcode)
        if handler is None:
            raise Fault(f"{opcode_name(instruction.opcode)} has no handler")
        return handler(self, instruction)

    def code(self) -> Code:
        function = self.function
        assert function is not None
        parameters = tuple(self.slot_list(function.parameters))
        self.order = order(function, verify_function(function))
        self.sections = {label: Section() for label in self.order.row}
        self._number(function, self.order)
        for label in self.order.row:
            self.label = label
            self._section(function.blocks[label], self.sections[label])
        entry = self.sections[function.entry.label]
        return Code(function, entry, self.template, parameters, self.variables, self.offsets, self._copied(function))

    def _copied(self, function: Function) -> dict[int, int]:
        found = {}
        for index, (id_, type_) in enumerate(zip(function.parameters, function.type.parameters, strict=True)):
            attributes = [words[0] for words in self.module.decorations.all(id_, Decoration.FuncParamAttr)]
            if isinstance(type_, Pointer) and FunctionParameterAttribute.ByVal in attributes:
                found[index] = type_.pointee.size
        return found

    def _number(self, function: Function, row: Order) -> None:
        number = 0
        for label in row.row:
            block = function.blocks[label]
            self.numbers[-label] = number
            for instruction in block.instructions:
                number += 1
                self.numbers[instruction.offset] = number
            number += 1
        for head in {head for heads in row.loops.values() for head in heads}:
            self.turns[head] = self.new_slot(0)

    def _section(self, block: Block, section: Section) -> None:
        steps: list[Step] = []
        section.length = len(block.instructions) + 1
        for instruction in block.instructions:
            if instruction.opcode == Op.Phi:
                continue
            made = self.step(instruction)
            self.offsets[made] = instruction.offset
            if isinstance(made, Pause):
                section.runs.append((tuple(steps), made))
                steps = []
            else:
                steps.append(made)
        if steps:
            section.runs.append((tuple(steps), None))
        section.leave = EXITS[block.terminator.opcode](self, block)
        self.offsets[section.leave] = block.terminator.offset

    def position(self, instruction: Instruction) -> Callable[[Registers], tuple[int, ...]]:
        """The position of an instruction in the execution of the function; earlier ones compare smaller."""
        assert self.order is not None
        nest = [(self.numbers[-head], self.turns[head]) for head in self.order.loops[self.label]]
        own = self.numbers[instruction.offset]
        if not nest:
            alone = (own,)
            return lambda r: alone

        def place(r: Registers) -> tuple[int, ...]:
            found: list[int] = []
            for head, turns in nest:
                found += (head, r[turns])
            return (*found, own)

        return place

    def jump(self, block: Block, target: int) -> Leave:
        """The edge between two blocks: parallel assignment of the phis, and iteration counts of loops."""
        assert self.order is not None
        assert self.function is not None
        section = self.sections[target]
        pairs = [
            (self.slot(phi.result_id), self.slot(phi.operands[phi.operands.index(block.label, 1) - 1]))
            for phi in self.function.blocks[target].phis
        ]
        turns = self.turns.get(target)
        again = target in self.order.loops[block.label]
        simple = _assign(pairs, section)
        if turns is None:
            return simple

        def turn(r: Registers) -> Section | None:
            r[turns] = r[turns] + 1 if again else 0
            return simple(r)

        return turn


def _assign(pairs: list[tuple[int, int]], section: Section) -> Leave:
    if not pairs:
        return lambda r: section
    if len(pairs) == 1:
        ((to, from_),) = pairs

        def one(r: Registers) -> Section:
            r[to] = r[from_]
            return section

        return one

    def all_at_once(r: Registers) -> Section:
        values = [r[from_] for _, from_ in pairs]
        for (to, _), value in zip(pairs, values, strict=True):
            r[to] = value
        return section

    return all_at_once
