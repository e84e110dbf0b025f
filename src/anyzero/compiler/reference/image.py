"""Images and samplers: the arguments, and addressing and filtering of texels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from anyzero.compiler.reference.errors import BadArgument, OutOfBounds, ReadOnly
from anyzero.compiler.reference.formats import Format, Texel
from anyzero.compiler.reference.numbers import to_single
from anyzero.compiler.spirv.tables import ImageChannelDataType, ImageChannelOrder, SamplerFilterMode
from anyzero.compiler.spirv.tables import SamplerAddressingMode as Addressing


class Sampler:
    """Filter and addressing modes, with SPIR-V's values."""

    __slots__ = ("addressing", "filter", "normalized")

    def __init__(
        self,
        addressing: int = Addressing.ClampToEdge,
        filter: int = SamplerFilterMode.Nearest,  # noqa: A002 (OpenCL's word)
        normalized: bool = False,
    ) -> None:
        self.addressing = addressing
        self.filter = filter
        self.normalized = normalized


class Image:
    """Texels in an array, which is used in place.

    `size` is the width and, by dimension, height and depth; `layers` makes it an image array. `order` and `data_type`
    are SPIR-V's. Further mip levels, each half as large, follow the first without gaps.
    """

    __slots__ = (
        "base",
        "format",
        "layers",
        "levels",
        "row_pitch",
        "samples",
        "size",
        "slice_pitch",
        "view",
        "writable",
    )

    def __init__(
        self,
        data: np.ndarray[Any, Any] | bytes | bytearray,
        size: Sequence[int],
        order: int = ImageChannelOrder.RGBA,
        data_type: int = ImageChannelDataType.Float,
        *,
        layers: int = 0,
        row_pitch: int = 0,
        slice_pitch: int = 0,
        levels: int = 1,
        samples: int = 1,
    ) -> None:
        self.format = Format(order, data_type)
        self.size = tuple(int(each) for each in size)
        if not 1 <= len(self.size) <= 3 or min(self.size) < 1:
            raise BadArgument(f"{self.size} is no size of an image")
        self.layers, self.levels, self.samples = layers, levels, samples
        if isinstance(data, np.ndarray):
            if not data.flags.c_contiguous:
                raise BadArgument("the texels of an image must be contiguous in memory")
            data_bytes = data.reshape(-1).view(np.uint8)
            self.view, self.writable = memoryview(data_bytes.data), data.flags.writeable
        else:
            self.view, self.writable = memoryview(data), isinstance(data, bytearray)
        self.row_pitch = row_pitch or self.size[0] * self.format.texel_bytes
        rows = self.size[1] if len(self.size) > 1 else 1
        self.slice_pitch = slice_pitch or self.row_pitch * rows
        self.base = 0
        need = sum(self._slices(level) * self.level(level).slice_pitch for level in range(levels))
        if need > len(self.view) + (self.row_pitch - self.size[0] * self.format.texel_bytes):
            raise BadArgument(f"an image of {self.size} needs {need} bytes and has {len(self.view)}")

    def _slices(self, level: int) -> int:
        return self.layers or (max(self.size[2] >> level, 1) if len(self.size) > 2 else 1)

    def level(self, number: int) -> Image:
        """A mip level as a separate image, clamped to the existing ones."""
        number = min(max(number, 0), self.levels - 1)
        if number == 0:
            return self
        made = Image.__new__(Image)
        made.format, made.layers, made.levels, made.samples = self.format, self.layers, 1, self.samples
        made.view, made.writable = self.view, self.writable
        made.size = tuple(max(each >> number, 1) for each in self.size)
        made.row_pitch = made.size[0] * self.format.texel_bytes
        made.slice_pitch = made.row_pitch * (made.size[1] if len(made.size) > 1 else 1)
        before = self.level(number - 1)
        made.base = before.base + before.slice_pitch * self._slices(number - 1)
        return made

    @property
    def extents(self) -> tuple[int, ...]:
        """Number of texels along each coordinate, the layers last."""
        return (*self.size, self.layers) if self.layers else self.size

    def _offset(self, at: Sequence[int]) -> int:
        if any(not 0 <= each < extent for each, extent in zip(at, self.extents, strict=True)):
            offset = tuple(at)
            raise OutOfBounds(f"there is no texel {offset} in an image of {self.extents}", "image", None)
        rest = tuple(at[1:])
        if len(self.size) == 1:
            row, slice_ = 0, rest[0] if rest else 0
        else:
            row, slice_ = rest[0], rest[1] if len(rest) > 1 else 0
        return self.base + slice_ * self.slice_pitch + row * self.row_pitch + at[0] * self.format.texel_bytes

    def read(self, at: Sequence[int]) -> Texel:
        offset = self._offset(at)
        return self.format.decode(bytes(self.view[offset : offset + self.format.texel_bytes]))

    def write(self, at: Sequence[int], texel: Texel) -> None:
        offset = self._offset(at)
        if not self.writable:
            raise ReadOnly("writes to a read-only image")
        self.view[offset : offset + self.format.texel_bytes] = self.format.encode(texel)

    @property
    def rows(self) -> int:
        return self.size[1] if len(self.size) > 1 else 1

    def row(self, y: int) -> tuple[int, int]:
        """Begin and end of a row in bytes; rows outside are clamped."""
        start = self.base + min(max(y, 0), self.rows - 1) * self.row_pitch
        return start, start + self.size[0] * self.format.texel_bytes

    def sample(self, sampler: Sampler, at: Sequence[float]) -> Texel:
        """Samples at integer or float coordinates; the last one may be a layer."""
        space = at[: len(self.size)]
        layer: tuple[int, ...] = ()
        if self.layers:
            layer = (min(max(_rounded(at[len(self.size)]), 0), self.layers - 1),)
        axes = [_axis(sampler, coordinate, extent) for coordinate, extent in zip(space, self.size, strict=True)]
        if len(axes[0]) == 1:
            return self._one(axes, layer)
        total = [0.0] * 4
        for corner in product(*axes):
            weight = math.prod(share for _, share in corner)
            texel = self._one([[pair] for pair in corner], layer)
            for index, value in enumerate(texel):
                # An infinite texel with weight 0 must not turn the sum into a NaN.
                total[index] += weight * value if weight else 0.0
        red, green, blue, alpha = (to_single(value) for value in total)
        return red, green, blue, alpha

    def _one(self, axes: list[list[tuple[int | None, float]]], layer: tuple[int, ...]) -> Texel:
        places = [pairs[0][0] for pairs in axes]
        inside = [place for place in places if place is not None]
        return self.read((*inside, *layer)) if len(inside) == len(places) else self.format.border


def _rounded(value: float) -> int:
    if not math.isfinite(value):
        return 0 if value != value or value < 0 else 1 << 31
    return round(value)


def _axis(sampler: Sampler, coordinate: float, extent: int) -> list[tuple[int | None, float]]:
    """The texels along one coordinate with their weights; None is the border."""
    mode, linear = sampler.addressing, sampler.filter == SamplerFilterMode.Linear
    if not math.isfinite(coordinate):
        coordinate = 0.0 if coordinate != coordinate else math.copysign(float(1 << 30), coordinate)
    at: float
    if not sampler.normalized:
        at = coordinate
    elif mode == Addressing.Repeat:
        at = to_single(to_single(coordinate - math.floor(coordinate)) * extent)
    elif mode == Addressing.RepeatMirrored:
        nearest = 2.0 * round(0.5 * coordinate)
        at = to_single(to_single(abs(coordinate - nearest)) * extent)
    else:
        at = to_single(coordinate * extent)
    fold = _FOLDS.get(mode, _edge) if sampler.normalized or mode == Addressing.Clamp else _edge
    if not linear:
        return [(fold(math.floor(at), extent), 1.0)]
    shifted = to_single(at - 0.5)
    low = math.floor(shifted)
    share = to_single(shifted - low)
    return [(fold(low, extent), 1.0 - share), (fold(low + 1, extent), share)]


def _edge(place: int, extent: int) -> int | None:
    return min(max(place, 0), extent - 1)


def _border(place: int, extent: int) -> int | None:
    return place if 0 <= place < extent else None


def _around(place: int, extent: int) -> int | None:
    return place % extent


_FOLDS: dict[int, Callable[[int, int], int | None]] = {
    Addressing.Clamp: _border,
    Addressing.Repeat: _around,
    Addressing.RepeatMirrored: _edge,
}
"""Texel index by addressing mode. Without a mode, coordinates outside are undefined; they are clamped."""
