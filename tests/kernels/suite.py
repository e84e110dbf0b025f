"""Every kernel of the tests, with its arguments and what must come out.

`CASES` runs anywhere: through the interpreter, through compiled code, through another implementation
(`through_opencl.py`). Sizes are small, for the interpreter's sake; group sizes are odd on purpose.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from benchmarks.kernels.case import FOLDER, Case
from benchmarks.kernels.programs import PROGRAMS
from tests.kernels.topics import (
    composites,
    conversions,
    floats,
    flow,
    groups,
    images,
    integers,
    long_groups,
    maths,
    memory,
    sscp,
    strides,
)

__all__ = ["BENCHMARKS", "CASES", "LANGUAGE", "VARIANTS", "case"]

BENCHMARKS: Final = tuple(program.case("test") for program in PROGRAMS)
"""The benchmarks' kernels, small."""

_BASICS = (integers, conversions, floats, composites, flow, groups, memory)

LANGUAGE: Final = tuple(each for topic in (*_BASICS, strides, images, maths, long_groups, sscp) for each in topic.CASES)
"""One topic of the language each."""


def _variants() -> tuple[Case, ...]:
    made = []
    for original in (*BENCHMARKS, *LANGUAGE):
        for path in sorted(FOLDER.glob(f"{original.spv.stem}.*.spv")):
            suffix = path.name.split(".")[1]
            made.append(replace(original, name=f"{original.name}.{suffix}", spv=path))
    return tuple(made)


VARIANTS: Final = _variants()
"""The same from SPIR-V that was made otherwise: not optimised (O0), without short vectors (scalar)."""

CASES: Final = (*BENCHMARKS, *LANGUAGE, *VARIANTS)


def case(name: str) -> Case:
    return next(each for each in CASES if each.name == name)
