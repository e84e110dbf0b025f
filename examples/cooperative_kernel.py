"""A cooperative launch: all its groups run at the same time, so they may wait for each other."""

from pathlib import Path

import numpy as np

import anyzero as az

KERNELS = Path(__file__).parent / "kernels"
GROUP = 32

device = az.device()
assert device.queue_group("compute").cooperative
with device.context() as ctx:
    share = ctx.module(KERNELS / "cooperative_kernel.spv")["share"]
    most = share.max_cooperative_groups(GROUP)
    assert most >= 1
    print("ok: the driver reports how many groups can run concurrently")

    groups = min(most, 8)
    values = ctx.to_device(np.arange(groups * GROUP, dtype=np.float32))
    sums, arrived = ctx.zeros(groups, np.float32), ctx.zeros(1, np.int32)
    with ctx.immediate() as lst:
        lst.launch(share, groups * GROUP, (values, sums, arrived), group=GROUP, cooperative=True).wait(timeout=30)
    expected = np.arange(groups * GROUP, dtype=np.float32)
    assert np.allclose(values.copy_to(), expected / expected.sum())
    print("ok: the groups waited for each other and shared one sum")

    try:
        too_many = (most + 1) * GROUP
        with ctx.immediate() as lst:
            lst.launch(share, too_many, (values, sums, arrived), group=GROUP, cooperative=True)
    except az.InvalidArgument:
        print("ok: more groups than that are refused, because they would deadlock")
    else:
        raise AssertionError("there is no room for so many groups")
