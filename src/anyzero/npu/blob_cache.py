"""The plugin's own cache, CACHE_DIR: compiled models in a folder, by their contents."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

__all__ = ["BlobCache"]


_DIGEST: Final = 64


class BlobCache:
    """A folder of exported models. Any number of processes may use it: files appear whole, or not at all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, digest: str) -> Path:
        """Where a model is, if it is there."""
        return self.folder / f"{digest}.blob"

    def find(self, digest: str) -> Path | None:
        """The file of a model that was kept before."""
        path = self.path(digest)
        return path if path.is_file() else None

    def recall(self, identity: str | None) -> str | None:
        """The digest of files that were read before and are the same still."""
        if identity is None:
            return None
        try:
            digest = self._note(identity).read_text()
        except (OSError, UnicodeDecodeError):
            return None
        return digest if len(digest) == _DIGEST and digest.isalnum() else None

    def note(self, identity: str | None, digest: str) -> None:
        """Remember the digest of files."""
        if identity is not None:
            self._write(self._note(identity), [digest.encode()])

    def _note(self, identity: str) -> Path:
        return self.folder / f"{identity}.files"

    def keep(self, digest: str, parts: Sequence[bytes | memoryview]) -> None:
        """Write a model. A full disk or a folder that cannot be written to costs the cache, not the program."""
        self._write(self.path(digest), parts)

    def _write(self, path: Path, parts: Sequence[bytes | memoryview]) -> None:
        with suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            number, name = tempfile.mkstemp(prefix=".partial.", dir=self.folder)
            partial = Path(name)
            try:
                with os.fdopen(number, "wb") as file:
                    for part in parts:
                        file.write(part)
                partial.replace(path)
            except OSError:
                partial.unlink(missing_ok=True)
                raise

    def forget(self, digest: str) -> None:
        """Remove a model that turned out to be damaged."""
        with suppress(OSError):
            self.path(digest).unlink()
