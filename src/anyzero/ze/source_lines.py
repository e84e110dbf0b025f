"""Which line of Python a call of the API comes from, for the driver's check mode.

The driver asks on the thread that called it, and only when it writes a report or notes where something was made.
"""

from __future__ import annotations

import atexit
import ctypes
import sys
from pathlib import Path
from typing import Any

__all__ = ["tell"]

_PACKAGE = str(Path(__file__).parents[1])
_MANAGED = 1 << 31
"""The call comes from the Python API, which destroys what it makes when nothing refers to it."""
_Reader = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


@_Reader
def _read(file: int, function: int, size: int) -> int:
    frame = sys._getframe(1)  # noqa: SLF001
    managed = _MANAGED if frame.f_code.co_filename.startswith(_PACKAGE) else 0
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
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
