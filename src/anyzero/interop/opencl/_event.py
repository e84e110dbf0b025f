"""Events across the two APIs."""

from __future__ import annotations

import ctypes
import threading
import weakref
from typing import TYPE_CHECKING, Final

import pyopencl as cl

from anyzero import errors, ze
from anyzero.api.commands.pool_handle import PoolHandle, create_pool
from anyzero.api.commands.waits import handle_of
from anyzero.api.completion import Completion
from anyzero.api.context import Context
from anyzero.api.event import Event
from anyzero.api.library import create, function
from anyzero.interop.opencl._native import Line, Link, link_to_level_zero, link_to_opencl
from anyzero.interop.opencl._objects import require

if TYPE_CHECKING:
    from anyzero.api.device import Device

__all__ = ["ClEvent", "LinkedEvent", "event", "two_events", "user_event"]

_create: Final = function("zeEventCreate")
_EVENTS_AT_A_TIME: Final = 64

_lock: Final = threading.Lock()
_parked: list[tuple[int, Link, object]] = []
_enough = _EVENTS_AT_A_TIME
# The pool from which the next event of a context comes, and its place there.
_pools: Final[weakref.WeakKeyDictionary[Context, tuple[PoolHandle, int]]] = weakref.WeakKeyDictionary()


def _sweep() -> None:
    """Destroy events that were closed while their link still needed them; called occasionally."""
    global _enough
    if len(_parked) < _enough:
        return
    with _lock:
        waiting, _parked[:] = _parked[:], []
    for each in waiting:
        _end(*each)
    # A program that is far ahead has many waiting; it must not check all of them every time.
    _enough = 2 * len(_parked) + _EVENTS_AT_A_TIME


def _end(handle: int, link: Link | None, kept: object) -> None:
    if link is not None and not link.done:
        with _lock:
            _parked.append((handle, link, kept))
    else:
        Event._destroy(handle)  # noqa: SLF001 (its subclass)


def _next_place(context: Context) -> tuple[PoolHandle, int]:
    with _lock:
        found = _pools.pop(context, None)
    pool, index = found or (create_pool(context, _EVENTS_AT_A_TIME, timing=False), 0)
    if index + 1 < _EVENTS_AT_A_TIME:
        _pools[context] = (pool, index + 1)
    return pool, index


def two_events(context: Context) -> tuple[int, int]:
    """The handles of two events, which hold their pool."""
    with create_pool(context, 2, timing=False) as pool:
        first, second = (
            create(_create, pool.handle, ctypes.byref(ze.ze_event_desc_t(index=index))) for index in range(2)
        )
    return first, second


class LinkedEvent(Event):
    """An event that a link signals or waits for. Closed early, it stays in the driver until the link is done."""

    __slots__ = ("kept", "link")

    def __init__(self, context: Context) -> None:
        _sweep()
        self.link: Link | None = None
        # Other objects that the link needs.
        self.kept: object = None
        super().__init__(context, *_next_place(context))

    def _release(self, handle: int) -> None:
        _end(handle, self.link, (self._pool, self.kept))


class ClEvent(LinkedEvent):
    """An OpenCL event, as an event of Level Zero; `event` makes one."""

    __slots__ = ("cl_event",)

    def __init__(self, context: Context, cl_event: cl.Event, line: Line | None = None) -> None:
        self.cl_event = cl_event
        super().__init__(context)
        self.link = link_to_level_zero(cl_event, self.handle, line)

    def wait(self, timeout: float | None = None) -> None:
        """Return when the OpenCL command is complete; raise an Error if it failed, TimeoutError after `timeout`."""
        super().wait(timeout)
        status = self.link.status if self.link is not None else 0
        if status < 0:
            raise errors.Error(
                f"the OpenCL command failed: {cl.status_code.to_string(status, 'status %d')}",
                remedy="Commands that waited for it have continued without it; run both again.",
            )

    def reset(self) -> None:
        """Raise an error: an OpenCL event cannot be reset."""
        raise errors.InvalidArgument(
            "an event of OpenCL cannot be reset", remedy="Make another one from the next command's event."
        )


def event(ctx: Context, cl_event: cl.Event) -> ClEvent:
    """An event of Level Zero that is signalled when an OpenCL event is complete.

    Commands can wait for it, on any list of the context, and so can the host. The signal comes from a thread that
    needs no Python. A failed command signals it too, so that nothing hangs, and `wait` raises.

    >>> import pyopencl as cl
    >>> from anyzero.interop import opencl
    >>> ctx, cl_ctx = az.device().context(), cl.create_some_context(interactive=False)
    >>> begin = cl.UserEvent(cl_ctx)
    >>> x = ctx.zeros(1, np.int32, kind="shared")
    >>> with ctx.immediate() as lst:
    ...     filled = lst.fill(x, 7, wait=opencl.event(ctx, begin))
    ...     print(filled.done)
    ...     begin.set_status(cl.command_execution_status.COMPLETE)
    ...     filled.wait(timeout=5)
    False
    """
    require(Context, ctx, "the first argument")
    require(cl.Event, cl_event, "the second argument")
    return ClEvent(ctx, cl_event)


def user_event(cl_ctx: cl.Context, completion: Completion, *, device: Device | None = None) -> cl.UserEvent:
    """An OpenCL event that is complete when an event of Level Zero, or a command of an immediate list, is.

    OpenCL commands wait for it through ``wait_for=``. When the command fails, because its device is lost, the event
    gets a negative status, and OpenCL fails the commands that wait for it. PoCL crashes in that case, so there the
    event completes, and only Level Zero reports the error.

    >>> import pyopencl as cl
    >>> from anyzero.interop import opencl
    >>> ctx, cl_ctx = az.device().context(), cl.create_some_context(interactive=False)
    >>> done = ctx.event()
    >>> theirs = opencl.user_event(cl_ctx, done)
    >>> theirs.command_execution_status == cl.command_execution_status.COMPLETE
    False
    >>> done.signal(); theirs.wait()
    """
    require(cl.Context, cl_ctx, "the first argument")
    require(Completion, completion, "the second argument")
    handle = handle_of(completion)
    made = cl.UserEvent(cl_ctx)
    if handle is None:
        made.set_status(cl.command_execution_status.COMPLETE)
        return made
    context: Context = completion.context  # type: ignore[attr-defined]
    own = LinkedEvent(context)
    # The program may close its event at any time, so a thread waits for this separate one instead.
    bridge = context.immediate(device=device)
    bridge.barrier(wait=completion, signal=own)
    own.kept = bridge
    pass_on(own, made)
    return made


def pass_on(own: LinkedEvent, target: cl.UserEvent, line: Line | None = None) -> None:
    """Link a user event to an event that a command in flight will signal."""
    try:
        own.link = link_to_opencl(own.handle, target, line)
    except BaseException:
        target.set_status(cl.status_code.OUT_OF_RESOURCES)
        raise
    own.close()
