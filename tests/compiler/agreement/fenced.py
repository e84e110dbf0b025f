"""Arrays between pages that nobody may touch: an access that misses them by a byte ends the process."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np

Numbers = np.ndarray[Any, Any]

_PAGE = mmap.PAGESIZE
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_held: list[mmap.mmap] = []
"""Never given back; children that use them do not live long."""


def fenced(array: Numbers, at_the_end: bool) -> Numbers:
    """A copy that ends where a forbidden page begins, or begins where one ends."""
    room = -(-max(array.nbytes, 1) // _PAGE) * _PAGE
    block = mmap.mmap(-1, room + 2 * _PAGE)
    _held.append(block)
    raw = np.frombuffer(block, np.uint8)
    for place in (0, _PAGE + room):
        if _LIBC.mprotect(raw.ctypes.data + place, _PAGE, 0):
            raise OSError(ctypes.get_errno(), "mprotect")
    start = _PAGE + (room - array.nbytes if at_the_end else 0)
    found = raw[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    found[...] = array
    return found
