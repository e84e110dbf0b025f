"""Module-scope values: constants, and the addresses of variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyzero.compiler.errors import CompileError
from anyzero.compiler.globals import initial
from anyzero.compiler.ir import Access, Op
from anyzero.compiler.ir import Variable as Memory
from anyzero.compiler.spirv.constants import (
    Composite,
    Constant,
    Expression,
    FunctionAddress,
    Null,
    SamplerConstant,
    Scalar,
    Undef,
    VariableAddress,
)
from anyzero.compiler.spirv.module import Variable
from anyzero.compiler.spirv.tables import StorageClass
from anyzero.compiler.spirv.types import Array, Type
from anyzero.compiler.translate.chapter import TABLE
from anyzero.compiler.translate.initialize import initialize
from anyzero.compiler.translate.scope import Scope
from anyzero.compiler.translate.trees import Tree, bounded, build, scalar
from anyzero.lazy_dataclass import replace

if TYPE_CHECKING:
    from anyzero.compiler.translate.translator import Translator

DEPTH = 100
"""Maximum nesting of constant expressions."""


class Outside:
    """Each value is computed once, in the kernel's entry."""

    def __init__(self, translator: Translator) -> None:
        self.translator = translator
        self._found: dict[tuple[int, int], Tree] = {}
        self._scopes: dict[int, Scope] = {}
        self._coded: dict[tuple[int, int], Memory] = {}
        """Constants in the kernel's code."""
        self._depth = 0

    def value(self, index: int, id_: int) -> Tree:
        found = self._found.get((index, id_))
        if found is None:
            module = self.translator.modules[index]
            constant = module.constants.get(id_)
            if constant is not None:
                found = self._constant(index, constant)
            else:
                found = self._variable(index, module.variables[id_])
            self._found[index, id_] = found
        return found

    def _constant(self, index: int, constant: Constant) -> Tree:
        type_ = constant.type
        if isinstance(constant, Scalar):
            return self.translator.b.const(scalar(type_), constant.bits)
        if isinstance(constant, Composite):
            bounded(type_)
            return tuple(self._part(index, element) for element in constant.elements)
        if isinstance(constant, Null):
            bounded(type_)
            return build(type_, lambda name: self.translator.b.const(name, 0))
        if isinstance(constant, Undef):
            bounded(type_)
            return build(type_, self.translator.undef)
        if isinstance(constant, SamplerConstant):
            info = constant.addressing, constant.normalized, constant.filter
            return self.translator.once("sampler", "ptr", info)
        if isinstance(constant, FunctionAddress):
            return self.translator.once("function", "ptr", self._function(index, constant.function))
        if isinstance(constant, VariableAddress):
            return self.value(index, constant.id)
        assert isinstance(constant, Expression)
        return self._expression(index, constant)

    def _part(self, index: int, constant: Constant) -> Tree:
        """Elements created by folding have no id."""
        return self.value(index, constant.id) if constant.id else self._constant(index, constant)

    def _expression(self, index: int, constant: Expression) -> Tree:
        translator = self.translator
        module = translator.modules[index]
        if self._depth >= DEPTH:
            raise CompileError(f"%{constant.id} is computed from constants that are nested more than {DEPTH} deep")
        scope = self._scopes.setdefault(index, Scope(translator, index))
        instruction = replace(module.declarations[constant.id], opcode=constant.opcode, operands=constant.operands)
        self._depth += 1
        with translator.beginning():
            found = TABLE[constant.opcode](scope, instruction)
        self._depth -= 1
        assert found is not None
        return found

    def _variable(self, index: int, variable: Variable) -> Op:
        translator = self.translator
        pointee = variable.type.pointee
        if variable.builtin is not None:
            address = translator.address(Memory(pointee.size, pointee.alignment, "private", variable.name))
            translator.inputs[address] = variable
            return address
        if variable.storage_class == StorageClass.Private:
            address = translator.address(Memory(pointee.size, variable.alignment, "private", variable.name))
            if variable.initializer is not None:
                with translator.beginning():
                    access = Access(alignment=variable.alignment, space="private")
                    initialize(Scope(translator, index), address, variable.initializer, access)
            return address
        if variable.storage_class == StorageClass.Workgroup:
            image = self._first_contents(index, variable)
            alignment = max(variable.alignment, 16)
            local = Memory(pointee.size, alignment, "local", variable.name, image=image, extents=_extents(pointee))
            return translator.address(local)
        return self._shared(index, variable)

    def _first_contents(self, index: int, variable: Variable) -> bytes | None:
        """The initial contents of a local variable. OpenCL forbids initializers; other languages use them."""
        if variable.initializer is None or isinstance(variable.initializer, Undef):
            return None
        contents = initial(self.translator.modules[index], variable)
        if contents.addresses or contents.functions:
            raise CompileError("local memory cannot begin with addresses", variable.offset, "OpVariable")
        return bytes(contents.data)

    def _shared(self, index: int, variable: Variable) -> Op:
        translator, imported = self.translator, variable.linkage
        if imported is not None and imported.kind == "import":
            index, id_ = translator.exported(imported.name, "variable")
            found = translator.modules[index].variables.get(id_)
            if found is None or found.linkage is None or found.linkage.kind == "import":
                raise CompileError(f'the variable "{imported.name}" is not one where it is exported')
            variable = found
        size, alignment = variable.type.pointee.size, variable.alignment
        offset = translator.layout(index).offsets.get(variable.id)
        if offset is None:
            return translator.address(self._in_code(index, variable))
        made = Memory(size, alignment, "global", variable.name, offset, index, read_only=variable.constant)
        return translator.address(made)

    def _in_code(self, index: int, variable: Variable) -> Memory:
        """A constant placed in the kernel's code, together with the targets of its addresses."""
        made = self._coded.get((index, variable.id))
        if made is not None:
            return made
        translator = self.translator
        module, size = translator.modules[index], variable.type.pointee.size
        contents = initial(module, variable)
        image = bytes(contents.data) or bytes(size)
        made = Memory(size, variable.alignment, "constant", variable.name, image=image)
        # Registered before its addresses are resolved: a constant may point to itself.
        self._coded[index, variable.id] = made
        made.functions = tuple((at, self._function(index, id_)) for at, id_ in contents.functions)
        made.addresses = tuple((at, self._target(index, id_), by) for at, id_, by in contents.addresses)
        return made

    def _target(self, index: int, id_: int) -> Memory:
        variable = self.translator.modules[index].variables[id_]
        offset = self.translator.layout(index).offsets.get(id_)
        if offset is None:
            return self._in_code(index, variable)
        return Memory(variable.type.pointee.size, variable.alignment, "global", variable.name, offset, index)

    def _function(self, index: int, id_: int) -> tuple[int, int]:
        where, function = self.translator.resolved(index, self.translator.modules[index].functions[id_])
        return where, function.id


def _extents(type_: Type) -> tuple[int, ...]:
    found = []
    while isinstance(type_, Array):
        found.append(type_.length)
        type_ = type_.element
    return tuple(found)
