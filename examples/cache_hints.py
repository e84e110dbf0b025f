"""What a device says of its caches, and the hint that a program may give when it allocates memory."""

import numpy as np

import anyzero as az

device = az.device()
for cache in device.caches:
    print(f"cache: {cache.size >> 10} KiB")
assert device.caches
print(f"ok: the device describes {len(device.caches)} cache(s)")

with device.context() as ctx:
    # A hint changes how fast memory is, never what it means.
    for uncached in (False, True):
        buffer = ctx.full(1024, 3, np.int32, uncached=uncached)
        assert (buffer.copy_to() == 3).all()
print("ok: memory holds what was written, whatever the hint")
