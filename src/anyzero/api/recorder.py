"""The commands that every list takes, recorded or immediate."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from math import prod
from typing import TYPE_CHECKING, Any, Final, Literal

from anyzero import errors, ze
from anyzero.api.buffer import Buffer
from anyzero.api.calls.hot import hot
from anyzero.api.commands.appending import Appended
from anyzero.api.commands.host_function import TRAMPOLINE, HostCall
from anyzero.api.commands.waits import Waits, pack
from anyzero.api.event import TIMESTAMPS, Event
from anyzero.api.image import Image, ImageRegion
from anyzero.api.launcher import Launcher
from anyzero.api.library import function
from anyzero.api.memory.host_arrays import HostArray, fill_pattern, require_alike, require_pixels

if TYPE_CHECKING:
    from anyzero.api.device import Device
    from anyzero.api.graph import Arguments, Graph
    from anyzero.api.graph_profiler import GraphProfile

__all__ = ["Advice", "Recorder"]

Advice = Literal[
    "read_mostly",
    "not_read_mostly",
    "preferred_location",
    "no_preferred_location",
    "preferred_on_host",
    "no_preferred_on_host",
    "non_atomic_mostly",
    "not_non_atomic_mostly",
    "cached",
    "uncached",
]
_ADVICE: Final[dict[str, int]] = {
    "read_mostly": ze.ZE_MEMORY_ADVICE_SET_READ_MOSTLY,
    "not_read_mostly": ze.ZE_MEMORY_ADVICE_CLEAR_READ_MOSTLY,
    "preferred_location": ze.ZE_MEMORY_ADVICE_SET_PREFERRED_LOCATION,
    "no_preferred_location": ze.ZE_MEMORY_ADVICE_CLEAR_PREFERRED_LOCATION,
    "preferred_on_host": ze.ZE_MEMORY_ADVICE_SET_SYSTEM_MEMORY_PREFERRED_LOCATION,
    "no_preferred_on_host": ze.ZE_MEMORY_ADVICE_CLEAR_SYSTEM_MEMORY_PREFERRED_LOCATION,
    "non_atomic_mostly": ze.ZE_MEMORY_ADVICE_SET_NON_ATOMIC_MOSTLY,
    "not_non_atomic_mostly": ze.ZE_MEMORY_ADVICE_CLEAR_NON_ATOMIC_MOSTLY,
    "cached": ze.ZE_MEMORY_ADVICE_BIAS_CACHED,
    "uncached": ze.ZE_MEMORY_ADVICE_BIAS_UNCACHED,
}

_PIXEL: Final = 16
"""The most bytes that a pixel takes."""

_barrier: Final = hot("zeCommandListAppendBarrier")
_ranges_barrier: Final = function("zeCommandListAppendMemoryRangesBarrier")
_copy: Final = hot("zeCommandListAppendMemoryCopy")
_copy_from_context: Final = hot("zeCommandListAppendMemoryCopyFromContext")
_copy_region: Final = function("zeCommandListAppendMemoryCopyRegion")
_fill: Final = function("zeCommandListAppendMemoryFill")
_copy_image: Final = function("zeCommandListAppendImageCopyRegion")
_image_to_memory: Final = function("zeCommandListAppendImageCopyToMemory")
_image_from_memory: Final = function("zeCommandListAppendImageCopyFromMemory")
_prefetch: Final = function("zeCommandListAppendMemoryPrefetch")
_advise: Final = function("zeCommandListAppendMemAdvise")
_signal: Final = hot("zeCommandListAppendSignalEvent")
_wait: Final = hot("zeCommandListAppendWaitOnEvents")
_reset: Final = hot("zeCommandListAppendEventReset")
_timestamp: Final = hot("zeCommandListAppendWriteGlobalTimestamp")
_query_timestamps: Final = function("zeCommandListAppendQueryKernelTimestamps")
_host_function: Final = function("zeCommandListAppendHostFunction")


class Recorder(Launcher[Appended]):
    """The commands of `CommandList` and `ImmediateCommandList`.

    Every command takes ``wait=``, an event or several that must be signalled before it begins, and ``signal=``, an
    event that it signals when it is done. A list keeps buffers and arrays of its commands alive for as long as they
    may run. One thread at a time may append to a list.
    """

    __slots__ = ()

    def copy(
        self,
        target: Buffer | Any,
        source: Buffer | Any,
        *,
        signal: Event | None = None,
        wait: Waits = None,
    ) -> Appended:
        """Copy `source` to `target`: buffers, also of other contexts, or numpy arrays, of the same shape and dtype.

        >>> ctx = az.device().context()
        >>> x, y = ctx.to_device(np.arange(3)), np.zeros(3, int)
        >>> with ctx.immediate() as lst:
        ...     lst.copy(y, x).wait()
        >>> y
        array([0, 1, 2])
        """
        to = target if type(target) is Buffer else HostArray(target, writable=True)
        origin = source if type(source) is Buffer else HostArray(source)
        if to.shape != origin.shape or (to.dtype is not origin.dtype and to.dtype != origin.dtype):
            require_alike(to, origin)
        there = to.allocation
        here: Any = origin.allocation
        nbytes = there.nbytes + here.nbytes
        context = origin.context
        if context is None or context is self.context:
            return self._append(_copy, (to.pointer, origin.pointer, to.nbytes), signal, wait, (there, here), nbytes)
        arguments = (to.pointer, here.context_handle.handle, origin.pointer, to.nbytes)
        return self._append(_copy_from_context, arguments, signal, wait, (there, here), nbytes)

    def fill(self, target: Buffer | Any, value: Any, *, signal: Event | None = None, wait: Waits = None) -> Appended:
        """Set every element of `target` to `value`; bytes are repeated as they are.

        >>> ctx = az.device().context()
        >>> x = ctx.buffer(3, np.float32, kind="shared")
        >>> with ctx.immediate() as lst:
        ...     lst.fill(x, 1.5).wait()
        >>> np.asarray(x)
        array([1.5, 1.5, 1.5], dtype=float32)
        """
        to = target if type(target) is Buffer else HostArray(target, writable=True)
        pattern = fill_pattern(value, to.dtype)
        if not to.nbytes:
            return self.barrier(signal=signal, wait=wait)
        memory = to.allocation
        arguments = (to.pointer, pattern, len(pattern), to.nbytes)
        return self._append(_fill, arguments, signal, wait, memory, memory.nbytes)

    def copy_region(
        self,
        target: Buffer | Any,
        source: Buffer | Any,
        shape: tuple[int, ...],
        *,
        target_origin: tuple[int, ...] | None = None,
        source_origin: tuple[int, ...] | None = None,
        signal: Event | None = None,
        wait: Waits = None,
    ) -> Appended:
        """Copy a part of `shape` elements, of two or three axes, from one array to another of the same dtype.

        The origins say where the part begins on either side, in elements; they are zero unless given.

        >>> ctx = az.device().context()
        >>> whole, part = np.arange(16).reshape(4, 4), np.zeros((2, 2), int)
        >>> with ctx.immediate() as lst:
        ...     lst.copy_region(part, whole, (2, 2), source_origin=(1, 2)).wait()
        >>> part
        array([[ 6,  7], [10, 11]])
        """
        to = target if type(target) is Buffer else HostArray(target, writable=True)
        origin = source if type(source) is Buffer else HostArray(source)
        if to.dtype != origin.dtype:
            raise errors.InvalidArgument(f"cannot copy {origin.dtype} to {to.dtype}", remedy="Convert one of them.")
        there, row, plane = _box(to, shape, target_origin, "target")
        here, source_row, source_plane = _box(origin, shape, source_origin, "source")
        arguments = (
            to.pointer, ctypes.byref(there), row, plane,
            origin.pointer, ctypes.byref(here), source_row, source_plane,
        )  # fmt: skip
        kept = (to.allocation, origin.allocation)
        return self._append(_copy_region, arguments, signal, wait, kept, kept[0].nbytes + kept[1].nbytes)

    def copy_image(
        self,
        target: Any,
        source: Any,
        *,
        signal: Event | None = None,
        wait: Waits = None,
    ) -> Appended:
        """Copy between images, or between an image and a buffer or array; a slice of an image is a part of it.

        The memory beside an image holds its pixels row by row, without gaps.

        >>> ctx = az.device().context()
        >>> image = ctx.image((4, 4), np.uint8)
        >>> corner = np.zeros((2, 2), np.uint8)
        >>> with ctx.immediate() as lst:
        ...     _ = lst.copy_image(image, np.arange(16, dtype=np.uint8).reshape(4, 4))
        ...     lst.copy_image(corner, image[2:, 2:]).wait()
        >>> corner
        array([[10, 11], [14, 15]], dtype=uint8)
        """
        to = target[...] if isinstance(target, Image) else target
        origin = source[...] if isinstance(source, Image) else source
        if isinstance(to, ImageRegion) and isinstance(origin, ImageRegion):
            arguments: tuple[Any, ...] = (to.image.handle, origin.image.handle, to.where, origin.where)
            pixels = prod(to.shape)
            return self._append(_copy_image, arguments, signal, wait, (to.image, origin.image), pixels * _PIXEL)
        if isinstance(to, ImageRegion):
            memory = source if isinstance(source, Buffer) else HostArray(source)
            require_pixels(to, memory)
            arguments = (to.image.handle, memory.pointer, to.where)
            kept = (to.image, memory.allocation)
            return self._append(_image_from_memory, arguments, signal, wait, kept, kept[1].nbytes)
        if isinstance(origin, ImageRegion):
            memory = target if isinstance(target, Buffer) else HostArray(target, writable=True)
            require_pixels(origin, memory)
            arguments = (memory.pointer, origin.image.handle, origin.where)
            kept = (origin.image, memory.allocation)
            return self._append(_image_to_memory, arguments, signal, wait, kept, kept[1].nbytes)
        raise errors.InvalidArgument("neither side is an image", remedy="Use copy() for memory.")

    def barrier(self, *ranges: Buffer, signal: Event | None = None, wait: Waits = None) -> Appended:
        """Finish all commands before it before any command after it begins; with buffers, for those ranges.

        With ``wait=``, in a list that is not in order, it waits for these events alone.

        >>> ctx = az.device().context()
        >>> with ctx.immediate() as lst:
        ...     lst.barrier().wait(timeout=5)
        """
        if not ranges:
            return self._append(_barrier, (), signal, wait, None)
        sizes = (ctypes.c_size_t * len(ranges))(*(each.nbytes for each in ranges))
        pointers = (ctypes.c_void_p * len(ranges))(*(each.pointer for each in ranges))
        return self._append(_ranges_barrier, (len(ranges), sizes, pointers), signal, wait, None)

    def signal(self, event: Event) -> Appended:
        """Signal `event` when all commands before it are done.

        >>> ctx = az.device().context()
        >>> event = ctx.event()
        >>> with ctx.immediate() as lst:
        ...     lst.signal(event).wait(timeout=5)
        >>> event.done
        True
        """
        return self._append_bare(_signal, (event.handle,), event)

    def wait(self, *events: Any) -> Appended:
        """Delay all following commands until all `events` are signalled.

        >>> ctx = az.device().context()
        >>> event = ctx.event()
        >>> lst = ctx.immediate()
        >>> done = lst.wait(event)
        >>> event.signal(); done.wait(timeout=5)
        """
        count, handles = pack(events)
        if not count:
            return self.barrier()
        return self._append_bare(_wait, (count, handles), events)

    def reset_event(self, event: Event) -> Appended:
        """Reset `event` when all commands before it are done.

        >>> ctx = az.device().context()
        >>> event = ctx.event(); event.signal()
        >>> with ctx.immediate() as lst:
        ...     _ = lst.reset_event(event)
        >>> event.done
        False
        """
        return self._append_bare(_reset, (event.handle,), event)

    def timestamp(self, target: Buffer, *, signal: Event | None = None, wait: Waits = None) -> Appended:
        """Write the device's clock to the first eight bytes of `target`.

        >>> ctx = az.device().context()
        >>> time = ctx.zeros(1, np.uint64, kind="host")
        >>> with ctx.immediate() as lst:
        ...     lst.timestamp(time).wait()
        >>> int(np.asarray(time)[0]) > 0
        True
        """
        _require_bytes(target, 8)
        memory = target.allocation
        return self._append(_timestamp, (target.pointer,), signal, wait, memory, memory.nbytes)

    def query_timestamps(
        self, target: Buffer, *events: Event, signal: Event | None = None, wait: Waits = None
    ) -> Appended:
        """Write the timestamps of `events` to `target`, one `TIMESTAMPS` element each.

        >>> ctx = az.device().context()
        >>> times = ctx.zeros(1, az.TIMESTAMPS, kind="shared")
        >>> event = ctx.event(timing=True)
        >>> with ctx.immediate() as lst:
        ...     _ = lst.barrier(signal=event)
        ...     lst.query_timestamps(times, event).wait()
        >>> np.asarray(times)["end"] >= np.asarray(times)["start"]
        array([ True])
        """
        _require_bytes(target, TIMESTAMPS.itemsize * len(events))
        count, handles = pack(events)
        kept = (target.allocation, events)
        arguments = (count, handles, target.pointer, None)
        return self._append(_query_timestamps, arguments, signal, wait, kept, kept[0].nbytes)

    def host_function(
        self,
        function: Callable[..., object],
        *arguments: Any,
        signal: Event | None = None,
        wait: Waits = None,
    ) -> Appended:
        """Call a Python function when all commands before it are done, on a thread of the driver. The list continues
        when it returns. An exception is raised again by the next wait of the same context: for an event, a fence, a
        queue or a list. It must not wait for work of its own list.

        >>> ctx = az.device().context()
        >>> seen = []
        >>> with ctx.immediate() as lst:
        ...     lst.host_function(seen.append, 1).wait(timeout=5)
        >>> seen
        [1]
        """
        if not callable(function):
            raise TypeError(f"{function!r} is not callable")
        call = HostCall(function, arguments, self.context.failures)
        self._has_host_functions()
        return self._append(_host_function, (TRAMPOLINE, call.number, None), signal, wait, call)

    def execute(
        self,
        graph: Graph,
        arguments: Arguments | None = None,
        *,
        profile: GraphProfile | None = None,
        signal: Event | None = None,
        wait: Waits = None,
    ) -> Appended:
        """Run a graph, on the memory that its arguments are set to; `arguments` sets some or all of them before.

        They are a mapping of names or indices to buffers, or buffers in order. `profile`, one of a `Graph.profiler`,
        gets the times of its layers.
        """
        command, kept = graph.bound.command(graph.owner, arguments, profile)
        return self._append(command, (), signal, wait, kept, graph.kept_bytes)

    def prefetch(self, target: Buffer) -> Appended:
        """A hint: bring shared memory to the device before it is used there, if the device has room.

        >>> ctx = az.device().context()
        >>> with ctx.immediate() as lst:
        ...     _ = lst.prefetch(ctx.zeros(8, kind="shared"))
        """
        memory = target.allocation
        return self._append_bare(_prefetch, (target.pointer, target.nbytes), memory, memory.nbytes)

    def advise(self, target: Buffer, advice: Advice, *, device: Device | None = None) -> Appended:
        """A hint: how shared memory will be used; it applies to the whole allocation.

        ``"preferred_location"`` and ``"preferred_on_host"`` decide whose memory it counts as (`Device.memory_free`),
        ``"cached"`` and ``"uncached"`` whether copies and fills bypass the caches. The others have no effect.

        >>> ctx = az.device().context()
        >>> with ctx.immediate() as lst:
        ...     _ = lst.advise(ctx.zeros(8, kind="shared"), "read_mostly")
        """
        if advice not in _ADVICE:
            raise ValueError(f"advice={advice!r} is not one of {', '.join(_ADVICE)}")
        arguments = ((device or self.device).handle, target.pointer, target.nbytes, _ADVICE[advice])
        memory = target.allocation
        return self._append_bare(_advise, arguments, memory, memory.nbytes)


def _require_bytes(target: Buffer, needed: int) -> None:
    if target.nbytes < needed:
        raise errors.InvalidArgument(f"{needed} bytes do not fit a buffer of {target.nbytes}")


def _box(
    memory: Buffer | HostArray, shape: tuple[int, ...], origin: Iterable[int] | None, side: str
) -> tuple[ze.ze_copy_region_t, int, int]:
    """A part of an array of two or three axes as the C API describes it: region, row pitch, slice pitch, in bytes."""
    start = tuple(origin) if origin is not None else (0,) * len(shape)
    if not len(memory.shape) == len(shape) == len(start) or len(shape) not in (2, 3):
        raise errors.InvalidArgument(
            f"a part of shape {shape} at {start} of the {side} of shape {memory.shape}: all have two axes, or three"
        )
    for first, extent, size in zip(start, shape, memory.shape, strict=True):
        if first < 0 or extent < 0 or first + extent > size:
            raise errors.InvalidArgument(
                f"a part of shape {shape} at {start} exceeds the {side} of shape {memory.shape}"
            )
    item = memory.dtype.itemsize
    depth, z = (shape[0], start[0]) if len(shape) == 3 else (1, 0)
    region = ze.ze_copy_region_t(start[-1] * item, start[-2], z, shape[-1] * item, shape[-2], depth)
    row = memory.shape[-1] * item
    return region, row, row * memory.shape[-2]
