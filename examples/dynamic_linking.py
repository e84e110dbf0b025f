"""Dynamic linking: a kernel calls a function of another module."""

from pathlib import Path

import numpy as np

import anyzero as az

KERNELS = Path(__file__).parent / "kernels"

with az.device().context() as ctx:
    values = ctx.to_device(np.array([1, 2, 3], np.float32))

    user = ctx.module(KERNELS / "dynamic_linking.spv")
    assert user.properties.imports
    try:
        user["apply"]
    except az.Error as error:
        print("ok: before linking, the kernel cannot be created:", str(error).splitlines()[0])
    else:
        raise AssertionError("a function is missing")

    square = ctx.module(KERNELS / "dynamic_linking_square.spv")
    print("ok: imports and exports of both:", " | ".join(user.linkage(square).splitlines()))
    user.link(square)
    user["apply"][3](values)
    assert values.copy_to().tolist() == [1, 4, 9]
    print("ok: the kernel calls the function of the other module")

    # The same kernel with another function is another module.
    half = ctx.module(KERNELS / "dynamic_linking_half.spv")
    other = ctx.module(KERNELS / "dynamic_linking.spv")
    az.link(other, half)
    other["apply"][3](values)
    assert values.copy_to().tolist() == [0.5, 2, 4.5]
    print("ok: linked with another module it calls that one's function")

    # Or both are built as one program.
    program = ctx.module([KERNELS / "dynamic_linking.spv", KERNELS / "dynamic_linking_half.spv"])
    program["apply"][3](values)
    assert values.copy_to().tolist() == [0.25, 1, 2.25]
    print("ok: and a program of several modules needs no linking")

    try:
        az.link(ctx.module(KERNELS / "dynamic_linking.spv"))
    except az.BuildError as error:
        print("ok: an import without an export cannot be linked:", error.log.splitlines()[0])
    else:
        raise AssertionError("the function came from nowhere")
