"""Arguments of every kind. Values are converted to the types of the kernel's parameters, so plain numbers work."""

from pathlib import Path

import numpy as np

import anyzero as az

KERNELS = Path(__file__).parent / "kernels"
TRANSFORM = np.dtype([("scale", np.float32), ("shift", np.int32)])
N, GROUP = 64, 16

with az.device().context() as ctx:
    kernel = ctx.module(KERNELS / "kernel_arguments.spv")["every_sort"]
    print("ok: the kernel takes", ", ".join(kernel.types or ()))

    out = ctx.zeros((N, 4), np.float32, kind="shared")
    weights = ctx.to_device(np.linspace(0, 1, N, dtype=np.float32))
    transform = np.array((2.0, 5), TRANSFORM)[()]  # a structure by value
    scratch = az.local((GROUP, 4), np.float32)  # local memory: each group has its own

    kernel[N](out, weights, scratch, 100, (1, 2, 3, 4), transform, group=GROUP)

    i = np.arange(N).reshape(-1, GROUP)[:, ::-1].reshape(-1, 1)  # the group's rows are returned in reverse
    expected = np.array([1, 2, 3, 4], np.float32) * 2 + (100 + 5 + i)
    assert np.allclose(np.asarray(out), expected * np.linspace(0, 1, N, dtype=np.float32)[:, None])
    print("ok: a buffer, local memory, a number, a vector and a structure were passed")

    # Each launch has its own arguments, so two of one list may differ. None is a null pointer.
    second = ctx.zeros((N, 4), np.float32, kind="shared")
    with ctx.command_list() as cl:
        cl.launch(kernel, N, (out, weights, scratch, 101, (1, 2, 3, 4), transform), group=GROUP)
        cl.launch(kernel, N, (second, None, scratch, 100, (1, 2, 3, 4), transform), group=GROUP)
    with ctx.queue() as queue:
        queue.submit(cl).wait(timeout=30)
    assert np.allclose(np.asarray(out), (expected + 1) * np.linspace(0, 1, N, dtype=np.float32)[:, None])
    assert np.array_equal(np.asarray(second), expected)
    print("ok: two launches of a list have separate arguments")

    try:
        kernel[N](out, np.zeros(N, np.float32), scratch, 100, (1, 2, 3, 4), transform, group=GROUP)
    except az.InvalidArgument as error:
        print("ok: an array of the host is refused:", error.remedy)
    else:
        raise AssertionError("the array was taken for memory of the device")

    # Errors are reported before anything runs.
    for wrong in ("ten", 1 << 40, np.int64(100)):
        try:
            kernel[N](out, None, scratch, wrong, (1, 2, 3, 4), transform, group=GROUP)
        except az.InvalidArgument as error:
            print(f"ok: {error.detail}")
        else:
            raise AssertionError(f"{wrong!r} was taken for an int")
