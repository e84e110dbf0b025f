"""Inlining of one function call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from anyzero.compiler.errors import CompileError
from anyzero.compiler.ir import Block, Op
from anyzero.compiler.source_place import SourcePlace
from anyzero.compiler.spirv import verify_function
from anyzero.compiler.spirv.errors import SpirvError
from anyzero.compiler.spirv.function import Function
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.tables import Op as Opcode
from anyzero.compiler.translate.chapter import ENDINGS, TABLE
from anyzero.compiler.translate.scope import Scope
from anyzero.compiler.translate.trees import Tree, bounded, build, leaves

if TYPE_CHECKING:
    from anyzero.compiler.translate.translator import Translator

LIMIT = 1_000_000
"""Maximum number of translated instructions per kernel, counting a function once per call."""


class Frame(Scope):
    """Translates blocks in dominator order; suspends at a call, and resumes after it."""

    def __init__(
        self,
        translator: Translator,
        index: int,
        function: Function,
        arguments: list[Tree],
        call: SourcePlace | None = None,
    ) -> None:
        """`call` is the call site, for debug information."""
        super().__init__(translator, index)
        self.function = function
        self.call = call
        self.flow = verify_function(function)
        self.types = function.body.types
        self.floats = translator.floats.within(self.module, function.id)
        self.values = dict(zip(function.parameters, arguments, strict=True))
        self.blocks = {label: self.b.new_block() for label in self.flow.order[1:]}
        # The entry block has no predecessors, so it continues the caller's block.
        self.blocks[self.flow.order[0]] = self.b.block
        self.edges: dict[tuple[int, int], Block] = {}
        """By pair of labels: the block that actually branches."""
        self.label = 0
        """The label of the current block."""
        self._phis: list[tuple[int, Instruction, Tree]] = []
        self._returns: list[tuple[Block, Tree | None]] = []
        self._todo = iter(self.flow.order)
        self._instructions: Iterator[Instruction] = iter(())
        self._waiting: Instruction | None = None
        self._next_block()

    def advance(self) -> Frame | None:
        """Translates up to the next call and returns its frame; None at the end of the function."""
        b, values, debug = self.b, self.values, self.translator.debug
        b.floats = self.floats
        while self.label:
            instruction = self.function.blocks[self.label].terminator
            try:
                for instruction in self._instructions:
                    opcode = instruction.opcode
                    b.word = self.word(instruction.offset) if debug else instruction.offset
                    if opcode == Opcode.FunctionCall:
                        self._waiting = instruction
                        return self.translator.call(self, instruction)
                    result = TABLE[opcode](self, instruction)
                    if result is not None:
                        values[instruction.result_id] = result
                instruction = self.function.blocks[self.label].terminator
                b.word = self.word(instruction.offset) if debug else instruction.offset
                ENDINGS[instruction.opcode](self, instruction)
            except SpirvError as error:
                raise self.placed(error, instruction) from None
            self._next_block()
        self._fill_phis()
        return None

    def word(self, offset: int) -> SourcePlace:
        return SourcePlace(offset, self.function, self.call)

    def placed(self, error: SpirvError, instruction: Instruction) -> SpirvError:
        module, offset = self.module, instruction.offset
        return error.at(offset, module.shown(offset), module.whereabouts(offset))

    def returned(self, value: Tree | None) -> None:
        """Sets the result of the call that `advance` stopped at."""
        assert self._waiting is not None
        if value is not None:
            self.values[self._waiting.result_id] = value

    def _next_block(self) -> None:
        self.label = next(self._todo, 0)
        if not self.label:
            return
        block = self.function.blocks[self.label]
        self.b.block = self.blocks[self.label]
        self.translator.steps += len(block.instructions) + 1
        if self.translator.steps > LIMIT:
            reason = f"{self.function} makes the kernel longer than {LIMIT} instructions once its calls are resolved"
            raise CompileError(reason, block.offset, "OpFunction")
        phis = block.phis
        for phi in phis:
            type_ = self.types[phi.result_id]
            try:
                bounded(type_)
            except SpirvError as error:
                raise self.placed(error, phi) from None
            self.b.word = self.word(phi.offset) if self.translator.debug else phi.offset
            value = build(type_, self._phi)
            self.values[phi.result_id] = value
            self._phis.append((self.label, phi, value))
        self._instructions = iter(block.instructions[len(phis) :])

    def _phi(self, type_: str) -> Op:
        return self.b.phi(type_, self.b.block)

    def goto(self, label: int) -> None:
        self.leave_to(label)
        self.b.goto(self.blocks[label])

    def leave_to(self, label: int) -> Block:
        """Records a branch of the current block to a label."""
        self.edges[self.label, label] = self.b.block
        return self.blocks[label]

    def give_back(self, value: Tree | None) -> None:
        self._returns.append((self.b.block, value))

    def _fill_phis(self) -> None:
        for label, phi, value in self._phis:
            words = phi.operands
            sources = {}
            for id_, parent in zip(words[::2], words[1::2], strict=True):
                block = self.edges.get((parent, label))
                if block is not None:
                    sources[block] = id_
            targets = leaves(value)
            for block in self.blocks[label].predecessors:
                for target, source in zip(targets, leaves(self.value(sources[block])), strict=True):
                    target.args.append(source)

    def result(self) -> Tree | None:
        """Continues the caller in the block where all returns join; returns the function's result."""
        b, type_ = self.b, self.function.type.result
        if len(self._returns) == 1:
            b.block, value = self._returns[0]
            return value
        meeting = b.new_block()
        for block, _ in self._returns:
            b.block = block
            b.goto(meeting)
        b.block = meeting
        if not type_.sized:
            return None
        if not self._returns:
            return self.undefined(type_)
        values = [leaves(value) for _, value in self._returns if value is not None]
        columns = iter(zip(*values, strict=True))

        def met(scalar: str) -> Op:
            column = next(columns)
            phi = b.phi(scalar, meeting)
            phi.args = list(column)
            return phi

        return build(type_, met)
