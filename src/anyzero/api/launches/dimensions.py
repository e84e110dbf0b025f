"""The dimensions whose ids kernels read.

A kernel that never reads an id along y does the same in all work-items along y. A launch that asks for several of them
is most likely a mistake, and is detected here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

__all__ = ["ALL", "Dimensions"]

ALL: Final = 0b111
"""All three dimensions, as a mask: 1 is x, 2 is y, 4 is z."""


class Dimensions:
    """The dimensions of one module's kernels; the SPIR-V is read when a kernel is first asked about."""

    def __init__(self, modules: Iterable[bytes]) -> None:
        self._modules = list(modules)
        self._found: dict[str, int] | None = None

    def read_by(self, kernel: str) -> int:
        """The dimensions whose ids a kernel reads, as a mask; all of them where the SPIR-V does not show it."""
        if self._found is None:
            # Few programs need the reader: only launches in two or three dimensions ask.
            from anyzero.api.launches.dimension_reader import kernels

            found: dict[str, int] = {}
            for module in self._modules:
                found |= kernels(module)
            self._found, self._modules = found, []
        return self._found.get(kernel, ALL)
