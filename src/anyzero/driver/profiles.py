"""Identities that ``ANYZERO_PROFILE`` can give the devices.

Some programs choose a code path by vendor, IP version or driver version. A profile shows them what they look for; what
the device can do stays the machine's, and its name keeps saying what runs underneath.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from anyzero.config import ConfigError

__all__ = ["PROFILES", "Profile", "find", "markdown"]

VENDOR_ANYZERO: Final = 0x415A
"""Nobody's PCI vendor id; the letters AZ."""

VENDOR_INTEL: Final = 0x8086


def pack_version(major: int, minor: int, build: int) -> int:
    """Pack a driver version as clients take it apart."""
    return major << 24 | minor << 16 | build


@dataclass(frozen=True, slots=True)
class Profile:
    """An identity. `device_name` may use ``{backend}`` and ``{model}``."""

    name: str
    meaning: str
    device_name: str = "anyzero {backend} ({model})"
    vendor_id: int = VENDOR_ANYZERO
    device_id: int = 1
    ip_version: int = 0
    driver_version: int = pack_version(0, 1, 0)
    max_group_size: int = 1024
    local_memory: int = 64 << 10
    sub_group_sizes: tuple[int, ...] = (8, 16, 32)


PROFILES: Final = (
    Profile("default", "What it is: anyzero's own vendor id and the processor's name."),
    Profile(
        "intel-gpu",
        "Intel's vendor id and an IP version that oneMKL knows; Unified Runtime takes its first adapter (v1).",
        device_name="anyzero {backend} as an Intel GPU ({model})",
        vendor_id=VENDOR_INTEL,
        ip_version=0x030DC008,
        driver_version=pack_version(1, 6, 33000),
    ),
    Profile(
        "intel-gpu-v2",
        "As intel-gpu, with the IP version from which Unified Runtime takes its second adapter (v2).",
        device_name="anyzero {backend} as an Intel GPU ({model})",
        vendor_id=VENDOR_INTEL,
        ip_version=0x05004000,
        driver_version=pack_version(1, 6, 33000),
    ),
)
"""A new identity is one entry here; state only what a client was seen to need."""


def find(name: str) -> Profile:
    """The profile of that name; raise :class:`~anyzero.config.ConfigError` listing the known ones."""
    for profile in PROFILES:
        if profile.name == name:
            return profile
    known = ", ".join(profile.name for profile in PROFILES)
    raise ConfigError("ANYZERO_PROFILE", name, "no such profile", known)


def markdown() -> str:
    """The table of profiles, for ``docs/environment.md``."""
    lines = ["| profile | vendor | IP version | meaning |", "|---|---|---|---|"]
    lines += [
        f"| `{row.name}` | `0x{row.vendor_id:04x}` | `0x{row.ip_version:08x}` | {row.meaning} |" for row in PROFILES
    ]
    return "\n".join(lines) + "\n"
