"""`anyzero config`: flags and paths for compilers and build systems of C and C++ programs."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Final

__all__ = ["OPTIONS", "run"]

OPTIONS: Final = {
    "cflags": "flags for the compiler: where the headers are",
    "libs": "flags for the linker: where the loader is, and its name",
    "rpath": "flag for the linker, so that the program finds the loader without environment variables",
    "prefix": "the folder with include/ and lib/, for CMAKE_PREFIX_PATH",
    "include-dir": "the folder of level_zero/ze_api.h",
    "lib-dir": "the folder of libze_loader.so.1 and libze_anyzero.so.1",
    "link-dir": "the folder of libze_loader.so, which only linkers read",
    "cmake-dir": "the folder of LevelZeroConfig.cmake, for LevelZero_DIR",
    "pkg-config-dir": "the folder of level-zero.pc, for PKG_CONFIG_PATH",
}
"""Each option, and a description of its output."""


def run(wanted: Sequence[str]) -> int:
    found = values(Path(__file__).parents[1])
    if wanted:
        print(*(found[name] for name in OPTIONS if name in wanted))
    else:
        width = max(map(len, OPTIONS)) + 2
        print(*(f"--{name:{width}}{found[name]}" for name in OPTIONS), sep="\n")
    return 0


def values(package: Path) -> dict[str, str]:
    """The value of each option for a package in this folder."""
    include, library = package / "include", package / "lib"
    if not (library / "link" / "libze_loader.so").exists():
        from anyzero.errors import Error

        raise Error(
            f"{library / 'link' / 'libze_loader.so'} does not exist, so nothing can be linked.",
            remedy="Install the package again, or in a checkout run: make build.",
        )
    flags = {
        "cflags": [f"-I{include}", f"-I{include / 'level_zero'}"],
        "libs": [f"-L{library / 'link'}", "-lze_loader"],
        "rpath": [f"-Wl,-rpath,{library}"],
    }
    folders = {
        "prefix": package,
        "include-dir": include,
        "lib-dir": library,
        "link-dir": library / "link",
        "cmake-dir": library / "cmake" / "LevelZero",
        "pkg-config-dir": library / "pkgconfig",
    }
    return {name: shlex.join(parts) for name, parts in flags.items()} | {
        name: str(folder) for name, folder in folders.items()
    }
