"""Filtering and addressing modes: sampling between pixels and outside of an image."""

from pathlib import Path

import numpy as np

import anyzero as az

KERNELS = Path(__file__).parent / "kernels"

with az.device().context() as ctx:
    look = ctx.module(KERNELS / "sampler.spv")["look"]
    image = ctx.image((1, 4), np.float32)
    image.copy_from(np.array([[10, 20, 30, 40]], np.float32))

    def seen(sampler: az.Sampler, *columns: float) -> list[float]:
        places = ctx.to_device(np.array([(x, 0.125 if sampler.normalized else 0.5) for x in columns], np.float32))
        out = ctx.zeros(len(columns), np.float32)
        look[len(columns)](image, sampler, places, out)
        return [round(float(value), 3) for value in out.copy_to()]

    assert seen(ctx.sampler(), 0.5, 1.0, 1.4) == [10, 20, 20]
    print("ok: nearest filtering returns the pixel that contains the coordinate")
    assert seen(ctx.sampler(filter="linear"), 0.5, 1.0, 1.25) == [10, 15, 17.5]
    print("ok: linear filtering interpolates between neighbours")
    assert seen(ctx.sampler(filter="linear", normalized=True), 0.125, 0.25) == [10, 15]
    print("ok: normalized coordinates range from 0 to 1 for any size")

    assert seen(ctx.sampler(address="clamp"), -3, 9) == [10, 40]
    assert seen(ctx.sampler(address="border"), -3, 9) == [0, 0]
    assert seen(ctx.sampler(address="repeat", normalized=True), -0.125, 1.125) == [40, 10]
    assert seen(ctx.sampler(address="mirror", normalized=True), -0.125, 1.125) == [10, 40]
    print("ok: outside of the image there is its edge, the border, its repetition, or its mirror image")
