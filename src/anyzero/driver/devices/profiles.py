"""Identities that ``ANYZERO_PROFILE`` can give the devices.

Some programs choose a code path by vendor, IP version or driver version, and some refuse to run on a device that they
do not know. A profile shows them the values they look for. It changes neither the device's capabilities nor its name,
which still contains the processor's.
"""

from __future__ import annotations

from typing import Final

from anyzero.config import ConfigError
from anyzero.lazy_dataclass import dataclass

__all__ = ["PROFILES", "Profile", "find", "markdown"]

VENDOR_ANYZERO: Final = 0x415A
"""The letters AZ; no PCI vendor has this id."""

VENDOR_INTEL: Final = 0x8086


IP_VERSION_KNOWN_TO_ONEMKL: Final = 0x03000000
"""12.0.0. oneMKL raises `unknown GPU architecture` for versions that it does not know, and 0 is one of those. For this
one it has SPIR-V of everything, and falls back to it where a driver refuses a GPU's native binaries. For newer ones
(12.55 to 12.74) it has batched factorisations as native binaries only."""

LEAST_EUS: Final = 16
"""oneMKL's FFT counts EUs in sixteenths and divides by the number of those."""


def pack_version(major: int, minor: int, build: int) -> int:
    """Pack a driver version in the layout that clients decode."""
    return major << 24 | minor << 16 | build


@dataclass(frozen=True, slots=True)
class Profile:
    """An identity. `device_name` may use ``{backend}`` and ``{model}``."""

    name: str
    meaning: str
    device_name: str = "anyzero {backend} ({model})"
    vendor_id: int = VENDOR_ANYZERO
    device_id: int = 1
    ip_version: int = IP_VERSION_KNOWN_TO_ONEMKL
    driver_version: int = pack_version(0, 1, 0)
    max_group_size: int = 1024
    local_memory: int = 64 << 10
    sub_group_sizes: tuple[int, ...] = (8, 16, 32)
    least_eus: int = LEAST_EUS
    """A processor with fewer threads shows several EUs a thread."""

    def eus_per_thread(self, threads: int) -> int:
        """The number of EUs that each thread shows on a processor with `threads` threads.

        >>> find("default").eus_per_thread(2), find("default").eus_per_thread(64), find("plain").eus_per_thread(2)
        (8, 1, 1)
        """
        return max(1, -(-self.least_eus // threads))


PROFILES: Final = (
    Profile(
        "default",
        "anyzero's own vendor id and the processor's name; an IP version that oneMKL knows and at least 16 EUs, "
        "without which its matrix products and solvers refuse to run.",
    ),
    Profile(
        "plain",
        "As default, without an IP version and with one EU per thread.",
        ip_version=0,
        least_eus=1,
    ),
    Profile(
        "intel-gpu",
        "As default, with Intel's vendor id and a driver version like Intel's; Unified Runtime uses its first "
        "adapter (v1).",
        device_name="anyzero {backend} as an Intel GPU ({model})",
        vendor_id=VENDOR_INTEL,
        driver_version=pack_version(1, 6, 33000),
    ),
    Profile(
        "intel-gpu-v2",
        "As intel-gpu, with the IP version from which on Unified Runtime uses its second adapter (v2).",
        device_name="anyzero {backend} as an Intel GPU ({model})",
        vendor_id=VENDOR_INTEL,
        ip_version=0x05004000,
        driver_version=pack_version(1, 6, 33000),
    ),
)
"""A new identity is one entry here, with only the values that a known client needs."""


def find(name: str) -> Profile:
    """The profile of that name; raise :class:`~anyzero.config.ConfigError` listing the known ones."""
    for profile in PROFILES:
        if profile.name == name:
            return profile
    known = ", ".join(profile.name for profile in PROFILES)
    raise ConfigError("ANYZERO_PROFILE", name, "no such profile", known)


def markdown() -> str:
    """The table of profiles, for ``docs/environment.md``."""
    lines = ["| profile | vendor | IP version | EUs, at least | meaning |", "|---|---|---|---|---|"]
    lines += [
        f"| `{row.name}` | `0x{row.vendor_id:04x}` | `0x{row.ip_version:08x}` | {row.least_eus} | {row.meaning} |"
        for row in PROFILES
    ]
    return "\n".join(lines) + "\n"
