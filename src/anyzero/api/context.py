"""A context: where buffers, lists, queues and events of some devices live together."""

from __future__ import annotations

import ctypes
import sys
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import numpy.typing as npt

from anyzero import errors, ze
from anyzero.api import _memory
from anyzero.api._memory import CacheBias, ContextHandle, HostCacheBias, MemoryKind, Placement
from anyzero.api._pools import PoolHandle, create_pool
from anyzero.api._sizes import bytes_of, extents_of
from anyzero.api.buffer import Buffer, Shape
from anyzero.api.command_list import CommandList
from anyzero.api.device import Device
from anyzero.api.event import Event
from anyzero.api.event_pool import EventPool
from anyzero.api.image import Image, ImageKind
from anyzero.api.image_format import ImageFormat
from anyzero.api.immediate import ImmediateCommandList
from anyzero.api.library import array_of, check, create, function
from anyzero.api.module import Module
from anyzero.api.properties import QueueGroup, QueueKind
from anyzero.api.queue import CommandQueue
from anyzero.api.resource import Resource
from anyzero.api.sampler import AddressMode, FilterMode, Sampler
from anyzero.api.virtual_memory import PhysicalMemory, Reservation
from anyzero.api.virtual_memory import page_size as _page_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyzero.api._flags import EventScope
    from anyzero.api._graph_sources import GraphFormat, GraphOptions, GraphSource
    from anyzero.api._queues import Mode, Priority
    from anyzero.api._sources import Constants, Format, ModuleSource
    from anyzero.api.graph import Graph

__all__ = ["Context"]

_create: Final = function("zeContextCreateEx")
_get_status: Final = function("zeContextGetStatus")
_system_barrier: Final = function("zeContextSystemBarrier")
_make_resident: Final = function("zeContextMakeMemoryResident")
_evict: Final = function("zeContextEvictMemory")
_make_image_resident: Final = function("zeContextMakeImageResident")
_evict_image: Final = function("zeContextEvictImage")
_put_ipc: Final = function("zeMemPutIpcHandle")

_EVENTS_AT_A_TIME: Final = 64


class Context(Resource):
    """The scope of everything that one or several devices of a driver work on.

    `Device.context` makes one for a device; ``Context(a, b)`` makes one for several, whose first is the default.
    Closing a context is the end of making things in it. What was made before stays valid until it is closed itself,
    and so does the memory behind arrays. Any thread may use a context.

    >>> with az.device().context() as ctx:
    ...     x = ctx.to_device(np.arange(4, dtype=np.float32))
    ...     with ctx.immediate() as lst:
    ...         lst.fill(x[2:], 0).wait()
    ...     x.copy_to()
    array([0., 1., 0., 0.], dtype=float32)
    """

    _gone_when_closed = ("handle", "lifetime")
    __slots__ = ("_event_pools", "devices", "failures", "launches", "lifetime")

    def __init__(self, *devices: Device) -> None:
        if not devices:
            raise TypeError(
                "Context() takes the devices it is for; az.device().context() makes one for a single device"
            )
        self.devices = devices
        self.failures: list[BaseException] = []
        self.launches: dict[Any, Any] = {}  # of kernels written in Python, which say by which keys
        # The pool from which the next event comes, and its place there; one with timing, one without.
        self._event_pools: dict[bool, tuple[PoolHandle, int]] = {}
        handles = array_of([device.handle for device in devices])
        handle = create(_create, devices[0].driver.handle, ctypes.byref(ze.ze_context_desc_t()), len(devices), handles)
        self.lifetime = ContextHandle(handle)
        self.handle = handle

    def _release(self, handle: int) -> None:
        self._event_pools, self.launches = {}, {}
        while self.failures:
            # Nobody waited, so nobody was told.
            error = self.failures.pop(0)
            sys.excepthook(type(error), error, error.__traceback__)
        # The driver's context goes with the last memory that holds it.
        del self.lifetime

    @property
    def device(self) -> Device:
        """The first of its devices, which is meant wherever none is named."""
        return self.devices[0]

    @property
    def status(self) -> Literal["ok", "lost"]:
        """``"lost"`` once a command of this context faulted; other contexts go on.

        >>> az.device().context().status
        'ok'
        """
        result = _get_status(self.handle)
        if result == ze.ZE_RESULT_ERROR_DEVICE_LOST:
            return "lost"
        check(result, _get_status)
        return "ok"

    def _raise_failure(self) -> None:
        """Raise what a host function raised, the oldest first."""
        raise self.failures.pop(0)

    # Memory

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
        """A new buffer; its contents are whatever was there.

        `kind` says who reaches it: ``"device"`` memory only the device, ``"host"`` memory both while it stays on the
        host, ``"shared"`` memory both. `alignment` is in bytes, a power of two; 0 takes what suits the dtype.

        `device_cache` and `host_cache` are hints, whether the caches of either side should keep it; ``uncached=True``
        is ``"uncached"`` for both. `placement` names the side where the memory should be from the beginning: its pages
        are there when the call returns, instead of when they are first touched.

        >>> ctx = az.device().context()
        >>> ctx.buffer((2, 3), np.float64, kind="host", alignment=4096).pointer % 4096
        0
        >>> ctx.zeros(4, np.uint8, kind="shared", host_cache="write_combined", placement="host").nbytes
        4
        """
        extents = extents_of(shape)
        element: np.dtype[Any] = np.dtype(dtype)
        if element.hasobject:
            raise errors.InvalidArgument(f"a buffer holds numbers, not {element}: a device knows no Python objects")
        where = device or self.device
        nbytes = bytes_of(extents, element)
        limit = where.max_allocation if kind != "host" else max(each.max_allocation for each in self.devices)
        if nbytes > limit:
            raise errors.OutOfDeviceMemory(
                f"shape {extents} of {element} takes {nbytes} bytes; the device gives {limit} at a time",
                remedy="Work in smaller parts, or give the device more with ANYZERO_MEMORY.",
            )
        if uncached:
            device_cache, host_cache = device_cache or "uncached", host_cache or "uncached"
        memory = _memory.allocate(
            self.lifetime, where.handle, nbytes, kind, alignment, device_cache, host_cache, placement
        )
        return Buffer(self, where, memory, extents, element, kind)

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
        """A host buffer on memory that the program has already, an array or an address; nothing is copied.

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
                raise TypeError("an address says nothing of the memory there: pass shape= and dtype= too")
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
                f"{nbytes} bytes at {pointer:#x} are no whole pages of {page}",
                remedy=f"Take the memory from mmap.mmap(-1, size), with a multiple of {page} for the size.",
            )
        memory = _memory.import_system(self.lifetime, pointer, nbytes, source)
        return Buffer(self, self.device, memory, extents, element, "host")

    def open_ipc(
        self,
        handle: bytes,
        shape: Shape,
        dtype: npt.DTypeLike = np.uint8,
        *,
        kind: MemoryKind = "device",
        device: Device | None = None,
    ) -> Buffer:
        """A buffer on another process's memory, from what `Buffer.ipc_handle` returned there; `kind` is as there.

        >>> ctx = az.device().context()
        >>> mine = ctx.full(4, 9, np.uint8)
        >>> ctx.open_ipc(mine.ipc_handle(), 4).copy_to()      # usually in another process
        array([9, 9, 9, 9], dtype=uint8)
        """
        extents = extents_of(shape)
        element: np.dtype[Any] = np.dtype(dtype)
        nbytes = bytes_of(extents, element)
        where = device or self.device
        memory = _memory.open_ipc(self.lifetime, where.handle, handle, nbytes)
        made = Buffer(self, where, memory, extents, element, kind)
        size = made.address_range[1]
        if nbytes > size:
            raise errors.InvalidArgument(
                f"shape {extents} of {element} takes {nbytes} bytes; the memory there has {size}"
            )
        return made

    def close_ipc(self, handle: bytes) -> None:
        """Take back a handle that `Buffer.ipc_handle` returned: nobody can open it any more.

        >>> ctx = az.device().context()
        >>> mine = ctx.zeros(4)
        >>> ctx.close_ipc(mine.ipc_handle())
        """
        check(_put_ipc(self.handle, ze.ze_ipc_mem_handle_t.from_buffer_copy(handle)), _put_ipc)

    def page_size(self, nbytes: int = 1, *, device: Device | None = None) -> int:
        """The size of the pages that `reserve`, `physical_memory` and `import_memory` deal in.

        >>> az.device().context().page_size() % 4096
        0
        """
        return _page_size(self, device or self.device, nbytes)

    def reserve(self, nbytes: int, *, start: int | None = None, device: Device | None = None) -> Reservation:
        """A range of addresses without memory, at `start` if it is free; rounded up to whole pages.

        >>> az.device().context().reserve(1).nbytes
        4096
        """
        return Reservation(self, device or self.device, nbytes, start=start)

    def physical_memory(self, nbytes: int, *, on_host: bool = False, device: Device | None = None) -> PhysicalMemory:
        """Memory without an address, to be mapped into a `Reservation`; rounded up to whole pages."""
        return PhysicalMemory(self, device or self.device, nbytes, on_host=on_host)

    def make_resident(self, memory: Buffer | Image, *, device: Device | None = None) -> None:
        """Bring memory to a device without on-demand paging and keep it there; `OutOfDeviceMemory` when that is full.

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
        """Take back `make_resident`."""
        where = (device or memory.device).handle
        if isinstance(memory, Image):
            check(_evict_image(self.handle, where, memory.handle), _evict_image)
        else:
            check(_evict(self.handle, where, memory.pointer, memory.nbytes), _evict)

    def system_barrier(self, device: Device | None = None) -> None:
        """Make what the host wrote visible to the device, as far as its memory model asks for it.

        >>> az.device().context().system_barrier()
        """
        check(_system_barrier(self.handle, (device or self.device).handle), _system_barrier)

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

        `kind` is ``"1d"``, ``"2d"`` or ``"3d"`` by the number of axes, unless it is said to be ``"1darray"``,
        ``"2darray"`` or ``"buffer"``. ``uncached=True`` is a hint that the device's caches need not keep it.

        >>> az.device().context().image((4, 64, 64), np.float32, channels=4, kind="2darray")
        <Image (4, 64, 64) 32_32_32_32 float>
        """
        extents = extents_of(shape)
        form = format if isinstance(format, ImageFormat) else ImageFormat.of(format, channels, normalized=normalized)
        return Image(self, device or self.device, extents, form, kind, writable=writable, uncached=uncached)

    def sampler(
        self,
        *,
        address: AddressMode = "clamp",
        filter: FilterMode = "nearest",  # noqa: A002 (the specification's word)
        normalized: bool = False,
        device: Device | None = None,
    ) -> Sampler:
        """How kernels read images between and beside the pixels; see `Sampler`.

        >>> az.device().context().sampler(address="repeat", normalized=True).filter
        'nearest'
        """
        return Sampler(self, device or self.device, address=address, filter=filter, normalized=normalized)

    # Work

    def module(
        self,
        source: ModuleSource | Sequence[ModuleSource],
        *,
        options: str | Sequence[str] = "",
        constants: Constants | Sequence[Constants] | None = None,
        format: Format | None = None,  # noqa: A002 (the specification's word)
        log: bool = False,
        device: Device | None = None,
    ) -> Module:
        """A module from a file or from bytes, SPIR-V or what `Module.native` gave; several make one program.

        `options` are build options such as ``"-ze-opt-disable"``, `constants` the values of specialization constants by
        their numbers: integers, truth values, or numpy scalars of the constant's own type. A list of sources takes
        lists of these too, or the same for all. The first bytes tell the `format`, ``"spirv"`` or ``"native"``. What
        cannot be built raises BuildError; ``log=True`` prints what the compiler has to say in any case.

        >>> from importlib.resources import files
        >>> az.device().context().module(files("anyzero.tools") / "saxpy.spv")
        <Module of saxpy>
        >>> az.device().context().module(b"this is not SPIR-V")
        Traceback (most recent call last):
        anyzero.errors.BuildError: zeModuleCreate INVALID_NATIVE_BINARY: ...
        """
        where = device or self.device
        return Module(self, where, source, options=options, constants=constants, format=format, log=log)

    def graph(
        self,
        source: GraphSource,
        *,
        weights: GraphSource | None = None,
        options: GraphOptions = "",
        format: GraphFormat | None = None,  # noqa: A002 (the specification's word)
        cache: bool = True,
        profiling: bool = False,
        log: bool = False,
        device: Device | None = None,
    ) -> Graph:
        """A graph from a model in OpenVINO's IR, or from what `Graph.native` gave: a file, or bytes; for NPUs.

        The weights of ``model.xml`` are in ``model.bin`` beside it, unless they are given. A blob in a file is mapped
        and used where it lies; so is one in memory, if it begins at a page and cannot be written to. `options` are for
        the compiler: a mapping, or build flags as they are. ``cache=False`` bypasses the driver's cache of compiled
        models, ``profiling=True`` lets layers be timed. What cannot be built raises BuildError, whose `log` names the
        layer.
        """
        from anyzero.api.graph import Graph

        return Graph(
            self,
            device or self.device,
            source,
            weights=weights,
            options=options,
            format=format,
            cache=cache,
            profiling=profiling,
            log=log,
        )

    def supported_layers(
        self,
        source: GraphSource,
        *,
        weights: GraphSource | None = None,
        options: GraphOptions = "",
        device: Device | None = None,
    ) -> tuple[str, ...]:
        """The layers of a model, by their names, that the device's compiler takes."""
        from anyzero.api.graph import supported_layers

        return supported_layers(self, source, weights=weights, options=options, device=device)

    def _group(self, kind: QueueKind | QueueGroup, device: Device) -> QueueGroup:
        return kind if isinstance(kind, QueueGroup) else device.queue_group(kind)

    def queue(
        self,
        *,
        kind: QueueKind | QueueGroup = "compute",
        mode: Mode = "asynchronous",
        priority: Priority = "normal",
        index: int = 0,
        sequential: bool = False,
        explicit_only: bool = False,
        device: Device | None = None,
    ) -> CommandQueue:
        """A queue for recorded lists, of a group that runs everything or only copies (``kind="copy"``).

        An NPU may run lists of one queue side by side; with ``sequential=True`` each begins when the one before has
        ended, as on every other device. ``explicit_only=True`` asks the driver not to spread commands over engines.

        >>> az.device().context().queue(kind="copy", priority="high").group.kind
        'copy'
        """
        where = device or self.device
        group = self._group(kind, where)
        return CommandQueue(
            *(self, where, group),
            mode=mode,
            priority=priority,
            index=index,
            sequential=sequential,
            explicit_only=explicit_only,
        )

    def command_list(
        self,
        *,
        kind: QueueKind | QueueGroup = "compute",
        in_order: bool = True,
        cloneable: bool = False,
        mutable: bool = False,
        maximize_throughput: bool = False,
        explicit_only: bool = False,
        copy_offload: bool = False,
        device: Device | None = None,
    ) -> CommandList:
        """A list to record; a list of one kind runs on queues of that kind.

        ``in_order=False`` (relaxed ordering) lets the driver overlap commands that no event or barrier orders.
        ``mutable=True`` is for `CommandList.execute_mutable`. Three hints: `maximize_throughput` at the cost of
        latency, `explicit_only` keeps commands on one engine, `copy_offload` lets copies run on another.

        >>> az.device().context().command_list().recording
        True
        """
        where = device or self.device
        group = self._group(kind, where)
        return CommandList(
            *(self, where, group),
            in_order=in_order,
            cloneable=cloneable,
            mutable=mutable,
            maximize_throughput=maximize_throughput,
            explicit_only=explicit_only,
            copy_offload=copy_offload,
        )

    def immediate(
        self,
        *,
        kind: QueueKind | QueueGroup = "compute",
        mode: Mode = "asynchronous",
        priority: Priority = "normal",
        index: int = 0,
        explicit_only: bool = False,
        copy_offload: bool = False,
        device: Device | None = None,
    ) -> ImmediateCommandList:
        """A list whose commands run as they are appended; the two hints are those of `command_list`.

        >>> with az.device().context().immediate(mode="synchronous") as lst:
        ...     lst.barrier().done
        True
        """
        where = device or self.device
        group = self._group(kind, where)
        return ImmediateCommandList(
            *(self, where, group),
            mode=mode,
            priority=priority,
            index=index,
            explicit_only=explicit_only,
            copy_offload=copy_offload,
        )

    def event(
        self, *, timing: bool = False, signal_scope: EventScope = "host", wait_scope: EventScope = "host"
    ) -> Event:
        """A new event; with `timing` it remembers when its command ran.

        The scopes say who sees what was written before: when it is signalled, and when somebody has waited for it.

        >>> az.device().context().event(signal_scope="device", wait_scope="none").done
        False
        """
        found = self._event_pools.pop(timing, None)
        pool, index = found or (create_pool(self, _EVENTS_AT_A_TIME, timing=timing), 0)
        if index + 1 < _EVENTS_AT_A_TIME:
            self._event_pools[timing] = (pool, index + 1)
        return Event(self, pool, index, signal_scope=signal_scope, wait_scope=wait_scope)

    def events(
        self,
        count: int,
        *,
        timing: bool = False,
        ipc: bool = False,
        signal_scope: EventScope = "host",
        wait_scope: EventScope = "host",
    ) -> list[Event]:
        """Several new events of one pool.

        >>> start, done = az.device().context().events(2)
        """
        return list(self.event_pool(count, timing=timing, ipc=ipc, signal_scope=signal_scope, wait_scope=wait_scope))

    def event_pool(
        self,
        count: int,
        *,
        timing: bool = False,
        ipc: bool = False,
        signal_scope: EventScope = "host",
        wait_scope: EventScope = "host",
    ) -> EventPool:
        """Room for `count` events, which another process can share with ``ipc=True``; the scopes are those of `event`.

        >>> len(az.device().context().event_pool(8))
        8
        """
        return EventPool(self, count, timing=timing, ipc=ipc, signal_scope=signal_scope, wait_scope=wait_scope)

    def open_event_pool(self, handle: bytes, count: int) -> EventPool:
        """Another process's event pool, from what `EventPool.ipc_handle` returned there.

        >>> ctx = az.device().context()
        >>> mine = ctx.event_pool(1, ipc=True)
        >>> theirs = ctx.open_event_pool(mine.ipc_handle(), 1)      # usually in another process
        >>> theirs[0].signal(); mine[0].done
        True
        """
        return EventPool(self, count, handle=handle)

    def __repr__(self) -> str:
        state = ", closed" if self.closed else ""
        return f"<Context of {', '.join(device.name for device in self.devices)}{state}>"
