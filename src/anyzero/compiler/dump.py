"""``ANYZERO_DUMP``: writes the texts of a kernel as files into a folder."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping

from anyzero.config import ConfigError

__all__ = ["write"]

_LONGEST_NAME = 100
_LONGEST_PATH = 4096
"""Linux's PATH_MAX. `os.makedirs` calls itself for each folder of a path, so a longer path must not reach it."""


def write(folder: str, name: str, texts: Mapping[str, str]) -> None:
    """Writes each text to a file with its extension; raises ConfigError if the folder cannot be written to."""
    safe = "".join(each if each.isalnum() and each.isascii() else "_" for each in name)[:_LONGEST_NAME]
    try:
        if len(os.fsencode(folder)) >= _LONGEST_PATH:
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103 (pathlib has nothing to do with the rest)
        for ending, text in texts.items():
            _write(os.path.join(folder, f"{safe}.{ending}"), text.encode("utf-8", "replace"))  # noqa: PTH118
    except OSError as error:
        where = f" ({error.filename})" if error.filename and error.filename != folder else ""
        reason = f"cannot be written to: {error.strerror}{where}"
        raise ConfigError("ANYZERO_DUMP", folder, reason, "the path of a folder") from None


def _write(path: str, content: bytes) -> None:
    # A pipe may exist by this name, and opening it would wait for a reader.
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with open(os.open(path, flags, 0o666), "wb") as file:  # noqa: PTH123 (it is a descriptor)
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(0, "it is not a regular file", path)
        file.write(content)
