"""Combines the SPIR-V modules of a module program into one.

Ids are renumbered, equal types are merged, and imports are replaced by another input's exports. Front ends drop the
types of pointees, so caller and callee may disagree about them; a function in between then casts the arguments. Debug
information for debuggers is left out; line information stays.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import count
from typing import Final

from anyzero.compiler.spirv import Module, SpirvError, grammar
from anyzero.compiler.spirv.function import Function
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.tables import LAYOUT_OF_OP, LAYOUTS, MAGIC, Decoration, Op
from anyzero.compiler.spirv.types import Float, Int, Pointer
from anyzero.driver.modules.linking import Linkable, exports, fits, linkables
from anyzero.lazy_dataclass import dataclass, field

__all__ = ["LinkError", "Program", "combine"]


class LinkError(Exception):
    """The inputs cannot be combined; the text lists every conflict."""


@dataclass(frozen=True, slots=True)
class Program:
    """The combined SPIR-V."""

    data: bytes
    constants: dict[tuple[int, int], int]
    """The new number of each specialization constant, by input and the number it has there."""


# Declarations that may become one with another input's, with the operands that are ids.
_ALIKE: Final[dict[int, slice]] = {
    **dict.fromkeys([Op.TypeVoid, Op.TypeBool, Op.TypeInt, Op.TypeFloat, Op.TypeSampler, Op.TypeEvent], slice(0)),
    **dict.fromkeys([Op.TypeVector, Op.TypeImage, Op.TypeSampledImage], slice(1)),
    **dict.fromkeys([Op.TypeArray, Op.TypeStruct, Op.TypeFunction], slice(None)),
    Op.TypePointer: slice(1, None),
    Op.TypeOpaque: slice(0),
    **dict.fromkeys([Op.Constant, Op.ConstantTrue, Op.ConstantFalse], slice(0)),
}

# Annotations of one id, their first operand.
_REMARKS: Final = frozenset(
    {Op.Name, Op.MemberName, Op.Decorate, Op.DecorateId, Op.DecorateString, Op.MemberDecorate, Op.MemberDecorateString}
)
_MODES: Final = frozenset({Op.ExecutionMode, Op.ExecutionModeId})

_ID_KINDS: Final = {*grammar.IDS, "PairIdRefIdRef"}
_ID_LAYOUTS: Final = [{kind.rstrip("?*") for kind in layout.split()} <= _ID_KINDS for layout in LAYOUTS]
_ONLY_IDS: Final = frozenset(opcode for opcode, place in LAYOUT_OF_OP.items() if _ID_LAYOUTS[place])
"""Most instructions of functions: every word behind the first is an id."""


@dataclass(slots=True)
class _Part:
    """An input while it is combined."""

    index: int
    module: Module
    ids: dict[int, int] = field(default_factory=dict)
    """The new id of each old one."""
    gone: set[int] = field(default_factory=set)
    """Old ids whose declarations are left out."""


def combine(modules: Sequence[Module]) -> Program:
    """Raises LinkError if the inputs conflict, SpirvError if one is invalid."""
    return _Combination(modules).program()


class _Combination:
    def __init__(self, modules: Sequence[Module]) -> None:
        self.parts = [_Part(index, module) for index, module in enumerate(modules)]
        self.fresh = count(1)
        self.known: dict[tuple[object, ...], int] = {}
        """Types and constants, by their contents."""
        self.added = array("I")
        """Instructions added by the combination."""
        self.wrong: list[str] = []
        self.constants: dict[tuple[int, int], int] = {}

    def program(self) -> Program:
        for part in self.parts:
            self.merge_declarations(part)
        self.kernels()
        self.link()
        if self.wrong:
            raise LinkError("\n".join(self.wrong))
        words = array("I", [0] * 5)
        for part in self.parts:
            self.write(part, words)
        words += self.added
        first = self.parts[0].module
        version = max(part.module.words[1] for part in self.parts)
        words[:5] = array("I", [MAGIC, version, first.generator, next(self.fresh), 0])
        return Program(words.tobytes(), self.constants)

    def id(self, part: _Part, old: int) -> int:
        new = part.ids.get(old)
        if new is None:
            new = part.ids[old] = next(self.fresh)
        return new

    def merge_declarations(self, part: _Part) -> None:
        for old, instruction in part.module.declarations.items():
            key = self.key(part, instruction)
            if key is None or old in part.ids:
                continue
            if key in self.known:
                part.ids[old] = self.known[key]
                part.gone.add(old)
            else:
                self.known[key] = self.id(part, old)

    def key(self, part: _Part, instruction: Instruction) -> tuple[object, ...] | None:
        """The contents of a declaration; None if it must not be merged."""
        which, operands = _ALIKE.get(instruction.opcode), instruction.operands
        continued = part.module.words[instruction.offset] >> 16 < len(operands)
        if which is None or continued:
            return None
        named = [*operands[which], *filter(None, [instruction.type_id])]
        if any(id_ not in part.ids for id_ in named):
            return None
        spelled = list(operands)
        spelled[which] = [part.ids[id_] for id_ in operands[which]]
        if instruction.opcode == Op.TypeInt:
            del spelled[1:]  # in kernels the instruction decides about the sign
        packed = part.module.decorations.has(instruction.result_id, Decoration.CPacked)
        return instruction.opcode, part.ids.get(instruction.type_id), tuple(spelled), packed

    def kernels(self) -> None:
        seen: dict[str, int] = {}
        for part in self.parts:
            for name in part.module.kernels:
                if seen.setdefault(name, part.index) != part.index:
                    self.wrong.append(f'there is a kernel "{name}" in input {seen[name]} and in input {part.index}')

    def link(self) -> None:
        given: dict[str, tuple[_Part, Linkable]] = {}
        for part in self.parts:
            for name, each in exports(part.module).items():
                other = given.get(name)
                if other is None or (each.strong and not other[1].strong):
                    given[name] = part, each
                elif each.strong:
                    self.wrong.append(f'"{name}" is exported by input {other[0].index} and by input {part.index}')
        wanted: dict[str, tuple[_Part, Linkable]] = {}
        for part in self.parts:
            for name, each in exports(part.module).items():
                if given[name][0] is not part:
                    self.replace(part, each, *given[name])
            for each in filter(Linkable.wants, linkables(part.module)):
                provider = given.get(each.name) or wanted.setdefault(each.name, (part, each))
                if provider[1].symbol is not each.symbol:
                    self.replace(part, each, *provider)

    def replace(self, part: _Part, each: Linkable, provider: _Part, given: Linkable) -> None:
        """Replaces one input's symbol by another input's definition."""
        problem = fits(each, given)
        if problem:
            self.wrong.append(f'"{each.name}" {problem}: inputs {part.index} and {provider.index}')
            return
        part.gone.add(each.symbol.id)
        target = self.id(provider, given.symbol.id)
        if self.same_type(part, each, provider, given):
            part.ids[each.symbol.id] = target
        elif isinstance(each.symbol, Function) and isinstance(given.symbol, Function):
            self.forward(part, each.symbol, provider, given.symbol)
        else:
            type_id = part.module.declarations[each.symbol.id].type_id
            operands = [self.id(part, type_id), self.id(part, each.symbol.id), Op.Bitcast, target]
            self.add(Op.SpecConstantOp, *operands)

    def same_type(self, part: _Part, each: Linkable, provider: _Part, given: Linkable) -> bool:
        return self.id(part, _type_id(part.module, each)) == self.id(provider, _type_id(provider.module, given))

    def forward(self, part: _Part, caller: Function, provider: _Part, callee: Function) -> None:
        """A function of the caller's type that calls the callee with its arguments cast."""
        wanted = [self.id(part, id_) for id_ in _types(part.module, caller)]
        given = [self.id(provider, id_) for id_ in _types(provider.module, callee)]
        for have, need, type_ in zip(wanted, given, (caller.type.result, *caller.type.parameters), strict=True):
            if have != need and type_.scalar is None and not isinstance(type_, Pointer):
                places = f"inputs {part.index} and {provider.index}"
                self.wrong.append(f'"{caller.name}" passes {type_}, which differs between {places}')
                return
        function_type = self.id(part, part.module.words[caller.offset + 4])
        parameters = [next(self.fresh) for _ in wanted[1:]]
        self.add(Op.Function, wanted[0], self.id(part, caller.id), 0, function_type)
        for parameter, type_id in zip(parameters, wanted[1:], strict=True):
            self.add(Op.FunctionParameter, type_id, parameter)
        self.add(Op.Label, next(self.fresh))
        pairs = zip(parameters, wanted[1:], given[1:], strict=True)
        arguments = [self.cast(parameter, have, need) for parameter, have, need in pairs]
        result = next(self.fresh)
        self.add(Op.FunctionCall, given[0], result, self.id(provider, callee.id), *arguments)
        if caller.type.result.sized:
            self.add(Op.ReturnValue, self.cast(result, given[0], wanted[0]))
        else:
            self.add(Op.Return)
        self.add(Op.FunctionEnd)

    def cast(self, value: int, have: int, need: int) -> int:
        if have == need:
            return value
        made = next(self.fresh)
        self.add(Op.Bitcast, need, made, value)
        return made

    def add(self, opcode: int, *operands: int) -> None:
        self.added.extend([(len(operands) + 1) << 16 | opcode, *operands])

    def write(self, part: _Part, words: array[int]) -> None:
        """Every instruction of an input that is still needed, with its new ids."""
        module, old = part.module, part.module.words
        functions = {each.offset: each.stop for each in module.functions.values() if each.id in part.gone}
        declarations = {module.declarations[id_].offset for id_ in part.gone if id_ in module.declarations}
        parameters = [each.parameters for each in module.functions.values() if each.id in part.gone]
        speechless = part.gone.union(*parameters)
        context = _context(module)
        at = 5
        while at < len(old):
            opcode, stop = old[at] & 0xFFFF, at + (old[at] >> 16)
            if at in functions:
                stop = functions[at]
            elif at not in declarations and not _dropped(part, opcode, at, speechless):
                self.instruction(part, opcode, at, stop, context, words)
            at = stop

    def instruction(
        self, part: _Part, opcode: int, at: int, stop: int, context: grammar.Context, words: array[int]
    ) -> None:
        old = part.module.words
        if opcode in _ONLY_IDS:
            words.append(old[at])
            words.extend([self.id(part, id_) for id_ in old[at + 1 : stop]])
            return
        try:
            operands = grammar.operands(opcode, old, at, stop, context)
        except SpirvError as error:
            # Unknown decorations and modes are ignored; everything else must be understood.
            if opcode in _REMARKS or opcode in _MODES:
                return
            raise error.at(at, part.module.shown(at), part.module.whereabouts(at)) from None
        new = old[at:stop]
        for kind, start, _ in operands:
            if kind in grammar.IDS:
                new[start - at] = self.id(part, old[start])
        if opcode == Op.Decorate and old[at + 2] == Decoration.SpecId:
            new[3] = self.constants.setdefault((part.index, old[at + 3]), len(self.constants))
        words += new


def _dropped(part: _Part, opcode: int, at: int, speechless: set[int]) -> bool:
    words = part.module.words
    if opcode in (Op.ExtInst, Op.ExtInstWithForwardRefsKHR):
        return words[at + 3] in part.module.quiet_sets
    if opcode in _REMARKS:
        return words[at + 1] in speechless
    return opcode == Op.MemoryModel and part.index > 0


def _context(module: Module) -> grammar.Context:
    """The grammar's view of an input; the types of values are collected on the first switch."""
    words, types_of = module.words, dict[int, int]()

    def number_words(type_id: int) -> int:
        type_ = module.types.get(type_id)
        return 2 if isinstance(type_, (Int, Float)) and type_.width == 64 else 1

    def selector_words(value: int) -> int:
        at = 0 if types_of else 5
        while 0 < at < len(words):
            shape = grammar.SHAPES.get(words[at] & 0xFFFF)
            if shape is not None and shape.head == 3:
                types_of[words[at + 2]] = words[at + 1]
            at += words[at] >> 16
        return number_words(types_of.get(value, 0))

    return grammar.Context(number_words, selector_words, module.opencl_sets.__contains__)


def _type_id(module: Module, each: Linkable) -> int:
    """The id of the type that a function or a variable is declared with."""
    if isinstance(each.symbol, Function):
        return module.words[each.symbol.offset + 4]
    return module.declarations[each.symbol.id].type_id


def _types(module: Module, function: Function) -> tuple[int, ...]:
    """The ids of the types of the result and of the parameters."""
    return module.declarations[module.words[function.offset + 4]].operands
