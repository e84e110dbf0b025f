"""Image formats: the bit layout of a pixel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from anyzero import errors, ze
from anyzero.ze import constants

__all__ = ["ImageFormat"]

_LAYOUT: Final = "ZE_IMAGE_FORMAT_LAYOUT_"
_TYPE: Final = "ZE_IMAGE_FORMAT_TYPE_"
_SWIZZLE: Final = "ZE_IMAGE_FORMAT_SWIZZLE_"


def _value(prefix: str, word: str, what: str) -> int:
    names = {name.removeprefix(prefix).lower(): name for name in vars(constants) if name.startswith(prefix)}
    try:
        return int(getattr(constants, names[word.lower()]))
    except KeyError:
        raise errors.InvalidArgument(f"{word!r} is not an image {what}; there are {', '.join(names)}") from None


@dataclass(frozen=True, slots=True)
class ImageFormat:
    """The format of a pixel: bits per channel or the name of a video layout, their interpretation, and their order.

    `layout` is as in the specification (``"8_8_8_8"``, ``"10_10_10_2"``, ``"nv12"``), `type` is ``"uint"``, ``"sint"``,
    ``"unorm"``, ``"snorm"`` or ``"float"``, `swizzle` names four of ``rgba01x``.

    >>> az.ImageFormat.of(np.float32, channels=2)
    ImageFormat(layout='32_32', type='float', swizzle='rgba')
    """

    layout: str
    type: str = "uint"
    swizzle: str = "rgba"

    @classmethod
    def of(cls, dtype: npt.DTypeLike, channels: int = 1, *, normalized: bool = False) -> ImageFormat:
        """The format of pixels that are `channels` numbers of a numpy dtype; `normalized` integers stand for 0…1."""
        number = np.dtype(dtype)
        types = {"u": ("uint", "unorm"), "i": ("sint", "snorm"), "f": ("float", "float")}
        if number.kind not in types or number.itemsize not in (1, 2, 4) or not 1 <= channels <= 4:
            raise errors.InvalidArgument(
                f"no image format holds {channels} channels of {number}",
                remedy="Images take 1 to 4 integers or floats of 8, 16 or 32 bits; else use ImageFormat(layout=…).",
            )
        layout = "_".join([str(number.itemsize * 8)] * channels)
        return cls(layout, types[number.kind][normalized])

    @property
    def pixel(self) -> tuple[np.dtype[Any], int] | None:
        """The numpy dtype of a channel and the number of channels; None where pixels are not plain numbers.

        >>> az.ImageFormat("8_8_8_8").pixel
        (dtype('uint8'), 4)
        """
        bits = self.layout.split("_")
        kind = {"uint": "u", "unorm": "u", "sint": "i", "snorm": "i", "float": "f"}.get(self.type)
        if kind is None or len(set(bits)) != 1 or bits[0] not in ("8", "16", "32"):
            return None
        if kind == "f" and bits[0] == "8":
            return None
        return np.dtype(f"{kind}{int(bits[0]) // 8}"), len(bits)

    def structure(self) -> ze.ze_image_format_t:
        """The format as the C API takes it."""
        if len(self.swizzle) != 4:
            raise errors.InvalidArgument(f"a swizzle names four channels, not {self.swizzle!r}")
        order = [_value(_SWIZZLE, channel, "channel") for channel in self.swizzle]
        return ze.ze_image_format_t(_value(_LAYOUT, self.layout, "layout"), _value(_TYPE, self.type, "type"), *order)
