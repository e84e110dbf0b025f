"""SPIR-V from text, for tests: what the disassembler writes, and names instead of numbers for ids."""

from __future__ import annotations

import re
import struct
from array import array
from dataclasses import dataclass, field

from anyzero.compiler.spirv import grammar, tables
from anyzero.compiler.spirv.constants import bits_of

HEADER = re.compile(r"; SPIR-V (\d+)\.(\d+), generator (\w+), bound (\d+), schema (\d+)")
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|;.*|[^\s;"]+')
ESCAPE = re.compile(rb"\\(x[0-9a-f]{2}|.)")


def assemble(text: str, version: tuple[int, int] = (1, 2)) -> bytes:
    """The module that a text describes. `%3` is id 3, `%x` some other id; the header line may be left out."""
    return _Assembler(text, version).module().tobytes()


def string(text: str) -> list[int]:
    raw = ESCAPE.sub(lambda found: _escaped(found[1]), text.encode()) + b"\0"
    raw += bytes(-len(raw) % 4)
    return list(struct.unpack(f"<{len(raw) // 4}I", raw))


def _escaped(text: bytes) -> bytes:
    return bytes([int(text[1:], 16)]) if len(text) == 3 else text


@dataclass
class _Line:
    opcode: int
    result: str | None
    tokens: list[str]
    words: list[int] = field(default_factory=list)


class _Assembler:
    def __init__(self, text: str, version: tuple[int, int]) -> None:
        self.version, self.generator, self.bound, self.schema = version, 0, 0, 0
        found = HEADER.search(text)
        if found:
            self.version = int(found[1]), int(found[2])
            self.generator, self.bound, self.schema = int(found[3], 0), int(found[4]), int(found[5])
        self.lines = [line for line in map(_parse, text.splitlines()) if line]
        numbers = [int(number) for number in re.findall(r"%(\d+)\b", text)]
        self.next = max(numbers, default=0) + 1
        self.ids: dict[str, int] = {}
        self.numbers: dict[int, tuple[str, int]] = {}
        self.type_of: dict[int, int] = {}
        self.opencl: set[int] = set()

    def module(self) -> array[int]:
        for line in self.lines:
            self.learn(line)
        words = [word for line in self.lines for word in self.instruction(line)]
        version = self.version[0] << 16 | self.version[1] << 8
        return array("I", [tables.MAGIC, version, self.generator, self.bound or self.next, self.schema, *words])

    def id(self, token: str) -> int:
        assert token.startswith("%"), f"{token} is not an id"
        if token[1:].isdigit():
            return int(token[1:])
        if token not in self.ids:
            self.ids[token] = self.next
            self.next += 1
        return self.ids[token]

    def learn(self, line: _Line) -> None:
        if line.opcode in (tables.Op.TypeInt, tables.Op.TypeFloat) and line.result:
            kind = "int" if line.opcode == tables.Op.TypeInt else "float"
            self.numbers[self.id(line.result)] = kind, int(line.tokens[0], 0)
        if line.opcode == tables.Op.ExtInstImport and line.result and line.tokens[0] == '"OpenCL.std"':
            self.opencl.add(self.id(line.result))
        if line.result and line.opcode >= 0 and grammar.SHAPES[line.opcode].head == 3:
            self.type_of[self.id(line.result)] = self.id(line.tokens[0])

    def instruction(self, line: _Line) -> list[int]:
        if line.opcode < 0:
            return [int(token[1:], 0) for token in line.tokens]
        self.line, self.left = line, list(line.tokens)
        self.kinds(tables.LAYOUTS[tables.LAYOUT_OF_OP[line.opcode]].split())
        assert not self.left, f"{self.left} is left of {line}"
        assert len(line.words) < 0xFFFF
        return [(len(line.words) + 1) << 16 | line.opcode, *line.words]

    def kinds(self, kinds: list[str]) -> None:
        for kind in kinds:
            if kind.endswith("*"):
                while self.left:
                    self.operand(kind[:-1])
            elif not kind.endswith("?") or self.left:
                self.operand(kind.rstrip("?"))

    def operand(self, kind: str) -> None:
        words = self.line.words
        if kind == "IdResult":
            assert self.line.result, f"{self.line} has no result"
            words.append(self.id(self.line.result))
        elif kind in grammar.PAIRS:
            first, second = grammar.PAIRS[kind]
            if kind == "PairLiteralIntegerIdRef":
                words += self.number(self.type_of[words[0]], self.left.pop(0))
            else:
                self.operand(first)
            self.operand(second)
        elif kind == "LiteralContextDependentNumber":
            words += self.number(words[0], self.left.pop(0))
            words += [int(self.left.pop(0)[1:], 0) for _ in range(len(self.left))]
        elif kind == "LiteralExtInstInteger":
            self.extended(self.left.pop(0))
        elif kind == "LiteralSpecConstantOpInteger":
            opcode = getattr(tables.Op, self.left.pop(0))
            words.append(opcode)
            self.kinds(tables.LAYOUTS[tables.LAYOUT_OF_OP[opcode]].split()[2:])
        else:
            self.plain(kind, self.left.pop(0))

    def plain(self, kind: str, token: str) -> None:
        words = self.line.words
        if kind in grammar.IDS:
            words.append(self.id(token))
        elif kind == "LiteralString":
            words += string(token[1:-1])
        elif kind in tables.ENUMS:
            value = sum(_enumerant(kind, name) for name in token.split("|"))
            words.append(value)
            self.kinds(grammar.parameters(kind, value))
        else:
            words.append(int(token, 0) & 0xFFFFFFFF)

    def extended(self, token: str) -> None:
        words = self.line.words
        if words[-1] in self.opencl and not token.isdigit():
            number = getattr(tables.OpenCL, token)
            words.append(number)
            self.kinds(tables.LAYOUTS[tables.LAYOUT_OF_OPENCL[number]].split())
        else:
            words.append(int(token))

    def number(self, type_id: int, token: str) -> list[int]:
        kind, width = self.numbers.get(type_id, ("", 32))
        if token.startswith("!"):
            return [int(token[1:], 0)]
        if kind == "float":
            whole = bits_of(float(token), width)
        else:
            whole = int(token, 0)
        # An unknown type is one of a broken module.
        return [whole >> 32 * place & 0xFFFFFFFF for place in range(max(1, -(-width // 32)))]


def _parse(text: str) -> _Line | None:
    tokens = [token for token in TOKEN.findall(text) if not token.startswith(";")]
    if not tokens:
        return None
    if tokens[0].startswith("!"):
        return _Line(-1, None, tokens)
    result = tokens[0] if tokens[1:2] == ["="] else None
    name, *rest = tokens[2:] if result else tokens
    return _Line(getattr(tables.Op, name.removeprefix("Op")), result, rest)


def _enumerant(kind: str, name: str) -> int:
    if name[0].isdigit() and not hasattr(tables.ENUMS[kind], kind + name):
        return int(name, 0)
    found = next(each for each in (name, name + "_", kind + name) if hasattr(tables.ENUMS[kind], each))
    value: int = getattr(tables.ENUMS[kind], found)
    return value
