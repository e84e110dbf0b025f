"""Fill a two-dimensional image from host memory, and read it back, whole and in part."""

import numpy as np

import anyzero as az

with az.device().context() as ctx:
    # One 32-bit float per pixel; a kernel reads it as (red, 0, 0, 1).
    image = ctx.image((128, 128), az.ImageFormat("32", "float", swizzle="r001"))
    pixels = np.arange(128 * 128, dtype=np.float32).reshape(128, 128)
    back = np.empty_like(pixels)

    with ctx.command_list() as cl:
        cl.copy_image(image, pixels)
        cl.barrier()
        cl.copy_image(back, image)
    with ctx.queue() as queue:
        queue.submit(cl)

    assert np.array_equal(back, pixels)
    print(f"ok: {image} was read back unchanged")
    assert np.array_equal(image[10:20, 50:60].copy_to(), pixels[10:20, 50:60])
    print("ok: and so was a region of it")
