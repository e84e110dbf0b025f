"""The simulator: what it notices, and what debuggers and coverage see of it."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import numpy as np
import pytest

import anyzero as az
from tests.language.running import context


def test_an_index_outside_of_the_memory() -> None:
    @az.kernel
    def k(x: az.ptr[az.f32]) -> None:
        i = az.global_id(0)
        x[i + 1] = 1

    with pytest.raises(IndexError, match=r"x\[4\]: the memory has 4 elements") as caught:
        k.simulate[4](np.zeros(4, np.float32))
    assert caught.value.__notes__ == ["in work-item (3, 0, 0)"]

    @az.kernel
    def negative(x: az.array[az.f32, 2]) -> None:
        x[0, az.global_id(0) - 1] = 1

    with pytest.raises(IndexError, match=r"x\[0, -1\]: its shape is \(2, 2\)"):
        negative.simulate[2](np.zeros((2, 2), np.float32))


def test_a_barrier_that_not_all_reach() -> None:
    @az.kernel
    def k(x: az.ptr[az.i32]) -> None:
        if az.local_id(0) < 2:
            az.barrier()
        x[az.global_id(0)] = 1

    with pytest.raises(RuntimeError, match=r"work-item \(0, 0, 0\) waits at a barrier that others .* never reach"):
        k.simulate[4](np.zeros(4, np.int32))


def test_a_failed_assertion() -> None:
    @az.kernel
    def k(x: az.ptr[az.i32]) -> None:
        i = az.global_id(0)
        az.barrier()
        assert x[i] < 3, "too large"

    with pytest.raises(AssertionError, match="too large") as caught:
        k.simulate[4](np.arange(4, dtype=np.int32))
    assert caught.value.__notes__ == ["in work-item (3, 0, 0)"]


def test_tracers_see_the_lines_of_the_source() -> None:
    @az.kernel
    def k(x: az.ptr[az.f32]) -> None:
        i = az.global_id(0)
        total = 0.0
        for j in range(3):
            total += x[j]
        x[i] = total

    lines: set[int] = set()
    names: dict[str, Any] = {}

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename == __file__ and frame.f_code.co_name == "k":
            lines.add(frame.f_lineno)
            names.update(frame.f_locals)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        k.simulate[1](np.ones(3, np.float32))
    finally:
        sys.settrace(before)
    first = k.source.function.__code__.co_firstlineno + 2
    assert lines >= {first, first + 1, first + 2, first + 3, first + 4}
    assert repr(names["total"]) == "f32(3.0)"


def test_buffers_work_as_arrays_do() -> None:
    @az.kernel
    def k(x: az.ptr[az.f32], y: az.ptr[az.f32]) -> None:
        i = az.global_id(0)
        y[i] = x[i] * 2

    x = context().to_device(np.arange(4, dtype=np.float32))
    y = context().zeros(4, np.float32, kind="shared")
    k.simulate[4](x, y)
    k.simulate[4](y, x)
    assert y.copy_to().tolist() == [0, 2, 4, 6]
    assert x.copy_to().tolist() == [0, 4, 8, 12]
    with pytest.raises(TypeError, match="the simulator takes contiguous numpy arrays and buffers"):
        k.simulate[4]([1, 2], y)


def test_groups_have_to_divide() -> None:
    @az.kernel
    def k(x: az.ptr[az.f32]) -> None:
        x[0] = az.f32(az.local_size(0))

    with pytest.raises(ValueError, match=r"groups of \(3, 1, 1\) do not divide \(4,\) work-items"):
        k.simulate[4](np.zeros(4, np.float32), group=3)


def test_numbers_show_their_types() -> None:
    shown: list[str] = []

    @az.kernel
    def k(x: az.ptr[az.float2]) -> None:
        v = x[0]
        x[0] = v + 1

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if "v" in frame.f_locals and frame.f_code.co_name == "k":
            shown.append(repr(frame.f_locals["v"]))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        k.simulate[1](np.ones(2, np.float32))
    finally:
        sys.settrace(before)
    assert shown[0] == "vector[f32, 2](1, 1)"


@pytest.mark.parametrize("address", ["clamp", "border", "repeat", "mirror"])
@pytest.mark.parametrize("filtering", ["nearest", "linear"])
def test_images_are_sampled_as_on_the_device(address: Any, filtering: Any) -> None:
    @az.kernel
    def pick(out: az.ptr[az.float4], source: az.image[az.f32, 2], sampler: az.sampler) -> None:
        i = az.i32(az.global_id(0))
        out[i] = source.sample(sampler, i * 0.23 - 0.7, i * 0.11 - 0.3)

    ctx = context()
    texels = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    source = ctx.image((2, 3), az.ImageFormat.of(texels.dtype, 4), kind="2d")
    source.copy_from(texels)
    sampler = ctx.sampler(address=address, filter=filtering, normalized=True)
    there, here = ctx.zeros((12, 4), np.float32), np.zeros((12, 4), np.float32)
    pick[12](there, source, sampler)
    pick.simulate[12](here, source, sampler)
    # Weights of a linear filter may have as few as 8 bits.
    np.testing.assert_allclose(here, there.copy_to(), atol=24 / 256)


def test_local_memory_as_an_argument() -> None:
    @az.kernel
    def turn(x: az.ptr[az.i32], kept: az.local[az.i32]) -> None:
        kept[az.local_id(0)] = x[az.global_id(0)]
        az.barrier()
        x[az.global_id(0)] = kept[az.local_size(0) - 1 - az.local_id(0)]

    x = np.arange(8, dtype=np.int32)
    turn.simulate[8](x, az.local(4, np.int32), group=4)
    assert x.tolist() == [3, 2, 1, 0, 7, 6, 5, 4]
