"""Global ids that are computed from group ids, as in programs from CUDA: the same results, in blocks of any size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.compiler import reference
from anyzero.compiler.compiled import CompiledKernel, Options
from anyzero.compiler.pipeline import compile_kernel
from anyzero.compiler.spirv import read
from tests.compiler.native import Loaded


@az.kernel
def plain(out: az.ptr[az.i32], width: az.i32) -> None:
    x = az.i32(az.group_id(0)) * az.i32(az.local_size(0)) + az.i32(az.local_id(0))
    y = az.i32(az.local_id(1)) + az.i32(az.local_size(1)) * az.i32(az.group_id(1))
    out[y * width + x] = x * 1000 + y


@az.kernel
def long_ids(out: az.ptr[az.i32], width: az.i32) -> None:
    x = az.group_id(0) * az.local_size(0) + az.local_id(0)
    y = az.group_id(1) * az.local_size(1) + az.local_id(1)
    out[y * az.i64(width) + x] = az.i32(x * 1000 + y)


@az.kernel
def strided(out: az.ptr[az.i32], width: az.i32) -> None:
    i = az.i32(az.group_id(0)) * az.i32(az.local_size(0)) + az.i32(az.local_id(0))
    step = az.i32(az.local_size(0)) * az.i32(az.num_groups(0))
    while i < width:
        out[i] = i * 3 + step
        i += step


@az.kernel
def blocks_of_16(out: az.ptr[az.i32], width: az.i32) -> None:
    x = az.i32(az.group_id(0)) * 16 + az.i32(az.local_id(0))
    y = az.i32(az.group_id(1)) * 4 + az.i32(az.local_id(1))
    out[y * width + x] = x * 1000 + y


@az.kernel
def with_offset(out: az.ptr[az.i32], width: az.i32) -> None:
    x = az.i32(az.group_id(0)) * az.i32(az.local_size(0)) + az.i32(az.local_id(0))
    out[x] = az.i32(az.global_id(0)) - x


@az.kernel
def of_group(out: az.ptr[az.i32], width: az.i32) -> None:
    x = az.i32(az.group_id(0)) * az.i32(az.local_size(0)) + az.i32(az.local_id(0))
    out[x] = az.i32(az.group_id(0))


@az.kernel
def other_axis(out: az.ptr[az.i32], width: az.i32) -> None:
    x = az.i32(az.group_id(0)) * az.i32(az.local_size(1)) + az.i32(az.local_id(0))
    out[az.i32(az.group_id(0)) * az.i32(az.local_size(0)) + az.i32(az.local_id(0))] = x


def _compiled(kernel: Any, **options: Any) -> CompiledKernel:
    return compile_kernel(read(kernel.spirv), kernel.__name__, Options(level=1, **options))


@pytest.mark.parametrize("cpu", ["haswell", ""])
@pytest.mark.parametrize("offset", [(0, 0, 0), (5, 3, 0)])
@pytest.mark.parametrize("kernel", [plain, long_ids, strided, blocks_of_16, with_offset, of_group, other_axis])
def test_given_ids_from_groups_then_compiled_code_agrees_with_the_interpreter(
    kernel: Any, offset: tuple[int, int, int], cpu: str
) -> None:
    size, group = ((96,), (16,)) if kernel in (strided, with_offset, of_group, other_axis) else ((96, 12), (16, 4))
    width = np.int32(1000 if kernel is strided else 96)
    expected = np.zeros(2000, np.int32)
    reference.run(read(kernel.spirv), kernel.__name__, [expected, width], size, group, offset)
    for known in (None, (16, 4 if len(size) > 1 else 1, 1)):
        code = _compiled(kernel, cpu=cpu, group=known)
        # A kernel that does not depend on its groups runs in any others.
        for cut in (group, (40, 5)[: len(size)]) if code.flat else (group,):
            found = np.zeros(2000, np.int32)
            Loaded(code)([found, width], size, cut, offset)
            if kernel is strided:
                assert code.flat
            assert np.array_equal(found, expected), (known, cut)


@pytest.mark.parametrize(
    ("kernel", "flat", "with_size"),
    [
        *((plain, True, True), (long_ids, True, True), (strided, True, True), (blocks_of_16, False, True)),
        *((with_offset, False, False), (of_group, False, False), (other_axis, False, False)),
    ],
    ids=lambda each: getattr(each, "__name__", str(each)),
)
def test_only_kernels_without_another_use_of_groups_are_independent_of_them(
    kernel: Any, flat: bool, with_size: bool
) -> None:
    assert _compiled(kernel).flat is flat
    assert _compiled(kernel, group=(16, 4, 1)).flat is with_size
    assert not _compiled(kernel, group=(16, 8, 1)).flat or flat
    assert not _compiled(kernel, check_memory=True).flat
