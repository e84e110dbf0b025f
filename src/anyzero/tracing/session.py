"""`az.trace`: a recording of a part of a Python program."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from anyzero import errors
from anyzero.api.library import LIBRARY_PATH
from anyzero.own_folder import OwnFolder
from anyzero.tracing import chrome, page, summary
from anyzero.tracing.recording import Recording, read
from anyzero.ze import source_lines

__all__ = ["trace"]

_RECORDS = 1 << 17


class trace:  # noqa: N801
    """Record calls, commands and compilations while the block runs, and write a timeline at its end.

    The file is for https://ui.perfetto.dev or chrome://tracing. If its name ends in `.html`, it is a page for any
    browser instead. Without a file, see `summary` and `recording`.

        >>> import anyzero as az, numpy as np
        >>> with az.trace() as recorded, az.device().context() as ctx:
        ...     x = ctx.to_device(np.ones(1000, np.float32))
        >>> [command.kind for command in recorded.recording.commands][:1]
        ['copy']

    Calls have the line that they come from in `file`, `line` and `function`. Where calls follow each other within a
    few microseconds, only some of them have it: to find it takes about one. With `lines=False`, none has.

    The last 131,072 records of each thread are kept. One recording is made at a time.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, lines: bool = True) -> None:
        self._lines = lines
        self._path = None if path is None else Path(path)
        if self._path is not None and not self._path.parent.is_dir():
            raise FileNotFoundError(f"az.trace: there is no folder {self._path.parent}")
        if self._path is not None and self._path.is_dir():
            raise IsADirectoryError(f"az.trace: {self._path} is a folder")
        self._recording: Recording | None = None
        self._folder: OwnFolder | None = None

    def __enter__(self) -> Self:
        self._folder = OwnFolder("anyzero-trace-")
        begin = _library().zexTraceStart
        begin.argtypes = ctypes.c_char_p, ctypes.c_uint64
        number = begin(os.fsencode(self._file), _RECORDS)
        if number:
            self._folder.remove()
            busy = "a recording is already running, of another az.trace or by `anyzero trace`"
            raise errors.Unavailable(
                f"az.trace: {busy if number == _BUSY else os.strerror(number)}",
                remedy="End the other one first."
                if number == _BUSY
                else "Check TMPDIR, where the recording is kept until it ends.",
            )
        if self._lines:
            source_lines.record(_library(), str(LIBRARY_PATH))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trail: TracebackType | None
    ) -> None:
        assert self._folder is not None
        if self._lines:
            source_lines.stop_recording(_library(), str(LIBRARY_PATH))
        _library().zexTraceStop()
        if not self._folder.own:
            return  # a forked child: the recording is its parent's
        self._recording = read(self._file)
        self._folder.remove()
        if self._path is not None:
            save([self._recording], self._path)

    @property
    def _file(self) -> Path:
        assert self._folder is not None
        return self._folder.path / "recording"

    @property
    def recording(self) -> Recording:
        """The recording, available after the end of the block."""
        if self._recording is None:
            raise RuntimeError("az.trace: the recording is complete when its block has ended")
        return self._recording

    def summary(self) -> str:
        """Tables of the most expensive calls and commands."""
        return "\n".join(summary.tables([self.recording]))


_BUSY = 16


def _library() -> ctypes.CDLL:
    return ctypes.CDLL(str(LIBRARY_PATH))


def is_page(path: Path) -> bool:
    """Whether the name asks for a page instead of a timeline for Perfetto."""
    return path.suffix.lower() in (".html", ".htm")


def save(recordings: list[Recording], path: Path) -> None:
    """Write a timeline: a page of its own where the name says so, else Chrome's format."""
    with path.open("w", encoding="utf-8") as file:
        if is_page(path):
            page.write(recordings, file)
        else:
            chrome.write(recordings, file)
