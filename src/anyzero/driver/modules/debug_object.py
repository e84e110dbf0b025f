"""Debug information of a module: the objects of its kernels as one relocatable ELF file with DWARF.

Sections of one name are put behind each other, as `ld -r` does. A kernel's entry gets the kernel's name; every other
symbol that an object defines becomes local, because the objects of several kernels define the same names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from anyzero.compiler import elf
from anyzero.compiler.elf import GLOBAL, LOCAL, Header, Object, Symbol
from anyzero.lazy_dataclass import dataclass, field

__all__ = ["merge"]

_KEPT: Final = frozenset({elf.PROGBITS, elf.NOTE, elf.NOBITS, elf.X86_64_UNWIND})


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
        """Appends the data; returns the offset at which it begins."""
        self.alignment = max(self.alignment, alignment)
        start = -(-self.size // max(alignment, 1)) * max(alignment, 1)
        self.size = start + size
        if self.type != elf.NOBITS:
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
        self.symbols: tuple[list[tuple[bytes, Symbol]], list[tuple[bytes, Symbol]]] = ([(b"", Symbol(*[0] * 6))], [])
        """Local ones, and global ones."""
        self.undefined: dict[bytes, tuple[int, int]] = {}

    def add(self, kernel: bytes, data: bytes, entry: bytes) -> None:
        given = Object(data)
        places = {
            index: self._section(given, header) for index, header in enumerate(given.headers) if header.type in _KEPT
        }
        symbols = [self._symbol(name, symbol, places, kernel, entry) for name, symbol in given.symbols]
        for header in given.headers:
            if header.type == elf.RELA and header.info in places:
                self._relocations(given, header, places[header.info], symbols)

    def _section(self, given: Object, header: Header) -> tuple[_Section, int]:
        name = given.name(header)
        key = name, header.type, header.flags, header.entry
        found = self.sections.get(key)
        if found is None:
            number = len(self.sections) + 1
            found = _Section(name, header.type, header.flags, header.alignment, header.entry, number)
            self.sections[key] = found
            self.symbols[LOCAL].append((b"", Symbol(0, elf.SECTION_SYMBOL, 0, number, 0, 0)))
        return found, found.add(given.content(header), header.size, header.alignment)

    def _symbol(
        self, name: bytes, symbol: Symbol, places: dict[int, tuple[_Section, int]], kernel: bytes, entry: bytes
    ) -> tuple[tuple[int, int], int]:
        """The symbol in the merged file, and the addend of references to it."""
        if symbol.section in places and symbol.type == elf.SECTION_SYMBOL:
            section, start = places[symbol.section]
            return (LOCAL, section.number), start
        if symbol.section == elf.UNDEFINED and name:
            if name not in self.undefined:
                self.undefined[name] = self._put(GLOBAL, name, symbol._replace(section=0))
            return self.undefined[name], 0
        if symbol.section in places:
            section, start = places[symbol.section]
            moved = symbol._replace(section=section.number, value=symbol.value + start)
            if name == entry:
                return self._put(GLOBAL, kernel, moved), 0
            return self._put(LOCAL, name, moved._replace(info=symbol.type)), 0
        if symbol.section >= elf.RESERVED and symbol.type != elf.FILE_SYMBOL:
            return self._put(LOCAL, name, symbol._replace(info=symbol.type)), 0
        return (LOCAL, 0), 0

    def _put(self, binding: int, name: bytes, symbol: Symbol) -> tuple[int, int]:
        listed = self.symbols[binding]
        listed.append((name, symbol))
        return binding, len(listed) - 1

    def _relocations(
        self,
        given: Object,
        header: Header,
        place: tuple[_Section, int],
        symbols: list[tuple[tuple[int, int], int]],
    ) -> None:
        section, start = place
        for each in given.relocations(header):
            symbol, moved = symbols[each.symbol]
            section.relocations.append((each.offset + start, each.type, symbol, each.addend + moved))

    def file(self) -> bytes:
        texts = _Texts()
        sections = list(self.sections.values())
        relocated = [section for section in sections if section.relocations]
        symtab, strtab = len(sections) + len(relocated) + 1, len(sections) + len(relocated) + 2
        local = len(self.symbols[LOCAL])
        out = bytearray(elf.FILE.size)
        headers = [bytes(elf.SECTION.size)]

        def put(name: bytes, type_: int, data: bytes, **more: int) -> None:
            alignment = more.get("alignment", 8)
            out.extend(bytes(-len(out) % max(alignment, 1)))
            headers.append(
                elf.SECTION.pack(
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
                elf.RELOCATION.pack(offset, (place + local * binding) << 32 | type_, addend)
                for offset, type_, (binding, place), addend in each.relocations
            )
            put(b".rela" + each.name, elf.RELA, rows, flags=elf.INFO_LINK, link=symtab, info=each.number, entry=24)
        rows = b"".join(
            elf.SYMBOL.pack(*symbol._replace(name=texts.place(name)))
            for listed in self.symbols
            for name, symbol in listed
        )
        put(b".symtab", elf.SYMTAB, rows, link=strtab, info=local, entry=elf.SYMBOL.size)
        texts.place(b".strtab")
        put(b".strtab", elf.STRTAB, bytes(texts.data), alignment=1)
        out.extend(bytes(-len(out) % 8))
        ident = b"\x7fELF\x02\x01\x01" + bytes(9)
        head = elf.FILE.pack(ident, 1, 62, 1, 0, 0, len(out), 0, 64, 0, 0, elf.SECTION.size, len(headers), strtab)
        out[: elf.FILE.size] = head
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
