"""Which line of Python a call of the API comes from, for the driver's check mode and for recordings.

Check mode asks on the thread that called it, and only when it writes a report or notes where something was made. For
recordings, `binding/lines.cpp` notes the line of every call.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import os
import sys
from pathlib import Path
from typing import Any

__all__ = ["record", "stop_recording", "tell"]

_PASSED_OVER = (
    str(Path(__file__).parents[1]) + os.sep,
    functools.cached_property.__get__.__code__.co_filename,
    contextlib.ExitStack.close.__code__.co_filename,
)
"""Beginnings of the names of files whose frames are not the program's: the package, and the modules of the standard
library that call methods of it for the program."""
_MANAGED = 1 << 31
"""The call comes from the Python API, which destroys what it makes when nothing refers to it."""
_Reader = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


@_Reader
def _read(file: int, function: int, size: int) -> int:
    frame = sys._getframe(1)  # noqa: SLF001
    managed = _MANAGED if frame.f_code.co_filename.startswith(_PASSED_OVER) else 0
    while frame is not None and frame.f_code.co_filename.startswith(_PASSED_OVER):
        frame = frame.f_back
    if frame is None:
        return 0
    for text, at in ((frame.f_code.co_filename, file), (frame.f_code.co_qualname, function)):
        encoded = text.encode(errors="replace")[: size - 1]
        ctypes.memmove(at, encoded + b"\0", len(encoded) + 1)
    return frame.f_lineno | managed


def tell(library: ctypes.CDLL) -> None:
    """Let the driver ask for lines until the interpreter ends."""
    ask_by: Any = getattr(library, "zexReadSourceLinesBy", None)
    if ask_by is None:
        return
    ask_by.argtypes, ask_by.restype = (ctypes.c_void_p,), None
    ask_by(ctypes.cast(_read, ctypes.c_void_p))
    atexit.register(ask_by, None)


def record(library: ctypes.CDLL, path: str) -> None:
    """Have the lines of calls recorded from now on; a recording has begun. `path` is the driver's."""
    binding = _binding(path)
    start: Any = binding.anyzero_lines_start
    start.argtypes, start.restype = (ctypes.c_void_p, ctypes.c_char_p), ctypes.c_bool
    if start(library._handle, os.fsencode("\n".join(_PASSED_OVER))):  # noqa: SLF001
        atexit.register(stop_recording, library, path)


def stop_recording(library: ctypes.CDLL, path: str) -> None:
    """No lines any more, as the recording has ended or the interpreter does."""
    stop: Any = _binding(path).anyzero_lines_stop
    stop.argtypes, stop.restype = (ctypes.c_void_p,), None
    stop(library._handle)  # noqa: SLF001
    atexit.unregister(stop_recording)


def _binding(path: str) -> ctypes.PyDLL:
    return ctypes.PyDLL(str(Path(path).with_name("libanyzero_calls.so")))
