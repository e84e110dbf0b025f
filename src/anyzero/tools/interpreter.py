"""The Python that the driver starts for a program that has none.

The driver makes the same search in ``engine/planning/interpreter.cpp``; ``tests/unit/test_repeated.py`` compares the
results of the two. This one is for callers that start nothing, and for machines where the driver does not load.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from anyzero.api.calls.loaders import FOLDER

__all__ = ["Interpreter", "for_c_programs"]

_USUAL_PATH: Final = "/usr/local/bin:/usr/bin:/bin"
"""The search path where there is no PATH."""
_LONGEST: Final = 4095


class Interpreter(NamedTuple):
    """A Python, and why that one; without a path, why there is none."""

    path: str
    reason: str


def for_c_programs(environ: Mapping[str, str], folder: Path = FOLDER) -> Interpreter:
    """ANYZERO_PYTHON, else the one recorded beside the library, else the one whose packages the library is among."""
    named = environ.get("ANYZERO_PYTHON", "")
    if named:
        found = _absolute(named) if "/" in named else _on_path(named, environ)
        if _runs(found):
            return Interpreter(found, "ANYZERO_PYTHON")
        return Interpreter("", f"ANYZERO_PYTHON={named} is not a program")
    library = folder.resolve()
    recorded = _first_line(library / "python")
    if recorded and _runs(recorded):
        return Interpreter(recorded, f"recorded in {library / 'python'}")
    for path in _neighbours(library, environ):
        if path and _runs(path):
            return Interpreter(path, "the environment that anyzero is installed in")
    if recorded:
        return Interpreter("", f"ANYZERO_PYTHON is not set, and {recorded}, for which {library} was built, is gone")
    return Interpreter("", f"ANYZERO_PYTHON is not set, and no Python belongs to the folder {library}")


def _first_line(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return os.fsdecode(re.split(rb"[\r\n\0]", file.read(_LONGEST))[0])
    except OSError:
        return ""


def _neighbours(library: Path, environ: Mapping[str, str]) -> Iterator[str]:
    if len(library.parents) < 3:
        return
    versioned = library.parents[2]
    if versioned.name.startswith("python3."):
        yield str(versioned.parent.parent / "bin" / versioned.name)
        yield f"/usr/local/bin/{versioned.name}"
        yield f"/usr/bin/{versioned.name}"
        yield _on_path(versioned.name, environ)


def _on_path(name: str, environ: Mapping[str, str]) -> str:
    for folder in environ.get("PATH", _USUAL_PATH).split(":"):
        candidate = _absolute(f"{folder}/{name}")
        # An empty entry means the working directory, which is never intended.
        if folder and _runs(candidate):
            return candidate
    return ""


def _absolute(path: str) -> str:
    """Symbolic links stay: a virtual environment is known by the name that its interpreter is started with."""
    return path if path.startswith("/") else f"{Path.cwd()}/{path}"


def _runs(path: str) -> bool:
    return Path(path).is_file() and os.access(path, os.X_OK)
