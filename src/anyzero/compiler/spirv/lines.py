"""Source lines of a function's instructions."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from anyzero.compiler.spirv.function import TERMINATORS, Function
from anyzero.compiler.spirv.tables import Op


class SourceLine(NamedTuple):
    """The operands of OpLine."""

    file: str
    line: int
    column: int


class Lines:
    """The source lines of one function's instructions, by word offset."""

    def __init__(self, function: Function) -> None:
        self._starts: list[int] = []
        self._lines: list[SourceLine | None] = []
        module = function.module
        words, at = module.words, function.offset
        while at < function.stop:
            opcode, count = words[at] & 0xFFFF, words[at] >> 16
            if opcode == Op.Line and count == 4:
                self._note(at, SourceLine(module.string(words[at + 1]), words[at + 2], words[at + 3]))
            elif opcode == Op.NoLine or opcode in TERMINATORS:
                # A line applies up to the end of its block.
                self._note(at + count, None)
            at += max(count, 1)

    def _note(self, word: int, line: SourceLine | None) -> None:
        self._starts.append(word)
        self._lines.append(line)

    def at(self, word: int) -> SourceLine | None:
        found = bisect_right(self._starts, word) - 1
        return self._lines[found] if found >= 0 else None

    @property
    def first(self) -> SourceLine | None:
        """The line of the function, approximated by its first instruction's."""
        return next((line for line in self._lines if line and line.line), None)
