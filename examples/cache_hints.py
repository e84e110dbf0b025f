"""Cache properties of a device, and cache hints for allocations of memory and images."""

import ctypes
import mmap

import numpy as np

import anyzero as az

device = az.device()
for cache in device.caches:
    print(
        f"cache: {cache.size >> 10} KiB{', shared with local memory as kernels prefer' if cache.user_control else ''}"
    )
assert device.caches
print(f"ok: the device describes {len(device.caches)} cache(s)")


def present(buffer: az.Buffer) -> int:
    """Number of resident pages."""
    pages = (ctypes.c_ubyte * (buffer.nbytes // mmap.PAGESIZE))()
    failed = ctypes.CDLL(None).mincore(ctypes.c_void_p(buffer.pointer), ctypes.c_size_t(buffer.nbytes), pages)
    assert not failed
    return sum(page & 1 for page in pages)


with device.context() as ctx:
    # Shared memory is placed on first touch, unless a flag names its initial location.
    size = 16 << 20
    somewhere = ctx.buffer(size, kind="shared")
    here = ctx.buffer(size, kind="shared", placement="host")
    assert present(somewhere) == 0
    assert present(here) == size // mmap.PAGESIZE
    print(f"ok: all {size // mmap.PAGESIZE} pages with an initial location are resident, and none of the others")

    # Cache hints affect speed, never contents.
    buffers = [
        ctx.full(1024, 3, np.int32, device_cache="cached"),
        ctx.full(1024, 3, np.int32, uncached=True),
        ctx.full(1024, 3, np.int32, kind="host", host_cache="write_combined"),
    ]
    assert all((buffer.copy_to() == 3).all() for buffer in buffers)
    image = ctx.image((8, 8), np.int32, uncached=True)
    image.copy_from(np.arange(64, dtype=np.int32).reshape(8, 8))
    assert (image.copy_to().ravel() == np.arange(64)).all()
    print("ok: memory and an image have the same contents with every hint")
