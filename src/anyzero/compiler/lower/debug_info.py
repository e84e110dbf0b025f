"""LLVM's debug metadata for debuggers: the line that each instruction comes from, and the functions it was inlined
through.

Locations of regions belong to the function that the region is inlined into, so a debugger never sees a region as a
function. The discriminator of a location is the number of its place, for the line table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from anyzero.compiler.compiled import Options
from anyzero.compiler.line_table import LineTable, compact
from anyzero.compiler.lower.line_marks import FIRST, LineMarks, arranged, called, name_of
from anyzero.compiler.source_place import SourcePlace
from anyzero.compiler.spirv.debug_nodes import Scope
from anyzero.compiler.spirv.function import Function
from anyzero.compiler.spirv.lines import UNKNOWN, SourceLine
from anyzero.compiler.spirv.module import Module
from anyzero.compiler.targets import line_rows

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


def wanted(options: Options, modules: Sequence[Module]) -> bool:
    """Does the module have source lines?"""
    return options.debug or any(module.has_lines for module in modules)


def collector(options: Options, modules: Sequence[Module]) -> LineMarks | None:
    """The collector of a compilation's source lines; None without lines."""
    if options.debug:
        return DebugInfo()
    return LineMarks() if wanted(options, modules) else None


class DebugInfo(LineMarks):
    def __init__(self) -> None:
        super().__init__()
        self._marks: dict[tuple[int, int], int] = {}
        self._listed: list[tuple[SourcePlace, int]] = []
        """A word and the number of the place that a fault comes from, by the number of the mark."""
        self._nodes: list[str] = []
        self._node_numbers: dict[object, int] = {}
        """Numbers of metadata nodes by their contents."""

    def suffix(self, word: SourcePlace, blame: SourcePlace) -> str:
        key = id(word), self.number(blame)
        number = self._marks.get(key)
        if number is None:
            number = self._marks[key] = len(self._listed)
            self._listed.append((word, key[1]))
        return f", !dbg @{number}"

    def finish(self, functions: list[str]) -> tuple[list[str], str]:
        texts, homes = arranged(functions)
        subjects: dict[str, Function] = {}
        for symbol, text in texts.items():
            mark = _MARK.search(text)
            if mark is not None:
                subjects.setdefault(homes[symbol], self._outermost(self._listed[int(mark[1])][0]).function)
        for symbol, function in subjects.items():
            self._subprogram(symbol, function)
        made = [self._located(text, symbol, homes[symbol], subjects) for symbol, text in texts.items()]
        return made, "\n".join(self._nodes_text())

    def table(self, made: bytes, whole: bool = False) -> LineTable:
        return compact(line_rows.by_discriminator(made, len(self.places)), self.places, whole)

    def _located(self, text: str, symbol: str, home: str, subjects: dict[str, Function]) -> str:
        if home not in subjects:
            return text
        text = _MARK.sub(lambda mark: f", !dbg !{self._location(*self._listed[int(mark[1])], home)}", text)
        if symbol != home:
            return text
        head, _, rest = text.partition("\n")
        head = head.removesuffix("{") + f"!dbg !{self._node_numbers[home]} {{"
        site = self._node(("call", home), self._call(home, subjects[home])) if len(subjects) > 1 else 0
        return f"{head}\n{called(rest, subjects, site) if site else rest}"

    # Nodes

    def _node(self, key: object, text: str) -> int:
        found = self._node_numbers.get(key)
        if found is None:
            found = self._node_numbers[key] = FIRST + len(_FIXED) + len(self._nodes)
            self._nodes.append(text)
        return found

    def _file(self, name: str) -> int:
        return self._node(("file", name), f'!DIFile(filename: {_quoted(name or UNKNOWN)}, directory: "")')

    def _start(self, function: Function) -> SourceLine:
        return self.lines_of(function).first or SourceLine("", 0, 0)

    def _subprogram(self, key: object, function: Function) -> int:
        start = self._start(function)
        file = self._file(start.file)
        return self._node(
            key,
            f"distinct !DISubprogram(name: {_quoted(name_of(function))}, scope: !{file}, file: !{file}, "
            f"line: {start.line}, type: !{_TYPE}, scopeLine: {start.line}, "
            f"spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !{_UNIT})",
        )

    def _call(self, home: str, function: Function) -> str:
        return f"!DILocation(line: {self._start(function).line}, scope: !{self._node_numbers[home]})"

    def _location(self, word: SourcePlace, number: int, home: str) -> int:
        """The location of an instruction in the LLVM function `home`."""
        text = self._location_text(word, home, number)
        return self._node(text, text)

    def _location_text(self, place: SourcePlace, home: str, number: int = 0) -> str:
        function, line, call = place.function, self.line(place.function, place), self.caller(place)
        if call is None:
            scope, inlined = self._node_numbers[home], ""
        else:
            scope = self._subprogram(function, function)
            inlined = f", inlinedAt: !{self._call_site(call, home)}"
        if line is None:
            return f"!DILocation(line: 0, scope: !{scope}{inlined})"
        if line.scope is not None:
            scope, inlined = self._inlined(line.scope, scope, inlined)
        # In an included file, the file differs from the function's.
        file = self._file(line.file)
        block = f"!DILexicalBlockFile(scope: !{scope}, file: !{file}, discriminator: {number})"
        scope = self._node(block, block)
        return f"!DILocation(line: {line.line}, column: {line.column}, scope: !{scope}{inlined})"

    def _inlined(self, scope: Scope, outer: int, inlined: str) -> tuple[int, str]:
        """Subprogram and call site of a function that was inlined into `outer` before the module was SPIR-V."""
        if scope.caller is None:
            return outer, inlined
        _, line, around = scope.caller
        if around is not None:
            outer, inlined = self._inlined(around, outer, inlined)
        site = f"distinct !DILocation(line: {line}, scope: !{outer}{inlined})"
        file = self._file(scope.file)
        subprogram = (
            f"distinct !DISubprogram(name: {_quoted(scope.function)}, scope: !{file}, file: !{file}, "
            f"type: !{_TYPE}, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !{_UNIT})"
        )
        return self._node(subprogram, subprogram), f", inlinedAt: !{self._node(site, site)}"

    def _outermost(self, place: SourcePlace) -> SourcePlace:
        while (call := self.caller(place)) is not None:
            place = call
        return place

    def _call_site(self, call: SourcePlace, home: str) -> int:
        """Distinct, so that two calls in one line stay two."""
        key = "call site", home, id(call)
        return self._node_numbers.get(key) or self._node(key, f"distinct {self._location_text(call, home)}")

    def _nodes_text(self) -> Iterator[str]:
        if not self._nodes:
            return
        yield f"!llvm.dbg.cu = !{{!{_UNIT}}}"
        yield f"!llvm.module.flags = !{{!{FIRST + 2}, !{FIRST + 3}}}"
        yield from (f"!{FIRST + place} = {text}" for place, text in enumerate([*_FIXED, *self._nodes]))


def _quoted(text: str) -> str:
    """A string literal of LLVM: all but printable characters are escaped."""
    plain = "".join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02X}" for byte in text.encode())
    return f'"{plain}"'
