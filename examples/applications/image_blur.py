"""Blur an image with a sampler, which reads between pixels and repeats the edge: two reads count for four pixels.

python image_blur.py [PICTURE.png]
"""

import sys

import numpy as np

import anyzero as az
from anyzero.tools.picture import write_png

HEIGHT, WIDTH = 128, 192


@az.kernel
def blur(
    to: az.output_image[az.f32, 2], source: az.image[az.f32, 2], between: az.sampler, dx: az.f32, dy: az.f32
) -> None:
    """Weights 1 4 6 4 1 along one direction, in three reads instead of five."""
    x, y = az.f32(az.global_id(0)) + 0.5, az.f32(az.global_id(1)) + 0.5
    # 1.2 pixels away, linear interpolation weighs the next pixel by 0.8 and the one after it by 0.2: 4 to 1.
    left = source.sample(between, x - 1.2 * dx, y - 1.2 * dy)
    right = source.sample(between, x + 1.2 * dx, y + 1.2 * dy)
    middle = source.sample(between, x, y)
    to.write(az.i32(az.global_id(0)), az.i32(az.global_id(1)), (left + right) * 0.3125 + middle * 0.375)


def rings() -> np.ndarray:
    """A picture with edges in every direction."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    distance = np.hypot(x - WIDTH / 2, y - HEIGHT / 2)
    return np.dstack([(distance // size % 2).astype(np.float32) for size in (8, 12, 16, 400)])


def expected(pixels: np.ndarray) -> np.ndarray:
    """The same in numpy."""
    for axis in (1, 0):
        pad = [(2, 2) if each == axis else (0, 0) for each in range(3)]
        wide = np.pad(pixels, pad, mode="edge")
        parts = [np.take(wide, np.arange(pixels.shape[axis]) + step, axis=axis) for step in range(5)]
        pixels = np.average(parts, axis=0, weights=(1, 4, 6, 4, 1))
    return pixels


before = rings()
with az.device().context() as ctx:
    form = az.ImageFormat.of(before.dtype, 4)
    source, half, target = (ctx.image((HEIGHT, WIDTH), form, kind="2d") for _ in range(3))
    between = ctx.sampler(filter="linear", address="clamp", normalized=False)
    source.copy_from(before)
    blur[WIDTH, HEIGHT](half, source, between, 1.0, 0.0)
    blur[WIDTH, HEIGHT](target, half, between, 0.0, 1.0)
    after = target.copy_to()

assert np.allclose(after, expected(before), atol=0.01), np.abs(after - expected(before)).max()
print("ok: the blurred image agrees with numpy")
if len(sys.argv) > 1:
    gap = np.ones((HEIGHT, 8, 3), np.float32)
    write_png(sys.argv[1], 255 * np.hstack([before[..., :3], gap, after[..., :3]]))
    print(f"ok: before and after are in {sys.argv[1]}")
