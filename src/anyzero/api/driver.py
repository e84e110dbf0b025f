"""Drivers, and the devices of each."""

from __future__ import annotations

import ctypes
from functools import cache, cached_property
from typing import TYPE_CHECKING, Final

from anyzero import ze
from anyzero.api.device import Device
from anyzero.api.library import check, function, initialize, query_all

if TYPE_CHECKING:
    from uuid import UUID

__all__ = ["Driver", "drivers"]

_get_version: Final = function("zeDriverGetApiVersion")
_get_properties: Final = function("zeDriverGetProperties")


class Driver:
    """A driver and its devices. It exists as long as the process; any thread may use it.

    >>> az.drivers()[0].api_version
    '1.17'
    """

    def __init__(self, handle: int) -> None:
        self.handle = handle

    @cached_property
    def api_version(self) -> str:
        """The version of Level Zero that it implements."""
        version = ctypes.c_uint32()
        check(_get_version(self.handle, ctypes.byref(version)), _get_version)
        return f"{version.value >> 16}.{version.value & 0xFFFF}"

    @cached_property
    def _properties(self) -> ze.ze_driver_properties_t:
        found = ze.ze_driver_properties_t()
        check(_get_properties(self.handle, ctypes.byref(found)), _get_properties)
        return found

    @property
    def uuid(self) -> UUID:
        """Its identity."""
        from uuid import UUID  # takes long to load

        return UUID(bytes=bytes(self._properties.uuid.id))

    @property
    def version(self) -> int:
        """The driver's own version, an increasing number."""
        return int(self._properties.driverVersion)

    @cached_property
    def extensions(self) -> dict[str, str]:
        """The extensions it implements, each with its version.

        >>> "ZE_extension_memory_free_policies" in az.drivers()[0].extensions
        True
        """
        found = query_all(
            function("zeDriverGetExtensionProperties"), self.handle, of=ze.ze_driver_extension_properties_t
        )
        return {each.name.decode(): f"{each.version >> 16}.{each.version & 0xFFFF}" for each in found}

    @cached_property
    def devices(self) -> tuple[Device, ...]:
        """Its devices, without their tiles."""
        return tuple(Device(self, handle) for handle in query_all(function("zeDeviceGet"), self.handle))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Driver) and other.handle == self.handle

    def __hash__(self) -> int:
        return hash(self.handle)

    def __repr__(self) -> str:
        return f"<Driver {self.uuid}, Level Zero {self.api_version}>"


def drivers() -> list[Driver]:
    """All drivers; starts them at the first call.

    >>> len(az.drivers()) >= 1
    True
    """
    return list(_all_drivers())


@cache
def _all_drivers() -> tuple[Driver, ...]:
    return tuple(Driver(handle) for handle in initialize())
