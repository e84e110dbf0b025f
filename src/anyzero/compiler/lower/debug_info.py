"""LLVM's debug metadata: the line that each instruction comes from, and the functions it was inlined through.

Instructions are marked while they are written. Which LLVM function they end up in is known only when all functions
are, so `finish` writes the locations: regions are inlined into the code around them, and their locations belong to that
function from the beginning. Nobody then sees a region as a function.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from anyzero.compiler.source_place import SourcePlace
from anyzero.compiler.spirv.function import Function
from anyzero.compiler.spirv.lines import Lines, SourceLine

FIRST = 100
"""The number of the first node; those below are the lowering's own."""

_UNIT, _TYPE = FIRST, FIRST + 1
_FIXED = (
    # The first node that follows is the file of the first function.
    f'distinct !DICompileUnit(language: DW_LANG_OpenCL, file: !{FIRST + 4}, producer: "anyzero", '
    "isOptimized: true, runtimeVersion: 0, emissionKind: FullDebug)",
    "!DISubroutineType(types: !1)",
    '!{i32 2, !"Debug Info Version", i32 3}',
    '!{i32 2, !"Dwarf Version", i32 4}',
)

_MARK = re.compile(r", !dbg @(\d+)")
_DEFINED = re.compile(r"define [^\n]*?@([\w.]+)\([^\n]*")
_CALLED = re.compile(r"^ +(?:%\S+ = )?call [^@\n]*@([\w.]+)\([^\n]*", re.MULTILINE)


class DebugInfo:
    def __init__(self) -> None:
        self._marks: dict[int, int] = {}
        """The number of each place, by its identity: the same word may be inlined from several calls."""
        self._listed: list[SourcePlace] = []
        self._nodes: list[str] = []
        self._known: dict[object, int] = {}
        """The numbers of nodes by what they are about."""
        self._lines: dict[Function, Lines] = {}

    def mark(self, lines: list[str], start: int, word: int) -> None:
        """Notes that the instructions from `start` on come from a place."""
        if not isinstance(word, SourcePlace) or start == len(lines):
            return
        number = self._marks.get(id(word))
        if number is None:
            number = self._marks[id(word)] = len(self._listed)
            self._listed.append(word)
        for index in range(start, len(lines)):
            if lines[index].startswith(" ") and "!dbg" not in lines[index]:
                lines[index] += f", !dbg @{number}"

    def finish(self, functions: list[str]) -> tuple[list[str], str]:
        """The functions with locations for the marks, and the metadata that the locations name."""
        texts = {_symbol(text): text for text in functions}
        inlined = {symbol for symbol, text in texts.items() if " alwaysinline " in text.partition("\n")[0]}
        homes = _homes(texts, inlined)
        subjects: dict[str, Function] = {}
        for symbol, text in texts.items():
            mark = _MARK.search(text)
            if mark is not None:
                subjects.setdefault(homes[symbol], self._outermost(self._listed[int(mark[1])]).function)
        for symbol, function in subjects.items():
            self._subprogram(symbol, function)
        made = [self._located(text, symbol, homes[symbol], subjects) for symbol, text in texts.items()]
        return made, "\n".join(self._metadata())

    def _located(self, text: str, symbol: str, home: str, subjects: dict[str, Function]) -> str:
        if home not in subjects:
            return text
        text = _MARK.sub(lambda mark: f", !dbg !{self._location(self._listed[int(mark[1])], home)}", text)
        if symbol != home:
            return text
        head, _, rest = text.partition("\n")
        head = head.removesuffix("{") + f"!dbg !{self._known[home]} {{"

        def call(found: re.Match[str]) -> str:
            # LLVM wants to know where a function that has lines is called.
            if found[1] not in subjects or "!dbg" in found[0]:
                return found[0]
            return f"{found[0]}, !dbg !{self._node(('call', home), self._call(home, subjects[home]))}"

        return f"{head}\n{_CALLED.sub(call, rest)}"

    # Nodes

    def _node(self, key: object, text: str) -> int:
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = FIRST + len(_FIXED) + len(self._nodes)
            self._nodes.append(text)
        return found

    def _file(self, name: str) -> int:
        return self._node(("file", name), f'!DIFile(filename: {_quoted(name or "source")}, directory: "")')

    def _line(self, function: Function, word: int) -> SourceLine | None:
        lines = self._lines.get(function)
        if lines is None:
            lines = self._lines[function] = Lines(function)
        return lines.at(word)

    def _start(self, function: Function) -> SourceLine:
        self._line(function, function.offset)
        return self._lines[function].first or SourceLine("", 0, 0)

    def _subprogram(self, key: object, function: Function) -> int:
        start = self._start(function)
        file = self._file(start.file)
        return self._node(
            key,
            f"distinct !DISubprogram(name: {_quoted(_name(function))}, scope: !{file}, file: !{file}, "
            f"line: {start.line}, type: !{_TYPE}, scopeLine: {start.line}, "
            f"spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !{_UNIT})",
        )

    def _call(self, home: str, function: Function) -> str:
        return f"!DILocation(line: {self._start(function).line}, scope: !{self._known[home]})"

    def _location(self, place: SourcePlace, home: str) -> int:
        """Of an instruction in the LLVM function `home`."""
        text = self._location_text(place, home)
        return self._node(text, text)

    def _location_text(self, place: SourcePlace, home: str) -> str:
        function, line, call = place.function, self._line(place.function, place), self._caller(place)
        if call is None:
            scope, inlined = self._known[home], ""
        else:
            scope = self._subprogram(function, function)
            inlined = f", inlinedAt: !{self._call_site(call, home)}"
        if line is None:
            return f"!DILocation(line: 0, scope: !{scope}{inlined})"
        if line.file != self._start(function).file:
            # Text that was included from elsewhere.
            text = f"!DILexicalBlockFile(scope: !{scope}, file: !{self._file(line.file)}, discriminator: 0)"
            scope = self._node(("file", line.file, scope), text)
        return f"!DILocation(line: {line.line}, column: {line.column}, scope: !{scope}{inlined})"

    def _caller(self, place: SourcePlace) -> SourcePlace | None:
        """Where its function is called; some front ends wrap kernels in a function without lines, which is left out."""
        call = place.call
        if call is not None and call.call is None and not self._start(call.function).line:
            return None
        return call

    def _outermost(self, place: SourcePlace) -> SourcePlace:
        while (call := self._caller(place)) is not None:
            place = call
        return place

    def _call_site(self, call: SourcePlace, home: str) -> int:
        """Distinct, so that two calls in one line stay two."""
        key = "call site", home, id(call)
        return self._known.get(key) or self._node(key, f"distinct {self._location_text(call, home)}")

    def _metadata(self) -> Iterator[str]:
        if not self._nodes:
            return
        yield f"!llvm.dbg.cu = !{{!{_UNIT}}}"
        yield f"!llvm.module.flags = !{{!{FIRST + 2}, !{FIRST + 3}}}"
        yield from (f"!{FIRST + place} = {text}" for place, text in enumerate([*_FIXED, *self._nodes]))


def _symbol(text: str) -> str:
    found = _DEFINED.match(text)
    assert found is not None
    return found[1]


def _homes(texts: dict[str, str], inlined: set[str]) -> dict[str, str]:
    """The function that each ends up in: itself, or the one that it is inlined into."""
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


def _name(function: Function) -> str:
    for name, kernel in function.module.kernels.items():
        if kernel.function is function:
            return name
    return function.name or f"function.{function.id}"


def _quoted(text: str) -> str:
    """As LLVM writes strings: everything but plain characters by its bytes."""
    plain = "".join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02X}" for byte in text.encode())
    return f'"{plain}"'
