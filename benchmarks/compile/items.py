"""What is measured of compiling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from benchmarks.kernels.programs import PROGRAMS

__all__ = ["BEGINNINGS", "COMPILATIONS", "SUITE", "Beginning", "Compilation", "Item", "select"]

COMPILING: Final = "from SPIR-V to a kernel, in a warm process"
BEGINNING: Final = "first kernel of a process: import, start, build, run, wait"
IN_PYTHON: Final = "first launch of an @az.kernel: definition, front end, build, run, wait"


@dataclass(frozen=True, slots=True)
class Compilation:
    """One program of the kernel suite, or all of them."""

    key: str
    title: str
    program: str = ""
    """Empty for the whole suite: the middle one of the programs counts."""
    compiled: float | None = None
    """Nanoseconds that compiling may take."""
    cached: float | None = None
    """Nanoseconds that finding it in the disk cache may take."""
    group: str = COMPILING


@dataclass(frozen=True, slots=True)
class Beginning:
    """One way to a first result."""

    key: str
    title: str
    at_most: float | None = None
    """Nanoseconds."""
    group: str = BEGINNING


Item = Compilation | Beginning

SUITE: Final = Compilation("compile_suite", "the middle one of these", compiled=25e6, cached=5e6)

_SAME: Final = {"empty_queued", "empty_billion"}
"""Programs whose kernel another one has already."""

COMPILATIONS: Final = (
    *(Compilation(f"compile_{each.key}", each.title, each.key) for each in PROGRAMS if each.key not in _SAME),
    SUITE,
)

BEGINNINGS: Final = (
    Beginning("first_cold", "nothing in the disk cache", at_most=400e6),
    Beginning("first_cached", "the kernel in the disk cache", at_most=200e6),
    Beginning("first_import", "import anyzero alone"),
    Beginning("first_Intel", "Intel's runtime, through pyopencl"),
    Beginning("python_warm", "compiled, in a process that has compiled another", at_most=60e6, group=IN_PYTHON),
    Beginning("python_cached", "from the disk cache, in a fresh process", at_most=10e6, group=IN_PYTHON),
)


def select(text: str) -> tuple[Item, ...]:
    """The items whose key, title or group holds `text`."""
    everything: tuple[Item, ...] = (*COMPILATIONS, *BEGINNINGS)
    return tuple(item for item in everything if text.lower() in f"{item.key} {item.title} {item.group}".lower())
