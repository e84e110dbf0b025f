"""A device or one of its tiles, and its capabilities."""

from __future__ import annotations

import ctypes
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyzero import errors, ze
from anyzero.api.calls.waiting import without_timeout
from anyzero.api.library import check, function, query_all
from anyzero.api.properties import Cache, ImageLimits, Memory, Peer, QueueGroup, QueueKind

if TYPE_CHECKING:
    from uuid import UUID

    from anyzero.api.context import Context
    from anyzero.api.driver import Driver
    from anyzero.api.graph import GraphCompiler

__all__ = ["Clocks", "Device"]

_TYPES: Final = {
    ze.ZE_DEVICE_TYPE_GPU: "gpu",
    ze.ZE_DEVICE_TYPE_CPU: "cpu",
    ze.ZE_DEVICE_TYPE_FPGA: "fpga",
    ze.ZE_DEVICE_TYPE_MCA: "mca",
    ze.ZE_DEVICE_TYPE_VPU: "npu",
}
_OWN_NAME: Final = re.compile(r"anyzero ([A-Z]+)\b")

_get_properties: Final = function("zeDeviceGetProperties")
_get_compute: Final = function("zeDeviceGetComputeProperties")
_get_images: Final = function("zeDeviceGetImageProperties")
_get_pci: Final = function("zeDevicePciGetPropertiesExt")
_get_peer: Final = function("zeDeviceGetP2PProperties")
_can_access: Final = function("zeDeviceCanAccessPeer")
_get_timestamps: Final = function("zeDeviceGetGlobalTimestamps")
_get_status: Final = function("zeDeviceGetStatus")
_synchronize: Final = function("zeDeviceSynchronize")


class Clocks(NamedTuple):
    """The two clocks, read together: `host` in nanoseconds, `device` in ticks of the device's timer."""

    host: int
    device: int


class Device:
    """A device of a driver, or a tile of such a device. Its properties are plain attributes.

    Devices exist as long as the process, so there is nothing to close. Any thread may use one.

    >>> device = az.device()
    >>> device.type
    'gpu'
    >>> device == az.devices()[0]
    True
    """

    def __init__(self, driver: Driver, handle: int, root: Device | None = None) -> None:
        self.driver = driver
        self.handle = handle
        self._root = root

    def _filled(self, called: Any, structure: Any) -> Any:
        check(called(self.handle, ctypes.byref(structure)), called)
        return structure

    @cached_property
    def _properties(self) -> Any:
        return self._filled(_get_properties, ze.ze_device_properties_t())

    @cached_property
    def _compute(self) -> Any:
        return self._filled(_get_compute, ze.ze_device_compute_properties_t())

    @property
    def name(self) -> str:
        """The device's name."""
        return str(self._properties.name.decode(errors="replace"))

    @cached_property
    def uuid(self) -> UUID:
        """Its identity, the same in every process on this machine."""
        from uuid import UUID  # takes long to load

        return UUID(bytes=bytes(self._properties.uuid.id))

    @property
    def type(self) -> str:
        """``gpu``, ``cpu``, ``fpga``, ``mca`` or ``npu``, as the driver presents it."""
        return _TYPES.get(self._properties.type, "unknown")

    @cached_property
    def backend(self) -> str:
        """The hardware that runs the work: ``cpu``, ``cuda`` or ``npu`` for devices of anyzero, else the same as
        `type`.

        >>> az.device().backend
        'cpu'
        """
        own = _OWN_NAME.match(self.name)
        return own[1].lower() if own else self.type

    @property
    def vendor_id(self) -> int:
        """The vendor's PCI id."""
        return int(self._properties.vendorId)

    @property
    def device_id(self) -> int:
        """The vendor's id for the product."""
        return int(self._properties.deviceId)

    @cached_property
    def pci_address(self) -> str:
        """Its PCI address, as ``domain:bus:device.function``."""
        at = self._filled(_get_pci, ze.ze_pci_ext_properties_t()).address
        return f"{at.domain:04x}:{at.bus:02x}:{at.device:02x}.{at.function:x}"

    @cached_property
    def root(self) -> Device:
        """The device that this tile belongs to; the device itself if it is not a tile."""
        if self._root is None and self._properties.flags & ze.ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE:
            # With ZE_FLAT_DEVICE_HIERARCHY=COMBINED drivers list tiles, and only tiles lead to their devices.
            handle, called = ctypes.c_void_p(), function("zeDeviceGetRootDevice")
            check(called(self.handle, ctypes.byref(handle)), called)
            return Device(self.driver, handle.value) if handle.value else self
        return self._root or self

    @property
    def is_tile(self) -> bool:
        """Whether this is a tile (a sub-device) of another device."""
        return self.root is not self

    @cached_property
    def tiles(self) -> tuple[Device, ...]:
        """Its sub-devices; empty for a device without tiles."""
        handles = query_all(function("zeDeviceGetSubDevices"), self.handle)
        return tuple(Device(self.driver, handle, root=self) for handle in handles)

    @property
    def integrated(self) -> bool:
        """Whether it shares the host's memory."""
        return bool(self._properties.flags & ze.ZE_DEVICE_PROPERTY_FLAG_INTEGRATED)

    @property
    def on_demand_paging(self) -> bool:
        """Whether the device pages memory in on demand; if not, use `Context.make_resident`."""
        return bool(self._properties.flags & ze.ZE_DEVICE_PROPERTY_FLAG_ONDEMANDPAGING)

    @property
    def clock_mhz(self) -> int:
        """The core clock."""
        return int(self._properties.coreClockRate)

    @property
    def compute_units(self) -> int:
        """Work-groups that run at a time: the sub-slices of a GPU; for the CPU, its threads."""
        p = self._properties
        return int(p.numSlices * p.numSubslicesPerSlice)

    @property
    def execution_units(self) -> int:
        """The EUs of all sub-slices, which SYCL and OpenCL programs see as compute units.

        A processor with fewer than 16 threads reports 16, which some libraries need (`anyzero docs sycl`).
        """
        return self.compute_units * int(self._properties.numEUsPerSubslice)

    @cached_property
    def ip_version(self) -> int:
        """The IP version, by which libraries choose code for a GPU; 0 if there is none.

        >>> hex(az.device("cpu").ip_version)
        '0x3000000'
        """
        told = ze.ze_device_ip_version_ext_t()
        self._filled(_get_properties, ze.ze_device_properties_t(pNext=ctypes.addressof(told)))
        return int(told.ipVersion)

    @property
    def timer_resolution(self) -> int:
        """Nanoseconds per tick of the device's timer."""
        return int(self._properties.timerResolution)

    @property
    def timestamp_bits(self) -> int:
        """The number of bits of a kernel timestamp."""
        return int(self._properties.kernelTimestampValidBits)

    @cached_property
    def memory_total(self) -> int:
        """Its memory, in bytes."""
        return sum(memory.size for memory in self.memories)

    @property
    def memory_free(self) -> int:
        """Free memory, in bytes, at this moment.

        >>> device = az.device()
        >>> 0 < device.memory_free <= device.memory_total
        True
        """
        usable = ze.ze_device_usablemem_size_ext_properties_t()
        self._filled(_get_properties, ze.ze_device_properties_t(pNext=ctypes.addressof(usable)))
        return int(usable.currUsableMemSize)

    @property
    def max_allocation(self) -> int:
        """The largest buffer, in bytes."""
        return int(self._properties.maxMemAllocSize)

    @cached_property
    def memories(self) -> tuple[Memory, ...]:
        """Its memories."""
        found = query_all(function("zeDeviceGetMemoryProperties"), self.handle, of=ze.ze_device_memory_properties_t)
        return tuple(
            Memory(each.name.decode(errors="replace"), each.totalSize, each.maxClockRate, each.maxBusWidth)
            for each in found
        )

    @cached_property
    def caches(self) -> tuple[Cache, ...]:
        """Its caches, nearest first."""
        found = query_all(function("zeDeviceGetCacheProperties"), self.handle, of=ze.ze_device_cache_properties_t)
        control = ze.ZE_DEVICE_CACHE_PROPERTY_FLAG_USER_CONTROL
        return tuple(Cache(each.cacheSize, bool(each.flags & control)) for each in found)

    @cached_property
    def image_limits(self) -> ImageLimits:
        """The largest supported images."""
        p = self._filled(_get_images, ze.ze_device_image_properties_t())
        return ImageLimits(
            side_1d=p.maxImageDims1D,
            side_2d=p.maxImageDims2D,
            side_3d=p.maxImageDims3D,
            buffer=p.maxImageBufferSize,
            array_levels=p.maxImageArraySlices,
            samplers=p.maxSamplers,
            read_arguments=p.maxReadImageArgs,
            write_arguments=p.maxWriteImageArgs,
        )

    @property
    def max_group_size(self) -> int:
        """The most work-items in a work-group."""
        return int(self._compute.maxTotalGroupSize)

    @property
    def max_group_shape(self) -> tuple[int, int, int]:
        """The most work-items in a work-group along x, y and z."""
        p = self._compute
        return p.maxGroupSizeX, p.maxGroupSizeY, p.maxGroupSizeZ

    @property
    def max_group_count(self) -> tuple[int, int, int]:
        """The most work-groups in a launch along x, y and z."""
        p = self._compute
        return p.maxGroupCountX, p.maxGroupCountY, p.maxGroupCountZ

    @property
    def local_memory(self) -> int:
        """Bytes that the work-items of a group share."""
        return int(self._compute.maxSharedLocalMemory)

    @property
    def sub_group_sizes(self) -> tuple[int, ...]:
        """The supported sub-group sizes."""
        return tuple(self._compute.subGroupSizes[: self._compute.numSubGroupSizes])

    @cached_property
    def queue_groups(self) -> tuple[QueueGroup, ...]:
        """Its groups of queues; `ordinal` is the index in this tuple."""
        found = query_all(
            function("zeDeviceGetCommandQueueGroupProperties"),
            self.handle,
            of=ze.ze_command_queue_group_properties_t,
        )
        return tuple(
            QueueGroup(
                ordinal=ordinal,
                queues=each.numQueues,
                compute=bool(each.flags & ze.ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE),
                copy=bool(each.flags & ze.ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY),
                cooperative=bool(each.flags & ze.ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COOPERATIVE_KERNELS),
                max_fill_pattern=each.maxMemoryFillPatternSize,
            )
            for ordinal, each in enumerate(found)
        )

    def queue_group(self, kind: QueueKind = "compute") -> QueueGroup:
        """The first group of that kind.

        >>> az.device().queue_group("compute").ordinal
        0
        """
        for group in self.queue_groups:
            if group.kind == kind:
                return group
        have = ", ".join(f"{group.ordinal}: {group.kind}" for group in self.queue_groups)
        raise errors.InvalidArgument(f"{self.name} has no {kind!r} queue group; it has {have}")

    @cached_property
    def graph_compiler(self) -> GraphCompiler:
        """The compiler of graphs for this device; raises UnsupportedFeature if the device does not run graphs."""
        from anyzero.api.graph import compiler_of

        return compiler_of(self)

    def peer(self, other: Device) -> Peer:
        """The access of this device to the memory of another."""
        found = ze.ze_device_p2p_properties_t()
        check(_get_peer(self.handle, other.handle, ctypes.byref(found)), _get_peer)
        return Peer(
            access=bool(found.flags & ze.ZE_DEVICE_P2P_PROPERTY_FLAG_ACCESS),
            atomics=bool(found.flags & ze.ZE_DEVICE_P2P_PROPERTY_FLAG_ATOMICS),
        )

    def can_access(self, peer: Device) -> bool:
        """Whether this device can access the memory of `peer` directly.

        >>> device = az.device()
        >>> device.can_access(device)
        True
        """
        value = ctypes.c_uint8()
        check(_can_access(self.handle, peer.handle, ctypes.byref(value)), _can_access)
        return bool(value.value)

    def timestamp(self) -> Clocks:
        """Both clocks at the same moment.

        >>> clocks = az.device().timestamp()
        >>> az.device().timestamp().host >= clocks.host
        True
        """
        host, device = ctypes.c_uint64(), ctypes.c_uint64()
        check(_get_timestamps(self.handle, ctypes.byref(host), ctypes.byref(device)), _get_timestamps)
        return Clocks(host.value, device.value)

    @property
    def status(self) -> str:
        """``"ok"``, or ``"lost"`` for a driver whose devices need a reset. Those of anyzero never do: a fault loses a
        list or queue, `Context.status` reports it, and the device keeps working.

        >>> az.device().status
        'ok'
        """
        return "ok" if _get_status(self.handle) == ze.ZE_RESULT_SUCCESS else "lost"

    def synchronize(self) -> None:
        """Wait for all work that this process has submitted to the device so far.

        >>> az.device().synchronize()
        """
        without_timeout(_synchronize, self.handle)

    def context(self) -> Context:
        """A new context for this device alone.

        >>> with az.device().context() as ctx:
        ...     ctx.zeros(4, np.uint8).nbytes
        4
        """
        from anyzero.api.context import Context

        return Context(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and other.handle == self.handle

    def __hash__(self) -> int:
        return hash(self.handle)

    def __repr__(self) -> str:
        tile = f" tile {self._properties.subdeviceId}" if self.is_tile else ""
        return f"<Device {self.name!r}{tile}>"
