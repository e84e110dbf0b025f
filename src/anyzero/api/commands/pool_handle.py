"""The driver's event pools. Events hold these, so that a pool object may hold its events without a reference cycle."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Final

from anyzero import ze
from anyzero.api.library import array_of, check, create, function
from anyzero.api.resource import Resource

if TYPE_CHECKING:
    from anyzero.api.context import Context

_create: Final = function("zeEventPoolCreate")
_destroy_pool: Final = function("zeEventPoolDestroy")
_close_ipc: Final = function("zeEventPoolCloseIpcHandle")
_open_ipc: Final = function("zeEventPoolOpenIpcHandle")
_get_flags: Final = function("zeEventPoolGetFlags")


class PoolHandle(Resource):
    """A pool of the driver, made here or opened from another process."""

    __slots__ = ("opened", "timing")

    def __init__(self, handle: int, *, timing: bool, opened: bool = False) -> None:
        self.timing = timing
        self.opened = opened
        self.handle = handle

    def _release(self, handle: int) -> None:
        (_close_ipc if self.opened else _destroy_pool)(handle)


def create_pool(context: Context, count: int, *, timing: bool, ipc: bool = False) -> PoolHandle:
    """A new pool for all devices of the context."""
    flags = ze.ZE_EVENT_POOL_FLAG_HOST_VISIBLE
    if timing:
        flags |= ze.ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP
    if ipc:
        flags |= ze.ZE_EVENT_POOL_FLAG_IPC
    desc = ze.ze_event_pool_desc_t(flags=flags, count=count)
    devices = [device.handle for device in context.devices]
    made = create(_create, context.handle, ctypes.byref(desc), len(devices), array_of(devices))
    return PoolHandle(made, timing=timing)


def open_pool(context: Context, handle: bytes) -> PoolHandle:
    """Another process's pool."""
    if len(handle) != ze.ZE_MAX_IPC_HANDLE_SIZE:
        raise ValueError(f"an IPC handle has {ze.ZE_MAX_IPC_HANDLE_SIZE} bytes; this one has {len(handle)}")
    made = create(_open_ipc, context.handle, ze.ze_ipc_event_pool_handle_t.from_buffer_copy(handle))
    pool = PoolHandle(made, timing=False, opened=True)
    flags = ctypes.c_uint32()
    check(_get_flags(made, ctypes.byref(flags)), _get_flags)
    pool.timing = bool(flags.value & ze.ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP)
    return pool
