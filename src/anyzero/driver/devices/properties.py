"""Properties of a device and its tiles: every structure that a property query can fill.

Each function below answers one query of the specification, together with the extension structures that hang on its
``pNext``. Zero means unknown or unsupported wherever the specification allows it; no value is made up.
"""

from __future__ import annotations

import hashlib
import os
from typing import Any, Final

from anyzero import ze
from anyzero.driver.devices.description import Blob, Device
from anyzero.driver.devices.machine import PAGE, Machine
from anyzero.driver.devices.profiles import Profile
from anyzero.driver.devices.topology import DeviceShape
from anyzero.lazy_dataclass import dataclass

__all__ = [
    "COMPUTE_FILL_PATTERN",
    "FILL_PATTERN",
    "MAX_CONTEXTS",
    "TIMER_HZ",
    "Part",
    "caches",
    "describe_device",
    "digest",
    "identity",
    "memory",
    "of_every_device",
    "pci",
    "sharing",
]

PCI_DOMAIN: Final = 0x415A
"""The devices are on no bus, but programs tell devices apart by PCI address, so they get one that no hardware has."""

TIMER_HZ: Final = 1_000_000_000
"""The engine's clock counts nanoseconds."""

FILL_PATTERN: Final = 128
"""The limit of groups that only copy, which are narrower engines on other hardware."""
COMPUTE_FILL_PATTERN: Final = 1 << 16
MEMORY_CHANNEL_BITS: Final = 64
"""The width of one memory channel; only firmware knows their number."""
MAX_ARGUMENTS: Final = 4096
PRINTF_BUFFER: Final = 1 << 20
MAX_CONTEXTS: Final = 1 << 16
MAX_GROUP_COUNT: Final = (1 << 32) - 1
IMAGE_SIDE: Final = 16384
IMAGE_DEPTH: Final = 2048
IMAGE_BUFFER: Final = 1 << 27
IMAGE_ARGUMENTS: Final = 128
SPIRV_VERSION: Final = 1 << 16 | 6

_ALL_ACCESS: Final = (
    ze.ZE_MEMORY_ACCESS_CAP_FLAG_RW
    | ze.ZE_MEMORY_ACCESS_CAP_FLAG_ATOMIC
    | ze.ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT
    | ze.ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT_ATOMIC
)


def of_every_device(memory: int) -> tuple[Blob, ...]:
    """Extensions of the device properties that are the same for every kind of device."""
    return (
        Blob.behind(
            ze.ze_device_properties_t,
            ze.ze_event_query_kernel_timestamps_ext_properties_t(
                flags=ze.ZE_EVENT_QUERY_KERNEL_TIMESTAMPS_EXT_FLAG_KERNEL
                | ze.ZE_EVENT_QUERY_KERNEL_TIMESTAMPS_EXT_FLAG_SYNCHRONIZED
            ),
        ),
        # The engine replaces it by the memory that is free at the moment of the query.
        Blob.behind(ze.ze_device_properties_t, ze.ze_device_usablemem_size_ext_properties_t(currUsableMemSize=memory)),
        Blob.behind(
            ze.ze_device_properties_t,
            ze.ze_device_event_properties_t(flags=ze.ZE_DEVICE_EVENT_PROPERTIES_FLAG_COUNTER_BASED_IPC),
        ),
        Blob.behind(
            ze.ze_device_properties_t,
            ze.ze_record_replay_graph_ext_properties_t(
                graphFlags=ze.ZE_RECORD_REPLAY_GRAPH_EXT_FLAG_IMMUTABLE_GRAPH
                | ze.ZE_RECORD_REPLAY_GRAPH_EXT_FLAG_SUBGRAPHS
                | ze.ZE_RECORD_REPLAY_GRAPH_EXT_FLAG_APPEND_COMMANDLIST
                | ze.ZE_RECORD_REPLAY_GRAPH_EXT_FLAG_CB_EXTERNAL_IPC
            ),
        ),
    )


@dataclass(frozen=True, slots=True)
class Part:
    """A device, or one tile of it, with its share of threads and memory."""

    machine: Machine
    profile: Profile
    shape: DeviceShape
    position: int
    backend_index: int
    tile: int | None
    threads: int
    memory: int

    @property
    def eus_per_thread(self) -> int:
        """The number of EUs that a thread shows; see :class:`~anyzero.driver.devices.profiles.Profile`."""
        return self.profile.eus_per_thread(self.threads)


def describe_device(
    shape: DeviceShape, machine: Machine, profile: Profile, *, position: int, backend_index: int
) -> Device:
    """Describe a settled device with its tiles; `position` is its place among all, `backend_index` among its kind."""
    if shape.memory is None or shape.threads is None:
        raise ValueError("the shape is not settled")

    def part(tile: int | None, threads: int, memory: int) -> Part:
        return Part(machine, profile, shape, position, backend_index, tile, threads, memory // PAGE * PAGE)

    tiles = []
    if shape.tiles > 1:
        for tile in range(shape.tiles):
            tiles.append(part(tile, shape.threads_of(tile), shape.memory // shape.tiles))
    root = part(None, shape.threads, shape.memory)
    return Device(shape.backend, _blobs(root), tuple(Device(shape.backend, _blobs(each)) for each in tiles))


def digest(*parts: object) -> tuple[int, ...]:
    """16 bytes that depend on all parts and reveal none of them."""
    return tuple(hashlib.blake2s("\0".join(map(str, parts)).encode(), digest_size=16, person=b"anyzero").digest())


def _blobs(part: Part) -> tuple[Blob, ...]:
    return (
        *_device(part),
        *_compute(part),
        *_module(part),
        *_queue_groups(part),
        *memory(part),
        *caches(part),
        *_images(),
        *sharing(),
        pci(part),
        _vector_width(part),
    )


def _device_uuid(part: Part) -> tuple[int, ...]:
    """Stable for a machine and a place; a tile's differs from its device's in the last byte only."""
    family = digest("device", part.machine.identity, part.shape.backend, part.backend_index)
    return (*family[:-1], 0 if part.tile is None else part.tile + 1)


def identity(part: Part, **own: Any) -> tuple[Blob, ...]:
    """For zeDeviceGetProperties: the properties that all devices share, and those of this one."""

    def properties(stype: int, timer_resolution: int) -> Blob:
        # A work-group runs on one thread, as it runs on one sub-slice of a GPU: so a thread is a sub-slice.
        structure = ze.ze_device_properties_t(
            stype=stype,
            coreClockRate=part.machine.clock_mhz,
            maxMemAllocSize=part.memory,
            maxHardwareContexts=MAX_CONTEXTS,
            maxCommandQueuePriority=ze.ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH,
            numThreadsPerEU=1,
            physicalEUSimdWidth=part.machine.vector_bits // 32,
            numEUsPerSubslice=part.eus_per_thread,
            numSubslicesPerSlice=part.threads,
            numSlices=1,
            timerResolution=timer_resolution,
            timestampValidBits=64,
            kernelTimestampValidBits=64,
            **own,
        )
        return Blob.of(structure)

    return (
        # The unit of the timer's resolution differs on purpose: nanoseconds here, cycles per second in the second.
        properties(ze.ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, 1_000_000_000 // TIMER_HZ),
        properties(ze.ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2, TIMER_HZ),
    )


def _device(part: Part) -> tuple[Blob, ...]:
    """For zeDeviceGetProperties."""
    flags = ze.ZE_DEVICE_PROPERTY_FLAG_INTEGRATED
    if part.tile is not None:
        flags |= ze.ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE
    if part.shape.paging:
        flags |= ze.ZE_DEVICE_PROPERTY_FLAG_ONDEMANDPAGING
    name = part.profile.device_name.format(backend=part.shape.backend.upper(), model=part.machine.model)

    return (
        *identity(
            part,
            type=ze.ZE_DEVICE_TYPE_GPU,
            vendorId=part.profile.vendor_id,
            deviceId=part.profile.device_id,
            flags=flags,
            subdeviceId=part.tile or 0,
            uuid=ze.ze_device_uuid_t(id=_device_uuid(part)),
            name=name.encode(errors="replace")[: ze.ZE_MAX_DEVICE_NAME - 1],
        ),
        Blob.behind(ze.ze_device_properties_t, ze.ze_device_ip_version_ext_t(ipVersion=part.profile.ip_version)),
        Blob.behind(ze.ze_device_properties_t, ze.ze_eu_count_ext_t(numTotalEUs=part.threads * part.eus_per_thread)),
        *of_every_device(part.memory),
        Blob.behind(
            ze.ze_device_properties_t,
            ze.ze_device_readonly_memory_ext_properties_t(
                readonlyCapability=ze.ZE_DEVICE_READONLY_MEMORY_CAPABILITY_ENFORCED
            ),
        ),
        Blob.behind(
            ze.ze_device_properties_t,
            ze.ze_mutable_command_list_exp_properties_t(
                mutableCommandListFlags=0,
                mutableCommandFlags=ze.ZE_MUTABLE_COMMAND_EXP_FLAG_KERNEL_ARGUMENTS
                | ze.ZE_MUTABLE_COMMAND_EXP_FLAG_GROUP_COUNT
                | ze.ZE_MUTABLE_COMMAND_EXP_FLAG_GROUP_SIZE
                | ze.ZE_MUTABLE_COMMAND_EXP_FLAG_GLOBAL_OFFSET
                | ze.ZE_MUTABLE_COMMAND_EXP_FLAG_SIGNAL_EVENT
                | ze.ZE_MUTABLE_COMMAND_EXP_FLAG_WAIT_EVENTS
                | ze.ZE_MUTABLE_COMMAND_EXP_FLAG_KERNEL_INSTRUCTION,
            ),
        ),
    )


def _compute(part: Part) -> tuple[Blob, ...]:
    """For zeDeviceGetComputeProperties."""
    profile = part.profile
    return (
        Blob.of(
            ze.ze_device_compute_properties_t(
                maxTotalGroupSize=profile.max_group_size,
                maxGroupSizeX=profile.max_group_size,
                maxGroupSizeY=profile.max_group_size,
                maxGroupSizeZ=profile.max_group_size,
                maxGroupCountX=MAX_GROUP_COUNT,
                maxGroupCountY=MAX_GROUP_COUNT,
                maxGroupCountZ=MAX_GROUP_COUNT,
                maxSharedLocalMemory=profile.local_memory,
                numSubGroupSizes=len(profile.sub_group_sizes),
                subGroupSizes=profile.sub_group_sizes,
            )
        ),
    )


def _module(part: Part) -> tuple[Blob, ...]:
    """For zeDeviceGetModuleProperties."""
    common = (
        ze.ZE_DEVICE_FP_FLAG_DENORM
        | ze.ZE_DEVICE_FP_FLAG_INF_NAN
        | ze.ZE_DEVICE_FP_FLAG_ROUND_TO_NEAREST
        | ze.ZE_DEVICE_FP_FLAG_ROUND_TO_ZERO
        | ze.ZE_DEVICE_FP_FLAG_ROUND_TO_INF
        | ze.ZE_DEVICE_FP_FLAG_ROUNDED_DIVIDE_SQRT
    )
    wide = common | (ze.ZE_DEVICE_FP_FLAG_FMA if part.machine.fused_multiply_add else 0)
    half = common | (ze.ZE_DEVICE_FP_FLAG_FMA if part.machine.native_half else ze.ZE_DEVICE_FP_FLAG_SOFT_FLOAT)
    load_store = ze.ZE_DEVICE_FP_ATOMIC_EXT_FLAG_GLOBAL_LOAD_STORE | ze.ZE_DEVICE_FP_ATOMIC_EXT_FLAG_LOCAL_LOAD_STORE
    arithmetic = (
        ze.ZE_DEVICE_FP_ATOMIC_EXT_FLAG_GLOBAL_ADD
        | ze.ZE_DEVICE_FP_ATOMIC_EXT_FLAG_GLOBAL_MIN_MAX
        | ze.ZE_DEVICE_FP_ATOMIC_EXT_FLAG_LOCAL_ADD
        | ze.ZE_DEVICE_FP_ATOMIC_EXT_FLAG_LOCAL_MIN_MAX
    )
    native = digest("native kernel", part.profile.driver_version, part.machine.vector_bits)
    return (
        Blob.of(
            ze.ze_device_module_properties_t(
                spirvVersionSupported=SPIRV_VERSION,
                flags=ze.ZE_DEVICE_MODULE_FLAG_FP16
                | ze.ZE_DEVICE_MODULE_FLAG_FP64
                | ze.ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS,
                fp16flags=half,
                fp32flags=wide,
                fp64flags=wide,
                maxArgumentsSize=MAX_ARGUMENTS,
                printfBufferSize=PRINTF_BUFFER,
                nativeKernelSupported=ze.ze_native_kernel_uuid_t(id=native),
            )
        ),
        Blob.behind(
            ze.ze_device_module_properties_t,
            ze.ze_float_atomic_ext_properties_t(
                fp16Flags=load_store, fp32Flags=load_store | arithmetic, fp64Flags=load_store | arithmetic
            ),
        ),
        Blob.behind(ze.ze_device_module_properties_t, ze.ze_scheduling_hint_exp_properties_t(schedulingHintFlags=0)),
    )


def _queue_groups(part: Part) -> tuple[Blob, ...]:
    """For zeDeviceGetCommandQueueGroupProperties: everything first, copies only second."""
    copy = ze.ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY
    everything = (
        copy
        | ze.ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE
        | ze.ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COOPERATIVE_KERNELS
    )
    groups = [(everything, part.shape.queues, COMPUTE_FILL_PATTERN)]
    if part.shape.copy:
        groups.append((copy, part.shape.copy, FILL_PATTERN))
    return (
        Blob.of(
            *(
                ze.ze_command_queue_group_properties_t(flags=flags, maxMemoryFillPatternSize=pattern, numQueues=queues)
                for flags, queues, pattern in groups
            )
        ),
        Blob.behind(
            ze.ze_command_queue_group_properties_t,
            *(
                ze.ze_copy_bandwidth_exp_properties_t(copyBandwidth=0, copyBandwidthUnit=ze.ZE_BANDWIDTH_UNIT_UNKNOWN)
                for _ in groups
            ),
        ),
    )


def memory(part: Part) -> tuple[Blob, ...]:
    """For zeDeviceGetMemoryProperties and zeDeviceGetMemoryAccessProperties."""
    return (
        Blob.of(
            ze.ze_device_memory_properties_t(
                maxClockRate=0, maxBusWidth=MEMORY_CHANNEL_BITS, totalSize=part.memory, name=b"system memory"
            )
        ),
        Blob.behind(
            ze.ze_device_memory_properties_t,
            ze.ze_device_memory_ext_properties_t(
                type=ze.ZE_DEVICE_MEMORY_EXT_TYPE_DDR,
                physicalSize=part.memory,
                bandwidthUnit=ze.ZE_BANDWIDTH_UNIT_UNKNOWN,
            ),
        ),
        Blob.of(
            ze.ze_device_memory_access_properties_t(
                hostAllocCapabilities=_ALL_ACCESS,
                deviceAllocCapabilities=_ALL_ACCESS,
                sharedSingleDeviceAllocCapabilities=_ALL_ACCESS,
                sharedCrossDeviceAllocCapabilities=_ALL_ACCESS,
                # A device without page faults cannot follow pointers to memory that is not resident.
                sharedSystemAllocCapabilities=_ALL_ACCESS if part.shape.paging else 0,
            )
        ),
    )


def caches(part: Part) -> tuple[Blob, ...]:
    """For zeDeviceGetCacheProperties: one entry a level, nearest first."""
    found = part.machine.caches
    # Kernels may prefer local memory to other data in the second cache; no part of any can be set aside.
    control = [ze.ZE_DEVICE_CACHE_PROPERTY_FLAG_USER_CONTROL if level == 2 else 0 for level in range(1, len(found) + 1)]
    return (
        Blob.of(
            *(
                ze.ze_device_cache_properties_t(flags=flags, cacheSize=cache.size)
                for flags, cache in zip(control, found, strict=True)
            )
        ),
        Blob.behind(
            ze.ze_device_cache_properties_t,
            *(ze.ze_cache_reservation_ext_desc_t(maxCacheReservationSize=0) for _ in found),
        ),
        Blob.behind(
            ze.ze_device_cache_properties_t,
            *(ze.ze_device_cache_line_size_ext_t(cacheLineSize=part.machine.cache_line) for _ in found),
        ),
    )


def _images() -> tuple[Blob, ...]:
    """For zeDeviceGetImageProperties."""
    return (
        Blob.of(
            ze.ze_device_image_properties_t(
                maxImageDims1D=IMAGE_SIDE,
                maxImageDims2D=IMAGE_SIDE,
                maxImageDims3D=IMAGE_DEPTH,
                maxImageBufferSize=IMAGE_BUFFER,
                maxImageArraySlices=IMAGE_DEPTH,
                maxSamplers=IMAGE_ARGUMENTS,
                maxReadImageArgs=IMAGE_ARGUMENTS,
                maxWriteImageArgs=IMAGE_ARGUMENTS,
            )
        ),
        Blob.behind(
            ze.ze_device_image_properties_t,
            ze.ze_device_pitched_alloc_exp_properties_t(
                maxImageLinearWidth=IMAGE_SIDE, maxImageLinearHeight=IMAGE_SIDE
            ),
        ),
    )


def sharing() -> tuple[Blob, ...]:
    """For zeDeviceGetExternalMemoryProperties, and zeDeviceGetP2PProperties towards any other device of this driver."""
    descriptor = ze.ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD
    dma_buffer = ze.ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF if os.access("/dev/udmabuf", os.R_OK | os.W_OK) else 0
    return (
        Blob.of(
            ze.ze_device_external_memory_properties_t(
                memoryAllocationImportTypes=descriptor, memoryAllocationExportTypes=descriptor | dma_buffer
            )
        ),
        Blob.of(
            ze.ze_device_p2p_properties_t(
                flags=ze.ZE_DEVICE_P2P_PROPERTY_FLAG_ACCESS | ze.ZE_DEVICE_P2P_PROPERTY_FLAG_ATOMICS
            )
        ),
        Blob.behind(
            ze.ze_device_p2p_properties_t,
            ze.ze_device_p2p_bandwidth_exp_properties_t(
                bandwidthUnit=ze.ZE_BANDWIDTH_UNIT_UNKNOWN, latencyUnit=ze.ZE_LATENCY_UNIT_UNKNOWN
            ),
        ),
    )


def pci(part: Part) -> Blob:
    """For zeDevicePciGetPropertiesExt; tiles sit at their device's address."""
    return Blob.of(
        ze.ze_pci_ext_properties_t(
            address=ze.ze_pci_address_ext_t(domain=PCI_DOMAIN, bus=part.position, device=0, function=0),
            maxSpeed=ze.ze_pci_speed_ext_t(genVersion=-1, width=-1, maxBandwidth=-1),
        )
    )


def _vector_width(part: Part) -> Blob:
    """For zeDeviceGetVectorWidthPropertiesExt."""
    bits = part.machine.vector_bits
    widths = {"char": 8, "short": 16, "int": 32, "long": 64, "float": 32, "double": 64, "half": 16}
    fields = {"vector_width_size": bits // 32}
    for element, width in widths.items():
        # The compiler puts one work-item in a lane, so vectors in the source gain nothing.
        fields[f"preferred_vector_width_{element}"] = 1
        fields[f"native_vector_width_{element}"] = bits // width
    return Blob.of(ze.ze_device_vector_width_properties_ext_t(**fields))
