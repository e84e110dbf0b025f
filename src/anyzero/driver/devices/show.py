"""The description as text, for people."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

from anyzero.driver.devices.description import Blob, Description, Device

__all__ = ["text"]

# Fields whose bits or digits mean something in base 16; the specification's names end alike.
_HEXADECIMAL = ("flags", "Flags", "Id", "ersion", "Types", "Capabilities", "Policies", "Supported", "domain")


def text(description: Description) -> str:
    """The whole description, one field a line."""
    lines = ["settings"]
    lines += [f"  {name} = {value}" for name, value in description.settings.items()]
    lines += [f"  {name} = {value}" for name, value in description.texts.items()]
    for driver in description.drivers:
        lines.append(f"{driver.kind.name} driver")
        lines += _blobs(driver.blobs, 1)
        lines.append("  extensions")
        for extension in driver.extensions:
            version = extension.version
            lines.append(f"    {extension.name.decode()} {version >> 16}.{version & 0xFFFF}")
        for number, device in enumerate(driver.devices):
            lines += _device(device, f"device {number}", 1)
    return "\n".join(lines) + "\n"


def _device(device: Device, title: str, depth: int) -> Iterator[str]:
    yield f"{'  ' * depth}{title} ({device.backend})"
    yield from _blobs(device.blobs, depth + 1)
    for number, tile in enumerate(device.tiles):
        yield from _device(tile, f"tile {number}", depth + 1)


def _blobs(blobs: tuple[Blob, ...], depth: int) -> Iterator[str]:
    for blob in blobs:
        for number, structure in enumerate(blob.structures):
            place = f"[{number}]" if len(blob.structures) > 1 else ""
            yield f"{'  ' * depth}{type(structure).__name__}{place} (0x{blob.stype:x})"
            for name, value in _fields(structure):
                yield f"{'  ' * (depth + 1)}{name} = {value}"


def _fields(structure: ctypes.Structure) -> Iterator[tuple[str, str]]:
    for name, *_ in structure._fields_:
        if name in ("stype", "pNext"):
            continue
        value = getattr(structure, name)
        if isinstance(value, ctypes.Structure):
            for inner, printed in _fields(value):
                yield f"{name}.{inner}", printed
        elif isinstance(value, bytes):
            yield name, value.decode(errors="replace")
        elif isinstance(value, ctypes.Array):
            yield name, bytes(value).hex() if ctypes.sizeof(value._type_) == 1 else " ".join(map(str, value))
        elif name.endswith(_HEXADECIMAL) and name != "subdeviceId":
            yield name, f"0x{value:x}"
        else:
            yield name, str(value)
