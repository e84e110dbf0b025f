"""Layer times of graphs."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from anyzero.api.library import check, create
from anyzero.api.memory.sizes import place_of, size_within
from anyzero.api.resource import Resource
from anyzero.ze import npu

if TYPE_CHECKING:
    from anyzero.api.calls.graph_extension import Extension
    from anyzero.api.graph import Graph

__all__ = ["GraphProfile", "GraphProfiler", "LayerTime"]

_STATES: Final[dict[int, Any]] = {
    npu.ZE_LAYER_STATUS_NOT_RUN: "not run",
    npu.ZE_LAYER_STATUS_OPTIMIZED_OUT: "optimized out",
    npu.ZE_LAYER_STATUS_EXECUTED: "executed",
}


@dataclass(frozen=True, slots=True)
class LayerTime:
    """The time of one layer in one run, in nanoseconds; `start_ns` is relative to the beginning of the run."""

    name: str
    type: str
    status: Literal["not run", "optimized out", "executed"]
    start_ns: int
    duration_ns: int
    layer_id: int
    dpu_ns: int
    software_ns: int
    dma_ns: int


class _PoolHandle(Resource):
    """The driver's pool, which each of its queries holds."""

    __slots__ = ("_graph", "called")

    def __init__(self, graph: Graph, count: int) -> None:
        self.called: Extension = graph.called
        self._graph = graph.owner
        self.handle = create(self.called.ProfilingPoolCreate, graph.handle, count)

    def _release(self, handle: int) -> None:
        self.called.ProfilingPoolDestroy(handle)


class GraphProfiler:
    """Storage for the layer times of several runs: a sequence of `GraphProfile`. `Graph.profiler` makes one."""

    __slots__ = ("_profiles",)

    def __init__(self, graph: Graph, count: int) -> None:
        pool = _PoolHandle(graph, size_within(count, 32, "the number of runs"))
        self._profiles: tuple[GraphProfile, ...] = tuple(GraphProfile(pool, index) for index in range(count))

    def __len__(self) -> int:
        return len(self._profiles)

    def __getitem__(self, index: int) -> GraphProfile:
        return self._profiles[place_of(index, len(self._profiles), "an index of a profiler is an integer")]

    def __iter__(self) -> Iterator[GraphProfile]:
        return iter(self._profiles)


class GraphProfile(Resource):
    """The layer times of the last completed run that was appended with this object as ``profile=``."""

    __slots__ = ("_pool", "called")

    def __init__(self, pool: _PoolHandle, index: int) -> None:
        self._pool = pool
        self.called = pool.called
        self.handle = create(self.called.ProfilingQueryCreate, pool.handle, index)

    @property
    def layers(self) -> list[LayerTime]:
        """Every layer, in the order in which they ran; raises NotReady before the first run."""
        return [
            LayerTime(
                name=each.name.decode(errors="replace"),
                type=each.layer_type.decode(errors="replace"),
                status=_STATES.get(each.status, "not run"),
                start_ns=each.start_time_ns,
                duration_ns=each.duration_ns,
                layer_id=each.layer_id,
                dpu_ns=each.dpu_ns,
                software_ns=each.sw_ns,
                dma_ns=each.dma_ns,
            )
            for each in self._records()
        ]

    def _records(self) -> Any:
        ask = self.called.ProfilingQueryGetData
        size = ctypes.c_uint32()
        check(ask(self.handle, npu.ZE_GRAPH_PROFILING_LAYER_LEVEL, ctypes.byref(size), None), ask)
        count = size.value // ctypes.sizeof(npu.ze_profiling_layer_info)
        room = (npu.ze_profiling_layer_info * count)()
        if count:
            check(ask(self.handle, npu.ZE_GRAPH_PROFILING_LAYER_LEVEL, ctypes.byref(size), room), ask)
        return room

    def _release(self, handle: int) -> None:
        self.called.ProfilingQueryDestroy(handle)
