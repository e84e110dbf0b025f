"""Level Zero for any machine: explicit, low-latency control of compute devices.

    import numpy as np, anyzero as az

    with az.device().context() as ctx:
        x = ctx.to_device(np.arange(1024, dtype=np.float32))
        y = ctx.zeros(x.shape, x.dtype, kind="shared")
        saxpy = ctx.module("saxpy.spv")["saxpy"]
        with ctx.immediate() as lst:
            saxpy[x.size](y, x, 2.0, on=lst).wait(timeout=5)
        print(np.asarray(y)[:4])

`anyzero.devices()` lists what there is; docs/api.md tells the whole story.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anyzero.api.buffer import Buffer as Buffer
    from anyzero.api.command_graph import CommandGraph as CommandGraph
    from anyzero.api.command_graph import ExecutableGraph as ExecutableGraph
    from anyzero.api.command_list import CommandList as CommandList
    from anyzero.api.completion import Completion as Completion
    from anyzero.api.context import Context as Context
    from anyzero.api.device import Clocks as Clocks
    from anyzero.api.device import Device as Device
    from anyzero.api.driver import Driver as Driver
    from anyzero.api.driver import drivers as drivers
    from anyzero.api.event import TIMESTAMPS as TIMESTAMPS
    from anyzero.api.event import Event as Event
    from anyzero.api.event import Timestamps as Timestamps
    from anyzero.api.event_pool import EventPool as EventPool
    from anyzero.api.fence import Fence as Fence
    from anyzero.api.graph import Graph as Graph
    from anyzero.api.graph import GraphCompiler as GraphCompiler
    from anyzero.api.graph import GraphProperties as GraphProperties
    from anyzero.api.graph_argument import GraphArgument as GraphArgument
    from anyzero.api.graph_command import GraphCommand as GraphCommand
    from anyzero.api.graph_profiler import GraphProfile as GraphProfile
    from anyzero.api.graph_profiler import GraphProfiler as GraphProfiler
    from anyzero.api.graph_profiler import LayerTime as LayerTime
    from anyzero.api.headers import get_include as get_include
    from anyzero.api.image import Image as Image
    from anyzero.api.image import ImageRegion as ImageRegion
    from anyzero.api.image_format import ImageFormat as ImageFormat
    from anyzero.api.immediate import ImmediateCommandList as ImmediateCommandList
    from anyzero.api.kernel import Kernel as Kernel
    from anyzero.api.kernel import Launch as Launch
    from anyzero.api.local import Local as Local
    from anyzero.api.local import local as local
    from anyzero.api.module import Module as Module
    from anyzero.api.module import link as link
    from anyzero.api.openvino import enable_openvino as enable_openvino
    from anyzero.api.properties import Cache as Cache
    from anyzero.api.properties import ImageLimits as ImageLimits
    from anyzero.api.properties import KernelProperties as KernelProperties
    from anyzero.api.properties import Memory as Memory
    from anyzero.api.properties import ModuleProperties as ModuleProperties
    from anyzero.api.properties import Peer as Peer
    from anyzero.api.properties import QueueGroup as QueueGroup
    from anyzero.api.queue import CommandQueue as CommandQueue
    from anyzero.api.sampler import Sampler as Sampler
    from anyzero.api.selection import device as device
    from anyzero.api.selection import devices as devices
    from anyzero.api.sycl import enable_sycl as enable_sycl
    from anyzero.api.virtual_memory import PhysicalMemory as PhysicalMemory
    from anyzero.api.virtual_memory import Reservation as Reservation
    from anyzero.config import ConfigError as ConfigError
    from anyzero.errors import BuildError as BuildError
    from anyzero.errors import ClosedError as ClosedError
    from anyzero.errors import DeviceLost as DeviceLost
    from anyzero.errors import DeviceNotFound as DeviceNotFound
    from anyzero.errors import Error as Error
    from anyzero.errors import HandleInUse as HandleInUse
    from anyzero.errors import InvalidArgument as InvalidArgument
    from anyzero.errors import InvalidHandle as InvalidHandle
    from anyzero.errors import NotReady as NotReady
    from anyzero.errors import OutOfDeviceMemory as OutOfDeviceMemory
    from anyzero.errors import OutOfHostMemory as OutOfHostMemory
    from anyzero.errors import PermissionDenied as PermissionDenied
    from anyzero.errors import TimeoutError as TimeoutError  # noqa: A004
    from anyzero.errors import Unavailable as Unavailable
    from anyzero.errors import UnsupportedFeature as UnsupportedFeature
    from anyzero.errors import UnsupportedModel as UnsupportedModel
    from anyzero.errors import UnsupportedSize as UnsupportedSize

# Loaded when first asked for: the driver imports this package at start-up and needs none of it, nor numpy.
_HOMES = {
    "anyzero.api.buffer": ["Buffer"],
    "anyzero.api.command_graph": ["CommandGraph", "ExecutableGraph"],
    "anyzero.api.command_list": ["CommandList"],
    "anyzero.api.completion": ["Completion"],
    "anyzero.api.context": ["Context"],
    "anyzero.api.device": ["Clocks", "Device"],
    "anyzero.api.driver": ["Driver", "drivers"],
    "anyzero.api.event": ["TIMESTAMPS", "Event", "Timestamps"],
    "anyzero.api.event_pool": ["EventPool"],
    "anyzero.api.fence": ["Fence"],
    "anyzero.api.graph": ["Graph", "GraphCompiler", "GraphProperties"],
    "anyzero.api.graph_argument": ["GraphArgument"],
    "anyzero.api.graph_command": ["GraphCommand"],
    "anyzero.api.graph_profiler": ["GraphProfile", "GraphProfiler", "LayerTime"],
    "anyzero.api.headers": ["get_include"],
    "anyzero.api.image": ["Image", "ImageRegion"],
    "anyzero.api.image_format": ["ImageFormat"],
    "anyzero.api.immediate": ["ImmediateCommandList"],
    "anyzero.api.kernel": ["Kernel", "Launch"],
    "anyzero.api.local": ["Local", "local"],
    "anyzero.api.module": ["Module", "link"],
    "anyzero.api.openvino": ["enable_openvino"],
    "anyzero.api.properties": [
        "Cache",
        "ImageLimits",
        "KernelProperties",
        "Memory",
        "ModuleProperties",
        "Peer",
        "QueueGroup",
    ],
    "anyzero.api.queue": ["CommandQueue"],
    "anyzero.api.sampler": ["Sampler"],
    "anyzero.api.selection": ["device", "devices"],
    "anyzero.api.sycl": ["enable_sycl"],
    "anyzero.api.virtual_memory": ["PhysicalMemory", "Reservation"],
    "anyzero.config": ["ConfigError"],
    "anyzero.errors": [
        "BuildError",
        "ClosedError",
        "DeviceLost",
        "DeviceNotFound",
        "Error",
        "HandleInUse",
        "InvalidArgument",
        "InvalidHandle",
        "NotReady",
        "OutOfDeviceMemory",
        "OutOfHostMemory",
        "PermissionDenied",
        "TimeoutError",
        "Unavailable",
        "UnsupportedFeature",
        "UnsupportedModel",
        "UnsupportedSize",
    ],
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [*sorted(_HOME), "__version__"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        value: Any
        try:
            value = version("anyzero")
        except PackageNotFoundError:  # a checkout on the path, which nobody installed
            value = "unknown"
    elif name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    else:
        raise AttributeError(f"module 'anyzero' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
