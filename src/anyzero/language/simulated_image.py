"""Images of the simulator."""

from __future__ import annotations

import itertools
import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from anyzero.language.numbers import Number, VectorValue, converted, raw
from anyzero.language.types import I32, Image

if TYPE_CHECKING:
    from anyzero.api.sampler import Sampler

__all__ = ["ImageValue"]


class ImageValue:
    """An image of the simulator: texels by their coordinates, x first; outside of it, zeros."""

    def __init__(self, texels: npt.NDArray[Any], of: Image) -> None:
        self.type = of
        self._texels = texels
        self._of = of.element
        self._ndim = of.ndim

    def _place(self, coordinates: Any) -> tuple[int, ...] | None:
        place = tuple(operator.index(each) for each in reversed(coordinates))
        inside = all(0 <= at < extent for at, extent in zip(place, self._texels.shape, strict=False))
        return place if inside else None

    def read(self, *coordinates: Any) -> Any:
        place = self._place(coordinates)
        found = np.atleast_1d(self._texels[place]).tolist() if place is not None else [0]
        return VectorValue(self._of, [*found, 0, 0, 1][:4] if len(found) < 4 else found)

    def write(self, *given: Any) -> None:
        place = self._place(given[:-1])
        if place is not None:
            parts = [raw(part) for part in converted(given[-1], self._of).parts]
            self._texels[place] = parts[: self._texels.shape[-1]] if self._texels.ndim > self._ndim else parts[0]

    def sample(self, sampler: Sampler, *coordinates: Any) -> Any:
        """A read as OpenCL defines it; a kernel on the device may round the weights of a linear filter differently."""
        extents = self._texels.shape[: self._ndim]
        linear = sampler.filter == "linear" and self._of.element.kind == "f"
        axes = [
            _neighbours(float(at), extent, sampler, linear=linear)
            for at, extent in zip(reversed(coordinates), extents, strict=True)
        ]
        total = np.zeros(4, np.float64 if linear else self._texels.dtype)
        for corner in itertools.product(*axes):
            weight = math.prod(weight for _, weight in corner) if linear else 1
            total += np.asarray(self._texel(tuple(place for place, _ in corner)), total.dtype) * weight
        return VectorValue(self._of, [raw(converted(part, self._of.element)) for part in total.tolist()])

    def _texel(self, place: tuple[int, ...]) -> list[Any]:
        """Four components of a texel; of the border where the place is outside."""
        inside = all(0 <= at < extent for at, extent in zip(place, self._texels.shape, strict=False))
        channels = self._texels.shape[-1] if self._texels.ndim > self._ndim else 1
        found = np.atleast_1d(self._texels[place]).tolist() if inside else [0] * channels
        return [*found, *[0, 0, 0, 1][len(found) :]]

    @property
    def width(self) -> Any:
        return Number(I32, self._texels.shape[self._ndim - 1])

    @property
    def height(self) -> Any:
        return Number(I32, self._texels.shape[self._ndim - 2])

    @property
    def depth(self) -> Any:
        return Number(I32, self._texels.shape[0])


def _neighbours(at: float, extent: int, sampler: Sampler, *, linear: bool) -> list[tuple[int, float]]:
    """The texels along one axis that a coordinate is between, with their weights; -1 and `extent` are the border."""
    address = sampler.address
    if address == "mirror":
        at = abs(at - 2 * round(at / 2)) * extent if sampler.normalized else at
    elif address == "repeat":
        at = (at - math.floor(at)) * extent if sampler.normalized else at
    elif sampler.normalized:
        at *= extent
    if not linear:
        return [(_addressed(math.floor(at), extent, address), 1.0)]
    low = math.floor(at - 0.5)
    part = at - 0.5 - low
    return [(_addressed(low, extent, address), 1 - part), (_addressed(low + 1, extent, address), part)]


def _addressed(place: int, extent: int, address: str) -> int:
    if address == "repeat":
        return place % extent
    if address == "border":
        return min(max(place, -1), extent)
    return min(max(place, 0), extent - 1)
