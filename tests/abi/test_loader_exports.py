"""Our loader exports every function of a current loader, and no other. Read from the file itself."""

from __future__ import annotations

import ctypes
import struct
from ctypes import c_uint32, c_uint64, c_void_p
from pathlib import Path

import pytest

from codegen import gaps, loader_names
from tests.abi.calls import INVALID_NULL_POINTER, LIBRARY, OK, UNSUPPORTED_VERSION
from tests.abi.loaders import LOADER
from tests.abi.specification import api

DYNAMIC, SYMBOL = struct.Struct("<qQ"), struct.Struct("<IBBHQQ")
DT_NEEDED, DT_SONAME, DT_FLAGS_1 = 1, 14, 0x6FFFFFFB
DF_1_NODELETE = 8
SHT_STRTAB, SHT_DYNAMIC, SHT_DYNSYM = 3, 6, 11
UNTOUCHED = 0x5A5A5A5A5A5A5A5A


class Elf:
    """The dynamic section and the dynamic symbols of a 64-bit little-endian shared object."""

    def __init__(self, path: Path) -> None:
        self.data = path.read_bytes()
        assert self.data[:6] == b"\x7fELF\x02\x01"
        (offset,) = struct.unpack_from("<Q", self.data, 0x28)
        size, count = struct.unpack_from("<HH", self.data, 0x3A)
        header = struct.Struct("<IIQQQQIIQQ")
        self.sections = [header.unpack_from(self.data, offset + index * size) for index in range(count)]

    def _table(self, kind: int, entry: struct.Struct) -> tuple[list[tuple[int, ...]], bytes]:
        section = next(section for section in self.sections if section[1] == kind)
        strings = self.sections[section[6]]
        assert strings[1] == SHT_STRTAB
        rows = entry.iter_unpack(self.data[section[4] : section[4] + section[5]])
        return list(rows), self.data[strings[4] : strings[4] + strings[5]]

    def exports(self) -> set[str]:
        rows, strings = self._table(SHT_DYNSYM, SYMBOL)
        return {_text(strings, row[0]) for row in rows if row[3] != 0 and row[1] >> 4 != 0}

    def dynamic(self, tag: int) -> list[int | str]:
        rows, strings = self._table(SHT_DYNAMIC, DYNAMIC)
        found = [value for key, value in rows if key == tag]
        return [_text(strings, value) if tag in (DT_NEEDED, DT_SONAME) else value for value in found]


def _text(strings: bytes, start: int) -> str:
    return strings[start : strings.index(b"\0", start)].decode()


@pytest.fixture(scope="module")
def lib() -> ctypes.CDLL:
    return ctypes.CDLL(str(LOADER))


def test_every_name_of_a_current_loader_is_exported_and_no_other() -> None:
    found, expected = Elf(LOADER).exports(), loader_names.exports(api())
    assert sorted(expected - found) == []
    assert sorted(found - expected) == []


def test_the_names_are_those_of_the_specification() -> None:
    expected = loader_names.exports(api())
    assert expected >= set(api().functions)
    assert {table.getter for table in api().tables.values()} <= expected
    assert {name[:3] for name in expected} <= {"zel", *(name[:3] for name in api().functions), "zeL"}
    assert {
        "zelTracerInitRegisterCallback",
        "zelTracerCommandListAppendLaunchKernelRegisterCallback",
        "zelTracerGetDefaultContextRegisterCallback",
    } <= expected
    assert len([name for name in expected if name.endswith("RegisterCallback")]) == 4 + sum(
        len(table.slots) for table in api().tables.values() if table.namespace == "ze"
    )


def test_the_driver_and_the_loader_differ_only_in_what_a_loader_adds() -> None:
    added = Elf(LOADER).exports() - Elf(LIBRARY).exports()
    assert added == loader_names.exports(api()) - set(api().functions)


def test_the_reader_of_the_file_agrees_with_the_system(lib: ctypes.CDLL) -> None:
    for name in Elf(LOADER).exports():
        assert hasattr(lib, name), name


def test_it_is_known_by_the_name_that_programs_ask_for() -> None:
    elf = Elf(LOADER)
    assert elf.dynamic(DT_SONAME) == ["libze_loader.so.1"]
    system = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2", "libgcc_s.so.1"}
    assert set(elf.dynamic(DT_NEEDED)) <= system
    (flags,) = elf.dynamic(DT_FLAGS_1)
    assert isinstance(flags, int)
    assert flags & DF_1_NODELETE


@pytest.mark.parametrize("version", [(1, 0), (1, 6), (1, 10), (1, 11), (1, 15), (1, 17), (1, 99)])
def test_tables_hold_the_loaders_own_functions(lib: ctypes.CDLL, version: tuple[int, int]) -> None:
    """As far as they exist at the version of the caller, whose tables are shorter than ours when it is older."""
    for table in api().tables.values():
        room = (c_uint64 * (len(table.slots) + 8))(*[UNTOUCHED] * (len(table.slots) + 8))
        assert getattr(lib, table.getter)(c_uint32(version[0] << 16 | version[1]), room) == OK
        reordered = gaps.REORDERED.get(table.type)
        for slot, value in zip(table.slots, room, strict=False):
            there = api().functions[slot.function].since <= version and not (reordered and version < reordered)
            own = ctypes.cast(getattr(lib, slot.function), c_void_p).value
            assert value == (own if there else UNTOUCHED), f"{table.getter} {version}: {slot.name}"
        assert list(room[len(table.slots) :]) == [UNTOUCHED] * 8, table.getter


def test_tables_that_cannot_be_filled(lib: ctypes.CDLL) -> None:
    for table in api().tables.values():
        room = (c_uint64 * len(table.slots))(*[UNTOUCHED] * len(table.slots))
        getter = getattr(lib, table.getter)
        getter.restype = c_uint32
        assert getter(c_uint32(0x20000), room) == UNSUPPORTED_VERSION
        assert list(room) == [UNTOUCHED] * len(table.slots)
        assert getter(c_uint32(0x10011), None) == INVALID_NULL_POINTER
