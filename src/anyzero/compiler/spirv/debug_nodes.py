"""Instructions of debug information sets: scopes, inlined calls and sources by the ids that functions refer to.

Compilers get debug information wrong, and tools strip parts of it, so nothing here raises: an id without a definition
means an unknown name, line or file.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Final

from anyzero.compiler.spirv import grammar
from anyzero.compiler.spirv.constants import Scalar
from anyzero.compiler.spirv.errors import SpirvError
from anyzero.compiler.spirv.tables import Op
from anyzero.lazy_namedtuple import NamedTuple

if TYPE_CHECKING:
    from anyzero.compiler.spirv.module import Module

__all__ = ["DebugNodes", "Node", "Numbers", "Scope"]

EXTENDED: Final = frozenset({Op.ExtInst, Op.ExtInstWithForwardRefsKHR})
DEEPEST: Final = 64
"""Maximum nesting of scopes and of inlined calls; it also ends cycles of ids."""
_CHECKSUM: Final = "//__CSK_"
"""Some compilers put a checksum where the text of the source belongs."""


class Numbers(IntEnum):
    """Instructions of OpenCL.DebugInfo.100 and of NonSemantic.Shader.DebugInfo.100, which are numbered alike."""

    FUNCTION = 20
    LEXICAL_BLOCK = 21
    LEXICAL_BLOCK_DISCRIMINATOR = 22
    SCOPE = 23
    NO_SCOPE = 24
    INLINED_AT = 25
    SOURCE = 35
    SOURCE_CONTINUED = 102
    LINE = 103
    NO_LINE = 104


_PARENT: Final = {Numbers.LEXICAL_BLOCK: 3, Numbers.LEXICAL_BLOCK_DISCRIMINATOR: 2}
"""The index of the operand that names the enclosing scope, by the kind of scope."""
_KEPT: Final = frozenset({Numbers.FUNCTION, *_PARENT, Numbers.INLINED_AT, Numbers.SOURCE})


class Node(NamedTuple):
    """An instruction outside of functions."""

    number: int
    operands: tuple[int, ...]
    numbers_are_ids: bool
    """True in non-semantic sets, whose numbers are ids of constants; literals in the others."""
    more: tuple[int, ...] = ()
    """The strings that continue the text of a source."""


class Scope(NamedTuple):
    """The function and source of a run of instructions."""

    function: str
    """The name in the source; empty if unknown."""
    file: str
    caller: tuple[str, int, Scope | None] | None
    """File, line and scope of the call site, for an inlined call."""


class DebugNodes:
    """All debug information of a module that is outside of functions; read once, on demand."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._scopes: dict[tuple[int, int], Scope | None] = {}

    @cached_property
    def _nodes(self) -> dict[int, Node]:
        module, found = self._module, dict[int, Node]()
        if not module.quiet_sets:
            return found
        words, at, last, quiet = module.words, 5, 0, module.quiet_sets
        first = min((each.offset for each in module.functions.values()), default=len(words))
        while at < first:
            opcode, count = words[at] & 0xFFFF, words[at] >> 16
            if opcode in EXTENDED and count > 4 and words[at + 3] in quiet:
                number, operands = words[at + 4], tuple(words[at + 5 : at + count])
                if number == Numbers.SOURCE_CONTINUED and last in found:
                    found[last] = found[last]._replace(more=(*found[last].more, *operands[:1]))
                elif number in _KEPT:
                    last = words[at + 2]
                    found[last] = Node(number, operands, self.numbers_are_ids(words[at + 3]))
            at += max(count, 1)
        return found

    def numbers_are_ids(self, set_: int) -> bool:
        return self._module.instruction_sets.get(set_, "").startswith("NonSemantic.")

    def number(self, operand: int, is_id: bool) -> int:
        """A line or a column; 0 if unknown."""
        if not is_id:
            return operand
        constant = self._module.constants.get(operand)
        value = constant.value if isinstance(constant, Scalar) else 0
        return value if isinstance(value, int) and 0 <= value < 1 << 32 else 0

    def source(self, id_: int) -> str:
        """The file of a DebugSource; empty if unknown."""
        node = self._nodes.get(id_)
        return self._module.string(node.operands[0]) if node and node.number == Numbers.SOURCE and node.operands else ""

    @cached_property
    def texts(self) -> dict[str, list[str]]:
        """The lines of embedded sources, by file."""
        found: dict[str, list[str]] = {}
        string = self._module.string
        for file, text in source_texts(self._module):
            found.setdefault(file, text.splitlines())
        for node in self._nodes.values():
            if node.number == Numbers.SOURCE and len(node.operands) > 1:
                text = "".join(map(string, (node.operands[1], *node.more)))
                if text and not text.startswith(_CHECKSUM):
                    found.setdefault(string(node.operands[0]), text.splitlines())
        return found

    def text(self, file: str, line: int) -> str:
        """A line of an embedded source, without the blanks around it; empty if there is none."""
        lines = self.texts.get(file, ())
        return lines[line - 1].strip() if 0 < line <= len(lines) else ""

    def scope(self, id_: int, inlined: int = 0) -> Scope | None:
        """The scope of a DebugScope with these operands."""
        key = id_, inlined
        if key not in self._scopes:
            self._scopes[key] = None  # ends cycles of ids
            self._scopes[key] = self._scope(id_, inlined, DEEPEST)
        return self._scopes[key]

    def _scope(self, id_: int, inlined: int, depth: int) -> Scope | None:
        function, file = self._function(id_)
        caller = None
        call = self._nodes.get(inlined)
        if call and call.number == Numbers.INLINED_AT and len(call.operands) > 1 and depth:
            line = self.number(call.operands[0], call.numbers_are_ids)
            outer = self._scope(call.operands[1], call.operands[2] if len(call.operands) > 2 else 0, depth - 1)
            caller = outer.file if outer else "", line, outer
        return Scope(function, file, caller) if function or file or caller else None

    def _function(self, id_: int) -> tuple[str, str]:
        """The name of the function around a scope, and the file of the innermost scope that has one."""
        file = ""
        for _ in range(DEEPEST):
            node = self._nodes.get(id_)
            if node is None:
                break
            if node.number == Numbers.FUNCTION and len(node.operands) > 2:
                return self._module.string(node.operands[0]), file or self.source(node.operands[2])
            parent = _PARENT.get(Numbers(node.number)) if node.number in _PARENT else None
            if parent is None or parent >= len(node.operands):
                break
            file = file or self.source(node.operands[0])
            id_ = node.operands[parent]
        return "", file


def source_texts(module: Module) -> list[tuple[str, str]]:
    """File and text of each OpSource that has both."""
    words, found = module.words, list[tuple[str, str]]()
    for at in module.sources:
        stop = at + (words[at] >> 16)
        if stop - at < 5:
            continue
        text = _string(words, at + 4, stop)
        while stop < len(words) and words[stop] & 0xFFFF == Op.SourceContinued and words[stop] >> 16:
            start, stop = stop, stop + (words[stop] >> 16)
            text += _string(words, start + 1, stop)
        found.append((module.string(words[at + 3]), text))
    return found


def _string(words: Sequence[int], start: int, stop: int) -> str:
    """The string, or an empty one if it is invalid."""
    try:
        return grammar.string(words, start, stop)[0]
    except SpirvError:
        return ""
