"""Disassembler, one instruction per line. The text is lossless: an assembler restores the same words."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from math import isnan

from anyzero.compiler.spirv import grammar
from anyzero.compiler.spirv.constants import bits_of, float_of
from anyzero.compiler.spirv.errors import SpirvError
from anyzero.compiler.spirv.grammar import Context, Operand, enumerant_name, opcode_name, opencl_name
from anyzero.compiler.spirv.tables import BIT_ENUMS, ENUMS, Op

_MARGIN = 12
"""Columns for results, which align the opcodes."""


def disassemble(words: Sequence[int]) -> str:
    """The text of a module, given by its words (`Module.words`)."""
    version = f"{words[1] >> 16 & 0xFF}.{words[1] >> 8 & 0xFF}"
    head = f"; SPIR-V {version}, generator {words[2]:#x}, bound {words[3]}, schema {words[4]}"
    return "\n".join([head, *_Text(words).lines()]) + "\n"


def disassemble_instruction(words: Sequence[int], offset: int) -> str:
    """One instruction, for messages: truncated if long, only its name if the grammar does not know it."""
    stop = min(offset + max(words[offset] >> 16, 1), offset + _SHOWN, len(words))
    text = _Text(words[offset:stop]).line(0, stop - offset).strip()
    if text.startswith("!"):
        return opcode_name(words[offset] & 0xFFFF)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


_SHOWN = 160
"""Words of an instruction, and characters of its text, that a message shows."""


class _Text:
    def __init__(self, words: Sequence[int]) -> None:
        self.words = words
        self.type_of: dict[int, int] = {}
        self.numbers: dict[int, tuple[str, int]] = {}
        """Types of numbers: kind and width."""
        self.names: dict[int, str] = {}
        self.opencl: set[int] = set()
        self.context = Context(self.number_words, self.selector_words, self.opencl.__contains__)

    def number_words(self, type_id: int) -> int:
        return max(1, -(-self.numbers.get(type_id, ("", 32))[1] // 32))

    def selector_words(self, id_: int) -> int:
        return self.number_words(self.type_of.get(id_, 0))

    def lines(self) -> Iterator[str]:
        spans = list(_spans(self.words))
        for start, stop in spans:
            self.learn(start, stop)
        for start, stop in spans:
            yield self.line(start, stop)

    def learn(self, start: int, stop: int) -> None:
        """Collects names and types first: a value's type may be declared after its use."""
        words, opcode = self.words, self.words[start] & 0xFFFF
        if opcode in (Op.TypeInt, Op.TypeFloat) and stop - start > 2:
            self.numbers[words[start + 1]] = "int" if opcode == Op.TypeInt else "float", words[start + 2]
        elif opcode == Op.ExtInstImport and stop - start > 2:
            if _string(words, start + 2, stop) == b"OpenCL.std":
                self.opencl.add(words[start + 1])
        elif opcode == Op.Name and stop - start > 2:
            self.names[words[start + 1]] = _quoted(_string(words, start + 2, stop))
        shape = grammar.SHAPES.get(opcode)
        if shape is not None and shape.head == 3 and stop - start > 2:
            self.type_of[words[start + 2]] = words[start + 1]

    def line(self, start: int, stop: int) -> str:
        opcode = self.words[start] & 0xFFFF
        try:
            operands = grammar.operands(opcode, self.words, start, stop, self.context)
        except SpirvError:
            # Unknown to the grammar: print the raw words.
            return " " * _MARGIN + "   " + " ".join(f"!{word:#x}" for word in self.words[start:stop])
        result = next((self.words[operand.start] for operand in operands if operand.kind == "IdResult"), None)
        shown = [self.operand(each, operands) for each in operands if each.kind != "IdResult"]
        text = " ".join([opcode_name(opcode), *shown])
        if result is None:
            return " " * _MARGIN + "   " + text
        name = f"  ; {self.names[result]}" if result in self.names else ""
        return f"%{result}".rjust(_MARGIN) + " = " + text + name

    def operand(self, operand: Operand, operands: list[Operand]) -> str:
        kind, start, stop = operand
        word = self.words[start]
        if kind in grammar.IDS:
            return f"%{word}"
        if kind == "LiteralString":
            return _quoted(_string(self.words, start, stop))
        if kind == "OpenCL":
            return opencl_name(word) if not opencl_name(word).startswith("instruction") else str(word)
        if kind == "LiteralSpecConstantOpInteger":
            return opcode_name(word).removeprefix("Op")
        if kind == "LiteralContextDependentNumber":
            first = self.words[operands[0].start]
            type_id = first if operands[0].kind == "IdResultType" else self.type_of.get(first, 0)
            return self.number(type_id, self.words[start:stop])
        return _enumerants(kind, word) if kind in ENUMS else str(word)

    def number(self, type_id: int, words: Sequence[int]) -> str:
        kind, width = self.numbers.get(type_id, ("", 0))
        whole = sum(word << (32 * index) for index, word in enumerate(words))
        if kind == "float" and width in (16, 32, 64) and whole < 1 << width:
            value = float_of(whole, width)
            # The text of a NaN would lose its payload.
            if not isnan(value) and bits_of(value, width) == whole:
                return repr(value)
        if kind == "int" and width:
            room = 32 * len(words)
            signed = whole - (1 << room) if whole >> (room - 1) else whole
            return str(signed)
        return " ".join(f"!{word:#x}" for word in words)


def _spans(words: Sequence[int]) -> Iterator[tuple[int, int]]:
    start = 5
    while start < len(words):
        stop = start + (words[start] >> 16)
        if stop == start or stop > len(words):
            stop = len(words)
        yield start, stop
        start = stop


def _string(words: Sequence[int], start: int, stop: int) -> bytes:
    return struct.pack(f"<{stop - start}I", *words[start:stop]).split(b"\0", 1)[0]


def _quoted(raw: bytes) -> str:
    escaped = raw.replace(b"\\", b"\\\\").replace(b'"', b'\\"').decode("utf-8", "backslashreplace")
    shown = (char if char.isprintable() else "".join(f"\\x{byte:02x}" for byte in char.encode()) for char in escaped)
    return f'"{"".join(shown)}"'


def _enumerants(kind: str, value: int) -> str:
    if kind not in BIT_ENUMS or not value:
        return enumerant_name(kind, value)
    bits = [1 << place for place in range(value.bit_length()) if value >> place & 1]
    names = [enumerant_name(kind, bit) for bit in bits]
    return "|".join(names) if not any(name.isdigit() for name in names) else f"{value:#x}"
