"""A context: the owner of buffers, lists, queues and events of some devices."""

from __future__ import annotations

import ctypes
import sys
from typing import TYPE_CHECKING, Any, Final, Literal

from anyzero import ze
from anyzero.api.allocator import Allocator
from anyzero.api.command_list import CommandList
from anyzero.api.commands.pool_handle import PoolHandle, create_pool
from anyzero.api.device import Device
from anyzero.api.event import Event
from anyzero.api.event_pool import EventPool
from anyzero.api.immediate import ImmediateCommandList
from anyzero.api.library import array_of, check, create, function
from anyzero.api.memory.allocation import ContextHandle
from anyzero.api.module import Module
from anyzero.api.properties import QueueGroup, QueueKind
from anyzero.api.queue import CommandQueue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyzero.api.calls.flags import EventScope
    from anyzero.api.commands.timeline import Mode, Priority
    from anyzero.api.graph import Graph
    from anyzero.api.sources.graph_source import GraphFormat, GraphOptions, GraphSource
    from anyzero.api.sources.module_source import Constants, Format, ModuleSource

__all__ = ["Context"]

_create: Final = function("zeContextCreateEx")
_get_status: Final = function("zeContextGetStatus")
_system_barrier: Final = function("zeContextSystemBarrier")

_EVENTS_AT_A_TIME: Final = 64


class Context(Allocator):
    """Owner of memory, modules, events and lists for one or several devices of a driver.

    `Device.context` makes one for a device; ``Context(a, b)`` makes one for several, whose first is the default.
    A closed context makes no new objects. Existing objects stay valid until they are closed themselves, and so does
    the memory of arrays. Any thread may use a context.

    >>> with az.device().context() as ctx:
    ...     x = ctx.to_device(np.arange(4, dtype=np.float32))
    ...     with ctx.immediate() as lst:
    ...         lst.fill(x[2:], 0).wait()
    ...     x.copy_to()
    array([0., 1., 0., 0.], dtype=float32)
    """

    _gone_when_closed = ("handle", "lifetime")
    __slots__ = ("_event_pools", "failures", "launches")

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
            # No wait has reported this error.
            error = self.failures.pop(0)
            sys.excepthook(type(error), error, error.__traceback__)
        # The driver's context is destroyed with the last memory that holds it.
        del self.lifetime

    @property
    def status(self) -> Literal["ok", "lost"]:
        """``"lost"`` after a command of this context has faulted; other contexts are not affected.

        >>> az.device().context().status
        'ok'
        """
        result = _get_status(self.handle)
        if result == ze.ZE_RESULT_ERROR_DEVICE_LOST:
            return "lost"
        check(result, _get_status)
        return "ok"

    def system_barrier(self, device: Device | None = None) -> None:
        """Make writes of the host visible to the device, if its memory model requires it.

        >>> az.device().context().system_barrier()
        """
        check(_system_barrier(self.handle, (device or self.device).handle), _system_barrier)

    # Work

    def module(
        self,
        file: ModuleSource | Sequence[ModuleSource] | None = None,
        *,
        source: str | None = None,
        options: str | Sequence[str] = "",
        constants: Constants | Sequence[Constants] | None = None,
        format: Format | None = None,  # noqa: A002 (the specification's word)
        log: bool = False,
        device: Device | None = None,
    ) -> Module:
        """A module from a file or from bytes: SPIR-V, OpenCL C (``.cl``, or `source`), or a native binary
        (`Module.native`).

        `options` are build options such as ``"-ze-opt-disable"``, and for OpenCL C also clang's (``"-DN=4"``);
        `constants` the values of specialization constants by their numbers: integers, truth values, or numpy scalars of
        the constant's own type. Several files make one program, with lists of these or the same for all. The `format`,
        ``"spirv"`` or ``"native"``, is detected. A failed build raises BuildError; ``log=True`` prints the compiler's
        messages in any case. OpenCL C needs a clang: ``pip install 'anyzero[clang]'``.

        >>> from importlib.resources import files
        >>> az.device().context().module(files("anyzero.tools") / "saxpy.spv")
        <Module of saxpy>
        >>> az.device().context().module(b"this is not SPIR-V")
        Traceback (most recent call last):
        anyzero.errors.InvalidArgument: this is text; a module is SPIR-V or the device's native code
        ...
        """
        where = device or self.device
        return Module(self, where, file, source=source, options=options, constants=constants, format=format, log=log)

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
        """A graph from a model in OpenVINO's IR or from a native blob (`Graph.native`), as a file or bytes; for NPUs.

        The weights of ``model.xml`` are in ``model.bin`` beside it, unless they are given. A blob in a file is mapped
        and used in place; so is one in memory, if it is page-aligned and read-only. `options` are for the compiler: a
        mapping, or build flags as they are. ``cache=False`` bypasses the driver's cache of compiled models,
        ``profiling=True`` enables timing of layers. A failed build raises BuildError, whose `log` names the layer.
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
        """The layers of a model, by their names, that the device's compiler supports."""
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

        An NPU may run lists of one queue concurrently; with ``sequential=True`` each begins after the end of the
        previous one, as on every other device. ``explicit_only=True`` asks the driver not to spread commands over
        engines.

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
        timing: bool = False,
        device: Device | None = None,
    ) -> ImmediateCommandList:
        """A list whose commands start when they are appended; the two hints are those of `command_list`.

        With `timing`, `Completion.kernel_ns` is the duration of each command on the device.

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
            timing=timing,
        )

    def event(
        self, *, timing: bool = False, signal_scope: EventScope = "host", wait_scope: EventScope = "host"
    ) -> Event:
        """A new event; with `timing` it records when its command ran. The scopes say where earlier writes are visible:
        once it is signalled, and after a wait for it.

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
        """A pool of `count` events, which other processes can open with ``ipc=True``; the scopes are those of `event`.

        >>> len(az.device().context().event_pool(8))
        8
        """
        return EventPool(self, count, timing=timing, ipc=ipc, signal_scope=signal_scope, wait_scope=wait_scope)

    def open_event_pool(self, handle: bytes, count: int) -> EventPool:
        """An event pool of another process, from the handle that `EventPool.ipc_handle` returned there.

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
