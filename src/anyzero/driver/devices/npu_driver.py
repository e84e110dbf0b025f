"""The NPU driver: the identity by which OpenVINO's NPU plugin finds it, and its extensions."""

from __future__ import annotations

import ctypes
from typing import Final

from anyzero.driver.devices import compute_driver
from anyzero.driver.devices.description import Blob
from anyzero.driver.devices.profiles import pack_version
from anyzero.ze import npu_constants as npu

__all__ = ["UUID", "VERSION", "blobs", "extensions"]

UUID: Final = npu.ze_intel_npu_driver_uuid
"""The only identity that the plugin looks for."""

BLOB_FORMAT: Final = 2
"""Counts up when compiled models of older versions can no longer be read."""

VERSION: Final = pack_version(0, 1, 0 << 8 | BLOB_FORMAT)
"""The package's version and the format of models. Clients keep compiled models by it, so it changes with them."""

_EXTENSIONS: Final = (
    *compute_driver.EVERYWHERE,
    # Not the newest version: from versions later than 1.17 the plugin expects features that this driver lacks.
    (npu.ZE_GRAPH_EXT_NAME, npu.ZE_GRAPH_EXT_VERSION_1_17),
    (npu.ZE_PROFILING_DATA_EXT_NAME, npu.ZE_PROFILING_DATA_EXT_VERSION_1_0),
    (npu.ZE_COMMAND_QUEUE_NPU_EXT_NAME, npu.ZE_COMMAND_QUEUE_NPU_EXT_VERSION_1_1),
    (npu.ZE_CONTEXT_NPU_EXT_NAME, npu.ZE_CONTEXT_NPU_EXT_VERSION_1_0),
    (npu.ZE_DRIVER_NPU_EXT_NAME, npu.ZE_DRIVER_NPU_EXT_VERSION_1_0),
)


def extensions() -> tuple[ctypes.Structure, ...]:
    """The list for zeDriverGetExtensionProperties."""
    return compute_driver.listed(_EXTENSIONS)


def blobs() -> tuple[Blob, ...]:
    """For zeDriverGetProperties and zeDriverGetIpcProperties."""
    return compute_driver.identified(UUID, VERSION)
