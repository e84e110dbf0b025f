"""The plugin's own cache, CACHE_DIR: compiled models in a folder, keyed by contents."""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from anyzero.trust.folder import TrustedFolder

__all__ = ["BlobCache"]


_DIGEST: Final = 64


class BlobCache:
    """A folder of exported models. Any number of processes may use it: files appear atomically.

    A folder writable by other users is not used, because cached models are executed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find(self, digest: str) -> memoryview | None:
        """The mapped file of a cached model; None if there is no trusted one."""
        try:
            with TrustedFolder.open(self.folder) as folder:
                file = folder.file(f"{digest}.blob")
            try:
                return memoryview(mmap.mmap(file, 0, access=mmap.ACCESS_READ))
            finally:
                os.close(file)
        except (OSError, ValueError):  # an empty file cannot be mapped
            return None

    def recall(self, identity: str | None) -> str | None:
        """The recorded digest of unchanged files."""
        if identity is None:
            return None
        try:
            with TrustedFolder.open(self.folder) as folder:
                digest = (folder.read(f"{identity}.files", _DIGEST) or b"").decode()
        except (OSError, UnicodeDecodeError):
            return None
        return digest if len(digest) == _DIGEST and digest.isalnum() else None

    def note(self, identity: str | None, digest: str) -> None:
        """Record the digest of files."""
        if identity is not None:
            self._write(f"{identity}.files", [digest.encode()])

    def keep(self, digest: str, parts: Sequence[bytes | memoryview]) -> None:
        """Write a model. A full disk or a read-only folder disables the cache; it is no error."""
        self._write(f"{digest}.blob", parts)

    def forget(self, digest: str) -> None:
        """Remove a damaged model."""
        with contextlib.suppress(OSError), TrustedFolder.open(self.folder) as folder:
            folder.remove(f"{digest}.blob")

    def _write(self, name: str, parts: Sequence[bytes | memoryview]) -> None:
        with contextlib.suppress(OSError), TrustedFolder.open(self.folder, make=True) as folder:
            folder.write(name, parts, f".partial.{os.getpid()}-{os.urandom(8).hex()}")
