"""The programs by suite, and by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from benchmarks.kernels.program import Program
from benchmarks.kernels.programs import PROGRAMS
from benchmarks.kernels.published import PUBLISHED
from benchmarks.kernels.shapes import SHAPES

__all__ = ["SUITES", "program"]

SUITES: Final[Mapping[str, tuple[Program, ...]]] = {
    "programs": PROGRAMS,
    "shapes": tuple(shape.program for shape in SHAPES),
    "published": PUBLISHED,
}


def program(key: str) -> Program:
    """By its key, or by `KEY.FORM` (`saxpy.O0`)."""
    name, _, form = key.partition(".")
    found = next(each for programs in SUITES.values() for each in programs if each.key == name)
    return found.made_as(form) if form else found
