"""Scale images with a kernel that has its sampler in the program, and bind other images between two launches."""

from pathlib import Path

import numpy as np

import anyzero as az

KERNELS = Path(__file__).parent / "kernels"
WIDTH, HEIGHT = 96, 64

with az.device().context() as ctx:
    module = ctx.module(KERNELS / "image_scaling.spv")
    scale = module["scale"]
    ramp, steep = (ctx.image((HEIGHT, WIDTH), np.float32, channels=4) for _ in range(2))
    large, wide = (ctx.image((2 * HEIGHT, 2 * WIDTH), np.float32, channels=4) for _ in range(2))

    # A ramp stays a ramp when it is scaled, and its slope becomes half.
    y, x = np.mgrid[:HEIGHT, :WIDTH].astype(np.float32)
    pixels = np.stack([x, y, x + y, np.ones_like(x)], axis=-1)
    results = [np.zeros((2 * HEIGHT, 2 * WIDTH, 4), np.float32) for _ in range(2)]

    with ctx.command_list() as cl:
        cl.copy_image(ramp, pixels)
        cl.copy_image(steep, 3 * pixels)
        # Filtering and addressing of the source are a constant sampler of the program: no sampler is bound.
        cl.launch(scale, (2 * WIDTH, 2 * HEIGHT), (ramp, large, 2 * WIDTH, 2 * HEIGHT))
        # The launch has captured its arguments; the next one gets other images.
        cl.launch(scale, (2 * WIDTH, 2 * HEIGHT), (steep, wide, 2 * WIDTH, 2 * HEIGHT))
        cl.copy_image(results[0], large)
        cl.copy_image(results[1], wide)
    with ctx.queue() as queue:
        queue.submit(cl).wait(timeout=30)

    for result, slope in zip(results, (0.5, 1.5), strict=True):
        inner = result[1:-1, 1:-1]  # beyond the centre of the last pixel there is no neighbour to interpolate with
        assert np.allclose(inner[:, 1:, 0] - inner[:, :-1, 0], slope, atol=1e-3)
        assert np.allclose(inner[1:, :, 1] - inner[:-1, :, 1], slope, atol=1e-3)
        assert np.allclose(inner[..., 2], inner[..., 0] + inner[..., 1], atol=1e-3)
        assert np.allclose(result[0], result[1] - [0, slope / 2, slope / 2, 0], atol=1e-3), (
            "beyond the edge is the edge"
        )
    print(f"ok: {WIDTH} × {HEIGHT} pixels became {2 * WIDTH} × {2 * HEIGHT}, and their slopes half as steep")
    print("ok: the second launch had other images, with three times the slope")

    nearest = ctx.sampler(filter="nearest", normalized=True)
    module["image_scaling"][2 * WIDTH, 2 * HEIGHT](ramp, large, nearest)
    assert np.array_equal(large.copy_to(), pixels.repeat(2, axis=0).repeat(2, axis=1))
    print("ok: with a sampler argument, here for the nearest pixel, every pixel appears four times")
