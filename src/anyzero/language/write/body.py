"""The body of a function while it is written: blocks, variables, and single instructions."""

from __future__ import annotations

from typing import Any

from anyzero.language.types import BOOL, Scalar, Vector
from anyzero.language.write.module import Enum, Instruction, Module, literal, opencl

__all__ = ["Body"]


class Body:
    """Instructions of one function. Variables stand at its beginning, as SPIR-V requires."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.code: list[Instruction] = []
        self.variables: list[Instruction] = []
        self.terminated = False
        self.reached: set[int] = set()
        """The blocks that a branch leads to."""
        self._line: tuple[int, int] | None = None

    def emit(self, name: str, of: Any, *operands: Any) -> int:
        """An instruction with a result of a type of the language, or of a type's id."""
        result = self.module.id()
        t = of if isinstance(of, int) else self.module.type(of)
        self.code.append(Instruction(name, result, (t, *operands)))
        return result

    def effect(self, name: str, *operands: Any) -> None:
        """An instruction without a result."""
        self.code.append(Instruction(name, None, operands))

    def opencl(self, name: str, of: Any, *operands: int) -> int:
        """A function of OpenCL.std."""
        return self.emit("ExtInst", of, self.module.opencl, opencl(name), *operands)

    def constant(self, of: Any, value: Any) -> int:
        """A number, or a vector of it."""
        if isinstance(of, Vector):
            part = self.module.constant(of.element, value)
            t = self.module.type(of)
            return self.module.declare(("composite", t, part), "ConstantComposite", t, *[part] * of.count)
        assert isinstance(of, Scalar)
        return self.module.constant(of, value)

    def variable(self, of: int) -> int:
        """A variable of the function; `of` is the id of the type of its value."""
        result = self.module.id()
        operands = self.module.pointer("private", of), Enum("StorageClass", "Function")
        self.variables.append(Instruction("Variable", result, operands))
        return result

    def load(self, of: Any, pointer: int, alignment: int = 0) -> int:
        aligned = (Enum("MemoryAccess", "Aligned"), literal(alignment)) if alignment else ()
        return self.emit("Load", of, pointer, *aligned)

    def store(self, pointer: int, value: int, alignment: int = 0) -> None:
        aligned = (Enum("MemoryAccess", "Aligned"), literal(alignment)) if alignment else ()
        self.effect("Store", pointer, value, *aligned)

    # Blocks

    def label(self, at: int) -> None:
        """Begin a block; the one before branches to it unless it has ended."""
        self.branch(at)
        self.code.append(Instruction("Label", at, ()))
        self.terminated = False
        line, self._line = self._line, None
        if line is not None:
            # A line ends with its block, and a statement may have several.
            self.line(*line)

    def branch(self, to: int) -> None:
        if not self.terminated:
            self.effect("Branch", to)
            self.reached.add(to)
            self.terminated = True

    def branch_if(self, test: int, yes: int, no: int, merge: int | None = None) -> None:
        if merge is not None:
            self.effect("SelectionMerge", merge, Enum("SelectionControl", "None"))
        self.effect("BranchConditional", test, yes, no)
        self.reached |= {yes, no}
        self.terminated = True

    def end(self, name: str, *operands: int) -> None:
        if not self.terminated:
            self.effect(name, *operands)
            self.terminated = True

    def line(self, file: int, number: int) -> None:
        """The line of the source that the following instructions are from."""
        if self._line != (file, number) and not self.terminated:
            self._line = file, number
            self.effect("Line", file, literal(number), literal(0))

    def select(self, of: Any, test: int, yes: int, no: int) -> int:
        if isinstance(of, Vector):
            boolean = self.module.type(Vector(BOOL, of.count))
            test = self.emit("CompositeConstruct", boolean, *[test] * of.count)
        return self.emit("Select", of, test, yes, no)
