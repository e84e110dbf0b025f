"""Numbers that are too large, negative or no numbers at all are refused; none is cut to what a C type holds."""

from __future__ import annotations

import mmap
from collections.abc import Callable

import numpy as np
import pytest

import anyzero as az
from anyzero.api import virtual_memory

HUGE = [1 << 45, 1 << 60, (1 << 61) + 1, 1 << 63, 1 << 64, (1 << 64) + 8, 1 << 200]


@pytest.mark.parametrize("kind", ["device", "host", "shared"])
@pytest.mark.parametrize("count", HUGE, ids=hex)
def test_buffers_larger_than_the_device(ctx: az.Context, count: int, kind: str) -> None:
    for make in (ctx.buffer, ctx.zeros, ctx.empty):
        with pytest.raises(az.OutOfDeviceMemory, match="bytes; the largest allocation has") as caught:
            make(count, np.float64, kind=kind)  # type: ignore[arg-type]
        assert isinstance(caught.value, MemoryError)
        assert "ANYZERO_MEMORY" in str(caught.value)
    with pytest.raises(MemoryError, match=str(count * 2)):
        ctx.buffer((2, count))


def test_shapes_whose_product_leaves_64_bits(ctx: az.Context) -> None:
    with pytest.raises(MemoryError):
        ctx.buffer((1 << 40, 1 << 40))
    with pytest.raises(MemoryError):
        ctx.full((1 << 32, 1 << 31, 2), 1, np.uint8)
    assert ctx.buffer((1 << 40, 0, 1 << 40)).nbytes == 0


@pytest.mark.parametrize("wrong", [-1, (2, -3)])
def test_negative_extents(ctx: az.Context, wrong: int | tuple[int, ...]) -> None:
    mine = ctx.zeros(4, np.uint8)
    for use in (
        lambda: ctx.buffer(wrong),
        lambda: ctx.image(wrong),
        lambda: ctx.open_ipc(mine.ipc_handle(), wrong),
        lambda: ctx.import_memory(4096, wrong, np.uint8),
        lambda: ctx.reserve(4096).buffer(wrong),
    ):
        with pytest.raises(az.InvalidArgument, match="cannot have negative extents"):
            use()


def test_extents_are_integers(ctx: az.Context) -> None:
    assert ctx.buffer((np.int64(2), np.uint8(3))).shape == (2, 3)
    for wrong in (2.5, (1, 2.0), "4"):
        with pytest.raises(TypeError):
            ctx.buffer(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [5, *HUGE, (1 << 62) + 1], ids=hex)
def test_another_process_memory_is_as_large_as_it_is(ctx: az.Context, count: int) -> None:
    mine = ctx.zeros(4, np.uint32)
    with pytest.raises(az.InvalidArgument, match=f"takes {4 * count} bytes; the memory there has 16"):
        ctx.open_ipc(mine.ipc_handle(), count, np.uint32)


@pytest.mark.parametrize("count", [1 << 52, (1 << 52) + 1, 1 << 60], ids=hex)
def test_imported_memory_is_no_larger_than_addresses(ctx: az.Context, count: int) -> None:
    memory = np.frombuffer(mmap.mmap(-1, 4096), np.uint8)
    address = memory.__array_interface__["data"][0]
    with pytest.raises(MemoryError):
        ctx.import_memory(address, (count, 1 << 12), np.uint8)
    for wrong in (address + (1 << 64), -4096):
        with pytest.raises(az.InvalidArgument, match="the address is"):
            ctx.import_memory(wrong, 4096, np.uint8)


@pytest.mark.parametrize("side", [1 << 20, 1 << 32, (1 << 32) + 4, 1 << 64, (1 << 64) + 4], ids=hex)
def test_images_larger_than_the_device_allows(ctx: az.Context, side: int) -> None:
    for shape, kind in (((side, 4), "2d"), ((4, side), "2d"), ((side, 4, 4), "3d"), ((side, 4), "1darray")):
        with pytest.raises(az.UnsupportedSize) as caught:
            ctx.image(shape, np.uint8, kind=kind)  # type: ignore[arg-type]
        assert isinstance(caught.value, MemoryError)
        assert isinstance(caught.value, az.UnsupportedFeature)
    image = ctx.image((2, 2), az.ImageFormat("nv12", "unorm"))
    with pytest.raises(az.Error):
        image.view(az.ImageFormat("8", "unorm"), plane=side)


TOO_LARGE: dict[str, Callable[[az.Context], object]] = {
    "reserve": lambda ctx: ctx.reserve(1 << 64),
    "reserve, rounded up": lambda ctx: ctx.reserve((1 << 64) - 1),
    "physical_memory": lambda ctx: ctx.physical_memory((1 << 64) + 1),
    "physical_memory of 2^62": lambda ctx: ctx.physical_memory(1 << 62),
    "page_size": lambda ctx: ctx.page_size(1 << 64),
    "events": lambda ctx: ctx.events((1 << 32) + 1),
    "event_pool": lambda ctx: ctx.event_pool(1 << 32),
}


@pytest.mark.parametrize("what", TOO_LARGE)
def test_other_sizes_that_no_device_takes(ctx: az.Context, what: str) -> None:
    with pytest.raises(MemoryError) as caught:
        TOO_LARGE[what](ctx)
    assert isinstance(caught.value, az.Error)


def test_other_sizes_are_not_negative(ctx: az.Context) -> None:
    for use in (
        lambda: ctx.reserve(-1),
        lambda: ctx.event_pool(-1),
        lambda: virtual_memory.page_size(ctx, ctx.device, -1),
    ):
        with pytest.raises(az.InvalidArgument, match="cannot be negative"):
            use()


@pytest.mark.parametrize("wrong", [-4096, 1 << 64, (1 << 64) + 4096], ids=hex)
def test_places_that_cannot_be(ctx: az.Context, wrong: int) -> None:
    for use in (
        lambda: ctx.reserve(4096, start=wrong),
        lambda: ctx.reserve(4096).map(ctx.physical_memory(4096), offset=wrong),
        lambda: ctx.reserve(4096).map(ctx.physical_memory(4096), offset=wrong, nbytes=4096),
        lambda: ctx.reserve(4096).map(ctx.physical_memory(4096), at=wrong),
        lambda: ctx.buffer(4, alignment=wrong),
        lambda: ctx.queue(index=wrong),
        lambda: ctx.immediate(index=wrong),
    ):
        with pytest.raises(az.InvalidArgument):
            use()


def test_an_index_that_is_none_is_explained(ctx: az.Context) -> None:
    x, image, pool = ctx.zeros((2, 3)), ctx.image((2, 3)), ctx.event_pool(2)
    for index in (1.5, "0"):
        with pytest.raises(TypeError, match="an index is an integer, a slice"):
            x[index]  # type: ignore[index]
    with pytest.raises(az.InvalidArgument, match="dpnp"):
        x[[0.5]]  # type: ignore[index]
    for part in (None, 1.5, (0, None)):
        with pytest.raises(TypeError, match="of an image is an integer or a slice"):
            image[part]  # type: ignore[index]
    with pytest.raises(TypeError, match="of a pool is an integer"):
        pool[:1]  # type: ignore[index]
    for several in (x, image, pool):
        for at in (2, -3, 1 << 64):
            with pytest.raises(IndexError, match=f"{at} is out of range: there are 2"):
                several[at]  # type: ignore[index]
    assert x[np.int8(-1)].shape == (3,)
    assert [part.shape for part in x] == [(3,), (3,)]
