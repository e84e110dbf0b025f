"""Does this process have more rights than whoever started it?"""

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
    """As the C library's secure_getenv judges: variables may be the choice of somebody with fewer rights."""
    if os.getuid() != os.geteuid() or os.getgid() != os.getegid():
        return True
    try:
        with open("/proc/self/auxv", "rb", buffering=0) as file:  # noqa: PTH123 (pathlib is not loaded yet)
            entries = file.read(1 << 16)
    except PermissionError:
        return True  # the kernel hides it from users whose program has other rights than they have
    except OSError:
        return False
    return any(key == _SECURE and value for key, value in _ENTRY.iter_unpack(entries[: len(entries) // 16 * 16]))
