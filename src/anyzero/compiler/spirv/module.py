"""A parsed module."""

from __future__ import annotations

from array import array
from collections.abc import Mapping

from anyzero.compiler.spirv import grammar
from anyzero.compiler.spirv.constants import Constant, Scalar
from anyzero.compiler.spirv.debug_nodes import DebugNodes
from anyzero.compiler.spirv.decorations import Decorations, Linkage
from anyzero.compiler.spirv.disassembler import disassemble_instruction
from anyzero.compiler.spirv.errors import SpirvError
from anyzero.compiler.spirv.function import Function
from anyzero.compiler.spirv.instruction import Instruction
from anyzero.compiler.spirv.kernel import EntryPoint, ExecutionMode, Kernel
from anyzero.compiler.spirv.lines import Lines
from anyzero.compiler.spirv.types import Pointer, Type
from anyzero.lazy_dataclass import dataclass, field

Specialization = Mapping[int, "int | float | bytes"]
"""Values by SpecId; bytes are in memory order."""


@dataclass(slots=True, eq=False)
class Variable:
    """A module-scope variable; function-scope variables are instructions."""

    id: int
    name: str
    type: Pointer
    storage_class: int
    initializer: Constant | None
    alignment: int
    builtin: int | None
    """Its BuiltIn, if any."""
    constant: bool
    """True if it is read-only."""
    linkage: Linkage | None
    offset: int


@dataclass(slots=True, eq=False)
class Module:
    """The declarations of a binary; function bodies are decoded on demand."""

    words: array[int] = field(repr=False)
    version: tuple[int, int]
    generator: int
    bound: int
    capabilities: dict[int, int] = field(default_factory=dict)
    """Capabilities with the word offset of each declaration."""
    extensions: list[str] = field(default_factory=list)
    instruction_sets: dict[int, str] = field(default_factory=dict)
    quiet_sets: set[int] = field(default_factory=set)
    """Instruction sets for debug information; their instructions are skipped in functions."""
    opencl_sets: set[int] = field(default_factory=set)
    entry_points: list[EntryPoint] = field(default_factory=list)
    modes: dict[int, list[ExecutionMode]] = field(default_factory=dict)
    decorations: Decorations = field(default_factory=Decorations, repr=False)
    ids: dict[int, int] = field(default_factory=dict, repr=False)
    """Every id declared outside of functions, with its word offset."""
    declarations: dict[int, Instruction] = field(default_factory=dict, repr=False)
    """Types, constants, variables and alias scopes in file order."""
    types: dict[int, Type] = field(default_factory=dict, repr=False)
    odd_integers: bool = False
    """True if the module has integers of widths other than 8, 16, 32 and 64."""
    constants: dict[int, Constant] = field(default_factory=dict, repr=False)
    variables: dict[int, Variable] = field(default_factory=dict, repr=False)
    values: dict[int, Type] = field(default_factory=dict, repr=False)
    """The types of constants and variables."""
    specializable: dict[int, Scalar] = field(default_factory=dict)
    """Specialization constants by SpecId, with their current values."""
    functions: dict[int, Function] = field(default_factory=dict, repr=False)
    kernels: dict[str, Kernel] = field(default_factory=dict)
    sources: list[int] = field(default_factory=list, repr=False)
    """Word offsets of OpSource."""
    names: dict[int, int] = field(default_factory=dict, repr=False)
    """Word offsets of OpName by id; `name` reads them."""
    strings: dict[int, int] = field(default_factory=dict, repr=False)
    """The same for OpString."""
    debug_nodes: DebugNodes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.debug_nodes = DebugNodes(self)

    @property
    def has_lines(self) -> bool:
        """May instructions have source lines? Files are named by strings, so a module without any has none."""
        return bool(self.strings)

    def name(self, id_: int) -> str:
        """The name of an id in the source, or an empty string."""
        return self._text(self.names.get(id_))

    def string(self, id_: int) -> str:
        return self._text(self.strings.get(id_))

    def _text(self, offset: int | None) -> str:
        """The string operand of OpName or OpString."""
        if offset is None:
            return ""
        try:
            return grammar.string(self.words, offset + 2, offset + (self.words[offset] >> 16))[0]
        except SpirvError:
            return ""

    @property
    def builtins(self) -> dict[int, int]:
        """The builtin variables."""
        return {id_: each.builtin for id_, each in self.variables.items() if each.builtin is not None}

    @property
    def imports(self) -> list[str]:
        """Names of imported functions that are called and of imported variables, without builtins."""
        called = {callee for function in self.functions.values() for callee in function.calls}
        linkages = [self.functions[id_].linkage for id_ in called if id_ in self.functions]
        linkages += [each.linkage for each in self.variables.values() if each.builtin is None]
        return sorted(linkage.name for linkage in linkages if linkage and linkage.kind == "import")

    @property
    def exports(self) -> dict[str, int]:
        """The ids of exported functions and variables, by name."""
        named = [(each.linkage, each.id) for each in self.functions.values()]
        named += [(each.linkage, each.id) for each in self.variables.values()]
        return {linkage.name: id_ for linkage, id_ in named if linkage and linkage.kind != "import"}

    def reachable(self, function: int) -> list[Function]:
        """A function and its direct and indirect callees."""
        found = {function: self.functions[function]}
        waiting = [function]
        while waiting:
            for callee in found[waiting.pop()].calls:
                if callee in self.functions and callee not in found:
                    found[callee] = self.functions[callee]
                    waiting.append(callee)
        return list(found.values())

    def function_at(self, offset: int) -> Function | None:
        return next((each for each in self.functions.values() if each.offset <= offset < each.stop), None)

    def source_at(self, offset: int) -> str:
        """File, line and column of an instruction, if the module has them; else an empty string."""
        function = self.function_at(offset)
        line = Lines(function).at(offset) if function else None
        return f"{line.file or 'source'}:{line.line}:{line.column}" if line else ""

    def shown(self, offset: int) -> str:
        """An instruction as text, for messages."""
        return disassemble_instruction(self.words, offset)

    def whereabouts(self, offset: int) -> str:
        """The function and the source location of an instruction."""
        function = self.function_at(offset)
        return ", ".join(filter(None, [f"in {function}" if function else "", self.source_at(offset)]))
