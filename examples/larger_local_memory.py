"""More local memory than the device has by default, for kernels that share much data within a group."""

from pathlib import Path

import numpy as np

import anyzero as az

KERNELS = Path(__file__).parent / "kernels"

device = az.device()
with device.context() as ctx:
    reverse = ctx.module(KERNELS / "larger_local_memory.spv")["reverse"]
    group = min(256, reverse.properties.max_group_size)
    values = ctx.to_device(np.arange(4 * group, dtype=np.int32))
    large = 2 * device.local_memory
    try:
        reverse[4 * group](values, az.Local(large), group=group)
    except az.OutOfDeviceMemory as error:
        print("ok:", error.detail)
    else:
        raise AssertionError("there is not so much local memory by default")

    # Local memory shares the caches with other data; the kernel requests more of them.
    reverse.set_cache_config("local")
    reverse[4 * group](values, az.Local(large), group=group)
    expected = np.arange(4 * group).reshape(4, group)[:, ::-1].reshape(-1)
    assert np.array_equal(values.copy_to(), expected)
    print(f"ok: each group had {large} bytes of local memory, twice as many as the device has by default")
