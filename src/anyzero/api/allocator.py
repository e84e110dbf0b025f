"""Allocation: buffers, images and address ranges for the devices of a context."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
import numpy.typing as npt

from anyzero import errors, ze
from anyzero.api.buffer import Buffer, Shape
from anyzero.api.image import Image, ImageKind
from anyzero.api.image_format import ImageFormat
from anyzero.api.library import check, function
from anyzero.api.memory import allocation
from anyzero.api.memory.allocation import CacheBias, ContextHandle, HostCacheBias, MemoryKind, Placement
from anyzero.api.memory.sizes import bytes_of, extents_of
from anyzero.api.resource import Resource
from anyzero.api.sampler import AddressMode, FilterMode, Sampler
from anyzero.api.virtual_memory import PhysicalMemory, Reservation
from anyzero.api.virtual_memory import page_size as _page_size

if TYPE_CHECKING:
    from anyzero.api.context import Context
    from anyzero.api.device import Device

__all__ = ["Allocator"]

_make_resident: Final = function("zeContextMakeMemoryResident")
_evict: Final = function("zeContextEvictMemory")
_make_image_resident: Final = function("zeContextMakeImageResident")
_evict_image: Final = function("zeContextEvictImage")
_put_ipc: Final = function("zeMemPutIpcHandle")


class Allocator(Resource):
    """The part of a context that is about memory."""

    __slots__ = ("devices", "lifetime")

    devices: tuple[Device, ...]
    lifetime: ContextHandle

    @property
    def _context(self) -> Context:
        """The context that this class is a base of."""
        return cast("Context", self)

    @property
    def device(self) -> Device:
        """The first of its devices, the default of every `device=`."""
        return self.devices[0]

    def buffer(
        self,
        shape: Shape,
        dtype: npt.DTypeLike = np.uint8,
        *,
        kind: MemoryKind = "device",
        device: Device | None = None,
        alignment: int = 0,
        uncached: bool = False,
        device_cache: CacheBias | None = None,
        host_cache: HostCacheBias | None = None,
        placement: Placement | None = None,
    ) -> Buffer:
        """A new buffer with undefined contents.

        `kind` is ``"device"`` (only the device accesses it), ``"host"`` (both access it; it stays on the host) or
        ``"shared"`` (both access it). `alignment` is in bytes, a power of two; 0 is that of the dtype.

        `device_cache` and `host_cache` are hints for the caches of either side; ``uncached=True`` is ``"uncached"``
        for both. `placement` is the initial location of the memory; its pages are allocated before the call returns
        instead of at the first access.

        >>> ctx = az.device().context()
        >>> ctx.buffer((2, 3), np.float64, kind="host", alignment=4096).pointer % 4096
        0
        >>> ctx.zeros(4, np.uint8, kind="shared", host_cache="write_combined", placement="host").nbytes
        4
        """
        extents = extents_of(shape)
        element: np.dtype[Any] = np.dtype(dtype)
        if element.hasobject:
            raise errors.InvalidArgument(f"a buffer holds numbers, not {element}: devices cannot hold Python objects")
        where = device or self.device
        nbytes = bytes_of(extents, element)
        limit = where.max_allocation if kind != "host" else max(each.max_allocation for each in self.devices)
        if nbytes > limit:
            raise errors.OutOfDeviceMemory(
                f"shape {extents} of {element} takes {nbytes} bytes; the largest allocation has {limit}",
                remedy="Work in smaller parts, or raise ANYZERO_MEMORY.",
            )
        if uncached:
            device_cache, host_cache = device_cache or "uncached", host_cache or "uncached"
        memory = allocation.allocate(
            self.lifetime, where.handle, nbytes, kind, alignment, device_cache, host_cache, placement
        )
        return Buffer(self._context, where, memory, extents, element, kind)

    def empty(self, shape: Shape, dtype: npt.DTypeLike = np.float64, **options: Any) -> Buffer:
        """A new buffer of floats, or of another dtype; the options are those of `buffer`.

        >>> az.device().context().empty(3).dtype
        dtype('float64')
        """
        return self.buffer(shape, dtype, **options)

    def zeros(self, shape: Shape, dtype: npt.DTypeLike = np.float64, **options: Any) -> Buffer:
        """A new buffer of zeros; the options are those of `buffer`.

        >>> az.device().context().zeros(2, np.int8).copy_to()
        array([0, 0], dtype=int8)
        """
        made = self.buffer(shape, dtype, **options)
        made.fill(b"\0")
        return made

    def full(self, shape: Shape, value: Any, dtype: npt.DTypeLike | None = None, **options: Any) -> Buffer:
        """A new buffer with `value` everywhere, of its dtype unless given; the options are those of `buffer`.

        >>> az.device().context().full(2, 1.5).copy_to()
        array([1.5, 1.5])
        """
        made = self.buffer(shape, np.asarray(value).dtype if dtype is None else dtype, **options)
        made.fill(value)
        return made

    def to_device(self, array: npt.ArrayLike, **options: Any) -> Buffer:
        """A new buffer with the contents of an array; the options are those of `buffer`.

        >>> az.device().context().to_device([[1, 2], [3, 4]]).shape
        (2, 2)
        """
        values = np.asarray(array)
        made = self.buffer(values.shape, values.dtype, **options)
        made.copy_from(values)
        return made

    def import_memory(
        self, source: npt.NDArray[Any] | int, shape: Shape | None = None, dtype: npt.DTypeLike | None = None
    ) -> Buffer:
        """A host buffer on existing memory, an array or an address; nothing is copied.

        It must begin at a page and fill whole pages. An address needs `shape` and `dtype`, and the memory must
        outlive the buffer; an array is held by it.

        >>> import mmap
        >>> array = np.frombuffer(mmap.mmap(-1, 4096), np.int32)
        >>> buffer = az.device().context().import_memory(array)
        >>> buffer.fill(4)
        >>> array[:2]
        array([4, 4], dtype=int32)
        """
        if isinstance(source, int):
            if shape is None or dtype is None:
                raise TypeError("an address alone does not describe the memory: pass shape= and dtype= too")
            pointer = source
        else:
            if not source.flags.c_contiguous:
                raise errors.InvalidArgument("the array is not contiguous")
            shape, dtype = source.shape, source.dtype
            pointer = source.__array_interface__["data"][0]
        extents = extents_of(shape)
        element: np.dtype[Any] = np.dtype(dtype)
        nbytes = bytes_of(extents, element)
        page = self.page_size()
        if pointer % page or nbytes % page or not nbytes:
            raise errors.InvalidArgument(
                f"{nbytes} bytes at {pointer:#x} are not whole pages of {page}",
                remedy=f"Take the memory from mmap.mmap(-1, size), with a multiple of {page} for the size.",
            )
        memory = allocation.import_system(self.lifetime, pointer, nbytes, source)
        return Buffer(self._context, self.device, memory, extents, element, "host")

    def open_ipc(
        self,
        handle: bytes,
        shape: Shape,
        dtype: npt.DTypeLike = np.uint8,
        *,
        kind: MemoryKind = "device",
        device: Device | None = None,
    ) -> Buffer:
        """A buffer on memory of another process, from the handle that `Buffer.ipc_handle` returned there; `kind` is
        the same.

        >>> ctx = az.device().context()
        >>> mine = ctx.full(4, 9, np.uint8)
        >>> ctx.open_ipc(mine.ipc_handle(), 4).copy_to()      # usually in another process
        array([9, 9, 9, 9], dtype=uint8)
        """
        extents = extents_of(shape)
        element: np.dtype[Any] = np.dtype(dtype)
        nbytes = bytes_of(extents, element)
        where = device or self.device
        memory = allocation.open_ipc(self.lifetime, where.handle, handle, nbytes)
        made = Buffer(self._context, where, memory, extents, element, kind)
        size = made.address_range[1]
        if nbytes > size:
            raise errors.InvalidArgument(
                f"shape {extents} of {element} takes {nbytes} bytes; the memory there has {size}"
            )
        return made

    def close_ipc(self, handle: bytes) -> None:
        """Invalidate a handle of `Buffer.ipc_handle`: it can no longer be opened.

        >>> ctx = az.device().context()
        >>> mine = ctx.zeros(4)
        >>> ctx.close_ipc(mine.ipc_handle())
        """
        check(_put_ipc(self.handle, ze.ze_ipc_mem_handle_t.from_buffer_copy(handle)), _put_ipc)

    def page_size(self, nbytes: int = 1, *, device: Device | None = None) -> int:
        """The page size of `reserve`, `physical_memory` and `import_memory`.

        >>> az.device().context().page_size() % 4096
        0
        """
        return _page_size(self._context, device or self.device, nbytes)

    def reserve(self, nbytes: int, *, start: int | None = None, device: Device | None = None) -> Reservation:
        """A range of addresses without memory, at `start` if it is free; rounded up to whole pages.

        >>> az.device().context().reserve(1).nbytes
        4096
        """
        return Reservation(self._context, device or self.device, nbytes, start=start)

    def physical_memory(self, nbytes: int, *, on_host: bool = False, device: Device | None = None) -> PhysicalMemory:
        """Memory without an address, to be mapped into a `Reservation`; rounded up to whole pages."""
        return PhysicalMemory(self._context, device or self.device, nbytes, on_host=on_host)

    def make_resident(self, memory: Buffer | Image, *, device: Device | None = None) -> None:
        """Make memory resident on a device without on-demand paging; raise `OutOfDeviceMemory` if the device is full.

        >>> ctx = az.device().context()
        >>> x = ctx.zeros(4)
        >>> ctx.make_resident(x); ctx.evict(x)
        """
        where = (device or memory.device).handle
        if isinstance(memory, Image):
            check(_make_image_resident(self.handle, where, memory.handle), _make_image_resident)
        else:
            check(_make_resident(self.handle, where, memory.pointer, memory.nbytes), _make_resident)

    def evict(self, memory: Buffer | Image, *, device: Device | None = None) -> None:
        """Undo `make_resident`."""
        where = (device or memory.device).handle
        if isinstance(memory, Image):
            check(_evict_image(self.handle, where, memory.handle), _evict_image)
        else:
            check(_evict(self.handle, where, memory.pointer, memory.nbytes), _evict)

    def image(
        self,
        shape: Shape,
        format: ImageFormat | npt.DTypeLike = np.uint8,  # noqa: A002 (the specification's word)
        *,
        channels: int = 1,
        normalized: bool = False,
        kind: ImageKind | None = None,
        writable: bool = True,
        uncached: bool = False,
        device: Device | None = None,
    ) -> Image:
        """A new image of pixels that are `channels` numbers of a dtype, or of an `ImageFormat`.

        `kind` is ``"1d"``, ``"2d"`` or ``"3d"`` by the number of axes; other kinds are ``"1darray"``, ``"2darray"`` or
        ``"buffer"``. ``uncached=True`` is a hint that the device's caches need not keep it.

        >>> az.device().context().image((4, 64, 64), np.float32, channels=4, kind="2darray")
        <Image (4, 64, 64) 32_32_32_32 float>
        """
        extents = extents_of(shape)
        form = format if isinstance(format, ImageFormat) else ImageFormat.of(format, channels, normalized=normalized)
        return Image(self._context, device or self.device, extents, form, kind, writable=writable, uncached=uncached)

    def sampler(
        self,
        *,
        address: AddressMode = "clamp",
        filter: FilterMode = "nearest",  # noqa: A002 (the specification's word)
        normalized: bool = False,
        device: Device | None = None,
    ) -> Sampler:
        """A sampler for reads of images between pixels and outside of the image; see `Sampler`.

        >>> az.device().context().sampler(address="repeat", normalized=True).filter
        'nearest'
        """
        return Sampler(self._context, device or self.device, address=address, filter=filter, normalized=normalized)
