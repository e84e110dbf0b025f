"""The description that the engine is given at start-up, and its encoding.

Its layout is that of `anyzero.layouts.description`.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Mapping
from typing import Any, Final

from anyzero import ze
from anyzero.layouts.description import (
    DESCRIPTION_MAGIC,
    DescriptionHead,
    DeviceRecord,
    DriverKind,
    DriverRecord,
    PropertyRecord,
    SettingRecord,
    TextRecord,
)
from anyzero.lazy_dataclass import dataclass, field
from anyzero.ze.extensible import Extensible

__all__ = ["Blob", "Description", "Device", "Driver", "encode"]

_ALIGNMENT: Final = 8


@dataclass(frozen=True, slots=True)
class Blob:
    """The answer to one structure type: one structure, or an array where the query returns several.

    `extends` is the structure type on whose ``pNext`` it hangs, 0 where a query is for this one itself.
    """

    structures: tuple[Extensible, ...]
    extends: int = 0

    @classmethod
    def of(cls, *structures: Extensible) -> Blob:
        """The answer to a query for the structure itself."""
        return cls(structures)

    @classmethod
    def behind(cls, head: type[Extensible], *structures: Extensible) -> Blob:
        """An extension structure, for the ``pNext`` chain of `head`."""
        return cls(structures, head._stype_)

    def __post_init__(self) -> None:
        kinds = {(type(each), each.stype) for each in self.structures}
        if len(kinds) != 1 or not self.stype:
            raise ValueError("a blob holds at least one structure, and all of one structure type")

    @property
    def stype(self) -> int:
        """The structure type that they all carry."""
        return int(self.structures[0].stype)


@dataclass(frozen=True, slots=True)
class Device:
    """A device or a tile: its backend, its properties, its tiles."""

    backend: str
    blobs: tuple[Blob, ...]
    tiles: tuple[Device, ...] = ()

    @property
    def identity(self) -> Any:
        """The structure for zeDeviceGetProperties."""
        wanted = ze.ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES
        return next(blob.structures[0] for blob in self.blobs if blob.stype == wanted)


@dataclass(frozen=True, slots=True)
class Driver:
    """A driver with its devices."""

    kind: DriverKind
    blobs: tuple[Blob, ...]
    extensions: tuple[ctypes.Structure, ...]
    devices: tuple[Device, ...]


@dataclass(frozen=True, slots=True)
class Description:
    """Everything that the engine is given at start-up."""

    settings: Mapping[str, int]
    drivers: tuple[Driver, ...]
    texts: Mapping[str, str] = field(default_factory=dict)


def encode(description: Description) -> bytes:
    """The bytes that the engine reads."""
    settings, texts, drivers = description.settings, description.texts, description.drivers
    parts = [DescriptionHead(DESCRIPTION_MAGIC, len(settings), len(texts), len(drivers), 0).pack()]
    parts += [SettingRecord(_name(name, 24), value).pack() for name, value in settings.items()]
    parts += [_encode_text(name, value) for name, value in texts.items()]
    for driver in drivers:
        counts = (len(driver.blobs), len(driver.extensions), len(driver.devices))
        parts.append(DriverRecord(driver.kind, *counts).pack())
        parts += map(_encode_blob, driver.blobs)
        parts.append(_padded(driver.extensions))
        parts += map(_encode_device, driver.devices)
    return b"".join(parts)


def _encode_text(name: str, value: str) -> bytes:
    # A path may hold bytes that are no UTF-8, and the engine must be able to open it.
    text = os.fsencode(value)
    return TextRecord(_name(name, 24), len(text)).pack() + text + bytes(-len(text) % _ALIGNMENT)


def _encode_device(device: Device) -> bytes:
    head = DeviceRecord(_name(device.backend, 8), len(device.blobs), len(device.tiles)).pack()
    return b"".join([head, *map(_encode_blob, device.blobs), *map(_encode_device, device.tiles)])


def _encode_blob(each: Blob) -> bytes:
    size = ctypes.sizeof(each.structures[0])
    return PropertyRecord(each.stype, len(each.structures), size, each.extends).pack() + _padded(each.structures)


def _padded(structures: Iterable[ctypes.Structure]) -> bytes:
    image = b"".join(bytes(each) for each in structures)
    return image + bytes(-len(image) % _ALIGNMENT)


def _name(name: str, room: int) -> bytes:
    encoded = name.encode("ascii")
    # The engine takes names as C strings, so one byte must stay zero.
    if len(encoded) >= room:
        raise ValueError(f"the name {name!r} is longer than {room - 1} characters")
    return encoded
