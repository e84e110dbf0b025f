"""Program-scope variables, which the host reads and writes like other device memory."""

from pathlib import Path

import numpy as np

import anyzero as az

KERNELS = Path(__file__).parent / "kernels"

with az.device().context() as ctx:
    module = ctx.module(KERNELS / "module_variables.spv")
    look_up = module["look_up"]
    table = module.globals("table", np.float32)
    assert table.copy_to().tolist() == [1, 10, 100, 1000]
    print("ok: the table has the values of the source")

    values = ctx.full(8, 2, np.float32)
    look_up[8](values)
    assert values.copy_to().tolist() == [2, 20, 200, 2000] * 2
    table.copy_from(np.array([1, 2, 3, 4], np.float32))
    values.fill(1)
    look_up[8](values)
    assert values.copy_to().tolist() == [1, 2, 3, 4] * 2
    print("ok: the kernel reads the host's values")

    assert module.globals("launches", np.int32).copy_to().tolist() == [2]
    print("ok: and the host reads the kernel's")

    try:
        module.globals("chair")
    except az.InvalidArgument as error:
        print("ok:", error.detail)
    else:
        raise AssertionError("there is no such variable")
