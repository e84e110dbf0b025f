"""The encoding of the messages of `anyzero.layouts`: packed, little endian, texts and blobs behind their length.

>>> Reader(Writer().u32(7).text("seven").done()).u32()
7
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final, Self

__all__ = ["Reader", "WireError", "Writer"]

_U32: Final = struct.Struct("<I")
_U64: Final = struct.Struct("<Q")


class WireError(ValueError):
    """Malformed bytes."""


class Reader:
    """Takes values off the front; every length is checked against the number of bytes left."""

    def __init__(self, data: bytes | bytearray | memoryview) -> None:
        self._data = memoryview(data).cast("B")
        self._place = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._place

    def u32(self) -> int:
        value: int = _U32.unpack(self._take(4))[0]
        return value

    def u64(self) -> int:
        value: int = _U64.unpack(self._take(8))[0]
        return value

    def raw(self, size: int) -> bytes:
        return bytes(self._take(size))

    def blob(self) -> bytes:
        return self.raw(self.u64())

    def text(self) -> str:
        return self.blob().decode("utf-8", "replace")

    def count(self, least: int) -> int:
        """The number of records that follow, checked against the bytes left: each takes at least `least`."""
        number = self.u32()
        if number * least > self.left:
            raise WireError(f"{number} records of {least} bytes and more cannot be in {self.left} bytes")
        return number

    def end(self) -> None:
        if self.left:
            raise WireError(f"{self.left} bytes are left over")

    def _take(self, size: int) -> memoryview:
        if size > self.left:
            raise WireError(f"{size} bytes were expected and {self.left} are left")
        start, self._place = self._place, self._place + size
        return self._data[start : self._place]


class Writer:
    """Collects values; every method returns the writer."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def u32(self, *values: int) -> Self:
        self._parts += map(_U32.pack, values)
        return self

    def u64(self, *values: int) -> Self:
        self._parts += map(_U64.pack, values)
        return self

    def raw(self, data: bytes) -> Self:
        self._parts.append(data)
        return self

    def blob(self, data: bytes) -> Self:
        return self.u64(len(data)).raw(data)

    def text(self, text: str) -> Self:
        return self.blob(text.encode("utf-8", "replace"))

    def texts(self, texts: Iterable[str]) -> Self:
        """Writes their number, then each."""
        listed = list(texts)
        self.u32(len(listed))
        for text in listed:
            self.text(text)
        return self

    def done(self) -> bytes:
        return b"".join(self._parts)
