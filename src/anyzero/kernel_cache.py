"""Compiled kernels on disk, by a key of everything they were made from.

An entry is a file named by its key. It is written under another name and then renamed, so that a reader finds all of it
or nothing; a checksum detects damage. Any number of processes and threads may share a folder. Nothing here raises:
if the disk is full, read-only or damaged, there is no cache.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from anyzero import cache_folder
from anyzero.config import Config
from anyzero.trust.folder import TrustedFolder, UntrustedError

__all__ = ["Cache", "folder", "of"]

MAGIC: Final = b"AZCACH01"
KEY_BYTES: Final = 32
_HEAD: Final = len(MAGIC) + KEY_BYTES + 32

_SUFFIX: Final = ".kernel"
_UNFINISHED: Final = ".part"
_STAMP: Final = "swept"

SWEEP_SECONDS: Final = 600
"""The time between two sweeps, of all processes together."""
SWEEP_SHARE: Final = 16
"""A process that wrote this part of the limit sweeps at once."""
ROOM: Final = 0.8
"""The part of the limit that a sweep leaves in use, so that the next one is not due at once."""
ABANDONED_SECONDS: Final = 3600
"""An unfinished file of this age was abandoned."""


class Cache:
    """A folder of entries. Any thread of any process.

    The contents are executed, so each use checks every part of the folder's path, and the entry.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder = folder
        self.limit = limit
        self._written = 0

    def load(self, key: bytes) -> bytes | None:
        """The content stored under the key; None if there is none or it is damaged. Marks it as used."""
        home, name = _place(key)
        try:
            with self._open(home) as folder:
                try:
                    data = folder.read(name, self.limit + _HEAD)
                except UntrustedError:
                    data = None
                content = _unpack(key, data) if data else None
                if content is None:
                    folder.remove(name)
                else:
                    folder.touch(name)
                return content
        except OSError:
            return None

    def store(self, key: bytes, content: bytes) -> None:
        """Stores the content, if possible."""
        data = _head(key, content) + content
        if len(data) > self.limit:
            return
        home, name = _place(key)
        try:
            with self._open(home, make=True) as folder:
                folder.write(name, [data], f"{os.getpid()}-{os.urandom(8).hex()}{_UNFINISHED}")
        except OSError:
            return
        self._written += len(data)
        if self._due():
            self.sweep()

    @property
    def trouble(self) -> str:
        """The reason why the folder cannot be used; empty if it can be."""
        try:
            TrustedFolder.open(self.folder, make=True).close()
        except OSError as error:
            return str(error.strerror) if isinstance(error, UntrustedError) else f"{self.folder}: {error.strerror}"
        return ""

    def measure(self) -> tuple[int, int]:
        """The number of entries, and their size in bytes."""
        sizes = [found.st_size for _, name, found in self._files() if name.endswith(_SUFFIX)]
        return len(sizes), sum(sizes)

    def sweep(self) -> None:
        """Makes room: removes the least recently used entries until the rest fits."""
        import fcntl  # a shared library, which most processes can do without

        try:
            with TrustedFolder.open(self.folder) as folder:
                flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
                stamp = os.open(_STAMP, flags, 0o600, dir_fd=folder.descriptor)
        except OSError:
            return
        try:
            fcntl.flock(stamp, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.utime(stamp)
            self._written = 0
            self._remove_oldest()
        except OSError:
            pass  # another process sweeps
        finally:
            os.close(stamp)

    def _remove_oldest(self) -> None:
        now = time.time()
        entries: list[tuple[float, int, str, str]] = []
        for home, name, found in self._files():
            if name.endswith(_SUFFIX):
                entries.append((found.st_mtime, found.st_size, home, name))
            elif name.endswith(_UNFINISHED) and now - found.st_mtime > ABANDONED_SECONDS:
                self._remove(home, name)
        total = sum(size for _, size, _, _ in entries)
        if total <= self.limit:
            return
        for _, size, home, name in sorted(entries):
            if total <= self.limit * ROOM:
                break
            self._remove(home, name)
            total -= size

    def _remove(self, home: str, name: str) -> None:
        with contextlib.suppress(OSError), self._open(home) as folder:
            folder.remove(name)

    def _files(self) -> Iterator[tuple[str, str, os.stat_result]]:
        """Folder, name and status of every file."""
        with contextlib.suppress(OSError), TrustedFolder.open(self.folder) as folder:
            for home in [each.name for each in folder.entries() if each.is_dir(follow_symlinks=False)]:
                with contextlib.suppress(OSError), folder.folder(home) as inner:
                    for entry in inner.entries():
                        with contextlib.suppress(OSError):
                            yield home, entry.name, entry.stat(follow_symlinks=False)

    def _open(self, home: str, *, make: bool = False) -> TrustedFolder:
        with TrustedFolder.open(self.folder, make=make) as folder:
            return folder.folder(home, make=make)

    def _due(self) -> bool:
        if self._written > self.limit // SWEEP_SHARE:
            return True
        try:
            with TrustedFolder.open(self.folder) as folder:
                return time.time() - folder.status(_STAMP).st_mtime > SWEEP_SECONDS
        except OSError:
            return True

    def _path(self, key: bytes) -> Path:
        return self.folder.joinpath(*_place(key))


def _place(key: bytes) -> tuple[str, str]:
    """Folder and name of an entry."""
    name = key.hex()
    return name[:2], f"{name[2:]}{_SUFFIX}"


def _head(key: bytes, content: bytes) -> bytes:
    return MAGIC + key + hashlib.sha256(content).digest()


def _unpack(key: bytes, data: bytes) -> bytes | None:
    content = data[_HEAD:]
    return content if data[:_HEAD] == _head(key, content) else None


def folder(settings: Config, environ: Mapping[str, str] = os.environ) -> Path | None:
    """The folder of kernels; None if the environment names none."""
    base = cache_folder.of(settings, environ)
    return base / "kernels" if base else None


@lru_cache(maxsize=8)
def of(settings: Config) -> Cache | None:
    """The cache that the environment selects, if any."""
    place = folder(settings) if settings.cache else None
    return Cache(place, settings.cache_size) if place else None
