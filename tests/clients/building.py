"""Client programs, compiled once for each content against the headers of a release of Debian."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.clients.debian import Release

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).parent / "programs"
BUILT = ROOT / "build" / "clients"
LANGUAGES = {".c": ("gcc", "-std=c11"), ".cpp": ("g++", "-std=c++20")}
FLAGS = ("-O1", "-pthread", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers")


@functools.cache
def _version(compiler: str) -> str:
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is missing, so no client can be compiled; on Debian: apt install gcc g++")
    return subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]


def _made(command: Sequence[str], target: Path) -> Path:
    """The compiled file, built if missing."""
    if not target.exists():
        BUILT.mkdir(parents=True, exist_ok=True)
        part = target.with_suffix(f".{os.getpid()}")
        made = subprocess.run([*command, "-o", str(part)], capture_output=True, text=True)
        assert made.returncode == 0, f"{target.stem} does not compile:\n{made.stderr}"
        part.replace(target)
    return target


@functools.cache
def program(source: Path, release: Release, *flags: str, headers: Path | None = None) -> Path:
    """The executable. It asks for `libze_loader.so.1` and does not say where that is.

    `headers` is the folder of its headers, if that is not its own.
    """
    compiler, standard = LANGUAGES[source.suffix]
    includes = ("-I", str(release.headers.parent), "-I", str(release.headers))
    libraries = ("-L", str(release.libraries), "-lze_loader", "-ldl", "-Wl,--allow-shlib-undefined")
    own = headers or source.parent
    command = (compiler, standard, *FLAGS, *flags, *includes, "-I", str(own))
    content = hashlib.sha256(repr((_version(compiler), command, release.version)).encode())
    for text in (*sorted(own.glob("*.h")), source):
        content.update(text.read_bytes())
    return _made([*command, str(source), *libraries], BUILT / f"{source.stem}.{content.hexdigest()[:16]}")
