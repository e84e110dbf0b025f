"""Source lines for SPIR-V from clang's own SPIR-V target, which leaves them out.

clang writes LLVM IR with debug information. Before each instruction of another place, a call of `anyzero_line` with
the number of its location goes into that IR. The target keeps these calls, and in its SPIR-V they become OpLine and
instructions of OpenCL.DebugInfo.100 for the functions and the inlined calls.

An instruction that clang moved out of a loop has lost its line. It gets the line of an instruction that uses its
result; without one, OpNoLine, as OpLine holds for all instructions behind it.
"""

from __future__ import annotations

import itertools
import re
import struct
from enum import IntEnum
from typing import Final, NamedTuple

from anyzero.opencl_c.repair import HEAD, instructions
from anyzero.spirv.numbers import Op

__all__ = ["KEEPING_LINES", "marked", "with_lines"]

KEEPING_LINES: Final = ("-mllvm", "-sink-common-insts=false", "-mllvm", "-hoist-common-insts=false")
"""Options of clang: an instruction that two branches share after optimization would have the line of neither."""

_SET: Final = "OpenCL.DebugInfo.100"
_MARK: Final = "anyzero_line"
_NOWHERE: Final = "-1"
"""Is the number of no location."""
_BODY: Final = "__clang_ocl_kern_imp_"
"""Begins the name of the function that has a kernel's code; the kernel itself only calls it."""
_DEEPEST: Final = 64
_LONGEST: Final = 4 * 65_000
_BEHIND_STRINGS: Final = (Op.String, Op.Source, Op.SourceExtension, Op.Name, Op.MemberName, Op.Decorate)


class _Debug(IntEnum):
    """Instructions of OpenCL.DebugInfo.100."""

    NONE = 0
    COMPILATION_UNIT = 1
    TYPE_FUNCTION = 8
    FUNCTION = 20
    SCOPE = 23
    INLINED_AT = 25
    SOURCE = 35


_NODE: Final = re.compile(r"^!(\d+) = (?:distinct )?!(DI\w+)\((.*)\)$", re.MULTILINE)
_FIELD: Final = re.compile(r'(\w+): (?:!(\d+)|(\d+)|"((?:[^"\\]|\\.)*)")')
_INSTRUCTION: Final = re.compile(r"^  (?!\s|\]|#)(?!%\S+ = (?:phi|alloca) )")
_BLOCK: Final = re.compile(r"^(define .*\{|[\w.\"$-]+:.*)$")
_RESULT: Final = re.compile(r"^  (%[\w.$-]+) = ")
_OPERAND: Final = re.compile(r"%[\w.$-]+")
_LOCATION: Final = re.compile(r", !dbg !(\d+)")


class _Node(NamedTuple):
    kind: str
    fields: dict[str, str]


class _Place(NamedTuple):
    file: str
    line: int
    column: int
    function: str
    caller: _Place | None


class _Locations:
    """The locations of a module in LLVM IR, by their numbers."""

    def __init__(self, ir: str) -> None:
        self._nodes = {int(number): _Node(kind, _fields(text)) for number, kind, text in _NODE.findall(ir)}

    def place(self, number: int, depth: int = _DEEPEST) -> _Place | None:
        """None where there is no such location."""
        node = self._nodes.get(number)
        if node is None or node.kind != "DILocation" or not depth:
            return None
        line, column = (int(node.fields.get(name, "0")) for name in ("line", "column"))
        file, function, linkage = self._function(int(node.fields.get("scope", "0")))
        caller = self.place(int(node.fields.get("inlinedAt", "0")), depth - 1)
        if caller is not None and linkage == _BODY + caller.function:
            caller = caller.caller
        return _Place(file, line, column, function, caller)

    def has_line(self, number: str) -> bool:
        node = self._nodes.get(int(number))
        return node is not None and node.fields.get("line", "0") != "0"

    def _function(self, scope: int) -> tuple[str, str, str]:
        """File of the scope, and name and linkage name of its function."""
        file = ""
        for _ in range(_DEEPEST):
            node = self._nodes.get(scope)
            if node is None:
                break
            file = file or self._file(int(node.fields.get("file", "0")))
            if node.kind == "DISubprogram":
                return file, node.fields.get("name", ""), node.fields.get("linkageName", "")
            scope = int(node.fields.get("scope", "0"))
        return file, "", ""

    def _file(self, number: int) -> str:
        node = self._nodes.get(number)
        if node is None:
            return ""
        name, folder = node.fields.get("filename", ""), node.fields.get("directory", "")
        return name if not folder or name.startswith(("/", "<")) else f"{folder}/{name}"


def _fields(text: str) -> dict[str, str]:
    return {name: node or number or _text(string) for name, node, number, string in _FIELD.findall(text)}


def _text(string: str) -> str:
    # LLVM writes bytes that cannot be printed, and quotes, as a backslash and two digits.
    data = re.sub(rb"\\([0-9A-Fa-f]{2})", lambda each: bytes([int(each[1], 16)]), string.encode())
    return data.decode(errors="surrogateescape")


def marked(ir: str) -> str:
    """The IR with a call before each instruction whose location differs from that of the one before it."""
    made, last = [], _NOWHERE
    locations = _Locations(ir)
    users: dict[str, list[str]] | None = None
    lines = ir.split("\n")
    for number, line in enumerate(lines):
        if line.startswith("define "):
            users = _users(lines, number + 1) if "!dbg" in line else None
        if _BLOCK.match(line):
            last = _NOWHERE
        location = _location(line, users, locations) if users is not None and _INSTRUCTION.match(line) else last
        if location != last:
            last = location
            made.append(f"  call spir_func void @{_MARK}(i32 {last})")
        made.append(line)
    return "\n".join(made) + f"\ndeclare spir_func void @{_MARK}(i32)\n"


def _users(lines: list[str], start: int) -> dict[str, list[str]]:
    """The instructions of a function that use each result."""
    found: dict[str, list[str]] = {}
    for line in itertools.takewhile(lambda line: line != "}", itertools.islice(lines, start, None)):
        result = _RESULT.match(line)
        for name in set(_OPERAND.findall(line, result.end() if result else 0)):
            found.setdefault(name, []).append(line)
    return found


def _location(line: str, users: dict[str, list[str]], locations: _Locations) -> str:
    """The location of an instruction. If it has no line, that of an instruction that uses its result."""
    waiting, seen = [line], {line}
    while waiting:
        each = waiting.pop(0)
        given = _LOCATION.search(each)
        if given and locations.has_line(given[1]):
            return given[1]
        result = _RESULT.match(each)
        more = [user for user in users.get(result[1], ()) if user not in seen] if result else []
        waiting += more
        seen.update(more)
    return _NOWHERE


def with_lines(spirv: bytes, ir: str, text: str | None) -> bytes:
    """The SPIR-V of marked IR, with lines instead of the calls. `text`: the source, if it is in no file."""
    words = struct.unpack(f"<{len(spirv) // 4}I", spirv)
    return _Writer(words, _Locations(ir), text).written()


class _Writer:
    """SPIR-V with debug information in the place of the calls."""

    def __init__(self, words: tuple[int, ...], locations: _Locations, text: str | None) -> None:
        self._words, self._locations, self._text = words, locations, text
        self._bound = words[3]
        self._ids: dict[object, int] = {}
        self._strings: list[int] = []
        self._nodes: list[int] = []
        self._gone: set[int] = set()
        self._set = self._new()
        self._void = self._of(Op.TypeVoid)
        self._mark = self._decorated()

    def written(self) -> bytes:
        if not self._mark or not self._void:
            return struct.pack(f"<{len(self._words)}I", *self._words)
        functions, at = self._functions()
        name = _words(_SET)
        made, strings_at = list(self._words[:HEAD]), 0
        for start, size in instructions(self._words[:at]):
            opcode = self._words[start] & 0xFFFF
            if opcode == Op.MemoryModel:
                made += [(2 + len(name)) << 16 | Op.ExtInstImport, self._set, *name]
            if not strings_at and opcode in _BEHIND_STRINGS:
                strings_at = len(made)
            if opcode in (Op.Name, Op.Decorate) and self._words[start + 1] in self._gone:
                continue
            made += self._words[start : start + size]
        made += [*self._nodes, *functions]
        made[strings_at:strings_at] = self._strings
        made[3] = self._bound
        return struct.pack(f"<{len(made)}I", *made)

    def _functions(self) -> tuple[list[int], int]:
        """The functions, with lines and without the one that marks them; and where the first one begins."""
        words, made, values = self._words, list[int](), dict[int, int]()
        skipping, scope, first = False, 0, 0
        self._gone.add(self._mark)
        for start, size in instructions(words):
            opcode = words[start] & 0xFFFF
            if opcode == Op.Constant and size == 4:
                values[words[start + 2]] = words[start + 3]
            if opcode == Op.Function:
                first = first or start
                skipping = words[start + 2] == self._mark
            if skipping:
                if opcode == Op.FunctionParameter:
                    self._gone.add(words[start + 2])
                skipping = opcode != Op.FunctionEnd
                continue
            if not first:
                continue
            if opcode == Op.Label:
                scope = 0
            if opcode == Op.FunctionCall and words[start + 3] == self._mark:
                place = self._locations.place(values.get(words[start + 4], 0))
                if place is None:
                    made += [1 << 16 | Op.NoLine]
                else:
                    scope = self._write_place(made, place, scope)
                continue
            made += words[start : start + size]
        return made, first or len(words)

    def _write_place(self, made: list[int], place: _Place, last: int) -> int:
        inlined = self._inlined(place.caller)
        key = self._id("scope", place.function, place.file, inlined)
        if key != last:
            operands = [self._function(place.function, place.file), *([inlined] if inlined else [])]
            made += self._extended(self._new(), _Debug.SCOPE, *operands)
        made += [4 << 16 | Op.Line, self._string(place.file), place.line, place.column]
        return key

    # Instructions outside of functions, each once

    def _inlined(self, caller: _Place | None) -> int:
        if caller is None:
            return 0
        outer = self._inlined(caller.caller)
        scope = self._function(caller.function, caller.file)
        return self._node(_Debug.INLINED_AT, caller.line, scope, *([outer] if outer else []))

    def _function(self, name: str, file: str) -> int:
        none, source, string = self._node(_Debug.NONE), self._source(file), self._string(name)
        # Of version 1.0 of the set, DWARF 4, and OpenCL C.
        unit = self._node(_Debug.COMPILATION_UNIT, 0x10000, 4, source, 3)
        type_ = self._node(_Debug.TYPE_FUNCTION, 0, self._void)
        return self._node(_Debug.FUNCTION, string, type_, source, 0, 0, unit, string, 0, 0, none)

    def _source(self, file: str) -> int:
        given = self._text if file.endswith("<stdin>") else None
        return self._node(_Debug.SOURCE, self._string(file), *([self._string(given)] if given else []))

    def _node(self, number: int, *operands: int) -> int:
        key = (number, operands)
        if key not in self._ids:
            self._ids[key] = self._new()
            self._nodes += self._extended(self._ids[key], number, *operands)
        return self._ids[key]

    def _string(self, text: str) -> int:
        key = ("string", text)
        if key not in self._ids:
            self._ids[key] = self._new()
            words = _words(text)
            self._strings += [(2 + len(words)) << 16 | Op.String, self._ids[key], *words]
        return self._ids[key]

    def _extended(self, result: int, number: int, *operands: int) -> list[int]:
        return [(5 + len(operands)) << 16 | Op.ExtInst, self._void, result, self._set, number, *operands]

    def _id(self, *key: object) -> int:
        return self._ids.setdefault(key, len(self._ids) + 1)

    def _new(self) -> int:
        self._bound += 1
        return self._bound - 1

    def _of(self, opcode: int) -> int:
        """The result of the first instruction of a kind that has no type."""
        found = (self._words[at + 1] for at, _ in instructions(self._words) if self._words[at] & 0xFFFF == opcode)
        return next(found, 0)

    def _decorated(self) -> int:
        """The function that marks lines: the one that is imported by that name."""
        name = tuple(_words(_MARK))
        for at, size in instructions(self._words):
            if self._words[at] & 0xFFFF == Op.Decorate and self._words[at + 3 : at + size - 1] == name:
                return self._words[at + 1]
        return 0


def _words(text: str) -> list[int]:
    """A literal string. An instruction has 65,535 words at most."""
    data = text.encode(errors="surrogateescape")[:_LONGEST] + b"\0"
    data += b"\0" * (-len(data) % 4)
    return list(struct.unpack(f"<{len(data) // 4}I", data))
