"""Graphs: whole models, compiled for an NPU, that run as one command."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from anyzero import errors
from anyzero.api.buffer import Buffer
from anyzero.api.calls.graph_extension import Extension, extension, text_of
from anyzero.api.graph_argument import GraphArgument, arguments_of
from anyzero.api.graph_profiler import GraphProfiler
from anyzero.api.launches.bound_arguments import Arguments, BoundArguments, GraphHandle
from anyzero.api.library import check, create
from anyzero.api.resource import Resource
from anyzero.api.sources.graph_source import GraphFormat, GraphOptions, GraphSource, build_flags, bytes_of, serialize
from anyzero.api.sources.saving import save
from anyzero.ze import npu

if TYPE_CHECKING:
    from anyzero.api.context import Context
    from anyzero.api.device import Device

__all__ = ["Arguments", "Graph", "GraphCompiler", "GraphProperties", "supported_layers"]

_REMEDY: Final = "`anyzero docs npu` describes the supported models; `log` has all messages."


@dataclass(frozen=True, slots=True)
class GraphCompiler:
    """The graph compiler of a device: versions of the extension and of the compiler, the newest opset, its options."""

    extension: str
    version: str
    opset: int
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GraphProperties:
    """The origin of a graph.

    Exactly one of `cached` (found in the driver's cache), `compiled` and `precompiled` (a native blob) is true.
    With `in_place` the blob's memory is used without a copy; with `profiling` layers can be timed.
    """

    cached: bool
    compiled: bool
    precompiled: bool
    in_place: bool
    profiling: bool


class _Binary:
    """A graph's native binary, for numpy, which then holds the graph."""

    def __init__(self, owner: GraphHandle, pointer: int, nbytes: int) -> None:
        self.owner = owner
        self.__array_interface__ = {"version": 3, "typestr": "|u1", "shape": (nbytes,), "data": (pointer, True)}


class Graph(Resource):
    """A compiled model. `Context.graph` makes one; lists run it with `execute`.

    Arguments keep the memory that they were `set` to. Appending captures their current values, so several lists and
    threads can run one graph on memory of their own. Any thread may use a graph.
    """

    __slots__ = ("arguments", "bound", "called", "context", "device", "kept_bytes", "owner")
    _gone_when_closed = ("handle", "owner")

    context: Context
    device: Device
    called: Extension
    owner: GraphHandle

    def __init__(
        self,
        context: Context,
        device: Device,
        source: GraphSource,
        *,
        weights: GraphSource | None = None,
        options: GraphOptions = "",
        format: GraphFormat | None = None,  # noqa: A002 (the specification's word)
        cache: bool = True,
        profiling: bool = False,
        log: bool = False,
    ) -> None:
        called = extension(device.driver)
        given = serialize(source, weights, format, _compiler_version(called, device))
        flags = 0 if cache else npu.ZE_GRAPH_FLAG_DISABLE_CACHING
        flags |= npu.ZE_GRAPH_FLAG_INPUT_GRAPH_PERSISTENT if given.in_place else 0
        # A blob is configured already, and accepts no further options.
        native = given.format == npu.ZE_GRAPH_FORMAT_NATIVE
        words = None if native and not options else build_flags(options, profiling=profiling)
        if profiling:
            flags |= npu.ZE_GRAPH_FLAG_ENABLE_PROFILING
        desc = given.desc(flags, words)
        made = ctypes.c_void_p()
        result = called.Create2(context.handle, device.handle, ctypes.byref(desc), ctypes.byref(made))
        if result or not made.value:
            _refuse(result, called)
        self.context = context
        self.device = device
        self.called = called
        self.owner = GraphHandle(made.value or 0, called, context.lifetime, given if given.in_place else None)
        self.handle = self.owner.handle
        found = npu.ze_graph_properties_t()
        check(called.GetProperties(self.handle, ctypes.byref(found)), called.GetProperties)
        self.arguments: tuple[GraphArgument, ...] = arguments_of(called, self.handle, found.numGraphArgs)
        self.bound = BoundArguments(self.arguments)
        self.kept_bytes = sum(each.nbytes for each in self.arguments)
        self._begin()
        if log and self.build_log:
            print(self.build_log, file=sys.stderr)

    def _begin(self) -> None:
        """Initialize the graph, which some drivers require before its first run."""
        called = self.called
        found = npu.ze_graph_properties_2_t()
        check(called.GetProperties2(self.handle, ctypes.byref(found)), called.GetProperties2)
        if found.initStageRequired & npu.ZE_GRAPH_STAGE_INITIALIZE:
            check(called.GraphInitialize(self.handle), called.GraphInitialize)
        if found.initStageRequired & npu.ZE_GRAPH_STAGE_COMMAND_LIST_INITIALIZE:
            run = self.context.lifetime.run
            run(self.device, called.AppendGraphInitialize, (self.handle,), self.owner)

    def _release(self, handle: int) -> None:
        self.bound.clear()
        # The driver's graph is destroyed with the last view of its binary.
        del self.owner

    # Properties

    @property
    def inputs(self) -> tuple[GraphArgument, ...]:
        """The inputs of the model, without states and shapes."""
        return tuple(each for each in self.arguments if each.direction == "input" and each.role == "data")

    @property
    def outputs(self) -> tuple[GraphArgument, ...]:
        """The outputs of the model, without states and shapes."""
        return tuple(each for each in self.arguments if each.direction == "output" and each.role == "data")

    def argument(self, which: int | str | GraphArgument) -> GraphArgument:
        """An argument by its index or by any of its names: its own, the friendly one, those of its tensors."""
        return self.bound.find(which)

    @property
    def properties(self) -> GraphProperties:
        """Its origin, and whether it can be profiled."""
        found = npu.ze_graph_properties_3_t()
        called = self.called.GetProperties3
        check(called(self.handle, ctypes.byref(found)), called)
        copied = bool(found.flags & npu.ZE_GRAPH_PROPERTIES_FLAG_NO_STANDARD_ALLOCATION)
        return GraphProperties(
            cached=bool(found.flags & npu.ZE_GRAPH_PROPERTIES_FLAG_LOADED_FROM_CACHE),
            compiled=bool(found.flags & npu.ZE_GRAPH_PROPERTIES_FLAG_COMPILED),
            precompiled=bool(found.flags & npu.ZE_GRAPH_PROPERTIES_FLAG_PRE_COMPILED),
            in_place=self.owner.kept is not None and not copied,
            profiling=bool(found.flags & npu.ZE_GRAPH_PROPERTIES_FLAG_PROFILING_ENABLED),
        )

    @property
    def build_log(self) -> str:
        """The compiler's messages; `BuildError.log` after a failure."""
        return text_of(self.called.BuildLogGetString, self.handle)

    @property
    def native(self) -> memoryview:
        """The native blob of the graph, from which `Context.graph` makes the same graph without compiling.

        It is a view of the driver's memory, which the view keeps alive.
        """
        size, pointer = ctypes.c_size_t(), ctypes.c_void_p()
        called = self.called.GetNativeBinary2
        check(called(self.handle, ctypes.byref(size), ctypes.byref(pointer)), called)
        array: Any = np.asarray(_Binary(self.owner, pointer.value or 0, size.value))
        return memoryview(array)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `native` to a file, atomically: readers see the old file or the new one."""
        save(path, self.native)

    def evict(self) -> None:
        """Release memory that the driver keeps for the next run; that run takes a little longer."""
        check(self.called.Evict(self.handle), self.called.Evict)

    # Arguments

    def set(self, argument: int | str | GraphArgument, value: Buffer | Any) -> None:
        """Set the memory of an argument, a buffer or an array, for commands appended from now on."""
        self.bound.set(self.owner, argument, value)

    def set_weights(self, weights: GraphSource) -> None:
        """Set the weights of a weightless graph, from the weights file of the model or from its bytes.

        They are read when the graph first runs with them; later changes of that memory have no effect.
        """
        values = bytes_of(weights)
        for each in self.arguments:
            if each.role != "weights":
                continue
            begin = int(each.of)
            if begin + each.nbytes > values.nbytes:
                raise errors.InvalidArgument(
                    f"{each.friendly_name} is {each.nbytes} bytes at {begin}, and these weights have {values.nbytes}",
                    remedy="Give the weights of the model that the graph was compiled from.",
                )
            self.set(each, values[begin : begin + each.nbytes])

    def buffers(self, *, kind: Any = "host", context: Context | None = None) -> dict[str, Buffer]:
        """New memory, zeroed, for all arguments except weights, by name; both arguments of a state share it."""
        where = context or self.context
        made: dict[str, Buffer] = {}
        states: dict[str, Buffer] = {}
        for each in self.arguments:
            if each.role == "weights":
                continue
            if each.role == "state" and each.of in states:
                made[each.name] = states[each.of]
                continue
            shape = (each.nbytes,) if each.packed else each.bounds
            memory = where.zeros(shape, each.dtype, kind=kind, alignment=4096, device=self.device)
            made[each.name] = memory
            if each.role == "state":
                states[each.of] = memory
        return made

    def profiler(self, count: int = 1) -> GraphProfiler:
        """Storage for the layer times of `count` runs, for a graph made with ``profiling=True``."""
        return GraphProfiler(self, count)

    def __iter__(self) -> Iterator[GraphArgument]:
        return iter(self.arguments)

    def __repr__(self) -> str:
        if self.closed:
            return "<Graph, closed>"
        given, made = (", ".join(map(_brief, side)) for side in (self.inputs, self.outputs))
        return f"<Graph ({given}) → ({made})>"


def _brief(argument: GraphArgument) -> str:
    sides = "×".join("?" if side is None else str(side) for side in argument.shape)
    return f"{argument.name} {argument.precision}[{sides}]"


def _refuse(result: int, called: Extension) -> None:
    """Raise the error for a failed creation, with the compiler's log."""
    try:
        check(result, called.Create2)
    except errors.Error as error:
        log = text_of(called.BuildLogGetString, None) or error.detail
        first = log.strip().splitlines()[0] if log.strip() else ""
        known = {"result": error.result, "function": error.function, "log": log, "remedy": _REMEDY}
        if isinstance(error, errors.UnsupportedFeature):
            raise errors.UnsupportedModel(first, **known) from None  # type: ignore[arg-type]
        if isinstance(error, errors.BuildError) or (log and isinstance(error, errors.InvalidArgument)):
            raise errors.BuildError(first, **known) from None  # type: ignore[arg-type]
        raise
    raise errors.BuildError("the driver returned no graph", function="pfnCreate2", remedy=_REMEDY)


def _compiler_version(called: Extension, device: Device) -> tuple[int, int]:
    found = _compiler_properties(called, device).compilerVersion
    return found.major, found.minor


def _compiler_properties(called: Extension, device: Device) -> Any:
    found = npu.ze_device_graph_properties_t()
    ask = called.DeviceGetGraphProperties
    check(ask(device.handle, ctypes.byref(found)), ask)
    return found


def compiler_of(device: Device) -> GraphCompiler:
    """The graph compiler of a device; raises UnsupportedFeature if it has none."""
    called = extension(device.driver)
    found = _compiler_properties(called, device)
    ask = called.CompilerGetSupportedOptions
    size = ctypes.c_size_t()
    check(ask(device.handle, npu.ZE_NPU_COMPILER_OPTIONS, ctypes.byref(size), None), ask)
    room = ctypes.create_string_buffer(size.value + 1)
    check(ask(device.handle, npu.ZE_NPU_COMPILER_OPTIONS, ctypes.byref(size), room), ask)
    version = found.graphExtensionVersion
    return GraphCompiler(
        extension=f"{version >> 16}.{version & 0xFFFF}",
        version=f"{found.compilerVersion.major}.{found.compilerVersion.minor}",
        opset=found.maxOVOpsetVersionSupported,
        options=tuple(room.value.decode(errors="replace").split()),
    )


def supported_layers(
    context: Context,
    source: GraphSource,
    *,
    weights: GraphSource | None = None,
    options: GraphOptions = "",
    device: Device | None = None,
) -> tuple[str, ...]:
    """The names of the layers of a model that the compiler supports."""
    where = device or context.device
    called = extension(where.driver)
    given = serialize(source, weights, "ir", _compiler_version(called, where))
    desc = given.desc(0, build_flags(options, profiling=False))
    query = create(called.QueryNetworkCreate2, context.handle, where.handle, ctypes.byref(desc))
    try:
        text = text_of(called.QueryNetworkGetSupportedLayers, query, ctypes.c_size_t())
    finally:
        called.QueryNetworkDestroy(query)
    # Names may contain anything but their separator.
    return tuple(text.removeprefix("<").removesuffix(">").split("><")) if text else ()
