"""Selection of devices: all, or the one that an index, a backend or ANYZERO_DEVICE names."""

from __future__ import annotations

from anyzero import config
from anyzero.api.device import Device
from anyzero.api.driver import drivers
from anyzero.config import DeviceSelector
from anyzero.errors import DeviceNotFound

__all__ = ["device", "devices"]


def devices() -> list[Device]:
    """Every device of every driver, without their tiles (those are `Device.tiles`).

    >>> az.devices()[0].type
    'gpu'
    """
    return [device for driver in drivers() for device in driver.devices]


def device(selector: int | str | DeviceSelector | Device | None = None) -> Device:
    """The device that `selector` names, or ANYZERO_DEVICE when it is None, or the first.

    A selector is an index among all devices (``0``, ``"0"``), one among those of a backend (``"cpu"``, ``"cpu:0"``,
    ``"npu"``), or a tile of either (``"0.1"``, ``"cpu:0.1"``). Compute devices come first.

    >>> az.device("cpu:0") == az.device(0) == az.device()
    True
    >>> az.device("cpu:7")
    Traceback (most recent call last):
    anyzero.errors.DeviceNotFound: no device is called 'cpu:7'
    ...
    """
    source = "this call"
    if isinstance(selector, Device):
        return selector
    if selector is None:
        chosen = config.read().device or DeviceSelector()
        source = "ANYZERO_DEVICE"
    elif isinstance(selector, str):
        try:
            chosen = DeviceSelector.parse(selector)
        except ValueError:
            raise _not_found(selector, source) from None
    else:
        chosen = selector if isinstance(selector, DeviceSelector) else DeviceSelector(index=selector)
    backend = chosen.backend
    known = [each for each in devices() if backend in (None, each.backend, each.type)]
    if not 0 <= chosen.index < len(known):
        raise _not_found(str(chosen), source)
    found = known[chosen.index]
    if chosen.tile is None:
        return found
    if chosen.tile >= len(found.tiles):
        raise _not_found(str(chosen), source)
    return found.tiles[chosen.tile]


def _not_found(selector: str, source: str) -> DeviceNotFound:
    lines = []
    seen: dict[str, int] = {}
    for index, each in enumerate(devices()):
        place = seen[each.backend] = seen.get(each.backend, -1) + 1
        tiles = f", tiles {index}.0 to {index}.{len(each.tiles) - 1}" if each.tiles else ""
        lines.append(f"  {index} or {each.backend}:{place}: {each.name}{tiles}")
    where = "" if source == "this call" else f", which {source} asks for"
    remedy = (
        "ANYZERO_DEVICE selects the default device; ANYZERO_DEVICES configures the devices. Available:\n"
        + "\n".join(lines)
    )
    return DeviceNotFound(f"no device is called {selector!r}{where}", remedy=remedy)
