"""The libraries as they are linked: what can be read-only is, no stack is executable, and stacks are checked."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.abi.calls import LIBRARY

LIBRARIES = [LIBRARY.with_name(name) for name in ("libze_anyzero.so.1", "libze_loader.so.1", "libanyzero_calls.so")]

PT_DYNAMIC, PT_NOTE = 2, 4
PT_GNU_STACK, PT_GNU_RELRO, PT_GNU_PROPERTY = 0x6474E551, 0x6474E552, 0x6474E553
DT_STRTAB, DT_SYMTAB, DT_TEXTREL, DT_FLAGS, DT_FLAGS_1 = 5, 6, 22, 30, 0x6FFFFFFB
DF_TEXTREL, DF_BIND_NOW, DF_1_NOW = 4, 8, 1
EXECUTABLE, WRITABLE = 1, 2
X86_FEATURES, SHADOW_STACK = 0xC0000002, 2


@dataclass(frozen=True)
class Segment:
    kind: int
    flags: int
    content: bytes


class Elf:
    """As much of a 64-bit ELF file as says how it is loaded."""

    def __init__(self, path: Path) -> None:
        self.data = path.read_bytes()
        assert self.data[:5] == b"\x7fELF\x02"
        at, size, count = struct.unpack_from("<Q14xHH", self.data, 32)
        self.segments = [self._segment(at + size * index) for index in range(count)]
        (dynamic,) = self.of(PT_DYNAMIC)
        self.dynamic = dict(struct.iter_unpack("<QQ", dynamic.content))

    def _segment(self, at: int) -> Segment:
        kind, flags, offset, _, _, size = struct.unpack_from("<IIQQQQ", self.data, at)
        return Segment(kind, flags, self.data[offset : offset + size])

    def of(self, kind: int) -> list[Segment]:
        return [each for each in self.segments if each.kind == kind]

    def x86_features(self) -> Iterator[int]:
        """The protection flags of the file."""
        for note in self.of(PT_GNU_PROPERTY):
            at = 16
            while at + 8 <= len(note.content):
                kind, size = struct.unpack_from("<II", note.content, at)
                if kind == X86_FEATURES:
                    yield struct.unpack_from("<I", note.content, at + 8)[0]
                at += 8 + -(-size // 8) * 8

    def imports(self) -> set[str]:
        """The imported symbols of the file; its string table follows its symbol table."""
        names, symbols = self.dynamic[DT_STRTAB], self.dynamic[DT_SYMTAB]
        found = set()
        table = self.data[symbols : names - (names - symbols) % 24]
        for name, _, _, section, _, _ in struct.iter_unpack("<IBBHQQ", table):
            if section == 0 and name:
                found.add(self.data[names + name : self.data.index(b"\0", names + name)].decode())
        return found


@pytest.fixture(params=LIBRARIES, ids=lambda path: path.name)
def elf(request: pytest.FixtureRequest) -> Elf:
    return Elf(request.param)


def test_relocated_data_is_read_only(elf: Elf) -> None:
    assert elf.of(PT_GNU_RELRO), "no RELRO"
    assert elf.dynamic.get(DT_FLAGS, 0) & DF_BIND_NOW or elf.dynamic.get(DT_FLAGS_1, 0) & DF_1_NOW, (
        "functions are bound late"
    )


def test_nothing_writable_is_executable(elf: Elf) -> None:
    (stack,) = elf.of(PT_GNU_STACK)
    assert not stack.flags & EXECUTABLE
    assert not [each for each in elf.segments if each.flags & EXECUTABLE and each.flags & WRITABLE]
    assert DT_TEXTREL not in elf.dynamic
    assert not elf.dynamic.get(DT_FLAGS, 0) & DF_TEXTREL


def test_no_shadow_stack_is_promised(elf: Elf) -> None:
    """Kernels that fault are left by a jump, which one would take for an attack."""
    assert not [each for each in elf.x86_features() if each & SHADOW_STACK]


def test_stacks_and_copies_are_checked() -> None:
    imports = Elf(LIBRARIES[0]).imports()
    assert "__stack_chk_fail" in imports
    assert {name for name in imports if name.endswith("_chk")}, "nothing of _FORTIFY_SOURCE is left"
    assert "__stack_chk_fail" in Elf(LIBRARIES[1]).imports()
