"""Behind a large allocation lies a page that is not there: a kernel that runs past the end is stopped, and the report
names the allocation.
"""

from __future__ import annotations

import numpy as np
import pytest

import anyzero as az


@az.kernel
def write_at(values: az.ptr[az.i32], index: az.i64):  # type: ignore[no-untyped-def]
    values[index] = 1


@pytest.mark.parametrize("size", [(1 << 20) + 4096, 3 << 20, (16 << 20) + 4096])
def test_a_kernel_that_leaves_a_large_allocation_is_stopped(size: int) -> None:
    context = az.device().context()
    # Neighbours on both sides, whose bytes the kernel could change otherwise.
    buffers = [context.zeros(size // 4, np.int32) for _ in range(3)]
    for each in buffers:
        write_at[1](each, size // 4 - 1)
        assert each.copy_to()[-1] == 1
    with pytest.raises(az.DeviceLost, match=f"0 bytes after the end of the device allocation of {size} bytes"):
        write_at[1](buffers[1], size // 4)
