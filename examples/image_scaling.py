"""Scale an image with a kernel: two images and a sampler as arguments, recorded in a list with its transfers."""

from pathlib import Path

import numpy as np

import anyzero as az

KERNELS = Path(__file__).parent / "kernels"

with az.device().context() as ctx:
    image_scaling = ctx.module(KERNELS / "image_scaling.spv")["image_scaling"]
    small = ctx.image((64, 96), np.float32, channels=4)
    large = ctx.image((128, 192), np.float32, channels=4)
    smooth = ctx.sampler(filter="linear", address="clamp", normalized=True)

    # A ramp stays a ramp when it is scaled, and its slope becomes half.
    y, x = np.mgrid[:64, :96].astype(np.float32)
    pixels = np.stack([x, y, x + y, np.ones_like(x)], axis=-1)
    result = np.empty((128, 192, 4), np.float32)

    with ctx.command_list() as cl:
        cl.copy_image(small, pixels)
        cl.launch(image_scaling, (192, 128), args=(small, large, smooth))
        cl.copy_image(result, large)
    with ctx.queue() as queue:
        queue.submit(cl).wait(timeout=30)

    inner = result[1:-1, 1:-1]  # beyond the middle of the last pixel there is nothing to interpolate with
    assert np.allclose(inner[:, 1:, 0] - inner[:, :-1, 0], 0.5, atol=1e-3)
    assert np.allclose(inner[1:, :, 1] - inner[:-1, :, 1], 0.5, atol=1e-3)
    assert np.allclose(inner[..., 2], inner[..., 0] + inner[..., 1], atol=1e-3)
    assert (result[..., 3] == 1).all()
    print("ok: 96 × 64 pixels became 192 × 128, and their slopes half as steep")

    nearest = ctx.sampler(filter="nearest", normalized=True)
    image_scaling[(192, 128), None](small, large, nearest)
    assert np.array_equal(large.copy_to(), pixels.repeat(2, axis=0).repeat(2, axis=1))
    print("ok: with the nearest pixel instead, every pixel is there four times")
