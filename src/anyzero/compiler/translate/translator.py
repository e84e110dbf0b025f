"""The state of one translation: the body, its source modules, and values that are computed once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from anyzero.compiler.builder import Builder
from anyzero.compiler.errors import CompileError
from anyzero.compiler.globals import Layout, layout
from anyzero.compiler.ir import Access, Body, Op
from anyzero.compiler.ir import Variable as Memory
from anyzero.compiler.spirv.constants import Scalar
from anyzero.compiler.spirv.float_controls import USUAL, FloatControls
from anyzero.compiler.spirv.function import Function
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.kernel import Kernel
from anyzero.compiler.spirv.module import Module, Variable
from anyzero.compiler.spirv.tables import Decoration, ExecutionMode, FPFastMathMode, FunctionParameterAttribute
from anyzero.compiler.spirv.types import Pointer
from anyzero.compiler.translate.control import signature
from anyzero.compiler.translate.frame import Frame
from anyzero.compiler.translate.outside import Outside
from anyzero.compiler.translate.trees import Tree

DEPTH = 200
"""Maximum call depth."""


class Translator:
    def __init__(
        self,
        name: str,
        module: Module,
        linked: Sequence[Module],
        kernel: Kernel | None = None,
        debug: bool = False,
    ) -> None:
        self.body = Body(name)
        self.debug = debug
        """True if operations record the calls they were inlined from."""
        self.b = Builder(self.body)
        self.modules = [module, *linked]
        self.kernel = kernel
        self.floats: FloatControls = kernel.floats if kernel is not None else USUAL
        self.contraction = kernel is None or _may_contract(kernel, module)
        self.steps = 0
        self.entry = self.b.block
        """The entry block: addresses, arguments, the position in the grid."""
        self.exit = self.b.new_block()
        """The exit block."""
        self.inputs: dict[Op, Variable] = {}
        """The addresses of builtin variables, materialized only if a direct read is impossible."""
        self._once: dict[tuple[str, str, object], Op] = {}
        self._layouts: dict[int, Layout] = {}
        self._outside = Outside(self)
        self._exports: dict[str, tuple[int, int]] | None = None
        first = self.b.new_block()
        self.b.goto(first)
        self.b.block = first

    def outside(self, index: int, id_: int) -> Tree:
        """The value of a module's constant, or the address of its variable."""
        return self._outside.value(index, id_)

    @contextmanager
    def beginning(self) -> Iterator[None]:
        """Emits into the entry block while active."""
        block, self.b.block = self.b.block, self.entry
        try:
            yield
        finally:
            self.b.block = block

    def once(self, name: str, type_: str, info: object) -> Op:
        """An operation without operands whose result is the same everywhere."""
        key = name, type_, info
        found = self._once.get(key)
        if found is None:
            with self.beginning():
                found = self._once[key] = self.b.emit(name, type_, [], info)
        return found

    def forget(self) -> None:
        """Clears the cached operations, which may have been removed; they are emitted again on demand."""
        self._once.clear()

    def undef(self, type_: str) -> Op:
        return self.once("undef", type_, None)

    def builtin(self, name: str, dimension: int = 0) -> Op:
        return self.once("builtin", "i64", (name, dimension))

    def address(self, variable: Memory) -> Op:
        self.body.variables.append(variable)
        return self.once("variable", "ptr", variable)

    def layout(self, index: int) -> Layout:
        """The layout of a module's variables."""
        if index not in self._layouts:
            self._layouts[index] = layout(self.modules[index])
        return self._layouts[index]

    def exported(self, name: str, what: str) -> tuple[int, int]:
        """Resolves an imported name to a linked module and an id in it."""
        if self._exports is None:
            self._exports = {}
            for index, module in enumerate(self.modules):
                for each, id_ in module.exports.items():
                    self._exports.setdefault(each, (index, id_))
        found = self._exports.get(name)
        if found is None:
            raise CompileError(f'the {what} "{name}" is in none of the modules that are linked')
        return found

    def run(self, frame: Frame) -> Tree | None:
        """Translates a function with all its calls."""
        stack = [frame]
        while True:
            top = stack[-1]
            callee = top.advance()
            if callee is not None:
                if len(stack) >= DEPTH:
                    raise CompileError(f"{callee.function} is called {DEPTH} calls deep", callee.function.offset)
                stack.append(callee)
                continue
            result = top.result()
            stack.pop()
            if not stack:
                return result
            stack[-1].returned(result)

    def call(self, caller: Frame, instruction: Instruction) -> Frame:
        callee, *ids = instruction.operands
        index, function = self.resolved(caller.index, caller.module.functions[callee])
        arguments = [caller.value(id_) for id_ in ids]
        for place, id_ in enumerate(function.parameters):
            type_ = function.type.parameters[place]
            value = arguments[place]
            if isinstance(type_, Pointer) and isinstance(value, Op) and _by_value(function, id_):
                arguments[place] = self.copied(value, type_, function.module.decorations.alignment(id_) or 1)
        call = caller.word(instruction.offset) if self.debug else None
        return Frame(self, index, function, arguments, call)

    def resolved(self, index: int, function: Function) -> tuple[int, Function]:
        """The function itself, or the definition that another module exports by its name."""
        if function.has_body:
            return index, function
        if function.linkage is None:
            raise CompileError(f"{function} has neither a body nor a name to find one by")
        where, id_ = self.exported(function.linkage.name, "function")
        found = self.modules[where].functions.get(id_)
        if found is None or not found.has_body:
            raise CompileError(f'the function "{function.linkage.name}" has no body in the module that exports it')
        if signature(found.type) != signature(function.type):
            raise CompileError(f'the function "{function.linkage.name}" is {found.type} where it is exported')
        return where, found

    def copied(self, pointer: Op, type_: Pointer, alignment: int) -> Op:
        """A private copy of a structure passed by value."""
        size, alignment = type_.pointee.size, max(alignment, type_.pointee.alignment)
        address = self.address(Memory(size, alignment, "private"))
        access = Access(alignment=alignment, space="private")
        self.b.emit("copy", "", [address, pointer, self.b.const("i64", size)], access)
        return address

    def leave(self) -> None:
        """Branches to the exit of the work-item."""
        self.b.goto(self.exit)


def _may_contract(kernel: Kernel, module: Module) -> bool:
    """FPFastMathDefault applies to operations without flags of their own."""
    allowed = kernel.contraction
    for mode in kernel.modes:
        if mode.mode == ExecutionMode.FPFastMathDefault and len(mode.operands) > 1:
            mask = module.constants.get(mode.operands[1])
            allowed &= isinstance(mask, Scalar) and bool(mask.bits & FPFastMathMode.AllowContract)
    return allowed


def _by_value(function: Function, parameter: int) -> bool:
    attributes = function.module.decorations.all(parameter, Decoration.FuncParamAttr)
    return any(words[0] == FunctionParameterAttribute.ByVal for words in attributes)
