"""Memory that the leading work-items of a launch write."""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import anyzero as az
from anyzero.compiler.analysis.first_item import FirstItem, first_item
from anyzero.compiler.pipeline import simplified
from anyzero.compiler.spirv import read

ITEMS, BELOW = 48, 29


@az.kernel
def every_item(to: az.ptr[az.f32], n: az.i32):
    to[az.global_id(0)] = 1


@az.kernel
def below(to: az.ptr[az.f32], n: az.i32):
    i = az.i32(az.global_id(0))
    if i < n:
        to[i] = 1


@az.kernel
def returns(to: az.ptr[az.f64], n: az.i32):
    i = az.i32(az.global_id(0))
    if i >= n:
        return
    to[i] = 1


@az.kernel
def bytes_(to: az.ptr[az.u8], n: az.i32):
    i = az.i32(az.global_id(0))
    if n > i:
        to[i] = 1


@az.kernel
def strides(to: az.ptr[az.f32], n: az.i32):
    i = az.i32(az.global_id(0))
    while i < n:
        to[i] = 1
        i += az.i32(az.global_size(0))


@az.kernel
def sums(to: az.ptr[az.f32], n: az.i32):
    i = az.i32(az.global_id(0))
    to[3 * i - i * 2] = 1


@az.kernel
def first_alone(to: az.ptr[az.f32], n: az.i32):
    i = az.i32(az.global_id(0))
    if i < 1:
        to[i] = 1


@az.kernel
def every_other(to: az.ptr[az.f32], n: az.i32):
    to[2 * az.i32(az.global_id(0))] = 1


@az.kernel
def by_group(to: az.ptr[az.f32], n: az.i32):
    to[az.i32(az.local_id(0))] = 1


@az.kernel
def backwards(to: az.ptr[az.f32], n: az.i32):
    to[-az.i32(az.global_id(0))] = 1


@az.kernel
def double_below(to: az.ptr[az.f32], n: az.i32):
    i = az.i32(az.global_id(0))
    if 2 * i < n:
        to[i] = 1


@az.kernel
def behind_memory(to: az.ptr[az.f32], n: az.i32):
    i = az.i32(az.global_id(0))
    if to[i] == 0:
        to[i] = 1


@az.kernel
def atomics(to: az.ptr[az.i32], n: az.i32):
    az.atomic_add(to, az.global_id(0), 1)


@az.kernel
def narrow(to: az.ptr[az.u8], n: az.i32):
    to[az.u8(az.global_id(0))] = 1


def found(kernel: Any) -> FirstItem:
    return first_item(simplified(read(kernel.spirv), kernel.__name__).body)


@pytest.mark.parametrize(
    ("kernel", "size", "limited"),
    [
        (every_item, 4, False),
        (below, 4, True),
        (returns, 8, True),
        (bytes_, 1, True),
        (strides, 4, True),
        (sums, 4, False),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_run_of_writes(kernel: Any, size: int, limited: bool) -> None:
    item = found(kernel)
    assert item.leading == {0: size}
    assert item.limits == ({8: 4} if limited else {})
    # The kernel writes all of it, whatever was there.
    with az.device().context() as ctx:
        for before in (0, 255):
            to = ctx.to_device(np.full(ITEMS * 8, before, np.uint8), kind="shared")
            ctx.immediate().launch(kernel.on(ctx), ITEMS, (to, BELOW)).wait()
            written = np.array(to)[: size * (BELOW if limited else ITEMS)].view(f"{'u' if size == 1 else 'f'}{size}")
            assert (written == 1).all()


@pytest.mark.parametrize(
    "kernel",
    [first_alone, every_other, by_group, backwards, double_below, behind_memory, atomics, narrow],
    ids=lambda kernel: kernel.__name__,
)
def test_writes_that_are_no_certain_run(kernel: Any) -> None:
    assert found(kernel).leading == {}
