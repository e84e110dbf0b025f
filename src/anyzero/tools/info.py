"""`anyzero info`: the drivers and devices."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any, Final
from uuid import UUID

import anyzero as az
from anyzero import config
from anyzero.api import library
from anyzero.driver.devices import boot
from anyzero.tools import terminal
from anyzero.tools.sizes import size

__all__ = ["device_table", "run"]


def run(*, as_json: bool, verbose: bool) -> int:
    drivers = az.drivers()
    if as_json:
        print(json.dumps(_everything(drivers), indent=2))
        return 0
    if not library.OURS:
        print(f"loader: {library.PLACE}")
    for number, driver in enumerate(drivers):
        print(f"driver {number}: Level Zero {driver.api_version}, {_count(driver.extensions, 'extension')}")
    print()
    print(device_table())
    for line in hidden():
        print(line)
    if shown := _shown():
        print(f"\n{shown}")
    if verbose:
        for index, device in enumerate(az.devices()):
            _print_details(str(index), device)
            for place, tile in enumerate(device.tiles):
                _print_details(f"{index}.{place}", tile)
        for number, driver in enumerate(drivers):
            print(f"\nextensions of driver {number}")
            for name, version in sorted(driver.extensions.items()):
                print(f"  {name} {version}")
    return 0


VARIABLES: Final = ("ZE_AFFINITY_MASK", "ZE_FLAT_DEVICE_HIERARCHY")
"""Variables of the specification that decide which devices a program sees."""


def hidden() -> Iterator[str]:
    """The variables that limit the shown devices, and the hidden devices; nothing where none of them is set."""
    given = {name: os.environ[name] for name in VARIABLES if os.environ.get(name)}
    if not given:
        return
    yield ""
    yield " ".join(f"{name}={value}" for name, value in given.items())
    if not library.OURS or os.environ.get("ANYZERO_DESCRIPTION"):
        return  # another driver or a file defines the devices
    shown: set[UUID] = set()
    for device in az.devices():
        shown |= {each.uuid for each in (device, device.root, *device.tiles)}
    for driver in boot.current().drivers:
        for number, card in enumerate(driver.devices):
            for place, each in enumerate((card, *card.tiles)):
                identity = each.identity
                if UUID(bytes=bytes(identity.uuid.id)) not in shown:
                    selector = f"{number}.{place - 1}" if place else str(number)
                    name = identity.name.decode(errors="replace")
                    yield f"hidden: {selector} of the {driver.kind.name} driver, {name}"


def device_table() -> str:
    """Devices and tiles, one line each, under the name by which ANYZERO_DEVICE picks them."""
    rows: list[tuple[str, ...]] = [("device", "name", "type", "units", "memory", "free", "queue groups")]
    for index, device in enumerate(az.devices()):
        rows.append(_row(str(index), device.name, device))
        for place, tile in enumerate(device.tiles):
            rows.append(_row(f"{index}.{place}", f"  tile {place}", tile))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if sys.stdout.isatty():
        # Names of processors are long, and a wrapped line is no table row any more.
        widths[1] = max(min(widths[1], terminal.width() - sum(widths) + widths[1] - 2 * (len(widths) - 1)), 12)
        rows = [(row[0], _cut(row[1], widths[1]), *row[2:]) for row in rows]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _shown() -> str:
    """The real kind of devices, and the one reported to programs; empty where they are the same."""
    processors = [device for device in az.devices() if device.backend == "cpu" and device.type != "cpu"]
    if not processors:
        return ""
    first = processors[0]
    text = (
        "A cpu device is the processor of this machine: its units are threads. It reports the type GPU, because SYCL "
        "lists no other type"
    )
    if first.ip_version:
        text += (
            f", and IP version {_ip(first.ip_version)} with {first.execution_units} EUs, because oneMKL requires "
            "a known version and 16 EUs or more. ANYZERO_PROFILE=plain reports neither"
        )
    return terminal.wrapped(f"{text}. ANYZERO_PROFILE ({_profile()}) selects the identity.")


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _ip(version: int) -> str:
    return f"{version >> 22}.{version >> 14 & 0xFF}.{version & 0x3F}"


def _profile() -> str:
    return config.read(only=["profile"]).profile


def _row(selector: str, name: str, device: az.Device) -> tuple[str, ...]:
    groups = ", ".join(f"{group.kind} ×{group.queues}" for group in device.queue_groups)
    memory, free = size(device.memory_total), size(device.memory_free)
    return selector, name, device.type, str(device.compute_units), memory, free, groups


def _count(things: Iterable[object], noun: str) -> str:
    number = len(list(things))
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _print_details(selector: str, device: az.Device) -> None:
    print(f"\ndevice {selector}")
    for name, value in _details(device):
        print(f"  {name:<14}{value}")


def _details(device: az.Device) -> Iterable[tuple[str, str]]:
    yield "name", device.name
    yield "uuid", str(device.uuid)
    yield "identity", f"backend {device.backend}, vendor {device.vendor_id:#06x}, id {device.device_id:#06x}"
    if version := _told(device, "ip_version"):
        yield "IP version", f"{_ip(version)} ({version:#010x})"
    yield "PCI address", str(_told(device, "pci_address") or "not told")
    units = f"{_count(range(device.compute_units), 'unit')} at {device.clock_mhz} MHz"
    yield "compute", f"{units}, shown as {_count(range(device.execution_units), 'EU')}"
    if device.max_group_size:
        shape = " × ".join(map(str, device.max_group_shape))
        yield "work-groups", f"up to {device.max_group_size} items ({shape}), {size(device.local_memory)} local memory"
        yield "sub-groups", ", ".join(map(str, device.sub_group_sizes))
    else:
        yield "kernels", "none: it executes graphs"
    yield "memory", f"{size(device.memory_total)}, {size(device.memory_free)} free; {_memories(device)}"
    yield "allocations", f"up to {size(device.max_allocation)}; on-demand paging {_yes(device.on_demand_paging)}"
    yield "caches", ", ".join(size(cache.size) for cache in device.caches)
    for group in device.queue_groups:
        can = [word for word in ("compute", "copy", "cooperative") if getattr(group, word)]
        fill = f"fill patterns up to {group.max_fill_pattern} bytes"
        yield f"group {group.ordinal}", f"{_count(range(group.queues), 'queue')}: {', '.join(can)}; {fill}"
    limits = device.image_limits
    if limits.side_2d:
        sides = f"1D {limits.side_1d}, 2D {limits.side_2d}, 3D {limits.side_3d}"
        yield "images", f"{sides}, {limits.array_levels} levels, {limits.samplers} samplers"
    # A context holds devices of one driver.
    others = [each for each in device.driver.devices if each != device.root]
    if others:
        reached = sum(device.can_access(each) for each in others)
        yield "peers", f"reaches {reached} of {_count(others, 'other device')}"
    yield "timer", f"{device.timer_resolution} ns a tick, {device.timestamp_bits} bits"


def _memories(device: az.Device) -> str:
    return ", ".join(memory.name for memory in device.memories)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _everything(drivers: list[az.Driver]) -> dict[str, Any]:
    return {
        "anyzero": az.__version__,
        "loader": None if library.OURS else library.PLACE,
        "drivers": [
            {
                "api_version": driver.api_version,
                "uuid": str(driver.uuid),
                "version": driver.version,
                "extensions": driver.extensions,
                "devices": [_device(device) for device in driver.devices],
            }
            for driver in drivers
        ],
    }


_PLAIN = (
    "name", "type", "backend", "vendor_id", "device_id", "pci_address", "integrated", "on_demand_paging", "clock_mhz",
    "compute_units", "execution_units", "ip_version", "memory_total", "memory_free", "max_allocation",
    "max_group_size", "max_group_shape", "max_group_count", "local_memory", "sub_group_sizes",
    "timer_resolution", "timestamp_bits",
)  # fmt: skip


def _told(device: az.Device, name: str) -> Any:
    """A property; None where a driver, another one than ours, does not know it."""
    try:
        return getattr(device, name)
    except az.UnsupportedFeature:
        return None


def _device(device: az.Device) -> dict[str, Any]:
    found: dict[str, Any] = {name: _told(device, name) for name in _PLAIN}
    found["uuid"] = str(device.uuid)
    found["memories"] = [asdict(each) for each in device.memories]
    found["caches"] = [asdict(each) for each in device.caches]
    found["queue_groups"] = [{"kind": each.kind, **asdict(each)} for each in device.queue_groups]
    found["image_limits"] = asdict(device.image_limits)
    found["tiles"] = [_device(tile) for tile in device.tiles]
    return found
