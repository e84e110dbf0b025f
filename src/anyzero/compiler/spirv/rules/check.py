"""The context of a rule, and the table of all rules."""

from __future__ import annotations

from collections.abc import Callable

from anyzero.compiler.spirv.constants import Scalar
from anyzero.compiler.spirv.errors import SpirvError
from anyzero.compiler.spirv.function import Block, Function
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.module import Module
from anyzero.compiler.spirv.tables import Scope
from anyzero.compiler.spirv.types import Bool, Float, Int, Pointer, Type, Vector

Rule = Callable[["Check", Instruction], None]

RULES: dict[int, Rule] = {}
"""By opcode. An instruction without a rule is not supported inside of functions."""


def rule(*opcodes: int) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        for opcode in opcodes:
            assert opcode not in RULES
            RULES[opcode] = function
        return function

    return register


class Values(dict[int, Type]):
    """The types of the values that dominate a point; a miss is an error of the module."""

    def __init__(self, module: Module, function: Function | None) -> None:
        super().__init__()
        self._module, self._function = module, function

    def __missing__(self, id_: int) -> Type:
        found = self._module.values.get(id_)
        if found is not None:
            return found
        if self._function and id_ in self._function.body.types:
            raise SpirvError(f"the definition of %{id_} does not dominate this use")
        if id_ in self._module.ids or (self._function and id_ in self._function.blocks):
            raise SpirvError(f"%{id_} is not a value")
        raise SpirvError(f"%{id_} is not declared")


class Check:
    """One function being verified, or the module's operations on constants.

    A rule raises SpirvError; its caller adds the location.
    """

    def __init__(self, module: Module, function: Function | None = None) -> None:
        self.module = module
        self.types = module.types
        self.values = Values(module, function)
        self.block: Block | None = None
        """The current block."""
        self._function = function

    @property
    def function(self) -> Function:
        assert self._function is not None
        return self._function

    def pointer(self, id_: int) -> Pointer:
        type_ = self.values[id_]
        if not isinstance(type_, Pointer):
            raise SpirvError(f"%{id_} is {type_} instead of a pointer")
        return type_

    def integer(self, id_: int) -> Int:
        type_ = self.values[id_]
        if not isinstance(type_, Int):
            raise SpirvError(f"%{id_} is {type_} instead of an integer")
        return type_

    def is_(self, id_: int, wanted: Type) -> None:
        type_ = self.values[id_]
        if type_ is not wanted:
            raise SpirvError(f"%{id_} is {type_} instead of {wanted}")

    def constant(self, id_: int) -> int:
        """The value of an id that must be an integer constant."""
        constant = self.module.constants.get(id_)
        if not isinstance(constant, Scalar) or not isinstance(constant.type, Int):
            self.integer(id_)
            raise SpirvError(f"%{id_} must be an integer constant")
        return constant.bits

    def scope(self, id_: int, *allowed: int) -> int:
        scope = self.constant(id_)
        if scope not in (
            allowed or (Scope.CrossDevice, Scope.Device, Scope.Workgroup, Scope.Subgroup, Scope.Invocation)
        ):
            raise SpirvError(f"%{id_} is the scope {scope}, which is not possible here")
        return scope

    def group(self, id_: int) -> int:
        """A scope for group operations: work-group or sub-group."""
        return self.scope(id_, Scope.Workgroup, Scope.Subgroup)

    def semantics(self, id_: int) -> int:
        return self.constant(id_)


def is_number(type_: Type) -> bool:
    return isinstance(type_, (Int, Float)) or (isinstance(type_, Vector) and not isinstance(type_.element, Bool))


def shape(type_: Type, kind: type[Type], count: int | None = None) -> bool:
    """True for a scalar or vector of this kind, with this many components."""
    return isinstance(type_.scalar, kind) and (count is None or type_.count == count)


def wrong(id_: int, type_: Type, wanted: object) -> SpirvError:
    return SpirvError(f"%{id_} is {type_} instead of {wanted}")


def wrong_result(instruction: Instruction, type_: Type) -> SpirvError:
    return SpirvError(f"{instruction.name.removeprefix('Op')} cannot return {type_}")
