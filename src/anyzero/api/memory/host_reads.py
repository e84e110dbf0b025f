"""Tells the driver's check mode that the host is about to read memory."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from anyzero.api.library import LIBRARY_PATH, OURS

__all__ = ["check_read"]


@cache
def _told() -> Any:
    if not OURS:
        return None  # other drivers have no check mode
    tell = ctypes.CDLL(str(LIBRARY_PATH)).zexCheckHostRead
    tell.argtypes, tell.restype = (ctypes.c_void_p, ctypes.c_size_t), None
    return tell


def check_read(pointer: int, nbytes: int) -> None:
    """Report that the host is about to read these bytes."""
    tell = _told()
    if tell is not None:
        tell(pointer, nbytes)
