"""Puts objects into memory for tests: linked into a shared library by the system's linker.

LLVM's own loader may place code and data too far apart in a process where much is mapped already.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

# Processors without instructions for halves call routines of the C compiler's runtime; the engine offers them too.
ctypes.CDLL("libgcc_s.so.1", ctypes.RTLD_GLOBAL)


def load(code: bytes, symbols: Mapping[str, int] | None = None) -> ctypes.CDLL:
    """A relocatable object, ready to be called. `symbols` are addresses for what it leaves undefined."""
    defined = [f"--defsym={name}={address:#x}" for name, address in (symbols or {}).items()]
    with tempfile.TemporaryDirectory(prefix="anyzero-tests-") as folder:
        source, library = Path(folder) / "code.o", Path(folder) / "code.so"
        source.write_bytes(code)
        subprocess.run(["ld", "-shared", "-znow", "-o", library, source, *defined], check=True, capture_output=True)
        return ctypes.CDLL(str(library))
