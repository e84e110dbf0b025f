"""The compute driver: its identity, and the extensions that this version of the engine implements."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Final

from anyzero import ze
from anyzero.driver.devices.description import Blob
from anyzero.driver.devices.profiles import Profile

__all__ = ["EVERYWHERE", "UUID", "blobs", "extensions", "identified", "listed"]

UUID: Final = bytes.fromhex("617a0c0e1e7c4b6f9d0a52e6c8f13b01")
"""The same for all versions, which `driverVersion` distinguishes."""

# Names and versions do not follow from each other in the specification, so each pair is spelled out.
EVERYWHERE: Final = (
    # memory
    (ze.ZE_MEMORY_FREE_POLICIES_EXT_NAME, ze.ZE_MEMORY_FREE_POLICIES_EXT_VERSION_CURRENT),
    (ze.ZE_MEMORY_COMPRESSION_HINTS_EXT_NAME, ze.ZE_MEMORY_COMPRESSION_HINTS_EXT_VERSION_CURRENT),
    (ze.ZE_RELAXED_ALLOCATION_LIMITS_EXT_NAME, ze.ZE_RELAXED_ALLOCATION_LIMITS_EXT_VERSION_CURRENT),
    (ze.ZE_RELAXED_ALLOCATION_LIMITS_EXP_NAME, ze.ZE_RELAXED_ALLOCATION_LIMITS_EXP_VERSION_CURRENT),
    (ze.ZE_SUB_ALLOCATIONS_EXP_NAME, ze.ZE_SUB_ALLOCATIONS_EXP_VERSION_CURRENT),
    (ze.ZE_EXTERNAL_MEMORY_MAPPING_EXT_NAME, ze.ZE_EXTERNAL_MEMMAP_SYSMEM_EXT_VERSION_CURRENT),
    (ze.ZE_IPC_MEM_HANDLE_TYPE_EXT_NAME, ze.ZE_IPC_MEM_HANDLE_TYPE_EXT_VERSION_CURRENT),
    (ze.ZE_VIRTUAL_MEM_READONLY_PROPERTIES_EXT_NAME, ze.ZE_VIRTUAL_MEM_READONLY_PROPERTIES_EXT_VERSION_CURRENT),
    # events and command lists
    (ze.ZE_EVENT_QUERY_TIMESTAMPS_EXP_NAME, ze.ZE_EVENT_QUERY_TIMESTAMPS_EXP_VERSION_CURRENT),
    (ze.ZE_EVENT_QUERY_KERNEL_TIMESTAMPS_EXT_NAME, ze.ZE_EVENT_QUERY_KERNEL_TIMESTAMPS_EXT_VERSION_CURRENT),
    (ze.ZE_EVENT_POOL_COUNTER_BASED_EXP_NAME, ze.ZE_EVENT_POOL_COUNTER_BASED_EXP_VERSION_CURRENT),
    (ze.ZE_IMMEDIATE_COMMAND_LIST_APPEND_EXP_NAME, ze.ZE_IMMEDIATE_COMMAND_LIST_APPEND_EXP_VERSION_CURRENT),
    (ze.ZE_COMMAND_LIST_CLONE_EXP_NAME, ze.ZE_COMMAND_LIST_CLONE_EXP_VERSION_CURRENT),
    (ze.ZE_MUTABLE_COMMAND_LIST_EXP_NAME, ze.ZE_MUTABLE_COMMAND_LIST_EXP_VERSION_CURRENT),
    (ze.ZE_EXTERNAL_SEMAPHORES_EXTENSION_NAME, ze.ZE_EXTERNAL_SEMAPHORE_EXT_VERSION_CURRENT),
    (ze.ZE_RECORD_REPLAY_GRAPH_EXT_NAME, ze.ZE_RECORD_REPLAY_GRAPH_EXT_VERSION_CURRENT),
    # properties of devices
    (ze.ZE_PCI_PROPERTIES_EXT_NAME, ze.ZE_PCI_PROPERTIES_EXT_VERSION_CURRENT),
    (ze.ZE_CACHELINE_SIZE_EXT_NAME, ze.ZE_DEVICE_CACHE_LINE_SIZE_EXT_VERSION_CURRENT),
    (ze.ZE_DEVICE_IP_VERSION_EXT_NAME, ze.ZE_DEVICE_IP_VERSION_VERSION_CURRENT),
    (ze.ZE_DEVICE_MEMORY_PROPERTIES_EXT_NAME, ze.ZE_DEVICE_MEMORY_PROPERTIES_EXT_VERSION_CURRENT),
    (ze.ZE_DEVICE_USABLEMEM_SIZE_PROPERTIES_EXT_NAME, ze.ZE_DEVICE_USABLEMEM_SIZE_PROPERTIES_EXT_VERSION_CURRENT),
    (ze.ZE_FABRIC_EXP_NAME, ze.ZE_FABRIC_EXP_VERSION_CURRENT),
    # loaders
    (ze.ZE_DRIVER_DDI_HANDLES_EXT_NAME, ze.ZE_DRIVER_DDI_HANDLES_EXT_VERSION_CURRENT),
)
"""Extensions that the engine implements for every kind of device."""

_EXTENSIONS: Final = (
    *EVERYWHERE,
    # images
    (ze.ZE_IMAGE_COPY_EXT_NAME, ze.ZE_IMAGE_COPY_EXT_VERSION_CURRENT),
    (ze.ZE_IMAGE_VIEW_EXT_NAME, ze.ZE_IMAGE_VIEW_EXT_VERSION_CURRENT),
    (ze.ZE_IMAGE_VIEW_EXP_NAME, ze.ZE_IMAGE_VIEW_EXP_VERSION_CURRENT),
    (ze.ZE_IMAGE_VIEW_PLANAR_EXT_NAME, ze.ZE_IMAGE_VIEW_PLANAR_EXT_VERSION_CURRENT),
    (ze.ZE_IMAGE_VIEW_PLANAR_EXP_NAME, ze.ZE_IMAGE_VIEW_PLANAR_EXP_VERSION_CURRENT),
    (ze.ZE_IMAGE_QUERY_ALLOC_PROPERTIES_EXT_NAME, ze.ZE_IMAGE_QUERY_ALLOC_PROPERTIES_EXT_VERSION_CURRENT),
    (ze.ZE_IMAGE_MEMORY_PROPERTIES_EXP_NAME, ze.ZE_IMAGE_MEMORY_PROPERTIES_EXP_VERSION_CURRENT),
    (ze.ZE_IMAGE_FORMAT_SUPPORT_EXT_NAME, ze.ZE_IMAGE_FORMAT_SUPPORT_EXT_VERSION_CURRENT),
    # modules and kernels
    (ze.ZE_MODULE_PROGRAM_EXP_NAME, ze.ZE_MODULE_PROGRAM_EXP_VERSION_CURRENT),
    (ze.ZE_LINKAGE_INSPECTION_EXT_NAME, ze.ZE_LINKAGE_INSPECTION_EXT_VERSION_CURRENT),
    (ze.ZE_LINKONCE_ODR_EXT_NAME, ze.ZE_LINKONCE_ODR_EXT_VERSION_CURRENT),
    (ze.ZE_GLOBAL_OFFSET_EXP_NAME, ze.ZE_GLOBAL_OFFSET_EXP_VERSION_CURRENT),
    (ze.ZE_KERNEL_MAX_GROUP_SIZE_PROPERTIES_EXT_NAME, ze.ZE_KERNEL_MAX_GROUP_SIZE_PROPERTIES_EXT_VERSION_CURRENT),
    (ze.ZE_KERNEL_SCHEDULING_HINTS_EXP_NAME, ze.ZE_SCHEDULING_HINTS_EXP_VERSION_CURRENT),
    (ze.ZE_GET_KERNEL_BINARY_EXP_NAME, ze.ZE_KERNEL_GET_BINARY_EXP_VERSION_CURRENT),
    (ze.ZE_GET_KERNEL_ALLOCATION_PROPERTIES_EXP_NAME, ze.ZE_KERNEL_GET_ALLOCATION_PROPERTIES_EXP_VERSION_CURRENT),
    (ze.ZE_SUBGROUPS_EXT_NAME, ze.ZE_SUBGROUP_EXT_VERSION_CURRENT),
    # properties of devices
    (ze.ZE_EU_COUNT_EXT_NAME, ze.ZE_EU_COUNT_EXT_VERSION_CURRENT),
    (ze.ZE_FLOAT_ATOMICS_EXT_NAME, ze.ZE_FLOAT_ATOMICS_EXT_VERSION_CURRENT),
    (ze.ZE_DEVICE_VECTOR_SIZES_EXT_NAME, ze.ZE_DEVICE_VECTOR_SIZES_EXT_VERSION_CURRENT),
    (ze.ZE_BANDWIDTH_PROPERTIES_EXP_NAME, ze.ZE_BANDWIDTH_PROPERTIES_EXP_VERSION_CURRENT),
)


def extensions() -> tuple[ctypes.Structure, ...]:
    """The list for zeDriverGetExtensionProperties."""
    return listed(_EXTENSIONS)


def listed(extensions: Iterable[tuple[str, int]]) -> tuple[ctypes.Structure, ...]:
    """Names and versions as the specification's structures."""
    return tuple(
        ze.ze_driver_extension_properties_t(name=name.encode(), version=version) for name, version in extensions
    )


def blobs(profile: Profile) -> tuple[Blob, ...]:
    """For zeDriverGetProperties and zeDriverGetIpcProperties."""
    return identified(UUID, profile.driver_version)


def identified(uuid: bytes, version: int) -> tuple[Blob, ...]:
    """The same for any driver of the engine, with the given identity."""
    return (
        Blob.of(ze.ze_driver_properties_t(uuid=ze.ze_driver_uuid_t(id=tuple(uuid)), driverVersion=version)),
        Blob.of(
            ze.ze_driver_ipc_properties_t(flags=ze.ZE_IPC_PROPERTY_FLAG_MEMORY | ze.ZE_IPC_PROPERTY_FLAG_EVENT_POOL)
        ),
        Blob.behind(
            ze.ze_driver_properties_t,
            ze.ze_driver_memory_free_ext_properties_t(
                freePolicies=ze.ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE
                | ze.ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE
            ),
        ),
        Blob.behind(
            ze.ze_driver_properties_t,
            ze.ze_driver_ddi_handles_ext_properties_t(flags=ze.ZE_DRIVER_DDI_HANDLE_EXT_FLAG_DDI_HANDLE_EXT_SUPPORTED),
        ),
    )
