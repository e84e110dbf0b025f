"""The same program written or made in two ways: how much does it cost to be given the other one?

Nobody chooses between them for speed: an index is `int` or `size_t` as the author is used to, and SPIR-V comes out of a
compiler with or without its optimiser. What a kernel costs should not depend on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from benchmarks.kernels.program import Program
from benchmarks.kernels.programs import PROGRAMS
from benchmarks.kernels.suites import program

__all__ = ["LIMIT", "VARIANTS", "Variant"]

LIMIT: Final = 1.3
"""The slower of the two may take this many times as long."""


@dataclass(frozen=True, slots=True)
class Variant:
    """Two programs that compute the same."""

    kind: str
    """What differs: `index` or `optimisation`."""
    usual: Program
    other: Program


def _unoptimised() -> tuple[Variant, ...]:
    made = (Variant("optimisation", each, each.made_as("O0")) for each in PROGRAMS if not each.kernel)
    return tuple(each for each in made if each.other.case("test").spv.exists())


INDICES: Final = (("saxpy", "saxpy_int"), ("matmul_size_t", "matmul_int"), ("reduce_size_t", "reduce_int"))

VARIANTS: Final = (*(Variant("index", program(a), program(b)) for a, b in INDICES), *_unoptimised())
