"""A numpy model of images, as the reference for the engine."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from anyzero import ze

SHAPES = ("1D", "1DARRAY", "2D", "2DARRAY", "3D", "BUFFER")
TYPES = ("UINT", "SINT", "UNORM", "SNORM", "FLOAT")
Plane = tuple[int, int, int]
"""Bytes of an element, and the pixels that it covers across and down."""

# Written from the formats' definitions, not from the engine's table.
INTEGERS, UNSIGNED = "UINT SINT UNORM SNORM", "UINT UNORM"
# Normalised, 32 bits would have to pass through a float.
WIDE = "UINT SINT FLOAT"
COMPONENTS: dict[str, tuple[int, str]] = {
    "8": (1, INTEGERS),
    "16": (2, f"{INTEGERS} FLOAT"),
    "32": (4, WIDE),
    "8_8": (2, INTEGERS),
    "8_8_8": (3, INTEGERS),
    "8_8_8_8": (4, INTEGERS),
    "16_16": (4, f"{INTEGERS} FLOAT"),
    "16_16_16": (6, f"{INTEGERS} FLOAT"),
    "16_16_16_16": (8, f"{INTEGERS} FLOAT"),
    "32_32": (8, WIDE),
    "32_32_32": (12, WIDE),
    "32_32_32_32": (16, WIDE),
    "10_10_10_2": (4, INTEGERS),
    "11_11_10": (4, f"{UNSIGNED} FLOAT"),
    "5_6_5": (2, UNSIGNED),
    "5_5_5_1": (2, UNSIGNED),
    "4_4_4_4": (2, UNSIGNED),
}
MEDIA: dict[str, list[Plane]] = {
    **{name: [(1, 1, 1)] for name in ("Y8", "P8", "IA44", "AI44", "400P")},
    **{name: [(2, 1, 1)] for name in ("Y16", "A8P8")},
    **{name: [(4, 1, 1)] for name in ("AYUV", "Y410")},
    "Y416": [(8, 1, 1)],
    **{name: [(4, 2, 1)] for name in ("YUYV", "VYUY", "YVYU", "UYVY", "YUY2")},
    **{name: [(8, 2, 1)] for name in ("Y210", "Y216")},
    "NV12": [(1, 1, 1), (2, 2, 2)],
    **{name: [(2, 1, 1), (4, 2, 2)] for name in ("P010", "P012", "P016")},
    "P216": [(2, 1, 1), (4, 2, 1)],
    **{name: [(1, 1, 1), (1, 2, 2), (1, 2, 2)] for name in ("I420", "YV12")},
    "422H": [(1, 1, 1), (1, 2, 1), (1, 2, 1)],
    "422V": [(1, 1, 1), (1, 1, 2), (1, 1, 2)],
    **{name: [(1, 1, 1)] * 3 for name in ("444P", "RGBP", "BRGP")},
}
PLANES = {**{name: [(size, 1, 1)] for name, (size, _) in COMPONENTS.items()}, **MEDIA}


def accepted(layout: str, kind: str, shape: str) -> bool:
    if layout in MEDIA:
        return shape != "BUFFER"
    return kind in COMPONENTS[layout][1].split()


@dataclass(frozen=True)
class Region:
    """Part of an image; `z` and `slices` count array levels of any array."""

    x: int
    y: int
    z: int
    width: int
    height: int
    slices: int

    def c(self, shape: str) -> Any:
        if shape == "1DARRAY":
            return ze.ze_image_region_t(self.x, self.z, 0, self.width, self.slices, 1)
        return ze.ze_image_region_t(self.x, self.y, self.z, self.width, self.height, self.slices)


@dataclass(frozen=True)
class Extent:
    """The size of an image in pixels, and its form."""

    layout: str
    shape: str
    width: int
    height: int
    slices: int

    @classmethod
    def of(cls, layout: str, shape: str, width: int = 22, height: int = 10, slices: int = 3) -> Extent:
        return cls(
            layout,
            shape,
            width,
            height if shape in ("2D", "2DARRAY", "3D") else 1,
            slices if shape in ("1DARRAY", "2DARRAY", "3D") else 1,
        )

    @property
    def whole(self) -> Region:
        return Region(0, 0, 0, self.width, self.height, self.slices)

    def desc(self, kind: str = "UINT", **fields: Any) -> Any:
        swizzle = (ze.ZE_IMAGE_FORMAT_SWIZZLE_R, ze.ZE_IMAGE_FORMAT_SWIZZLE_G, ze.ZE_IMAGE_FORMAT_SWIZZLE_B, 3)
        layout = getattr(ze, f"ZE_IMAGE_FORMAT_LAYOUT_{self.layout}")
        return ze.ze_image_desc_t(
            **{
                "type": getattr(ze, f"ZE_IMAGE_TYPE_{self.shape}"),
                "format": ze.ze_image_format_t(layout, getattr(ze, f"ZE_IMAGE_FORMAT_TYPE_{kind}"), *swizzle),
                "width": self.width * (PLANES[self.layout][0][0] if self.shape == "BUFFER" else 1),
                "height": self.height,
                "depth": self.slices,
                "arraylevels": self.slices,
                **fields,
            }
        )

    def random_region(self, rng: np.random.Generator) -> Region:
        def span(size: int, step: int) -> tuple[int, int]:
            begin = int(rng.integers(0, size)) // step * step
            end = min(size, begin + int(rng.integers(1, size - begin + 1) + step - 1) // step * step)
            return begin, end - begin

        across = max(plane[1] for plane in PLANES[self.layout])
        down = max(plane[2] for plane in PLANES[self.layout])
        (x, width), (y, height), (z, slices) = span(self.width, across), span(self.height, down), span(self.slices, 1)
        return Region(x, y, z, width, height, slices)


class Model:
    """The contents of an image: an array of slices × rows × bytes for each plane."""

    def __init__(self, extent: Extent, rng: np.random.Generator) -> None:
        self.extent = extent
        self.planes = [
            rng.integers(
                0, 256, (extent.slices, ceil(extent.height / down), ceil(extent.width / across) * size), dtype=np.uint8
            )
            for size, across, down in PLANES[extent.layout]
        ]

    def parts(self, region: Region) -> list[np.ndarray]:
        """The region in each plane, as writable views."""
        return [
            plane[
                region.z : region.z + region.slices,
                region.y // down : ceil((region.y + region.height) / down),
                region.x // across * size : ceil((region.x + region.width) / across) * size,
            ]
            for plane, (size, across, down) in zip(self.planes, PLANES[self.extent.layout], strict=True)
        ]

    def packed(self, region: Region) -> np.ndarray:
        """Slice after slice, in each plane after plane, nothing between."""
        return np.concatenate([part[i].ravel() for i in range(region.slices) for part in self.parts(region)])

    def unpack(self, region: Region, data: np.ndarray) -> None:
        at = 0
        for i in range(region.slices):
            for part in self.parts(region):
                part[i] = data[at : at + part[i].size].reshape(part[i].shape)
                at += part[i].size
