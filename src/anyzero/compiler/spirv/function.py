"""Functions. Their bodies are decoded lazily, on first access."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyzero.compiler.spirv.decorations import Linkage
from anyzero.compiler.spirv.errors import SpirvError
from anyzero.compiler.spirv.grammar import SHAPES
from anyzero.compiler.spirv.instruction import Instruction, switch_cases
from anyzero.compiler.spirv.tables import Op
from anyzero.compiler.spirv.types import FunctionType, Int, Type
from anyzero.lazy_dataclass import dataclass, field

if TYPE_CHECKING:
    from anyzero.compiler.spirv.flow import Flow
    from anyzero.compiler.spirv.module import Module

# Roles of instructions in a block.
EXTENDED, PLAIN, LABEL, MERGE, TERMINATOR, SKIPPED = range(6)

TERMINATORS = frozenset({Op.Branch, Op.BranchConditional, Op.Switch, Op.Return, Op.ReturnValue, Op.Unreachable})
"""Instructions that end a block."""

_ROLES = {
    **dict.fromkeys([Op.ExtInst, Op.ExtInstWithForwardRefsKHR], EXTENDED),
    Op.Label: LABEL,
    **dict.fromkeys([Op.LoopMerge, Op.SelectionMerge], MERGE),
    **dict.fromkeys(TERMINATORS, TERMINATOR),
    # No semantics; messages find the lines in the words.
    **dict.fromkeys([Op.Nop, Op.Line, Op.NoLine, Op.LoopControlINTEL], SKIPPED),
}
FORMS = {opcode: (*shape, _ROLES.get(opcode, PLAIN)) for opcode, shape in SHAPES.items()}
"""By opcode: the shape of the instruction, and its role."""


@dataclass(slots=True, eq=False)
class Block:
    """A basic block."""

    label: int
    offset: int
    instructions: list[Instruction]
    """Phis first; without the merge instruction and the terminator."""
    terminator: Instruction
    merge: Instruction | None = None
    successors: tuple[int, ...] = ()
    """Distinct labels."""

    @property
    def phis(self) -> list[Instruction]:
        """The phis at the beginning of the block."""
        found = []
        for instruction in self.instructions:
            if instruction.opcode != Op.Phi:
                break
            found.append(instruction)
        return found


@dataclass(slots=True, eq=False)
class Body:
    """The blocks of a function."""

    blocks: dict[int, Block]
    """By label, in file order; the first is the entry."""
    types: dict[int, Type]
    """The type of every parameter and result."""


@dataclass(slots=True, eq=False)
class Function:
    """A function, defined or only declared."""

    module: Module = field(repr=False)
    id: int
    type: FunctionType
    control: int
    """A mask of FunctionControl."""
    parameters: tuple[int, ...]
    linkage: Linkage | None
    calls: tuple[int, ...]
    """The ids of directly called functions."""
    offset: int
    first: int
    """The word after the last parameter."""
    stop: int
    """The word after OpFunctionEnd."""
    has_body: bool
    verified: Flow | None = field(default=None, repr=False)
    """The control flow of the body, after verification."""
    _body: Body | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        return self.linkage.name if self.linkage else self.module.name(self.id)

    @property
    def body(self) -> Body:
        if self._body is None:
            self._body = decode(self)
        return self._body

    @property
    def blocks(self) -> dict[int, Block]:
        return self.body.blocks

    @property
    def entry(self) -> Block:
        return next(iter(self.blocks.values()))

    def type_of(self, id_: int) -> Type | None:
        """The type of a value that this function can use."""
        return self.body.types.get(id_) or self.module.values.get(id_)

    def __str__(self) -> str:
        return f"function %{self.id}" + (f' "{self.name}"' if self.name else "")


def decode(function: Function) -> Body:
    reading = _Reading(function)
    try:
        reading.instructions()
        return reading.finished()
    except SpirvError as error:
        offset, module = reading.offset, function.module
        raise error.at(offset, module.shown(offset), module.whereabouts(offset)) from None


class _Reading:
    """State of decoding; `offset` is the current instruction, for errors."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.module = function.module
        self.offset = function.first
        self.blocks: dict[int, Block] = {}
        self.types: dict[int, Type] = dict(zip(function.parameters, function.type.parameters, strict=True))

    def instructions(self) -> None:
        """The hot loop over every instruction of every function; it uses local variables for speed."""
        module, types, blocks, base = self.module, self.types, self.blocks, self.function.first
        words = module.words[base : self.function.stop].tolist()
        known, bound, taken, quiet = module.types, module.bound, module.ids, module.quiet_sets
        at, end = 0, len(words) - 1
        body: list[Instruction] | None = None
        label = label_offset = 0
        merge: Instruction | None = None
        try:
            while at < end:
                word = words[at]
                opcode, stop = word & 0xFFFF, at + (word >> 16)
                form = FORMS.get(opcode)
                if form is None:
                    raise SpirvError("is unknown to this compiler")
                head, shortest, longest, role = form
                after = at + head
                if not shortest <= stop - after <= longest:
                    raise SpirvError(_wrong_length(stop - at, head + shortest, head + longest))
                type_id = result = 0
                if head > 1:
                    result = words[after - 1]
                    if not 0 < result < bound or result in types or result in taken or result in blocks:
                        raise SpirvError(self._bad_result(result))
                    if head > 2:
                        type_id = words[at + 1]
                        type_ = known.get(type_id)
                        if type_ is None:
                            raise SpirvError(f"%{type_id} is not a type")
                        if role == EXTENDED and words[after] in quiet:
                            at = stop
                            continue
                        types[result] = type_
                if role <= PLAIN:
                    if body is None:
                        raise SpirvError("is outside of every block")
                    body.append(Instruction(opcode, type_id, result, tuple(words[after:stop]), base + at))
                elif role == LABEL:
                    if body is not None:
                        raise SpirvError(f"the block %{label} before it has no terminator")
                    body, label, label_offset, merge = [], result, base + at, None
                elif role != SKIPPED:
                    if body is None:
                        raise SpirvError("is outside of every block")
                    instruction = Instruction(opcode, type_id, result, tuple(words[after:stop]), base + at)
                    if role == MERGE:
                        # It should precede the terminator. Some compilers put it earlier, or twice; kernels need none.
                        merge = instruction
                    else:
                        blocks[label] = Block(label, label_offset, body, instruction, merge)
                        body = None
                at = stop
            if body is not None:
                raise SpirvError(f"the block %{label} before it has no terminator")
        finally:
            self.offset = base + at

    def _bad_result(self, result: int) -> str:
        if not 0 < result < self.module.bound:
            return f"its result %{result} is not below the bound {self.module.bound}"
        return f"its result %{result} is declared twice"

    def finished(self) -> Body:
        for block in self.blocks.values():
            self.offset = block.terminator.offset
            targets = self._targets(block.terminator)
            for target in targets:
                if target not in self.blocks:
                    raise SpirvError(f"%{target} is not a block of this function")
            block.successors = tuple(dict.fromkeys(targets))
        return Body(self.blocks, self.types)

    def _targets(self, terminator: Instruction) -> list[int]:
        operands = terminator.operands
        if terminator.opcode == Op.Branch:
            return [operands[0]]
        if terminator.opcode == Op.BranchConditional:
            return [operands[1], operands[2]]
        if terminator.opcode == Op.Switch:
            selector = self.types.get(operands[0]) or self.module.values.get(operands[0])
            if not isinstance(selector, Int):
                raise SpirvError(f"its selector %{operands[0]} is not an integer")
            return [operands[1], *(label for _, label in switch_cases(terminator, selector.width))]
        return []


def _wrong_length(count: int, shortest: int, longest: int) -> str:
    if count < shortest:
        return f"has {count} words and needs {shortest}"
    return f"has {count} words and may have {longest}"
