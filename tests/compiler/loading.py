"""Puts objects into memory for tests: linked into a shared library by the system's linker.

LLVM's own loader may place code and data too far apart in a process where much is mapped already.
"""

from __future__ import annotations

import ctypes
import itertools
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

_folder = tempfile.TemporaryDirectory(prefix="anyzero-tests-")
_numbers = itertools.count()


def load(code: bytes, symbols: Mapping[str, int] | None = None) -> ctypes.CDLL:
    """A relocatable object, ready to be called. `symbols` are addresses for what it leaves undefined."""
    source = Path(_folder.name) / f"{next(_numbers)}.o"
    source.write_bytes(code)
    library = source.with_suffix(".so")
    defined = [f"--defsym={name}={address:#x}" for name, address in (symbols or {}).items()]
    subprocess.run(["ld", "-shared", "-znow", "-o", library, source, *defined], check=True, capture_output=True)
    try:
        return ctypes.CDLL(str(library))
    finally:
        source.unlink()
        library.unlink()
