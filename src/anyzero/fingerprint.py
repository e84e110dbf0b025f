"""A fingerprint of source files: their names, sizes and times."""

from __future__ import annotations

import os
from array import array
from itertools import chain
from operator import attrgetter
from typing import Final

__all__ = ["fingerprint", "sources"]


_NO_SOURCES: Final = ("__pycache__", "reference")
"""Folders that are left out: byte code, and the compiler's reference interpreter, which compiles nothing."""
# The time of the last change to the inode as well: programs can set the other one, as `cp -p` does.
_FACTS: Final = attrgetter("st_size", "st_mtime_ns", "st_ctime_ns")
_PATH: Final = attrgetter("path")


def fingerprint(folder: str) -> str:
    """Changes whenever a Python file below the folder does. It also changes where files are copied or touched, so it
    is for results that are cheap to make again.

    Reading the files would take ten times as long, and is part of the first launch of every process.
    """
    entries = sources(folder)
    facts = array("q", chain.from_iterable(map(_FACTS, map(os.DirEntry.stat, entries))))
    return "\0".join((*map(_PATH, entries), facts.tobytes().hex()))


def sources(folder: str) -> list[os.DirEntry[str]]:
    """The Python files below a folder."""
    found, folders = [], [folder]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    found.append(entry)
                elif entry.name not in _NO_SOURCES and entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
    return found
