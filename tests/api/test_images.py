"""Images as numpy sees them; tests/abi/test_images.py covers every format and region through the C ABI."""

from __future__ import annotations

import numpy as np
import pytest

import anyzero as az
from tests.patience import PATIENCE


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "f2", "u4", "i4", "f4"])
def test_pixels_of_plain_numbers(ctx: az.Context, dtype: str, channels: int) -> None:
    shape = (3, 5) if channels == 1 else (3, 5, channels)
    pixels = np.random.default_rng(0).integers(0, 100, shape).astype(dtype)
    image = ctx.image((3, 5), dtype, channels=channels)
    assert (image.dtype, image.channels, image.kind) == (np.dtype(dtype), channels, "2d")
    image.copy_from(pixels)
    assert np.array_equal(image.copy_to(), pixels)
    assert image.nbytes >= pixels.nbytes


@pytest.mark.parametrize(
    ("kind", "shape"),
    [("1d", (9,)), ("2d", (4, 9)), ("3d", (2, 4, 9)), ("1darray", (3, 9)), ("2darray", (3, 4, 9)), ("buffer", (9,))],
)
def test_every_kind_and_its_parts(ctx: az.Context, kind: str, shape: tuple[int, ...]) -> None:
    pixels = np.random.default_rng(1).integers(0, 1000, (*shape, 2), np.uint16)
    image = ctx.image(shape, np.uint16, channels=2, kind=kind)  # type: ignore[arg-type]
    assert image.kind == kind
    image.copy_from(pixels)
    assert np.array_equal(image.copy_to(), pixels)
    inner = tuple(slice(1, size - 1) if size > 2 else slice(0, 1) for size in shape)
    assert np.array_equal(image[inner].copy_to(), pixels[inner])
    image[inner].copy_from(np.zeros_like(pixels[inner]))
    pixels[inner] = 0
    assert np.array_equal(image.copy_to(), pixels)


def test_parts_are_named_as_in_numpy(ctx: az.Context) -> None:
    image = ctx.image((6, 8))
    assert image[2].shape == (1, 8)
    assert (image[-1, 3:].shape, image[-1, 3:].origin) == ((1, 5), (5, 3))
    assert image[...].shape == (6, 8)
    with pytest.raises(IndexError):
        image[0, 0, 0]
    with pytest.raises(IndexError):
        image[6]
    with pytest.raises(az.InvalidArgument, match="must not be empty, and its step must be 1"):
        image[::2]
    with pytest.raises(az.InvalidArgument, match="must not be empty, and its step must be 1"):
        image[3:3]


def test_lists_copy_in_all_directions(ctx: az.Context) -> None:
    pixels = np.arange(24, dtype=np.uint8).reshape(4, 6)
    a, b = ctx.image((4, 6)), ctx.image((4, 6))
    buffer, target = ctx.to_device(pixels), np.zeros((4, 6), np.uint8)
    with ctx.command_list() as cl:
        cl.copy_image(a, buffer)
        cl.copy_image(b, np.zeros((4, 6), np.uint8))
        cl.copy_image(b[1:3, 2:5], a[2:4, 0:3])
        cl.copy_image(target, b)
        cl.copy_image(buffer, a)
    ctx.queue().submit(cl).wait(timeout=PATIENCE)
    expected = np.zeros((4, 6), np.uint8)
    expected[1:3, 2:5] = pixels[2:4, 0:3]
    assert np.array_equal(target, expected)
    lst = ctx.immediate()
    with pytest.raises(az.InvalidArgument, match="neither side is an image"):
        lst.copy_image(buffer, target)
    with pytest.raises(az.InvalidArgument, match="the destination is"):
        lst.copy_image(a[:2, :2], b[:3, :3])
    with pytest.raises(az.InvalidArgument, match="does not fit pixels of shape"):
        lst.copy_image(a, target[:2])
    with pytest.raises(az.InvalidArgument, match="OVERLAPPING"):
        lst.copy_image(a[:3, :3], a[1:, 1:4])


def test_bytes_stand_for_any_pixels(ctx: az.Context) -> None:
    image = ctx.image((2, 2), np.float32, channels=2)
    image.copy_from(np.arange(32, dtype=np.uint8))
    assert np.array_equal(image.copy_to().view(np.uint8).ravel(), np.arange(32))
    video = ctx.image((4, 4), az.ImageFormat("nv12", "unorm"))
    frame = np.arange(24, dtype=np.uint8)
    video.copy_from(frame)
    assert np.array_equal(video.copy_to(np.zeros(24, np.uint8)), frame)
    luma = video.view(az.ImageFormat("8"), plane=0)
    assert np.array_equal(luma.copy_to().ravel(), frame[:16])
    chroma = video.view(az.ImageFormat("8_8"), shape=(2, 2), plane=1)
    assert np.array_equal(chroma.copy_to().ravel(), frame[16:])
    video.close()
    assert np.array_equal(luma.copy_to().ravel(), frame[:16])
    with pytest.raises(az.InvalidArgument, match="not plain numbers"):
        ctx.image((4, 4), az.ImageFormat("nv12")).copy_to()
    with pytest.raises(az.InvalidArgument, match="from and to bytes"):
        ctx.image((4, 4), az.ImageFormat("nv12")).copy_from(np.zeros(6, np.uint32))


def test_formats_are_checked(ctx: az.Context) -> None:
    with pytest.raises(az.InvalidArgument, match="2 channels of float64"):
        ctx.image((2, 2), np.float64, channels=2)
    with pytest.raises(az.InvalidArgument, match="'9_9' is not an image layout; there are 8, 16"):
        ctx.image((2, 2), az.ImageFormat("9_9"))
    with pytest.raises(az.InvalidArgument, match="four channels"):
        ctx.image((2, 2), az.ImageFormat("8", swizzle="r"))
    with pytest.raises(az.UnsupportedFeature, match="UNSUPPORTED_IMAGE_FORMAT"):
        ctx.image((2, 2), az.ImageFormat("8", "float"))
    with pytest.raises(az.UnsupportedFeature, match="the device allows"):
        ctx.image((1, ctx.device.image_limits.side_2d + 1))
    with pytest.raises(az.InvalidArgument, match="has 2 axes"):
        ctx.image((2, 2, 2), kind="2d")
    with pytest.raises(ValueError, match="one of 1d, 1darray"):
        ctx.image((2, 2), kind="4d")  # type: ignore[arg-type]
    assert az.ImageFormat("10_10_10_2").pixel is None
    assert az.ImageFormat.of(np.int8, 4, normalized=True) == az.ImageFormat("8_8_8_8", "snorm")


def test_a_closed_image_says_so(ctx: az.Context) -> None:
    with ctx.image((2, 2)) as image:
        assert repr(image) == "<Image (2, 2) 8 uint>"
    assert "closed" in repr(image)
    with pytest.raises(az.ClosedError, match="this Image is closed"):
        image.copy_to()
