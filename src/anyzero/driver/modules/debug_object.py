"""Debug information of a module: the objects of its kernels as one relocatable ELF file with DWARF.

Sections of one name are put behind each other, as `ld -r` does. A kernel's entry gets the kernel's name; every other
symbol that an object defines becomes local, because kernels bring code of the same name along.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

__all__ = ["merge"]

_FILE: Final = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_RELOCATION: Final = struct.Struct("<QQq")

_PROGBITS, _SYMTAB, _STRTAB, _RELA, _NOBITS = 1, 2, 3, 4, 8
_KEPT: Final = frozenset({_PROGBITS, 7, _NOBITS, 0x70000001})  # and notes, and unwinding tables
_LOCAL, _GLOBAL = 0, 1
_SECTION_SYMBOL, _FILE_SYMBOL = 3, 4
_UNDEFINED, _RESERVED = 0, 0xFF00
_INFO_LINK: Final = 0x40


class _Header(NamedTuple):
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


class _Symbol(NamedTuple):
    name: int
    info: int
    other: int
    section: int
    value: int
    size: int


@dataclass(slots=True, eq=False)
class _Section:
    name: bytes
    type: int
    flags: int
    alignment: int
    entry: int
    number: int
    data: bytearray = field(default_factory=bytearray)
    size: int = 0
    relocations: list[tuple[int, int, tuple[int, int], int]] = field(default_factory=list)
    """Offset, type, symbol as binding and place among those of its binding, addend."""

    def add(self, data: bytes, size: int, alignment: int) -> int:
        """Where it begins."""
        self.alignment = max(self.alignment, alignment)
        start = -(-self.size // max(alignment, 1)) * max(alignment, 1)
        self.size = start + size
        if self.type != _NOBITS:
            self.data += bytes(start - len(self.data)) + data
        return start


def merge(objects: Mapping[str, tuple[bytes, str]]) -> bytes:
    """One file for the objects of several kernels, by name; with each goes the symbol of its entry."""
    merged = _Merged()
    for name, (data, entry) in objects.items():
        merged.add(name.encode(), data, entry.encode())
    return merged.file()


class _Merged:
    def __init__(self) -> None:
        self.sections: dict[tuple[bytes, int, int, int], _Section] = {}
        self.symbols: tuple[list[tuple[bytes, _Symbol]], list[tuple[bytes, _Symbol]]] = ([(b"", _Symbol(*[0] * 6))], [])
        """Local ones, and global ones."""
        self.undefined: dict[bytes, tuple[int, int]] = {}

    def add(self, kernel: bytes, data: bytes, entry: bytes) -> None:
        head = _FILE.unpack_from(data)
        headers = [_Header(*_SECTION.unpack_from(data, head[6] + n * _SECTION.size)) for n in range(head[12])]
        names = headers[head[13]]
        places = {}
        for index, header in enumerate(headers):
            if header.type in _KEPT:
                places[index] = self._section(header, _text(data, names, header.name), data)
        table = next(header for header in headers if header.type == _SYMTAB)
        symbols = [self._symbol(data, headers, table, at, places, kernel, entry) for at in range(table.size // 24)]
        for header in headers:
            if header.type == _RELA and header.info in places:
                self._relocations(data, header, places, symbols)

    def _section(self, header: _Header, name: bytes, data: bytes) -> tuple[_Section, int]:
        key = name, header.type, header.flags, header.entry
        found = self.sections.get(key)
        if found is None:
            number = len(self.sections) + 1
            found = _Section(name, header.type, header.flags, header.alignment, header.entry, number)
            self.sections[key] = found
            self.symbols[_LOCAL].append((b"", _Symbol(0, _SECTION_SYMBOL, 0, number, 0, 0)))
        content = b"" if header.type == _NOBITS else data[header.offset : header.offset + header.size]
        return found, found.add(content, header.size, header.alignment)

    def _symbol(
        self,
        data: bytes,
        headers: list[_Header],
        table: _Header,
        at: int,
        places: dict[int, tuple[_Section, int]],
        kernel: bytes,
        entry: bytes,
    ) -> tuple[tuple[int, int], int]:
        """The symbol in the merged file, and what is added to a reference to it."""
        symbol = _Symbol(*_SYMBOL.unpack_from(data, table.offset + at * _SYMBOL.size))
        kind = symbol.info & 0xF
        if symbol.section in places and kind == _SECTION_SYMBOL:
            section, start = places[symbol.section]
            return (_LOCAL, section.number), start
        name = _text(data, headers[table.link], symbol.name)
        if symbol.section == _UNDEFINED and name:
            if name not in self.undefined:
                self.undefined[name] = self._put(_GLOBAL, name, symbol._replace(section=0))
            return self.undefined[name], 0
        if symbol.section in places:
            section, start = places[symbol.section]
            moved = symbol._replace(section=section.number, value=symbol.value + start)
            if name == entry:
                return self._put(_GLOBAL, kernel, moved), 0
            return self._put(_LOCAL, name, moved._replace(info=kind)), 0
        if symbol.section >= _RESERVED and kind != _FILE_SYMBOL:
            return self._put(_LOCAL, name, symbol._replace(info=kind)), 0
        return (_LOCAL, 0), 0

    def _put(self, binding: int, name: bytes, symbol: _Symbol) -> tuple[int, int]:
        listed = self.symbols[binding]
        listed.append((name, symbol))
        return binding, len(listed) - 1

    def _relocations(
        self,
        data: bytes,
        header: _Header,
        places: dict[int, tuple[_Section, int]],
        symbols: list[tuple[tuple[int, int], int]],
    ) -> None:
        section, start = places[header.info]
        for at in range(header.offset, header.offset + header.size, _RELOCATION.size):
            offset, info, addend = _RELOCATION.unpack_from(data, at)
            symbol, moved = symbols[info >> 32]
            section.relocations.append((offset + start, info & 0xFFFFFFFF, symbol, addend + moved))

    def file(self) -> bytes:
        texts = _Texts()
        sections = list(self.sections.values())
        relocated = [section for section in sections if section.relocations]
        symtab, strtab = len(sections) + len(relocated) + 1, len(sections) + len(relocated) + 2
        local = len(self.symbols[_LOCAL])
        out = bytearray(_FILE.size)
        headers = [bytes(_SECTION.size)]

        def put(name: bytes, type_: int, data: bytes, **more: int) -> None:
            alignment = more.get("alignment", 8)
            out.extend(bytes(-len(out) % max(alignment, 1)))
            headers.append(
                _SECTION.pack(
                    *(texts.place(name), type_, more.get("flags", 0), 0, len(out), more.get("size", len(data))),
                    *(more.get("link", 0), more.get("info", 0), alignment, more.get("entry", 0)),
                )
            )
            out.extend(data)

        for each in sections:
            put(
                *(each.name, each.type, bytes(each.data)),
                size=each.size,
                flags=each.flags,
                alignment=each.alignment,
                entry=each.entry,
            )
        for each in relocated:
            rows = b"".join(
                _RELOCATION.pack(offset, (place + local * binding) << 32 | type_, addend)
                for offset, type_, (binding, place), addend in each.relocations
            )
            put(b".rela" + each.name, _RELA, rows, flags=_INFO_LINK, link=symtab, info=each.number, entry=24)
        rows = b"".join(
            _SYMBOL.pack(*symbol._replace(name=texts.place(name))) for listed in self.symbols for name, symbol in listed
        )
        put(b".symtab", _SYMTAB, rows, link=strtab, info=local, entry=_SYMBOL.size)
        texts.place(b".strtab")
        put(b".strtab", _STRTAB, bytes(texts.data), alignment=1)
        out.extend(bytes(-len(out) % 8))
        ident = b"\x7fELF\x02\x01\x01" + bytes(9)
        head = _FILE.pack(ident, 1, 62, 1, 0, 0, len(out), 0, 64, 0, 0, _SECTION.size, len(headers), strtab)
        out[: _FILE.size] = head
        return bytes(out) + b"".join(headers)


class _Texts:
    def __init__(self) -> None:
        self.data = bytearray(b"\0")
        self._places = {b"": 0}

    def place(self, text: bytes) -> int:
        if text not in self._places:
            self._places[text] = len(self.data)
            self.data += text + b"\0"
        return self._places[text]


def _text(data: bytes, table: _Header, at: int) -> bytes:
    start = table.offset + at
    return data[start : data.index(b"\0", start)]
