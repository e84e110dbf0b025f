"""Instructions of x86-64 machine code: the offset and the kind of each.

This is no disassembler: it finds lengths, and the kinds that show what a kernel waits for. It knows the encodings that
compilers use in 64-bit code; at unknown bytes it stops.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

__all__ = ["Instruction", "Kind", "instructions"]


class Kind(StrEnum):
    """The kind of an instruction, as far as it matters for its cost."""

    GATHER = "gather"
    SCATTER = "scatter"
    DIVISION = "division"
    LOAD = "load"
    STORE = "store"
    BRANCH = "branch"
    ARITHMETIC = "arithmetic"


class Instruction(NamedTuple):
    """One instruction of a kernel."""

    offset: int
    length: int
    kind: Kind


_PREFIXES = frozenset(b"\x66\x67\xf2\xf3\xf0\x2e\x36\x3e\x26\x64\x65")
_ADDRESSES = frozenset(
    (0x18, 0x1F, 0x0D)
)  # prefetches and nops of the map 0F: they name memory, and do not wait for it
_STORES = {
    0: frozenset((0x88, 0x89, 0xC6, 0xC7, 0x8F)),
    1: frozenset((0x11, 0x13, 0x17, 0x29, 0x2B, 0x7F, 0xC3, 0xD6, 0xE7)),
    2: frozenset((0x2E, 0x2F, 0x8A, 0x8B, 0x8E, 0x63)),
    3: frozenset((0x14, 0x15, 0x16, 0x17, 0x19, 0x1B, 0x1D, 0x39, 0x3B)),
}
_NARROWING = frozenset((*range(0x10, 0x16), *range(0x20, 0x26), *range(0x30, 0x36)))
_PLAIN_MAP1 = frozenset(
    (0x05, 0x06, 0x08, 0x09, 0x0B, *range(0x30, 0x36), 0x77, 0xA0, 0xA1, 0xA2, 0xA8, 0xA9, 0xAA, *range(0xC8, 0xD0))
)
_IMMEDIATE_MAP1 = frozenset((0x70, 0x71, 0x72, 0x73, 0xA4, 0xAC, 0xBA, 0xC2, 0xC4, 0xC5, 0xC6))


class _Head(NamedTuple):
    """The prefixes and the opcode of an instruction, before its operands."""

    at: int
    """The index of the byte behind the opcode."""
    map: int
    opcode: int
    operand_size: bool
    """A prefix makes immediates shorter."""
    wide: bool
    prefix: int
    """66, F3 or F2, as a prefix or inside VEX and EVEX; else 0."""


def instructions(code: bytes) -> Iterator[Instruction]:
    """The instructions of a piece of code, up to its end or to bytes that are none."""
    at = 0
    while at < len(code):
        try:
            found = _decode(code, at)
        except IndexError:
            return
        if found is None or found.offset + found.length > len(code):
            return
        yield found
        at += found.length


def _head(code: bytes, at: int) -> _Head:
    short, prefix = False, 0
    while code[at] in _PREFIXES:
        short |= code[at] == 0x66
        if code[at] in (0x66, 0xF2, 0xF3):
            prefix = code[at]
        at += 1
    vector_prefix = (0, 0x66, 0xF3, 0xF2)
    first = code[at]
    if first == 0xC5:
        return _Head(at + 3, 1, code[at + 2], False, False, vector_prefix[code[at + 1] & 3])
    if first == 0xC4:
        return _Head(at + 4, code[at + 1] & 31, code[at + 3], False, False, vector_prefix[code[at + 2] & 3])
    if first == 0x62:
        return _Head(at + 5, code[at + 1] & 7, code[at + 4], False, False, vector_prefix[code[at + 2] & 3])
    wide = False
    if first & 0xF0 == 0x40:
        wide = bool(first & 8)
        at += 1
    if code[at] != 0x0F:
        return _Head(at + 1, 0, code[at], short, wide, prefix)
    if code[at + 1] in (0x38, 0x3A):
        return _Head(at + 3, 2 if code[at + 1] == 0x38 else 3, code[at + 2], short, wide, prefix)
    return _Head(at + 2, 1, code[at + 1], short, wide, prefix)


def _decode(code: bytes, offset: int) -> Instruction | None:
    head = _head(code, offset)
    at, memory, register = head.at, False, 0
    if _has_operands(head):
        mode, register, base = code[at] >> 6, code[at] >> 3 & 7, code[at] & 7
        at += 1
        memory = mode != 3
        if memory and base == 4:
            base = code[at] & 7
            at += 1
        if mode == 1:
            at += 1
        elif mode == 2 or (mode == 0 and base == 5):
            at += 4
    immediate = _immediate(head, register)
    if immediate is None:
        return None
    return Instruction(offset, at + immediate - offset, _kind(head, memory=memory, register=register))


def _has_operands(head: _Head) -> bool:
    """Whether a ModRM byte follows the opcode."""
    code = head.opcode
    if head.map == 0:
        if code < 0x40:
            return code & 7 < 4
        return (
            code in (0x63, 0x69, 0x6B, 0xC0, 0xC1, 0xC6, 0xC7, 0xF6, 0xF7, 0xFE, 0xFF)
            or 0x80 <= code <= 0x8F
            or 0xD0 <= code <= 0xD3
            or 0xD8 <= code <= 0xDF
        )
    if head.map == 1:
        return code not in _PLAIN_MAP1 and not 0x80 <= code <= 0x8F
    return True


def _immediate(head: _Head, register: int) -> int | None:
    """Bytes behind the operands; None for an opcode that 64-bit code does not have."""
    code, full = head.opcode, 2 if head.operand_size else 4
    if head.map == 1:
        return 4 if 0x80 <= code <= 0x8F else int(code in _IMMEDIATE_MAP1)
    if head.map:
        return int(head.map == 3)
    if code < 0x40:
        if code & 7 > 5:
            return None
        return (0, 0, 0, 0, 1, full)[code & 7]
    if 0xB8 <= code <= 0xBF:
        return 8 if head.wide else full
    if 0xA0 <= code <= 0xA3:
        return 8
    if code in (0xF6, 0xF7):
        return 0 if register > 1 else 1 if code == 0xF6 else full
    for size, codes in (
        (1, (0x6A, 0x6B, 0x80, 0x83, 0xA8, 0xC0, 0xC1, 0xC6, 0xCD, 0xEB)),
        (full, (0x68, 0x69, 0x81, 0xA9, 0xC7)),
        (4, (0xE8, 0xE9)),
        (2, (0xC2, 0xCA)),
        (3, (0xC8,)),
        (None, (0x60, 0x61, 0x62, 0x82, 0x9A, 0xC4, 0xC5, 0xCE, 0xD4, 0xD5, 0xD6, 0xEA)),
    ):
        if code in codes:
            return size
    return int(0x70 <= code <= 0x7F or 0xB0 <= code <= 0xB7 or 0xE0 <= code <= 0xE7)


def _kind(head: _Head, *, memory: bool, register: int) -> Kind:
    code = head.opcode
    if head.map == 2 and head.prefix == 0x66 and memory:
        if 0x90 <= code <= 0x93:
            return Kind.GATHER
        if 0xA0 <= code <= 0xA3:
            return Kind.SCATTER
    if (head.map == 1 and code in (0x51, 0x5E)) or (head.map == 0 and code in (0xF6, 0xF7) and register >= 6):
        return Kind.DIVISION
    if (head.map == 0 and (0x70 <= code <= 0x7F or code in (0xC3, 0xE8, 0xE9, 0xEB))) or (
        head.map == 1 and 0x80 <= code <= 0x8F
    ):
        return Kind.BRANCH
    if not memory or (head.map == 0 and code == 0x8D) or (head.map == 1 and code in _ADDRESSES):
        return Kind.ARITHMETIC
    narrowing = head.map == 2 and head.prefix == 0xF3 and code in _NARROWING
    scalar_store = head.map == 1 and code == 0x7E and head.prefix != 0xF3
    if code in _STORES.get(head.map, ()) or narrowing or scalar_store:
        return Kind.STORE
    return Kind.LOAD
