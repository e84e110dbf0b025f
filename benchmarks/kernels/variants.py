"""The same program written or made in two ways: how much does it cost to be given the other one?

Nobody chooses between them for speed: an index is `int` or `size_t` as the author is used to, SPIR-V comes out of a
compiler with or without its optimiser, and a kernel is written in OpenCL C or in Python. What it costs should not
depend on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from benchmarks.kernels.program import PYTHON, Program
from benchmarks.kernels.programs import PROGRAMS
from benchmarks.kernels.suites import program

__all__ = ["LIMIT", "VARIANTS", "Variant"]

LIMIT: Final = 1.3
"""The slower of the two may take this many times as long."""
PYTHON_LIMIT: Final = 1.05
"""The kernel in Python may take this many times as long as its twin; it may well be faster."""


@dataclass(frozen=True, slots=True)
class Variant:
    """Two programs that compute the same."""

    kind: str
    """What differs: `index`, `optimisation` or `language`."""
    usual: Program
    other: Program
    at_most: float = LIMIT
    one_sided: bool = False
    """Whether the other one may be any amount faster."""

    def excess(self, ratio: float | None) -> float | None:
        """What has to be at most `at_most`, of the other's time divided by the usual one's."""
        return ratio if ratio is None or self.one_sided else max(ratio, 1 / ratio)


def _unoptimised() -> tuple[Variant, ...]:
    made = (Variant("optimisation", each, each.made_as("O0")) for each in PROGRAMS if not each.kernel)
    return tuple(each for each in made if each.other.case("test").spv.exists())


def _in_python() -> tuple[Variant, ...]:
    # Several programs have the same kernel; one of each says enough.
    chosen = (each for each in PROGRAMS if not each.kernel or each.key in ("empty_groups", "small_groups"))
    return tuple(Variant("language", each, each.made_as(PYTHON), PYTHON_LIMIT, one_sided=True) for each in chosen)


INDICES: Final = (("saxpy", "saxpy_int"), ("matmul_size_t", "matmul_int"), ("reduce_size_t", "reduce_int"))

VARIANTS: Final = (
    *(Variant("index", program(a), program(b)) for a, b in INDICES),
    *_unoptimised(),
    *_in_python(),
)
