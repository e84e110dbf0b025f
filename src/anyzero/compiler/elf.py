"""Relocatable ELF files of 64-bit little-endian machines, as LLVM writes them: sections, symbols, relocations.

The files come from LLVM in this process, so nothing is checked here; the engine's loader checks its input.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from anyzero.lazy_dataclass import dataclass
from anyzero.lazy_namedtuple import NamedTuple

__all__ = ["FILE", "RELOCATION", "SECTION", "SYMBOL", "Header", "Object", "Relocation", "Symbol"]

FILE: Final = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION: Final = struct.Struct("<IIQQQQIIQQ")
SYMBOL: Final = struct.Struct("<IBBHQQ")
RELOCATION: Final = struct.Struct("<QQq")

# Types of sections
PROGBITS, SYMTAB, STRTAB, RELA, NOTE, NOBITS, X86_64_UNWIND = 1, 2, 3, 4, 7, 8, 0x70000001
# Types and bindings of symbols
FUNCTION_SYMBOL, SECTION_SYMBOL, FILE_SYMBOL = 2, 3, 4
LOCAL, GLOBAL = 0, 1
# Reserved section indices of symbols
UNDEFINED, RESERVED = 0, 0xFF00
# Flags of sections
EXECUTABLE, INFO_LINK = 0x4, 0x40


class Header(NamedTuple):
    """Of a section."""

    name: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry: int


class Symbol(NamedTuple):
    name: int
    info: int
    other: int
    section: int
    value: int
    size: int

    @property
    def type(self) -> int:
        return self.info & 0xF


class Relocation(NamedTuple):
    offset: int
    info: int
    addend: int

    @property
    def type(self) -> int:
        return self.info & 0xFFFFFFFF

    @property
    def symbol(self) -> int:
        """Its place in the table of symbols."""
        return self.info >> 32


@dataclass(frozen=True, eq=False)
class Object:
    """A file taken apart."""

    data: bytes

    @cached_property
    def headers(self) -> list[Header]:
        """Of all sections, by their numbers."""
        head = FILE.unpack_from(self.data)
        return [Header(*SECTION.unpack_from(self.data, head[6] + n * SECTION.size)) for n in range(head[12])]

    @cached_property
    def symbols(self) -> list[tuple[bytes, Symbol]]:
        """All symbols with their names, in the order of their table."""
        table = next((header for header in self.headers if header.type == SYMTAB), None)
        if table is None:
            return []
        names = self.headers[table.link]
        found = [Symbol(*SYMBOL.unpack_from(self.data, table.offset + at)) for at in range(0, table.size, SYMBOL.size)]
        return [(self._text(names, symbol.name), symbol) for symbol in found]

    def name(self, header: Header) -> bytes:
        return self._text(self.headers[FILE.unpack_from(self.data)[13]], header.name)

    def content(self, header: Header) -> bytes:
        """No bytes where the file holds none of the section."""
        return b"" if header.type == NOBITS else self.data[header.offset : header.offset + header.size]

    def relocations(self, header: Header) -> Iterator[Relocation]:
        """The rows of a section of relocations."""
        for at in range(header.offset, header.offset + header.size, RELOCATION.size):
            yield Relocation(*RELOCATION.unpack_from(self.data, at))

    def functions(self) -> Iterator[tuple[str, bytes]]:
        """The name and the code of each function."""
        for name, symbol in self.symbols:
            if symbol.type == FUNCTION_SYMBOL and 0 < symbol.section < len(self.headers):
                begin = self.headers[symbol.section].offset + symbol.value
                yield name.decode(), self.data[begin : begin + symbol.size]

    def _text(self, table: Header, at: int) -> bytes:
        start = table.offset + at
        return self.data[start : self.data.index(b"\0", start)]
