"""Source lines of a function's instructions."""

from __future__ import annotations

from bisect import bisect_right

from anyzero.compiler.spirv.debug_nodes import EXTENDED, Numbers, Scope
from anyzero.compiler.spirv.function import TERMINATORS, Function
from anyzero.compiler.spirv.tables import Op
from anyzero.lazy_namedtuple import NamedTuple

UNKNOWN = "source"
"""The name of a file whose name is unknown."""


class SourceLine(NamedTuple):
    """The operands of OpLine or DebugLine, and the scope of debug information around them."""

    file: str
    line: int
    column: int
    scope: Scope | None = None


class Lines:
    """The source lines of one function's instructions, by word offset."""

    def __init__(self, function: Function) -> None:
        self._starts: list[int] = []
        self._lines: list[SourceLine | None] = []
        self._line: SourceLine | None = None
        self._scope: Scope | None = None
        self._module = module = function.module
        words, at, stop = module.words, function.offset, function.stop
        # Most modules have one file, which every line names: its string is decoded once.
        files: dict[int, str] = {}
        quiet = module.quiet_sets
        while at < stop:
            opcode, count = words[at] & 0xFFFF, words[at] >> 16
            if opcode == Op.Line and count == 4:
                file = files.get(words[at + 1])
                if file is None:
                    file = files[words[at + 1]] = module.string(words[at + 1])
                self._line = SourceLine(file, words[at + 2], words[at + 3])
                self._note(at)
            elif opcode == Op.NoLine:
                self._line = None
                self._note(at)
            elif opcode in TERMINATORS:
                # Lines and scopes apply up to the end of their block.
                self._line = self._scope = None
                self._note(at + count)
            elif opcode in EXTENDED and count > 4 and words[at + 3] in quiet:
                self._debug(at, words[at + 4], words[at + 5 : at + count].tolist(), words[at + 3])
            at += max(count, 1)

    def _debug(self, at: int, number: int, operands: list[int], set_: int) -> None:
        nodes = self._module.debug_nodes
        if number == Numbers.SCOPE and operands:
            self._scope = nodes.scope(operands[0], operands[1] if len(operands) > 1 else 0)
        elif number == Numbers.NO_SCOPE:
            self._scope = None
        elif number == Numbers.LINE and len(operands) > 3:
            line, column = (nodes.number(operands[place], nodes.numbers_are_ids(set_)) for place in (1, 3))
            self._line = SourceLine(nodes.source(operands[0]), line, column) if line else None
        elif number == Numbers.NO_LINE:
            self._line = None
        else:
            return
        self._note(at)

    def _note(self, word: int) -> None:
        line = self._line
        if line is not None and self._scope is not None:
            line = line._replace(scope=self._scope, file=line.file or self._scope.file)
        self._starts.append(word)
        self._lines.append(line)

    def at(self, word: int) -> SourceLine | None:
        found = bisect_right(self._starts, word) - 1
        return self._lines[found] if found >= 0 else None

    @property
    def first(self) -> SourceLine | None:
        """The line of the function, approximated by its first instruction's."""
        return next((line for line in self._lines if line and line.line), None)
