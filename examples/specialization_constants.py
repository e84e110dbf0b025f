"""Specialization constants: values set at module creation that the compiler treats as literals."""

from pathlib import Path

import numpy as np

import anyzero as az

KERNELS = Path(__file__).parent / "kernels"
TERMS, COEFFICIENT = 0, 1  # their ids in specialization_constants.cl

with az.device().context() as ctx:
    x = ctx.to_device(np.array([0, 1, 2, 3], np.float32))
    y = ctx.zeros(4, np.float32)

    usual = ctx.module(KERNELS / "specialization_constants.spv")
    usual["polynomial"][4](y, x)
    assert y.copy_to().tolist() == [1, 2, 3, 4]
    print("ok: with the default values it is x + 1")

    # Integers may be plain numbers. A float needs a numpy type for its width.
    constants: dict[int, object] = {TERMS: 3, COEFFICIENT: np.float32(0.5)}
    special = ctx.module(KERNELS / "specialization_constants.spv", constants=constants)
    special["polynomial"][4](y, x)
    assert y.copy_to().tolist() == [0.5, 1.5, 3.5, 6.5]
    print("ok: with others it is (x² + x + 1) / 2")

    # The group size of a kernel may be specialization constants, too.
    group_size = {2: 16, 3: 2, 4: 1}
    for given, size in (({}, (8, 4, 1)), (group_size, (16, 2, 1))):
        groups = ctx.module(KERNELS / "specialization_constants.spv", constants=given)["groups"]
        assert groups.properties.required_group_size == size
        seen = ctx.zeros((8, 16, 4), np.int32, kind="shared")
        groups[16, 8](seen)
        assert (np.asarray(seen) == [size[0] * size[1], *size]).all()
        print(f"ok: groups have {size[0]} × {size[1]} work-items, and every work-item knows it")

    assert "17" in ctx.module(KERNELS / "specialization_constants.spv", constants={17: 1}).log
    print("ok: a constant that the module does not have is named in the log")
