"""The line table of an object that LLVM made (DWARF 4), as offsets in its code with a number each."""

from __future__ import annotations

import struct

from anyzero.compiler import elf

__all__ = ["by_discriminator", "by_line"]

_HEADER = struct.Struct("<IHIBBBbBB")
"""Length, version, header's length, smallest instruction, operations of one, statement, line base, line range, first
special opcode.
"""
# Opcodes without operands are not listed; they do not affect the fields that are read.
_EXTENDED, _COPY, _ADVANCE_PC, _ADVANCE_LINE, _SET_FILE, _SET_COLUMN = range(6)
_CONST_ADD_PC, _FIXED_ADVANCE_PC, _SET_ISA = 8, 9, 12
_END_SEQUENCE, _SET_ADDRESS, _SET_DISCRIMINATOR = 1, 2, 4


def by_line(made: bytes, most: int) -> list[tuple[int, int]]:
    """Each row's line, ascending by offset; numbers above `most` are none of ours, and 0."""
    return _rows(made, most, lines=True)


def by_discriminator(made: bytes, most: int) -> list[tuple[int, int]]:
    """The same with each row's discriminator."""
    return _rows(made, most, lines=False)


def _rows(made: bytes, most: int, *, lines: bool) -> list[tuple[int, int]]:
    object_ = elf.Object(made)
    named = {object_.name(header): header for header in object_.headers}
    section, relocated = named.get(b".debug_line"), named.get(b".rela.debug_line")
    if section is None or relocated is None:
        return []
    data = object_.content(section)
    starts: dict[int, int] = {}
    for each in object_.relocations(relocated):
        symbol = object_.symbols[each.symbol][1]
        if 0 < symbol.section < len(object_.headers) and object_.headers[symbol.section].flags & elf.EXECUTABLE:
            starts[each.offset] = symbol.value + each.addend
    found: list[tuple[int, int]] = []
    at = 0
    while at + _HEADER.size <= len(data):
        length, _, header, _, _, _, base, range_, first = _HEADER.unpack_from(data, at)
        program = _Program(data, at + 10 + header, at + 4 + length, base, range_, first, starts)
        found += program.lines() if lines else program.discriminators()
        at += 4 + length
    found.sort(key=lambda row: row[0])
    return [(offset, number if number <= most else 0) for offset, number in found]


class _Program:
    """The bytecode of one unit."""

    def __init__(
        self, data: bytes, start: int, stop: int, base: int, range_: int, first: int, starts: dict[int, int]
    ) -> None:
        self.data, self.at, self.stop = data, start, stop
        self.base, self.range, self.first = base, range_, first
        self.starts = starts

    def lines(self) -> list[tuple[int, int]]:
        return [(address, line) for address, line, _ in self.run()]

    def discriminators(self) -> list[tuple[int, int]]:
        return [(address, discriminator if line else 0) for address, line, discriminator in self.run()]

    def run(self) -> list[tuple[int, int, int]]:
        """Address, line and discriminator of each row; the end of a sequence is a row without a line."""
        data, first, base, range_ = self.data, self.first, self.base, self.range
        rows: list[tuple[int, int, int]] = []
        address, line, discriminator = 0, 1, 0
        while self.at < self.stop:
            opcode = data[self.at]
            self.at += 1
            if opcode >= first:
                address += (opcode - first) // range_
                line += base + (opcode - first) % range_
                rows.append((address, line, discriminator))
                discriminator = 0
            elif opcode == _COPY:
                rows.append((address, line, discriminator))
                discriminator = 0
            elif opcode == _EXTENDED:
                size = self.unsigned()
                after = self.at + size
                kind = data[self.at]
                self.at += 1
                if kind == _END_SEQUENCE:
                    rows.append((address, 0, 0))
                    address, line, discriminator = 0, 1, 0
                elif kind == _SET_ADDRESS:
                    address = self.starts.get(self.at, 0)
                elif kind == _SET_DISCRIMINATOR:
                    discriminator = self.unsigned()
                self.at = after
            elif opcode == _ADVANCE_PC:
                address += self.unsigned()
            elif opcode == _ADVANCE_LINE:
                line += self.signed()
            elif opcode == _CONST_ADD_PC:
                address += (255 - first) // range_
            elif opcode == _FIXED_ADVANCE_PC:
                address += int.from_bytes(data[self.at : self.at + 2], "little")
                self.at += 2
            elif opcode in (_SET_FILE, _SET_COLUMN, _SET_ISA):
                self.unsigned()
        return rows

    def unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def signed(self) -> int:
        start = self.at
        value = self.unsigned()
        bits = 7 * (self.at - start)
        return value - (1 << bits) if self.data[self.at - 1] & 0x40 else value
