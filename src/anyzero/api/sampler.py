"""Samplers: modes of reading images between pixels and outside of the image."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Final, Literal

from anyzero import ze
from anyzero.api.library import create, function
from anyzero.api.resource import Resource

if TYPE_CHECKING:
    from anyzero.api.context import Context
    from anyzero.api.device import Device

__all__ = ["AddressMode", "FilterMode", "Sampler"]

AddressMode = Literal["none", "repeat", "clamp", "border", "mirror"]
FilterMode = Literal["nearest", "linear"]

_ADDRESSES: Final[dict[str, int]] = {
    "none": ze.ZE_SAMPLER_ADDRESS_MODE_NONE,
    "repeat": ze.ZE_SAMPLER_ADDRESS_MODE_REPEAT,
    "clamp": ze.ZE_SAMPLER_ADDRESS_MODE_CLAMP,
    "border": ze.ZE_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER,
    "mirror": ze.ZE_SAMPLER_ADDRESS_MODE_MIRROR,
}
_FILTERS: Final[dict[str, int]] = {
    "nearest": ze.ZE_SAMPLER_FILTER_MODE_NEAREST,
    "linear": ze.ZE_SAMPLER_FILTER_MODE_LINEAR,
}

_create: Final = function("zeSamplerCreate")


class Sampler(Resource):
    """A mode of reading images between pixels and outside of them; `Context.sampler` makes one.

    `address` defines reads outside of the image: the last pixel (``"clamp"``), zeros (``"border"``), the image
    repeated (``"repeat"``) or mirrored (``"mirror"``), or undefined (``"none"``). `filter` defines reads between
    pixels. With `normalized`, coordinates go from 0 to 1, otherwise from 0 to the size. Any thread may use a sampler.

    >>> az.device().context().sampler(filter="linear", normalized=True)
    <Sampler clamp linear normalized>
    """

    __slots__ = ("address", "context", "device", "filter", "lifetime", "normalized")
    _destroy = function("zeSamplerDestroy")

    def __init__(
        self,
        context: Context,
        device: Device,
        *,
        address: AddressMode = "clamp",
        filter: FilterMode = "nearest",  # noqa: A002 (the specification's word)
        normalized: bool = False,
    ) -> None:
        if address not in _ADDRESSES:
            raise ValueError(f"address={address!r} is not one of {', '.join(_ADDRESSES)}")
        if filter not in _FILTERS:
            raise ValueError(f"filter={filter!r} is not one of {', '.join(_FILTERS)}")
        self.context = context
        self.lifetime = context.lifetime
        self.device = device
        self.address: AddressMode = address
        self.filter: FilterMode = filter
        self.normalized = normalized
        desc = ze.ze_sampler_desc_t(
            addressMode=_ADDRESSES[address], filterMode=_FILTERS[filter], isNormalized=bool(normalized)
        )
        self.handle = create(_create, context.handle, device.handle, ctypes.byref(desc))

    def __repr__(self) -> str:
        coordinates = "normalized" if self.normalized else "in pixels"
        state = ", closed" if self.closed else ""
        return f"<Sampler {self.address} {self.filter} {coordinates}{state}>"
