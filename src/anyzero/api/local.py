"""Local memory, which the work-items of a group share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from anyzero.api.memory.sizes import bytes_of, extents_of, size_within

__all__ = ["Local", "local"]


@dataclass(frozen=True, slots=True)
class Local:
    """A local memory argument: each group gets its own block of this size while it runs.

    >>> az.Local(1024).nbytes
    1024
    """

    nbytes: int

    def __post_init__(self) -> None:
        size_within(self.nbytes, 31, "the size of local memory")


def local(shape: int | tuple[int, ...], dtype: npt.DTypeLike = np.uint8) -> Local:
    """Local memory for an array.

    >>> az.local((16, 16), np.float32)
    Local(nbytes=1024)
    """
    return Local(bytes_of(extents_of(shape), np.dtype(dtype)))
