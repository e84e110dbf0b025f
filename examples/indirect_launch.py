"""Indirect launches: an earlier kernel computes the group count, and the host does not read it."""

from pathlib import Path

import numpy as np

import anyzero as az

KERNELS = Path(__file__).parent / "kernels"
GROUP = 16

with az.device().context() as ctx:
    module = ctx.module(KERNELS / "indirect_launch.spv")
    keep_positive, plan, square = (module[name] for name in ("keep_positive", "plan", "square"))
    numbers = np.random.default_rng(7).integers(-100, 100, 1000, np.int32)
    source = ctx.to_device(numbers)
    kept, count = ctx.zeros(1000, np.int32), ctx.zeros(1, np.int32)
    groups = ctx.zeros(3, np.uint32)

    with ctx.command_list() as cl:
        cl.fill(count, 0)
        cl.launch(keep_positive, 1000, (source, kept, count))
        cl.launch(plan, 1, (count, groups))
        cl.launch_indirect(square, groups, (kept, count), group=GROUP)
    with ctx.queue() as queue:
        queue.submit(cl).wait(timeout=5)

    expected = np.sort(numbers[numbers >= 0] ** 2)
    found = int(count.copy_to()[0])
    assert found == expected.size
    assert groups.copy_to().tolist() == [-(-found // GROUP), 1, 1]
    assert np.array_equal(np.sort(kept.copy_to()[:found]), expected)
    print(f"ok: {found} of 1000 numbers were left, so {groups.copy_to()[0]} groups ran")

    # Several kernels at once; their number is read from memory too.
    again = [module.kernel("square") for _ in range(3)]
    values = ctx.to_device(np.full((3, GROUP), 3, np.int32))
    each = ctx.full(1, GROUP, np.int32)
    counts = ctx.to_device(np.array([[1, 1, 1]] * 3, np.uint32))
    with ctx.immediate() as lst:
        launches = [(kernel, GROUP, (values[i], each)) for i, kernel in enumerate(again)]
        lst.launch_several_indirect(launches, counts, ctx.full(1, 2, np.uint32)).wait(timeout=5)
    assert values.copy_to()[:, 0].tolist() == [9, 9, 3]
    print("ok: of three launches the first two ran, according to a buffer")
