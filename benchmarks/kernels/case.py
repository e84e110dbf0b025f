"""A kernel with its arguments and what must come out: everything that is needed to run it anywhere.

Nothing here knows a device. Arguments and expected results are made by numpy from fixed seeds, so that every runtime
gets the same numbers. The tests run small cases through whatever they test, the benchmarks large ones through every
peer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

__all__ = ["FOLDER", "MEASURED", "Argument", "Array", "Case", "Image", "Local", "Sampler", "mismatch"]

FOLDER: Final = Path(__file__).resolve().parents[2] / "tests" / "kernels"
"""Where the kernels are: OpenCL C beside the SPIR-V that a real compiler made of it."""
MEASURED: Final = FOLDER / "measured"
"""Those that the benchmarks alone use."""

Array = np.ndarray[Any, np.dtype[Any]]
Ulp = float | tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Local:
    """An argument in local memory."""

    nbytes: int


@dataclass(frozen=True, slots=True)
class Image:
    """An argument that is an image; what the kernel leaves in it has the shape of `pixels`."""

    pixels: Array
    """(width, channels), (height, width, channels) or (depth, height, width, channels); channels are 1, 2 or 4."""
    normalized: bool = False
    """Integers that stand for 0 … 1, or -1 … 1."""
    layers: bool = False
    """The first axis counts the layers of an array of images."""
    access: str = "read"
    """`read`, `write` or `both`."""
    buffer: bool = False
    """A 1D image on a buffer (image1d_buffer_t)."""


@dataclass(frozen=True, slots=True)
class Sampler:
    """An argument that is a sampler."""

    normalized: bool
    address: str
    """`none`, `edge`, `border`, `repeat` or `mirror`."""
    linear: bool


Argument = Array | np.generic | Local | Image | Sampler
"""A buffer, a value (a structure is a `numpy.void`), or one of the above."""


@dataclass(frozen=True, slots=True)
class Case:
    """One launch, or several of the same kernel."""

    name: str
    spv: Path
    kernel: str
    arguments: Callable[[], list[Argument]]
    """Makes them anew, always the same."""
    global_size: tuple[int, ...]
    group_size: tuple[int, ...]
    """() leaves it to the driver."""
    expected: Callable[[list[Any]], dict[int, Array]]
    """From fresh arguments: what each written one must hold afterwards, by its number."""
    rtol: float = 0.0
    atol: float = 0.0
    ulp: Ulp = 0.0
    """Units in the last place, for all or by row, instead of the tolerances; what is expected is more precise then."""
    outliers: float = 0.0
    """The share of elements that may differ by more: where rounding decides what happens next, it decides much."""
    needs: frozenset[str] = frozenset()
    """What not every implementation has: double, half, images, printf, sub_groups, …"""
    labels: tuple[str, ...] = ()
    """What the rows of a result with several rows are called."""
    launches: tuple[Mapping[int, np.generic], ...] = ({},)
    """The arguments that differ from launch to launch."""
    offset: tuple[int, ...] = ()
    """Where global ids begin, if not at zero."""
    printed: tuple[str, ...] | None = None
    """Lines that the kernel prints, in any order."""

    @property
    def source(self) -> Path:
        """The OpenCL C that the SPIR-V was made of."""
        return self.spv.with_name(self.spv.name.split(".")[0] + ".cl")

    @property
    def items(self) -> int:
        return int(np.prod(self.global_size))

    @property
    def groups(self) -> tuple[int, ...]:
        return tuple(size // group for size, group in zip(self.global_size, self.group_size, strict=True))

    def mismatch(self, after: Mapping[int, Array], expected: Mapping[int, Array] | None = None) -> str | None:
        """What is wrong about the arguments after a run; None when everything is as expected."""
        if expected is None:
            expected = self.expected(self.arguments())
        for index, wanted in expected.items():
            if index not in after:
                return f"{self.name}: there is no result for argument {index}"
            found = mismatch(after[index], wanted, self.rtol, self.atol, self.ulp, self.outliers)
            if found is not None:
                where, text = found
                label = f" ({self.labels[where[0]]})" if len(where) > 1 and where[0] < len(self.labels) else ""
                return f"{self.name}: argument {index} at {list(where)}{label}: {text}"
        return None


def _as_fields(array: Array) -> Sequence[tuple[str, Array]]:
    if array.dtype.names is None:
        return [("", array)]
    return [(name, array[name]) for name in array.dtype.names]


def _wrong(got: Array, wanted: Array, rtol: float, atol: float, ulp: Ulp) -> Any:
    """True where `got` is not acceptable."""
    if not np.issubdtype(got.dtype, np.floating):
        return got != wanted if not atol else np.abs(got.astype(np.int64) - wanted.astype(np.int64)) > atol
    with np.errstate(all="ignore"):
        rounded = wanted.astype(got.dtype)
        if ulp:
            # Too small to be a normal number: one step of the smallest normal ones is the finest that is asked for.
            step = np.spacing(np.maximum(np.abs(rounded), np.finfo(got.dtype).tiny)).astype(wanted.dtype)
            allowed = np.reshape(ulp, (-1, *[1] * (wanted.ndim - 1)))
            near = np.abs(got.astype(wanted.dtype) - wanted) <= allowed * step
            # An implementation may flush what is below the normal numbers.
            near |= (np.abs(wanted) < np.finfo(got.dtype).tiny) & (got == 0)
        else:
            near = np.isclose(got.astype(wanted.dtype), wanted, rtol=rtol, atol=atol, equal_nan=True)
        return ~(near | (got == rounded) | (np.isnan(got) & np.isnan(rounded)))


def mismatch(
    got: Array, wanted: Array, rtol: float = 0.0, atol: float = 0.0, ulp: Ulp = 0.0, outliers: float = 0.0
) -> tuple[tuple[int, ...], str] | None:
    """Index and description of the first element that differs by too much."""
    if got.size != wanted.size:
        return (), f"{got.size} elements instead of {wanted.size}"
    for (name, mine), (_, theirs) in zip(_as_fields(got.reshape(wanted.shape)), _as_fields(wanted), strict=True):
        wrong = _wrong(mine, theirs, rtol, atol, ulp)
        count = int(np.count_nonzero(wrong))
        if count > outliers * wrong.size:
            where = tuple(int(axis[0]) for axis in np.nonzero(wrong))
            field = f".{name} " if name else ""
            return where, f"{field}{mine[where]!r} instead of {theirs[where]!r} ({count} of {mine.size} are wrong)"
    return None
