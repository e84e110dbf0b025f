"""Virtual memory: reserve a range of addresses, then map physical memory into parts of it."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import numpy.typing as npt

from anyzero import errors, ze
from anyzero.api.buffer import Buffer, Shape
from anyzero.api.library import check, create, function
from anyzero.api.memory.allocation import MappedMemory
from anyzero.api.memory.sizes import bytes_of, extents_of, place_within, size_within
from anyzero.api.resource import Resource

if TYPE_CHECKING:
    from anyzero.api.context import Context
    from anyzero.api.device import Device

__all__ = ["Access", "PhysicalMemory", "Reservation"]

Access = Literal["none", "read", "read_write"]

_ACCESS: Final[dict[str, int]] = {
    "none": ze.ZE_MEMORY_ACCESS_ATTRIBUTE_NONE,
    "read": ze.ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY,
    "read_write": ze.ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE,
}
_WORDS: Final[dict[int, Access]] = {
    ze.ZE_MEMORY_ACCESS_ATTRIBUTE_NONE: "none",
    ze.ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY: "read",
    ze.ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE: "read_write",
}

_create: Final = function("zePhysicalMemCreate")
_destroy_memory: Final = function("zePhysicalMemDestroy")
_reserve: Final = function("zeVirtualMemReserve")
_free: Final = function("zeVirtualMemFree")
_page_size: Final = function("zeVirtualMemQueryPageSize")
_map: Final = function("zeVirtualMemMap")
_unmap: Final = function("zeVirtualMemUnmap")
_set_access: Final = function("zeVirtualMemSetAccessAttribute")
_get_access: Final = function("zeVirtualMemGetAccessAttribute")


def _number(access: str) -> int:
    if access not in _ACCESS:
        raise ValueError(f"access={access!r} is not one of {', '.join(_ACCESS)}")
    return _ACCESS[access]


def page_size(context: Context, device: Device, nbytes: int = 1) -> int:
    """The page size for reservations and mappings of `nbytes`.

    >>> from anyzero.api.virtual_memory import page_size
    >>> page_size(az.device().context(), az.device()) % 4096
    0
    """
    found = ctypes.c_size_t()
    # 63 bits leave room for rounding up to whole pages.
    size = size_within(nbytes, 63, "the size")
    check(_page_size(context.handle, device.handle, size, ctypes.byref(found)), _page_size)
    return found.value


class PhysicalMemory(Resource):
    """Memory without an address, in whole pages; see `Reservation`.

    >>> az.device().context().physical_memory(1).nbytes
    4096
    """

    __slots__ = ("context", "device", "lifetime", "nbytes")

    def __init__(self, context: Context, device: Device, nbytes: int, *, on_host: bool = False) -> None:
        self.context = context
        self.device = device
        self.lifetime = context.lifetime
        page = page_size(context, device, nbytes)
        self.nbytes = -(-nbytes // page) * page
        place = ze.ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST if on_host else ze.ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_DEVICE
        desc = ze.ze_physical_mem_desc_t(flags=place, size=self.nbytes)
        self.handle = create(_create, context.handle, device.handle, ctypes.byref(desc))

    def _release(self, handle: int) -> None:
        _destroy_memory(self.lifetime.handle, handle)


class Reservation(Resource):
    """A range of addresses, in whole pages, into which physical memory is mapped. `handle` is its first address.

    Closing it unmaps everything and releases the addresses, so close it after the last use of its buffers.

    >>> ctx = az.device().context()
    >>> with ctx.reserve(8192) as addresses:
    ...     addresses.map(ctx.physical_memory(4096), at=4096)
    ...     x = addresses.buffer(4, np.int32, at=4096)
    ...     x.fill(3)
    ...     x.copy_to()
    array([3, 3, 3, 3], dtype=int32)
    """

    __slots__ = ("_mapped", "context", "device", "lifetime", "nbytes")

    def __init__(self, context: Context, device: Device, nbytes: int, *, start: int | None = None) -> None:
        self.context = context
        self.device = device
        self.lifetime = context.lifetime
        page = page_size(context, device, nbytes)
        self.nbytes = -(-nbytes // page) * page
        self._mapped: list[PhysicalMemory] = []
        at = None if start is None else place_within(start, 64, "the address")
        self.handle = create(_reserve, context.handle, at, self.nbytes)

    def _at(self, at: int, nbytes: int) -> int:
        if at < 0 or nbytes < 0 or at + nbytes > self.nbytes:
            raise errors.InvalidArgument(f"{nbytes} bytes at {at} exceed a reservation of {self.nbytes}")
        return self.handle + at

    def map(
        self,
        memory: PhysicalMemory,
        *,
        at: int = 0,
        nbytes: int | None = None,
        offset: int = 0,
        access: Access = "read_write",
    ) -> None:
        """Map `nbytes` of `memory`, from `offset` on, at offset `at` of this range; by default all of it."""
        place_within(offset, 63, "the offset")
        size = memory.nbytes - offset if nbytes is None else nbytes
        pointer = self._at(at, size)
        check(_map(self.lifetime.handle, pointer, size, memory.handle, offset, _number(access)), _map)
        self._mapped.append(memory)

    def unmap(self, *, at: int = 0, nbytes: int | None = None) -> None:
        """Unmap a part of this range, or all of it.

        >>> ctx = az.device().context()
        >>> addresses = ctx.reserve(4096)
        >>> addresses.map(ctx.physical_memory(4096)); addresses.unmap()
        >>> addresses.access()
        'none'
        """
        size = self.nbytes - at if nbytes is None else nbytes
        check(_unmap(self.lifetime.handle, self._at(at, size), size), _unmap)

    def set_access(self, access: Access, *, at: int = 0, nbytes: int | None = None) -> None:
        """Set the access of the device to a mapped part of this range, or to all of it.

        >>> ctx = az.device().context()
        >>> addresses = ctx.reserve(4096)
        >>> addresses.map(ctx.physical_memory(4096)); addresses.set_access("read")
        >>> addresses.access()
        'read'
        """
        size = self.nbytes - at if nbytes is None else nbytes
        check(_set_access(self.lifetime.handle, self._at(at, size), size, _number(access)), _set_access)

    def access(self, at: int = 0) -> Access:
        """The access of the device to the page at that offset."""
        found, run = ctypes.c_uint32(), ctypes.c_size_t()
        pointer = self._at(at, 1)
        check(
            _get_access(self.lifetime.handle, pointer, self.nbytes - at, ctypes.byref(found), ctypes.byref(run)),
            _get_access,
        )
        return _WORDS[found.value]

    def buffer(self, shape: Shape, dtype: npt.DTypeLike = np.uint8, *, at: int = 0) -> Buffer:
        """A buffer of device memory at offset `at` of this range, which it keeps alive."""
        extents = extents_of(shape)
        element: np.dtype[Any] = np.dtype(dtype)
        nbytes = bytes_of(extents, element)
        memory = MappedMemory(self.lifetime, self._at(at, nbytes), nbytes, self)
        return Buffer(self.context, self.device, memory, extents, element, "device")

    def _release(self, handle: int) -> None:
        _free(self.lifetime.handle, handle, self.nbytes)
        self._mapped.clear()
