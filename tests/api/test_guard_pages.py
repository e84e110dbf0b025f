"""Behind an allocation of 64 KiB or more lies a page that faults: a kernel that runs past the end is stopped, and the
report names the allocation.
"""

from __future__ import annotations

import ctypes
import mmap
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import anyzero as az
from anyzero.api.library import LIBRARY_PATH
from tests.patience import PATIENCE


@az.kernel
def write_at(values: az.ptr[az.i32], index: az.i64):  # type: ignore[no-untyped-def]
    values[index] = 1


def check_end(size: int) -> None:
    """The last element can be written, the one behind it cannot."""
    context = az.device().context()
    # Neighbours on both sides, whose bytes the kernel could change otherwise.
    buffers = [context.zeros(size // 4, np.int32) for _ in range(3)]
    for each in buffers:
        write_at[1](each, size // 4 - 1)
        assert each.copy_to()[-1] == 1
    with pytest.raises(az.DeviceLost, match=f"0 bytes after the end of the device allocation of {size} bytes"):
        write_at[1](buffers[1], size // 4)


def check_copy(size: int) -> None:
    """A copy that runs past the end is stopped like a kernel."""
    context = az.device().context()
    source, target = (context.zeros(size, np.uint8) for _ in range(2))
    commands = context.immediate()
    places = ctypes.c_void_p(commands.handle), ctypes.c_void_p(target.pointer), ctypes.c_void_p(source.pointer)
    append = ctypes.CDLL(str(LIBRARY_PATH)).zeCommandListAppendMemoryCopy
    append(*places, ctypes.c_size_t(size + 4096), None, 0, None)
    with pytest.raises(az.DeviceLost, match=f"after the end of the device allocation of {size} bytes"):
        commands.synchronize()


def check_reuse() -> None:
    """Blocks of other sizes take the place of guards, and can be used whole."""
    context = az.device().context()
    random = np.random.default_rng(7)
    live: list[az.Buffer] = []
    for turn in range(600):
        size = int(random.integers(9, 256)) * 4096
        buffer = context.empty(size, np.uint8)
        buffer.fill(turn % 256)
        live.append(buffer)
        if len(live) > 12:
            gone = live.pop(int(random.integers(len(live))))
            assert len(np.unique(gone.copy_to())) == 1
            gone.close()


def has_guards() -> bool:
    """Linux has guards inside of a mapping since 6.13."""
    with mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as page:
        try:
            page.madvise(102)
        except OSError:
            return False
        return True


@pytest.mark.parametrize("size", [(1 << 20) + 4096, 3 << 20, (16 << 20) + 4096])
def test_a_kernel_that_leaves_a_large_allocation_is_stopped(size: int) -> None:
    # The buffers may take the place of memory that was freed, which the report must not name.
    with az.device().context() as context:
        for each in [context.zeros(2 * size, np.uint8) for _ in range(3)]:
            each.close()
    check_end(size)


@pytest.mark.skipif(not has_guards(), reason="NO GUARDS: this Linux is older than 6.13")
def test_allocations_from_64_kib_on_end_at_a_guard() -> None:
    # In a process of its own: guards on pages that were used before are rationed.
    calls = "check_end(64 << 10), check_end(200 << 10), check_end(1 << 20), check_copy(64 << 10)"
    subprocess.run(
        [sys.executable, "-c", f"from tests.api.test_guard_pages import *; {calls}"],
        check=True,
        cwd=Path(__file__).parents[2],
        timeout=PATIENCE,
    )


def test_blocks_take_the_place_of_guards() -> None:
    check_reuse()
