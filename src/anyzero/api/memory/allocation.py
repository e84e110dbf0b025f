"""The memory behind buffers. It is freed when nothing holds it any more: no buffer, no array, no recorded command."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Literal

from anyzero import ze
from anyzero.api.calls.hot import hot
from anyzero.api.calls.waiting import SLICE_NS, wait
from anyzero.api.commands.held import Held, destroy_when_idle
from anyzero.api.library import check, create, function
from anyzero.api.memory.sizes import place_within, size_within
from anyzero.api.resource import Resource

if TYPE_CHECKING:
    from anyzero.api.device import Device
    from anyzero.api.launches.enqueue import Enqueue
    from anyzero.api.launches.grid import Grid

MemoryKind = Literal["device", "host", "shared"]
CacheBias = Literal["cached", "uncached"]
HostCacheBias = Literal["cached", "uncached", "write_combined"]
Placement = Literal["device", "host"]

_DEVICE_CACHE: Final[dict[CacheBias | None, int]] = {
    None: 0,
    "cached": ze.ZE_DEVICE_MEM_ALLOC_FLAG_BIAS_CACHED,
    "uncached": ze.ZE_DEVICE_MEM_ALLOC_FLAG_BIAS_UNCACHED,
}
_HOST_CACHE: Final[dict[HostCacheBias | None, int]] = {
    None: 0,
    "cached": ze.ZE_HOST_MEM_ALLOC_FLAG_BIAS_CACHED,
    "uncached": ze.ZE_HOST_MEM_ALLOC_FLAG_BIAS_UNCACHED,
    "write_combined": ze.ZE_HOST_MEM_ALLOC_FLAG_BIAS_WRITE_COMBINED,
}

_create_list: Final = function("zeCommandListCreateImmediate")
_destroy_list: Final = function("zeCommandListDestroy")
_synchronize: Final = hot("zeCommandListHostSynchronize")
_alloc_device: Final = function("zeMemAllocDevice")
_alloc_host: Final = function("zeMemAllocHost")
_alloc_shared: Final = function("zeMemAllocShared")
_free: Final = function("zeMemFreeExt")
_open_ipc: Final = function("zeMemOpenIpcHandle")
_close_ipc: Final = function("zeMemCloseIpcHandle")

# Submitted commands may still use memory that Python has released, so the driver defers the free.
_policy: Final = ze.ze_memory_free_ext_desc_t(freePolicy=ze.ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE)
_DEFERRED: Final = ctypes.byref(_policy)


class ContextHandle(Resource):
    """The driver's context. Memory holds it, so that closing the context does not free memory under an array."""

    __slots__ = ("_lists",)
    _destroy = function("zeContextDestroy")

    def __init__(self, handle: int) -> None:
        # Keyed by the handles of their devices.
        self._lists: dict[int, _PlainList] = {}
        self.handle = handle

    def run(self, device: Device, command: Callable[..., int], arguments: tuple[Any, ...], kept: object) -> None:
        """Run a command without a list of the program's, and wait for it; `kept` stays until then."""
        lst = self._lists.get(device.handle)
        if lst is None:
            lst = self._lists.setdefault(device.handle, _PlainList(self.handle, device))
        try:
            if result := command(lst.handle, *arguments, None, 0, None):
                check(result, command)
            if _synchronize(lst.handle, SLICE_NS):
                wait(_synchronize, lst.handle, None, "the command")
        except BaseException:
            # The list is lost, or busy with an abandoned command; the next command gets a new one.
            lst.left.add(kept, 0)
            self._lists.pop(device.handle, None)
            raise

    def launch(self, device: Device, enqueue: Enqueue, kernel: int, sizes: Grid, given: tuple[Any, ...]) -> None:
        """Run a launch and wait for it: `run` without the arguments in a tuple, which take as long as the driver."""
        lst = self._lists.get(device.handle)
        if lst is None:
            lst = self._lists.setdefault(device.handle, _PlainList(self.handle, device))
        values, kept, _ = enqueue.collect(given)
        try:
            enqueue.append(lst.handle, kernel, sizes, values, None, 0, None)
            if _synchronize(lst.handle, SLICE_NS):
                wait(_synchronize, lst.handle, None, "the command")
        except BaseException:
            lst.left.add(kept, 0)
            self._lists.pop(device.handle, None)
            raise

    def _release(self, handle: int) -> None:
        self._lists.clear()
        super()._release(handle)


class _PlainList(Resource):
    """An immediate list for commands that are waited for at once; `left` holds the objects of abandoned waits."""

    __slots__ = ("left",)

    def __init__(self, context: int, device: Device) -> None:
        self.left = Held()
        desc = ze.ze_command_queue_desc_t(
            ordinal=device.queue_group("compute").ordinal, mode=ze.ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS
        )
        self.handle = create(_create_list, context, device.handle, ctypes.byref(desc))

    def _release(self, handle: int) -> None:
        destroy_when_idle(handle, _synchronize, _destroy_list, self.left)


class Allocation(Resource):
    """A range of memory of one context; `handle` is its address."""

    __slots__ = ("context_handle", "nbytes")

    def __init__(self, context_handle: ContextHandle, handle: int, nbytes: int) -> None:
        self.context_handle = context_handle
        self.nbytes = nbytes
        self.handle = handle

    def _release(self, handle: int) -> None:
        _free(self.context_handle.handle, _DEFERRED, handle)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """For numpy, which then holds this object as the array's base."""
        return {"version": 3, "typestr": "|u1", "shape": (self.nbytes,), "data": (self.handle, False)}


class ImportedMemory(Allocation):
    """System memory that was made known to the driver; `source` owns it."""

    __slots__ = ("source",)

    def __init__(self, context_handle: ContextHandle, handle: int, nbytes: int, source: object) -> None:
        super().__init__(context_handle, handle, nbytes)
        self.source = source


class IpcMemory(Allocation):
    """Memory of another process."""

    __slots__ = ()

    def _release(self, handle: int) -> None:
        _close_ipc(self.context_handle.handle, handle)


class MappedMemory(Allocation):
    """A part of an address range; the range owns it."""

    __slots__ = ("source",)

    def __init__(self, context_handle: ContextHandle, handle: int, nbytes: int, source: object) -> None:
        super().__init__(context_handle, handle, nbytes)
        self.source = source

    def _release(self, handle: int) -> None:
        pass


def allocate(
    context: ContextHandle,
    device: int,
    nbytes: int,
    kind: MemoryKind,
    alignment: int = 0,
    device_cache: CacheBias | None = None,
    host_cache: HostCacheBias | None = None,
    placement: Placement | None = None,
) -> Allocation:
    """New memory of that kind; `device` is the handle of its device."""
    # An empty array is an array too, but no allocation may be empty.
    size = max(size_within(nbytes, 63, "the size"), 1)
    alignment = place_within(alignment, 63, "the alignment")
    if device_cache not in _DEVICE_CACHE:
        raise ValueError(f"device_cache={device_cache!r}: 'cached' or 'uncached'")
    if host_cache not in _HOST_CACHE:
        raise ValueError(f"host_cache={host_cache!r}: 'cached', 'uncached' or 'write_combined'")
    if placement not in (None, "device", "host"):
        raise ValueError(f"placement={placement!r}: 'device' or 'host'")
    device_flags, host_flags = _DEVICE_CACHE[device_cache], _HOST_CACHE[host_cache]
    if placement == "device":
        device_flags |= ze.ZE_DEVICE_MEM_ALLOC_FLAG_BIAS_INITIAL_PLACEMENT
    elif placement == "host":
        host_flags |= ze.ZE_HOST_MEM_ALLOC_FLAG_BIAS_INITIAL_PLACEMENT
    on_device = ctypes.byref(ze.ze_device_mem_alloc_desc_t(flags=device_flags))
    on_host = ctypes.byref(ze.ze_host_mem_alloc_desc_t(flags=host_flags))
    if kind == "device":
        pointer = create(_alloc_device, context.handle, on_device, size, alignment, device)
    elif kind == "host":
        pointer = create(_alloc_host, context.handle, on_host, size, alignment)
    elif kind == "shared":
        pointer = create(_alloc_shared, context.handle, on_device, on_host, size, alignment, device)
    else:
        raise ValueError(f"kind={kind!r}: memory is 'device', 'host' or 'shared'")
    return Allocation(context, pointer, nbytes)


def import_system(context: ContextHandle, pointer: int, nbytes: int, source: object) -> ImportedMemory:
    """Make whole pages of system memory known to the driver."""
    place_within(pointer, 64, "the address")
    chained = ze.ze_external_memmap_sysmem_ext_desc_t(pSystemMemory=pointer, size=size_within(nbytes, 63, "the size"))
    desc = ze.ze_host_mem_alloc_desc_t(pNext=ctypes.addressof(chained))
    made = create(_alloc_host, context.handle, ctypes.byref(desc), nbytes, 0)
    return ImportedMemory(context, made, nbytes, source)


def open_ipc(context: ContextHandle, device: int, handle: bytes, nbytes: int) -> IpcMemory:
    """Map another process's memory."""
    if len(handle) != ze.ZE_MAX_IPC_HANDLE_SIZE:
        raise ValueError(f"an IPC handle has {ze.ZE_MAX_IPC_HANDLE_SIZE} bytes; this one has {len(handle)}")
    raw = ze.ze_ipc_mem_handle_t.from_buffer_copy(handle)
    return IpcMemory(context, create(_open_ipc, context.handle, device, raw, 0), nbytes)
