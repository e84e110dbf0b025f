"""A prepared module: addresses of variables and functions, values of constants, steps of functions."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from anyzero.compiler.reference import instructions, layout, opencl
from anyzero.compiler.reference.decoder import Code, Decoder, Pause
from anyzero.compiler.reference.errors import Fault, Missing
from anyzero.compiler.reference.image import Sampler
from anyzero.compiler.reference.memory import SHIFT, SPACE, Region, allowed, new_address
from anyzero.compiler.reference.numbers import float_of
from anyzero.compiler.spirv import constants
from anyzero.compiler.spirv.constants import Constant
from anyzero.compiler.spirv.float_controls import USUAL, FloatControls
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.module import Module, Variable
from anyzero.compiler.spirv.types import Bool, Float, Type

_FUNCTION_SPACING = 16

CHAPTERS = (*instructions.CHAPTERS, *opencl.CHAPTERS)
"""Importing these modules fills the tables of handlers."""


class Program:
    """Immutable after `prepare`, so that any number of launches can share it."""

    def __init__(self, module: Module, floats: FloatControls = USUAL) -> None:
        self.module = module
        self.floats = floats
        """The kernel's float controls."""
        self.codes: dict[int, Code] = {}
        self.addresses: dict[int, int] = {}
        """Addresses of used variables, by id."""
        self.handles: dict[int, Any] = {}
        """Samplers declared in the module."""
        self._values: dict[int, Any] = {}
        self._initials: dict[int, bytes] = {}
        self._code_base = new_address()
        self._order = list(module.functions)
        self._taken: set[int] = set()

    def prepare(self, function: int) -> Code:
        """Decodes a function and everything reachable from it."""
        waiting = {function}
        while waiting:
            id_ = waiting.pop()
            found = self.module.functions[id_]
            if id_ not in self.codes and found.has_body:
                self.codes[id_] = Decoder(self, found).code()
                waiting.update(found.calls)
            if not waiting:
                # Initializers may contain function tables and refer to further variables.
                while new := self.addresses.keys() - self._initials.keys():
                    self._initials.update({each: self._initial(self.module.variables[each]) for each in new})
                waiting = {each for each in self._taken - self.codes.keys() if self.module.functions[each].has_body}
        return self.codes[function]

    def function_at(self, address: int) -> int | None:
        """The function at an address."""
        index, rest = divmod(address - self._code_base, _FUNCTION_SPACING)
        return self._order[index] if not rest and 0 <= index < len(self._order) else None

    def value(self, id_: int) -> Any:
        """The value of a constant, or the address of a variable."""
        if id_ not in self._values:
            if id_ in self.module.variables:
                self._values[id_] = self._address(self.module.variables[id_])
            else:
                self._values[id_] = self._constant(self.module.constants[id_])
        return self._values[id_]

    def _address(self, variable: Variable) -> int:
        if variable.linkage and variable.linkage.kind == "import" and variable.builtin is None:
            raise Missing(f'the variable "{variable.linkage.name}" is imported, but no module defines it')
        return self.addresses.setdefault(variable.id, new_address())

    def _constant(self, constant: Constant) -> Any:
        match constant:
            case constants.Scalar():
                return _scalar(constant.type, constant.bits)
            case constants.Composite():
                return tuple(self._element(element) for element in constant.elements)
            case constants.Null() | constants.Undef():
                return layout.zero(constant.type)
            case constants.SamplerConstant():
                handle = new_address()
                self.handles[handle >> SHIFT] = Sampler(constant.addressing, constant.filter, constant.normalized)
                return handle
            case constants.FunctionAddress():
                self._taken.add(constant.function)
                return self._code_base + self._order.index(constant.function) * _FUNCTION_SPACING
            case constants.VariableAddress():
                return self.value(constant.id)
            case constants.Expression():
                return self._computed(constant)
        raise Fault(f"%{constant.id} is a constant of an unknown kind")

    def _element(self, element: Constant) -> Any:
        return self.value(element.id) if element.id in self.module.values else self._constant(element)

    def _computed(self, constant: constants.Expression) -> Any:
        """Evaluates an operation on addresses with the handlers for functions."""
        declaration = self.module.declarations[constant.id]
        instruction = Instruction(
            constant.opcode, declaration.type_id, constant.id, constant.operands, declaration.offset
        )
        decoder = Decoder(self, None)
        # Its own id is a declared value; avoid looking it up while it is computed.
        to = decoder.slots[constant.id] = decoder.new_slot()
        step = decoder.step(instruction)
        assert not isinstance(step, Pause)
        step(decoder.template)
        return decoder.template[to]

    def _initial(self, variable: Variable) -> bytes:
        size = allowed(variable.type.pointee.size, f"the variable %{variable.id}")
        if variable.initializer is None:
            return bytes(size)
        return layout.to_bytes(variable.type.pointee, self._element(variable.initializer))

    def region(self, variable: Variable) -> Region:
        """A variable with its initial contents."""
        called = self.module.name(variable.id)
        name = f'the variable "{called}"' if called else f"the variable %{variable.id}"
        data = bytearray(self._initials[variable.id])
        space = SPACE.get(variable.storage_class, "other")
        return Region(name, space, data, len(data), not variable.constant)


@lru_cache(maxsize=16)
def program(module: Module, floats: FloatControls = USUAL) -> Program:
    return Program(module, floats)


def _scalar(type_: Type, bits: int) -> Any:
    if isinstance(type_, Float):
        return float_of(bits, type_.width)
    return bool(bits) if isinstance(type_, Bool) else bits
