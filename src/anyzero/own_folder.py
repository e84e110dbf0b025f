"""A temporary folder that goes with the process that made it, and not with a forked child of it."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from pathlib import Path

__all__ = ["OwnFolder"]


class OwnFolder:
    """A new temporary folder; removed by `remove`, or when the process ends.

    A forked child inherits the object, and leaves blocks and ends as its parent does; the folder stays for the parent.
    """

    def __init__(self, prefix: str) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=prefix))
        self._process = os.getpid()
        self._finish = weakref.finalize(self, _remove, self.path, self._process)

    @property
    def own(self) -> bool:
        """Whether this process made it."""
        return os.getpid() == self._process

    def remove(self) -> None:
        """Remove it with its contents; a forked child leaves it."""
        self._finish()


def _remove(path: Path, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(path, ignore_errors=True)
