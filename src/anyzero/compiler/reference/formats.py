"""Image formats: the encoding of texels."""

from __future__ import annotations

import math
from fractions import Fraction

from anyzero.compiler.reference.errors import BadArgument
from anyzero.compiler.reference.numbers import bits_of, clamp, float_of, integer, signed, to_half, to_single
from anyzero.compiler.spirv.tables import FPRoundingMode
from anyzero.compiler.spirv.tables import ImageChannelDataType as Data
from anyzero.compiler.spirv.tables import ImageChannelOrder as Order
from anyzero.lazy_dataclass import dataclass

# Channels in memory order; i and l are intensity and luminance, x is unused.
CHANNELS: dict[int, str] = {
    Order.R: "r",
    Order.A: "a",
    Order.RG: "rg",
    Order.RA: "ra",
    Order.RGB: "rgb",
    Order.RGBA: "rgba",
    Order.BGRA: "bgra",
    Order.ARGB: "argb",
    Order.ABGR: "abgr",
    Order.Intensity: "i",
    Order.Luminance: "l",
    Order.Rx: "r",
    Order.RGx: "rg",
    Order.RGBx: "rgb",
    Order.Depth: "r",
    Order.sRGB: "rgb",
    Order.sRGBx: "rgbx",
    Order.sRGBA: "rgba",
    Order.sBGRA: "bgra",
}
SRGB = {Order.sRGB, Order.sRGBx, Order.sRGBA, Order.sBGRA}
OPAQUE_BORDER = {Order.R, Order.RG, Order.RGB, Order.Luminance, Order.Depth, Order.sRGB}
"""The border colour of these is opaque black; of others, transparent black."""

FLOAT, UNORM, SNORM, SIGNED, UNSIGNED = "float", "unorm", "snorm", "signed", "unsigned"


@dataclass(frozen=True, slots=True)
class Channel:
    kind: str
    size: int
    """Size in bytes."""
    bits: int
    shift: int = 0
    """Unused low bits."""


_PLAIN: dict[int, Channel] = {
    Data.SnormInt8: Channel(SNORM, 1, 8),
    Data.SnormInt16: Channel(SNORM, 2, 16),
    Data.UnormInt8: Channel(UNORM, 1, 8),
    Data.UnormInt16: Channel(UNORM, 2, 16),
    Data.UnormInt24: Channel(UNORM, 4, 24),
    Data.SignedInt8: Channel(SIGNED, 1, 8),
    Data.SignedInt16: Channel(SIGNED, 2, 16),
    Data.SignedInt32: Channel(SIGNED, 4, 32),
    Data.UnsignedInt8: Channel(UNSIGNED, 1, 8),
    Data.UnsignedInt16: Channel(UNSIGNED, 2, 16),
    Data.UnsignedInt32: Channel(UNSIGNED, 4, 32),
    Data.HalfFloat: Channel(FLOAT, 2, 16),
    Data.Float: Channel(FLOAT, 4, 32),
    Data.UnormInt10X6EXT: Channel(UNORM, 2, 10, 6),
    Data.UnormInt12X4EXT: Channel(UNORM, 2, 12, 4),
    Data.UnormInt14X2EXT: Channel(UNORM, 2, 14, 2),
    Data.UnsignedInt10X6EXT: Channel(UNSIGNED, 2, 10, 6),
    Data.UnsignedInt12X4EXT: Channel(UNSIGNED, 2, 12, 4),
    Data.UnsignedInt14X2EXT: Channel(UNSIGNED, 2, 14, 2),
    Data.UnsignedIntRaw10EXT: Channel(UNSIGNED, 2, 10),
    Data.UnsignedIntRaw12EXT: Channel(UNSIGNED, 2, 12),
}

# Channels packed into a word: its bytes, and the lowest bit and width of each channel.
_PACKED: dict[int, tuple[int, dict[str, tuple[int, int]]]] = {
    Data.UnormShort565: (2, {"r": (11, 5), "g": (5, 6), "b": (0, 5)}),
    Data.UnormShort555: (2, {"r": (10, 5), "g": (5, 5), "b": (0, 5)}),
    Data.UnormInt101010: (4, {"r": (20, 10), "g": (10, 10), "b": (0, 10)}),
    Data.UnormInt101010_2: (4, {"r": (22, 10), "g": (12, 10), "b": (2, 10), "a": (0, 2)}),
    Data.UnormInt2_101010EXT: (4, {"a": (30, 2), "r": (20, 10), "g": (10, 10), "b": (0, 10)}),
}

Texel = tuple[float, float, float, float]
"""Red, green, blue and alpha; for integer formats, integers of the format's signedness."""


@dataclass(frozen=True, slots=True)
class Format:
    order: int
    data_type: int

    def __post_init__(self) -> None:
        if self.order not in CHANNELS or (self.data_type not in _PLAIN and self.data_type not in _PACKED):
            raise BadArgument(f"there is no image of channel order {self.order} and data type {self.data_type}")

    @property
    def texel_bytes(self) -> int:
        """Bytes per texel."""
        if self.data_type in _PACKED:
            return _PACKED[self.data_type][0]
        return len(CHANNELS[self.order]) * _PLAIN[self.data_type].size

    @property
    def integers(self) -> bool:
        return self.data_type in _PLAIN and _PLAIN[self.data_type].kind in (SIGNED, UNSIGNED)

    @property
    def is_signed(self) -> bool:
        return self.data_type in _PLAIN and _PLAIN[self.data_type].kind == SIGNED

    @property
    def border(self) -> Texel:
        return (0, 0, 0, int(self.order in OPAQUE_BORDER))

    def decode(self, data: bytes) -> Texel:
        found: dict[str, float] = {}
        if self.data_type in _PACKED:
            word = int.from_bytes(data, "little")
            for name, (low, bits) in _PACKED[self.data_type][1].items():
                top = (1 << bits) - 1
                found[name] = to_single((word >> low & top) / top)
        else:
            channel = _PLAIN[self.data_type]
            for index, name in enumerate(CHANNELS[self.order]):
                part = data[index * channel.size : (index + 1) * channel.size]
                found[name] = _decoded(channel, int.from_bytes(part, "little"))
        if "i" in found:
            return (found["i"],) * 4
        if "l" in found:
            return (found["l"],) * 3 + (1,)
        if self.order in SRGB:
            found.update({name: _to_linear(found[name]) for name in "rgb"})
        only_alpha = CHANNELS[self.order] == "a"
        return found.get("r", 0), found.get("g", 0), found.get("b", 0), found.get("a", 0 if only_alpha else 1)

    def encode(self, texel: Texel) -> bytes:
        values: dict[str, float] = dict(zip("rgba", texel, strict=True))
        values.update({"i": texel[0], "l": texel[0], "x": 0})
        if self.order in SRGB:
            values.update({name: _from_linear(values[name]) for name in "rgb"})
        if self.data_type in _PACKED:
            size, fields = _PACKED[self.data_type]
            word = sum(_level(values[name], (1 << bits) - 1) << low for name, (low, bits) in fields.items())
            return word.to_bytes(size, "little")
        channel = _PLAIN[self.data_type]
        parts = [_encoded(channel, values[name]) for name in CHANNELS[self.order]]
        return b"".join(part.to_bytes(channel.size, "little") for part in parts)


def _decoded(channel: Channel, bits: int) -> float:
    if channel.kind == FLOAT:
        return float_of(bits, channel.bits)
    bits = bits >> channel.shift & ((1 << channel.bits) - 1)
    if channel.kind == UNSIGNED:
        return bits
    if channel.kind == SIGNED:
        return signed(bits, channel.bits)
    if channel.kind == UNORM:
        return to_single(bits / ((1 << channel.bits) - 1))
    return max(-1.0, to_single(signed(bits, channel.bits) / ((1 << (channel.bits - 1)) - 1)))


def _encoded(channel: Channel, value: float) -> int:
    if channel.kind == FLOAT:
        return bits_of(to_half(value) if channel.bits == 16 else value, channel.bits)
    mask = (1 << channel.bits) - 1
    if channel.kind == UNSIGNED:
        return clamp(int(value), 0, mask) << channel.shift
    if channel.kind == SIGNED:
        top = (1 << (channel.bits - 1)) - 1
        return clamp(int(value), -top - 1, top) & mask
    if channel.kind == UNORM:
        return _level(value, mask) << channel.shift
    top = mask >> 1
    return clamp(_nearest(value, top), -top - 1, top) & mask


def _level(value: float, top: int) -> int:
    return clamp(_nearest(value, top), 0, top)


def _nearest(value: float, top: int) -> int:
    if value != value:
        return 0
    # Both bounds saturate; an infinity cannot be converted to an integer.
    bounded = min(max(value, -2.0), 2.0)
    return integer(to_single(float(Fraction(bounded) * top)), FPRoundingMode.RTE)


def _to_linear(value: float) -> float:
    return to_single(value / 12.92 if value <= 0.04045 else math.pow((value + 0.055) / 1.055, 2.4))


def _from_linear(value: float) -> float:
    if not value > 0.0:
        return 0.0
    if value >= 1.0:
        return 1.0
    return 12.92 * value if value < 0.0031308 else 1.055 * math.pow(value, 1.0 / 2.4) - 0.055
