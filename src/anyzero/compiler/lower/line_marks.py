"""Source lines through LLVM: each instruction carries the number of its source place as the line of its debug location.

LLVM keeps debug locations through its passes and writes them into the object's line table. They carry nothing but the
number: names, files and inlined calls would take LLVM long. The place of each number is kept here
(`compiler/line_table.py`).
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator

from anyzero.compiler.ir import Op
from anyzero.compiler.line_table import NOWHERE, LineTable, Place, compact
from anyzero.compiler.operations import DIVISIONS, READS, WRITES
from anyzero.compiler.source_place import SourcePlace
from anyzero.compiler.spirv.debug_nodes import Scope
from anyzero.compiler.spirv.function import Function
from anyzero.compiler.spirv.lines import Lines, SourceLine
from anyzero.compiler.targets import line_rows

FIRST = 100
"""The number of the first node; those below are the lowering's own."""
LOCATIONS = 10_000_000
"""From here on, nodes are locations: more than a kernel has instructions for each function that is not inlined."""

_UNIT, _TYPE, _FILE, _FIXED = FIRST, FIRST + 1, FIRST + 4, FIRST + 5
_MARKED = re.compile(r"!dbg !(\d{8,})")
_DEFINED = re.compile(r"define [^\n]*?@([\w.]+)\([^\n]*")
_CALLED = re.compile(r"^ +(?:%\S+ = )?call [^@\n]*@([\w.]+)\([^\n]*", re.MULTILINE)
_FAULTS_BY_ITSELF = READS | WRITES | DIVISIONS | {"fault"}


class LineMarks:
    """Marks instructions while they are written. Their final LLVM function is known only when all functions are,
    because regions are inlined into the code around them: `finish` gives each function its own locations.
    """

    def __init__(self) -> None:
        self.places: list[Place] = []
        self._numbers: dict[Place, int] = {}
        self._known: dict[int, int] = {}
        """The place of each word, by its identity: the same word may be inlined from several calls."""
        self._words: list[SourcePlace] = []
        """Keeps the words alive whose identity is known."""
        self._lines: dict[Function, Lines] = {}

    def mark(self, lines: list[str], start: int, op: Op) -> None:
        """Records the operation that the instructions from `start` on come from."""
        if start == len(lines) or not isinstance(op.word, SourcePlace):
            return
        mark = self.suffix(op.word, blamed(op))
        for index in range(start, len(lines)):
            line = lines[index]
            if line.startswith(" ") and "!dbg" not in line:
                lines[index] = line + mark

    def suffix(self, word: SourcePlace, blame: SourcePlace) -> str:
        """The mark of an instruction; `blame` is the operation that a fault in it is reported for."""
        return f", !dbg !{LOCATIONS + self.number(blame)}"

    def finish(self, functions: list[str]) -> tuple[list[str], str]:
        """The functions with their locations, and the metadata that these name."""
        texts, homes = arranged(functions)
        owners = list(dict.fromkeys(homes[symbol] for symbol, text in texts.items() if _MARKED.search(text)))
        used: list[str] = []
        made = []
        for symbol, text in texts.items():
            home = homes[symbol]
            if home in owners:
                place = owners.index(home)
                if place:
                    text = _MARKED.sub(lambda mark: f"!dbg !{int(mark[1]) + place * LOCATIONS}", text)  # noqa: B023
                if symbol == home:
                    head, _, rest = text.partition("\n")
                    if len(owners) > 1:
                        rest = called(rest, owners, LOCATIONS * (place + 1))
                    text = f"{head.removesuffix('{')}!dbg !{_FIXED + place} {{\n{rest}"
                used.append(text)
            made.append(text)
        return made, "\n".join(self._metadata(owners, used))

    def _metadata(self, owners: list[str], texts: list[str]) -> Iterator[str]:
        if not owners:
            return
        yield f"!llvm.dbg.cu = !{{!{_UNIT}}}"
        yield f"!llvm.module.flags = !{{!{FIRST + 2}, !{FIRST + 3}}}"
        # Of the kinds of emission, the one that writes a line table alone.
        yield (
            f"!{_UNIT} = distinct !DICompileUnit(language: DW_LANG_C99, file: !{_FILE}, isOptimized: true, "
            "emissionKind: DebugDirectivesOnly)"
        )
        yield f"!{_TYPE} = !DISubroutineType(types: !1)"
        yield f'!{FIRST + 2} = !{{i32 2, !"Debug Info Version", i32 3}}'
        yield f'!{FIRST + 3} = !{{i32 2, !"Dwarf Version", i32 4}}'
        yield f'!{_FILE} = !DIFile(filename: "places", directory: "")'
        for number, owner in enumerate(owners):
            yield (
                f'!{_FIXED + number} = distinct !DISubprogram(name: "{owner}", scope: !{_FILE}, file: !{_FILE}, '
                f"type: !{_TYPE}, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !{_UNIT})"
            )
        locations = {int(each) for text in texts for each in _MARKED.findall(text)}
        for node in sorted(locations):
            owner_, line = divmod(node, LOCATIONS)
            yield f"!{node} = !DILocation(line: {line}, scope: !{_FIXED + owner_ - 1})"

    # Places

    def number(self, word: SourcePlace) -> int:
        found = self._known.get(id(word))
        if found is None:
            found = self._known[id(word)] = self._number(word)
            self._words.append(word)
        return found

    def _number(self, word: SourcePlace) -> int:
        function = word.function
        call = self.caller(word)
        outer = NOWHERE if call is None else self.number(call)
        line = self.line(function, word) or SourceLine("", 0, 0)
        return self._place(function, line.file, line.line, line.column, line.scope, outer)

    def _place(self, function: Function, file: str, line: int, column: int, scope: Scope | None, outer: int) -> int:
        if scope is not None and scope.caller is not None:
            # Inlined by the program's own compiler.
            at, row, around = scope.caller
            outer = self._place(function, at, row, 0, around, outer)
        name = scope.function if scope is not None and scope.function else name_of(function)
        text = function.module.debug_nodes.text(file, line)
        place = Place(name, file, line, column, text, outer)
        found = self._numbers.get(place)
        if found is None:
            self.places.append(place)
            found = self._numbers[place] = len(self.places)
        return found

    def line(self, function: Function, word: int) -> SourceLine | None:
        return self.lines_of(function).at(word)

    def lines_of(self, function: Function) -> Lines:
        lines = self._lines.get(function)
        if lines is None:
            lines = self._lines[function] = Lines(function)
        return lines

    def caller(self, place: SourcePlace) -> SourcePlace | None:
        """The call site of its function; some front ends wrap kernels in a function without lines, which is skipped."""
        call = place.call
        if call is not None and call.call is None and self.lines_of(call.function).first is None:
            return None
        return call

    def table(self, made: bytes, whole: bool = False) -> LineTable:
        """The line table of LLVM's object; the `whole` one keeps places without code, with their numbers."""
        return compact(line_rows.by_line(made, len(self.places)), self.places, whole)


def blamed(op: Op) -> SourcePlace:
    """The operation that a fault in its instructions is reported for: LLVM folds loads into arithmetic."""
    if op.name not in _FAULTS_BY_ITSELF:
        for each in op.args:
            if each.name == "load" and each.block is op.block and isinstance(each.word, SourcePlace):
                return each.word
    assert isinstance(op.word, SourcePlace)
    return op.word


def called(text: str, owners: Container[str], location: int) -> str:
    """LLVM requires a location at calls of functions with lines."""

    def call(found: re.Match[str]) -> str:
        known = found[1] not in owners or "!dbg" in found[0]
        return found[0] if known else f"{found[0]}, !dbg !{location}"

    return _CALLED.sub(call, text)


def arranged(functions: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    """The functions by their symbols, and the final function of each: itself, or the one that it is inlined into."""
    texts = {_symbol(text): text for text in functions}
    inlined = {symbol for symbol, text in texts.items() if " alwaysinline " in text.partition("\n")[0]}
    left = [symbol for symbol in texts if symbol not in inlined]
    if len(left) == 1:
        return texts, dict.fromkeys(texts, left[0])
    return texts, _homes(texts, inlined)


def _symbol(text: str) -> str:
    found = _DEFINED.match(text)
    assert found is not None
    return found[1]


def _homes(texts: dict[str, str], inlined: set[str]) -> dict[str, str]:
    callers: dict[str, str] = {}
    for symbol, text in texts.items():
        for found in _CALLED.finditer(text):
            if found[1] in inlined:
                callers[found[1]] = symbol
    homes = {}
    for symbol in texts:
        home = symbol
        while home in inlined and home in callers:
            home = callers[home]
        homes[symbol] = home
    return homes


def name_of(function: Function) -> str:
    for name, kernel in function.module.kernels.items():
        if kernel.function is function:
            return name
    return function.name or f"function.{function.id}"
