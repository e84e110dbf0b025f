"""Corrections to SPIR-V that clang's own SPIR-V target writes wrongly."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from anyzero.spirv.numbers import Op

__all__ = ["repaired"]

_HEAD: Final = 5
"""Words before the first instruction."""


def repaired(spirv: bytes) -> bytes:
    """The module without the mistakes of clang 22: it writes the type of a null event, the last argument of
    `async_work_group_copy`, twice.
    """
    if len(spirv) % 4:
        return spirv
    words = struct.unpack(f"<{len(spirv) // 4}I", spirv)
    made = list(words[:_HEAD])
    for at, size in _instructions(words):
        if words[at] == 4 << 16 | Op.ConstantNull and words[at + 1] == words[at + 3]:
            made += (3 << 16 | Op.ConstantNull, *words[at + 1 : at + 3])
        else:
            made += words[at : at + size]
    return struct.pack(f"<{len(made)}I", *made)


def _instructions(words: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Index and size of each instruction; damaged words come as one."""
    at = _HEAD
    while at < len(words):
        size = words[at] >> 16 or len(words) - at
        yield at, size
        at += size
