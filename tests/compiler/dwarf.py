"""A reader of line tables: the lines that DWARF 4 gives to the code of a relocatable object."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple


class Section(NamedTuple):
    name: str
    type: int
    data: bytes
    link: int


def sections(elf: bytes) -> list[Section]:
    assert elf[:4] == b"\x7fELF"
    start, count, names = struct.unpack_from("<Q", elf, 40)[0], *struct.unpack_from("<HH", elf, 60)
    headers = [struct.unpack_from("<IIQQQQIIQQ", elf, start + 64 * number) for number in range(count)]
    text = headers[names][4]
    found = []
    for name, type_, _, _, offset, size, link, *_ in headers:
        spelled = elf[text + name : elf.index(b"\0", text + name)].decode()
        found.append(Section(spelled, type_, b"" if type_ == 8 else elf[offset : offset + size], link))
    return found


def section(elf: bytes, name: str) -> bytes:
    """Its bytes; none where there is no such section."""
    return b"".join(each.data for each in sections(elf) if each.name == name)


def symbols(elf: bytes) -> set[str]:
    """Names of what other objects may see."""
    found = sections(elf)
    table = next(each for each in found if each.type == 2)
    names = found[table.link].data
    rows = struct.iter_unpack("<IBBHQQ", table.data)
    return {
        names[name : names.index(b"\0", name)].decode()
        for name, info, _, place, _, _ in rows
        if info >> 4 == 1 and place
    }


def names(elf: bytes) -> set[str]:
    """Everything that debug information calls by name."""
    return set(section(elf, ".debug_str").decode().split("\0"))


def lines(elf: bytes) -> set[int]:
    """All line numbers that instructions have."""
    data = section(elf, ".debug_line")
    found: set[int] = set()
    at = 0
    while at < len(data):
        end = at + 4 + struct.unpack_from("<I", data, at)[0]
        found |= set(_rows(data[at:end]))
        at = end
    return found - {0}


def _rows(unit: bytes) -> Iterator[int]:
    _, version, header, shortest, _, _, base, span, first = struct.unpack_from("<IHIBBBbBB", unit)
    assert (version, shortest) == (4, 1)
    lengths = unit[16 : 16 + first - 1]
    at, line = 10 + header, 1
    while at < len(unit):
        opcode = unit[at]
        at += 1
        if opcode >= first:
            line += base + (opcode - first) % span
            yield line
        elif opcode == 0:
            size, at = _number(unit, at)
            if unit[at] == 1:  # the end of a sequence
                line = 1
            at += size
        elif opcode == 1:
            yield line
        elif opcode == 3:
            by, at = _number(unit, at, signed=True)
            line += by
        elif opcode == 9:
            at += 2
        else:
            for _ in range(lengths[opcode - 1]):
                _, at = _number(unit, at)


def _number(data: bytes, at: int, signed: bool = False) -> tuple[int, int]:
    """LEB128, and the place behind it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value - (1 << shift if signed and byte & 0x40 else 0), at
