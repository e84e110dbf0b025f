"""OpenCL buffers as buffers of Level Zero."""

from __future__ import annotations

import ctypes
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyopencl as cl

from anyzero import errors, ze
from anyzero.api.buffer import Buffer, Shape
from anyzero.api.context import Context
from anyzero.api.device import Device
from anyzero.api.library import check, function
from anyzero.api.memory.allocation import Allocation, MappedMemory, MemoryKind, import_system
from anyzero.api.memory.sizes import bytes_of, extents_of
from anyzero.interop.opencl._objects import failed, memory_of, require

__all__ = ["buffer"]

_get_access: Final = function("zeDeviceGetMemoryAccessProperties")
_get_properties: Final = function("zeMemGetAllocProperties")
_get_range: Final = function("zeMemGetAddressRange")

_READ_AND_WRITE: Final = ze.ZE_MEMORY_ACCESS_CAP_FLAG_RW
_KINDS: Final[dict[int, MemoryKind]] = {
    ze.ZE_MEMORY_TYPE_HOST: "host",
    ze.ZE_MEMORY_TYPE_HOST_IMPORTED: "host",
    ze.ZE_MEMORY_TYPE_SHARED: "shared",
    ze.ZE_MEMORY_TYPE_DEVICE: "device",
}
_COPY: Final = "Pass copy=True for a separate buffer with the current contents."


def buffer(
    ctx: Context,
    mem: Any,
    shape: Shape | None = None,
    dtype: npt.DTypeLike | None = None,
    *,
    copy: bool = False,
    queue: cl.CommandQueue | None = None,
    device: Device | None = None,
) -> Buffer:
    """An OpenCL buffer as a buffer of Level Zero, on the same memory; bytes, unless `dtype` and `shape` say otherwise.

    The OpenCL buffer must be in host memory, as those of processors are. Other memory is refused, unless ``copy=True``
    requests a new buffer of shared memory with the current contents of the OpenCL buffer. `mem`
    is a `pyopencl.Buffer`, or a `pyopencl.array.Array` with its shape and dtype.

    Either may be closed first: this buffer keeps the OpenCL buffer, mapped, until its last use. It waits for commands
    of `queue` only, if that is given; `opencl.queue` and `opencl.event` order it with others.

    >>> import pyopencl as cl
    >>> from anyzero.interop import opencl
    >>> ctx, cl_ctx = az.device().context(), cl.create_some_context(interactive=False)
    >>> theirs = cl.Buffer(cl_ctx, cl.mem_flags.READ_WRITE, 12)
    >>> mine = opencl.buffer(ctx, theirs, dtype=np.int32)
    >>> mine.fill(5)
    >>> seen = np.empty(3, np.int32)
    >>> _ = cl.enqueue_copy(cl.CommandQueue(cl_ctx), seen, theirs)
    >>> seen
    array([5, 5, 5], dtype=int32)
    """
    require(Context, ctx, "the first argument")
    start = 0
    if hasattr(mem, "base_data") and hasattr(mem, "flags"):
        # A pyopencl.array.Array. That module is large; a program that passes one has loaded it.
        if not mem.flags.c_contiguous:
            raise errors.InvalidArgument("the OpenCL array is not contiguous", remedy="Copy it first: array.copy().")
        start = mem.offset
        shape = mem.shape if shape is None else shape
        dtype = mem.dtype if dtype is None else dtype
        mem = mem.base_data
    mem = memory_of(mem)
    element: np.dtype[Any] = np.dtype(np.uint8 if dtype is None else dtype)
    if element.hasobject or not element.itemsize:
        raise errors.InvalidArgument(f"a buffer holds numbers, not {element}")
    room = mem.size - start
    extents = (room // element.itemsize,) if shape is None else extents_of(shape)
    if bytes_of(extents, element) > room:
        raise errors.InvalidArgument(
            f"shape {extents} of {element} takes {bytes_of(extents, element)} bytes; the OpenCL buffer has {room}"
        )
    where = ctx.device if device is None else device
    line = _queue_for(mem, queue)
    if copy:
        return _copied(ctx, where, mem, line, extents, element, start)
    foreign = [each for each in mem.context.devices if not each.type & cl.device_type.CPU]
    if foreign:
        raise errors.UnsupportedFeature(
            f"the memory of {foreign[0].name} is not host memory, so Level Zero cannot share it", remedy=_COPY
        )
    mapping = _Mapping(mem, line)
    allocation, kind, offset = _known_to_driver(ctx, where, mapping)
    return Buffer(ctx, where, allocation, extents, element, kind, offset + start)


def _queue_for(mem: cl.MemoryObjectHolder, given: cl.CommandQueue | None) -> cl.CommandQueue:
    context = mem.context
    if given is None:
        return cl.CommandQueue(context, context.devices[0])
    require(cl.CommandQueue, given, "queue=")
    if given.context != context:
        raise errors.InvalidHandle(
            "the OpenCL queue and the OpenCL buffer belong to different contexts",
            remedy="Name a queue of the buffer's context.",
        )
    return given


def _copied(
    ctx: Context,
    device: Device,
    mem: cl.MemoryObjectHolder,
    queue: cl.CommandQueue,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    start: int,
) -> Buffer:
    made = ctx.buffer(shape, dtype, kind="shared", device=device)
    if made.nbytes:
        try:
            # `reshape` first: a buffer without axes has no other element size.
            whole = np.asarray(made.reshape(-1).view(np.uint8))
            cl.enqueue_copy(queue, whole, mem, src_offset=start, is_blocking=True)
        except cl.Error as error:
            raise failed("cannot read the buffer", error) from None
    return made


class _Mapping:
    """Memory of an OpenCL buffer, held in place: OpenCL may neither free nor move mapped memory."""

    __slots__ = ("_array", "_kept", "nbytes", "pointer")

    def __init__(self, mem: cl.MemoryObjectHolder, queue: cl.CommandQueue) -> None:
        # A reference of our own, because the program may release its own. Only pyopencl's object holds the memory of
        # USE_HOST_PTR.
        own = cl.MemoryObject.from_int_ptr(mem.int_ptr, retain=True)
        self._kept = (own, mem, getattr(mem, "hostbuf", None), queue)
        self.nbytes: int = own.size
        flags = cl.map_flags.WRITE
        if not own.flags & cl.mem_flags.HOST_WRITE_ONLY:
            flags |= cl.map_flags.READ
        try:
            array, _ = cl.enqueue_map_buffer(queue, own, flags, 0, (self.nbytes,), np.uint8, is_blocking=True)
        except cl.Error as error:
            closed = own.flags & (cl.mem_flags.HOST_NO_ACCESS | cl.mem_flags.HOST_READ_ONLY)
            remedy = "It was created without access for the host; create it with READ_WRITE alone." if closed else ""
            raise failed("cannot map the buffer", error, remedy) from None
        self._array = array
        self.pointer: int = array.__array_interface__["data"][0]


def _known_to_driver(ctx: Context, device: Device, mapping: _Mapping) -> tuple[Allocation, MemoryKind, int]:
    """The mapped memory as an allocation of the context, the kind it has, and where in the allocation it begins."""
    found = _allocated_here(ctx, mapping)
    if found is not None:
        return MappedMemory(ctx.lifetime, mapping.pointer, mapping.nbytes, mapping), found, 0
    page = ctx.page_size(device=device)
    first = mapping.pointer % page
    reaches_all = _reaches_all_of_the_host(device)
    if reaches_all and (first or mapping.nbytes % page):
        # Other buffers on the same pages may be shared too.
        return MappedMemory(ctx.lifetime, mapping.pointer, mapping.nbytes, mapping), "host", 0
    size = -(-(first + mapping.nbytes) // page) * page
    try:
        return import_system(ctx.lifetime, mapping.pointer - first, size, mapping), "host", first
    except (errors.InvalidArgument, errors.UnsupportedFeature) as error:
        if reaches_all:
            # Another context has it already.
            return MappedMemory(ctx.lifetime, mapping.pointer, mapping.nbytes, mapping), "host", 0
        raise errors.UnsupportedFeature(
            f"the {mapping.nbytes} bytes at {mapping.pointer:#x} are not pages that the device could use: "
            f"{error.detail}",
            remedy=f"Create the OpenCL buffer on whole pages of {page} bytes, with USE_HOST_PTR and np.asarray() of "
            f"ctx.buffer(…, kind='host', alignment={page}). {_COPY}",
        ) from None


def _allocated_here(ctx: Context, mapping: _Mapping) -> MemoryKind | None:
    """The kind of memory, when OpenCL was given memory of this very context to work on."""
    found, owner = ze.ze_memory_allocation_properties_t(), ctypes.c_void_p()
    arguments = (ctx.handle, mapping.pointer, ctypes.byref(found), ctypes.byref(owner))
    check(_get_properties(*arguments), _get_properties)
    kind = _KINDS.get(found.type)
    if kind is None:
        return None
    base, size = ctypes.c_void_p(), ctypes.c_size_t()
    check(_get_range(ctx.handle, mapping.pointer, ctypes.byref(base), ctypes.byref(size)), _get_range)
    inside = mapping.pointer + mapping.nbytes <= (base.value or 0) + size.value
    # Imported memory is known only as long as the import, which another buffer holds.
    imported = found.type == ze.ZE_MEMORY_TYPE_HOST_IMPORTED
    return kind if inside and not imported else None


def _reaches_all_of_the_host(device: Device) -> bool:
    """Whether kernels may use any address of the program's."""
    found = ze.ze_device_memory_access_properties_t()
    check(_get_access(device.handle, ctypes.byref(found)), _get_access)
    return bool(found.sharedSystemAllocCapabilities & _READ_AND_WRITE)
