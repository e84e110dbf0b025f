"""Who measures: each source is a program that prints one JSON record per item, and one column of the table.

A further implementation to compare with is one more source here: a program that takes the same arguments and prints the
same keys. Comparisons only hold within one run, so numbers that others published have no place in the table.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from benchmarks.process import BUILD, ROOT, Failed, Process

__all__ = ["BUILD", "ROOT", "SOURCES", "Failed", "Source", "call", "fresh", "run"]

HERE: Final = ROOT / "benchmarks"
LIBRARY: Final = ROOT / "src" / "anyzero" / "lib" / "libze_anyzero.so.1"

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Source:
    """A program that measures, and the column that shows its numbers."""

    name: str
    prepare: Callable[[], tuple[list[str], Mapping[str, str]]]
    """Builds what is missing; returns the command and the variables to add to the environment."""


def call(command: list[str], output: IO[bytes] | None = None) -> None:
    """Run a tool; :class:`Failed` has what it said."""
    try:
        subprocess.run(command, cwd=ROOT, check=True, stdout=output, stderr=subprocess.PIPE)
    except FileNotFoundError as error:
        raise Failed(f"{command[0]}: not found; name a compiler by CXX (for C: CC), or install g++") from error
    except subprocess.CalledProcessError as error:
        raise Failed(f"{command[0]} failed:\n{error.stderr.decode(errors='replace')}") from error


def fresh(folder: Path) -> Path:
    """The folder, empty and private, as caches have to be."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)
    return folder


def _native() -> tuple[list[str], Mapping[str, str]]:
    if not LIBRARY.exists():
        raise Failed("the engine is not built; run `make build` first")
    BUILD.mkdir(parents=True, exist_ok=True)
    program = BUILD / "submission"
    sources = sorted(HERE.glob("*.cpp"))
    header = ROOT / "engine" / "abi" / "gen"
    needs = [*sources, *HERE.glob("*.h"), header / "ze_api.h", LIBRARY]
    if not program.exists() or program.stat().st_mtime < max(path.stat().st_mtime for path in needs):
        flags = ["-std=c++20", "-O2", "-Wall", "-Wextra", "-pthread", f"-I{header}"]
        link = [str(LIBRARY), f"-Wl,-rpath,{LIBRARY.parent}"]
        call([os.environ.get("CXX", "g++"), *flags, *map(str, sources), *link, "-o", str(program)])
    # The program has no Python in it, so what devices there are comes from a file.
    description = BUILD / "description"
    with description.open("wb") as file:
        call([sys.executable, "-m", "anyzero.driver"], file)
    return [str(program)], {"ANYZERO_DESCRIPTION": str(description)}


def _python() -> tuple[list[str], Mapping[str, str]]:
    return [sys.executable, "-m", "benchmarks.through_python"], {}


SOURCES: Final = (Source("C", _native), Source("Python", _python))


def run(source: Source, keys: tuple[str, ...], rounds: int, round_ms: float) -> Iterator[Record]:
    """Start the program and yield its records as they come; raise :class:`Failed` when it does not end well."""
    command, variables = source.prepare()
    process = Process(f"submission-{source.name}", [*command, str(rounds), str(round_ms), *keys], variables)
    yield from map(json.loads, process.lines())
