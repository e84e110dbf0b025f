"""Compiled kernels on disk, found again by what they were made from.

An entry is a file named by its key. It is written under another name and then renamed, so that a reader finds all of it
or nothing; its checksum tells when the disk thought otherwise. Any number of processes and threads may share a folder.
Nothing here is worth an error: where the disk is full, read-only or damaged, there is just no cache.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import stat
import time
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from anyzero.config import Config
from anyzero.driver import cache_folder

__all__ = ["Cache", "folder", "of"]

MAGIC: Final = b"AZCACH01"
KEY_BYTES: Final = 32
_HEAD: Final = len(MAGIC) + KEY_BYTES + 32

_SUFFIX: Final = ".kernel"
_UNFINISHED: Final = ".part"
_STAMP: Final = "swept"

SWEEP_SECONDS: Final = 600
"""How often the size is looked at, by all processes together."""
SWEEP_SHARE: Final = 16
"""A process that wrote this part of the limit looks at once."""
ROOM: Final = 0.8
"""How full a sweep leaves the cache, so that the next one is not due at once."""
ABANDONED_SECONDS: Final = 3600
"""After that long, nobody will finish an unfinished file."""


class Cache:
    """A folder of entries. Any thread of any process."""

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder = folder
        self.limit = limit
        self._written = 0
        self._usable: bool | None = None

    def load(self, key: bytes) -> bytes | None:
        """What was stored under the key; None where there is nothing whole. Marks it as used."""
        if not self._open():
            return None
        path = self._path(key)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        content = _unpack(key, data)
        with contextlib.suppress(OSError):
            if content is None:
                path.unlink()
            else:
                os.utime(path)
        return content

    def store(self, key: bytes, content: bytes) -> None:
        """Keeps the content, if that is possible."""
        data = _head(key, content) + content
        if len(data) > self.limit or not self._open():
            return
        path = self._path(key)
        unfinished = path.with_name(f"{os.getpid()}-{os.urandom(8).hex()}{_UNFINISHED}")
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            unfinished.write_bytes(data)
            unfinished.rename(path)
        except OSError:
            with contextlib.suppress(OSError):
                unfinished.unlink()
            self._usable = self._hope(len(data))
            return
        self._written += len(data)
        if self._due():
            self.sweep()

    @property
    def is_usable(self) -> bool:
        """Is the folder there, or can be made, and can it be trusted?"""
        return self._open()

    def measure(self) -> tuple[int, int]:
        """How many entries there are, and their bytes together."""
        sizes = []
        with contextlib.suppress(OSError):
            for entry in self._files():
                if entry.name.endswith(_SUFFIX):
                    with contextlib.suppress(OSError):
                        sizes.append(entry.stat(follow_symlinks=False).st_size)
        return len(sizes), sum(sizes)

    def sweep(self) -> None:
        """Makes room: removes what was not used for the longest time until the rest fits well."""
        try:
            stamp = os.open(self.folder / _STAMP, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return
        try:
            fcntl.flock(stamp, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.utime(stamp)
            self._written = 0
            self._remove_oldest()
        except OSError:
            pass  # another process is at it
        finally:
            os.close(stamp)

    def _remove_oldest(self) -> None:
        now = time.time()
        entries: list[tuple[float, int, str]] = []
        for entry in self._files():
            try:
                found = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if entry.name.endswith(_SUFFIX):
                entries.append((found.st_mtime, found.st_size, entry.path))
            elif entry.name.endswith(_UNFINISHED) and now - found.st_mtime > ABANDONED_SECONDS:
                _remove(entry.path)
        total = sum(size for _, size, _ in entries)
        if total <= self.limit:
            return
        for _, size, path in sorted(entries):
            if total <= self.limit * ROOM:
                break
            _remove(path)
            total -= size

    def _files(self) -> Iterator[os.DirEntry[str]]:
        with os.scandir(self.folder) as folders:
            names = [each.path for each in folders if each.is_dir(follow_symlinks=False)]
        for name in names:
            with contextlib.suppress(OSError), os.scandir(name) as files:
                yield from files

    def _due(self) -> bool:
        if self._written > self.limit // SWEEP_SHARE:
            return True
        try:
            return time.time() - (self.folder / _STAMP).stat().st_mtime > SWEEP_SECONDS
        except OSError:
            return True

    def _path(self, key: bytes) -> Path:
        name = key.hex()
        return self.folder / name[:2] / f"{name[2:]}{_SUFFIX}"

    def _hope(self, size: int) -> bool | None:
        """After a failure: is it worth trying again? None where the folder has to be made first."""
        try:
            room = os.statvfs(self.folder)
        except OSError:
            return False if self.folder.exists() else None
        return os.access(self.folder, os.W_OK) and room.f_bavail * room.f_frsize > size

    def _open(self) -> bool:
        """Makes the folder with the first use, and looks whether it can be trusted."""
        if self._usable is None:
            self._usable = _trusted(self.folder)
        return self._usable


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        Path(path).unlink()


def _trusted(folder: Path) -> bool:
    """Its contents are run, so only this user and the administrator may be able to write there."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid in (0, os.geteuid()) and not found.st_mode & stat.S_IWOTH


def _head(key: bytes, content: bytes) -> bytes:
    return MAGIC + key + hashlib.sha256(content).digest()


def _unpack(key: bytes, data: bytes) -> bytes | None:
    content = data[_HEAD:]
    return content if data[:_HEAD] == _head(key, content) else None


def folder(settings: Config, environ: Mapping[str, str] = os.environ) -> Path | None:
    """Where kernels are kept; None where the environment names no place."""
    base = cache_folder.of(settings, environ)
    return base / "kernels" if base else None


@lru_cache(maxsize=8)
def of(settings: Config) -> Cache | None:
    """The cache that the environment asks for, if any."""
    place = folder(settings) if settings.cache else None
    return Cache(place, settings.cache_size) if place else None
