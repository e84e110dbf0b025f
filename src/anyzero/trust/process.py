"""Detection of a process with more rights than its caller."""

from __future__ import annotations

import os
import struct
from functools import cache
from typing import Final

__all__ = ["is_secure"]

_SECURE: Final = 23
"""AT_SECURE: set by the kernel for programs that are setuid or setgid, or that have capabilities by their file."""
_ENTRY: Final = struct.Struct("@LL")


@cache
def is_secure() -> bool:
    """Whether a caller with fewer rights may have chosen the variables, as the C library's secure_getenv decides."""
    if os.getuid() != os.geteuid() or os.getgid() != os.getegid():
        return True
    try:
        with open("/proc/self/auxv", "rb", buffering=0) as file:  # noqa: PTH123 (pathlib is not loaded yet)
            entries = file.read(1 << 16)
    except PermissionError:
        return True  # the kernel hides it if the program's rights differ from its user's
    except OSError:
        return False
    return any(key == _SECURE and value for key, value in _ENTRY.iter_unpack(entries[: len(entries) // 16 * 16]))
