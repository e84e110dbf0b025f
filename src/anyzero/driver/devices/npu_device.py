"""Properties of the NPU device, which copies memory and executes graphs, and runs no kernels.

Memory, caches and sharing are those of compute devices; queries about kernels return zeros.
"""

from __future__ import annotations

from typing import Final

from anyzero import ze
from anyzero.driver.devices import profiles
from anyzero.driver.devices.description import Blob, Device
from anyzero.driver.devices.machine import PAGE, Machine
from anyzero.driver.devices.properties import (
    COMPUTE_FILL_PATTERN,
    FILL_PATTERN,
    Part,
    caches,
    digest,
    identity,
    memory,
    of_every_device,
    pci,
    sharing,
)
from anyzero.driver.devices.topology import DeviceShape

__all__ = ["DEVICE_ID", "describe"]

DEVICE_ID: Final = 0x7D1D
"""For this platform OpenVINO's NPU plugin has the driver compile models, not its own compiler."""


def describe(shape: DeviceShape, machine: Machine, *, position: int) -> Device:
    """Describe a settled device; `position` is its place among all."""
    if shape.memory is None or shape.threads is None:
        raise ValueError("the shape is not settled")
    part = Part(machine, profiles.find("plain"), shape, position, 0, None, shape.threads, shape.memory // PAGE * PAGE)
    blobs = (*_device(part), *_no_kernels(), *_queue_groups(part), *memory(part), *caches(part), *sharing(), pci(part))
    return Device(shape.backend, blobs)


def _device(part: Part) -> tuple[Blob, ...]:
    """For zeDeviceGetProperties."""
    name = f"anyzero NPU ({part.machine.model})"
    return (
        # The plugin counts slices as tiles, and keeps compiled models by their number; threads are no part of a model.
        *identity(
            part,
            type=ze.ZE_DEVICE_TYPE_VPU,
            vendorId=profiles.VENDOR_ANYZERO,
            deviceId=DEVICE_ID,
            flags=ze.ZE_DEVICE_PROPERTY_FLAG_INTEGRATED | ze.ZE_DEVICE_PROPERTY_FLAG_ONDEMANDPAGING,
            uuid=ze.ze_device_uuid_t(id=digest("device", part.machine.identity, part.shape.backend)),
            name=name.encode(errors="replace")[: ze.ZE_MAX_DEVICE_NAME - 1],
        ),
        Blob.behind(ze.ze_device_properties_t, ze.ze_device_ip_version_ext_t(ipVersion=0)),
        *of_every_device(part.memory),
        Blob.behind(
            ze.ze_device_properties_t,
            ze.ze_mutable_command_list_exp_properties_t(
                mutableCommandListFlags=0,
                mutableCommandFlags=ze.ZE_MUTABLE_COMMAND_EXP_FLAG_GRAPH_ARGUMENTS
                | ze.ZE_MUTABLE_COMMAND_EXP_FLAG_SIGNAL_EVENT
                | ze.ZE_MUTABLE_COMMAND_EXP_FLAG_WAIT_EVENTS,
            ),
        ),
    )


def _no_kernels() -> tuple[Blob, ...]:
    """For the queries about work-groups, modules and images."""
    return (
        Blob.of(ze.ze_device_compute_properties_t()),
        Blob.of(ze.ze_device_module_properties_t()),
        Blob.of(ze.ze_device_image_properties_t()),
    )


def _queue_groups(part: Part) -> tuple[Blob, ...]:
    """For zeDeviceGetCommandQueueGroupProperties: graphs and copies first, copies only second."""
    copy = ze.ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY
    # One engine executes graphs of all queues side by side on all threads.
    groups = [(copy | ze.ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE, 1, COMPUTE_FILL_PATTERN)]
    if part.shape.copy:
        groups.append((copy, part.shape.copy, FILL_PATTERN))
    return (
        Blob.of(
            *(
                ze.ze_command_queue_group_properties_t(flags=flags, maxMemoryFillPatternSize=pattern, numQueues=queues)
                for flags, queues, pattern in groups
            )
        ),
    )
