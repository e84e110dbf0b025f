"""A second suite, held out: kernels that others benchmark, by their published descriptions.

Nobody tunes for it. Single times are neither shown nor kept, so that its mean says what the compiler does with kernels
that it was not made for.
"""

from __future__ import annotations

from typing import Final

from benchmarks.kernels.published import hecbench, parboil, polybench, rodinia

__all__ = ["PUBLISHED"]

PUBLISHED: Final = (*rodinia.PROGRAMS, *parboil.PROGRAMS, *polybench.PROGRAMS, *hecbench.PROGRAMS)
