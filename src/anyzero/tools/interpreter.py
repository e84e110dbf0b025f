"""Which Python the driver starts for a program that has none; the same search that the driver makes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from anyzero.api._loaders import FOLDER

__all__ = ["Interpreter", "for_c_programs"]


class Interpreter(NamedTuple):
    """A Python, and why that one; without a path, why there is none."""

    path: str
    reason: str


def for_c_programs(environ: Mapping[str, str], folder: Path = FOLDER) -> Interpreter:
    """ANYZERO_PYTHON, else the one recorded beside the library, else the one whose packages the library is among."""
    named = environ.get("ANYZERO_PYTHON", "").strip()
    if named:
        found = shutil.which(named, path=environ.get("PATH"))
        return Interpreter(found or "", "ANYZERO_PYTHON" if found else f"ANYZERO_PYTHON={named} is no program")
    try:
        recorded = (folder / "python").read_text().splitlines()[0]
    except (OSError, IndexError):
        recorded = ""
    if recorded and _runs(recorded):
        return Interpreter(recorded, f"recorded in {folder / 'python'}")
    for path in _neighbours(folder, environ):
        if _runs(path):
            return Interpreter(path, "the environment that anyzero is installed in")
    gone = f"{recorded}, which is recorded in {folder / 'python'}, is gone" if recorded else "none is recorded"
    return Interpreter("", f"ANYZERO_PYTHON is not set, and {gone}")


def _neighbours(folder: Path, environ: Mapping[str, str]) -> Iterator[str]:
    versioned = folder.resolve().parents[2]
    if versioned.name.startswith("python3."):
        yield str(versioned.parents[1] / "bin" / versioned.name)
        yield f"/usr/local/bin/{versioned.name}"
        yield f"/usr/bin/{versioned.name}"
        yield shutil.which(versioned.name, path=environ.get("PATH")) or ""


def _runs(path: str) -> bool:
    return bool(path) and Path(path).is_file() and os.access(path, os.X_OK)
