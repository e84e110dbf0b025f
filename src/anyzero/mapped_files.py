"""Files that the engine maps and writes while a program runs: recordings of traces, samples of profiles.

They are read after their process has ended, or was killed, so they may be damaged.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

__all__ = ["DamagedFileError", "FileBytes", "read", "read_all"]

Contents = TypeVar("Contents")


class FileBytes:
    """The bytes of a file, read where they are asked for.

    A mapping would make a full file system look for room for the parts that nothing was written to: with tmpfs, a read
    of them ends the process.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._size = os.fstat(descriptor).st_size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice) -> bytes:
        begin, end, _ = part.indices(self._size)
        found = bytearray()
        while len(found) < end - begin:
            if not (more := os.pread(self._descriptor, end - begin - len(found), begin + len(found))):
                break  # it is being cut off
            found += more
        return bytes(found)


class DamagedFileError(ValueError):
    """A file is none of the wanted kind, or was cut off."""


def read(path: Path, kind: str, parse: Callable[[FileBytes], Contents]) -> Contents:
    """What `parse` makes of the file, which raises ValueError or struct.error for bytes that it cannot read; `kind` is
    the name of such a file in the error.
    """
    try:
        with path.open("rb") as file:
            return parse(FileBytes(file.fileno()))
    except (ValueError, struct.error) as error:
        raise DamagedFileError(f"{path} is not a {kind} of anyzero: {error}") from None


def read_all(
    paths: Iterable[Path], read_one: Callable[[Path], Contents], damaged: Callable[[str], None]
) -> list[Contents]:
    """The files of a program's processes. One of them may have been killed as it made its file: `damaged` is told, and
    the others are read.
    """
    found = []
    for path in sorted(paths):
        try:
            found.append(read_one(path))
        except DamagedFileError as error:
            damaged(str(error))
    return found
