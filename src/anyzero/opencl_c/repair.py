"""Corrections to SPIR-V that clang's own SPIR-V target writes wrongly."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from anyzero.spirv.numbers import ExecutionMode, Op

__all__ = ["HEAD", "RELAXED_PRINTF", "instructions", "repaired"]

HEAD: Final = 5
"""Words before the first instruction."""

RELAXED_PRINTF: Final = "SPV_EXT_relaxed_printf_string_address_space"
_NOT_NEEDED: Final = struct.unpack("<11I", RELAXED_PRINTF.encode().ljust(44, b"\0"))


def repaired(spirv: bytes, *, contracts: bool) -> bytes:
    """The module without the mistakes of clang 22: it writes the type of a null event, the last argument of
    `async_work_group_copy`, once more for each of the calls, and names an extension for formats outside of constant
    memory, where OpenCL C has none. It forbids to contract operations in any case; `contracts` tells whether the source
    allows it.
    """
    if len(spirv) % 4:
        return spirv
    words = struct.unpack(f"<{len(spirv) // 4}I", spirv)
    made = list(words[:HEAD])
    for at, size in instructions(words):
        op, operands = words[at] & 0xFFFF, words[at + 1 : at + size]
        if op == Op.ConstantNull and len(operands) > 2 and set(operands[2:]) == {operands[0]}:
            made += (3 << 16 | Op.ConstantNull, *operands[:2])
            continue
        if op == Op.Extension and operands == _NOT_NEEDED:
            continue
        if contracts and op == Op.ExecutionMode and operands[1:] == (ExecutionMode.ContractionOff,):
            continue
        made += words[at : at + size]
    return struct.pack(f"<{len(made)}I", *made)


def instructions(words: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Index and size of each instruction; damaged words come as one."""
    at = HEAD
    while at < len(words):
        size = words[at] >> 16 or len(words) - at
        yield at, size
        at += size
