"""Local memory as large as the device has it, for kernels that share much within a group."""

from pathlib import Path

import numpy as np

import anyzero as az

KERNELS = Path(__file__).parent / "kernels"

device = az.device()
with device.context() as ctx:
    reverse = ctx.module(KERNELS / "larger_local_memory.spv")["reverse"]
    # Where local memory and the data cache are one, this asks for more of the former; elsewhere it changes nothing.
    reverse.set_cache_config("local")

    group = min(256, reverse.properties.max_group_size)
    values = ctx.to_device(np.arange(4 * group, dtype=np.int32))
    reverse[4 * group, group](values, az.Local(device.local_memory))
    expected = np.arange(4 * group).reshape(4, group)[:, ::-1].reshape(-1)
    assert np.array_equal(values.copy_to(), expected)
    print(f"ok: each group had {device.local_memory} bytes of local memory")

    try:
        reverse[group, group](values, az.Local(2 * device.local_memory))
    except az.OutOfDeviceMemory as error:
        print("ok:", error.detail)
    else:
        raise AssertionError("there is not so much local memory")
