"""Files that the engine maps and writes while a program runs: recordings of traces, samples of profiles.

They are read after their process has ended, or was killed, so they may be damaged.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

__all__ = ["DamagedFileError", "read", "read_all"]

Contents = TypeVar("Contents")


class DamagedFileError(ValueError):
    """A file is none of the wanted kind, or was cut off."""


def read(path: Path, kind: str, parse: Callable[[mmap.mmap], Contents]) -> Contents:
    """What `parse` makes of the file, which raises ValueError or struct.error for bytes that it cannot read; `kind` is
    the name of such a file in the error.
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return parse(data)
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
