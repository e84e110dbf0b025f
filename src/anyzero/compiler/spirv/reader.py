"""Parses a module: one pass over the words that indexes declarations and leaves function bodies undecoded."""

from __future__ import annotations

from array import array
from collections.abc import Callable

from anyzero.compiler.spirv import grammar
from anyzero.compiler.spirv.declarations import Declarations
from anyzero.compiler.spirv.declared_constants import CONSTANTS
from anyzero.compiler.spirv.declared_types import TYPES
from anyzero.compiler.spirv.errors import SpirvError
from anyzero.compiler.spirv.function import Function
from anyzero.compiler.spirv.grammar import SHAPES, enumerant_name
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.kernel import EntryPoint, ExecutionMode, kernels
from anyzero.compiler.spirv.module import Module, Specialization
from anyzero.compiler.spirv.tables import MAGIC, VERSION, AddressingModel, ExecutionModel, MemoryModel, Op
from anyzero.compiler.spirv.types import FunctionType
from anyzero.lazy_dataclass import dataclass, field

LARGEST_MODULE = 64 << 20
"""Bytes; about a hundred times the largest module seen in practice."""
LARGEST_BOUND = 0x3FFFFF
"""SPIR-V's limit of the id bound."""

OPENCL = "OpenCL.std"
DEBUG_SETS = ("OpenCL.DebugInfo.100", "DebugInfo", "SPIRV.debug")


def read(data: bytes | bytearray | memoryview, specialization: Specialization | None = None) -> Module:
    """Parse a module; specialization constants have their defaults or the given values."""
    reading = _Reading(_header(words_of(data)))
    try:
        reading.everything(specialization or {})
    except SpirvError as error:
        raise error.at(reading.offset, reading.module.shown(reading.offset) if reading.offset else "header") from None
    return reading.module


def specialize(module: Module, specialization: Specialization) -> Module:
    """The same module with other values for its specialization constants."""
    unknown = specialization.keys() - module.specializable.keys()
    if unknown:
        raise SpirvError(f"has no specialization constant {min(unknown)}", 0, "header")
    return read(memoryview(module.words).cast("B"), specialization)


def words_of(data: bytes | bytearray | memoryview) -> array[int]:
    """The words of a file in host byte order, from either byte order, magic number first."""
    if len(data) > LARGEST_MODULE:
        raise SpirvError(f"{len(data)} bytes are more than a module may have", 0, "header")
    if len(data) < 20 or len(data) % 4:
        raise SpirvError(f"{len(data)} bytes are no module: a header of 20 and then whole words", 0, "header")
    words = array("I", bytes(data))
    if words[0] == int.from_bytes(MAGIC.to_bytes(4, "little"), "big"):
        words.byteswap()
    if words[0] != MAGIC:
        raise SpirvError(f"begins with {words[0]:#010x} instead of SPIR-V's magic number {MAGIC:#010x}", 0, "header")
    return words


def _header(words: array[int]) -> Module:
    version, bound = words[1], words[3]
    if not 0x10000 <= version <= VERSION or version & 0xFF:
        name = f"{version >> 16 & 0xFF}.{version >> 8 & 0xFF}"
        raise SpirvError(f"is SPIR-V {name} ({version:#x}); 1.0 to 1.{VERSION >> 8 & 0xFF} are supported", 1, "header")
    if not 0 < bound <= LARGEST_BOUND:
        raise SpirvError(f"has the bound {bound}; at most {LARGEST_BOUND} is possible", 3, "header")
    return Module(words, (version >> 16, version >> 8 & 0xFF), words[2], bound)


@dataclass(slots=True)
class _FunctionPiece:
    """The declaration of a function, found by the first pass."""

    offset: int
    id: int
    result: int
    control: int
    type: int
    parameters: list[tuple[int, int]] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    first: int = 0
    stop: int = 0
    has_body: bool = False


class _Reading:
    """State of parsing; `offset` is the current instruction, for errors."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.offset = 0
        self.model: tuple[int, int] | None = None
        self.pieces: list[_FunctionPiece] = []

    def everything(self, specialization: Specialization) -> None:
        self.index()
        if self.model is None:
            raise SpirvError("the module has no OpMemoryModel")
        self.module.decorations.dissolve()
        Declarations(self.module, specialization).all()
        for piece in self.pieces:
            self.offset = piece.offset
            self.module.functions[piece.id] = self.function(piece)
        for entry, kernel in zip(self.module.entry_points, kernels(self.module), strict=True):
            self.offset = entry.offset
            if self.module.kernels.setdefault(kernel.name, kernel) is not kernel:
                raise SpirvError(f'there are two kernels "{kernel.name}"')

    def index(self) -> None:
        words, stop = self.module.words, len(self.module.words)
        at = 5
        while at < stop:
            self.offset = at
            opcode, count = words[at] & 0xFFFF, words[at] >> 16
            if not count or at + count > stop:
                raise SpirvError(_bad_count(count))
            handle = HANDLERS.get(opcode)
            if handle is None:
                raise SpirvError(_misplaced(opcode))
            _, shortest, longest = shape = SHAPES[opcode]
            if not shortest <= count - shape.head <= longest:
                raise SpirvError(f"has the invalid word count {count}")
            at = handle(self, words, at, at + count)

    def declare(self, id_: int) -> int:
        module = self.module
        if not 0 < id_ < module.bound:
            raise SpirvError(f"its result %{id_} is not below the bound {module.bound}")
        if id_ in module.ids:
            raise SpirvError(f"its result %{id_} is declared twice")
        module.ids[id_] = self.offset
        return id_

    def function(self, piece: _FunctionPiece) -> Function:
        module = self.module
        type_ = module.types.get(piece.type)
        if not isinstance(type_, FunctionType):
            raise SpirvError(f"%{piece.type} is not a function's type")
        if module.types.get(piece.result) is not type_.result:
            raise SpirvError(f"its result is declared as %{piece.result}, while its type gives {type_.result}")
        if len(piece.parameters) != len(type_.parameters):
            raise SpirvError(f"has {len(piece.parameters)} parameters and the type {type_}")
        for (parameter, type_id), wanted in zip(piece.parameters, type_.parameters, strict=True):
            if module.types.get(type_id) is not wanted:
                raise SpirvError(f"its parameter %{parameter} is not {wanted}, as its type says")
        ids = tuple(parameter for parameter, _ in piece.parameters)
        linkage = module.decorations.linkage(piece.id)
        if not piece.has_body and (linkage is None or linkage.kind != "import"):
            raise SpirvError("has no body and is not imported")
        calls = tuple(dict.fromkeys(piece.calls))
        return Function(
            module,
            piece.id,
            type_,
            piece.control,
            ids,
            linkage,
            calls,
            piece.offset,
            piece.first,
            piece.stop,
            piece.has_body,
        )


# One handler per kind of instruction outside of functions; each returns the offset of the next word.


def _skip(reading: _Reading, words: array[int], at: int, stop: int) -> int:
    return stop


def _capability(reading: _Reading, words: array[int], at: int, stop: int) -> int:
    reading.module.capabilities.setdefault(words[at + 1], at)
    return stop


def _extension(reading: _Reading, words: array[int], at: int, stop: int) -> int:
    reading.module.extensions.append(grammar.string(words, at + 1, stop)[0])
    return stop


def _import(reading: _Reading, words: array[int], at: int, stop: int) -> int:
    module, id_ = reading.module, reading.declare(words[at + 1])
    name = grammar.string(words, at + 2, stop)[0]
    module.instruction_sets[id_] = name
    if name == OPENCL:
        module.opencl_sets.add(id_)
    elif name in DEBUG_SETS or name.startswith("NonSemantic."):
        module.quiet_sets.add(id_)
    else:
        raise SpirvError(f'the instruction set "{name}" is not supported')
    return stop


def _extended(reading: _Reading, words: array[int], at: int, stop: int) -> int:
    if words[at + 3] not in reading.module.quiet_sets:
        raise SpirvError("is not allowed outside of functions")
    reading.declare(words[at + 2])
    return stop


def _memory_model(reading: _Reading, words: array[int], at: int, stop: int) -> int:
    addressing, memory = reading.model = words[at + 1], words[at + 2]
    if addressing != AddressingModel.Physical64:
        name = enumerant_name("AddressingModel", addressing)
        raise SpirvError(f"addresses are {name}; only Physical64 is supported, so compile for a 64-bit target")
    if memory != MemoryModel.OpenCL:
        raise SpirvError(f"the memory model is {enumerant_name('MemoryModel', memory)} instead of OpenCL")
    return stop


def _entry_point(reading: _Reading, words: array[int], at: int, stop: int) -> int:
    model, function = words[at + 1], words[at + 2]
    name, end = grammar.string(words, at + 3, stop)
    if model != ExecutionModel.Kernel:
        raise SpirvError(f'"{name}" is for {enumerant_name("ExecutionModel", model)}; only kernels are supported')
    reading.module.entry_points.append(EntryPoint(model, function, name, tuple(words[end:stop]), at))
    return stop


def _mode(reading: _Reading, words: array[int], at: int, stop: int) -> int:
    mode = ExecutionMode(words[at + 2], tuple(words[at + 3 : stop]), at)
    reading.module.modes.setdefault(words[at + 1], []).append(mode)
    return stop


def _source(reading: _Reading, words: array[int], at: int, stop: int) -> int:
    reading.module.sources.append(at)
    return stop


def _string(reading: _Reading, words: array[int], at: int, stop: int) -> int:
    return _named(reading.module.strings, words, at, stop, reading.declare(words[at + 1]))


def _name(reading: _Reading, words: array[int], at: int, stop: int) -> int:
    return _named(reading.module.names, words, at, stop, words[at + 1])


def _named(texts: dict[int, int], words: array[int], at: int, stop: int, id_: int) -> int:
    """Checks only that the string is terminated; names are decoded on demand."""
    if words[stop - 1] >> 24:
        raise SpirvError("a string has no end")
    texts[id_] = at
    return stop


def _decorate(reading: _Reading, words: array[int], at: int, stop: int) -> int:
    reading.module.decorations.add(words[at + 1], None, words[at + 2], tuple(words[at + 3 : stop]))
    return stop


def _member_decorate(reading: _Reading, words: array[int], at: int, stop: int) -> int:
    reading.module.decorations.add(words[at + 1], words[at + 2], words[at + 3], tuple(words[at + 4 : stop]))
    return stop


def _decoration_group(reading: _Reading, words: array[int], at: int, stop: int) -> int:
    reading.module.decorations.group(reading.declare(words[at + 1]))
    return stop


def _group_decorate(reading: _Reading, words: array[int], at: int, stop: int) -> int:
    for target in words[at + 2 : stop]:
        reading.module.decorations.use(words[at + 1], target, None, at)
    return stop


def _group_member_decorate(reading: _Reading, words: array[int], at: int, stop: int) -> int:
    if (stop - at) % 2:
        raise SpirvError("ends inside a pair of target and member")
    for place in range(at + 2, stop, 2):
        reading.module.decorations.use(words[at + 1], words[place], words[place + 1], at)
    return stop


def _declaration(reading: _Reading, words: array[int], at: int, stop: int) -> int:
    opcode = words[at] & 0xFFFF
    after = at + SHAPES[opcode].head
    result = reading.declare(words[after - 1])
    operands, stop = _continued(CONTINUATIONS.get(opcode), words, after, stop)
    type_id = words[at + 1] if after - at == 3 else 0
    reading.module.declarations[result] = Instruction(opcode, type_id, result, operands, at)
    return stop


def _continued(continuation: int | None, words: array[int], start: int, stop: int) -> tuple[tuple[int, ...], int]:
    """The operands, including those of continuation instructions of a long composite."""
    operands = words[start:stop]
    while continuation is not None and stop < len(words) and words[stop] & 0xFFFF == continuation:
        end = stop + (words[stop] >> 16)
        if end == stop or end > len(words):
            break
        operands += words[stop + 1 : end]
        stop = end
    return tuple(operands), stop


def _function(reading: _Reading, words: array[int], at: int, stop: int) -> int:
    """Scans to the end of the function and reads only its declaration."""
    reading.declare(words[at + 2])
    piece = _FunctionPiece(at, words[at + 2], words[at + 1], words[at + 3], words[at + 4], first=stop)
    reading.pieces.append(piece)
    length = len(words)
    while stop < length:
        at = stop
        word = words[at]
        opcode = word & 0xFFFF
        stop = at + (word >> 16)
        if stop == at or stop > length:
            reading.offset = at
            raise SpirvError(_bad_count(word >> 16))
        # The four opcodes of functions are consecutive.
        if Op.Function <= opcode <= Op.FunctionCall:
            reading.offset = at
            if _outline(reading, piece, words, at, stop):
                piece.stop = stop
                return stop
        elif opcode == Op.Label:
            piece.has_body = True
    raise SpirvError("has no OpFunctionEnd")


def _outline(reading: _Reading, piece: _FunctionPiece, words: array[int], at: int, stop: int) -> bool:
    """Records an instruction of the function's declaration; true at the function's end."""
    opcode, count = words[at] & 0xFFFF, stop - at
    if opcode == Op.FunctionEnd:
        if count != 1:
            raise SpirvError(f"has the invalid word count {count}")
        return True
    if opcode == Op.Function:
        raise SpirvError(f"is inside of the function %{piece.id}, which has no OpFunctionEnd")
    if opcode == Op.FunctionCall:
        if count < 4:
            raise SpirvError(f"has the invalid word count {count}")
        piece.calls.append(words[at + 3])
        return False
    if count != 3:
        raise SpirvError(f"has the invalid word count {count}")
    if piece.has_body:
        raise SpirvError("comes after the beginning of the function's body")
    piece.parameters.append((reading.declare(words[at + 2]), words[at + 1]))
    piece.first = stop
    return False


def _bad_count(count: int) -> str:
    return f"says that it has {count} words, which run past the end" if count else "says that it has no words"


def _misplaced(opcode: int) -> str:
    if opcode not in SHAPES:
        return "is unknown to this compiler"
    return f"is not supported outside of functions{grammar.belongs(opcode)}"


CONTINUATIONS = {
    Op.TypeStruct: Op.TypeStructContinuedINTEL,
    Op.ConstantComposite: Op.ConstantCompositeContinuedINTEL,
    Op.SpecConstantComposite: Op.SpecConstantCompositeContinuedINTEL,
}

Handler = Callable[[_Reading, "array[int]", int, int], int]

HANDLERS: dict[int, Handler] = {
    **dict.fromkeys([*TYPES, *CONSTANTS, Op.Variable], _declaration),
    **dict.fromkeys([Op.AliasDomainDeclINTEL, Op.AliasScopeDeclINTEL, Op.AliasScopeListDeclINTEL], _declaration),
    **dict.fromkeys([Op.Nop, Op.Line, Op.NoLine, Op.SourceContinued, Op.SourceExtension, Op.MemberName], _skip),
    **dict.fromkeys([Op.ModuleProcessed, Op.TypeForwardPointer], _skip),
    **dict.fromkeys([Op.ExtInst, Op.ExtInstWithForwardRefsKHR], _extended),
    **dict.fromkeys([Op.Decorate, Op.DecorateId, Op.DecorateString], _decorate),
    **dict.fromkeys([Op.MemberDecorate, Op.MemberDecorateString], _member_decorate),
    **dict.fromkeys([Op.ExecutionMode, Op.ExecutionModeId], _mode),
    Op.Capability: _capability,
    Op.Extension: _extension,
    Op.ExtInstImport: _import,
    Op.MemoryModel: _memory_model,
    Op.EntryPoint: _entry_point,
    Op.Source: _source,
    Op.String: _string,
    Op.Name: _name,
    Op.DecorationGroup: _decoration_group,
    Op.GroupDecorate: _group_decorate,
    Op.GroupMemberDecorate: _group_member_decorate,
    Op.Function: _function,
}
