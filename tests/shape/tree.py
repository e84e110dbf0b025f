"""The files of this checkout, as the shape tests see them."""

from __future__ import annotations

import ast
import gc
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "anyzero"

GENERATED = (
    *("engine/abi/gen/", "engine/layouts/gen/", "loader/gen/", "src/anyzero/ze/", "src/anyzero/layouts/"),
    *("src/anyzero/compiler/spirv/tables.py", "src/anyzero/spirv/numbers.py"),
)


@cache
def files() -> tuple[str, ...]:
    """Every file that is tracked, or would be by `git add`, relative to the root."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    return tuple(name for name in names if name and (ROOT / name).is_file())


def hand_written(*endings: str) -> list[str]:
    return [name for name in files() if name.endswith(endings) and not name.startswith(GENERATED)]


@cache
def nodes(source: str) -> tuple[ast.AST, ...]:
    """The syntax tree of a Python file, parsed once for all tests that look at it."""
    # Otherwise the collector searches the growing trees again and again, for three quarters of the time.
    gc.disable()
    try:
        return tuple(ast.walk(ast.parse(source)))
    finally:
        gc.enable()
