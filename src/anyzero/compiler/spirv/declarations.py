"""Types, constants and variables, built from their declarations.

Declarations are processed in file order. A forward reference is resolved first; cycles are refused, except through a
pointer inside a structure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from anyzero.compiler.spirv import types
from anyzero.compiler.spirv.constants import Constant, VariableAddress
from anyzero.compiler.spirv.declared_constants import CONSTANTS, constant
from anyzero.compiler.spirv.declared_types import TYPES, bounded, storage_class
from anyzero.compiler.spirv.errors import SpirvError
from anyzero.compiler.spirv.grammar import enumerant_name
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.module import Module, Specialization, Variable
from anyzero.compiler.spirv.tables import Decoration, Op, StorageClass
from anyzero.compiler.spirv.types import Type

_Made = TypeVar("_Made")

AHEAD = 32
"""Maximum depth of forward references; each level takes a few frames of Python's stack."""


class Declarations:
    def __init__(self, module: Module, specialization: Specialization) -> None:
        self.module = module
        self.specialization = specialization
        self._interned: dict[tuple[object, ...], Type] = {}
        self._pending: dict[int, int] = {}
        """Declarations in progress, with their opcodes."""
        self._forward: set[int] = set()

    def all(self) -> None:
        for id_, instruction in self.module.declarations.items():
            opcode = instruction.opcode
            if opcode in TYPES:
                self.type(id_)
                if id_ in self._forward:
                    self._guarded(instruction, Declarations._complete)
            elif opcode in CONSTANTS:
                self.constant(id_)
            elif opcode == Op.Variable:
                self._guarded(instruction, Declarations._variable)

    def type(self, id_: int) -> Type:
        found = self.module.types.get(id_)
        if found is not None:
            return found
        instruction = self.module.declarations.get(id_)
        if instruction is None or instruction.opcode not in TYPES:
            raise SpirvError(f"%{id_} is not a type")
        if instruction.opcode == Op.TypePointer and Op.TypeStruct in self._pending.values():
            # The pointee may contain the structure; it is set when the pointer is declared.
            self._forward.add(id_)
            made: Type = types.Pointer(storage_class(instruction.operands[0]), types.Void())
        else:
            made = self._guarded(instruction, TYPES[instruction.opcode])
        self.module.types[id_] = made
        return made

    def constant(self, id_: int) -> Constant:
        found = self.module.constants.get(id_)
        if found is not None:
            return found
        instruction = self.module.declarations.get(id_)
        if instruction is not None and instruction.opcode == Op.Variable:
            return VariableAddress(id_, self.type(instruction.type_id))
        if instruction is None or instruction.opcode not in CONSTANTS:
            raise SpirvError(f"%{id_} is not a constant")
        made = self._guarded(instruction, constant)
        self.module.constants[id_] = made
        self.module.values[id_] = made.type
        return made

    def once(self, key: tuple[object, ...], make: Callable[[], Type]) -> Type:
        """The existing type for this key, or a new one."""
        found = self._interned.get(key)
        if found is None:
            found = self._interned[key] = bounded(make())
        return found

    def sized(self, id_: int) -> Type:
        found = self.type(id_)
        if not found.sized:
            raise SpirvError(f"contains {found} (%{id_}), which has no size")
        return found

    def _guarded(self, instruction: Instruction, make: Callable[[Declarations, Instruction], _Made]) -> _Made:
        """Refuses a declaration that contains itself, and nesting too deep for recursion."""
        id_ = instruction.result_id
        if id_ in self._pending:
            raise SpirvError(f"%{id_} contains itself", instruction.offset, instruction.name)
        if len(self._pending) > AHEAD:
            raise SpirvError("has forward references nested too deep", instruction.offset, instruction.name)
        self._pending[id_] = instruction.opcode
        try:
            return make(self, instruction)
        except SpirvError as error:
            raise error.at(instruction.offset, self.module.shown(instruction.offset)) from None
        finally:
            del self._pending[id_]

    def _complete(self, instruction: Instruction) -> None:
        """Sets the pointee of a pointer that a structure used before the pointer's declaration."""
        pointer, pointee = self.module.types[instruction.result_id], self.type(instruction.operands[1])
        assert isinstance(pointer, types.Pointer)
        if not isinstance(pointee, types.Struct):
            raise SpirvError(f"is used before its declaration and points to {pointee} instead of a structure")
        pointer.pointee = pointee
        pointer.nesting = pointee.nesting + 1
        self._interned.setdefault((types.Pointer, pointer.storage_class, pointee), pointer)

    def _variable(self, instruction: Instruction) -> None:
        id_, (space, *initializer) = instruction.result_id, instruction.operands
        type_ = self.type(instruction.type_id)
        if not isinstance(type_, types.Pointer) or type_.storage_class != space:
            raise SpirvError(f"a variable of {_space(space)} memory cannot be {type_}")
        if space in (StorageClass.Function, StorageClass.Generic) or not type_.pointee.sized:
            raise SpirvError(f"a module has no variable of type {type_}")
        value = self.constant(initializer[0]) if initializer else None
        if value is not None and value.type is not type_.pointee:
            raise SpirvError(f"is initialized with {value.type} instead of {type_.pointee}")
        decorations = self.module.decorations
        self.module.values[id_] = type_
        self.module.variables[id_] = Variable(
            id_,
            self.module.name(id_),
            type_,
            space,
            value,
            max(decorations.alignment(id_) or 0, type_.pointee.alignment),
            decorations.number(id_, Decoration.BuiltIn),
            space == StorageClass.UniformConstant or decorations.has(id_, Decoration.Constant),
            decorations.linkage(id_),
            instruction.offset,
        )


def _space(storage_class: int) -> str:
    return types.SPACES.get(storage_class, enumerant_name("StorageClass", storage_class))
