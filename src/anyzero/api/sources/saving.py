"""Files with binaries of a driver."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["save"]


def save(path: str | os.PathLike[str], contents: bytes | memoryview) -> None:
    """Write a file atomically: readers see the old one or the new one."""
    target = Path(path)
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        partial.write_bytes(contents)
        partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
